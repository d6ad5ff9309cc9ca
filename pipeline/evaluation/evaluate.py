"""Evaluate a trained model on the test split: a JSON file per experiment, and the correct answers' ranks."""

import gzip
import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from pipeline.common.files import atomic_write, sha256
from pipeline.common.rounding import tenths
from pipeline.datasets.origins import Origins, count_by_pair
from pipeline.datasets.table import read_sentences
from pipeline.evaluation.embed import embed_images, model_and_vocabularies
from pipeline.evaluation.inputs import add_features, evaluation_corpus, in_translation, original_sentences
from pipeline.evaluation.ranks import gallery, query_ranks
from pipeline.evaluation.recall import chance_recalls, recalls
from pipeline.evaluation.settings import EvaluateSettings
from pipeline.models.model import ModelRecord
from pipeline.words.corpus import Corpus, corpus_of
from pipeline.words.vocabulary import Vocabulary

log = logging.getLogger("pipeline")

RANK_COLUMNS = ["language", "direction", "image", "rank"]


def evaluate(
    model: Path,
    features: Path,
    words: Sequence[Path],
    sentences: Sequence[Path],
    settings: EvaluateSettings,
    output: Path,
    ranks: Path,
    translated_queries: Sequence[Path] = (),
) -> None:
    """Write recalls on the test split for each language as JSON, and the ranks they are computed from.

    Args:
        model: the trained model.
        features: image features.
        words: one vocabulary per language of the model.
        sentences: sentence tables with the data set's own captions in the model's languages and in the
            languages that queries are translated from.
        settings: JSON: `threads`, and the settings of the stages before the training. All others are in the
            model file.
        output: JSON to write. `test` has by language the recalls, those of a random ranking (`chance`), and
            how many `images` and `sentences` are ranked. `ranks` and `ranks_sha256` name the file of ranks in
            the same folder and its digest. `query_translations` counts translated queries by pair of
            languages and origin. Settings, languages, numbers of parameters and all that begins with
            `training_` are copied from the model file.
        ranks: CSV to write, gzipped, one query per line: language, direction (`i2s` or `s2i`), image, rank
            from 1.
        translated_queries: tables of test captions translated into the model's only language, which replace
            its own captions as queries. Each gives the recalls of its source language (MULE, Table 4(b),
            first row).
    """
    torch.set_num_threads(settings.threads)
    network, record, vocabularies = model_and_vocabularies(model, words)
    originals = original_sentences(sentences, record.settings.languages, record.settings.caption_origins)
    queries = {table["source_language"].iloc[0]: table for table in map(read_sentences, translated_queries)}
    if queries:
        corpus = _translated_corpus(record, vocabularies, sentences, queries)
    else:
        corpus = evaluation_corpus(originals, vocabularies, record.settings, "test")
    add_features(corpus, features, record.settings.features)
    images = embed_images(network, corpus)
    results = {}
    for query in corpus.languages:
        read_as = record.settings.languages[0] if queries else query
        of_query = query_ranks(network, corpus.languages[query], read_as, images)
        results[query] = recalls_and_counts(corpus, query, of_query)
    counts = _query_translations(queries, corpus)
    kind = "translated" if queries else "original"
    write_evaluation(record, preparation_of(settings), kind, results, counts, output, ranks)


def preparation_of(settings: EvaluateSettings) -> dict[str, object]:
    """Settings of what came before the training, as an evaluation records them."""
    return settings.preparation.as_values() if settings.preparation else {}


def write_evaluation(
    record: ModelRecord,
    preparation: Mapping[str, object],
    queries: str,
    results: Mapping[str, tuple[dict[str, object], pd.DataFrame]],
    query_translations: Mapping[str, Origins],
    output: Path,
    ranks: Path,
    **details: object,
) -> None:
    """Write the results of each language (`recalls_and_counts`) with the settings behind them."""
    tables = [table.assign(language=query) for query, (_, table) in results.items()]
    with atomic_write(ranks) as temporary:
        text = pd.concat(tables)[RANK_COLUMNS].to_csv(index=False)
        # Without the name and time that `to_csv` compresses with, so that equal ranks are equal bytes.
        temporary.write_bytes(gzip.compress(text.encode(), mtime=0))
    result = {
        **record.settings.model_dump(include={"scale", "dataset", "experiment", "seed"}),
        "queries": queries,
        **details,
        "epoch": record.epoch,
        "validation": record.validation,
        "settings": {**record.settings.as_values(), **preparation},
        "training_captions": record.training_captions,
        "training_translations": record.training_translations,
        "training_steps": record.training_steps,
        "training_groups": record.training_groups,
        "languages": record.settings.languages,
        "parameters": record.parameters,
        "parameters_at_test": record.parameters_at_test,
        "query_translations": query_translations,
        "ranks": ranks.name,
        "ranks_sha256": sha256(ranks),
        "test": {query: values for query, (values, _) in results.items()},
    }
    with atomic_write(output) as temporary:
        temporary.write_text(json.dumps(result, indent=1) + "\n")


def recalls_and_counts(
    corpus: Corpus, query: str, ranks: Mapping[str, Tensor]
) -> tuple[dict[str, object], pd.DataFrame]:
    """Recalls and counts from the ranks of a language's queries; direction, image and rank of each query."""
    captions = corpus.languages[query]
    rows, image_of = gallery(captions.image)
    by_chance = chance_recalls(len(rows), image_of)
    values: dict[str, Any] = {
        **recalls(ranks),
        "chance": by_chance,
        "images": len(rows),
        "sentences": len(captions.image),
        "sentences_without_known_words": int((captions.ids[:, 0] == 0).sum()),
    }
    log.info("%s: mR %s, chance level %s", query, tenths(values["mR"]), tenths(by_chance["mR"]))
    queries = {"i2s": rows, "s2i": captions.image}
    tables = [
        pd.DataFrame(
            {
                "direction": direction,
                "image": np.array(corpus.images)[queries[direction]],
                "rank": ranks[direction].cpu().numpy(),
            }
        )
        for direction in ("i2s", "s2i")
    ]
    return values, pd.concat(tables)


def _translated_corpus(
    record: ModelRecord,
    vocabularies: Mapping[str, Vocabulary],
    sentences: Sequence[Path],
    queries: Mapping[str, pd.DataFrame],
) -> Corpus:
    """The corpus of translated test captions, by source language; a missing translation has no words.

    Each source language has the gallery of its own captions, whatever the model reads.
    """
    (language,) = record.settings.languages
    originals = original_sentences(sentences, list(queries), record.settings.caption_origins)
    tables = {
        source: in_translation(originals[source].query("split == 'test'"), table)
        for source, table in queries.items()
    }
    read_as = dict.fromkeys(tables, vocabularies[language])
    return corpus_of(tables, read_as, record.settings.max_caption_length, "test")


def _query_translations(queries: Mapping[str, pd.DataFrame], corpus: Corpus) -> dict[str, Origins]:
    """Translated queries of each pair of languages by origin, of the images that are in its gallery."""
    origins: dict[str, Origins] = {}
    for source, table in queries.items():
        rows, _ = gallery(corpus.languages[source].image)
        origins |= count_by_pair([table], "test", [corpus.images[row] for row in rows])
    return origins
