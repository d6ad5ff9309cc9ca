"""The two demo data sets: what their pictures show and the split of each, from a seed; without language."""

from functools import cache
from random import Random
from typing import Any

from pipeline.common.errors import InputError
from pipeline.common.yaml_files import read_yaml
from pipeline.demo.concepts import DATA
from pipeline.demo.scenes import Scene, draw_scene

DEFAULT_SCENES = 900


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


def check_request(dataset: str, scenes: int) -> None:
    """Raise `InputError` for a data set that is not known, or too few scenes for its splits."""
    shares = sum(_file()["splits"].values())
    if dataset not in data_sets():
        raise InputError(f"data set {dataset!r} is not known; choose one of {', '.join(data_sets())}.")
    if scenes < shares:
        raise InputError(f"{scenes} scenes are too few for three splits; ask for {shares} or more.")


def scenes_of(dataset: str, seed: int, count: int) -> dict[str, Scene]:
    """The scenes of a data set by the ids of their images."""
    return {
        f"{dataset}-{index + 1:04d}": draw_scene(stream(dataset, seed, index, "scene"))
        for index in range(count)
    }


def stream(dataset: str, seed: int, *path: object) -> Random:
    """An independent random generator per purpose, so that sampling in one place never changes another."""
    return Random("/".join(map(str, (data_sets()[dataset]["stream"], seed, *path))))


def splits_of(scenes: int) -> list[str]:
    """The split of each scene, in blocks of the shares of `datasets.yaml`."""
    shares: dict[str, int] = _file()["splits"]
    total, ends, so_far = sum(shares.values()), {}, 0
    for split, share in shares.items():
        so_far += share
        ends[split] = scenes * so_far // total
    return [next(split for split, end in ends.items() if index < end) for index in range(scenes)]
