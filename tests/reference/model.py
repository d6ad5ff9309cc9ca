"""MULE's model, EmbN, PARALLEL-EmbN and VSE (MULE, Figure 2, "Implementation Details")."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from reference.layers import Weights, batch_norm, gru, linear, lstm, unit

Settings = Mapping[str, Any]
Sentences = Mapping[str, list[list[int]]]  # word ids by language
WordVectors = Callable[[Weights, Settings, str, list[list[int]]], tuple[Tensor, Tensor, Tensor]]


def pad(sentences: list[list[int]]) -> tuple[Tensor, Tensor]:
    """Word ids (B, W), and word counts (B,)."""
    lengths = torch.tensor([len(ids) for ids in sentences])
    longest = int(lengths.max())
    return torch.tensor([ids + [0] * (longest - len(ids)) for ids in sentences]), lengths


def universal_words(
    weights: Weights, model: Settings, language: str, sentences: list[list[int]]
) -> tuple[Tensor, Tensor, Tensor]:
    """Universal word vectors (B, W, d), word counts (B,), and a sentence's mean over its words (B, d).

    In the authors' code the mean runs over a row as long as the language's longest sentence for training, and
    padding learns. VSE has no universal embedding: its words are read as they are.
    """
    name, embn = f"universal.{language}", model["encoder"] == "embn"
    ids, lengths = pad(sentences)
    vectors = weights[f"{name}.table.weight"][ids]
    words = linear(weights, f"{name}.projection", vectors) if embn else vectors
    real = (torch.arange(ids.shape[1]) < lengths[:, None])[:, :, None]
    total, count = (words * real).sum(1), lengths[:, None]
    if model["universal_mean"] == "padded":
        padding = linear(weights, f"{name}.projection", weights[f"{name}.table.weight"][:1])
        languages = [part.split(".")[1] for part in weights if part.endswith(".table.weight")]
        longest = int(weights["universal.padded_to"][languages.index(language)])
        rest = (longest - count).clamp(min=0)
        total, count = total + rest * padding, count + rest
    return words, lengths, total / count


def embed_sentences(
    weights: Weights,
    settings: Settings,
    sentences: Sentences,
    training: bool,
    word_vectors: WordVectors = universal_words,
) -> dict[str, tuple[Tensor, Tensor]]:
    """u (B, d) and s (B, e) of each language's sentences.

    u is the mean of a sentence's universal word vectors. s is the sentence branch's last hidden state through
    a linear layer, which VSE does not have.
    """
    model = settings["model"]
    means, multimodal = {}, {}
    for language, of_language in sentences.items():
        words, lengths, means[language] = word_vectors(weights, model, language, of_language)
        if model["recurrent"] != "mean":
            branch = f"branches.{'shared' if settings['branches'] == 'shared' else language}"
            state = last_state(weights, f"{branch}.recurrent", words, lengths, model["recurrent"])
            embedded = linear(weights, f"{branch}.projection", state) if model["encoder"] == "embn" else state
            multimodal[language] = unit(embedded)
    if model["recurrent"] == "mean":
        multimodal = mean_branch(weights, means, training, model["batch_norm_momentum"])
    if model["similarity"] == "order":
        multimodal = {language: vectors.abs() for language, vectors in multimodal.items()}
    return {language: (unit(means[language]), multimodal[language]) for language in sentences}


def last_state(weights: Weights, name: str, words: Tensor, lengths: Tensor, kind: str) -> Tensor:
    if kind == "lstm":
        return lstm(weights, name, words, lengths)
    return gru(weights, name, words, lengths, kind == "gru_reset_before")


def mean_branch(
    weights: Weights, means: dict[str, Tensor], training: bool, momentum: float
) -> dict[str, Tensor]:
    """Without recurrence: batch norm over the sentences of all languages, linear layer, length 1."""
    normed = batch_norm(
        weights, "branches.shared.layers.0", torch.cat(list(means.values())), training, momentum
    )
    rows = unit(linear(weights, "branches.shared.layers.1", normed)).split([len(m) for m in means.values()])
    return dict(zip(means, rows, strict=True))


def embed_images(weights: Weights, settings: Settings, features: Tensor, training: bool = False) -> Tensor:
    """f (n, e): two fully connected layers "separated with a ReLU non-linearity and use batch normalization".

    VSE has one layer. The paper's dropout between the layers is left out.
    """
    model = settings["model"]
    if model["encoder"] == "vse":
        embedded = unit(linear(weights, "image_branch.layers.0", unit(features)))
        return embedded.abs() if model["similarity"] == "order" else embedded
    hidden = linear(weights, "image_branch.layers.0", features)
    momentum = model["batch_norm_momentum"]
    active = batch_norm(weights, "image_branch.layers.1", hidden, training, momentum).clamp(min=0)
    return unit(linear(weights, "image_branch.layers.4", active))
