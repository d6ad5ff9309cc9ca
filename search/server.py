"""The page: a small web application over indexes, and its JSON interface.

Nothing is loaded from elsewhere, no file but an indexed photograph is served, and no query, picture or token
is logged.
"""

import hmac
import io
import logging
from collections.abc import Awaitable, Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlencode

import numpy as np
from anyio import CapacityLimiter, to_thread
from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware

from pipeline.common.errors import InputError
from search.index import Index
from search.interface import interface_page
from search.model import SearchModel
from search.nearest import Found
from search.uploads import MOST_BYTES, check_picture

log = logging.getLogger("pipeline")

HERE = ("127.0.0.1", "localhost")
PAGE = {"page.js": "text/javascript", "page.css": "text/css", "icon.svg": "image/svg+xml"}
COOKIE = "token"
LONGEST_QUERY = 1000  # characters
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}

K = Annotated[int, Query(ge=1, le=100, description="how many are found")]
Which = Annotated[int, Query(ge=0, description="number of the index, see /api/indexes")]
Answer = dict[str, Any]


def application(
    searched: Sequence[tuple[SearchModel, Index]], token: str | None = None, threads: int = 2
) -> FastAPI:
    """The application over one or more indexes, each with its model.

    Args:
        token: what a request must carry, as `Authorization: Bearer ...` or, once, as `/?token=...`; None:
            nothing, then only requests to this machine by its own name are answered.
        threads: requests that compute at the same time.
    """
    app = FastAPI(
        title="Search photographs in the languages of a trained model",
        version="1",
        docs_url=None,  # loads scripts from elsewhere; /interface is a page of the same description
        redoc_url=None,
    )
    _add_errors(app)
    _add_guard(app, token)
    if token is None:
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(HERE))
    _add_pages(app)
    _add_interface(app, _Searches(searched), CapacityLimiter(threads))
    return app


class _Searches:
    """What the requests ask; each answer is JSON."""

    def __init__(self, searched: Sequence[tuple[SearchModel, Index]]):
        self.searched = searched

    def at(self, number: int) -> tuple[SearchModel, Index]:
        """Model and index of a number."""
        if number >= len(self.searched):
            raise InputError(f"index {number}: there are {len(self.searched)}, from 0.")
        return self.searched[number]

    def described(self) -> list[Answer]:
        return [
            {
                "index": number,
                "name": model.bundle.name,
                "languages": model.languages,
                "images": len(index.images),
                "sentences": len(index.sentences),
                "similarity": model.model.similarity,
                "reads_photographs": model.reads_photographs,
                "mean_recall": {code: found["mR"] for code, found in model.bundle.test.items()},
            }
            for number, (model, index) in enumerate(self.searched)
        ]

    def sentence(self, number: int, text: str, language: str | None, k: int) -> Answer:
        model, index = self.at(number)
        recognised = model.recognise(text, language)
        read = recognised.read
        answer = {
            "language": read.language,
            "recognised": language is None,
            "also": recognised.also if language is None else [],
            "words": read.tokens,
            "unknown": read.unknown,
        }
        if not read.known:
            where = f"in {read.language}" if language else f"in any of {', '.join(model.languages)}"
            raise InputError(f"None of its words is known {where}. Try other words.")
        vectors = model.embed_sentences([text], read.language)
        return answer | {"images": _images(index, model.images_of_sentences(index, vectors, k))}

    def image(self, number: int, image: str, k: int) -> Answer:
        model, index = self.at(number)
        if image not in index.rows:
            raise HTTPException(404, "No such image in this index.")
        row = index.rows[image]
        vectors = np.array(index.image_vectors[row : row + 1], np.float32)
        found = model.images_of_images(index, vectors, k + 1)
        others = [one for one in _images(index, found) if one["image"] != image][:k]
        own = [_said(index, row) for row in index.sentences_of.get(image, [])]
        return {
            "image": image,
            "images": others,
            "sentences": self._sentences(number, vectors, k),
            "own": own,
        }

    def picture(self, number: int, content: bytes, k: int) -> Answer:
        model, index = self.at(number)
        check_picture(content)
        try:
            vectors = model.embed_images([io.BytesIO(content)])
        except InputError as error:
            if "decode" in str(error):
                raise InputError("The picture cannot be decoded: it is damaged or truncated.") from None
            raise
        found = _images(index, model.images_of_images(index, vectors, k))
        return {"images": found, "sentences": self._sentences(number, vectors, k)}

    def _sentences(self, number: int, vectors: Any, k: int) -> list[Answer]:
        model, index = self.at(number)
        if not index.sentences:
            return []
        found = model.sentences_of_images(index, vectors, k)
        return [
            _said(index, int(row)) | {"score": _score(score)}
            for row, score in zip(found.rows[0], found.scores[0], strict=True)
        ]


def _images(index: Index, found: Found) -> list[Answer]:
    return [
        {"image": index.images[row], "file": bool(index.files[row]), "score": _score(score)}
        for row, score in zip(found.rows[0], found.scores[0], strict=True)
        if row >= 0
    ]


def _said(index: Index, row: int) -> Answer:
    image, language, text = index.sentences[row]
    return {"sentence": text, "language": language, "image": image}


def _score(score: float) -> float:
    return round(float(score), 4)


def _add_interface(app: FastAPI, searches: _Searches, limit: CapacityLimiter) -> None:
    async def computed(question: Callable[..., Answer], *of: Any) -> Answer:
        return await to_thread.run_sync(question, *of, limiter=limit)

    @app.get("/api/indexes", tags=["search"])
    async def indexes() -> list[Answer]:
        """The indexes that are open, each with its model, languages and mR on its test split."""
        return searches.described()

    @app.get("/api/sentence", tags=["search"])
    async def sentence(
        q: Annotated[str, Query(min_length=1, max_length=LONGEST_QUERY, description="a sentence")],
        language: Annotated[str | None, Query(description="its language; recognised if not given")] = None,
        index: Which = 0,
        k: K = 24,
    ) -> Answer:
        """The nearest images of a sentence. `unknown` are words that the model has never seen."""
        return await computed(searches.sentence, index, q, language or None, k)

    @app.get("/api/image", tags=["search"])
    async def image(
        image: Annotated[str, Query(max_length=4096, description="id of an indexed image")],
        index: Which = 0,
        k: K = 12,
    ) -> Answer:
        """The nearest images and sentences of an indexed image, and the sentences of its own."""
        return await computed(searches.image, index, image, k)

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
    async def picture(request: Request, index: Which = 0, k: K = 12) -> Answer:
        """The nearest images and sentences of a picture: JPEG, PNG or WebP, as the body of the request."""
        content = await _body(request)
        return await computed(searches.picture, index, content, k)

    @app.get("/photograph", tags=["search"], response_class=FileResponse)
    async def photograph(
        image: Annotated[str, Query(max_length=4096, description="id of an indexed image")], index: Which = 0
    ) -> Response:
        """The file of an indexed photograph."""
        path = searches.at(index)[1].file_of(image)
        if path is None:
            raise HTTPException(404, "No such photograph in this index.")
        return FileResponse(path, headers={"Cache-Control": "private, max-age=3600"})


async def _body(request: Request) -> bytes:
    """The body of a request, never more than `MOST_BYTES` of it."""
    declared = request.headers.get("content-length", "0")
    too_large = HTTPException(
        413, f"The picture has more than {MOST_BYTES // 10**6} MB.", {"Connection": "close"}
    )
    if not declared.isdecimal() or int(declared) > MOST_BYTES:
        raise too_large
    content = bytearray()
    async for part in request.stream():
        content += part
        if len(content) > MOST_BYTES:
            raise too_large
    return bytes(content)


def _add_pages(app: FastAPI) -> None:
    page = files("search") / "page"

    @app.get("/", include_in_schema=False)
    async def index() -> HTMLResponse:
        return HTMLResponse((page / "index.html").read_text(encoding="utf-8"))

    @app.get("/page/{name}", include_in_schema=False)
    async def part(name: str) -> Response:
        if name not in PAGE:
            raise HTTPException(404, "No such file.")
        return Response((page / name).read_bytes(), media_type=PAGE[name])

    @app.get("/interface", include_in_schema=False)
    async def interface() -> HTMLResponse:
        return HTMLResponse(interface_page(app.openapi()))


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(InputError)
    async def refused(request: Request, error: InputError) -> JSONResponse:
        return JSONResponse({"error": " ".join(str(error).split())}, 422)

    @app.exception_handler(HTTPException)
    async def failed(request: Request, error: HTTPException) -> JSONResponse:
        return JSONResponse({"error": error.detail}, error.status_code, error.headers)

    @app.exception_handler(RequestValidationError)
    async def mistaken(request: Request, error: RequestValidationError) -> JSONResponse:
        said = "; ".join(f"{one['loc'][-1]}: {one['msg']}" for one in error.errors())
        return JSONResponse({"error": said}, 422)


def _add_guard(app: FastAPI, token: str | None) -> None:
    @app.middleware("http")
    async def guarded(request: Request, answer: Callable[[Request], Awaitable[Response]]) -> Response:
        response = _without_token(request, token) or await answer(request)
        response.headers.update(HEADERS)
        return response


def _without_token(request: Request, token: str | None) -> Response | None:
    """The answer to a request that does not carry the token; None where it may pass."""
    if token is None:
        return None
    if request.url.path == "/" and _same(request.query_params.get("token", ""), token):
        # Out of the address at once, so that it is neither shared nor kept in a history.
        rest = [(key, value) for key, value in request.query_params.multi_items() if key != "token"]
        response = RedirectResponse(f"/?{urlencode(rest)}", 303)
        response.set_cookie(COOKIE, token, httponly=True, samesite="strict")
        return response
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    carried = given if scheme.lower() == "bearer" else request.cookies.get(COOKIE, "")
    if _same(carried, token):
        return None
    return JSONResponse({"error": "A valid token is needed. See --token-file."}, 401)


def _same(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode(), token.encode())


def read_token(path: Path) -> str:
    """The token in a file; raises `InputError` where it is too short to be one."""
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


def serve(app: FastAPI, host: str, port: int) -> None:
    """Answer requests until the process is ended; no access log, since addresses hold queries."""
    import uvicorn

    uvicorn.run(
        app, host=host, port=port, access_log=False, log_level="warning", server_header=False,
        limit_concurrency=256, timeout_keep_alive=15,
    )  # fmt: skip
