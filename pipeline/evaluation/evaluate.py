"""Evaluate a trained model on the test split: a JSON file per experiment, and the correct answers' ranks."""

import gzip
import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from pipeline.common.files import atomic_write
from pipeline.common.rounding import tenths
from pipeline.datasets.origins import Origins, count_by_pair
from pipeline.datasets.table import read_sentences
from pipeline.evaluation.embed import embed_images, model_and_vocabularies
from pipeline.evaluation.inputs import add_features, evaluation_corpus, in_translation, original_sentences
from pipeline.evaluation.ranks import gallery, query_ranks
from pipeline.evaluation.recall import chance_recalls, recalls
from pipeline.evaluation.settings import Preparation
from pipeline.models.model import ModelRecord
from pipeline.words.corpus import Corpus

log = logging.getLogger("pipeline")

RANK_COLUMNS = ["language", "direction", "image", "rank"]


def evaluate(
    model: Path,
    features: Path,
    words: Sequence[Path],
    sentences: Sequence[Path],
    settings: Preparation,
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
        settings: JSON: the settings of the stages before the training. All others are in the model file.
        output: JSON to write. `test` has by language the recalls, those of a random ranking (`chance`), and
            how many `images` and `sentences` are ranked. `ranks` names the file of ranks in the same folder.
            `query_translations` counts translated queries by pair of
            languages and origin. Settings, languages, numbers of parameters and all that begins with
            `training_` are copied from the model file.
        ranks: CSV to write, gzipped, one query per line: language, direction (`i2s` or `s2i`), image, rank
            from 1.
        translated_queries: tables of test captions translated into the model's only language, which replace
            its own captions as queries. Each gives the recalls of its source language (MULE, Table 4(b),
            first row).
    """
    torch.set_num_threads(1)
    network, record, vocabularies = model_and_vocabularies(model, words)
    (language, *_), origins = record.settings.languages, record.settings.caption_origins
    queries = {table["source_language"].iloc[0]: table for table in map(read_sentences, translated_queries)}
    captions = original_sentences(sentences, [*queries] or record.settings.languages, origins)
    if queries:
        # Each source language has the gallery of its own captions, whatever the model reads. A missing
        # translation has no words.
        own = {source: captions[source].query("split == 'test'") for source in queries}
        captions = {source: in_translation(own[source], table) for source, table in queries.items()}
        vocabularies = dict.fromkeys(queries, vocabularies[language])
    corpus = evaluation_corpus(captions, vocabularies, record.settings, "test")
    add_features(corpus, features, record.settings.features)
    images = embed_images(network, corpus)
    found: dict[str, Mapping[str, Tensor]] = {}
    counts: dict[str, Origins] = {}
    for query, part in corpus.languages.items():
        found[query] = query_ranks(network, part, language if queries else query, images)
        in_gallery = [corpus.images[row] for row in gallery(part.image)[0]]
        counts |= count_by_pair([queries[query]] if queries else [], "test", in_gallery)
    kind = "translated" if queries else "original"
    write_evaluation(record, settings.as_values(), kind, corpus, found, counts, output, ranks)


def write_evaluation(
    record: ModelRecord,
    preparation: Mapping[str, object],
    queries: str,
    corpus: Corpus,
    found: Mapping[str, Mapping[str, Tensor]],
    query_translations: Mapping[str, Origins],
    output: Path,
    ranks: Path,
    **details: object,
) -> None:
    """Write the ranks of each language's queries, their recalls and the settings behind them.

    Args:
        preparation: settings of what came before the training, and of the combination of queries. queries:
            their kind. found: by language, as `both_ranks` gives. details: further values of the JSON.
    """
    tables = [_rank_table(corpus, query, of_query) for query, of_query in found.items()]
    with atomic_write(ranks) as temporary:
        text = pd.concat(tables).to_csv(index=False)
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
        "test": {query: _recalls_and_counts(corpus, query, of_query) for query, of_query in found.items()},
    }
    with atomic_write(output) as temporary:
        temporary.write_text(json.dumps(result, indent=1) + "\n")


def _recalls_and_counts(corpus: Corpus, query: str, ranks: Mapping[str, Tensor]) -> dict[str, object]:
    """Recalls, chance levels and counts from the ranks of a language's queries."""
    captions = corpus.languages[query]
    rows, image_of = gallery(captions.image)
    by_chance, found = chance_recalls(len(rows), image_of), recalls(ranks)
    log.info("%s: mR %s, chance level %s", query, tenths(found["mR"]), tenths(by_chance["mR"]))
    return {
        **found,
        "chance": by_chance,
        "images": len(rows),
        "sentences": len(captions.image),
        "sentences_without_known_words": int((captions.ids[:, 0] == 0).sum()),
    }


def _rank_table(corpus: Corpus, query: str, ranks: Mapping[str, Tensor]) -> pd.DataFrame:
    """Language, direction, image and rank of each query."""
    captions = corpus.languages[query]
    rows = {"i2s": gallery(captions.image)[0], "s2i": captions.image}
    parts = [
        pd.DataFrame(
            {"direction": way, "image": np.array(corpus.images)[row], "rank": ranks[way].cpu().numpy()}
        )
        for way, row in rows.items()
    ]
    return pd.concat(parts).assign(language=query)[RANK_COLUMNS]
