"""The files of a training, and the data read from them."""

import hashlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import torch

from pipeline.common.block import Block
from pipeline.common.files import sha256
from pipeline.datasets.origins import Origins, count_by_pair, count_origins
from pipeline.datasets.select import added_translations, training_captions
from pipeline.datasets.table import read_sentences
from pipeline.evaluation.inputs import add_features, original_sentences, read_vocabularies
from pipeline.training.batches import Sampler, language_groups
from pipeline.training.settings import AssignSettings, PretrainSettings, TrainSettings
from pipeline.words.corpus import Corpus, LanguageCorpus, corpus_of
from pipeline.words.vocabulary import Vocabulary

log = logging.getLogger("pipeline")

Tables = Mapping[str, pd.DataFrame]  # sentence tables by language


@dataclass
class Inputs:
    """Files of one experiment.

    sentences: sentence tables with the data set's own captions. translations: sentence tables with
    translations. words: one vocabulary per language. features: image features, None for pretraining.
    pretrained: weights of the universal embedding's layers, None where LP is off; for another embedding, the
    output of its pretraining. steps_of: the model of another experiment, if an epoch has as many steps as its
    epochs.
    """

    sentences: Sequence[Path]
    translations: Sequence[Path]
    words: Sequence[Path]
    features: Path | None = None
    pretrained: Path | None = None
    steps_of: Path | None = None

    def fingerprint(self, settings: Block, code: str) -> str:
        """Digest of all that the weights depend on: settings, the files' bytes, the code."""
        optional = [path for path in (self.features, self.pretrained, self.steps_of) if path]
        files = [*self.sentences, *self.translations, *self.words, *optional]
        content = [settings.as_json(), code, torch.__version__, *map(sha256, files)]
        return hashlib.sha256("\n".join(content).encode()).hexdigest()


@dataclass
class TrainingData:
    """What is read for a training or a pretraining.

    originals: the data set's own captions, all splits. corpus: the training split, without features for a
    pretraining. longest: words of each language's longest training caption, unknown words included.
    captions: training captions of each language by origin. translations: the translations among these
    captions, for each pair of languages by origin.
    """

    vocabularies: dict[str, Vocabulary]
    originals: Tables
    corpus: Corpus
    batches: Sampler
    longest: dict[str, int]
    captions: dict[str, Origins]
    translations: dict[str, Origins]


def training_data(
    inputs: Inputs, settings: TrainSettings | PretrainSettings | AssignSettings, steps: int | None = None
) -> TrainingData:
    """Read what a training or a pretraining needs.

    Args:
        steps: of an epoch, if it has as many as another experiment's.
    """
    vocabularies = read_vocabularies(inputs.words, settings.languages)
    originals = original_sentences(inputs.sentences, settings.languages, settings.caption_origins)
    translations = list(map(read_sentences, inputs.translations))
    sentences, every_added = {}, []
    for language, table in originals.items():
        into = [each for each in translations if each["language"].iloc[0] == language]
        added = added_translations(table, into, settings.captions)
        sentences[language] = training_captions(table, added, settings.captions)
        every_added += added
    corpus = corpus_of(sentences, vocabularies, settings.max_caption_length, "train")
    corpus.languages = {code: _with_known_words(part, code) for code, part in corpus.languages.items()}
    if inputs.features and isinstance(settings, TrainSettings):
        add_features(corpus, inputs.features, settings.features)
    captioned_images = {language: set(table["image"]) for language, table in originals.items()}
    groups = language_groups(corpus.images, captioned_images, settings.groups)
    if len(groups) > 1:
        log.info("images are sampled equally from groups of %s", ", ".join(str(len(rows)) for rows in groups))
    translation_tables = [*every_added, *(originals[language] for language in settings.translated or [])]
    return TrainingData(
        vocabularies=vocabularies,
        originals=originals,
        corpus=corpus,
        batches=Sampler(corpus, groups, settings.training, settings.seed, steps),
        longest=longest_captions(sentences, settings.max_caption_length),
        captions=training_origins(sentences, corpus),
        translations=count_by_pair(translation_tables, "train", corpus.images),
    )


def training_origins(sentences: Tables, corpus: Corpus) -> dict[str, Origins]:
    """How many training captions each language has by origin."""
    return {language: count_origins(table, "train", corpus.images) for language, table in sentences.items()}


def longest_captions(sentences: Tables, max_length: int | None) -> dict[str, int]:
    """Words of each language's longest training caption, unknown words included, at most `max_length`."""
    lengths = {
        language: table["tokens"][table["split"] == "train"].str.split().str.len().max()
        for language, table in sentences.items()
    }
    return {language: int(min(length, max_length or length)) for language, length in lengths.items()}


def _with_known_words(captions: LanguageCorpus, language: str) -> LanguageCorpus:
    """The sentences with a known word: others have no direction, and their gradient has no bound."""
    has_word = (captions.ids[:, 0] != 0).numpy()
    if has_word.all():
        return captions
    log.warning("%s: %d training captions without a known word are left out", language, (~has_word).sum())
    return captions.at(has_word)
