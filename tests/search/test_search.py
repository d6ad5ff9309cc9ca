"""The bundle, index and page of a small real run: equal numbers, nothing lost, no access to other files."""

import csv
import io
import json
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import h5py
import numpy as np
import pandas as pd
import pytest
import torch
from browser import CHROMIUM
from chromium import Tab, tab
from PIL import Image
from project import DEMO, Project, ready
from proxied import stripping_proxy
from searched import Served, command, environment, run, served

from pipeline.common.errors import InputError
from pipeline.models.model import load_model
from pipeline.words.corpus import Sentences
from pipeline.words.vocabulary import read_vocabulary
from search import load, open_index
from search.build_index import write_index
from search.bundle import read_bundle
from search.contents import photographs_in, photographs_listed
from search.embed import embed
from search.index import Index
from search.model import SearchModel
from search.write_bundle import write_bundle

pytestmark = pytest.mark.integration

DATA = "work/demo/multi30k"
LANGUAGES = ["en", "de", "fr", "cs"]
TOKEN = "a-token-of-more-than-20-letters"

needs_chromium = pytest.mark.skipif(not CHROMIUM, reason="no Chromium here: apt-get install chromium")


@pytest.fixture(scope="module")
def finished_search(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with the bundles and indexes of two models."""
    project = ready(tmp_path_factory.mktemp("search"), tmp_path_factory)
    project.configure(**DEMO, training={"epochs": 3})
    project.make(*(f"{DATA}/experiments/{name}/seed0/index" for name in ("mule-full", "embn-en")))
    return project


@pytest.fixture(scope="module")
def seed(finished_search: Project) -> Path:
    """The folder of the model of four languages."""
    return finished_search.folder / DATA / "experiments/mule-full/seed0"


@pytest.fixture(scope="module")
def model(seed: Path) -> SearchModel:
    torch.set_num_threads(1)
    return load(seed / "bundle")


@pytest.fixture(scope="module")
def index(seed: Path) -> Index:
    return open_index(seed / "index")


@pytest.fixture(scope="module")
def page(finished_search: Project, seed: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    indexes = [seed / "index", finished_search.folder / DATA / "experiments/embn-en/seed0/index"]
    with served(indexes, tmp_path_factory.mktemp("served")) as running:
        yield running


@pytest.fixture
def bundle(seed: Path, tmp_path: Path) -> Path:
    """A copy of the bundle, to be damaged."""
    return Path(shutil.copytree(seed / "bundle", tmp_path / "bundle"))


def captions(finished_search: Project, language: str) -> pd.DataFrame:
    table = pd.read_csv(finished_search.folder / DATA / f"tokens/{language}.csv", keep_default_na=False)
    return table[table["split"] == "test"].reset_index(drop=True)


# The bundle


def test_a_copied_bundle_has_the_recalls_of_the_table(
    finished_search: Project, bundle: Path, tmp_path: Path
) -> None:
    """In a separate process with an empty environment, without work/ and the configuration."""
    source = """
import json, sys
from pathlib import Path
from search.bundle import read_bundle
from search.write_bundle import recalls_on_test
bundle, features, *sentences = map(Path, sys.argv[1:])
print(json.dumps(recalls_on_test(read_bundle(bundle), sentences, features)))
"""
    data = finished_search.folder / DATA
    for name in (*(f"tokens/{code}.csv" for code in LANGUAGES), "features.h5"):
        shutil.copy(data / name, tmp_path)
    sentences = [tmp_path / f"{code}.csv" for code in LANGUAGES]
    there, gone = finished_search.folder, finished_search.folder.with_name("gone")
    there.rename(gone)
    try:
        done = subprocess.run(
            [sys.executable, "-c", source, str(bundle), str(tmp_path / "features.h5"), *map(str, sentences)],
            cwd=tmp_path, env=environment(), capture_output=True, text=True,
        )  # fmt: skip
    finally:
        gone.rename(there)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    table = json.loads((data / "experiments/mule-full/seed0/test-original.json").read_text())["test"]
    assert list(found) == LANGUAGES
    for code in LANGUAGES:
        assert found[code] == {metric: table[code][metric] for metric in found[code]}
        assert len(found[code]) == 7
    # Thirty-six training scenes are too few to beat chance; equal vectors would find nothing.
    assert len({tuple(found[code].values()) for code in LANGUAGES}) == len(LANGUAGES)
    assert all(found[code]["mR"] > 0 for code in LANGUAGES)


def test_sentences_are_embedded_as_the_trained_model_does(
    finished_search: Project, seed: Path, model: SearchModel
) -> None:
    trained, saved = load_model(seed / "model.pt")
    trained.eval()
    for code in LANGUAGES:
        table = captions(finished_search, code)
        words = read_vocabulary(finished_search.folder / DATA / f"words/human/{code}.h5").words
        found = model.embed_sentences(list(table["caption"]), code)
        assert found.shape == (len(table), 16)
        assert found.dtype == np.float32
        for tokens, vector in zip(table["tokens"], found, strict=True):
            known = [words.index(token) for token in tokens.split() if token in words] or [0]
            known = known[: saved.settings.max_caption_length]
            with torch.inference_mode():
                one = Sentences(torch.tensor([known]), torch.tensor([len(known)]))
                expected = trained.embed_sentences({code: one}).multimodal[0].numpy()
            np.testing.assert_allclose(vector, expected, atol=1e-5)


def test_photographs_are_embedded_as_their_features(
    finished_search: Project, model: SearchModel, index: Index
) -> None:
    paths = [finished_search.folder / DATA / f"images/{image}.jpg" for image in index.images]
    found = model.embed_images(paths)
    np.testing.assert_allclose(found, index.image_vectors, atol=1e-3)
    one = model.embed_images([io.BytesIO(paths[3].read_bytes())])
    np.testing.assert_allclose(one[0], found[3], atol=1e-5)


@pytest.mark.parametrize(
    ("changed", "warning"),
    [
        ({"precision": "bfloat16"}, ""),
    ],
    ids=["bfloat16 where it is missing"],
)
def test_photographs_are_embedded_whatever_made_the_bundle(
    finished_search: Project,
    bundle: Path,
    index: Index,
    changed: dict[str, str | None],
    warning: str,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("torch.cpu.get_capabilities", dict)  # no bfloat16 instructions
    values = json.loads((bundle / "model.json").read_text())
    values["backbone"] |= changed
    values["backbone"] = {key: value for key, value in values["backbone"].items() if value is not None}
    (bundle / "model.json").write_text(json.dumps(values))
    model = load(bundle)
    found = model.embed_images([finished_search.folder / DATA / f"images/{index.images[0]}.jpg"])
    backbone, _ = model.backbone(1)
    assert backbone.precision == "float32"
    assert found[0] @ index.image_vectors[0].astype(np.float32) > 0.999
    assert (warning in caplog.text) and bool(caplog.text) == bool(warning)


def test_languages_are_detected_by_default(finished_search: Project, model: SearchModel) -> None:
    texts = [captions(finished_search, code)["caption"][0] for code in LANGUAGES]
    apart = np.concatenate(
        [model.embed_sentences([text], code) for text, code in zip(texts, LANGUAGES, strict=True)]
    )
    np.testing.assert_allclose(model.embed_sentences(texts), apart, atol=1e-6)
    with pytest.raises(InputError, match="language 'ja': the model reads en, de, fr, cs"):
        model.embed_sentences(texts, "ja")
    assert model.embed_sentences([], "en").shape == (0, 16)


def test_all_mistakes_in_a_bundle_are_reported_together(bundle: Path) -> None:
    (bundle / "words/de.txt").unlink()
    with open(bundle / "words/fr.txt", "a") as file:
        file.write("autre\n")
    with pytest.raises(InputError) as caught:
        read_bundle(bundle)
    assert "words/de.txt: is not there" in str(caught.value)
    assert "words/fr.txt: its sha256 is not the one in model.json" in str(caught.value)


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"format": 2}', '{"format": 1, "saved": {}, "files": {}}']
)
def test_a_folder_that_is_not_a_bundle_is_refused(bundle: Path, content: str) -> None:
    (bundle / "model.json").write_text(content)
    with pytest.raises(InputError, match=r"model\.json"):
        read_bundle(bundle)


def test_a_bundle_names_no_file_outside_it(bundle: Path) -> None:
    values = json.loads((bundle / "model.json").read_text())
    values["files"]["../../secret"] = "0" * 64
    (bundle / "model.json").write_text(json.dumps(values))
    with pytest.raises(InputError, match=r"secret: model\.json names this file"):
        read_bundle(bundle)


def test_a_bundle_with_other_recalls_is_not_written(
    finished_search: Project, seed: Path, tmp_path: Path
) -> None:
    evaluated = json.loads((seed / "test-original.json").read_text())
    evaluated["test"]["de"]["s2i_R@5"] += 0.1
    (tmp_path / "test.json").write_text(json.dumps(evaluated))
    shutil.copy(seed / "test-original-ranks.csv.gz", tmp_path)
    data = finished_search.folder / DATA
    with pytest.raises(InputError, match=r"de s2i_R@5: the bundle has") as caught:
        write_bundle(
            seed / "model.pt",
            data / "features.h5",
            [data / f"words/human/{code}.h5" for code in LANGUAGES],
            [data / f"tokens/{code}.csv" for code in LANGUAGES],
            tmp_path / "test.json",
            tmp_path / "bundle",
        )
    assert "de mR" not in str(caught.value)
    assert not (tmp_path / "bundle").exists()


def test_the_card_has_the_recalls_with_their_intervals(finished_search: Project, seed: Path) -> None:
    card = (seed / "bundle/README.md").read_text()
    compared = json.loads((seed / "test-original.json").read_text())["test"]
    for code in LANGUAGES:
        (row,) = [line for line in card.splitlines() if line.startswith(f"| {code} |")]
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert float(cells[9].split(" [")[0]) == pytest.approx(compared[code]["mR"], abs=0.0501)
        low, high = map(float, cells[9].split("[")[1].rstrip("]").split(","))
        assert low < compared[code]["mR"] < high
    assert "CC BY-SA 4.0" in card
    assert "tf_efficientnet_lite0" in card


def test_a_model_that_a_bundle_cannot_hold_is_refused_at_once(finished_search: Project) -> None:
    done = finished_search.snakemake("-n", f"{DATA}/experiments/bert-embn/seed0/bundle")
    assert done.returncode == 1
    assert "experiment bert-embn cannot be bundled: only models that read word vectors" in done.stdout
    assert "Traceback" not in done.stdout


# The index


def test_search_finds_what_a_plain_sort_finds(
    finished_search: Project, model: SearchModel, index: Index
) -> None:
    texts = list(captions(finished_search, "de")["caption"])
    found = model.search(index, sentences=texts, language="de", top_k=5)
    scores = model.embed_sentences(texts, "de") @ np.asarray(index.image_vectors, np.float32).T
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :5]
    np.testing.assert_allclose(found.scores, np.take_along_axis(scores, expected, 1), atol=1e-5)
    assert (found.rows == expected).mean() > 0.98  # the two products may round a tie otherwise
    picture = finished_search.folder / DATA / f"images/{index.images[2]}.jpg"
    nearest = model.search(index, images=[picture], search_in="sentences", top_k=len(index.sentences))
    assert sorted(nearest.rows[0]) == list(range(len(index.sentences)))
    vectors = np.asarray(index.sentence_vectors, np.float32)
    np.testing.assert_allclose(
        nearest.scores[0], vectors[nearest.rows[0]] @ model.embed_images([picture])[0], atol=1e-5
    )
    assert model.search(index, images=[picture], top_k=1).rows.tolist() == [[2]]


def test_an_index_of_another_model_is_refused(finished_search: Project, model: SearchModel) -> None:
    other = open_index(finished_search.folder / DATA / "experiments/embn-en/seed0/index")
    with pytest.raises(InputError, match="made by another model"):
        model.search(other, sentences=["a dog"])


def photographs(finished_search: Project, folder: Path, count: int, first: int = 0) -> Path:
    """A folder with some of the scenes, in two folders below it."""
    for number, path in enumerate(
        sorted((finished_search.folder / DATA / "images").glob("*.jpg"))[first : first + count]
    ):
        below = folder / ("even" if number % 2 else "odd")
        below.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, below)
    return folder


def test_more_photographs_extract_only_the_new_ones(
    finished_search: Project, model: SearchModel, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = photographs(finished_search, tmp_path / "photographs", 6)
    (folder / "broken.jpg").write_bytes(b"no picture")
    caplog.set_level("INFO")
    write_index(model, tmp_path / "index", photographs_in(folder))
    first = open_index(tmp_path / "index")
    assert len(first.images) == 6
    assert "7 photographs" not in caplog.text
    before = np.array(first.image_vectors)
    with h5py.File(tmp_path / "index/features.h5") as file:
        assert len(file["image"]) == 7  # the broken one has a row and no features
    photographs(finished_search, folder, 4, first=10)
    caplog.clear()
    write_index(model, tmp_path / "index", photographs_in(folder))
    second = open_index(tmp_path / "index")
    assert len(second.images) == 10
    kept = [second.rows[image] for image in first.images]
    assert np.array_equal(np.array(second.image_vectors)[kept], before)
    assert "resuming after 6 images" in caplog.text
    assert len(list((tmp_path / "index").glob("images-*.npy"))) == 1
    write_index(model, tmp_path / "again", photographs_in(folder))
    assert (tmp_path / "again/index.json").read_bytes() == (tmp_path / "index/index.json").read_bytes()


@pytest.mark.extended
def test_photographs_get_captions_by_their_names(
    finished_search: Project, seed: Path, tmp_path: Path
) -> None:
    """Captions and splits omit folder and ending; machine translations are not original captions."""
    folder = photographs(finished_search, tmp_path / "photographs", 60)
    data = finished_search.folder / DATA
    table = pd.read_csv(data / "tokens/en.csv", keep_default_na=False)
    machine = table.assign(caption="a translation", tokens="a translation", origin="google")
    pd.concat([table, machine]).to_csv(tmp_path / "en.csv", index=False)
    sentences = [tmp_path / "en.csv", *(data / f"tokens/{code}.csv" for code in LANGUAGES[1:])]
    arguments = [
        "build-index",
        "--bundle",
        seed / "bundle",
        "--photographs",
        folder,
        "--threads",
        1,
        "--original",
    ]
    arguments += ["--output", tmp_path / "index", "--sentences", *sentences]
    done = run(*arguments, "--split", f"{data / 'split.csv'}:test", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    index = open_index(tmp_path / "index")
    test = set(table["image"][table["split"] == "test"])
    assert sorted(Path(image).stem for image in index.images) == sorted(
        test & {path.stem for path in folder.rglob("*.jpg")}
    )
    for image in index.images:
        captions = [index.sentences[row] for row in index.sentences_of[image]]
        english = [text for _, language, text in captions if language == "en"]
        assert english == list(table["caption"][table["image"] == Path(image).stem])


def test_a_split_of_other_images_is_refused(finished_search: Project, seed: Path, tmp_path: Path) -> None:
    folder = photographs(finished_search, tmp_path / "photographs", 3)
    (tmp_path / "other.csv").write_text("image,split\nelsewhere,test\n")
    arguments = ["build-index", "--bundle", seed / "bundle", "--photographs", folder, "--output", "index"]
    done = run(*arguments, "--split", "other.csv:test", cwd=tmp_path)
    assert done.returncode == 1
    assert "none of its 1 images is among the 3 found" in done.stderr
    assert not (tmp_path / "index").exists()


@pytest.mark.extended
def test_a_killed_indexing_resumes_to_the_same_index(
    finished_search: Project, seed: Path, tmp_path: Path
) -> None:
    folder = photographs(finished_search, tmp_path / "photographs", 60)
    arguments = [
        "build-index",
        "--bundle",
        seed / "bundle",
        "--photographs",
        folder,
        "--threads",
        "1",
        "--output",
    ]
    done = run(*arguments, tmp_path / "whole", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    draw = random.Random(0)
    killed = 0
    for _ in range(8):
        running = subprocess.Popen(
            command(*arguments, tmp_path / "killed"),
            cwd=tmp_path,
            env=environment(),
            stderr=subprocess.DEVNULL,
        )
        _wait_for(tmp_path / "killed/features.partial.h5", running)
        time.sleep(draw.uniform(0, 1))
        if running.poll() is None:
            running.send_signal(signal.SIGKILL)
            killed += 1
        running.wait()
    done = run(*arguments, tmp_path / "killed", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert killed > 0
    assert (tmp_path / "killed/index.json").read_bytes() == (tmp_path / "whole/index.json").read_bytes()
    for name in json.loads((tmp_path / "whole/index.json").read_text())["files"].values():
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def _wait_for(path: Path, running: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + 120
    while not path.exists() and running.poll() is None:
        assert time.monotonic() < end
        time.sleep(0.01)


def test_links_out_of_the_folder_are_left_out(
    finished_search: Project, model: SearchModel, tmp_path: Path
) -> None:
    folder = photographs(finished_search, tmp_path / "photographs", 3)
    secret = tmp_path / "secret.jpg"
    Image.new("RGB", (80, 80)).save(secret)
    (folder / "out.jpg").symlink_to(secret)
    (folder / "nowhere.jpg").symlink_to(tmp_path / "nothing.jpg")
    (folder / "in.jpg").symlink_to(next(folder.glob("odd/*.jpg")))
    found = photographs_in(folder)
    assert len(found.paths) == 4
    assert "in.jpg" in found.paths
    write_index(model, tmp_path / "index", found)
    index = open_index(tmp_path / "index")
    image = index.images[-1]
    path = index.file_of(image)
    assert path is not None
    path.unlink()
    path.symlink_to(secret)  # replaced after it was indexed
    assert index.file_of(image) is None
    assert index.file_of("../secret.jpg") is None


def test_beyond_the_limit_an_approximate_index_is_built_and_searched(
    model: SearchModel, index: Index, seed: Path, finished_search: Project, tmp_path: Path
) -> None:
    folder = photographs(finished_search, tmp_path / "photographs", 60)
    write_index(model, tmp_path / "index", photographs_in(folder), max_exact=50)
    found = open_index(tmp_path / "index")
    assert found.approximate is not None
    assert index.approximate is None
    texts = list(captions(finished_search, "en")["caption"][:5])
    near = model.search(found, sentences=texts, language="en", top_k=3)
    scores = model.embed_sentences(texts, "en") @ np.asarray(found.image_vectors, np.float32).T
    np.testing.assert_allclose(near.scores[:, 0], scores.max(1), atol=2e-3)  # 32 of its 30 lists: all


# The command line


@pytest.mark.extended
def test_embeddings_in_three_formats(
    finished_search: Project, seed: Path, model: SearchModel, tmp_path: Path
) -> None:
    texts = ["a dog in the snow", "ein Hund im Schnee"]
    (tmp_path / "texts.txt").write_text("\n".join(texts) + "\n")
    expected = np.concatenate(
        [model.embed_sentences(texts[:1], "en"), model.embed_sentences(texts[1:], "de")]
    )
    for ending in ("csv", "json", "h5"):
        done = run(
            "embed",
            "--bundle",
            seed / "bundle",
            "--sentences",
            "texts.txt",
            "--output",
            f"e.{ending}",
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr
    table = pd.read_csv(tmp_path / "e.csv")
    assert list(table["sentence"]) == texts
    assert list(table["language"]) == ["en", "de"]
    np.testing.assert_allclose(table[[str(place) for place in range(16)]], expected, atol=1e-6)
    values = json.loads((tmp_path / "e.json").read_text())
    np.testing.assert_allclose([one["vector"] for one in values], expected, atol=1e-6)
    with h5py.File(tmp_path / "e.h5") as file:
        assert list(file["language"].asstr()) == ["en", "de"]
        np.testing.assert_allclose(file["vectors"], expected, atol=1e-6)
    done = run(
        "embed", "--bundle", seed / "bundle", "--sentences", "texts.txt", "--output", "e.txt", cwd=tmp_path
    )
    assert done.returncode == 1
    assert "expected one of .csv, .json, .h5" in done.stderr


def test_a_given_language_and_number_of_threads_are_used(
    seed: Path, model: SearchModel, tmp_path: Path
) -> None:
    (tmp_path / "texts.txt").write_text("a dog in the snow\n")
    assert torch.get_num_threads() == 1
    try:
        embed(seed / "bundle", tmp_path / "e.h5", tmp_path / "texts.txt", language="de", threads=2)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)
    with h5py.File(tmp_path / "e.h5") as file:
        assert list(file["language"].asstr()) == ["de"]
        expected = model.embed_sentences(["a dog in the snow"], "de")
        np.testing.assert_allclose(file["vectors"], expected, atol=1e-6)


@pytest.mark.extended
def test_searches_on_the_command_line(
    finished_search: Project, seed: Path, model: SearchModel, index: Index, tmp_path: Path
) -> None:
    done = run(
        "search",
        "--index",
        seed / "index",
        "--sentence",
        "ein Hund",
        "--top-k",
        2,
        "--output",
        "f.csv",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "de 1" in done.stderr
    found = model.search(index, sentences=["ein Hund"], language="de", top_k=2)
    table = pd.read_csv(tmp_path / "f.csv")
    assert list(table["image"]) == [index.images[row] for row in found.rows[0]]
    np.testing.assert_allclose(table["similarity"], found.scores[0], atol=1e-6)
    picture = finished_search.folder / DATA / f"images/{index.images[0]}.jpg"
    done = run(
        "search",
        "--index",
        seed / "index",
        "--photograph",
        picture,
        "--search-in",
        "sentences",
        "--top-k",
        1,
        cwd=tmp_path,
    )
    best = model.search(index, images=[picture], search_in="sentences", top_k=1).rows[0, 0]
    (row,) = csv.DictReader(io.StringIO(done.stdout), delimiter="\t")
    assert row["sentence"] == index.sentences[best][2]
    assert re.fullmatch(r"-?[01]\.\d{4}", row["similarity"])


@pytest.mark.extended
def test_other_hosts_need_a_token(seed: Path, tmp_path: Path) -> None:
    done = run("serve", seed / "index", "--host", "0.0.0.0", cwd=tmp_path)
    assert done.returncode == 1
    assert "Give --token-file" in done.stderr
    (tmp_path / "token").write_text("short")
    done = run("serve", seed / "index", "--host", "0.0.0.0", "--token-file", "token", cwd=tmp_path)
    assert done.returncode == 1
    assert "20 letters" in done.stderr


# The page's JSON interface


def test_answers_are_what_the_model_finds(
    finished_search: Project, page: Served, model: SearchModel, index: Index
) -> None:
    text = captions(finished_search, "fr")["caption"][1]
    found = page.get(f"/api/sentence?q={quote(text)}&top_k=4").json
    right = model.search(index, sentences=[text], language="fr", top_k=4)
    assert found["language"] == "fr"
    assert [one["image"] for one in found["images"]] == [index.images[row] for row in right.rows[0]]
    np.testing.assert_allclose([one["score"] for one in found["images"]], right.scores[0], atol=1e-4)
    image = index.images[5]
    near = page.get(f"/api/image?image={image}&top_k=3").json
    assert len(near["images"]) == 3
    assert image not in [one["image"] for one in near["images"]]
    assert {one["image"] for one in near["captions"]} == {image}
    content = (finished_search.folder / DATA / f"images/{image}.jpg").read_bytes()
    assert page.get(f"/photograph?image={image}").body == content
    dropped = page.get("/api/picture?top_k=1", body=content).json
    assert dropped["images"][0]["image"] == image
    assert dropped["images"][0]["score"] > 0.999
    assert page.get("/api/sentence?q=dog&index=1").json["language"] == "en"


def test_indexes_and_examples_of_them(page: Served, seed: Path, index: Index) -> None:
    first, second = page.get("/api/indexes").json
    recalls = json.loads((seed / "test-original.json").read_text())["test"]
    assert first["mean_recall"] == {code: recalls[code]["mR"] for code in LANGUAGES}
    assert (first["kind"], first["images"], second["languages"]) == ("scenes", len(index.images), ["en"])
    answers = [page.get("/api/examples") for _ in range(2)]
    assert answers[0].headers["cache-control"] == "no-store"
    shown, others = (answer.json for answer in answers)
    assert shown["images"] != others["images"]
    assert len({one["image"] for one in shown["images"]}) == min(12, len(index.images))
    for one in shown["images"]:
        image, language, sentence = index.sentences[index.sentences_of[one["image"]][0]]
        caption = {"image": image, "language": language, "sentence": sentence}
        assert one == {"image": image, "file": True, "caption": caption}
    for one in shown["queries"]:
        assert (one["image"], one["language"], one["sentence"]) in index.sentences
        assert page.get(f"/api/sentence?q={quote(one['sentence'])}").json["language"] == one["language"]
    assert [one["language"] for one in shown["queries"]] == ["en", "en", "de", "de", "fr", "fr", "cs", "cs"]
    assert page.get("/api/examples?index=2").status == 422


def test_the_interface_is_described(page: Served) -> None:
    described = page.get("/openapi.json").json
    assert sorted(described["paths"]) == [
        "/api/examples",
        "/api/image",
        "/api/indexes",
        "/api/picture",
        "/api/sentence",
        "/photograph",
    ]
    assert page.get("/docs").status == 404  # FastAPI's own loads scripts from elsewhere


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("/api/sentence", 422, "q: Field required"),
        ("/api/sentence?q=", 422, "q: String should have at least 1 character"),
        (
            "/api/sentence?q=xyzzy",
            422,
            "None of its words is known in any of en, de, fr, cs. Try other words.",
        ),
        ("/api/sentence?q=dog&language=xx", 422, "language 'xx': the model reads en, de, fr, cs."),
        ("/api/sentence?q=dog&top_k=101", 422, "top_k: Input should be less than or equal to 100"),
        ("/api/sentence?q=dog&index=2", 422, "index 2: there are 2, from 0."),
        (f"/api/sentence?q={'dog+' * 300}", 422, "q: String should have at most 1000 characters"),
        ("/api/sentence?q=dog&topk=3", 422, "unknown parameter 'topk', did you mean 'top_k'?"),
        ("/api/sentence?query=dog", 422, "unknown parameter 'query'; known are q, language, index, top_k"),
        ("/api/sentence?q=dog&q=cat&q=bird", 422, "q: given 3 times; give it once"),
        (
            "/photograph?file=x&index=0&index=1",
            422,
            "unknown parameter 'file'; known are image, index; index: given 2 times; give it once",
        ),
        ("/api/indexes?index=1", 422, "unknown parameter 'index'; there are none here"),
        ("/api/image?image=nothing", 404, "No such image in this index."),
        ("/nothing", 404, "Not Found"),
        ("/page/server.py", 404, "No such file."),
    ],
)
def test_mistakes_are_reported_in_one_line(page: Served, path: str, status: int, message: str) -> None:
    answer = page.get(path)
    assert (answer.status, answer.json) == (status, {"error": message})


# Requests from strangers

TRICKS = [
    "/photograph?image=../../../../../../etc/passwd",
    "/photograph?image=/etc/passwd",
    "/photograph?image=..%2f..%2f..%2fsplit.csv",
    "/photograph?image=%00",
    "/photograph?image=....//....//split.csv",
    "/photograph?image=multi30k-0001.jpg/../../split.csv",
    "/page/../server.py",
    "/page/..%2fserver.py",
    "/page/%2e%2e/server.py",
    "/page/%2fetc%2fpasswd",
    "//etc/passwd",
    "/../../../../etc/passwd",
    "/%2e%2e/%2e%2e/etc/passwd",
    "/index.json",
    "/bundle/model.json",
]


@pytest.mark.parametrize("path", TRICKS)
def test_no_other_file_is_served(page: Served, path: str) -> None:
    """The path is sent as it is; a client would normalise it."""
    answer = page.raw(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
    assert answer.split(b" ", 2)[1] in (b"400", b"404"), answer
    assert b"root:" not in answer
    assert b"import" not in answer


def test_an_image_that_is_not_indexed_is_not_served(finished_search: Project, page: Served) -> None:
    split = pd.read_csv(finished_search.folder / DATA / "split.csv")
    other = split[split["split"] == "train"]["image"].iloc[0]  # the image's file is in the same folder
    assert page.get(f"/photograph?image={other}").status == 404


def test_the_page_is_only_served_by_its_own_host_name(page: Served) -> None:
    """A page elsewhere whose host name resolves to this machine (DNS rebinding) gets nothing."""
    assert page.get("/api/indexes", {"Host": "evil.example"}).status == 400
    assert page.get("/api/indexes", {"Host": f"localhost:{page.port}"}).status == 200


def test_nothing_from_elsewhere_may_run(page: Served) -> None:
    for path in ("/", "/openapi.json", "/nothing", "/api/indexes"):
        headers = page.get(path).headers
        assert "default-src 'none'; script-src 'self';" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
    for path in ("/", "/page/page.js", "/page/page.css", "/openapi.json", "/page/icon.svg"):
        text = page.get(path).body.decode().replace("http://www.w3.org/2000/svg", "")
        assert "//" not in text.replace("// ", "") or "http" not in text, path


def memory(pid: int) -> int:
    """Peak private memory of a process so far, in megabytes."""
    return int(Path(f"/proc/{pid}/status").read_text().split("VmHWM:")[1].split()[0]) // 1024


@pytest.mark.parametrize("declared", [True, False])
def test_a_hundred_megabytes_are_refused(page: Served, declared: bool) -> None:
    page.get("/api/picture", body=b"no picture")  # loads everything that it needs
    before = memory(page.pid)
    head = "POST /api/picture HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    head += "Content-Length: 100000000\r\n\r\n" if declared else "Transfer-Encoding: chunked\r\n\r\n"
    block = b"\xff" * 10**6
    with socket.create_connection(("127.0.0.1", page.port), timeout=60) as connection:
        connection.sendall(head.encode())
        sent = 0
        try:
            for _ in range(100):
                connection.sendall(block if declared else b"%x\r\n%b\r\n" % (len(block), block))
                sent += len(block)
        except OSError:  # refused while it is being sent
            pass
        answer = b"" if sent < 10**8 and not _readable(connection) else connection.recv(4096)
    assert answer == b"" or b" 413 " in answer.split(b"\r\n")[0]
    assert memory(page.pid) - before < 60
    assert page.get("/api/indexes").status == 200


def _readable(connection: socket.socket) -> bool:
    try:
        connection.settimeout(5)
        return bool(connection.recv(1, socket.MSG_PEEK))
    except OSError:
        return False


def test_a_declared_length_is_refused_before_the_body_arrives(page: Served) -> None:
    answer = page.raw(b"POST /api/picture HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000000\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 413")
    assert b'{"error":"The picture has more than 20 MB."}' in answer


def pictures() -> dict[str, bytes]:
    """Files that are not pictures, and hostile pictures."""
    whole = io.BytesIO()
    Image.effect_noise((300, 300), 50).save(whole, "JPEG")
    gif = io.BytesIO()
    Image.new("RGB", (10, 10)).save(gif, "GIF")
    strip = io.BytesIO()
    Image.new("1", (60_000, 2)).save(strip, "PNG")
    bomb = io.BytesIO()
    Image.new("1", (12_000, 12_000)).save(bomb, "PNG")
    return {
        "nothing": b"",
        "text": b"<script>alert(1)</script>",
        "cut short": whole.getvalue()[:500],
        "a GIF": gif.getvalue(),
        "a strip": strip.getvalue(),
        "a bomb": bomb.getvalue(),
    }


PICTURES = {
    "nothing": "Nothing was sent as the body of the request; expected a JPEG",
    "text": "The file is not a picture that can be read; expected a JPEG",
    "cut short": "The picture cannot be decoded: it is damaged or truncated.",
    "a GIF": "The file is a GIF; expected a JPEG",
    "a strip": "The picture is 60000 x 2 pixels, a strip",
    "a bomb": "pixels; expected a JPEG",
}


@pytest.mark.parametrize("name", PICTURES)
def test_broken_pictures_are_refused_with_one_line(page: Served, name: str) -> None:
    answer = page.get("/api/picture", body=pictures()[name], method="POST")
    assert answer.status == 422
    assert list(answer.json) == ["error"]
    assert PICTURES[name] in answer.json["error"]
    assert "\n" not in answer.json["error"]


def test_no_query_is_logged(page: Served, finished_search: Project) -> None:
    page.get("/api/sentence?q=dog+secretword")
    page.get("/api/sentence?q=secretword")
    page.get("/photograph?image=/etc/secretword")
    log = page.log.read_text()
    assert "secretword" not in log
    assert "Traceback" not in log
    assert "alert" not in log


@pytest.mark.extended
def test_a_token_is_required_and_not_logged(seed: Path, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(TOKEN + "\n")
    with served([seed / "index"], tmp_path, "--host", "0.0.0.0", "--token-file", "token") as page:
        for path in (
            "/",
            "/api/indexes",
            "/photograph?image=x",
            "/openapi.json",
            "/page/page.js",
        ):
            assert page.get(path).status == 401, path
        for wrong in ("", "Bearer", "Bearer x", f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer Ünicode"):
            given = {"Authorization": wrong.encode("latin-1").decode("latin-1")}
            assert page.get("/api/indexes", given).status == 401, wrong
        assert page.get("/api/indexes", {"Cookie": "token=wrong"}).status == 401
        assert page.get("/api/indexes?token=" + TOKEN).status == 401  # in an address only where it leaves it
        assert page.get("/?token=wrong-wrong-wrong-wrong").status == 401
        upload = b"POST /api/picture HTTP/1.1\r\nHost: x\r\nContent-Length: 19000000\r\n\r\n"
        assert page.raw(upload).startswith(b"HTTP/1.1 401")  # before the body arrives
        assert page.get("/api/indexes", {"Authorization": f"Bearer {TOKEN}"}).status == 200
        assert page.get("/api/indexes", {"Cookie": f"token={TOKEN}"}).status == 200
        assert page.get("/api/indexes", {"Cookie": f"token={TOKEN}", "Host": "search.example"}).status == 200
        answer = page.raw(f"GET /?token={TOKEN}&q=dog HTTP/1.1\r\nHost: x\r\n\r\n".encode()).decode()
        assert "303" in answer.splitlines()[0]
        assert "location: ?q=dog" in answer
        assert "HttpOnly" in answer and "SameSite=strict" in answer
        assert TOKEN not in page.log.read_text()


def test_many_clients_at_once_get_correct_answers(finished_search: Project, page: Served) -> None:
    """Tokenisers and models are shared by several threads."""
    from concurrent.futures import ThreadPoolExecutor

    texts = [(code, text) for code in LANGUAGES for text in captions(finished_search, code)["caption"][:5]]
    paths = [f"/api/sentence?q={quote(text)}&language={code}&top_k=3" for code, text in texts]
    alone = [page.get(path).json for path in paths]
    with ThreadPoolExecutor(20) as pool:
        assert list(pool.map(lambda path: page.get(path).json, paths * 5)) == alone * 5


# A real browser


@pytest.fixture
def browser(page: Served, tmp_path: Path) -> Iterator[Tab]:
    with tab(tmp_path) as opened:
        yield opened
        assert opened.messages == []
        elsewhere = [one for one in opened.asked if page.address not in one]
        assert elsewhere == []


def result_images(browser: Tab) -> list[str]:
    """The images of the first grid of results, once they are shown."""
    browser.until(
        "document.querySelector('.column .grid img')?.naturalWidth && "
        "document.querySelector('#status').textContent === ''"
    )
    return tiles(browser, ".column .grid")


def tiles(browser: Tab, selector: str) -> list[str]:
    """The images of a grid."""
    images: list[str] = browser.value(
        f"[...document.querySelector('{selector}').querySelectorAll('a')].map(a => a.title)"
    )
    return images


def first_images(browser: Tab, address: str) -> list[str]:
    """The images of the first screen, once all visible images are shown."""
    browser.open(address)
    browser.until("document.querySelector('.first .grid a')")
    of_screen = "[...document.querySelectorAll('.first .grid img')]"
    browser.until(f"{of_screen}.every(img => !img.offsetParent || img.naturalWidth)")
    return tiles(browser, ".first .grid")


def text_of(browser: Tab, selector: str) -> str:
    return str(browser.value(f"document.querySelector('{selector}').textContent"))


def ask(browser: Tab, text: str) -> list[str]:
    """Write a sentence with the keyboard and press Enter."""
    browser.value("document.querySelector('#results').replaceChildren()")
    browser.value("document.querySelector('#query').select()")
    browser.click("#query")
    browser.value("document.querySelector('#query').select()")
    browser.type(text)
    browser.press("Enter", 13)
    return result_images(browser)


def choose(browser: Tab, select: str, value: str) -> None:
    """Choose from a list, as a user does."""
    browser.value(
        f"(list => {{ list.value = '{value}'; list.dispatchEvent(new Event('change', {{bubbles: true}})) }})"
        f"(document.getElementById('{select}'))"
    )


@pytest.mark.extended
@needs_chromium
def test_a_visit(
    finished_search: Project, page: Served, browser: Tab, model: SearchModel, index: Index
) -> None:
    browser.wide(1280, 900)
    first_images(browser, page.address)
    for code, name in (("en", "English"), ("de", "German"), ("fr", "French")):
        text = captions(finished_search, code)["caption"][2]
        right = model.search(index, sentences=[text], language=code, top_k=24)
        assert ask(browser, text) == [index.images[row] for row in right.rows[0]]
        assert f"Detected as {name}." in text_of(browser, ".language-note")
    asked = browser.value("location.href")
    first = browser.value("document.querySelector('.grid a').title")

    browser.click(".grid a")
    browser.until("document.querySelector('.query-image img')")
    assert browser.value("new URLSearchParams(location.search).get('image')") == first
    assert browser.value("document.querySelector('#query').value") == text
    near = result_images(browser)
    assert first not in near
    # Real photographs have so many sentences that pictures below them would be out of sight.
    heights = "['.grid', '.sentences'].map(one => document.querySelector(one).getBoundingClientRect().y)"
    above, below = browser.value(heights)
    assert above < below
    own = browser.value("[...document.querySelectorAll('.sentences')][0].innerText")
    assert all(index.sentences[row][2] in own for row in index.sentences_of[first])

    for back in ("history.back()", "document.querySelector('.back a').click()"):
        browser.value(back)
        browser.until("document.querySelector('.language-note')")
        assert browser.value("location.href") == asked
        assert browser.value("document.querySelector('#query').value") == text
        assert result_images(browser)[0] == first
        browser.click(".grid a")
        browser.until("document.querySelector('.query-image img')")

    dropped = finished_search.folder / DATA / f"images/{index.images[4]}.jpg"
    browser.drop(dropped)
    of_picture = "document.querySelector('.query-image img')?.alt === 'the query picture'"
    browser.until(of_picture)
    assert result_images(browser)[0] == index.images[4]
    for back in ("history.back()", "document.querySelector('.back a').click()"):
        browser.click(".grid a")
        browser.until(f"!({of_picture})")
        browser.value(back)
        browser.until(of_picture)
        assert result_images(browser)[0] == index.images[4]  # the picture is still there
    browser.click(".back a")  # the sentence before the picture
    browser.until("document.querySelector('.language-note')")
    assert browser.value("location.href") == asked

    browser.open(asked)  # an address that was shared
    assert result_images(browser)[0] == first


@pytest.mark.extended
@needs_chromium
@pytest.mark.parametrize("stripped", [True, False], ids=["stripped", "passed on"])
@pytest.mark.parametrize("with_token", [False, True], ids=["without a token", "with a token"])
def test_a_visit_below_a_path(
    finished_search: Project,
    seed: Path,
    model: SearchModel,
    index: Index,
    tmp_path: Path,
    with_token: bool,
    stripped: bool,
) -> None:
    """A proxy strips the path, or passes it on to a page that was told it."""
    (tmp_path / "token").write_text(TOKEN)
    path, token = "/user/me/proxy/8000", f"?token={TOKEN}" if with_token else ""
    options = ["--token-file", "token"] if with_token else []
    options += [] if stripped else ["--prefix", path]
    with (
        served([seed / "index"], tmp_path, *options) as page,
        stripping_proxy(page.port, path) as proxied,
        tab(tmp_path / "profile") as browser,
    ):
        address = proxied if stripped else page.address + path
        browser.wide(1280, 900)
        shown = first_images(browser, f"{address}/{token}")
        assert browser.value("location.href").rstrip("?") == f"{address}/"
        browser.click(".languages a")
        result_images(browser)
        browser.click("#home")
        browser.until("document.querySelector('.first')")
        assert browser.value("location.href") == f"{address}/"
        assert tiles(browser, ".first .grid") == shown  # until the next visit
        browser.click(".first .grid a")
        browser.until("document.querySelector('.query-image img')?.naturalWidth")
        browser.click(".back a")
        browser.until("document.querySelector('.first')")
        text = captions(finished_search, "en")["caption"][2]
        right = model.search(index, sentences=[text], language="en", top_k=24)
        assert ask(browser, text) == [index.images[row] for row in right.rows[0]]
        asked = browser.value("location.href")
        assert asked.startswith(f"{address}/?q=") and TOKEN not in asked
        browser.click(".grid a")
        browser.until("document.querySelector('.query-image img')?.naturalWidth")
        browser.value("history.back()")
        browser.until("document.querySelector('.language-note')")
        assert browser.value("location.href") == asked
        browser.drop(finished_search.folder / DATA / f"images/{index.images[4]}.jpg")
        browser.until("location.search.includes('picture') && document.querySelector('.query-image img')")
        assert result_images(browser)[0] == index.images[4]
        browser.value("history.back()")
        browser.until("document.querySelector('.language-note')")
        assert browser.value("location.href") == asked
        assert first_images(browser, f"{address}/") != shown
        assert browser.messages == []
        assert [one for one in browser.asked if not one.startswith((f"{address}/", "blob:"))] == []


@pytest.mark.extended
@needs_chromium
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_first_screen(
    seed: Path, page: Served, browser: Tab, index: Index, width: int, dark: bool
) -> None:
    browser.wide(width, 844, dark)
    shown = first_images(browser, page.address)
    assert len(set(shown)) == len(shown) == min(12, len(index.images))
    assert set(shown) <= set(index.images)
    recalls = json.loads((seed / "test-original.json").read_text())["test"]
    names = {"en": "English", "de": "German", "fr": "French", "cs": "Czech"}
    line = ", ".join(f"{names[code]} {recalls[code]['mR']:.1f}" for code in LANGUAGES)
    counts = f"{len(index.images)} scenes with {len(index.sentences)} captions"
    assert text_of(browser, ".summary") == (
        f"multi30k mule-full seed 0 · {counts} · mR (mean recall, %) on its test split: {line}"
    )
    assert text_of(browser, "h1") == browser.value("document.title") == "Search scenes"
    assert text_of(browser, "#language").startswith("detectEnglish")
    assert browser.value("document.documentElement.scrollWidth") <= width
    in_sight = "[...document.querySelectorAll('.first .grid img')].filter(one => one.offsetParent).length"
    assert browser.value(in_sight) == (12 if width == 1280 else 6)
    bottom = "document.querySelector('.first .grid').getBoundingClientRect().bottom"
    assert browser.value(bottom) < 844  # all images are visible without scrolling
    assert browser.value("getComputedStyle(document.body).backgroundColor") == (
        "rgb(20, 23, 27)" if dark else "rgb(255, 255, 255)"
    )
    order = "[...document.querySelectorAll('.first .grid a')].map(one => one.title).join()"
    browser.click("#others")
    browser.until(f"{order} !== {','.join(shown)!r}")
    assert browser.value("document.activeElement.id") == "others"
    shown = tiles(browser, ".first .grid")
    queries = browser.value(
        "[...document.querySelectorAll('.languages a')].map(link => [link.lang, link.textContent])"
    )
    assert [language for language, _ in queries] == [code for code in LANGUAGES for _ in range(2)]
    browser.click(".languages section:nth-child(2) a")
    result_images(browser)
    assert text_of(browser, ".language-note").startswith("Detected as German.")
    assert browser.value("document.querySelector('#query').value") == queries[2][1]
    browser.value("history.back()")
    browser.until("document.querySelector('.first')")
    assert tiles(browser, ".first .grid") == shown
    assert browser.value("document.activeElement.textContent") == queries[2][1]
    assert first_images(browser, page.address) != shown


@pytest.mark.extended
@needs_chromium
def test_the_first_screen_of_other_indexes(
    finished_search: Project, seed: Path, model: SearchModel, index: Index, tmp_path: Path
) -> None:
    """Indexes without photographs, without sentences, and of one deleted photograph."""
    features = finished_search.folder / DATA / "features.h5"
    nothing = photographs_listed(index.images, {}, None)
    write_index(model, tmp_path / "no photographs", nothing, features, index.sentences)
    write_index(model, tmp_path / "bare", nothing, features)
    (tmp_path / "photographs").mkdir()
    Image.new("RGB", (80, 60), "red").save(tmp_path / "photographs/red.png")
    write_index(model, tmp_path / "one", photographs_in(tmp_path / "photographs"))
    folders = [tmp_path / name for name in ("no photographs", "bare", "one")]
    with (
        served(folders, tmp_path, "--title", "<b>Ours</b> & 'theirs'") as page,
        tab(tmp_path / "profile") as browser,
    ):
        browser.wide(390, 844)
        texts = [
            index.sentences[index.sentences_of[image][0]][2] for image in first_images(browser, page.address)
        ]
        written = browser.value(
            "[...document.querySelectorAll('.first .no-file')].map(one => one.textContent)"
        )
        assert written == texts
        assert text_of(browser, "h1") == browser.value("document.title") == "<b>Ours</b> & 'theirs'"
        names = first_images(browser, page.address + "/?index=1")
        written = browser.value("[...document.querySelectorAll('.no-file')].map(one => one.textContent)")
        assert written == names
        assert browser.value("document.querySelector('.languages')") is None
        assert first_images(browser, page.address + "/?index=2") == ["red.png"]
        assert text_of(browser, ".summary").startswith("multi30k mule-full seed 0 · 1 photograph · mR")
        assert text_of(browser, ".first h2") == "The photograph"
        assert browser.value("document.querySelector('#others')") is None
        browser.click(".first .grid a")
        browser.until("document.querySelector('.query-image img')?.naturalWidth")
        assert text_of(browser, ".column h3") == "No other picture is indexed"
        assert browser.messages == []
        (tmp_path / "photographs/red.png").unlink()
        browser.call("Network.setCacheDisabled", cacheDisabled=True)
        browser.open(page.address + "/?index=2")
        browser.until("document.querySelector('.no-file')?.textContent === 'red.png'")
        browser.open(page.address + "/?index=3")
        browser.until("document.querySelector('.error')?.textContent === 'There is no model 3 here.'")


@pytest.mark.extended
@needs_chromium
def test_unknown_words_are_struck_through(page: Served, browser: Tab) -> None:
    browser.open(page.address + "/?q=a+xyzzy+dog+is+qwerty&language=en")
    result_images(browser)
    struck = browser.value("[...document.querySelectorAll('.language-note s')].map(one => one.textContent)")
    assert struck == ["xyzzy", "qwerty"]
    line = "getComputedStyle(document.querySelector('.language-note s')).textDecorationLine"
    assert browser.value(line) == "line-through"
    assert text_of(browser, ".language-note") == (
        "Read as English. Read without the words that the model does not know: a xyzzy dog is qwerty. "
        "Unknown words: xyzzy, qwerty."  # for screen readers
    )
    assert browser.value("document.querySelector('.for-screen-readers').offsetWidth") == 1


@needs_chromium
def test_without_javascript_a_message_is_shown(page: Served, browser: Tab) -> None:
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    browser.open(page.address)
    seen = browser.value("document.body.innerText")
    assert "This page needs JavaScript, which is switched off here." in seen
    assert browser.value("document.querySelector('#form').offsetParent") is None


@pytest.mark.extended
@needs_chromium
def test_the_language_is_switched_and_two_models_are_shown_side_by_side(
    finished_search: Project, page: Served, browser: Tab
) -> None:
    browser.wide(1280, 900)
    browser.open(page.address + "/?q=" + quote(captions(finished_search, "en")["caption"][0]))
    result_images(browser)
    offered = browser.value("[...document.querySelector('#language').options].map(one => one.textContent)")
    assert offered == ["detect", "English", "German", "French", "Czech"]
    choose(browser, "language", "en")
    browser.until("location.search.includes('language=en')")
    browser.until("document.querySelector('.language-note').textContent.startsWith('Read as English.')")
    choose(browser, "compare", "1")
    browser.until("document.querySelectorAll('.column .grid').length === 2")
    names = browser.value("[...document.querySelectorAll('.column h2')].map(one => one.textContent)")
    assert names == ["multi30k mule-full seed 0", "multi30k embn-en seed 0"]
    left, right = browser.value(
        "[...document.querySelectorAll('.column')].map(one => one.getBoundingClientRect().x)"
    )
    assert left < 300 < right


@pytest.mark.extended
@needs_chromium
@pytest.mark.parametrize("dark", [False, True])
def test_on_a_telephone(finished_search: Project, page: Served, browser: Tab, dark: bool) -> None:
    browser.wide(390, 844, dark)
    for path in (
        "/?q=" + quote(captions(finished_search, "de")["caption"][0]),
        f"/?image={captions(finished_search, 'de')['image'][0]}",
    ):
        browser.open(page.address + path)
        result_images(browser)
        assert browser.value("document.documentElement.scrollWidth") <= 390
        assert browser.value(
            "[...document.querySelectorAll('.grid a')].every(a => a.getBoundingClientRect().width > 120)"
        )
    page_colour = browser.value("getComputedStyle(document.body).backgroundColor")
    assert page_colour == ("rgb(20, 23, 27)" if dark else "rgb(255, 255, 255)")


@pytest.mark.extended
@needs_chromium
def test_only_by_keyboard(finished_search: Project, page: Served, browser: Tab) -> None:
    browser.wide(1280, 900)
    shown = first_images(browser, page.address)
    active = "document.activeElement.title"
    browser.until("document.activeElement.id === 'query'")
    while browser.value("!document.activeElement.closest('.grid')"):
        browser.press("Tab", 9)
    assert browser.value(active) == shown[0]
    browser.press("ArrowRight", 39)
    browser.press("ArrowDown", 40)
    assert browser.value(active) == shown[7]
    browser.press("Enter", 13)
    browser.until("document.activeElement.closest('.back')")
    assert text_of(browser, ".back") == "← Back to the first screen"
    browser.press("Enter", 13)
    browser.until("document.querySelector('.first')")
    browser.press("/", 191)
    assert browser.value("document.activeElement.id") == "query"
    browser.type(captions(finished_search, "en")["caption"][0])
    browser.press("Enter", 13)
    images = result_images(browser)
    browser.value("document.querySelector('.grid a').focus()")
    browser.press("ArrowRight", 39)
    assert browser.value(active) == images[1]
    browser.press("Enter", 13)
    browser.until("document.activeElement.closest('.back')")
    assert browser.value("new URLSearchParams(location.search).get('image')") == images[1]
    browser.value("history.back()")
    browser.until(f"{active} === '{images[1]}'")  # the focus is where it was before


@pytest.mark.extended
@needs_chromium
def test_a_search_before_the_models_are_known(
    finished_search: Project, page: Served, browser: Tab, model: SearchModel, index: Index
) -> None:
    """A slow server, a fast typist: the answer comes as soon as possible, and no letter is lost."""
    browser.call(
        "Page.addScriptToEvaluateOnNewDocument",
        source="{ const fetched = window.fetch, named = new Promise(answer => window.answer = answer);"
        "window.fetch = async (...asked) => { await named; return fetched(...asked); }; }",
    )
    text = captions(finished_search, "en")["caption"][0]
    browser.open(page.address)
    browser.until("document.activeElement.id === 'query'")
    browser.type(text[:5])
    browser.value("answer()")
    browser.until("document.querySelector('.first')")
    assert browser.value("document.querySelector('#query').value") == text[:5]

    browser.open(page.address)
    browser.until("document.activeElement.id === 'query'")
    browser.type(text)
    browser.press("Enter", 13)
    browser.type(" ")
    browser.value("answer()")
    right = model.search(index, sentences=[text], language="en", top_k=24)
    assert result_images(browser) == [index.images[row] for row in right.rows[0]]
    assert browser.value("document.querySelector('#query').value") == text + " "
    assert browser.value("document.querySelector('.error')") is None
