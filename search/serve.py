"""The page: a small web application over indexes, and its JSON interface.

Nothing is loaded from other hosts, only indexed photographs are served, and no query, picture or token is
logged.
"""

import io
import logging
import os
import random
from collections import Counter
from collections.abc import Callable, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import uvicorn
from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Depends, FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, Response
from numpy.typing import NDArray
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp

from pipeline.common.block import did_you_mean
from pipeline.common.errors import InputError
from pipeline.common.photographs import is_shown_by_browsers, media_type
from search.connections import Connection, bound_socket
from search.entrance import LOCAL_HOSTS, Entrance, check_prefix, read_token
from search.examples import example_images, example_queries, kind_of_images
from search.index import Index, open_index
from search.model import SearchModel, load_for
from search.nearest import Neighbours
from search.uploads import Uploads, check_picture

log = logging.getLogger("pipeline")

PAGE = {"page.js": "text/javascript", "page.css": "text/css", "icon.svg": "image/svg+xml"}
MAX_QUERY = 1000  # characters
MAX_SIDE, QUALITY = 1600, 90  # pixels of a side and quality of a photograph that is sent as JPEG
MAX_REQUESTS = 512  # requests that are answered at a time

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
    prefix: str = "",
    title: str | None = None,
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
        prefix: path below which a proxy shows the page, such as /node/host/8000, if it passes that path on.
        title: name of the page; by default what it searches.
        bundle: bundle of the index, if it has moved.
        weights: file of the backbone's weights, if the bundle names a file.
        device: device of the models.
        threads: threads of each request on a CPU; several requests compute at the same time.
    """
    if not 0 < port < 1 << 16:
        raise InputError(f"--port {port}: expected a number from 1 to 65535.")
    if host not in LOCAL_HOSTS and not token_file:
        raise InputError(
            f"--host {host}: other machines could reach the page. Give --token-file with a token that "
            f"they must send, or leave --host out."
        )
    token = read_token(token_file) if token_file else None
    check_prefix(prefix)
    listening = bound_socket(host, port)  # before models are loaded, and before the address is logged
    indexes = [open_index(folder, photographs) for folder in index]
    models = [load_for(opened, bundle, device, weights, threads) for opened in indexes]
    app = create_app(list(zip(models, indexes, strict=True)), token, os.cpu_count() or 1, prefix, title)
    query = "?token=... with the token of the file" if token else ""
    address = f"[{host}]" if ":" in host else host
    log.info("http://%s:%d%s/%s; Ctrl-C ends it", address, port, prefix, query)
    server(app).run([listening])


def create_app(
    models_and_indexes: Sequence[tuple[SearchModel, Index]],
    token: str | None = None,
    threads: int = 2,
    prefix: str = "",
    title: str | None = None,
) -> ASGIApp:
    """The application over one or more indexes, each with its model.

    Args:
        token: what a request must carry, as `Authorization: Bearer ...` or, once, as `/?token=...`. None: no
            token is needed, and only requests to this machine by its own name are answered.
        threads: requests that compute at the same time.
        prefix: path that a proxy leaves before the page's own; requests without it are answered too.
        title: name of the page; by default what it searches.
    """
    searches = _Searches(models_and_indexes)
    app = FastAPI(
        title="Search photographs in the languages of a trained model",
        version="1",
        docs_url=None,  # FastAPI's pages load scripts from other hosts
        redoc_url=None,
    )
    _add_errors(app)
    _add_pages(app, title or searches.title)
    _add_api(app, searches, CapacityLimiter(threads))
    return Entrance(app, token, prefix)


class _Searches:
    """The answers to requests, as values of JSON."""

    def __init__(self, models_and_indexes: Sequence[tuple[SearchModel, Index]]):
        self.models_and_indexes = models_and_indexes
        self.kinds = [kind_of_images(model, index) for model, index in models_and_indexes]

    @property
    def title(self) -> str:
        """What the page searches."""
        kinds = set(self.kinds)
        return f"Search {kinds.pop() if len(kinds) == 1 else 'images'}"

    def model_and_index(self, number: int) -> tuple[SearchModel, Index]:
        """Model and index of a number."""
        if number >= len(self.models_and_indexes):
            raise InputError(f"index {number}: there are {len(self.models_and_indexes)}, from 0.")
        return self.models_and_indexes[number]

    def indexes(self) -> list[Answer]:
        return [
            {
                "index": number,
                "name": model.bundle.name,
                "languages": model.languages,
                "kind": kind,
                "images": len(index.images),
                "sentences": len(index.sentences),
                "similarity": model.network.similarity,
                "reads_photographs": model.reads_photographs,
                "mean_recall": {code: recalls["mR"] for code, recalls in model.bundle.test.items()},
            }
            for number, ((model, index), kind) in enumerate(
                zip(self.models_and_indexes, self.kinds, strict=True)
            )
        ]

    def examples(self, number: int) -> Answer:
        model, index = self.model_and_index(number)
        draw = random.Random()
        return {
            "images": [_image(index, row) for row in example_images(index, draw)],
            "queries": [_sentence(index, row) for row in example_queries(model, index, draw)],
        }

    def sentence(self, number: int, text: str, language: str | None, top_k: int) -> Answer:
        model, index = self.model_and_index(number)
        detection = model.query(text, language)
        sentence = detection.sentence
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
        model, index = self.model_and_index(number)
        if image not in index.rows:
            raise HTTPException(404, "No such image in this index.")
        row = index.rows[image]
        vectors = np.array(index.image_vectors[row : row + 1], np.float32)
        images = _images(index, model.images_of_images(index, vectors, top_k + 1))
        return _image(index, row) | {
            "images": [neighbour for neighbour in images if neighbour["image"] != image][:top_k],
            "sentences": self._sentences(number, vectors, top_k),
            "captions": [_sentence(index, row) for row in index.sentences_of.get(image, [])],
        }

    def picture(self, number: int, content: bytes, top_k: int) -> Answer:
        model, index = self.model_and_index(number)
        if not model.reads_photographs:
            raise InputError(f"{model.bundle.name} reads no pictures: it was trained on imported features.")
        check_picture(content)
        try:
            vectors = model.embed_images([io.BytesIO(content)])
        except InputError as error:
            if "decode" in str(error):
                raise InputError("The picture cannot be decoded: it is damaged or truncated.") from None
            raise
        images = _images(index, model.images_of_images(index, vectors, top_k))
        return {"images": images, "sentences": self._sentences(number, vectors, top_k)}

    def _sentences(self, number: int, vectors: NDArray[np.float32], top_k: int) -> list[Answer]:
        model, index = self.model_and_index(number)
        if not index.sentences:
            return []
        neighbours = model.sentences_of_images(index, vectors, top_k)
        return [
            _sentence(index, int(row)) | {"score": _score(score)}
            for row, score in zip(neighbours.rows[0], neighbours.scores[0], strict=True)
        ]


def _images(index: Index, neighbours: Neighbours) -> list[Answer]:
    return [
        _image(index, row) | {"score": _score(score)}
        for row, score in zip(neighbours.rows[0], neighbours.scores[0], strict=True)
        if row >= 0
    ]


def _image(index: Index, row: int) -> Answer:
    image = index.images[row]
    captions = index.sentences_of.get(image, [])
    return {
        "image": image,
        "file": bool(index.files[row]),
        "caption": _sentence(index, captions[0]) if captions else None,
    }


def _sentence(index: Index, row: int) -> Answer:
    image, language, text = index.sentences[row]
    return {"sentence": text, "language": language, "image": image}


def _score(score: float) -> float:
    return round(float(score), 4)


def _add_api(app: FastAPI, searches: _Searches, limit: CapacityLimiter) -> None:
    uploads = Uploads()
    api = APIRouter(tags=["search"], dependencies=[Depends(_check_parameters)])

    async def run(search: Callable[..., Answer], *arguments: object) -> Answer:
        return await to_thread.run_sync(search, *arguments, limiter=limit)

    @api.get("/api/indexes")
    async def indexes() -> list[Answer]:
        """The indexes that are open, each with its model, languages and mR on its test split."""
        return searches.indexes()

    @api.get("/api/examples")
    async def examples(response: Response, index: IndexNumber = 0) -> Answer:
        """Images of an index and captions to search with, different ones at each request."""
        response.headers["Cache-Control"] = "no-store"
        return await run(searches.examples, index)

    @api.get("/api/sentence")
    async def sentence(
        q: Annotated[str, Query(min_length=1, max_length=MAX_QUERY, description="a sentence")],
        language: Annotated[str | None, Query(description="its language; detected by default")] = None,
        index: IndexNumber = 0,
        top_k: TopK = 24,
    ) -> Answer:
        """The nearest images of a sentence. The model does not know the `unknown_words`."""
        return await run(searches.sentence, index, q, language or None, top_k)

    @api.get("/api/image")
    async def image(
        image: Annotated[str, Query(max_length=4096, description="id of an indexed image")],
        index: IndexNumber = 0,
        top_k: TopK = 12,
    ) -> Answer:
        """The nearest images and sentences of an indexed image, and its own captions."""
        return await run(searches.image, index, image, top_k)

    @api.post(
        "/api/picture",
        openapi_extra={
            "requestBody": {
                "required": True,
                "content": {"image/*": {"schema": {"type": "string", "format": "binary"}}},
            }
        },
    )
    async def picture(request: Request, index: IndexNumber = 0, top_k: TopK = 12) -> Answer:
        """The nearest images and sentences of a picture: JPEG, PNG or WebP, as the body of the request."""
        async with uploads.content(request) as content:
            return await run(searches.picture, index, content, top_k)

    @api.get("/photograph", response_class=FileResponse)
    async def photograph(
        image: Annotated[str, Query(max_length=4096, description="id of an indexed image")],
        index: IndexNumber = 0,
    ) -> Response:
        """The file of an indexed photograph; as JPEG if browsers do not show its format, such as TIFF."""
        path = searches.model_and_index(index)[1].file_of(image)
        if path is None:
            raise HTTPException(404, "No such photograph in this index.")
        headers = {"Cache-Control": "private, max-age=3600"}
        if is_shown_by_browsers(path.name):
            return FileResponse(path, headers=headers, media_type=media_type(path.name))
        content = await to_thread.run_sync(_as_jpeg, path, limiter=limit)
        return Response(content, headers=headers, media_type="image/jpeg")

    app.include_router(api)


async def _check_parameters(request: Request) -> None:
    """Raise `InputError` for parameters that are unknown or given twice, which would have no effect."""
    known = [parameter.alias for parameter in request.scope["route"].dependant.query_params]
    given = Counter(name[:60] for name, _ in request.query_params.multi_items())
    mistakes = [
        f"unknown parameter {name!r}{did_you_mean(name, known) if known else '; there are none here'}"
        for name in given
        if name not in known
    ]
    mistakes += [f"{name}: given {given[name]} times; give it once" for name in known if given[name] > 1]
    if mistakes:
        raise InputError("; ".join(mistakes))


def _as_jpeg(path: Path) -> bytes:
    from pipeline.images.crops import UnreadableImage, jpeg_of

    try:
        return jpeg_of(path, MAX_SIDE, QUALITY)
    except UnreadableImage:
        raise HTTPException(404, "The photograph cannot be decoded.") from None


def _add_pages(app: FastAPI, title: str) -> None:
    page = files("search") / "page"
    first = (page / "index.html").read_text(encoding="utf-8").replace("{title}", escape(title))

    @app.get("/", include_in_schema=False)
    async def index() -> HTMLResponse:
        return HTMLResponse(first)

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
        mistakes = "; ".join(f"{detail['loc'][-1]}: {detail['msg']}" for detail in error.errors())
        return JSONResponse({"error": mistakes}, 422)

    @app.exception_handler(ClientDisconnect)
    async def client_left(request: Request, error: ClientDisconnect) -> Response:
        return Response(status_code=499)  # the client has gone and does not receive it


def server(app: ASGIApp) -> uvicorn.Server:
    """A server without an access log, because URLs contain queries."""
    return uvicorn.Server(
        uvicorn.Config(
            app, access_log=False, log_level="warning", server_header=False, limit_concurrency=MAX_REQUESTS,
            timeout_graceful_shutdown=3, http=Connection, ws="none",
        )
    )  # fmt: skip
