"""Pretraining of the hybrid embedding: which latent entry each word is assigned to (SMALR, Section 3.1)."""

import functools
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
import torch
from torch import Tensor
from torch.nn import functional as F

from pipeline.common.errors import InputError
from pipeline.common.files import atomic_write
from pipeline.common.torch_files import write_torch
from pipeline.models.assignment import Assignment, sentence_means
from pipeline.models.hybrid import WordRows, assignment
from pipeline.models.losses.neighborhood import neighborhood_loss
from pipeline.models.losses.triplets import PLANS, Comparison, Segment, compare, hinge_loss
from pipeline.training.batches import Batch, Sampler
from pipeline.training.data import Inputs, training_data
from pipeline.training.loop import Job, train_steps, training_device
from pipeline.training.objective import batch_segments
from pipeline.training.settings import AssignSettings
from pipeline.words.corpus import Corpus, LanguageCorpus
from pipeline.words.vocabulary import Vocabulary

log = logging.getLogger("pipeline")

COLUMNS = ["word", "language", "entry"]


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
    """Assign words to entries of the latent vocabulary (HEM, LA); unused entries are left out.

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
    data = training_data(inputs, settings)
    check_pairs(data.batches, settings)
    corpus, batches, training = data.corpus.to(device), data.batches, settings.training
    features = {
        language: scoring_inputs(torch.from_numpy(vocabulary.vectors)).to(device)
        for language, vocabulary in data.vocabularies.items()
    }
    width = next(iter(features.values())).shape[1]
    model = Assignment(width, settings.hybrid.latent_entries, settings.universal_dim).to(device)
    train_steps(
        job,
        model,
        lambda step: assignment_terms(model, features, corpus, batches.batch(step), settings),
        seed=settings.seed,
        steps=training.epochs * batches.steps,
        validate_every=batches.steps,
        rate=lambda step: training.learning_rate,
        validate=lambda: {"entries": float(_count_used(model, features))},
    )
    entry_of = {language: model.best_entry(vectors).cpu() + 1 for language, vectors in features.items()}
    own_words = settings.hybrid.frequent_words
    rows = {
        language: WordRows(own_rows(captions, len(features[language]), own_words), entry_of[language])
        for language, captions in data.corpus.languages.items()
    }
    entries, rows = used_entries(model.entries.weight.detach().cpu(), rows)
    by_entry = assignment_table(rows, data.vocabularies)
    log.info("%d words share %d entries", len(by_entry), len(entries))
    write_torch(assignment(entries, rows), output)
    with atomic_write(table) as temporary:
        by_entry.to_csv(temporary, index=False, lineterminator="\n")
    job.keep_outputs()


def check_pairs(batches: Sampler, settings: AssignSettings) -> None:
    """Refuse data of one language without two sentences of an image: there would be nothing to learn."""
    (captions, *others) = batches.captions.values()
    if not others and (captions.per_image < 2 or settings.assignment.pairs != "all"):
        raise InputError(
            f"{settings.dataset} {settings.experiment}: the assignment learns from several sentences of an "
            "image, in different languages or (assignment.pairs: all) in the same, and there are none. Take "
            "more `languages`, `captions` or training.sentences_per_image, or embedding universal."
        )


def scoring_inputs(vectors: Tensor) -> Tensor:
    """Input of the scoring layer, (V + 1, 300), from a language's vectors.

    Each dimension has mean 0 and variance 1 over the language's words. What all words of a language have in
    common would make them choose the same few entries.
    """
    inputs = vectors[1:] - vectors[1:].mean(0)
    return F.pad(inputs / inputs.std(0, correction=0).clamp(min=1e-6), (0, 0, 1, 0))


def assignment_terms(
    model: Assignment,
    features: Mapping[str, Tensor],
    corpus: Corpus,
    batch: Batch,
    settings: AssignSettings,
) -> dict[str, Tensor]:
    """Triplet loss between sentences of the same image, on the means of their words' entries.

    Each language's sentences are anchors for each later language's, and with `pairs: all` for its own. As in
    MULE, the positive is the farthest sentence of the image, and only the most violated constraints count.
    """
    triplets, segments = settings.triplets, batch_segments(batch)
    sentences = {language: corpus.languages[language].take(rows) for language, rows in batch.rows.items()}
    means = F.normalize(sentence_means(model, features, sentences, settings.assignment), dim=-1)
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
    return len(torch.cat([model.best_entry(vectors[1:]) for vectors in features.values()]).unique())
