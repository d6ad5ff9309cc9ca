"""Evaluate with queries and their translations: cross-lingual consistency, CLC (SMALR, Section 3.4).

A sentence's score for an image combines L scores: its own and those of its translations into the model's
other languages. They are averaged (`average`, CLC-A), or combined by a small network that is trained on the
validation split (`learned`, CLC-C). A missing translation counts as the mean of the existing ones.

The network has two linear layers without an activation between them, so it weights the languages. A score is
a dot product, so the weighted sum of the scores of L vectors is the score of their weighted sum.

Sizes in comments: B sentences, n images, L languages, e size of an embedding.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from pipeline.common.errors import InputError
from pipeline.datasets.origins import count_origins
from pipeline.datasets.table import read_sentences
from pipeline.evaluation.embed import embed_images, embed_sentences, model_and_vocabularies
from pipeline.evaluation.evaluate import write_evaluation
from pipeline.evaluation.inputs import add_features, evaluation_corpus, in_translation, original_sentences
from pipeline.evaluation.ranks import both_ranks, gallery
from pipeline.evaluation.settings import ConsistencySettings, Preparation
from pipeline.models.consistency import Combiner, ScoredQueries, fit
from pipeline.models.model import ModelRecord, RetrievalModel
from pipeline.models.settings import Consistency
from pipeline.words.corpus import Corpus, encode
from pipeline.words.vocabulary import Vocabulary


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
    torch.set_num_threads(1)
    network, record, vocabularies = model_and_vocabularies(model, words)
    if network.similarity != "cosine":
        raise InputError(f"{model}: scores by {network.similarity!r}; consistency needs cosines")
    originals = original_sentences(sentences, record.settings.languages, record.settings.caption_origins)
    tables = {(path.stem[:2], path.stem[3:]): read_sentences(path) for path in translated_queries}
    made_of = network, record, originals, tables, vocabularies, features
    details: dict[str, Any] = {"kind": settings.kind}
    weights = None  # all are equal
    if settings.network:
        combiner, details["losses"] = _learn(embedded_queries(*made_of, "val")[1], record, settings.network)
        weights = combiner.weights().detach()
        details["weights"] = [weight.tolist() for weight in combiner.parameters()]
    corpus, test = embedded_queries(*made_of, "test")
    found = {}
    for language, queries in test.items():
        vectors = queries.vectors
        combined = vectors.mean(1) if weights is None else torch.einsum("ble,l->be", vectors, weights)
        found[language] = both_ranks(queries.candidates, combined, queries.image_of)
    counts = {"-".join(pair): count_origins(table, "test", corpus.images) for pair, table in tables.items()}
    preparation = settings.model_dump(include=set(Preparation.model_fields), exclude_none=True)
    network_settings = settings.network.as_values() if settings.network else {}
    preparation["consistency"] = {"kind": settings.kind, **network_settings}
    found_on = settings.kind, corpus, found, counts
    write_evaluation(record, preparation, *found_on, output, ranks, consistency=details)


@dataclass
class Queries:
    """A language's queries of a split in each language of the model.

    vectors: (B, L, e). candidates: (n, e) images. image_of: (B,) place of each query's image among them.
    """

    vectors: Tensor
    candidates: Tensor
    image_of: Tensor


def embedded_queries(
    network: RetrievalModel,
    record: ModelRecord,
    originals: Mapping[str, pd.DataFrame],
    tables: Mapping[tuple[str, str], pd.DataFrame],
    vocabularies: Mapping[str, Vocabulary],
    features: Path,
    split: str,
) -> tuple[Corpus, dict[str, Queries]]:
    """A split, and the queries of each language with human captions.

    Args:
        originals: sentence tables by language. tables: translations by source and target language.
    """
    settings = record.settings
    corpus = evaluation_corpus(originals, vocabularies, settings, split)
    add_features(corpus, features, settings.features)
    images, queries = embed_images(network, corpus), {}
    for language, table in originals.items():
        if settings.caption_origins.get(language, "human") != "human":
            continue
        own = table[table["image"].isin(corpus.images)]
        captions = {}
        for target in network.languages:
            text = own if target == language else in_translation(own, tables[language, target])
            captions[target] = encode(text, vocabularies[target], corpus.images, settings.max_caption_length)
        vectors = [embed_sentences(network, target, part) for target, part in captions.items()]
        # A query without any known word cannot be replaced by a mean: its embedding is used as it is.
        is_known = [(part.ids[:, 0] != 0) | (target == language) for target, part in captions.items()]
        filled = fill_missing(torch.stack(vectors, 1), torch.stack(is_known, 1))
        rows, image_of = map(torch.from_numpy, gallery(corpus.languages[language].image))
        queries[language] = Queries(filled, images[rows], image_of)
    return corpus, queries


def fill_missing(vectors: Tensor, is_known: Tensor) -> Tensor:
    """Embeddings (B, L, e), where missing embeddings (B, L) are replaced by the mean of the others.

    The score of a mean is the mean of the scores.
    """
    weights = is_known[:, :, None].to(vectors.dtype)
    mean = (vectors * weights).sum(1, keepdim=True) / weights.sum(1, keepdim=True)
    return torch.where(is_known[:, :, None], vectors, mean)


def _learn(
    queries: Mapping[str, Queries], record: ModelRecord, settings: Consistency
) -> tuple[Combiner, list[float]]:
    """The network, trained, and its losses."""
    triplets, matching = record.settings.triplets, record.settings.matching
    if not (triplets and matching):
        raise InputError(
            "The network is trained with the loss `matching`, with which this model was not trained."
        )
    combiner = Combiner(len(record.settings.languages), settings.hidden, settings.initial_weight)
    scored = []
    for each in queries.values():
        scores = [vectors @ each.candidates.T for vectors in each.vectors.unbind(1)]
        scored.append(ScoredQueries(torch.stack(scores, 2), each.image_of))
    return combiner, fit(combiner, scored, settings, triplets, matching)
