"""The page and its JSON: what is nearest to a sentence, an image and an upload, and what is refused."""

import io
import re
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from fastapi.testclient import TestClient
from PIL import Image
from searched import NAMES, draw_pictures, make_model, write_captions

from search import open_index
from search.build_index import build_index
from search.model import SearchModel
from search.serve import LARGEST_UPLOAD, create_app


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> SearchModel:
    """A model, next to an index of photographs."""
    folder = tmp_path_factory.mktemp("page")
    model = make_model(folder / "model.pt")
    captions = write_captions(folder / "captions.csv")
    build_index(
        model.path, folder / "index.h5", draw_pictures(folder / "pictures", NAMES), captions=[captions]
    )
    return model


@pytest.fixture(scope="module")
def page(model: SearchModel) -> TestClient:
    app = create_app(model, open_index(model.path.with_name("index.h5")), ["hub.example"])
    return TestClient(app, "http://127.0.0.1:8000")


class Elements(HTMLParser):
    """The attributes of a page's elements, by tag."""

    def __init__(self, text: str):
        super().__init__()
        self.of: dict[str, list[dict[str, str | None]]] = {}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.of.setdefault(tag, []).append(dict(attrs))

    def values(self, tag: str, attribute: str) -> list[str]:
        return [value for each in self.of.get(tag, []) if (value := each.get(attribute))]


def shown_images(text: str) -> list[str]:
    """The images of the grid, in order."""
    return Elements(text.partition('class="grid"')[2]).values("a", "title")


def test_the_first_page_names_the_model_and_gives_examples(page: TestClient) -> None:
    text = page.get("/").text
    assert "multi30k x seed 0" in text
    assert re.search(r"English 61\.2%, *German 57\.5%", text) and "6 images with 4 captions" in text
    assert sorted(shown_images(text)) == NAMES
    queries = [link for link in Elements(text).values("a", "href") if "q=" in link]
    assert len(queries) == 4 and "./?q=A%20red%20car.&language=en" in queries
    assert [page.get(link.removeprefix(".")).status_code for link in queries] == [200] * 4


def test_every_link_is_relative_so_that_a_proxy_may_add_a_path(page: TestClient) -> None:
    for query in ("/", "/?q=a+dog", "/?image=one.jpg"):
        elements = Elements(page.get(query).text)
        links = [
            link
            for tag, attribute in (("a", "href"), ("link", "href"), ("img", "src"), ("form", "action"))
            for link in elements.values(tag, attribute)
        ]
        assert len(links) > 10
        assert not [link for link in links if link.startswith("/") or ":" in link]
        assert "script" not in elements.of


def test_a_sentence_finds_what_the_model_finds(page: TestClient, model: SearchModel) -> None:
    index = open_index(model.path.with_name("index.h5"))
    found = model.search(index, sentences=["ein zebra hund"])
    answer = page.get("/api/search", params={"q": "ein zebra hund"}).json()
    assert (answer["read_as"], answer["unknown"]) == ("de", ["zebra"])
    assert [each["image"] for each in answer["images"]] == [NAMES[row] for row in found.rows[0]]
    np.testing.assert_allclose([each["score"] for each in answer["images"]], found.scores[0], atol=1e-4)
    text = page.get("/", params={"q": "ein zebra hund"}).text
    assert "Read as German" in text and re.search(r"<s [^>]*>zebra</s>", text)
    assert shown_images(text) == [each["image"] for each in answer["images"]]
    assert page.get("/api/search", params={"q": "in", "language": "de"}).json()["read_as"] == "de"


def test_an_indexed_image_finds_others_and_captions(page: TestClient, model: SearchModel) -> None:
    index = open_index(model.path.with_name("index.h5"))
    answer = page.get("/api/search", params={"image": "one.jpg"}).json()
    vectors = index.image_vectors.astype(np.float32)
    order = np.argsort(-(vectors @ vectors[NAMES.index("one.jpg")]), kind="stable")
    assert [each["image"] for each in answer["images"]] == [
        NAMES[row] for row in order if NAMES[row] != "one.jpg"
    ]
    assert [each["caption"] for each in answer["own_captions"]] == [
        "A dog runs in snow.",
        "Ein Hund im Schnee.",
    ]
    assert len(answer["captions"]) == 4
    text = page.get("/?image=one.jpg").text
    assert "Ein Hund im Schnee." in text and shown_images(text)[:5] == [NAMES[row] for row in order[1:]]


def test_an_uploaded_picture_is_searched_with_and_shown(page: TestClient) -> None:
    content = io.BytesIO()
    Image.new("RGB", (60, 50), (200, 30, 90)).save(content, "PNG")
    answer = page.post("/", files={"picture": ("a.png", content.getvalue())}, follow_redirects=False)
    link = answer.headers["location"]
    assert answer.status_code == 303 and link.startswith("./?picture=")
    text = page.get(link.removeprefix(".")).text
    assert len(shown_images(text)) >= 6 and "Nearest captions" in text
    (shown,) = [image for image in Elements(text).values("img", "src") if "picture=" in image]
    assert page.get(f"/{shown}").content == content.getvalue()
    other = page.get("/?picture=forgotten")
    assert other.status_code == 422 and "no longer available" in other.text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "No picture was sent"),
        (b"no picture", "cannot be decoded"),
        (b"\xff" * (LARGEST_UPLOAD + 1), "more than 20 MB"),
    ],
    ids=["empty", "no picture", "too large"],
)
def test_uploads_that_are_no_pictures_are_refused(page: TestClient, content: bytes, message: str) -> None:
    answer = page.post("/", files={"picture": ("a.jpg", content)})
    assert answer.status_code == 422 and message in answer.text
    assert page.post("/", content=b"", headers={"content-type": "text/plain"}).status_code == 422


def test_mistakes_are_said_on_the_page_and_as_json(page: TestClient) -> None:
    for query, message in (("q=xyzzy", "none of its words"), ("image=x", "no such image"),
                           ("q=a&language=fr", "en, de")):  # fmt: skip
        text, json = page.get(f"/?{query}"), page.get(f"/api/search?{query}")
        assert (text.status_code, json.status_code) == (422, 422)
        assert message in text.text and message in json.json()["detail"]
        assert 'name="q"' in text.text  # the form stays
    assert "&lt;b&gt;" in page.get("/?q=<b>").text and "<b>" not in page.get("/?q=<b>").text


def test_only_indexed_photographs_are_served(page: TestClient, model: SearchModel) -> None:
    pictures = model.path.with_name("pictures")
    for name in ("one.jpg", "below/deep/five.JPG", "six.webp"):
        answer = page.get("/photograph", params={"image": name})
        assert answer.content == (pictures / name).read_bytes()
        assert answer.headers["content-type"].startswith("image/")
    (pictures / "secret.txt").write_text("secret")
    for name in ("secret.txt", "../model.pt", "below/../one.jpg", "/etc/passwd", ""):
        assert page.get("/photograph", params={"image": name}).status_code == 404
    assert page.get("/page/page.css").status_code == page.get("/page/icon.svg").status_code == 200
    assert page.get("/page/../serve.py").status_code == page.get("/page/%2e%2e/serve.py").status_code == 404


def test_requests_to_other_hosts_are_refused(page: TestClient) -> None:
    """A page elsewhere could send them by DNS rebinding; names that were allowed are answered."""
    for host, status in (("localhost:8000", 200), ("hub.example", 200), ("evil.example", 400)):
        assert page.get("/", headers={"host": host}).status_code == status


def test_many_requests_at_once_get_their_own_answers(page: TestClient) -> None:
    queries = ["a dog", "a red car", "ein Hund", "Schnee", "snow", "rot"] * 5

    def images(query: str) -> list[str]:
        answer = page.get("/api/search", params={"q": query}).json()
        return [each["image"] for each in answer["images"]]

    alone = {query: images(query) for query in queries}
    with ThreadPoolExecutor(10) as pool:
        assert list(pool.map(images, queries)) == [alone[query] for query in queries]


def test_an_index_of_features_shows_ids_in_place_of_pictures(tmp_path: Path, model: SearchModel) -> None:
    index = open_index(model.path.with_name("index.h5"), tmp_path)
    text = TestClient(create_app(model, index), "http://localhost").get("/").text
    assert sorted(shown_images(text)) == NAMES
    without = make_model(tmp_path / "features.pt", features={})
    index = open_index(model.path.with_name("index.h5"))
    page = TestClient(create_app(without, index), "http://localhost")
    assert 'type="file"' not in page.get("/").text  # embeds no photographs
    assert page.get("/?q=a+dog").status_code == 422 and "another model" in page.get("/?q=a+dog").text
