"""A trained model as a file: weights, settings, and the selected epoch."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from pipeline.common.files import reading, require_file
from pipeline.common.torch_files import read_torch, write_torch
from pipeline.models.build import build, encoder
from pipeline.models.retrieval_model import RetrievalModel
from pipeline.models.settings import ModelSettings, SavedSettings


@dataclass
class ModelRecord:
    """Contents of a model file besides the weights.

    settings: of the training. vocabularies: digest of each language's words.
    epoch: the best epoch, from 1. validation: mR of each language on the validation split at that epoch.
    training_captions: number of its training images' captions, for each language by origin; the few without a
    known word, which training leaves out, count.
    training_translations: how many of them are added translations, for each pair of languages (`en-de`) by
    origin.
    training_steps: batches of the whole training, without pretraining. training_groups: images of each group
    that a batch draws from equally; a single group where images are not grouped.
    """

    settings: SavedSettings
    vocabularies: dict[str, str]
    epoch: int
    validation: dict[str, float]
    training_captions: dict[str, dict[str, int]]
    training_translations: dict[str, dict[str, int]]
    training_steps: int
    training_groups: list[int]

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> "ModelRecord":
        """The contents from plain values; raises `LookupError`, `TypeError` or `ValueError`."""
        return cls(**{**values, "settings": SavedSettings.model_validate(values["settings"])})

    def as_values(self) -> dict[str, object]:
        """The contents as plain values."""
        return {**vars(self), "settings": self.settings.as_values()}


def save_model(path: Path, model: RetrievalModel, record: ModelRecord) -> None:
    """Write a model, completely or not at all."""
    weights = {name: value.cpu() for name, value in model.state_dict().items() if not _of_training(name)}
    # Through JSON: a pickle records which equal strings are one object, which a resumed run changes.
    write_torch({"weights": weights, **json.loads(json.dumps(record.as_values()))}, path)


def load_model(path: Path) -> tuple[RetrievalModel, ModelRecord]:
    """Load a model on the CPU; raises `InputError` if the file is missing or damaged."""
    require_file(path, "the trained model", "Run its training.")
    content = read_torch(path, "a model of this project", "Delete it and train again.")
    with reading(path, "a model of this project", "Delete it and train again."):
        weights = content.pop("weights")
        record = ModelRecord.from_values(content)
        return model_with(weights, record.settings), record


def model_with(weights: dict[str, torch.Tensor], settings: ModelSettings) -> RetrievalModel:
    """The model that has some weights; raises `LookupError` or `RuntimeError` if they do not fit it."""
    model = build(settings, encoder(settings).sizes(settings, weights))
    missing, unexpected = model.load_state_dict(weights, strict=False)
    if misfits := [*unexpected, *(name for name in missing if not _of_training(name))]:
        raise LookupError(f"missing or unexpected: {', '.join(misfits)}")
    return model


def _of_training(name: str) -> bool:
    """Whether a tensor is needed only for training: initial word tables, weights of losses."""
    return name.endswith(".initial") or name.startswith("losses.")


def vocabulary_digest(words: list[str]) -> str:
    """Digest of a vocabulary: a model can only be used with the words it was trained with."""
    return hashlib.sha256("\n".join(words).encode()).hexdigest()
