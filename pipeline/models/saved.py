"""A trained model as a file: weights, settings, and the selected epoch."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from pipeline import registry as parts
from pipeline.common.errors import InputError
from pipeline.common.files import atomic_write, require_file
from pipeline.common.torch_files import read_torch
from pipeline.models.retrieval_model import RetrievalModel
from pipeline.models.universal import UniversalEmbedding


@dataclass
class Saved:
    """Contents of a model file besides the weights.

    settings: of the experiment. vocabularies: digest of each language's words.
    epoch: the kept one, from 1. validation: mR of each language on the validation split at that epoch.
    training_captions: captions that it was trained on, of each language by origin.
    training_translations: those of them that are translations added to the data set's own, of each pair of
    languages (`en-de`) by origin.
    """

    settings: dict[str, Any]
    vocabularies: dict[str, str]
    epoch: int
    validation: dict[str, float]
    training_captions: dict[str, dict[str, int]]
    training_translations: dict[str, dict[str, int]]


def save_model(path: Path, model: RetrievalModel, saved: Saved) -> None:
    """Write a model, completely or not at all."""
    weights = {name: value.cpu() for name, value in model.state_dict().items() if not _of_training(name)}
    # A pickle also says which equal texts are one object; in a run gone on from a checkpoint others are.
    said = json.loads(json.dumps(vars(saved)))
    with atomic_write(path) as temporary, open(temporary, "wb") as file:
        # Given a path, it would write the temporary name into the file.
        torch.save({"weights": weights, **said}, file)


def load_model(path: Path) -> tuple[RetrievalModel, Saved]:
    """Load a model on the CPU; raises `InputError` if the file is missing or damaged."""
    require_file(path, "the trained model", "Run its training.")
    content = read_torch(path, "a model of this project", "Delete it and train again.")
    try:
        weights = content.pop("weights")
        saved = Saved(**content)
    except (LookupError, TypeError) as error:
        raise InputError(
            f"{path}: not a model of this project ({error}). Delete it and train again."
        ) from None
    model = of_shape(saved.settings, weights)
    missing, unexpected = model.load_state_dict(weights, strict=False)
    if unexpected or not all(map(_of_training, missing)):
        raise InputError(f"{path}: weights do not fit the settings beside them. Delete it and train again.")
    return model, saved


def of_shape(settings: dict[str, Any], weights: dict[str, torch.Tensor]) -> RetrievalModel:
    """A model of the settings, of the sizes that its saved weights have; they are not loaded."""
    languages, features = settings["languages"], weights["image_branch.layers.0.weight"].shape[1]
    if encoder := parts.encoder(settings):
        model: RetrievalModel = encoder.empty(weights, features, settings)
        return model
    tables = {code: torch.zeros_like(weights[f"universal.{code}.table.weight"]) for code in languages}
    if other := parts.embedding(settings):
        embedding = other.empty(weights, settings)
    elif other := parts.reduction(settings):
        mapped = {code: weights.get(f"universal.english_{code}") for code in languages}
        english = {code: rows for code, rows in mapped.items() if rows is not None}
        embedding = other.universal_embedding(tables, english, settings["model"])
    else:
        embedding = UniversalEmbedding(tables, settings["model"])
    return RetrievalModel(tables, features, settings["branches"], settings["model"], embedding)


def _of_training(name: str) -> bool:
    """Whether a tensor is needed only for training: initial word tables, weights of losses."""
    return name.endswith(".initial") or name.startswith("losses.")


def vocabulary_digest(words: list[str]) -> str:
    """Digest of a vocabulary: a model can only be used with the words it was trained with."""
    return hashlib.sha256("\n".join(words).encode()).hexdigest()
