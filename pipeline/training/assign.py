"""Pretraining of the hybrid embedding: which latent entry each word is assigned to (SMALR, Section 3.1)."""

import functools
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch import Tensor
from torch.nn import functional as F

from pipeline.common.errors import InputError
from pipeline.common.files import atomic_write
from pipeline.models.assignment import Assignment, sentence_means
from pipeline.models.hybrid import WordRows, write_assignment
from pipeline.models.losses.neighborhood import neighborhood_loss
from pipeline.models.losses.triplets import PLANS, Comparison, Segment, compare, hinge_loss
from pipeline.training.batches import Batch
from pipeline.training.data import Inputs, PretrainingData, pretraining_data
from pipeline.training.loop import Job, train_steps, training_device
from pipeline.training.objective import batch_segments
from pipeline.training.settings import AssignSettings
from pipeline.words.corpus import Corpus, LanguageCorpus
from pipeline.words.vocabulary import Vocabulary

log = logging.getLogger("pipeline")

COLUMNS = ["word", "language", "entry"]
COLLAPSED = 0.1  # a warning is logged if one entry has a larger share of the words
MIN_REMAINING_GAIN = 0.5  # a warning is logged if less of pretraining's gain remains
HAND_OVER_BATCHES = 10  # batches for the losses before and after the hand-over


def assign(
    settings: AssignSettings,
    sentences: Sequence[Path],
    words: Sequence[Path],
    checkpoint: Path,
    output: Path,
    table: Path,
    code: str,
    translations: Sequence[Path] = (),
) -> None:
    """Learn the entries and the assignment; write both, without unused entries.

    Args:
        settings: JSON: what the assignment depends on besides its files, as `snakemake -np` prints it.
        sentences: tokenised tables with the data set's own captions.
        words: one vocabulary per language.
        checkpoint: file from which a killed run resumes.
        output: the entries and the rows of all words to write, which training begins with.
        table: CSV to write: word, language, entry, of the words that have no vector of their own.
        translations: tokenised tables with translated captions.
    """
    inputs = Inputs(sentences, translations, words)
    job = Job(checkpoint, [output, table], inputs.fingerprint(settings, code))
    if job.restore_outputs():
        return
    device = training_device(settings.seed, settings.training)
    data = pretraining_data(inputs, settings)
    _check_pairs(data, settings)
    corpus, batches, training = data.corpus.to(device), data.batches, settings.training
    features = word_features(data.vocabularies, settings.assignment.features, device)
    width = next(iter(features.values())).shape[1]
    languages = settings.languages if settings.assignment.scoring_layers == "separate" else []
    sizes = width, settings.hybrid.latent_entries, settings.universal_dim
    model = Assignment(*sizes, languages).to(device)
    steps = training.epochs * batches.steps
    # An epoch that training never reaches.
    held_out = [batches.batch(steps + step) for step in range(min(HAND_OVER_BATCHES, batches.steps))]
    losses = partial(hand_over_losses, model, features, corpus, held_out, settings)
    initial = losses(0.0)
    train_steps(
        job,
        model,
        lambda step: assignment_terms(model, features, corpus, batches.batch(step), settings, step / steps),
        seed=settings.seed,
        steps=steps,
        validate_every=batches.steps,
        rate=lambda step: training.learning_rate,
        validate=lambda: {"entries": float(_count_used(model, features))},
    )
    _log_hand_over(initial, losses(1.0))
    _write(model, features, data, settings.hybrid.frequent_words, output, table)
    job.keep_outputs()


def _check_pairs(data: PretrainingData, settings: AssignSettings) -> None:
    """Refuse data of a single language whose sentences have no other of their image to learn from."""
    (captions, *others) = data.batches.captions.values()
    if not others and (captions.per_image < 2 or settings.assignment.pairs != "all"):
        raise InputError(
            f"{settings.dataset} {settings.experiment}: the assignment learns from several sentences of an "
            "image, in different languages or (assignment.pairs: all) in the same, and there are none. Take "
            "more `languages`, `captions` or training.sentences_per_image, or embedding universal."
        )


def _write(
    model: Assignment,
    features: Mapping[str, Tensor],
    data: PretrainingData,
    own_words: int,
    output: Path,
    table: Path,
) -> None:
    entry_of = {
        language: model.best_entry(vectors, language).cpu() + 1 for language, vectors in features.items()
    }
    rows = {
        language: WordRows(own_rows(captions, len(features[language]), own_words), entry_of[language])
        for language, captions in data.corpus.languages.items()
    }
    entries, rows = used_entries(model.entries.weight.detach().cpu(), rows)
    _log_assignment(rows, len(entries))
    write_assignment(entries, rows, output)
    with atomic_write(table) as temporary:
        assignment_table(rows, data.vocabularies).to_csv(temporary, index=False, lineterminator="\n")


def word_features(
    vocabularies: Mapping[str, Vocabulary], normalization: str, device: torch.device
) -> dict[str, Tensor]:
    """Input of the scoring layer for each language's words, (V + 1, 300)."""
    return {
        language: scoring_inputs(torch.from_numpy(vocabulary.vectors), normalization).to(device)
        for language, vocabulary in vocabularies.items()
    }


def scoring_inputs(vectors: Tensor, normalization: str) -> Tensor:
    """Input of the scoring layer, (V + 1, 300), from a language's vectors.

    Args:
        normalization: `unchanged`; `centred`, minus their mean, because what all words of a language have in
            common would make them choose the same few entries; `standardized`, each dimension with mean 0
            and variance 1 over the language's words, so that scores depend on words more than on the bias.
    """
    if normalization == "unchanged":
        return vectors
    inputs = vectors[1:] - vectors[1:].mean(0)
    if normalization == "standardized":
        inputs = inputs / inputs.std(0, correction=0).clamp(min=1e-6)
    return F.pad(inputs, (0, 0, 1, 0))


def assignment_terms(
    model: Assignment,
    features: Mapping[str, Tensor],
    corpus: Corpus,
    batch: Batch,
    settings: AssignSettings,
    progress: float = 0.0,
) -> dict[str, Tensor]:
    """Triplet loss between sentences of the same image, on the means of their words' entries.

    Each language's sentences are anchors for each later language's, and with `pairs: all` for its own. As in
    MULE, the positive is the farthest sentence of the image, and only the most violated constraints count.

    Args:
        progress: fraction of the pretraining before the batch.
    """
    triplets, segments = settings.triplets, batch_segments(batch)
    sentences = {language: corpus.languages[language].take(rows) for language, rows in batch.rows.items()}
    means = F.normalize(sentence_means(model, features, sentences, settings.assignment, progress), dim=-1)
    terms = {"between": neighborhood_loss([means], segments, triplets)} if len(segments) > 1 else {}
    own_pairs = _pairs_within(segments)
    if settings.assignment.pairs == "all" and own_pairs:
        terms["within"] = hinge_loss(means, own_pairs, triplets)
    return terms or {"between": means.sum() * 0}


@functools.lru_cache(PLANS)
def _pairs_within(segments: tuple[Segment, ...]) -> tuple[Comparison, ...]:
    """Each language's sentences with one another, where an image has several."""
    with_several = [segment for segment in segments if segment.per_image > 1]
    return tuple(
        comparison
        for segment in with_several
        for comparison in compare(segment, segment, 1 / len(with_several))
    )


@dataclass(frozen=True)
class HandOver:
    """Alignment losses without exploration: as in pretraining, and with one entry per word."""

    as_pretrained: float
    one_entry: float


@torch.no_grad()
def hand_over_losses(
    model: Assignment,
    features: Mapping[str, Tensor],
    corpus: Corpus,
    batches: Sequence[Batch],
    settings: AssignSettings,
    progress: float,
) -> HandOver:
    """Losses that show what pretraining has learned, and how much of it is left with one entry per word.

    With `gradient: softmax` a word is trained as a mixture of M entries; HEM and LA start from its best
    entry.

    Args:
        progress: fraction of the pretraining that is done.
    """

    def loss(**changes: Any) -> float:
        assignment = settings.assignment.model_copy(update={"exploration": 0.0, **changes})
        changed = settings.model_copy(update={"assignment": assignment})
        terms = [assignment_terms(model, features, corpus, batch, changed, progress) for batch in batches]
        return sum(float(term) for of_batch in terms for term in of_batch.values()) / len(batches)

    return HandOver(loss(), loss(gradient="none"))


def _log_hand_over(initial: HandOver, final: HandOver) -> None:
    log.info(
        "alignment loss %.4f as pretrained, %.4f with one entry per word; before pretraining %.4f and %.4f",
        final.as_pretrained, final.one_entry, initial.as_pretrained, initial.one_entry,
    )  # fmt: skip
    gain = initial.as_pretrained - final.as_pretrained
    remaining = initial.as_pretrained - final.one_entry
    if remaining < MIN_REMAINING_GAIN * gain:
        log.warning(
            "One entry per word keeps %.0f%% of what pretraining gained, in which a word is a mixture of its "
            "best entries. Compare other `assignment` settings: final_temperature, score_scale, epochs, "
            "scoring_layers",
            100 * max(remaining, 0.0) / gain if gain > 0 else 0.0,
        )


def own_rows(captions: LanguageCorpus, words: int, num_rows: int) -> Tensor:
    """Rank (V + 1,), from 1, of each of a language's `num_rows` most frequent words; 0 for all others.

    Ties are broken by the order of the vocabulary. Words in no training caption come last; padding has no
    rank.
    """
    count = torch.bincount(captions.ids.flatten(), minlength=words)[1:]
    order = count.argsort(descending=True, stable=True)[:num_rows] + 1
    rows = torch.zeros(words, dtype=torch.long)
    rows[order] = torch.arange(1, len(order) + 1)
    return rows


def used_entries(entries: Tensor, rows: Mapping[str, WordRows]) -> tuple[Tensor, dict[str, WordRows]]:
    """The entries in use, renumbered from 1, and each word's entry; 0 for own words and padding.

    Args:
        entries: (E, d). rows: `entry` of all words, 1 to E.
    """
    entry_of = {
        language: torch.where(word_rows.own > 0, 0, word_rows.entry) for language, word_rows in rows.items()
    }
    for entry in entry_of.values():
        entry[0] = 0
    in_use = torch.cat(list(entry_of.values())).unique()
    in_use = in_use[in_use > 0]
    number = torch.zeros(len(entries) + 1, dtype=torch.long)
    number[in_use] = torch.arange(1, len(in_use) + 1)
    return entries[in_use - 1], {
        language: WordRows(word_rows.own, number[entry_of[language]]) for language, word_rows in rows.items()
    }


def assignment_table(rows: Mapping[str, WordRows], vocabularies: Mapping[str, Vocabulary]) -> pd.DataFrame:
    """Words by entry, then language: columns word, language, entry."""
    lines = [
        (vocabularies[language].words[word], language, int(word_rows.entry[word]))
        for language, word_rows in rows.items()
        for word in word_rows.entry.nonzero()[:, 0].tolist()
    ]
    return pd.DataFrame(lines, columns=COLUMNS).sort_values("entry", kind="stable")


def _count_used(model: Assignment, features: Mapping[str, Tensor]) -> int:
    """Number of entries in use."""
    entries = [model.best_entry(vectors[1:], language) for language, vectors in features.items()]
    return len(torch.cat(entries).unique())


def _log_assignment(rows: Mapping[str, WordRows], entries: int) -> None:
    latent = sum(int((word_rows.entry > 0).sum()) for word_rows in rows.values())
    frequent = sum(int((word_rows.own > 0).sum()) for word_rows in rows.values())
    log.info("%d words have vectors of their own, %d share %d entries", frequent, latent, entries)
    words_of_entry = torch.cat([word_rows.entry for word_rows in rows.values()]).bincount()[1:]
    if latent and words_of_entry.max() > COLLAPSED * latent:
        log.warning(
            "%d of %d words share a single entry: the assignment has collapsed. "
            "Compare other `assignment` settings: features, gradient, learning_rate",
            words_of_entry.max(), latent,
        )  # fmt: skip
