"""The scale `paper` itself, from published files in miniature: the whole path of a real user.

A server provides the public files in their real layouts; data on request are in a folder. Sizes are small
(crops of 64 pixels, vectors of 16 numbers); the backbone is a ResNet-152 with random weights, from a file.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import timm
import torch
from project import Project, copy_of_project
from published import write_everything
from serving import serving
from stand_in_service import stand_in

pytestmark = [pytest.mark.integration, pytest.mark.slow]

ON_REQUEST = {"flickr30k": "on-request/flickr30k", "coco_cn": "on-request/coco-cn"}


def _first_use(table: Path) -> None:
    """Remove the digests from a table of sources, because miniature files have others."""
    rows = pd.read_csv(table, dtype=str, keep_default_na=False)
    rows.assign(sha256="first use", bytes="").to_csv(table, index=False)


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """The configuration of a user with one machine, a mirror, and data of two requests."""
    published = tmp_path_factory.mktemp("published")
    write_everything(published, dimension=16)
    torch.manual_seed(0)
    weights = published / "resnet152.pth"
    torch.save(timm.create_model("resnet152.tv_in1k", pretrained=False).state_dict(), weights)
    with serving(published) as url, stand_in() as service:
        yield {
            "scale": "paper",
            "gpu": 0,
            "sources": {"mirror": url, **{key: str(published / path) for key, path in ON_REQUEST.items()}},
            "datasets": {"mscoco": {"sample_size": 10}},
            "images": {"weights": str(weights)},
            "training": {"threads": 1},
            "translation": {
                "default": {"provider": "dictionary"},
                "pairs": {"de-en": {"provider": "google", "url": service.url}},
                "requests_per_second": 100,
            },
        }


@pytest.fixture(scope="module")
def project(settings: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = copy_of_project(tmp_path_factory.mktemp("paper"))
    _first_use(project.folder / "workflow" / "sources.csv")
    project.configure(**settings)
    return project


def test_missing_data_on_request_are_reported_before_anything_runs(
    project: Project, settings: dict[str, Any]
) -> None:
    project.configure(**{**settings, "sources": {"mirror": settings["sources"]["mirror"]}})
    done = project.snakemake("-n", "results/table4.csv")
    project.configure(**settings)
    assert done.returncode == 1
    assert "on-request/" in done.stdout
    assert "says how to ask" in done.stdout


def test_all_public_files_can_be_downloaded_first(project: Project) -> None:
    project.make("downloads")
    sources = project.folder / "work" / "sources"
    assert (sources / "images.cocodataset.org" / "zips" / "train2014.zip").exists()
    assert (sources / "dl.fbaipublicfiles.com/fasttext/vectors-crawl/cc.cs.300.vec.gz").exists()
    assert "cc.cs.300.vec.gz" in (project.folder / "workflow" / "sources.lock").read_text()
    assert project.would_run("downloads") == {}


ROWS = "table4-row2+3+6+7.csv"  # each kind of captions, and translated queries


def test_rows_of_table_4_from_published_files(project: Project) -> None:
    project.make(f"results/{ROWS}", "results/table1.csv")
    table = pd.read_csv(project.folder / "results" / ROWS)
    assert set(table["scale"]) == {"paper"}
    columns = [f"multi30k {code}" for code in ("en", "de", "fr", "cs")]
    columns += [f"mscoco {code}" for code in ("en", "zh", "ja")]
    assert len(table) == 4
    assert table[columns].notna().all(axis=None)


def test_table_4_names_the_providers_of_its_translations(project: Project) -> None:
    folder = project.folder / "results"
    word_by_word = "dictionary (word by word)"
    mixed = f"{word_by_word}, google"
    table = pd.read_csv(folder / ROWS)["translations"].fillna("")
    assert table.to_list() == ["", mixed, word_by_word, mixed]
    numbers = pd.read_csv(folder / "comparison" / ROWS).query("metric == 'mR'")
    marked = numbers[numbers["word_by_word"] == "yes"].groupby("row")["language"].agg(list).to_dict()
    every = ["en", "de", "fr", "cs", "en", "zh", "ja"]
    assert marked == {3: ["fr", "cs", "zh", "ja"], 6: every, 7: every}


def test_the_sampled_split_has_images_of_all_languages_and_is_recorded(project: Project) -> None:
    folder = project.folder / "work" / "paper" / "mscoco"
    split = pd.read_csv(folder / "split.csv")
    assert split["split"].value_counts().to_dict() == {"train": 40, "test": 10, "val": 10}
    drawn = set(split["image"][split["split"] != "train"])
    for language in ("en", "zh", "ja"):
        assert drawn <= set(pd.read_csv(folder / "captions" / f"{language}.csv")["image"])


LESSONS = [
    "bi-translation-c2c",
    "bi-overlap-c2c-as-code",
    "multilingual-comparable-c2c",
    "monolingual-translation",
]


def test_rows_of_lessons_from_published_files(project: Project, settings: dict[str, Any]) -> None:
    """Of 40 training images: translations, halves, both parts with pairs, a stop on one language."""
    rows = [{"row": number, "method": name, "experiment": name} for number, name in enumerate(LESSONS, 1)]
    weights = settings["images"]["weights"]
    small = {"backbone": "resnet152.tv_in1k", "weights": weights, "crops": 1, "resize": 72, "crop": 64}
    images = {**settings["images"], "sets": {"resnet50": small}}
    few = {"metrics": ["s2i_R@10"], "columns": {"multi30k": ["de", "fr"]}, "rows": rows}
    tasks = {"max_steps": 4, "validate_every": 2, "batch_size": 8}
    project.configure(**{**settings, "images": images, "lessons": tasks, "tables": {"few": few}})
    project.make("results/few.csv")
    found = pd.read_csv(project.folder / "results/few.csv")
    assert found["multi30k de s2i_R@10"].notna().all()
    assert found["multi30k fr s2i_R@10"].notna().to_list() == [False, False, True, True]
    selected = project.folder / "work/paper/multi30k/selected"
    captions = {
        (name, language): pd.read_csv(selected / name / f"{language}.csv").query("split == 'train'")
        for name, language in [
            ("bi-translation-c2c", "de"),
            ("bi-overlap-c2c-as-code", "de"),
            ("multilingual-comparable-c2c-fr", "de"),
            ("multilingual-comparable-c2c-fr", "fr"),
        ]
    }
    assert [len(table) for table in captions.values()] == [40, 100, 240, 40]
    # Punctuation marks are words in the published tokens: every caption has a colon or ends with a full stop.
    assert captions["bi-translation-c2c", "de"]["tokens"].str.contains(r" [.:] ").all()
    project.configure(**settings)
