"""A trained model as one folder that stands alone (docs/search.md).

| file               | what                                                                          |
|--------------------|-------------------------------------------------------------------------------|
| `model.safetensors`| the weights                                                                   |
| `words/XX.txt`     | the vocabulary of a language, one word a line: line 1 is row 1 of its table   |
| `model.json`       | settings, tokenisers, backbone, recalls, and the digest of every other file   |
| `README.md`        | the model card                                                                |
"""

import importlib.metadata
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save

from pipeline.common.errors import InputError, disk_trouble, raise_together
from pipeline.common.files import name_in_errors, require_file, sha256
from pipeline.common.folders import atomic_folder
from pipeline.datasets.languages import language as row_of
from pipeline.datasets.tokenize import TOKENIZERS, with_tokens
from pipeline.evaluation.checks import check_vocabularies
from pipeline.evaluation.embed import embed_images, embed_sentences
from pipeline.evaluation.gallery import gallery_of
from pipeline.evaluation.inputs import add_features, evaluation_corpus, own_sentences, read_vocabularies
from pipeline.evaluation.ranks import both_ranks
from pipeline.evaluation.recall import recalls
from pipeline.evaluation.similarity import similarity
from pipeline.models.retrieval_model import RetrievalModel
from pipeline.models.saved import Saved, load_model, of_shape
from pipeline.tables.evaluations import read_evaluation
from pipeline.tables.statistics import hits_by_image, intervals
from pipeline.words.vocabulary import PADDING, Vocabulary
from search.card import card

log = logging.getLogger("pipeline")

FORMAT = 1
SETTINGS, WEIGHTS, CARD = "model.json", "model.safetensors", "README.md"
HINT = "Make the bundle again with `python -m pipeline bundle`, or copy it again."

# What of a feature store's attributes says how photographs become features.
BACKBONE = (
    "backbone", "weights", "weights_sha256", "resize", "crop", "crops", "interpolation", "mean", "std",
    "precision", "crop_evaluation", "dimension",
)  # fmt: skip

UNNAMED = "none named"  # backbone, as import-features writes it where neither file nor settings name one


@dataclass(frozen=True)
class Bundle:
    """A bundle as it was read.

    model: on the CPU, in evaluation mode. backbone: how photographs become features, see `BACKBONE`; without
    `weights_sha256` only features can be embedded. test: recalls on the test split by language. digest: of
    all files.
    """

    folder: Path
    model: RetrievalModel
    saved: Saved
    vocabularies: dict[str, Vocabulary]
    backbone: dict[str, Any]
    test: dict[str, dict[str, Any]]
    digest: str

    @property
    def name(self) -> str:
        """Data set, experiment and seed."""
        settings = self.saved.settings
        return f"{settings['dataset']} {settings['experiment']} seed {settings['seed']}"


def write_bundle(
    model_file: Path,
    features: Path,
    words: Sequence[Path],
    sentences: Sequence[Path],
    evaluation: Path,
    data: Sequence[Mapping[str, str]],
    output: Path,
) -> None:
    """Write a trained model as a folder that needs nothing beside it.

    The folder is read back before it is kept: its recalls, computed from the captions as published, must be
    those of the evaluation to the last digit.

    Args:
        model_file: the trained model. features: what it was evaluated with. words: one vocabulary a language.
        sentences: own captions of its languages. evaluation: the JSON that `evaluate` wrote of own captions.
        data: what it was made of, for the model card: `what` and `licence` of each.

    Raises:
        InputError: the model reads sentence vectors of a BERT, or the files do not belong together.
    """
    model, saved = load_model(model_file)
    vocabularies = read_vocabularies(words, saved.settings["languages"])
    check_vocabularies(saved, vocabularies, model_file)
    if any(vocabulary.unit != "word" for vocabulary in vocabularies.values()):
        raise InputError(
            f"{model_file}: reads frozen sentence vectors of a BERT, which a bundle does not hold. Bundle a "
            "model that reads words."
        )
    evaluated = _evaluation(evaluation, saved)
    with atomic_folder(output, SETTINGS) as folder:
        weights = {name: value for name, value in model.state_dict().items() if not name.endswith(".initial")}
        # Layers that languages share are written once for each: the format holds no tensor twice.
        tensors = {name: value.contiguous().clone() for name, value in weights.items()}
        (folder / WEIGHTS).write_bytes(save(tensors))
        (folder / "words").mkdir()
        for language, vocabulary in vocabularies.items():
            text = "".join(f"{word}\n" for word in vocabulary.words[1:])
            (folder / "words" / f"{language}.txt").write_text(text, encoding="utf-8")
        values = {
            "format": FORMAT,
            "saved": vars(saved),
            "tokenizers": {language: _tokenizer_versions(language) for language in vocabularies},
            "backbone": backbone_of(features),
            "test": evaluated["test"],
            "intervals": _intervals(evaluation.with_name(evaluated["ranks"]), list(vocabularies)),
            "data": list(data),
            "files": {name: sha256(folder / name) for name in _file_names(vocabularies)},
        }
        _write_json(folder / SETTINGS, values)
        (folder / CARD).write_text(card(values), encoding="utf-8")
        _check_recalls(read_bundle(folder), sentences, features, evaluated["test"], evaluation)
    log.info("%s: %s, with the recalls of %s to the last digit", output, model_file, evaluation)


def read_bundle(folder: Path) -> Bundle:
    """Read a bundle; raises `InputError` where a file is missing, damaged or of a later format."""
    path = require_file(
        folder / SETTINGS, "the model", "Give the folder that `python -m pipeline bundle` wrote."
    )
    try:
        return _read(folder, path)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{path}: not a model of this project ({error!r}). {HINT}") from None


def _read(folder: Path, path: Path) -> Bundle:
    values = json.loads(path.read_text(encoding="utf-8"))
    if values["format"] != FORMAT:
        raise InputError(f"{path}: format {values['format']}, expected {FORMAT}. {HINT}")
    saved, files = Saved(**values["saved"]), dict(values["files"])
    wanted = _file_names(saved.settings["languages"])
    raise_together(_damaged(folder, files, wanted), f"{folder}: not a whole bundle. {HINT}")
    _warn_of_tokenizers(values["tokenizers"])
    vocabularies = {
        code: _read_words(folder / "words" / f"{code}.txt", code) for code in saved.settings["languages"]
    }
    model = _model(folder / WEIGHTS, saved)
    check_vocabularies(saved, vocabularies, path)
    return Bundle(folder, model, saved, vocabularies, values["backbone"], values["test"], sha256(path))


def recalls_on_test(bundle: Bundle, sentences: Sequence[Path], features: Path) -> dict[str, dict[str, float]]:
    """The six recalls and mR of each language on the test split, as `evaluate` computes them.

    Args:
        sentences: caption tables; their tokens are made anew by the bundle's tokenisers.
        features: store of the test images' features.
    """
    settings = bundle.saved.settings
    own = {
        language: with_tokens(table[table["split"] == "test"], language)
        for language, table in own_sentences(sentences, settings).items()
    }
    corpus = evaluation_corpus(own, bundle.vocabularies, settings, "test")
    add_features(corpus, features, settings)
    seen = embed_images(bundle.model, corpus)
    compare = partial(similarity, kind=bundle.model.similarity)
    found = {}
    for language, part in corpus.languages.items():
        gallery = gallery_of(part.image)
        said = embed_sentences(bundle.model, language, part)
        candidates = seen[torch.from_numpy(gallery.rows)]
        found[language] = recalls(both_ranks(candidates, said, torch.from_numpy(gallery.image_of), compare))
    return found


def _evaluation(path: Path, saved: Saved) -> dict[str, Any]:
    evaluated = read_evaluation(path)
    expected = {key: saved.settings[key] for key in ("scale", "dataset", "experiment", "seed")}
    expected |= {"queries": "original", "epoch": saved.epoch}
    wrong = [
        f"{key}: found {evaluated.get(key)!r}, expected {value!r}"
        for key, value in expected.items()
        if evaluated.get(key) != value
    ]
    raise_together(wrong, f"{path}: not the evaluation of this model on its own captions:")
    return evaluated


def backbone_of(features: Path) -> dict[str, Any]:
    """What a feature store says of how its features were made: the keys of `BACKBONE` that it has."""
    with (
        name_in_errors(features),
        h5py.File(require_file(features, "the feature store", "Extract it.")) as file,
    ):
        if "features" not in file or file["features"].ndim != 2:
            raise InputError(f"{features}: not a feature store; expected a dataset features (N, D).")
        dimension = {"dimension": file["features"].shape[1]}
        found = {key: _of_python(file.attrs[key]) for key in BACKBONE if key in file.attrs}
    if found.get("backbone") == UNNAMED:
        del found["backbone"]
    return dimension | found


def _of_python(attribute: Any) -> Any:
    """An attribute of HDF5 as JSON has it; MATLAB and others write text as bytes."""
    if isinstance(attribute, bytes):
        return attribute.decode("utf-8", "replace")
    return attribute.tolist() if isinstance(attribute, np.ndarray | np.generic) else attribute


def _intervals(ranks: Path, languages: Sequence[str]) -> dict[str, dict[str, tuple[float, float]]]:
    path = require_file(ranks, "the ranks", "Evaluate again.")
    table = pd.read_csv(path, dtype={"image": str}, keep_default_na=False)
    return {code: intervals(hits_by_image(table[table["language"] == code])) for code in languages}


def _check_recalls(
    bundle: Bundle,
    sentences: Sequence[Path],
    features: Path,
    expected: Mapping[str, Mapping[str, float]],
    evaluation: Path,
) -> None:
    found = recalls_on_test(bundle, sentences, features)
    wrong = [
        f"{language} {metric}: the bundle has {value!r}, the evaluation {expected[language][metric]!r}"
        for language, values in found.items()
        for metric, value in values.items()
        if value != expected[language][metric]
    ]
    raise_together(
        wrong,
        f"{evaluation}: the bundle's recalls differ from the evaluated model's. Evaluate again on this "
        "machine, with the packages installed here, and see that captions and features are those evaluated:",
    )


def _write_json(path: Path, values: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(values, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _file_names(languages: "Sequence[str] | Mapping[str, object]") -> list[str]:
    return [WEIGHTS, *(f"words/{language}.txt" for language in languages)]


def _damaged(folder: Path, files: Mapping[str, str], wanted: Sequence[str]) -> list[str]:
    mistakes = [f"{name}: {SETTINGS} names no digest of it" for name in wanted if name not in files]
    for name, digest in files.items():
        path = folder / name
        if name not in wanted:
            mistakes.append(f"{name}: {SETTINGS} names this file, expected {', '.join(wanted)} alone")
        elif not path.is_file():
            mistakes.append(f"{name}: is not there")
        elif sha256(path) != digest:
            mistakes.append(f"{name}: its sha256 is not the one in {SETTINGS}")
    return mistakes


def _read_words(path: Path, language: str) -> Vocabulary:
    words = path.read_text(encoding="utf-8").split("\n")[:-1]
    return Vocabulary(language, [PADDING, *words], np.zeros((len(words) + 1, 0), np.float32))


def _model(path: Path, saved: Saved) -> RetrievalModel:
    try:
        weights = load_file(path)
        model = of_shape(saved.settings, weights)
        missing, unexpected = model.load_state_dict(weights, strict=False)
    except (SafetensorError, LookupError, RuntimeError, OSError) as error:
        if disk_trouble(error):
            raise
        raise InputError(f"{path}: weights do not fit the settings beside them: {error}. {HINT}") from None
    if unexpected or not all(name.endswith(".initial") for name in missing):
        raise InputError(f"{path}: weights do not fit the settings beside them. {HINT}")
    return model.eval().requires_grad_(False)


def _tokenizer_versions(language: str) -> dict[str, str]:
    packages = TOKENIZERS[row_of(language).tokenizer].packages
    return {package: importlib.metadata.version(package) for package in packages}


def _warn_of_tokenizers(tokenizers: Mapping[str, Mapping[str, str]]) -> None:
    for language, trained in tokenizers.items():
        now = _tokenizer_versions(language)
        if now != trained:
            log.warning(
                "%s: tokenised by %s, here by %s; words that are tokenised differently are unknown",
                language,
                " ".join(f"{name} {version}" for name, version in trained.items()),
                " ".join(f"{name} {version}" for name, version in now.items()),
            )
