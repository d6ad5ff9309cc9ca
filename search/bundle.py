"""A trained model as one self-contained folder (docs/search.md).

| file               | what                                                                          |
|--------------------|-------------------------------------------------------------------------------|
| `model.safetensors`| the weights                                                                   |
| `words/XX.txt`     | the vocabulary of a language, one word per line: line 1 is row 1 of its table |
| `model.json`       | settings, tokenisers, backbone, recalls, and the digests of weights and words |
| `README.md`        | the model card                                                                |
"""

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.torch import load_file

from pipeline.common.errors import InputError, raise_together
from pipeline.common.files import reading, require_file, sha256
from pipeline.datasets.languages import tokenizer_versions
from pipeline.evaluation.checks import check_vocabularies
from pipeline.images.store import read_store
from pipeline.models.embedding import Sizes
from pipeline.models.model import ModelRecord, RetrievalModel
from pipeline.models.settings import SavedSettings
from pipeline.words.vocabulary import PADDING, Vocabulary

log = logging.getLogger("pipeline")

FORMAT = 1
SETTINGS, WEIGHTS, CARD = "model.json", "model.safetensors", "README.md"
HINT = "Make the bundle again with `python -m search write-bundle`, or copy it again."

# Attributes of a feature store that say how photographs become features.
BACKBONE_KEYS = (
    "backbone", "weights", "weights_sha256", "resize", "crop", "crops", "interpolation", "mean", "std",
    "precision", "crop_evaluation", "dimension",
)  # fmt: skip

UNNAMED = "none named"  # name of an unknown backbone, as import-features writes it


@dataclass(frozen=True)
class Bundle:
    """A bundle in memory.

    model: on the CPU, in evaluation mode. backbone: how photographs become features, see `BACKBONE_KEYS`;
    without `weights_sha256` only features can be embedded. test: recalls on the test split by language.
    digest: of all files.
    """

    folder: Path
    model: RetrievalModel
    record: ModelRecord
    vocabularies: dict[str, Vocabulary]
    backbone: dict[str, Any]
    test: dict[str, dict[str, Any]]
    digest: str

    @property
    def name(self) -> str:
        """Data set, experiment and seed."""
        settings = self.record.settings
        return f"{settings.dataset} {settings.experiment} seed {settings.seed}"


def read_bundle(folder: Path) -> Bundle:
    """Read a bundle; raises `InputError` if a file is missing, damaged or of another format."""
    path = require_file(
        folder / SETTINGS,
        "the model",
        f"Make it with `snakemake {folder}`, or give another folder that `write-bundle` wrote.",
    )
    try:
        return _read_checked(folder, path)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: not a model of this project ({error!r}). {HINT}") from None


def _read_checked(folder: Path, path: Path) -> Bundle:
    values = json.loads(path.read_bytes())
    if values["format"] != FORMAT:
        raise InputError(f"{path}: format {values['format']}, expected {FORMAT}. {HINT}")
    record, files = _record(values["saved"]), dict(values["files"])
    expected = file_names(record.settings.languages)
    raise_together(_file_mistakes(folder, files, expected), f"{folder}: not a whole bundle. {HINT}")
    _warn_of_tokenizers(values["tokenizers"])
    vocabularies = {
        code: _read_words(folder / "words" / f"{code}.txt", code) for code in record.settings.languages
    }
    model = _read_model(folder / WEIGHTS, values, record.settings)
    check_vocabularies(record, vocabularies, path)
    return Bundle(folder, model, record, vocabularies, values["backbone"], values["test"], sha256(path))


def _record(values: Mapping[str, Any]) -> ModelRecord:
    return ModelRecord(**{**values, "settings": SavedSettings.model_validate(values["settings"])})


def backbone_of(features: Path) -> dict[str, object]:
    """How the features of a store were made: the attributes among `BACKBONE_KEYS` that it has."""
    _, rows, found = read_store(features)
    dimension: dict[str, object] = {"dimension": rows.shape[1]}
    attributes = {key: _json_value(found[key]) for key in BACKBONE_KEYS if key in found}
    if attributes.get("backbone") == UNNAMED:
        del attributes["backbone"]
    return dimension | attributes


def _json_value(attribute: object) -> object:
    """An attribute of HDF5 as a value of JSON; MATLAB and others write text as bytes."""
    if isinstance(attribute, bytes):
        return attribute.decode("utf-8", "replace")
    return attribute.tolist() if isinstance(attribute, np.ndarray | np.generic) else attribute


def file_names(languages: Iterable[str]) -> list[str]:
    """The files whose digests `model.json` has."""
    return [WEIGHTS, *(f"words/{language}.txt" for language in languages)]


def _file_mistakes(folder: Path, files: Mapping[str, str], expected: Sequence[str]) -> list[str]:
    mistakes = [f"{name}: {SETTINGS} names no digest of it" for name in expected if name not in files]
    for name, digest in files.items():
        path = folder / name
        if name not in expected:
            mistakes.append(f"{name}: {SETTINGS} names this file, expected only {', '.join(expected)}")
        elif not path.is_file():
            mistakes.append(f"{name}: is not there")
        elif sha256(path) != digest:
            mistakes.append(f"{name}: its sha256 is not the one in {SETTINGS}")
    return mistakes


def _read_words(path: Path, language: str) -> Vocabulary:
    words = path.read_text(encoding="utf-8").split("\n")[:-1]
    return Vocabulary(language, [PADDING, *words], np.zeros((len(words) + 1, 0), np.float32))


def _read_model(path: Path, values: Mapping[str, Any], settings: SavedSettings) -> RetrievalModel:
    with reading(path, f"weights that fit the settings in {SETTINGS}", HINT):
        model = RetrievalModel(settings, Sizes(**values["sizes"]))
        model.load_state_dict(model.state_dict() | load_file(path))
    return model.eval().requires_grad_(False)


def _warn_of_tokenizers(tokenizers: Mapping[str, Mapping[str, str]]) -> None:
    for language, versions in tokenizers.items():
        versions_here = tokenizer_versions(language)
        if versions_here != versions:
            log.warning(
                "%s: tokenised by %s, here by %s; words that are tokenised differently will be unknown",
                language,
                " ".join(f"{name} {version}" for name, version in versions.items()),
                " ".join(f"{name} {version}" for name, version in versions_here.items()),
            )
