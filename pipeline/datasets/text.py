"""Published captions of Multi30K as training text for word vectors, without captions of held-out images."""

from collections.abc import Sequence
from pathlib import Path

from pipeline.datasets.sources.multi30k import multi30k_captions, multi30k_split
from pipeline.datasets.split import read_split
from pipeline.datasets.table import caption_table, mended_captions, write_sentences
from pipeline.datasets.tokenize import with_tokens


def collect_text(language: str, sources: Path, splits: Sequence[Path], output: Path) -> None:
    """Collect Multi30K's captions of images that are not held out, all as split `train`.

    Left out are captions of every image that any of the splits has for validation or testing: word vectors
    that were trained on them would have seen the queries. Images of no split are kept.

    Args:
        language: ISO 639-1 code.
        sources: published files, laid out as HOST/PATH.
        splits: outputs of `split`.
        output: sentence table to write.
    """
    images = multi30k_split(sources, "multi30k")
    held_out = {image for path in splits for image, split in read_split(path).items() if split != "train"}
    training = dict.fromkeys((image for image in images if image not in held_out), "train")
    captions = mended_captions(caption_table(multi30k_captions(sources, language, training)))
    write_sentences(with_tokens(captions, language), output)
