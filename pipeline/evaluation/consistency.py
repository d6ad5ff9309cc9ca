"""Evaluate with queries and their translations: cross-lingual consistency, CLC (SMALR, Section 3.4).

A sentence's score for an image combines L scores: its own and those of its translations into the model's
other languages. They are averaged (`average`, CLC-A), or combined by a small network that is trained on the
validation split (`learned`, CLC-C). A missing translation counts as the mean of the existing ones.

The network has two linear layers without an activation between them, so it weights the languages. A score is
a dot product, so the weighted sum of the scores of L vectors is the score of their weighted sum.

Sizes in comments: B sentences, n images, L languages, e size of an embedding.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from pipeline.common.errors import InputError, raise_together
from pipeline.datasets.table import read_sentences
from pipeline.evaluation.embed import embed_images, embed_sentences, model_and_vocabularies
from pipeline.evaluation.evaluate import preparation_of, recalls_and_counts, write_evaluation
from pipeline.evaluation.inputs import add_features, evaluation_corpus, in_translation, original_sentences
from pipeline.evaluation.ranks import both_ranks, gallery
from pipeline.evaluation.settings import ConsistencySettings
from pipeline.models.consistency import Combiner, ScoredQueries, fit
from pipeline.models.model import ModelRecord, RetrievalModel
from pipeline.models.settings import Consistency
from pipeline.words.corpus import encode
from pipeline.words.vocabulary import Vocabulary

Tables = dict[tuple[str, str], pd.DataFrame]  # by source and target language


def evaluate_consistency(
    model: Path,
    features: Path,
    words: Sequence[Path],
    sentences: Sequence[Path],
    settings: ConsistencySettings,
    output: Path,
    ranks: Path,
    translated_queries: Sequence[Path] = (),
) -> None:
    """Write the recalls of queries combined with their translations (CLC), as `evaluate` does.

    They are of each language with human captions.

    Args:
        model: the trained model.
        features: image features.
        words: one vocabulary per language of the model.
        sentences: sentence tables with the data set's own captions of the model's languages.
        settings: JSON: as for `evaluate`, with the kind of combination, `average` or `learned`, and for
            `learned` the settings of its network.
        output: JSON to write, as by `evaluate`. Its `consistency` has the network's losses and weights.
        ranks: CSV to write, gzipped: rank of every query.
        translated_queries: tables `SOURCE-TARGET.csv` from each language with human captions into every
            other language of the model.
    """
    torch.set_num_threads(settings.threads)
    network, record, vocabularies = model_and_vocabularies(model, words)
    if network.similarity != "cosine":
        raise InputError(f"{model}: scores by {network.similarity!r}; consistency needs cosines")
    originals = original_sentences(sentences, record.settings.languages, record.settings.caption_origins)
    tables = read_translations(translated_queries)
    _check_pairs(tables, record)

    def queries(split: str) -> "QueriesWithTranslations":
        return QueriesWithTranslations(network, record, originals, tables, vocabularies, features, split)

    details: dict[str, Any] = {"kind": settings.kind}
    weights = None
    if settings.network:
        combiner, details["losses"] = _learn(queries("val"), record, settings.network)
        weights = combiner.weights().detach()
        details["weights"] = [weight.tolist() for weight in combiner.parameters()]
    test = queries("test")
    results = {language: test.evaluate_language(language, weights) for language in test.languages}
    counts = {f"{source}-{target}": test.origins(source, target) for source, target in tables}
    consistency = {"kind": settings.kind, **(settings.network.as_values() if settings.network else {})}
    origin = {**preparation_of(settings), "consistency": consistency}
    made_from = record, origin, settings.kind
    write_evaluation(*made_from, results, counts, output, ranks, consistency=details)


class QueriesWithTranslations:
    """A split, and its queries' embeddings with those of their translations."""

    def __init__(
        self,
        model: RetrievalModel,
        record: ModelRecord,
        originals: Mapping[str, pd.DataFrame],
        tables: Tables,
        vocabularies: Mapping[str, Vocabulary],
        features: Path,
        split: str,
    ):
        self.model, self.tables, self.vocabularies = model, tables, vocabularies
        self.originals = {language: table[table["split"] == split] for language, table in originals.items()}
        self.longest = record.settings.max_caption_length
        self.corpus = evaluation_corpus(originals, vocabularies, record.settings, split)
        add_features(self.corpus, features, record.settings.features)
        self.images = embed_images(model, self.corpus)
        self.languages = with_human_captions(record)

    def gallery(self, language: str) -> tuple[Tensor, Tensor]:
        """Embeddings (n, e) of a language's candidates, and the place (B,) of each sentence's among them."""
        rows, image_of = gallery(self.corpus.languages[language].image)
        return self.images[torch.from_numpy(rows)], torch.from_numpy(image_of)

    def query_vectors(self, language: str) -> Tensor:
        """(B, L, e) embeddings of a language's queries in each language of the model."""
        own = self.originals[language]
        own = own[own["image"].isin(self.corpus.images)]
        vectors, is_known = [], []
        for target in self.model.languages:
            table = own if target == language else in_translation(own, self.tables[language, target])
            captions = encode(table, self.vocabularies[target], self.corpus.images, self.longest)
            vectors.append(embed_sentences(self.model, target, captions))
            # A query without any known word cannot be replaced by a mean; its embedding is used as it is.
            is_known.append((captions.ids[:, 0] != 0) | (target == language))
        return fill_missing(torch.stack(vectors, 1), torch.stack(is_known, 1))

    def evaluate_language(
        self, language: str, weights: Tensor | None
    ) -> tuple[dict[str, object], pd.DataFrame]:
        """Recalls and counts, ranks of each query.

        Args:
            weights: (L,) of the languages; None: all are equal.
        """
        candidates, image_of = self.gallery(language)
        vectors = self.query_vectors(language)
        queries = vectors.mean(1) if weights is None else torch.einsum("ble,l->be", vectors, weights)
        return recalls_and_counts(self.corpus, language, both_ranks(candidates, queries, image_of))

    def query_scores(self, language: str) -> ScoredQueries:
        """All scores of a language's queries."""
        candidates, image_of = self.gallery(language)
        scores = [queries @ candidates.T for queries in self.query_vectors(language).unbind(1)]
        return ScoredQueries(torch.stack(scores, 2), image_of)

    def origins(self, source: str, target: str) -> dict[str, int]:
        """Number of translations by provider, for the images of the gallery."""
        table = self.tables[source, target]
        rows = table[table["image"].isin(self.corpus.images)]
        return {str(origin): int(count) for origin, count in rows["origin"].value_counts().items()}


def with_human_captions(record: ModelRecord) -> list[str]:
    """The model's languages with human captions."""
    origins = record.settings.caption_origins
    return [key for key in record.settings.languages if origins.get(key, "human") == "human"]


def _learn(
    queries: QueriesWithTranslations, record: ModelRecord, settings: Consistency
) -> tuple[Combiner, list[float]]:
    """The network, trained, and its losses."""
    triplets, matching = record.settings.triplets, record.settings.matching
    if not (triplets and matching):
        raise InputError(
            "The network is trained with the loss `matching`, with which this model was not trained."
        )
    combiner = Combiner(len(queries.model.languages), settings.hidden, settings.initial_weight)
    scores = [queries.query_scores(language) for language in queries.languages]
    return combiner, fit(combiner, scores, settings, triplets, matching)


def fill_missing(vectors: Tensor, is_known: Tensor) -> Tensor:
    """Embeddings (B, L, e), where missing embeddings (B, L) are replaced by the mean of the others.

    The score of a mean is the mean of the scores.
    """
    weights = is_known[:, :, None].to(vectors.dtype)
    mean = (vectors * weights).sum(1, keepdim=True) / weights.sum(1, keepdim=True)
    return torch.where(is_known[:, :, None], vectors, mean)


def read_translations(paths: Sequence[Path]) -> Tables:
    """Tables of translations by the pair in their name, `SOURCE-TARGET.csv`."""
    return {(path.stem[:2], path.stem[3:]): read_sentences(path) for path in paths}


def _check_pairs(tables: Tables, record: ModelRecord) -> None:
    raise_together(
        [
            f"no table of translations {source}-{target}"
            for source in with_human_captions(record)
            for target in record.settings.languages
            if target != source and (source, target) not in tables
        ],
        "Consistency needs the queries in every language of the model:",
    )
