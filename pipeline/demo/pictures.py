"""The pictures of a demo data set."""

from pathlib import Path

from pipeline.common.files import atomic_folder
from pipeline.common.progress import with_progress
from pipeline.demo.datasets import scene_of, split_of, stream
from pipeline.demo.drawing import draw_scene_image


def draw_demo(dataset: str, output: Path, seed: int = 0, scenes: int = 900) -> None:
    """Draw the pictures of a demo data set.

    Args:
        dataset: the demo data set, multi30k or mscoco.
        output: folder of the JPEG images to create.
        seed: equal seeds give equal bytes.
        scenes: number of images, over all three splits.

    Raises:
        InputError: the data set is not known, the scenes are too few, or the folder has files already.
    """
    images = split_of(dataset, scenes)
    with atomic_folder(output) as temporary:
        for index, image in enumerate(with_progress(images, f"{dataset} scenes", scenes)):
            picture = draw_scene_image(
                scene_of(dataset, seed, index), stream(dataset, seed, index, "picture")
            )
            picture.save(temporary / f"{image}.jpg", quality=90)
