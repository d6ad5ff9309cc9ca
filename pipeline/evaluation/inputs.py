"""The data that a model is trained and evaluated on, read from files and checked."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from pipeline.common.errors import InputError, raise_together
from pipeline.datasets.select import original_captions
from pipeline.datasets.table import read_sentences
from pipeline.images.settings import FeatureSettings, expected_attributes
from pipeline.images.store import failed_images, read_features
from pipeline.models.settings import RunSettings
from pipeline.words.corpus import Corpus, corpus_of
from pipeline.words.vocabulary import Vocabulary, read_vocabulary

log = logging.getLogger("pipeline")


def read_vocabularies(paths: Sequence[Path], languages: Sequence[str]) -> dict[str, Vocabulary]:
    """The vocabulary of each language, in the order of `languages`."""
    by_language = {vocabulary.language: vocabulary for vocabulary in map(read_vocabulary, paths)}
    raise_together(
        [f"no --words file is for {language!r}" for language in languages if language not in by_language],
        "The vocabularies do not fit the experiment's languages:",
    )
    return {language: by_language[language] for language in languages}


def original_sentences(
    paths: Sequence[Path], languages: Sequence[str], origins: Mapping[str, str]
) -> dict[str, pd.DataFrame]:
    """The data set's own captions of each language, all splits."""
    tables = pd.concat([read_sentences(path) for path in paths])
    return {
        language: original_captions(tables[tables["language"] == language], origins.get(language, "human"))
        for language in languages
    }


def in_translation(captions: pd.DataFrame, translations: pd.DataFrame) -> pd.DataFrame:
    """The same captions with the texts of their translations; one without a translation has no tokens.

    A translation has the image and the number of its caption.

    Raises:
        InputError: the translations were published by people who translated only some of the captions.
    """
    keys = ["image", "number"]
    texts = translations[translations["image"].isin(captions["image"])]
    each, translated = captions["number"].max() + 1, texts["number"].max() + 1
    if each != translated and (texts["origin"] == "human").any():
        pair = f"{texts['source_language'].iloc[0]}-{texts['language'].iloc[0]}"
        raise InputError(
            f"translations {pair}: images have up to {each} captions and up to {translated} human "
            f"translations, so it is unknown which translates which. Choose another provider for "
            f"translation.pairs.{pair}."
        )
    rows = captions.drop(columns=["caption", "tokens"])
    rows = rows.merge(texts[[*keys, "caption", "tokens"]], "left", keys, validate="many_to_one")
    return rows.fillna({"caption": "", "tokens": ""})


def evaluation_corpus(
    originals: Mapping[str, pd.DataFrame],
    vocabularies: Mapping[str, Vocabulary],
    settings: RunSettings,
    split: str,
) -> Corpus:
    """The corpus of a split to retrieve from, without features yet; each language must have captions."""
    corpus = corpus_of(originals, vocabularies, settings.max_caption_length, split)
    empty = [language for language, captions in corpus.languages.items() if not len(captions.image)]
    raise_together(
        [f"{language!r} has no captions in split {split!r}" for language in empty],
        f"{settings.dataset} cannot be evaluated; take the language out of the data set's languages:",
    )
    return corpus


def add_features(corpus: Corpus, features: Path, settings: FeatureSettings) -> None:
    """Read the features of the corpus' images; they must match the configuration.

    Images that failed when the features were extracted leave the corpus, with their captions.
    """
    failed = failed_images(features)
    keep = np.array([image not in failed for image in corpus.images], dtype=bool)
    if not keep.any():
        raise InputError(
            f"{features}: all {len(keep)} images of a split failed to decode when it was made; failed.csv "
            f"next to it has the reasons. Replace the files, then run the same command again."
        )
    if not keep.all():
        captions = sum(int((~keep[part.image]).sum()) for part in corpus.languages.values())
        log.warning(
            "%s: %d images of this split failed there and are left out, with %d captions",
            features, (~keep).sum(), captions,
        )  # fmt: skip
        corpus.languages = {language: part.of_images(keep) for language, part in corpus.languages.items()}
        corpus.images = [image for image, stays in zip(corpus.images, keep, strict=True) if stays]
    expected = expected_attributes(settings)
    corpus.features = torch.from_numpy(read_features(features, corpus.images, expected))
