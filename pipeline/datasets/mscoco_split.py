"""The split of MSCOCO 2014: test and validation images are sampled from those captioned in all languages."""

from collections.abc import Mapping
from pathlib import Path

from pipeline.datasets.mscoco import read_images
from pipeline.datasets.sampled import predefined_split, sampled_split
from pipeline.datasets.split import Split, restricted, whole_split


def mscoco_split(
    sources: Path, coco_cn: Path, draw: tuple[int, int], lists: Mapping[str, Path], image_list: Path | None
) -> Split:
    """The split of all captioned images.

    Args:
        draw: images of test, and as many of val, and the seed; not looked at where `lists` gives both.

    Raises:
        InputError: as `read_images`, `restricted`, `sampled_split` and `predefined_split`.
    """
    found = read_images(sources, coco_cn)
    images = restricted(found.captioned, image_list)
    drawable = found.in_all & set(images)
    each, seed = draw
    chosen = predefined_split(lists, drawable) if lists else sampled_split(drawable, each, each, seed)
    return whole_split(images, chosen)
