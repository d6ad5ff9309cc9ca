"""Published captions of Multi30K as training text for word vectors, without captions of held-out images."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from pipeline.datasets.sources.multi30k import multi30k_captions, multi30k_split
from pipeline.datasets.split import read_split
from pipeline.datasets.table import caption_table, mended_captions, write_sentences
from pipeline.datasets.tokenize import with_tokens


def collect_text(language: str, sources: Path, splits: Sequence[Path], output: Path) -> None:
    """Collect Multi30K's captions of images that are not held out.

    Args:
        language: ISO 639-1 code.
        sources: published files, laid out as HOST/PATH.
        splits: outputs of `split`.
        output: sentence table to write.
    """
    write_sentences(published_text(sources, language, splits), output)


def published_text(folder: Path, language: str, splits: Sequence[Path]) -> pd.DataFrame:
    """Sentence table of Multi30K's captions in a language, all as split `train`.

    Left out are captions of every image that any of the splits has for validation or testing: word vectors
    that were trained on them would have seen the queries. Images of no split are kept.

    Args:
        folder: sources, laid out as HOST/PATH.
        splits: CSV files with columns image, split.
    """
    images = multi30k_split(folder, "multi30k")
    held_out = {image for path in splits for image, split in read_split(path).items() if split != "train"}
    training = dict.fromkeys((image for image in images if image not in held_out), "train")
    captions = mended_captions(caption_table(multi30k_captions(folder, language, training)))
    return with_tokens(captions, language)
