"""Training as in *Lessons learned in multilingual grounded language learning*, Section 3 and Figure 2.

One encoder reads the captions of all languages from one word table; each step is one task, and training stops
early. docs/lessons.md lists what the public code does differently, each with its setting.
"""

import logging
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from pipeline.common.devices import to_device
from pipeline.evaluation.embed import embed_images, embed_sentences
from pipeline.evaluation.inputs import add_features, evaluation_corpus, original_sentences, read_vocabularies
from pipeline.evaluation.ranks import both_ranks, mean_recalls
from pipeline.evaluation.recall import recalls
from pipeline.models.losses.ranking import ranking_loss
from pipeline.models.model import RetrievalModel, count_parameters, new_model
from pipeline.models.similarity import similarities
from pipeline.models.universal import UniversalEmbedding
from pipeline.training.best_epoch import validation_row, write_best
from pipeline.training.data import Inputs, training_origins
from pipeline.training.loop import Job, train_steps, training_device
from pipeline.training.precision import exact_products
from pipeline.training.settings import LessonsSettings, TaskTraining
from pipeline.training.tasks import Rows, TaskSampler, batches_of, caption_pairs
from pipeline.words.corpus import Corpus, LanguageCorpus, Sentences, corpus_of
from pipeline.words.vocabulary import Vocabulary

log = logging.getLogger("pipeline")

CAPTIONS = 5  # of an image, which the public code assumes in validation
RECALLS = 6  # the stopping criterion is their sum; mR is their mean


def train_lessons(
    settings: LessonsSettings,
    features: Path,
    sentences: Sequence[Path],
    words: Sequence[Path],
    checkpoint: Path,
    curves: Path,
    output: Path,
    code: str,
    pairs: Sequence[Path] = (),
) -> None:
    """Train one experiment of *Lessons* and keep the validation with the highest sum of recalls.

    Args:
        settings: JSON: what the training depends on besides its files, as `snakemake -np` prints it.
        features: image features.
        sentences: captions of each language, which `select-captions` wrote.
        words: vocabularies that `select-captions` wrote.
        checkpoint: file from which a killed run resumes.
        curves: CSV to write, one row per validation; during training it has the rows so far.
        output: model to write.
        pairs: captions that pairs are formed of, if not the captions of `--sentences`.

    Raises:
        InputError: the inputs do not fit one another, or there is nothing to train on.
    """
    inputs = Inputs([*sentences, *pairs], [], words, features)
    job = Job(checkpoint, [curves, output], inputs.fingerprint(settings, code), curves)
    if job.restore_outputs():
        return
    device = training_device(settings.seed, settings.training)
    vocabularies = read_vocabularies(words, settings.languages)
    originals = original_sentences(sentences, settings.languages, settings.caption_origins)
    corpus = corpus_of(originals, vocabularies, settings.max_caption_length, "train")
    validation = evaluation_corpus(originals, vocabularies, settings, "val")
    for split in (corpus, validation):
        add_features(split, features, settings.features)
    paired_corpus = None
    if pairs:
        paired = original_sentences(pairs, settings.languages, settings.caption_origins)
        paired_corpus = corpus_of(paired, vocabularies, settings.max_caption_length, "train")
    captions, batches, validate_every = captions_and_sampler(corpus, paired_corpus, settings)
    model = union_model(vocabularies, corpus.features.shape[1], settings).to(device)
    log.info("%d images, %d parameters", len(corpus.images), count_parameters(model))
    corpus, validation, lessons = corpus.to(device), validation.to(device), settings.lessons
    state = train_steps(
        job,
        model,
        lambda step: {"ranking": step_loss(model, captions, corpus.features, batches.batch(step), settings)},
        seed=settings.seed,
        steps=len(batches.tasks),
        validate_every=validate_every,
        rate=lambda step: learning_rate(step // validate_every, lessons),
        validate=lambda: _validate(model, validation, settings),
        score="val_sum",
        patience=lessons.patience,
        max_grad_norm=lessons.max_grad_norm,
    )
    write_best(
        output, model, state, settings, features, vocabularies,
        training_captions=training_origins(originals, corpus),
        training_translations={},
        training_groups=[len(corpus.images)],
    )  # fmt: skip
    job.keep_outputs()


def union_model(
    vocabularies: Mapping[str, Vocabulary], features: int, settings: LessonsSettings
) -> RetrievalModel:
    """A model whose languages share the sentence branch and one word table.

    "We use a single word embedding matrix containing the union of all words in all considered languages."
    """
    model = new_model(settings, vocabularies, None, features)
    assert isinstance(model.universal, UniversalEmbedding)
    model.universal.share_table()
    return model


def learning_rate(validations: int, lessons: TaskTraining) -> float:
    """The rate after a number of validations, which are passes in models of one language.

    Models of several languages have a constant rate.
    """
    passes = lessons.divide_learning_rate_every
    return lessons.learning_rate / (10 ** (validations // passes) if passes else 1)


def step_loss(
    model: RetrievalModel, captions: LanguageCorpus, features: Tensor, rows: Rows, settings: LessonsSettings
) -> Tensor:
    """The ranking loss of a step (*Lessons*, Section 3): its task follows from the type of `rows`.

    Only equal places in the batch match: another caption of the same image is a negative, and so is another
    copy of the image.

    Args:
        captions: of all languages, one after another, with the row of each one's image.
        features: (n, D) of the images. rows: (B,) captions, or (B, 2) pairs of them.
        settings: `lessons`: margin, hinge, lengths_in_pairs.
    """
    lessons = settings.lessons
    if rows.ndim == 1:
        first = _embed(model, captions.take(rows))
        images = to_device(torch.from_numpy(captions.image[rows]), features.device)
        second = model.embed_images(features[images])
    else:
        sides = [captions.take(rows[:, side]) for side in (0, 1)]
        if lessons.lengths_in_pairs == "reversed":
            sides = [with_reversed_lengths(side) for side in sides]
        first, second = (_embed(model, side) for side in sides)
    similarity = similarities(first, second, model.similarity)
    matches = torch.eye(len(rows), dtype=torch.bool)
    return ranking_loss(similarity, matches, lessons.margin, lessons.hinge)


def with_reversed_lengths(sentences: Sentences) -> Sentences:
    """Captions as in the c2c batches of the public code: lengths in reversed order.

    It sorts them by ascending length but passes their lengths in descending order, so that long captions are
    truncated and short ones are read into their padding.
    """
    order = sentences.lengths.argsort(stable=True)
    lengths = torch.empty_like(sentences.lengths)
    lengths[order] = sentences.lengths[order].flip(0)
    return Sentences(sentences.ids, lengths)


def captions_and_sampler(
    corpus: Corpus, paired_corpus: Corpus | None, settings: LessonsSettings
) -> tuple[LanguageCorpus, TaskSampler, int]:
    """The training captions of all languages, the sampler of their rows, the steps between two validations.

    Args:
        paired_corpus: whose captions form the pairs, instead of those of `corpus`; they come after these.
        settings: `c2c`, `lessons`, `seed`.
    """
    lessons, languages = settings.lessons, len(corpus.languages)
    parts = [*corpus.languages.values(), *(paired_corpus.languages.values() if paired_corpus else ())]
    firsts = np.cumsum([0, *(len(part.image) for part in parts)])  # the row of each part's first caption
    rows = [np.arange(*ends) for ends in pairwise(firsts[: languages + 1])]
    pairs = None
    if settings.c2c:
        pairs = caption_pairs(
            [part.image for part in parts[-languages:]], firsts[-languages - 1 : -1].tolist()
        )
        log.info("%s pairs of captions", f"{len(pairs):,}")
    # "In the monolingual setting the stopping criterion is evaluated at the end of each epoch".
    validate_every = lessons.validate_every if languages > 1 else batches_of(len(rows[0]), lessons.batch_size)
    steps = max(1, lessons.max_steps // validate_every) * validate_every
    sampler = TaskSampler(
        rows, pairs, lessons.batch_size, lessons.pair_step_probability, steps, settings.seed
    )
    widest = max(part.ids.shape[1] for part in parts)
    captions = LanguageCorpus(
        torch.cat([F.pad(part.ids, (0, widest - part.ids.shape[1])) for part in parts]),
        torch.cat([part.lengths for part in parts]),
        np.concatenate([part.image for part in parts]),
    )
    return captions, sampler, validate_every


def _embed(model: RetrievalModel, sentences: Sentences) -> Tensor:
    """(B, e) unit vectors of captions of any languages: all are read from one table by one branch."""
    language = model.languages[0]
    return model.embed_sentences({language: sentences}).multimodal


def _validate(model: RetrievalModel, validation: Corpus, settings: LessonsSettings) -> dict[str, float]:
    """The columns of the curves: the sum of the recalls of the languages to stop on, and each mR."""
    with exact_products():
        means = mean_recalls(model, validation)
        by_fives = set(settings.lessons.validated_by_fives) & set(settings.stop_on)
        scores = means | {code: mean_recall_by_fives(model, validation, code) for code in by_fives}
    return {
        "val_sum": RECALLS * sum(scores[language] for language in settings.stop_on),
        **validation_row(means),
    }


def mean_recall_by_fives(model: RetrievalModel, corpus: Corpus, language: str) -> float:
    """mR of a language in percent as in the public code, where five captions in a row belong to one image.

    With five captions per image, they do. With one caption per image, only every fifth image is a query, and
    four of five captions are matched to a wrong image. Up to four captions at the end are dropped. Captions
    are in the order of the images.
    """
    captions = corpus.languages[language]
    groups = len(captions.image) // CAPTIONS
    images = embed_images(model, corpus)
    sentences = embed_sentences(model, language, captions)[: groups * CAPTIONS]
    first_images = torch.from_numpy(captions.image[: groups * CAPTIONS : CAPTIONS]).to(images.device)
    image_of = torch.arange(groups, device=images.device).repeat_interleave(CAPTIONS)
    return recalls(both_ranks(images[first_images], sentences, image_of))["mR"]
