"""Number of parameters of a model for given vocabularies, counted on the model without allocating it."""

from collections.abc import Mapping
from typing import Any

import torch

from pipeline import registry as parts
from pipeline.models.consistency import Combiner
from pipeline.models.hybrid import HybridEmbedding, Places
from pipeline.models.retrieval_model import RetrievalModel, count_parameters

WORD_VECTOR = 300  # numbers of a FastText vector
IMAGE_FEATURES = 2048

Sizes = dict[str, int]


def trainable(settings: Mapping[str, Any], words: Mapping[str, int], entries: int = 0) -> Sizes:
    """Trainable parameters by part, whose sum is the model's.

    Args:
        settings: of a training, as `configuration.experiment_settings` gives them.
        words: size of each language's vocabulary, without padding.
        entries: number of latent entries in use, for a hybrid embedding.

    Returns:
        words: tables of word vectors, own ones alone of a hybrid embedding (padding's row is no parameter).
        entries: latent vocabulary, with MASK. layers: from word vectors into the universal embedding.
        sentences, images: the branches. classifier: of languages. losses: weights of losses.
    """
    model = _built(settings, words, entries)
    tables = {name: len(part) for name, part in model.universal.named_parameters() if "table" in name}
    width = settings["hybrid"]["frequent_dim"] if settings.get("embedding") == "hybrid" else WORD_VECTOR
    padded = 0 if settings.get("embedding") == "hybrid" else len(tables)
    shared = model.universal.get_submodule("entries") if settings.get("embedding") == "hybrid" else None
    return {
        "words": width * (sum(tables.values()) - padded),
        "entries": count_parameters(shared) - settings["model"]["universal_dim"] if shared else 0,
        "layers": sum(weight.numel() for weight in model.universal.projections()),
        "sentences": count_parameters(model.branches),
        "images": count_parameters(model.image_branch),
        "classifier": count_parameters(model.classifier) if settings["classifier"] else 0,
        "losses": count_parameters(model.losses),
    }


def of_losses(settings: Mapping[str, Any]) -> int:
    """Weights of an experiment's losses, which are trained with the model and not saved with it."""
    with torch.device("meta"):
        made = [loss.layers(settings) for loss in parts.losses(settings).values() if hasattr(loss, "layers")]
    return sum(map(count_parameters, made))


def at_test_time(settings: Mapping[str, Any], words: Mapping[str, int], hidden: int = 0) -> Sizes:
    """Parameters needed for a query if the universal vectors of all words are precomputed.

    Args:
        hidden: units of the network that combines languages (CLC-C), 0 for none.
    """
    model = _built(settings, words, 1)
    combiner = count_parameters(Combiner(len(words), hidden, 1.0)) if hidden else 0
    return {
        "sentences": count_parameters(model.branches),
        "images": count_parameters(model.image_branch),
        "consistency": combiner,
    }


def _built(settings: Mapping[str, Any], words: Mapping[str, int], entries: int) -> RetrievalModel:
    with torch.device("meta"):
        vectors = {language: torch.zeros(count + 1, WORD_VECTOR) for language, count in words.items()}
        hybrid = settings.get("embedding") == "hybrid"
        embedding = _hybrid(settings, words, entries) if hybrid else None
        model = RetrievalModel(vectors, IMAGE_FEATURES, settings["branches"], settings["model"], embedding)
        for name, loss in parts.losses(settings).items():
            if hasattr(loss, "layers"):
                model.losses[name] = loss.layers(settings)
    return model


def _hybrid(settings: Mapping[str, Any], words: Mapping[str, int], entries: int) -> HybridEmbedding:
    most, size = settings["hybrid"]["frequent_words"], settings["hybrid"]["frequent_dim"]
    nowhere = {key: torch.zeros(count + 1, dtype=torch.long) for key, count in words.items()}
    return HybridEmbedding(
        {key: torch.zeros(min(most, count), size) for key, count in words.items()},
        {key: Places(rows, rows) for key, rows in nowhere.items()},
        torch.zeros(entries, settings["model"]["universal_dim"]),
        bool(settings.get("masking")),
    )
