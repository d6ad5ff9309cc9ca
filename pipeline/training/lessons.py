"""Training as in *Lessons learned in multilingual grounded language learning*, Section 3 and Figure 2.

One encoder reads the captions of all languages from one word table; each step is one task, and training stops
early. docs/lessons.md lists what the public code does differently, each with its setting.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from pipeline.common.devices import to_device
from pipeline.common.errors import InputError, raise_together
from pipeline.evaluation.evaluate import mean_recalls
from pipeline.evaluation.inputs import add_features, evaluation_corpus, original_sentences, read_vocabularies
from pipeline.images.store import store_attributes
from pipeline.models.losses.ranking import ranking_loss
from pipeline.models.model import RetrievalModel, count_parameters, new_model
from pipeline.models.similarity import similarities
from pipeline.models.universal import UniversalEmbedding
from pipeline.training.adam import Adam
from pipeline.training.best_epoch import BestModel, row
from pipeline.training.data import Inputs, training_origins
from pipeline.training.driver import Job, RunAndWriter, run_job
from pipeline.training.loop import Run, Validation
from pipeline.training.monitor import Monitor
from pipeline.training.precision import embedding_precision, exact_products
from pipeline.training.settings import LessonsSettings
from pipeline.training.tasks import Rows, TaskSampler, caption_pairs
from pipeline.training.validation_as_public_code import mean_recall_by_fives
from pipeline.words.corpus import Corpus, LanguageCorpus, Sentences, corpus_of
from pipeline.words.vocabulary import Vocabulary

log = logging.getLogger("pipeline")

RECALLS = 6  # the stopping criterion is their sum; mR is their mean


@dataclass
class LessonsData:
    """What is read for a training.

    captions: of all languages, one after another, with the row of each one's image. features: (n, D) of the
    images. best: what is written with the best model.
    """

    captions: LanguageCorpus
    features: Tensor
    batches: TaskSampler
    best: BestModel

    def to(self, device: torch.device) -> "LessonsData":
        """The same data on another device."""
        best = replace(self.best, validation=self.best.validation.to(device))
        return LessonsData(self.captions.to(device), self.features.to(device), self.batches, best)


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
    """Train one experiment, keep the validation with the highest sum of recalls, write model and curves.

    Args:
        settings: JSON: what the training depends on besides its files, as `snakemake -np` prints it.
        features: image features.
        sentences: captions of each language, which `select-captions` wrote.
        words: vocabularies that `select-captions` wrote.
        checkpoint: file from which a killed run resumes.
        curves: CSV to write, one row per validation. During training, the rows so far are in a file next to
            it.
        output: model to write.
        pairs: captions that pairs are formed of, if not the captions of `--sentences`.

    Raises:
        InputError: the inputs do not fit one another, or there is nothing to train on.
    """
    inputs = Inputs(sentences, [], words, features)
    all_inputs = Inputs([*inputs.sentences, *pairs], [], inputs.words, inputs.features)

    def start(device: torch.device) -> RunAndWriter[Rows]:
        data = lessons_data(inputs, pairs, settings).to(device)
        model = union_model(data.best.vocabularies, data.features.shape[1], settings).to(device)
        log.info("%s images, %s parameters", f"{len(data.features):,}", f"{count_parameters(model):,}")
        run = lessons_run(model, data, settings, Monitor(curves))
        return run, lambda: _write(run, data.best, settings, curves, output)

    job = Job(checkpoint, [curves, output], all_inputs.fingerprint(settings, code))
    run_job(job, settings.seed, settings.training, start, settings.training.precision)


def lessons_data(inputs: Inputs, pairs: Sequence[Path], settings: LessonsSettings) -> LessonsData:
    """Read what a training needs."""
    assert inputs.features is not None
    vocabularies = read_vocabularies(inputs.words, settings.languages)
    _check_union(vocabularies)
    originals = original_sentences(inputs.sentences, settings.languages, settings.caption_origins)
    corpus = corpus_of(originals, vocabularies, settings.max_caption_length, "train")
    validation = evaluation_corpus(originals, vocabularies, settings, "val")
    for split in (corpus, validation):
        add_features(split, inputs.features, settings.features)
    captions, batches = captions_and_sampler(corpus, _pair_corpus(pairs, vocabularies, settings), settings)
    origins = training_origins(originals, corpus)
    best = BestModel(
        settings,
        vocabularies,
        store_attributes(inputs.features),
        validation,
        origins,
        {},
        [len(corpus.images)],
    )
    return LessonsData(captions, corpus.features, batches, best)


def lessons_run(
    model: RetrievalModel, data: LessonsData, settings: LessonsSettings, monitor: Monitor
) -> Run[Rows]:
    """The run of an experiment; its epochs are the steps between two validations, and it stops early."""
    lessons, steps = settings.lessons, data.batches.steps
    division_steps = _steps_before_division(settings, steps)
    return Run(
        model=model,
        optimizer=Adam(model.parameters(), lessons.learning_rate, lessons.max_grad_norm),
        batches=data.batches,
        epochs=max(1, lessons.max_steps // steps),
        terms=lambda rows, moment: {
            "ranking": step_loss(model, data.captions, data.features, rows, settings)
        },
        schedule=lambda rate, step: (
            rate / 10 if division_steps and step and step % division_steps == 0 else rate
        ),
        validate=lambda epoch: _validate(model, data.best.validation, settings),
        patience=lessons.patience,
        monitor=monitor,
    )


def _write(run: Run[Rows], best: BestModel, settings: LessonsSettings, curves: Path, output: Path) -> None:
    passes = settings.lessons.divide_learning_rate_every
    if passes and len(run.curves) <= passes:
        log.warning("ended after %s passes: the learning rate was never divided", len(run.curves))
    if not run.stopped_early:
        log.warning("stopped by lessons.max_steps before validation stopped improving")
    best.write(run, curves, output)


def _steps_before_division(settings: LessonsSettings, steps: int) -> int | None:
    """Steps after which the learning rate is divided; validations are passes in models of one language."""
    passes: int | None = settings.lessons.divide_learning_rate_every
    if passes and len(settings.languages) > 1:
        raise InputError(
            "lessons.divide_learning_rate_every counts passes, after which only models of one language "
            f"are validated; found {passes} with {', '.join(settings.languages)}; set it to null"
        )
    return passes and passes * steps


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


def step_loss(
    model: RetrievalModel, captions: LanguageCorpus, features: Tensor, rows: Rows, settings: LessonsSettings
) -> Tensor:
    """The ranking loss of a step (*Lessons*, Section 3): its task follows from the type of `rows`.

    Only equal places in the batch match: another caption of the same image is a negative, and so is another
    copy of the image.

    Args:
        captions: of all languages, one after another, with the row of each one's image.
        features: (n, D) of the images. rows: (B,) captions, or (B, 2) pairs of them.
        settings: `lessons`: margin, hinge, lengths_in_pairs; `training`: precision.
    """
    lessons = settings.lessons
    with embedding_precision(settings.training.precision, features.device):
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
) -> tuple[LanguageCorpus, TaskSampler]:
    """The concatenated training captions of all languages, and the sampler of their rows.

    Args:
        paired: corpus whose captions form the pairs, instead of `corpus`. settings: `c2c`, `lessons`, `seed`.
    """
    by_language = list(corpus.languages.values())
    firsts = _firsts(by_language)
    rows = [
        first + np.arange(len(one_language.image))
        for first, one_language in zip(firsts, by_language, strict=True)
    ]
    captions, pairs = by_language, None
    if settings.c2c:
        of_pairs = by_language if paired_corpus is None else list(paired_corpus.languages.values())
        first_rows = (
            firsts
            if paired_corpus is None
            else [first + sum(map(_size, by_language)) for first in _firsts(of_pairs)]
        )
        pairs = caption_pairs([one_language.image for one_language in of_pairs], first_rows)
        captions = by_language if paired_corpus is None else [*by_language, *of_pairs]
        log.info("%s pairs of captions", f"{len(pairs):,}")
    lessons = settings.lessons
    # "In the monolingual setting the stopping criterion is evaluated at the end of each epoch".
    steps = lessons.validate_every if len(by_language) > 1 else None
    sampler = TaskSampler(
        rows, pairs, lessons.batch_size, lessons.pair_step_probability, steps, settings.seed
    )
    return _one_after_another(captions), sampler


def _size(captions: LanguageCorpus) -> int:
    return len(captions.image)


def _firsts(by_language: Sequence[LanguageCorpus]) -> list[int]:
    """The row of each part's first caption when the parts are concatenated."""
    return [sum(map(_size, by_language[:place])) for place in range(len(by_language))]


def _one_after_another(by_language: Sequence[LanguageCorpus]) -> LanguageCorpus:
    widest = max(captions.ids.shape[1] for captions in by_language)
    ids = [F.pad(captions.ids, (0, widest - captions.ids.shape[1])) for captions in by_language]
    image = np.concatenate([captions.image for captions in by_language])
    return LanguageCorpus(torch.cat(ids), torch.cat([captions.lengths for captions in by_language]), image)


def _embed(model: RetrievalModel, sentences: Sentences) -> Tensor:
    """(B, e) unit vectors of captions of any languages: all are read from one table by one branch."""
    language = model.languages[0]
    return model.embed_sentences({language: sentences}).multimodal


def _pair_corpus(
    paths: Sequence[Path], vocabularies: Mapping[str, Vocabulary], settings: LessonsSettings
) -> Corpus | None:
    if not paths:
        return None
    originals = original_sentences(paths, settings.languages, settings.caption_origins)
    return corpus_of(originals, vocabularies, settings.max_caption_length, "train")


def _check_union(vocabularies: Mapping[str, Vocabulary]) -> None:
    (first, words), *others = ((language, vocabulary.words) for language, vocabulary in vocabularies.items())
    raise_together(
        [
            f"{language}: has other words than {first}"
            for language, other_words in others
            if other_words != words
        ],
        "The languages of an experiment have one word table; run `python -m pipeline select-captions` again:",
    )


def _validate(model: RetrievalModel, validation: Corpus, settings: LessonsSettings) -> Validation:
    """The sum of the recalls of the languages that the training stops on."""
    with exact_products():
        recalls = mean_recalls(model, validation)
        by_fives = set(settings.lessons.validated_by_fives) & set(settings.stop_on)
        scores = recalls | {code: mean_recall_by_fives(model, validation, code) for code in by_fives}
    score = RECALLS * sum(scores[language] for language in settings.stop_on)
    mean = sum(recalls.values()) / len(recalls)
    return Validation({"val_sum": score, **row(mean, recalls)}, score, recalls)
