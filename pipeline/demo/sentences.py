"""What is said of the pictures of a demo data set in one language, by its grammar."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.common.errors import raise_together
from pipeline.datasets.captions import Caption
from pipeline.datasets.table import caption_table, write_captions
from pipeline.demo.datasets import (
    DEFAULT_SCENES,
    captions_wanted,
    data_sets,
    request_mistakes,
    scenes_of,
    splits_of,
    stream,
)
from pipeline.demo.grammar import language as grammar
from pipeline.demo.plans import draw_plan
from pipeline.demo.scenes import Scene

log = logging.getLogger("pipeline")


def write_demo_captions(
    dataset: str, language: str, output: Path, seed: int = 0, scenes: int = DEFAULT_SCENES
) -> None:
    """Write the caption table of one language; the same arguments give the same bytes.

    A language that is not in `datasets.yaml` has a caption of every image.

    Args:
        dataset: the demo data set, multi30k or mscoco.
        language: ISO 639-1 code of a language that has a grammar.
        output: caption table to write.
        seed: equal seeds give equal bytes.
        scenes: number of images, over all three splits.

    Raises:
        InputError: the data set is not known, the scenes are too few, or there is no grammar of the language.
    """
    raise_together(request_mistakes(dataset, scenes), "The demo's captions cannot be written:")
    rule = captions_wanted(dataset, language)
    splits = splits_of(scenes)
    images = _captioned_images(dataset, language, splits, seed)
    rows = [
        Caption(image, splits[index], language, caption, "human", rule.get("translated_from", ""))
        for index, (image, scene) in enumerate(scenes_of(dataset, seed, scenes).items())
        if index in images
        for caption in _scene_captions(dataset, rule, scene, language, seed, index)
    ]
    write_captions(caption_table(rows), output)
    log.info("%s: %d captions in %s", dataset, len(rows), language)


def _captioned_images(dataset: str, language: str, splits: list[str], seed: int) -> set[int]:
    """Images with captions in a language: of training those of its groups, if not all; all of the others."""
    settings = data_sets()[dataset]
    everywhere = set(range(len(splits)))
    if language in settings["training"] or language not in settings["languages"]:
        return everywhere
    training_images = [index for index, split in enumerate(splits) if split == "train"]
    images, training = everywhere - set(training_images), len(training_images)
    stream(dataset, seed, "groups").shuffle(training_images)
    for group in settings["groups"]:
        of_group = [training_images.pop() for _ in range(round(group["share"] * training))]
        images.update(of_group if language in group["languages"] else [])
    return images


def _scene_captions(
    dataset: str, rule: dict[str, Any], scene: Scene, language: str, seed: int, index: int
) -> Iterator[str]:
    """Captions of a scene; a translation says the plan of one caption in other words."""
    random = stream(dataset, seed, index, language)
    planned_in = rule.get("translated_from", language)
    least, most = rule["captions"] if isinstance(rule["captions"], list) else [rule["captions"]] * 2
    for number in range(random.randint(least, most)):
        plan = draw_plan(scene, stream(dataset, seed, index, planned_in, "plan", number))
        yield grammar(language).caption(plan, random)
