"""Evaluate a trained model on the test split: one JSON an experiment."""

import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from pipeline.captions.table import read_sentences
from pipeline.errors import InputError, raise_together
from pipeline.files import written_beside
from pipeline.models.retrieval_model import RetrievalModel
from pipeline.models.saved import Saved, load_model, vocabulary_digest
from pipeline.retrieval.embed import embed_images, embed_sentences
from pipeline.retrieval.inputs import add_features, evaluation_corpus, own_sentences, read_vocabularies
from pipeline.retrieval.recall import chance_mean_recall, recalls
from pipeline.words.corpus import Corpus, corpus_of
from pipeline.words.vocabulary import Vocabulary

log = logging.getLogger("pipeline")

# Validation mR is computed twice, by training and here; on one machine the two agree far closer than this.
SAME_MEAN_RECALL = 0.05


def evaluate(
    model_file: Path,
    features: Path,
    words: Sequence[Path],
    sentences: Sequence[Path],
    translated_queries: Sequence[Path],
    settings: Mapping[str, Any],
    output: Path,
) -> None:
    """Write recalls on the test split for each language as JSON.

    Args:
        model_file: the trained model. features: image features. words: one vocabulary a language of it.
        sentences: sentence tables with the data set's own captions of the model's languages, and of the
            queries' where these are translated.
        translated_queries: tables of test captions translated into the model's only language; each gives
            the recalls of its source language (MULE, Table 4(b), first row).
        settings: `threads`, CPU threads to use; all else is in the model file.
        output: JSON with scale, dataset, experiment, seed, epoch, validation, and test by language.
    """
    torch.set_num_threads(settings["threads"])
    model, saved = load_model(model_file)
    vocabularies = read_vocabularies(words, saved.settings["languages"])
    _check_vocabularies(saved, vocabularies, model_file)
    own = own_sentences(sentences, saved.settings)
    _check_choice_of_epoch(model, saved, own, vocabularies, features)
    if translated_queries:
        found = _with_translated_queries(model, saved, vocabularies, features, sentences, translated_queries)
    else:
        corpus = evaluation_corpus(own, vocabularies, saved.settings, "test")
        add_features(corpus, features, saved.settings)
        found = _test(model, corpus)
    result = {
        **{key: saved.settings[key] for key in ("scale", "dataset", "experiment", "seed")},
        "queries": "translated" if translated_queries else "own",
        "epoch": saved.epoch,
        "validation": saved.validation,
        "test": found,
    }
    with written_beside(output) as temporary:
        temporary.write_text(json.dumps(result, indent=1) + "\n")


def mean_recalls(model: RetrievalModel, corpus: Corpus) -> dict[str, float]:
    """mR of each language, in percent."""
    return {language: found["mR"] for language, found in _recalls(model, corpus).items()}


def _recalls(model: RetrievalModel, corpus: Corpus) -> dict[str, dict[str, float]]:
    images = embed_images(model, corpus)
    return {
        language: recalls(
            images,
            embed_sentences(model, language, part),
            torch.from_numpy(part.image).to(images.device),
        )
        for language, part in corpus.languages.items()
    }


def _test(model: RetrievalModel, corpus: Corpus) -> dict[str, dict[str, float]]:
    found = {}
    for language, values in _recalls(model, corpus).items():
        part = corpus.languages[language]
        found[language] = {
            **values,
            "chance_mR": chance_mean_recall(len(corpus.images), part.image),
            "images": len(corpus.images),
            "sentences": len(part.image),
            "sentences_without_known_words": int((part.ids[:, 0] == 0).sum()),
        }
        log.info("%s: mR %.1f, by chance %.1f", language, values["mR"], found[language]["chance_mR"])
    return found


def _with_translated_queries(
    model: RetrievalModel,
    saved: Saved,
    vocabularies: Mapping[str, Vocabulary],
    features: Path,
    sentences: Sequence[Path],
    translated: Sequence[Path],
) -> dict[str, dict[str, float]]:
    """Recalls by source language; captions that no translation came of count as unknown queries."""
    (language,) = saved.settings["languages"]
    queries = {table["source_language"].iloc[0]: table for table in map(read_sentences, translated)}
    originals = own_sentences(sentences, {**saved.settings, "languages": list(queries)})
    found = {}
    for source, table in queries.items():
        whole = pd.concat([table, untranslated(originals[source], table)])
        corpus = corpus_of({language: whole}, vocabularies, saved.settings["longest_caption"], "test")
        add_features(corpus, features, saved.settings)
        found[source] = _test(model, corpus)[language]
    return found


def untranslated(originals: pd.DataFrame, translated: pd.DataFrame) -> pd.DataFrame:
    """A row without tokens for each of an image's captions that has no translation."""
    counts = originals.groupby("image").size()
    missing = counts.sub(translated.groupby("image").size(), fill_value=0).reindex(counts.index)
    rows = originals.drop_duplicates("image").set_index("image", drop=False)
    return rows.loc[missing.index.repeat(missing.astype(int))].assign(tokens="")


def _check_vocabularies(saved: Saved, vocabularies: Mapping[str, Vocabulary], path: Path) -> None:
    wrong = [
        f"{language!r}: the --words file is not the one the model was trained with"
        for language, vocabulary in vocabularies.items()
        if vocabulary_digest(vocabulary.words) != saved.vocabularies[language]
    ]
    raise_together(wrong, f"{path}: vocabularies do not fit; train again or give the right files:")


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
            f"{'; '.join(wrong)}). Train again: snakemake --forcerun train"
        )
