"""The page: a small web application over indexes, and its JSON interface.

Nothing is loaded from other hosts, only indexed photographs are served, and no query, picture or token is
logged.
"""

import hmac
import io
import logging
import os
from collections.abc import Awaitable, Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

import numpy as np
from anyio import CapacityLimiter, to_thread
from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware

from pipeline.common.errors import InputError
from search.index import Index, open_index
from search.model import SearchModel, load_for
from search.nearest import Neighbours
from search.uploads import MAX_BYTES, check_picture

log = logging.getLogger("pipeline")

LOCAL_HOSTS = ("127.0.0.1", "localhost")
PAGE = {"page.js": "text/javascript", "page.css": "text/css", "icon.svg": "image/svg+xml"}
COOKIE = "token"
MAX_QUERY = 1000  # characters
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}

TopK = Annotated[int, Query(ge=1, le=100, description="number of results")]
IndexNumber = Annotated[int, Query(ge=0, description="number of the index, see /api/indexes")]
Answer = dict[str, Any]


def serve(
    index: Sequence[Path],
    /,
    photographs: Path | None = None,
    port: int = 8000,
    host: str = LOCAL_HOSTS[0],
    token_file: Path | None = None,
    bundle: Path | None = None,
    weights: str | None = None,
    device: Literal["cpu", "cuda"] = "cpu",
    threads: int = 1,
) -> None:
    """Serve a page for searching indexes, on this machine.

    Args:
        index: folder of an index; several are shown side by side.
        photographs: folder of the photographs, if it has moved.
        port: port of the page.
        host: anything but 127.0.0.1 lets other machines connect.
        token_file: file with the token that every request must carry; required with --host.
        bundle: bundle of the index, if it has moved.
        weights: file of the backbone's weights, if the bundle names a file.
        device: device of the models.
        threads: threads of each request on a CPU; several requests compute at the same time.
    """
    if not 0 < port < 1 << 16:
        raise InputError(f"--port {port}: expected a number from 1 to 65535.")
    if host not in LOCAL_HOSTS and not token_file:
        raise InputError(
            f"--host {host}: other machines would reach the page. Give --token-file with a token "
            "that they must know, or leave --host out."
        )
    token = read_token(token_file) if token_file else None
    indexes = [open_index(folder, photographs) for folder in index]
    opened = [(load_for(one, bundle, device, weights, threads), one) for one in indexes]
    app = create_app(opened, token, threads=os.cpu_count() or 1)
    query = "?token=... with the token of the file" if token else ""
    log.info("http://%s:%d/%s; Ctrl-C ends it", host, port, query)
    _run(app, host, port)


def create_app(
    opened: Sequence[tuple[SearchModel, Index]], token: str | None = None, threads: int = 2
) -> FastAPI:
    """The application over one or more indexes, each with its model.

    Args:
        token: what a request must carry, as `Authorization: Bearer ...` or, once, as `/?token=...`. None: no
            token is needed, and only requests to this machine by its own name are answered.
        threads: requests that compute at the same time.
    """
    app = FastAPI(
        title="Search photographs in the languages of a trained model",
        version="1",
        docs_url=None,  # FastAPI's pages load scripts from other hosts
        redoc_url=None,
    )
    _add_errors(app)
    _add_token_check(app, token)
    if token is None:
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(LOCAL_HOSTS))
    _add_pages(app)
    _add_api(app, _Searches(opened), CapacityLimiter(threads))
    return app


class _Searches:
    """The answers to requests, as values of JSON."""

    def __init__(self, opened: Sequence[tuple[SearchModel, Index]]):
        self.opened = opened

    def numbered(self, number: int) -> tuple[SearchModel, Index]:
        """Model and index of a number."""
        if number >= len(self.opened):
            raise InputError(f"index {number}: there are {len(self.opened)}, from 0.")
        return self.opened[number]

    def indexes(self) -> list[Answer]:
        return [
            {
                "index": number,
                "name": model.bundle.name,
                "languages": model.languages,
                "images": len(index.images),
                "sentences": len(index.sentences),
                "similarity": model.network.similarity,
                "reads_photographs": model.reads_photographs,
                "mean_recall": {code: recalls["mR"] for code, recalls in model.bundle.test.items()},
            }
            for number, (model, index) in enumerate(self.opened)
        ]

    def sentence(self, number: int, text: str, language: str | None, top_k: int) -> Answer:
        model, index = self.numbered(number)
        detection = model.parse(text, language)
        sentence = detection.sentence
        if not sentence.known:
            where = f"in {sentence.language}" if language else f"in any of {', '.join(model.languages)}"
            raise InputError(f"None of its words is known {where}. Try other words.")
        vectors = model.embed_sentences([text], sentence.language)
        return {
            "language": sentence.language,
            "detected": language is None,
            "alternatives": detection.alternatives,
            "words": sentence.tokens,
            "unknown_words": sentence.unknown,
            "images": _images(index, model.images_of_sentences(index, vectors, top_k)),
        }

    def image(self, number: int, image: str, top_k: int) -> Answer:
        model, index = self.numbered(number)
        if image not in index.rows:
            raise HTTPException(404, "No such image in this index.")
        row = index.rows[image]
        vectors = np.array(index.image_vectors[row : row + 1], np.float32)
        images = _images(index, model.images_of_images(index, vectors, top_k + 1))
        return {
            "image": image,
            "images": [other for other in images if other["image"] != image][:top_k],
            "sentences": self._sentences(number, vectors, top_k),
            "captions": [_sentence(index, row) for row in index.sentences_of.get(image, [])],
        }

    def picture(self, number: int, content: bytes, top_k: int) -> Answer:
        model, index = self.numbered(number)
        check_picture(content)
        try:
            vectors = model.embed_images([io.BytesIO(content)])
        except InputError as error:
            if "decode" in str(error):
                raise InputError("The picture cannot be decoded: it is damaged or truncated.") from None
            raise
        images = _images(index, model.images_of_images(index, vectors, top_k))
        return {"images": images, "sentences": self._sentences(number, vectors, top_k)}

    def _sentences(self, number: int, vectors: Any, top_k: int) -> list[Answer]:
        model, index = self.numbered(number)
        if not index.sentences:
            return []
        neighbours = model.sentences_of_images(index, vectors, top_k)
        return [
            _sentence(index, int(row)) | {"score": _score(score)}
            for row, score in zip(neighbours.rows[0], neighbours.scores[0], strict=True)
        ]


def _images(index: Index, neighbours: Neighbours) -> list[Answer]:
    return [
        {"image": index.images[row], "file": bool(index.files[row]), "score": _score(score)}
        for row, score in zip(neighbours.rows[0], neighbours.scores[0], strict=True)
        if row >= 0
    ]


def _sentence(index: Index, row: int) -> Answer:
    image, language, text = index.sentences[row]
    return {"sentence": text, "language": language, "image": image}


def _score(score: float) -> float:
    return round(float(score), 4)


def _add_api(app: FastAPI, searches: _Searches, limit: CapacityLimiter) -> None:
    async def run(search: Callable[..., Answer], *arguments: Any) -> Answer:
        return await to_thread.run_sync(search, *arguments, limiter=limit)

    @app.get("/api/indexes", tags=["search"])
    async def indexes() -> list[Answer]:
        """The indexes that are open, each with its model, languages and mR on its test split."""
        return searches.indexes()

    @app.get("/api/sentence", tags=["search"])
    async def sentence(
        q: Annotated[str, Query(min_length=1, max_length=MAX_QUERY, description="a sentence")],
        language: Annotated[str | None, Query(description="its language; detected by default")] = None,
        index: IndexNumber = 0,
        top_k: TopK = 24,
    ) -> Answer:
        """The nearest images of a sentence. The model does not know the `unknown_words`."""
        return await run(searches.sentence, index, q, language or None, top_k)

    @app.get("/api/image", tags=["search"])
    async def image(
        image: Annotated[str, Query(max_length=4096, description="id of an indexed image")],
        index: IndexNumber = 0,
        top_k: TopK = 12,
    ) -> Answer:
        """The nearest images and sentences of an indexed image, and its own captions."""
        return await run(searches.image, index, image, top_k)

    @app.post(
        "/api/picture",
        tags=["search"],
        openapi_extra={
            "requestBody": {
                "required": True,
                "content": {"image/*": {"schema": {"type": "string", "format": "binary"}}},
            }
        },
    )
    async def picture(request: Request, index: IndexNumber = 0, top_k: TopK = 12) -> Answer:
        """The nearest images and sentences of a picture: JPEG, PNG or WebP, as the body of the request."""
        content = await _body(request)
        return await run(searches.picture, index, content, top_k)

    @app.get("/photograph", tags=["search"], response_class=FileResponse)
    async def photograph(
        image: Annotated[str, Query(max_length=4096, description="id of an indexed image")],
        index: IndexNumber = 0,
    ) -> Response:
        """The file of an indexed photograph."""
        path = searches.numbered(index)[1].file_of(image)
        if path is None:
            raise HTTPException(404, "No such photograph in this index.")
        return FileResponse(path, headers={"Cache-Control": "private, max-age=3600"})


async def _body(request: Request) -> bytes:
    """The body of a request, never more than `MAX_BYTES` of it."""
    declared = request.headers.get("content-length", "0")
    too_large = HTTPException(
        413, f"The picture has more than {MAX_BYTES // 10**6} MB.", {"Connection": "close"}
    )
    if not declared.isdecimal() or int(declared) > MAX_BYTES:
        raise too_large
    content = bytearray()
    async for part in request.stream():
        content += part
        if len(content) > MAX_BYTES:
            raise too_large
    return bytes(content)


def _add_pages(app: FastAPI) -> None:
    page = files("search") / "page"

    @app.get("/", include_in_schema=False)
    async def index() -> HTMLResponse:
        return HTMLResponse((page / "index.html").read_text(encoding="utf-8"))

    @app.get("/page/{name}", include_in_schema=False)
    async def page_file(name: str) -> Response:
        if name not in PAGE:
            raise HTTPException(404, "No such file.")
        return Response((page / name).read_bytes(), media_type=PAGE[name])


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(InputError)
    async def input_error(request: Request, error: InputError) -> JSONResponse:
        return JSONResponse({"error": " ".join(str(error).split())}, 422)

    @app.exception_handler(HTTPException)
    async def http_error(request: Request, error: HTTPException) -> JSONResponse:
        return JSONResponse({"error": error.detail}, error.status_code, error.headers)

    @app.exception_handler(RequestValidationError)
    async def invalid_parameters(request: Request, error: RequestValidationError) -> JSONResponse:
        mistakes = "; ".join(f"{one['loc'][-1]}: {one['msg']}" for one in error.errors())
        return JSONResponse({"error": mistakes}, 422)


def _add_token_check(app: FastAPI, token: str | None) -> None:
    @app.middleware("http")
    async def check_token(request: Request, answer: Callable[[Request], Awaitable[Response]]) -> Response:
        response = _answer_without_token(request, token) or await answer(request)
        response.headers.update(HEADERS)
        return response


def _answer_without_token(request: Request, token: str | None) -> Response | None:
    """The answer to a request that does not carry the token; None for a request that may pass."""
    if token is None:
        return None
    if request.url.path == "/" and _equal(request.query_params.get("token", ""), token):
        # Out of the address at once, so that it is neither shared nor kept in a history.
        rest = [(key, value) for key, value in request.query_params.multi_items() if key != "token"]
        response = RedirectResponse(f"/?{urlencode(rest)}", 303)
        response.set_cookie(COOKIE, token, httponly=True, samesite="strict")
        return response
    scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
    if _equal(credentials if scheme.lower() == "bearer" else request.cookies.get(COOKIE, ""), token):
        return None
    return JSONResponse({"error": "A valid token is needed. See --token-file."}, 401)


def _equal(text: str, token: str) -> bool:
    return hmac.compare_digest(text.encode(), token.encode())  # takes as long for every wrong text


def read_token(path: Path) -> str:
    """The token in a file; raises `InputError` if it is too short."""
    try:
        token = path.read_text(encoding="utf-8").strip()
    except (FileNotFoundError, UnicodeDecodeError):
        token = ""
    if len(token) < 20 or not token.isascii() or not token.replace("-", "").replace("_", "").isalnum():
        raise InputError(
            f"{path}: expected a token of at least 20 letters, digits, - or _. Make one: "
            f'python -c "import secrets; print(secrets.token_urlsafe())" > {path}'
        )
    return token


def _run(app: FastAPI, host: str, port: int) -> None:
    """Answer requests until the process is ended; without an access log, because URLs contain queries."""
    import uvicorn

    uvicorn.run(
        app, host=host, port=port, access_log=False, log_level="warning", server_header=False,
        limit_concurrency=256, timeout_keep_alive=15,
    )  # fmt: skip
