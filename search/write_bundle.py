"""Writing a bundle, whose recalls must be those of the evaluated model to the last digit."""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
from safetensors.torch import save

from pipeline.common.errors import InputError, raise_together
from pipeline.common.files import atomic_folder, require_file, sha256
from pipeline.datasets.languages import tokenizer_versions
from pipeline.datasets.tokenize import with_tokens
from pipeline.evaluation.checks import model_and_vocabularies
from pipeline.evaluation.embed import embed_images
from pipeline.evaluation.inputs import add_features, evaluation_corpus, original_sentences
from pipeline.evaluation.ranks import query_ranks
from pipeline.evaluation.recall import recalls
from pipeline.models.model import ModelRecord
from pipeline.tables.evaluations import read_evaluation
from pipeline.tables.statistics import hits_by_image, intervals
from search.bundle import (
    CARD,
    FORMAT,
    SETTINGS,
    WEIGHTS,
    Bundle,
    backbone_of,
    file_names,
    read_bundle,
)
from search.model_card import model_card

log = logging.getLogger("pipeline")


def write_bundle(
    model: Path,
    features: Path,
    words: Sequence[Path],
    sentences: Sequence[Path],
    evaluation: Path,
    output: Path,
    data: Sequence[Mapping[str, str]] = (),
) -> None:
    """Write a trained model as a self-contained folder.

    The folder is read back before it is kept: its recalls, computed from the published captions, must equal
    those of the evaluation to the last digit.

    Args:
        model: the trained model.
        features: features with which it was evaluated.
        words: one vocabulary per language.
        sentences: original captions of its languages, tokenised.
        evaluation: the JSON that `evaluate` wrote for the original captions.
        output: folder to write.
        data: JSON with `what` and `licence` of the data, for the model card.

    Raises:
        InputError: the model reads sentence vectors of a BERT, or the files do not belong together.
    """
    network, record, vocabularies = model_and_vocabularies(model, words)
    if any(vocabulary.unit != "word" for vocabulary in vocabularies.values()):
        raise InputError(
            f"{model}: reads frozen sentence vectors of a BERT, which a bundle does not hold. Bundle a "
            "model that reads words."
        )
    evaluation_values = _read_evaluation_of(record, evaluation)
    with atomic_folder(output, SETTINGS) as folder:
        weights = {
            name: value for name, value in network.state_dict().items() if not name.endswith(".initial")
        }
        # A layer that languages share is written once for each: the format does not allow shared tensors.
        tensors = {name: value.contiguous().clone() for name, value in weights.items()}
        (folder / WEIGHTS).write_bytes(save(tensors))
        (folder / "words").mkdir()
        for language, vocabulary in vocabularies.items():
            text = "".join(f"{word}\n" for word in vocabulary.words[1:])
            (folder / "words" / f"{language}.txt").write_text(text, encoding="utf-8")
        values = {
            "format": FORMAT,
            "saved": {**vars(record), "settings": record.settings.as_values()},
            "sizes": asdict(network.sizes),
            "tokenizers": {language: tokenizer_versions(language) for language in vocabularies},
            "backbone": backbone_of(features),
            "test": evaluation_values["test"],
            "intervals": _intervals(evaluation, evaluation_values, list(vocabularies)),
            "data": list(data),
            "files": {name: sha256(folder / name) for name in file_names(vocabularies)},
        }
        text = json.dumps(values, indent=1, ensure_ascii=False) + "\n"
        (folder / SETTINGS).write_text(text, encoding="utf-8")
        (folder / CARD).write_text(model_card(values), encoding="utf-8")
        _check_recalls(read_bundle(folder), sentences, features, evaluation_values["test"], evaluation)
    log.info("%s: %s, with the recalls of %s to the last digit", output, model, evaluation)


def recalls_on_test(bundle: Bundle, sentences: Sequence[Path], features: Path) -> dict[str, dict[str, float]]:
    """The six recalls and mR of each language on the test split, as `evaluate` computes them.

    Args:
        sentences: caption tables; the bundle's tokenisers tokenise their captions again.
        features: store of the test images' features.
    """
    settings = bundle.record.settings
    captions = {
        language: with_tokens(table[table["split"] == "test"], language)
        for language, table in original_sentences(
            sentences, settings.languages, settings.caption_origins
        ).items()
    }
    corpus = evaluation_corpus(captions, bundle.vocabularies, settings, "test")
    add_features(corpus, features, settings.features)
    images = embed_images(bundle.model, corpus)
    return {
        language: recalls(query_ranks(bundle.model, queries, language, images))
        for language, queries in corpus.languages.items()
    }


def _read_evaluation_of(record: ModelRecord, path: Path) -> dict[str, Any]:
    """The evaluation of a model on its original captions."""
    evaluation = read_evaluation(path)
    identity = record.settings.model_dump(include={"scale", "dataset", "experiment", "seed"})
    expected = {**identity, "queries": "original", "epoch": record.epoch}
    mistakes = [
        f"{key}: found {evaluation.get(key)!r}, expected {value!r}"
        for key, value in expected.items()
        if evaluation.get(key) != value
    ]
    raise_together(mistakes, f"{path}: not the evaluation of this model on its original captions:")
    return evaluation


def _intervals(
    evaluation: Path, values: Mapping[str, Any], languages: Sequence[str]
) -> dict[str, dict[str, tuple[float, float]]]:
    path = require_file(evaluation.with_name(values["ranks"]), "the ranks", "Evaluate again.")
    if sha256(path) != values["ranks_sha256"]:
        raise InputError(f"{path}: does not match {evaluation}. Evaluate again.")
    table = pd.read_csv(path, dtype={"image": str}, keep_default_na=False)
    return {code: intervals(hits_by_image(table[table["language"] == code])) for code in languages}


def _check_recalls(
    bundle: Bundle,
    sentences: Sequence[Path],
    features: Path,
    expected: Mapping[str, Mapping[str, float]],
    evaluation: Path,
) -> None:
    mistakes = [
        f"{language} {metric}: the bundle has {value!r}, the evaluation {expected[language][metric]!r}"
        for language, values in recalls_on_test(bundle, sentences, features).items()
        for metric, value in values.items()
        if value != expected[language][metric]
    ]
    raise_together(
        mistakes,
        f"{evaluation}: the bundle's recalls differ from the evaluated model's. Evaluate again on this "
        "machine with the packages installed here, and check that captions and features are the evaluated "
        "ones:",
    )
