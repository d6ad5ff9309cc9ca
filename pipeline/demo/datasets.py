"""The two demo data sets: what their pictures show and the split of each, from a seed; without language."""

from functools import cache
from itertools import accumulate
from random import Random
from typing import Any

from pipeline.common.errors import InputError
from pipeline.common.yaml_files import read_yaml
from pipeline.demo.concepts import DATA
from pipeline.demo.scenes import Scene, draw_scene


@cache
def _file() -> dict[str, Any]:
    content: dict[str, Any] = read_yaml(DATA / "datasets.yaml")
    return content


def data_sets() -> dict[str, dict[str, Any]]:
    """The data sets by name, as `datasets.yaml` has them."""
    return {name: value for name, value in _file().items() if name not in ("splits", "others")}


def caption_rule(dataset: str, language: str) -> dict[str, Any]:
    """How a data set's captions in a language are made; languages that it does not name share one rule."""
    rule: dict[str, Any] = data_sets()[dataset]["languages"].get(language, translation_rule())
    return rule


def translation_rule() -> dict[str, Any]:
    """How captions are made that translate one caption of each image."""
    rule: dict[str, Any] = _file()["others"]
    return rule


def split_of(dataset: str, scenes: int) -> dict[str, str]:
    """The images of a data set, and the split of each: blocks of the shares of `datasets.yaml`.

    Raises:
        InputError: the data set is not known, or the scenes are too few.
    """
    if dataset not in data_sets():
        raise InputError(f"data set {dataset!r} is not known; choose one of {', '.join(data_sets())}.")
    shares: dict[str, int] = _file()["splits"]
    total, splits = sum(shares.values()), list[str]()
    if scenes < total:
        raise InputError(f"{scenes} scenes are too few for three splits; ask for {total} or more.")
    for split, end in zip(shares, accumulate(shares.values()), strict=True):
        splits += [split] * (scenes * end // total - len(splits))
    return {f"{dataset}-{number:04d}": split for number, split in enumerate(splits, 1)}


def scene_of(dataset: str, seed: int, index: int) -> Scene:
    """The scene of an image, which is numbered from 0."""
    return draw_scene(stream(dataset, seed, index, "scene"))


def stream(dataset: str, seed: int, *path: object) -> Random:
    """An independent random generator per purpose, so that sampling in one place never changes another."""
    return Random("/".join(map(str, (data_sets()[dataset]["stream"], seed, *path))))
