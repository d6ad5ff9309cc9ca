"""The pictures of a demo data set, and their split into training, validation and test images."""

import logging
from pathlib import Path

from pipeline.common.files import atomic_folder
from pipeline.common.progress import with_progress
from pipeline.datasets.split import write_split
from pipeline.demo.datasets import DEFAULT_SCENES, check_request, scenes_of, splits_of, stream
from pipeline.demo.drawing import draw_scene_image

log = logging.getLogger("pipeline")


def draw_demo(
    dataset: str, images_out: Path, split: Path, seed: int = 0, scenes: int = DEFAULT_SCENES
) -> None:
    """Draw the pictures of a demo data set and write their split.

    The same arguments give the same bytes. Both outputs appear whole, the pictures first.

    Args:
        dataset: the demo data set, multi30k or mscoco.
        images_out: folder for the JPEG images. A folder of an earlier run is replaced, any other is refused.
        split: CSV to write: columns image and split.
        seed: equal seeds give equal bytes.
        scenes: number of images, over all three splits.

    Raises:
        InputError: the data set is not known, the scenes are too few, or the folder holds other files.
    """
    check_request(dataset, scenes)
    scene_of = scenes_of(dataset, seed, scenes)
    with atomic_folder(images_out, f"{dataset}-0001.jpg") as temporary:
        for index, (image, scene) in enumerate(with_progress(scene_of.items(), f"{dataset} scenes", scenes)):
            picture = draw_scene_image(scene, stream(dataset, seed, index, "picture"))
            picture.save(temporary / f"{image}.jpg", quality=90)
    write_split(dict(zip(scene_of, splits_of(scenes), strict=True)), split)
    log.info("%s: %d images", dataset, scenes)
