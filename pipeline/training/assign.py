"""Pretraining of the hybrid embedding: which latent entry each word is assigned to (SMALR, Section 3.1)."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch import Tensor
from torch.nn import functional as F

from pipeline.common.files import atomic_write
from pipeline.models.assignment import Assignment, Exploration, sentence_means
from pipeline.models.hybrid import Places, write_places
from pipeline.models.losses.neighborhood import neighborhood_loss
from pipeline.models.losses.triplets import Anchored, Triplets, alignment_loss
from pipeline.training.batches import Batch
from pipeline.training.checkpoint import found_finished, keep_finished
from pipeline.training.loop import Run
from pipeline.training.train import Inputs, adam, prepare, pretraining_data, vectors_of
from pipeline.words.corpus import Corpus, LanguageCorpus
from pipeline.words.vocabulary import Vocabulary

log = logging.getLogger("pipeline")

COLUMNS = ["word", "language", "entry"]
COLLAPSED = 0.1  # share of the words on one entry that is warned of


def assign(
    inputs: Inputs, settings: Mapping[str, Any], code: str, checkpoint: Path, output: Path, table: Path
) -> None:
    """Learn the entries and the assignment; write both, without unused entries.

    Args:
        settings: `hybrid`: own_words, entries; `assignment`: exploration, best, features, gradient, pairs;
            universal, the size of an entry; triplets, training.
        output: the entries and the places of all words, which training begins with.
        table: CSV with columns word, language, entry, of the words that have no vector of their own.
    """
    fingerprint = inputs.fingerprint(settings, code)
    if found_finished(checkpoint, fingerprint, [output, table]):
        return
    device = prepare(settings)
    vocabularies, corpus, sampler = pretraining_data(inputs, settings)
    corpus = corpus.to(device)
    how = settings["assignment"]["features"]
    features = {key: read_from(part, how).to(device) for key, part in vectors_of(vocabularies).items()}
    width = next(iter(features.values())).shape[1]
    model = Assignment(width, settings["hybrid"]["latent_entries"], settings["universal_dim"]).to(device)
    run = Run(
        model=model,
        optimizer=adam(model.parameters(), settings["training"]["learning_rate"]),
        sampler=sampler,
        epochs=settings["training"]["epochs"],
        decay=1.0,
        terms=lambda drawn, done: assignment_terms(model, features, corpus, drawn, settings),
        after_epoch=lambda epoch: {"entries": float(_used(model, features))},
        checkpoint=checkpoint,
        fingerprint=fingerprint,
    )
    run.finish()
    own_words = settings["hybrid"]["frequent_words"]
    places = {
        language: Places(
            own_places(part, len(features[language]), own_words), model.chosen(features[language]).cpu() + 1
        )
        for language, part in corpus.languages.items()
    }
    entries, places = without_empty(model.entries.weight.detach().cpu(), places)
    _log_filled(places, len(entries))
    with atomic_write(output) as temporary, open(temporary, "wb") as file:
        torch.save(write_places(entries, places), file)
    with atomic_write(table) as temporary:
        assigned(places, vocabularies).to_csv(temporary, index=False, lineterminator="\n")
    keep_finished(checkpoint, fingerprint, [output, table])


def read_from(vectors: Tensor, how: str) -> Tensor:
    """Input of the scoring layer, (V + 1, 300), from a language's vectors.

    Args:
        how: `given`, unchanged; `centred`, minus their mean, because what all words of a language have in
            common would make them choose the same few entries; `standardized`, each dimension with mean 0
            and variance 1 over the language's words, so that scores depend on words more than on the bias.
    """
    if how == "unchanged":
        return vectors
    read = vectors[1:] - vectors[1:].mean(0)
    if how == "standardized":
        read = read / read.std(0, correction=0).clamp(min=1e-6)
    return F.pad(read, (0, 0, 1, 0))


def assignment_terms(
    model: Assignment,
    features: Mapping[str, Tensor],
    corpus: Corpus,
    drawn: Batch,
    settings: Mapping[str, Any],
) -> dict[str, Tensor]:
    """Triplet loss between sentences of the same image, on the means of their words' entries.

    Each language's sentences are anchors for each later language's, and with `pairs: all` for its own. As in
    MULE, the positive is the farthest sentence of the image, and only the most violated constraints count.
    """
    how, triplets = settings["assignment"], Triplets(**settings["triplets"])
    sentences = {language: corpus.languages[language].take(rows) for language, rows in drawn.rows.items()}
    exploration = Exploration(how["exploration"], how["top_m"], how["gradient"])
    means = sentence_means(model, features, sentences, exploration)
    anchored = [
        Anchored(F.normalize(mean, dim=-1), torch.from_numpy(drawn.slots[key]), drawn.each[key])
        for key, mean in means.items()
    ]
    terms = {"between": neighborhood_loss(anchored, triplets)} if len(anchored) > 1 else {}
    within = [alignment_loss(part, part, triplets) for part in anchored if part.each > 1]
    if how["pairs"] == "all" and within:
        terms["within"] = torch.stack(within).mean()
    return terms


def own_places(part: LanguageCorpus, words: int, most: int) -> Tensor:
    """Rank (V + 1,), from 1, of each of a language's `most` most frequent words; 0 for all others.

    Ties are broken by the order of the vocabulary. Words in no training caption come last; padding has no
    rank.
    """
    count = torch.bincount(part.ids.flatten().cpu(), minlength=words)[1:]
    order = count.argsort(descending=True, stable=True)[:most] + 1
    places = torch.zeros(words, dtype=torch.long)
    places[order] = torch.arange(1, len(order) + 1)
    return places


def without_empty(entries: Tensor, places: Mapping[str, Places]) -> tuple[Tensor, dict[str, Places]]:
    """The entries in use, renumbered from 1, and each word's entry; 0 for own words and padding.

    Args:
        entries: (E, d). places: `entry` of all words, 1 to E.
    """
    taken = {language: torch.where(part.own > 0, 0, part.entry) for language, part in places.items()}
    for entry in taken.values():
        entry[0] = 0
    used = torch.cat(list(taken.values())).unique()
    used = used[used > 0]
    number = torch.zeros(len(entries) + 1, dtype=torch.long)
    number[used] = torch.arange(1, len(used) + 1)
    return entries[used - 1], {
        language: Places(part.own, number[taken[language]]) for language, part in places.items()
    }


def assigned(places: Mapping[str, Places], vocabularies: Mapping[str, Vocabulary]) -> pd.DataFrame:
    """Words by entry, then language: columns word, language, entry."""
    rows = [
        (vocabularies[language].words[row], language, int(part.entry[row]))
        for language, part in places.items()
        for row in part.entry.nonzero()[:, 0].tolist()
    ]
    return pd.DataFrame(rows, columns=COLUMNS).sort_values("entry", kind="stable")


def _used(model: Assignment, features: Mapping[str, Tensor]) -> int:
    """Number of entries in use."""
    return len(torch.cat([model.chosen(part[1:]) for part in features.values()]).unique())


def _log_filled(places: Mapping[str, Places], entries: int) -> None:
    latent = sum(int((part.entry > 0).sum()) for part in places.values())
    own = sum(int((part.own > 0).sum()) for part in places.values())
    log.info("%d words have vectors of their own, %d share %d entries", own, latent, entries)
    filled = torch.cat([part.entry for part in places.values()]).bincount()[1:]
    if latent and filled.max() > COLLAPSED * latent:
        log.warning(
            "%d of %d words share a single entry: the assignment has collapsed. "
            "Compare other `assignment` settings: features, gradient, learning_rate",
            filled.max(), latent,
        )  # fmt: skip
