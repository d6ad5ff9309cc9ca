"""The two demo data sets: pictures and a caption table, from a seed."""

import logging
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import yaml

from pipeline.captions.table import COLUMNS, write_captions
from pipeline.errors import raise_together
from pipeline.progress import counted
from pipeline.sources.demo.concepts import DATA
from pipeline.sources.demo.drawing import draw_scene_image
from pipeline.sources.demo.grammar import language
from pipeline.sources.demo.plans import draw_plan
from pipeline.sources.demo.scenes import Scene, draw_scene

log = logging.getLogger("pipeline")

_SETTINGS: dict[str, Any] = yaml.safe_load((DATA / "datasets.yaml").read_text(encoding="utf-8"))
_SHARES: dict[str, int] = _SETTINGS.pop("splits")
DATASETS = tuple(_SETTINGS)


def make_dataset(dataset: str, seed: int, scenes: int, images: Path, captions: Path) -> None:
    """Draw `scenes` pictures into the folder `images` and write the caption table `captions`.

    The same arguments give the same bytes. Both outputs appear whole, the pictures first; a folder of an
    earlier run is replaced, another one is refused with `InputError`.
    """
    _check(dataset, scenes, images)
    settings = _SETTINGS[dataset]
    drawn = {
        f"{dataset}-{index + 1:04d}": draw_scene(_stream(settings, seed, index, "scene"))
        for index in range(scenes)
    }
    table = _caption_table(settings, drawn, seed)
    with _replaced_folder(images) as temporary:
        for index, (image, scene) in enumerate(counted(drawn.items(), f"{dataset} scenes", scenes)):
            picture = draw_scene_image(scene, _stream(settings, seed, index, "picture"))
            picture.save(temporary / f"{image}.jpg", quality=90)
    write_captions(table, captions)
    log.info("%s: %d images, %s captions", dataset, scenes, table["language"].value_counts().to_dict())


def _check(dataset: str, scenes: int, images: Path) -> None:
    mistakes = []
    if dataset not in _SETTINGS:
        mistakes.append(f"data set {dataset!r} is not known; choose one of {', '.join(DATASETS)}")
    if scenes < sum(_SHARES.values()):
        mistakes.append(
            f"{scenes} scenes are too few for three splits; ask for {sum(_SHARES.values())} or more"
        )
    if images.exists() and not images.is_dir():
        mistakes.append(f"{images} is a file; give a folder for the images")
    found = sorted(path.name for path in images.iterdir()) if images.is_dir() else []
    foreign = [name for name in found if not name.startswith(f"{dataset}-")]
    if foreign:
        mistakes.append(
            f"{images} holds files that are not this data set's, such as {foreign[0]!r}, and would be "
            "replaced; give an empty or a new folder for the images"
        )
    raise_together(mistakes, "The demo data cannot be made:")


@contextmanager
def _replaced_folder(folder: Path) -> Iterator[Path]:
    """Give a temporary folder; put it in the place of `folder` once the block succeeds."""
    temporary = folder.with_name(f".{folder.name}.{os.getpid()}.part")
    temporary.mkdir(parents=True)
    try:
        yield temporary
        shutil.rmtree(folder, ignore_errors=True)
        os.replace(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _caption_table(settings: dict[str, Any], scenes: dict[str, Scene], seed: int) -> pd.DataFrame:
    splits = _splits(len(scenes))
    spread = _languages_of_images(settings, splits, seed)
    rows = [
        (image, splits[index], *caption)
        for index, (image, scene) in enumerate(scenes.items())
        for code in spread[index]
        for caption in _captions(settings, scene, code, seed, index)
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def _stream(settings: dict[str, Any], seed: int, *path: object) -> Random:
    """A source of chance of its own for each purpose, so that one's draws never shift another's."""
    return Random("/".join(map(str, (settings["stream"], seed, *path))))


def _splits(scenes: int) -> list[str]:
    """The split of each scene, in blocks of the shares of `datasets.yaml`."""
    total, ends, done = sum(_SHARES.values()), {}, 0
    for split, share in _SHARES.items():
        done += share
        ends[split] = scenes * done // total
    return [next(split for split, end in ends.items() if index < end) for index in range(scenes)]


def _languages_of_images(settings: dict[str, Any], splits: list[str], seed: int) -> list[list[str]]:
    """The languages of each image: all in validation and test, `training` and the groups' in training."""
    result = [list(settings["languages"]) for _ in splits]
    training = [index for index, split in enumerate(splits) if split == "train"]
    for index in training:
        result[index] = list(settings["training"])
    left = training.copy()
    _stream(settings, seed, "groups").shuffle(left)
    for group in settings.get("groups", []):
        for _ in range(round(group["share"] * len(training))):
            result[left.pop()] += group["languages"]
    return result


def _captions(settings: dict[str, Any], scene: Scene, code: str, seed: int, index: int) -> list[tuple]:
    """Rows of language, caption, origin, source_language; a translation says one caption's plan anew."""
    wanted = settings["languages"][code]
    source = wanted.get("translated_from", "")
    random = _stream(settings, seed, index, code)
    least, most = wanted["captions"] if isinstance(wanted["captions"], list) else [wanted["captions"]] * 2
    plans = [
        draw_plan(scene, _stream(settings, seed, index, source or code, "plan", number))
        for number in range(random.randint(least, most))
    ]
    return [(code, language(code).caption(plan, random), "human", source) for plan in plans]
