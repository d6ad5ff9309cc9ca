"""The two demo data sets: what their pictures show and which split each is in, from a seed; no language."""

from random import Random
from typing import Any

import yaml

from pipeline.demo.concepts import DATA
from pipeline.demo.scenes import Scene, draw_scene

DEFAULT_SCENES = 900

_FILE: dict[str, Any] = yaml.safe_load((DATA / "datasets.yaml").read_text(encoding="utf-8"))
_SHARES: dict[str, int] = _FILE.pop("splits")
OTHERS: dict[str, Any] = _FILE.pop("others")
SETTINGS: dict[str, dict[str, Any]] = _FILE


def request_mistakes(dataset: str, scenes: int) -> list[str]:
    """What is wrong with a request for a data set."""
    mistakes = []
    if dataset not in SETTINGS:
        mistakes.append(f"data set {dataset!r} is not known; choose one of {', '.join(SETTINGS)}")
    if scenes < sum(_SHARES.values()):
        mistakes.append(
            f"{scenes} scenes are too few for three splits; ask for {sum(_SHARES.values())} or more"
        )
    return mistakes


def scenes_of(dataset: str, seed: int, count: int) -> dict[str, Scene]:
    """The scenes of a data set by the ids of their images."""
    return {
        f"{dataset}-{index + 1:04d}": draw_scene(stream(dataset, seed, index, "scene"))
        for index in range(count)
    }


def stream(dataset: str, seed: int, *path: object) -> Random:
    """A source of chance of its own for each purpose, so that one's draws never shift another's."""
    return Random("/".join(map(str, (SETTINGS[dataset]["stream"], seed, *path))))


def splits_of(scenes: int) -> list[str]:
    """The split of each scene, in blocks of the shares of `datasets.yaml`."""
    total, ends, done = sum(_SHARES.values()), {}, 0
    for split, share in _SHARES.items():
        done += share
        ends[split] = scenes * done // total
    return [next(split for split, end in ends.items() if index < end) for index in range(scenes)]
