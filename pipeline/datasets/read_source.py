"""The stages that read a source of captions: its split, and its captions in one language."""

from pathlib import Path

from pipeline.common.errors import InputError
from pipeline.datasets.sampling import training_images_after
from pipeline.datasets.source import Inputs, StageKeys
from pipeline.datasets.sources import source_named
from pipeline.datasets.split import limit_to_list, read_split, write_split
from pipeline.datasets.table import caption_table, mended_captions, write_captions

SOURCES = Path("work/sources")


def split_images(
    settings: StageKeys,
    output: Path,
    sources: Path = SOURCES,
    requested: Path | None = None,
    image_list: Path | None = None,
) -> None:
    """Assign the images of a data set to train, val and test.

    Args:
        settings: source, and the keys of `datasets.*` that its split depends on, such as
            {"source": "multi30k", "split": "flickr8k"}.
        output: CSV to write: columns image and split.
        sources: folder of published files, laid out as HOST/PATH.
        requested: folder or archive of the data that their owners give on request.
        image_list: CSV file with a column `image`: keep only these images, before a split is sampled.

    Raises:
        InputError: data are missing or wrong; all that is wrong with a file is listed.
    """
    source = source_named(settings.source)
    keys = settings.only(source.split_keys)
    if source.splits and keys.split not in source.splits:
        raise InputError(f"split: found {keys.split!r}, expected {' or '.join(source.splits)}.")
    split = source.read_split(keys, Inputs(sources, requested, image_list))
    write_split({image: split[image] for image in limit_to_list(split, image_list)}, output)


def read_source_captions(
    settings: StageKeys,
    language: str,
    split: Path,
    output: Path,
    sources: Path = SOURCES,
    requested: Path | None = None,
    captioned_images: float = 1.0,
    origin: str = "human",
) -> None:
    """Read a data set's captions in one language.

    Args:
        settings: source, and the keys of `datasets.*` that its captions depend on, such as
            {"source": "custom", "captions": "mine.csv"}.
        language: ISO 639-1 code.
        split: output of `split`.
        output: caption table to write.
        sources: folder of published files, laid out as HOST/PATH.
        requested: folder or archive of the data that their owners give on request.
        captioned_images: fraction of the training images whose captions of the language's own origin are
            read. The fractions of a language are nested: 0.3 has the images of 0.15.
        origin: of the language's own captions.

    Raises:
        InputError: data are missing or wrong; all that is wrong with a file is listed.
    """
    source = source_named(settings.source)
    keys = settings.only(source.caption_keys)
    splits = read_split(split)
    captions = source.read_captions(keys, Inputs(sources, requested), language, splits)
    left_out = training_images_after(captioned_images, splits, language)
    captions = [caption for caption in captions if caption.origin != origin or caption.image not in left_out]
    write_captions(mended_captions(caption_table(captions)), output)
