"""Multi30K (Elliott et al. 2016, 2017; Barrault et al. 2018).

Five English and five German captions of each image were written independently (task 2); one French
and one Czech sentence are human translations from English (task 1). Lines of a text file are in
the order of its list of images.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from pipeline.common.errors import InputError
from pipeline.datasets.captions import Caption
from pipeline.datasets.flickr8k import SPLIT_FILES, flickr8k_split, image_id
from pipeline.datasets.published import COMPARABLE, TRANSLATION, no_part, require_language, text_lines
from pipeline.datasets.source import Inputs, Source, StageKeys
from pipeline.datasets.split import Split

FOLDER = "raw.githubusercontent.com/multi30k/dataset/a3d2e0d26b56f3846f66a952536ffed4e401d05a/data"

# Names of train, val and test in the two tasks.
_TASK_1 = {"train": "train", "val": "val", "test": "test_2016_flickr"}  # task 1
_INDEPENDENT = {"train": "train", "val": "val", "test": "test_2016"}  # task 2
_TASKS = {"en": 2, "de": 2, "fr": 1, "cs": 1}
_CAPTIONS_PER_IMAGE = 5  # languages of task 2

# Text of the parts that *Lessons* trains on (Section 4): lower-cased, normalised and tokenised,
# punctuation included.
_PART_LANGUAGES = {TRANSLATION: ("en", "de", "fr", "cs"), COMPARABLE: ("en", "de")}


def multi30k_split(folder: Path, lists: str) -> Split:
    """Multi30K's images by one of two splits.

    Args:
        folder: published files, laid out as HOST/PATH.
        lists: "multi30k" for its own split (29,000 / 1,014 / 1,000 images), "flickr8k" for the images
            that are also in Flickr8k, split by Flickr8k's lists.
    """
    own = {image: name for name in ("train", "val", "test") for image in task_images(folder, 2, name)}
    if lists == "multi30k":
        return own
    official = flickr8k_split(folder)
    return {image: official[image] for image in own if image in official}


def task_images(folder: Path, task: int, split: str) -> list[str]:
    """Images of a split in a task of Multi30K, in the order that the lines of its texts follow."""
    name = f"{_INDEPENDENT[split]}_images" if task == 2 else _TASK_1[split]
    return [image_id(line) for line in text_lines(folder / f"{FOLDER}/task{task}/image_splits/{name}.txt")]


def multi30k_captions(folder: Path, language: str, split: Mapping[str, str]) -> list[Caption]:
    """Captions of Multi30K in a language: En and De x5, Fr and Cs x1, all of origin human.

    Args:
        folder: published files, laid out as HOST/PATH.
        split: image -> train, val or test; captions of other images are left out.

    Raises:
        InputError: it has no captions in the language.
    """
    task = _TASKS[require_language(language, _TASKS, "Multi30K")]
    return _captions(folder, task, "raw", language, split)


def multi30k_part(keys: StageKeys, inputs: Inputs, part: str, language: str, split: Split) -> list[Caption]:
    """Captions of a part of *Lessons* in a language, tokenised as published.

    The translation part has one caption of each image in En, De, Fr and Cs, which translate one another
    (task 1); the comparable part has five independent captions in En and De (task 2).

    Raises:
        InputError: the part has no captions in the language.
    """
    if language not in _PART_LANGUAGES[part]:
        raise InputError(no_part(part, language, _PART_LANGUAGES[part]))
    captions = _captions(inputs.downloads, 1 if part == TRANSLATION else 2, "tok", language, split)
    return [caption._replace(caption=" ".join(caption.caption.split())) for caption in captions]


def translated_lines(folder: Path, split: str) -> tuple[list[str], dict[str, list[str]]]:
    """Images of a published split in task 1, and their captions by language: English and its translations."""
    lines = {
        language: text_lines(folder / path)
        for language in _TASKS
        for path in _paths(1, "raw", split, language)
    }
    return task_images(folder, 1, split), lines


def _captions(folder: Path, task: int, kind: str, language: str, split: Mapping[str, str]) -> list[Caption]:
    source_language = "en" if task == 1 and language != "en" else ""
    captions = []
    for name in ("train", "val", "test"):
        texts = [text_lines(folder / path) for path in _paths(task, kind, name, language)]
        for image, *sentences in zip(task_images(folder, task, name), *texts, strict=True):
            if image in split:
                row = image, split[image], language
                captions += [Caption(*row, text, "human", source_language) for text in sentences]
    return captions


def _paths(task: int, kind: str, split: str, language: str) -> Iterator[str]:
    name = f"{FOLDER}/task{task}/{kind}/{(_TASK_1 if task == 1 else _INDEPENDENT)[split]}"
    name += ".lc.norm.tok" if kind == "tok" else ""
    ending = f"{language}.gz" if kind == "raw" else language
    if task == 1:
        yield f"{name}.{ending}"
        return
    for number in range(1, _CAPTIONS_PER_IMAGE + 1):
        yield f"{name}.{number}.{ending}"


SOURCE = Source(
    needs=("images", "split"),
    split_keys=(("split",),),
    splits={"multi30k": (), "flickr8k": ("flickr8k",)},
    downloads=("multi30k",),
    further=("multi30k-text",),
    split_files=rf"image_splits|{SPLIT_FILES}",
    caption_files={language: rf"image_splits|[.]{language}[.]gz$" for language in _TASKS},
    parts=tuple(_PART_LANGUAGES),
    part_files={
        part: rf"{task}/(image_splits/|tok/.*[.]{{language}}$)"
        for part, task in ((TRANSLATION, "task1"), (COMPARABLE, "task2"))
    },
    parts_are_tokenised=True,
    parallel_files=r"task1/(image_splits/|raw/(train|test_2016_flickr)\.\w\w\.gz$)",
    human_translations=True,
    flickr_names=True,
    read_split=lambda keys, inputs: multi30k_split(inputs.downloads, keys.split or ""),
    read_captions=lambda keys, inputs, language, split: multi30k_captions(inputs.downloads, language, split),
    read_part=multi30k_part,
)
