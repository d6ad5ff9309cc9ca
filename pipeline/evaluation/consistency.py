"""Evaluate with queries and their translations: cross-lingual consistency, CLC (SMALR, Section 3.4).

A sentence's score for an image combines L scores: its own and those of its translations into the model's
other languages. They are averaged (`average`, CLC-A), or combined by a small network that is trained on the
validation split (`learned`, CLC-C). A missing translation counts as the mean of the existing ones.

Sizes in comments: B sentences, n images, L languages, e size of an embedding.
"""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from pipeline.common.errors import InputError, raise_together
from pipeline.common.files import require_file
from pipeline.common.json_text import json_value
from pipeline.datasets.table import read_sentences
from pipeline.evaluation.checks import model_and_vocabularies
from pipeline.evaluation.embed import embed_images, embed_sentences
from pipeline.evaluation.evaluate import (
    check_choice_of_epoch,
    preparation_of,
    recalls_and_counts,
    write_evaluation,
)
from pipeline.evaluation.gallery import Gallery, gallery_of
from pipeline.evaluation.inputs import add_features, evaluation_corpus, original_sentences
from pipeline.evaluation.ranks import Similarity, both_ranks, dot_products
from pipeline.evaluation.settings import ConsistencySettings
from pipeline.models.consistency import Combiner, ScoredQueries, fit
from pipeline.models.model import ModelRecord, RetrievalModel
from pipeline.models.settings import Consistency
from pipeline.words.corpus import Corpus, encode
from pipeline.words.vocabulary import Vocabulary

log = logging.getLogger("pipeline")

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
    """Write recalls on the test split of each language with human captions, as `evaluate` does.

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
            other language of the model, each next to its report, `SOURCE-TARGET.json`. If dictionaries
            translated via English, a table refers to the sentences of the table into English.
    """
    torch.set_num_threads(settings.threads)
    retrieval_model, model_record, vocabularies = model_and_vocabularies(model, words)
    if retrieval_model.similarity != "cosine":
        raise InputError(f"{model}: scores by {retrieval_model.similarity!r}; consistency needs cosines")
    originals = original_sentences(
        sentences, model_record.settings.languages, model_record.settings.caption_origins
    )
    check_choice_of_epoch(retrieval_model, model_record, originals, vocabularies, features)
    tables = read_translations(translated_queries)
    _check_pairs(tables, model_record)

    def queries(split: str) -> "QueriesWithTranslations":
        return QueriesWithTranslations(
            retrieval_model, model_record, originals, tables, vocabularies, features, split
        )

    record: dict[str, Any] = {"kind": settings.kind}
    combiner = None
    if network := settings.network:
        shape = network.hidden, network.initial_weight, network.activation
        combiner = Combiner(len(retrieval_model.languages), *shape)
        record["losses"] = _learn(combiner, queries("val"), model_record, network)
        record["weights"] = [weight.tolist() for weight in combiner.parameters()]
    test = queries("test")
    results = {language: test.evaluate_language(language, combiner) for language in test.languages}
    counts = {f"{source}-{target}": test.origins(source, target) for source, target in tables}
    consistency = {"kind": settings.kind, **(settings.network.as_values() if settings.network else {})}
    origin = {**preparation_of(settings), "consistency": consistency}
    made_from = retrieval_model, model_record, origin, settings.kind
    write_evaluation(*made_from, results, counts, output, ranks, consistency=record)


class QueriesWithTranslations:
    """A split, and its queries' embeddings with those of their translations."""

    def __init__(
        self,
        model: RetrievalModel,
        model_record: ModelRecord,
        originals: Mapping[str, pd.DataFrame],
        tables: Tables,
        vocabularies: Mapping[str, Vocabulary],
        features: Path,
        split: str,
    ):
        self.model, self.vocabularies, self.split = model, vocabularies, split
        self.originals = {language: of_split(table, split) for language, table in originals.items()}
        self.tables = {pair: of_split(table, split) for pair, table in tables.items()}
        self.longest = model_record.settings.max_caption_length
        self.corpus: Corpus = evaluation_corpus(originals, vocabularies, model_record.settings, split)
        self.every_image = list(self.corpus.images)
        add_features(self.corpus, features, model_record.settings.features)
        self.images = embed_images(model, self.corpus)
        self.languages = with_human_captions(model_record)

    def gallery(self, language: str) -> tuple[Gallery, Tensor]:
        """A language's candidates, and their embeddings (n, e)."""
        gallery = gallery_of(self.corpus.languages[language].image)
        return gallery, self.images[torch.from_numpy(gallery.rows)]

    def query_vectors(self, language: str) -> Tensor:
        """(B, L, e) embeddings of a language's queries in each language of the model."""
        keep = np.isin(self.every_image, self.corpus.images)
        vectors, is_known = [], []
        for target in self.model.languages:
            table = self.originals[language]
            if target != language:
                table = table.assign(tokens=translated_tokens(table, self._steps(language, target)))
            captions = encode(table, self.vocabularies[target], self.every_image, self.longest).of_images(
                keep
            )
            vectors.append(embed_sentences(self.model, target, captions))
            # A query without any known word cannot be replaced by a mean; its embedding is used as it is.
            is_known.append((captions.ids[:, 0] != 0) | (target == language))
        return fill_missing(torch.stack(vectors, 1), torch.stack(is_known, 1))

    def _steps(self, source: str, target: str) -> list[pd.DataFrame]:
        """The tables that lead from a language's captions to their translations."""
        to_target = self.tables[source, target]
        via_english = (to_target["source_language"] != source).any()
        return [self.tables[source, "en"], to_target] if via_english else [to_target]

    def evaluate_language(
        self, language: str, combiner: Combiner | None
    ) -> tuple[dict[str, object], pd.DataFrame]:
        """Recalls and counts, ranks of each query."""
        gallery, candidates = self.gallery(language)
        queries = self.query_vectors(language)
        image_of = torch.from_numpy(gallery.image_of)
        if combiner is None:
            ranks = both_ranks(candidates, queries.mean(1), image_of)
        else:
            ranks = both_ranks(
                candidates, queries.flatten(1), image_of, _combined_similarity(combiner, queries.shape)
            )
        return recalls_and_counts(self.corpus, language, ranks)

    def query_scores(self, language: str) -> ScoredQueries:
        """All scores of a language's queries."""
        gallery, candidates = self.gallery(language)
        scores = torch.stack(
            [dot_products(queries, candidates) for queries in self.query_vectors(language).unbind(1)], 2
        )
        return ScoredQueries(scores, torch.from_numpy(gallery.image_of))

    def origins(self, source: str, target: str) -> dict[str, int]:
        """Number of translations by provider, for the images of the gallery."""
        table = self.tables[source, target]
        rows = table[table["image"].isin(self.corpus.images)]
        return {str(origin): int(count) for origin, count in rows["origin"].value_counts().items()}


def with_human_captions(model_record: ModelRecord) -> list[str]:
    """The model's languages with human captions."""
    origins = model_record.settings.caption_origins
    return [key for key in model_record.settings.languages if origins.get(key, "human") == "human"]


def _learn(
    combiner: Combiner, queries: QueriesWithTranslations, model_record: ModelRecord, network: Consistency
) -> list[float]:
    """Train the network, and return its losses."""
    triplets, matching = model_record.settings.triplets, model_record.settings.matching
    if not (triplets and matching):
        raise InputError(
            "The network is trained with the loss `matching`, with which this model was not trained."
        )
    scores = [queries.query_scores(language) for language in queries.languages]
    return fit(combiner, scores, network, triplets, matching)


def _combined_similarity(combiner: Combiner, shape: torch.Size) -> Similarity:
    """Similarity of a tile's sentences (rows, L e) to its images (columns, e)."""

    @torch.no_grad()
    def similarity(sentences: Tensor, images: Tensor) -> Tensor:
        by_language = sentences.unflatten(1, tuple(shape[1:])).unbind(1)
        scores: Tensor = combiner(torch.stack([dot_products(queries, images) for queries in by_language], 2))
        return scores

    return similarity


def fill_missing(vectors: Tensor, is_known: Tensor) -> Tensor:
    """Embeddings (B, L, e), where missing embeddings (B, L) are replaced by the mean of the others.

    The score of a mean is the mean of the scores.
    """
    weights = is_known[:, :, None].to(vectors.dtype)
    mean = (vectors * weights).sum(1, keepdim=True) / weights.sum(1, keepdim=True)
    return torch.where(is_known[:, :, None], vectors, mean)


# --- Match translations with captions


def of_split(table: pd.DataFrame, split: str) -> pd.DataFrame:
    """The rows of a split, in their order; `attrs` stay."""
    rows = table[table["split"] == split].reset_index(drop=True)
    rows.attrs = table.attrs
    return rows


def translated_tokens(captions: pd.DataFrame, steps: Sequence[pd.DataFrame]) -> pd.Series:
    """Tokens of each caption's translation, in one or more steps; empty if there is none."""
    place = np.arange(len(captions))
    for table in steps:
        rows = translation_rows(captions, table)
        place = np.where(place >= 0, rows[place], -1)
        captions = table
    tokens = np.append(captions["tokens"].to_numpy(), "")
    return pd.Series(tokens[place])


def translation_rows(captions: pd.DataFrame, translations: pd.DataFrame) -> np.ndarray:
    """For each caption the row of its translation, -1 where there is none.

    Translations of an image are in the order of its captions. Captions without a translation are in the
    report; `left_out` of the table's `attrs` holds their (image, caption).

    Raises:
        InputError: an image has more translations than captions, or fewer.
    """
    left_out = translations.attrs["left_out"]
    pairs = zip(captions["image"], captions["caption"], strict=True)
    with_translation = np.flatnonzero([pair not in left_out for pair in pairs])
    of_images = captions["image"].to_numpy()[with_translation]
    places = pd.MultiIndex.from_arrays([of_images, pd.Series(of_images).groupby(of_images).cumcount()])
    answers = pd.MultiIndex.from_arrays(
        [translations["image"], translations.groupby("image").cumcount().to_numpy()]
    )
    of_captions = answers[answers.get_level_values(0).isin(captions["image"])]
    if set(of_captions) != set(places):
        differing = sorted({str(image) for image, _ in set(of_captions) ^ set(places)})
        raise InputError(
            f"{translations.attrs['path']}: {len(differing)} images do not have as many translations as "
            f"captions, such as {', '.join(differing[:3])}, so it is unknown which translates which. "
            f"Translate again, or choose another provider for this pair (translation.pairs)."
        )
    place = np.full(len(captions), -1)
    place[with_translation] = answers.get_indexer(places)
    return place


def read_translations(paths: Sequence[Path]) -> Tables:
    """Tables of translations with what was left out of them, by the pair in their name."""
    tables = {}
    for path in paths:
        source, dash, target = path.stem.partition("-")
        if not dash:
            raise InputError(f"{path}: expected translations, in a file named as en-de.csv.")
        table = read_sentences(path)
        report = require_file(path.with_suffix(".json"), "the report of the translation", "Translate again.")
        try:
            rows = json_value(report.read_bytes())["captions_left_out"]
            left_out = {(row["image"], row["caption"]) for row in rows}
        except (ValueError, LookupError, TypeError) as error:
            raise InputError(
                f"{report}: not the report of a translation ({error!r}). Translate again."
            ) from None
        table.attrs = {"path": str(path), "left_out": left_out}
        tables[source, target] = table
    return tables


def _check_pairs(tables: Tables, model_record: ModelRecord) -> None:
    raise_together(
        [
            f"no table of translations {source}-{target}"
            for source in with_human_captions(model_record)
            for target in model_record.settings.languages
            if target != source and (source, target) not in tables
        ],
        "Consistency needs the queries in every language of the model:",
    )
