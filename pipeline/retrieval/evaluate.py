"""Evaluate a trained model on the test split: one JSON an experiment, and the rank of every right answer."""

import gzip
import json
import logging
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from pipeline.captions.origins import count_by_pair
from pipeline.captions.table import read_sentences
from pipeline.errors import InputError
from pipeline.files import written_beside
from pipeline.models.retrieval_model import RetrievalModel
from pipeline.models.saved import Saved, load_model
from pipeline.retrieval.checks import check_vocabularies
from pipeline.retrieval.embed import embed_images, embed_sentences
from pipeline.retrieval.inputs import add_features, evaluation_corpus, own_sentences, read_vocabularies
from pipeline.retrieval.ranks import both_ranks
from pipeline.retrieval.recall import chance_mean_recall, recalls
from pipeline.retrieval.similarity import similarity
from pipeline.words.corpus import Corpus, corpus_of
from pipeline.words.vocabulary import Vocabulary

log = logging.getLogger("pipeline")

# Validation mR is computed twice, by training and here; on one machine the two agree far closer than this.
SAME_MEAN_RECALL = 0.05

RANK_COLUMNS = ["language", "direction", "image", "rank"]


def evaluate(
    model_file: Path,
    features: Path,
    words: Sequence[Path],
    sentences: Sequence[Path],
    translated_queries: Sequence[Path],
    settings: Mapping[str, Any],
    output: Path,
    ranks: Path,
) -> None:
    """Write recalls on the test split for each language as JSON, and the ranks that they are counted from.

    Args:
        model_file: the trained model. features: image features. words: one vocabulary a language of it.
        sentences: sentence tables with the data set's own captions of the model's languages, and of the
            queries' where these are translated.
        translated_queries: tables of test captions translated into the model's only language; each gives
            the recalls of its source language (MULE, Table 4(b), first row).
        settings: `threads`, CPU threads to use; all else is in the model file.
        output: JSON with scale, dataset, experiment, seed, epoch, validation, and test by language;
            its `ranks` names the file of ranks, which lies beside it; training_captions and
            training_translations as in the model file; query_translations, the translated queries of each
            pair of languages by origin.
        ranks: gzipped CSV, one query a line: language, direction (`i2s` or `s2i`), image, rank from 1.
    """
    torch.set_num_threads(settings["threads"])
    model, saved = load_model(model_file)
    vocabularies = read_vocabularies(words, saved.settings["languages"])
    check_vocabularies(saved, vocabularies, model_file)
    own = own_sentences(sentences, saved.settings)
    _check_choice_of_epoch(model, saved, own, vocabularies, features)
    queries = {table["source_language"].iloc[0]: table for table in map(read_sentences, translated_queries)}
    if queries:
        corpora = _translated(saved, vocabularies, features, sentences, queries)
    else:
        corpus = evaluation_corpus(own, vocabularies, saved.settings, "test")
        add_features(corpus, features, saved.settings)
        corpora = {language: (corpus, language) for language in corpus.languages}
    found = {query: _test(model, corpus, language) for query, (corpus, language) in corpora.items()}
    result = {
        **{key: saved.settings[key] for key in ("scale", "dataset", "experiment", "seed")},
        "queries": "translated" if queries else "own",
        "epoch": saved.epoch,
        "validation": saved.validation,
        "training_captions": saved.training_captions,
        "training_translations": saved.training_translations,
        "query_translations": {
            pair: origins
            for source, table in queries.items()
            for pair, origins in count_by_pair([table], "test", corpora[source][0].images).items()
        },
        "ranks": ranks.name,
        "test": {query: values for query, (values, _) in found.items()},
    }
    every = pd.concat([table.assign(language=query) for query, (_, table) in found.items()])
    with (
        written_beside(ranks) as temporary,
        open(temporary, "wb") as raw,
        gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as file,  # no name, no time: equal ranks, equal bytes
    ):
        every[RANK_COLUMNS].to_csv(file, index=False)
    with written_beside(output) as temporary:
        temporary.write_text(json.dumps(result, indent=1) + "\n")


def mean_recalls(model: RetrievalModel, corpus: Corpus) -> dict[str, float]:
    """mR of each language, in percent."""
    images = embed_images(model, corpus)
    return {language: recalls(_ranks(model, corpus, language, images))["mR"] for language in corpus.languages}


def _ranks(model: RetrievalModel, corpus: Corpus, language: str, images: Tensor) -> dict[str, Tensor]:
    part = corpus.languages[language]
    sentences = embed_sentences(model, language, part)
    image_of = torch.from_numpy(part.image).to(images.device)
    return both_ranks(images, sentences, image_of, partial(similarity, kind=model.similarity))


def _test(model: RetrievalModel, corpus: Corpus, language: str) -> tuple[dict[str, float], pd.DataFrame]:
    """Recalls and counts of one language's queries; direction, image and rank of each query."""
    part = corpus.languages[language]
    ranks = _ranks(model, corpus, language, embed_images(model, corpus))
    values = {
        **recalls(ranks),
        "chance_mR": chance_mean_recall(len(corpus.images), part.image),
        "images": len(corpus.images),
        "sentences": len(part.image),
        "sentences_without_known_words": int((part.ids[:, 0] == 0).sum()),
    }
    log.info("%s: mR %.1f, by chance %.1f", language, values["mR"], values["chance_mR"])
    asked = {"i2s": np.unique(part.image), "s2i": part.image}
    tables = [
        pd.DataFrame(
            {"direction": way, "image": np.array(corpus.images)[asked[way]], "rank": ranks[way].cpu().numpy()}
        )
        for way in ("i2s", "s2i")
    ]
    return values, pd.concat(tables)


def _translated(
    saved: Saved,
    vocabularies: Mapping[str, Vocabulary],
    features: Path,
    sentences: Sequence[Path],
    queries: Mapping[str, pd.DataFrame],
) -> dict[str, tuple[Corpus, str]]:
    """By source language its queries, in the model's; captions that no translation came of are unknown."""
    (language,) = saved.settings["languages"]
    originals = own_sentences(sentences, {**saved.settings, "languages": list(queries)})
    found = {}
    for source, table in queries.items():
        whole = pd.concat([table, untranslated(originals[source], table)])
        corpus = corpus_of({language: whole}, vocabularies, saved.settings["longest_caption"], "test")
        add_features(corpus, features, saved.settings)
        found[source] = corpus, language
    return found


def untranslated(originals: pd.DataFrame, translated: pd.DataFrame) -> pd.DataFrame:
    """A row without tokens for each of an image's captions that has no translation."""
    counts = originals.groupby("image").size()
    missing = counts.sub(translated.groupby("image").size(), fill_value=0).reindex(counts.index)
    rows = originals.drop_duplicates("image").set_index("image", drop=False)
    return rows.loc[missing.index.repeat(missing.astype(int))].assign(tokens="")


def _check_choice_of_epoch(
    model: RetrievalModel,
    saved: Saved,
    own: Mapping[str, pd.DataFrame],
    vocabularies: Mapping[str, Vocabulary],
    features: Path,
) -> None:
    """Training chose its epoch by validation mR; a later change to the recall code must not pass unseen.

    Such a change reruns evaluation only, so evaluation computes the kept epoch's validation mR again.
    """
    corpus = evaluation_corpus(own, vocabularies, saved.settings, "val")
    add_features(corpus, features, saved.settings)
    now = mean_recalls(model, corpus)
    wrong = [
        f"{language}: {saved.validation[language]:.2f} then, {value:.2f} now"
        for language, value in now.items()
        if abs(value - saved.validation[language]) > SAME_MEAN_RECALL
    ]
    if wrong:
        raise InputError(
            "The kept epoch was chosen by another definition of recall, or on other data (validation mR "
            f"{'; '.join(wrong)}). Delete its checkpoint (work/{saved.settings['scale']}/checkpoints), and "
            "train again: snakemake --forcerun train"
        )
