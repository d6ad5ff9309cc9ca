"""The page: a small web application over an index, in plain HTML without scripts, and the same as JSON.

Nothing is loaded from other hosts, only indexed photographs are served, and no query is logged.
"""

import io
import logging
import random
import secrets
import threading
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import uvicorn
from fastapi import FastAPI, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import FileResponse, JSONResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from fastapi.templating import Jinja2Templates
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware

from pipeline.common.errors import InputError
from pipeline.datasets.languages import name_of
from search.index import Index, open_index
from search.model import Searched, SearchModel, Vectors, load

log = logging.getLogger("pipeline")

PAGE = Path(__file__).parent / "page"
LARGEST_UPLOAD = 20 * 10**6  # bytes
MAX_PICTURES = 20  # uploaded pictures that are kept in memory, for links back to them
EXAMPLE_IMAGES = 12
EXAMPLE_QUERIES, CANDIDATES = 3, 10  # of each language: the shortest of some random captions
SHOWN, SHOWN_CAPTIONS = 24, 12  # results

Answer = dict[str, Any]
Text = Annotated[str, Query(max_length=1000)]


def serve(
    index: Path,
    /,
    photographs: Path | None = None,
    port: int = 8000,
    allowed_host: Sequence[str] = (),
    model: Path | None = None,
    browser: bool = False,
) -> None:
    """Serve a page for searching an index, on this machine.

    Args:
        index: index to search, as `build-index` writes it.
        photographs: folder of the photographs, if it has moved.
        port: port of the page.
        allowed_host: names by which a proxy on this machine asks for the page, besides localhost.
        model: model of the index, if it has moved.
        browser: whether to open the page in a browser.
    """
    torch.set_num_threads(1)  # of each request; several requests compute at the same time
    opened = open_index(index, photographs)
    searching = load(model or opened.model)
    searching.require_own(opened)
    app = create_app(searching, opened, allowed_host)
    log.info("http://127.0.0.1:%d/ ; Ctrl-C ends it", port)
    if browser:  # a second later, when the page is there
        timer = threading.Timer(1, webbrowser.open, [f"http://127.0.0.1:{port}/"])
        timer.daemon = True  # a server that finds its port taken ends before
        timer.start()
    uvicorn.run(app, port=port, access_log=False, log_level="warning", timeout_graceful_shutdown=3)


def create_app(model: SearchModel, index: Index, allowed_hosts: Sequence[str] = ()) -> FastAPI:
    """The application over an index and its model.

    Requests to other names than this machine's are refused: a page elsewhere could send them (DNS rebinding).

    Args:
        allowed_hosts: further names.
    """
    answers = _Answers(model, index)
    templates = Jinja2Templates(PAGE)
    app = FastAPI(title="Search", docs_url=None, redoc_url=None)  # FastAPI's pages load from other hosts
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost", *allowed_hosts])
    app.mount("/page", StaticFiles(directory=PAGE))

    def render(request: Request, answer: Answer, status: int = 200) -> Response:
        context = {**answers.about, "query": request.query_params, **answer}
        return templates.TemplateResponse(request, "index.html", context, status)

    @app.get("/")
    def page(
        request: Request, q: Text = "", language: Text = "", image: Text = "", picture: Text = ""
    ) -> Response:
        """The page: what is nearest to a sentence, an indexed image or an uploaded picture, or examples."""
        return render(request, answers.answer(q, language, image, picture))

    @app.get("/api/search")
    def search(q: Text = "", language: Text = "", image: Text = "", picture: Text = "") -> Answer:
        """The content of the page as JSON."""
        return answers.answer(q, language, image, picture)

    @app.post("/")
    async def upload(request: Request) -> Response:
        """Embed the picture of a form, and go to what is nearest to it."""
        key = await run_in_threadpool(answers.add_picture, await _uploaded_file(request))
        return RedirectResponse(f"./?picture={key}", 303)

    @app.get("/photograph")
    def photograph(image: Text = "", picture: Text = "") -> Response:
        """The file of an indexed photograph, or an uploaded picture."""
        if picture in answers.pictures:
            return Response(answers.pictures[picture][1])
        path = index.file(image)
        if path is None:
            raise HTTPException(404, "No such photograph in this index.")
        return FileResponse(path)

    @app.exception_handler(InputError)
    def input_error(request: Request, error: InputError) -> Response:
        if request.url.path == "/":
            return render(request, {"error": str(error)}, 422)
        return JSONResponse({"detail": str(error)}, 422)

    return app


class _Answers:
    """What the page shows, as values of JSON.

    about: the model and the index. pictures: vector (1, e) and file of the latest uploads by their keys.
    """

    def __init__(self, model: SearchModel, index: Index):
        self.model, self.index = model, index
        self.pictures: dict[str, tuple[Vectors, bytes]] = {}
        settings = model.record.settings
        self.about = {
            "model": f"{settings.dataset} {settings.experiment} seed {settings.seed}",
            "languages": {code: name_of(code) for code in model.languages},
            "recalls": model.record.validation,
            "index": index,
            "reads_photographs": model.reads_photographs,
            "note": note.read_text("utf-8") if (note := model.path.with_suffix(".txt")).is_file() else "",
        }

    def answer(self, q: str, language: str, image: str, picture: str) -> Answer:
        """What is nearest to an indexed image, an uploaded picture or a sentence; without any, examples."""
        if image:
            row = self.index.rows.get(image)
            if row is None:
                raise InputError(f"{image}: there is no such image in this index.")
            nearest = self._nearest_to_image(self.index.image_vectors[row : row + 1].astype(np.float32))
            nearest["images"] = [each for each in nearest["images"] if each["image"] != image]
            own = [self._caption(caption) for caption in self.index.captions_of(row)]
            return {"shown": self._image(row), "own_captions": own, **nearest}
        if picture:
            if picture not in self.pictures:
                raise InputError("The picture is no longer available. Choose it again.")
            return self._nearest_to_image(self.pictures[picture][0])
        if q.strip():
            parsed = self.model.query(q, language or None)
            vectors = self.model.embed_sentences([q], parsed.language)
            words = {"read_as": parsed.language, "words": parsed.words, "unknown": parsed.unknown}
            return {**words, "images": self._nearest(vectors, "captions", "images")}
        return self._examples(random.Random())

    def add_picture(self, content: bytes) -> str:
        """Embed a picture and return its key; the oldest pictures are forgotten."""
        vectors = self.model.embed_images([io.BytesIO(content)])
        key = secrets.token_urlsafe(8)
        latest = list(self.pictures.items())[1 - MAX_PICTURES :]
        self.pictures = {**dict(latest), key: (vectors, content)}
        return key

    def _nearest_to_image(self, vectors: Vectors) -> Answer:
        return {
            "images": self._nearest(vectors, "images", "images"),
            "captions": self._nearest(vectors, "images", "captions")[:SHOWN_CAPTIONS],
        }

    def _nearest(self, vectors: Vectors, are: Searched, search_in: Searched) -> list[Answer]:
        found = self.model.neighbours(self.index, vectors, are, search_in, SHOWN)
        describe = self._image if search_in == "images" else self._caption
        return [
            {**describe(row), "score": round(score, 4)}
            for row, score in zip(found.rows[0].tolist(), found.scores[0].tolist(), strict=True)
        ]

    def _image(self, row: int) -> Answer:
        text = next((self.index.captions[caption] for caption in self.index.captions_of(row)), "")
        return {"image": self.index.images[row], "file": bool(self.index.files[row]), "caption": text}

    def _caption(self, row: int) -> Answer:
        image = self.index.images[self.index.caption_images[row]]
        return {"caption": self.index.captions[row], "language": self.index.languages[row], "image": image}

    def _examples(self, draw: random.Random) -> Answer:
        """Random images, and a few random captions of each language that are not long."""
        rows = draw.sample(range(len(self.index.images)), min(EXAMPLE_IMAGES, len(self.index.images)))
        queries = {}
        for language in self.model.languages:
            captions = [row for row, code in enumerate(self.index.languages) if code == language]
            drawn = draw.sample(captions, min(CANDIDATES, len(captions)))
            short = sorted(drawn, key=lambda row: len(self.index.captions[row]))[:EXAMPLE_QUERIES]
            queries[language] = [self.index.captions[row] for row in short]
        return {"images": [self._image(row) for row in rows], "queries": queries}


async def _uploaded_file(request: Request) -> bytes:
    """The file of a form, which is not read if it is too large or does not say its size."""
    if int(request.headers.get("content-length", LARGEST_UPLOAD + 1)) > LARGEST_UPLOAD:
        raise InputError(f"The picture has more than {LARGEST_UPLOAD // 10**6} MB.")
    picture = (await request.form()).get("picture")
    if not isinstance(picture, UploadFile) or not (content := await picture.read()):
        raise InputError("No picture was sent. Choose one.")
    return content
