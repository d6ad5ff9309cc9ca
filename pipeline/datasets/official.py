"""The published lists of images: the official splits of Flickr8k and of Multi30K."""

from pipeline.datasets.image_ids import image_id
from pipeline.datasets.published import Sources
from pipeline.datasets.split import Split

FLICKR8K = "raw.githubusercontent.com/li-xirong/flickr8kcn/a19b9aa4a7ad2a42741460d9f47385637ae270cd/data"
MULTI30K = "raw.githubusercontent.com/multi30k/dataset/a3d2e0d26b56f3846f66a952536ffed4e401d05a/data"

# Names of train, val and test in Multi30K's two tasks.
TRANSLATED = {"train": "train", "val": "val", "test": "test_2016_flickr"}  # task 1
INDEPENDENT = {"train": "train", "val": "val", "test": "test_2016"}  # task 2


def flickr8k_split(sources: Sources) -> Split:
    """Flickr8k's split: 6,000 / 1,000 / 1,000 images. Mistakes are collected in `sources`."""
    split: Split = {}
    for name in ("train", "val", "test"):
        path = f"{FLICKR8K}/flickr8k{name}.txt"
        for line in sources.lines(path):
            if (image := image_id(line)) in split:
                sources.mistakes.append(f"{path}: image {image} stands in a list already ({split[image]})")
            split[image] = name
    return split


def multi30k_split(sources: Sources, lists: str) -> Split:
    """Multi30K's images by one of two splits. Mistakes are collected in `sources`.

    Args:
        lists: "multi30k" for its own split (29,000 / 1,014 / 1,000 images), "flickr8k" for the images
            that are also in Flickr8k, split by Flickr8k's lists.
    """
    own: Split = {}
    for name in ("train", "val", "test"):
        independent, translated = task_images(sources, 2, name), task_images(sources, 1, name)
        if set(independent) != set(translated):
            sources.mistakes.append(
                f"Multi30K, {name}: tasks 1 and 2 list different images; download both again"
            )
        own |= dict.fromkeys(independent, name)
    if lists == "multi30k":
        return own
    official = flickr8k_split(sources)
    return {image: official[image] for image in own if image in official}


def task_images(sources: Sources, task: int, split: str) -> list[str]:
    """Images of a split in a task of Multi30K, in the order that the lines of its texts follow."""
    name = f"{INDEPENDENT[split]}_images" if task == 2 else TRANSLATED[split]
    path = f"{MULTI30K}/task{task}/image_splits/{name}.txt"
    images = [image_id(line) for line in sources.lines(path)]
    if len(set(images)) < len(images):
        sources.mistakes.append(f"{path}: names {len(images) - len(set(images))} images more than once")
    return images
