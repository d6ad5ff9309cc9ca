"""Layers as their papers define them, with weights by their names in the model file."""

import torch
from torch import Tensor

Weights = dict[str, Tensor]


def unit(vectors: Tensor) -> Tensor:
    """Vectors (B, d) at length 1."""
    return vectors / vectors.square().sum(1, keepdim=True).sqrt()


def linear(weights: Weights, name: str, vectors: Tensor) -> Tensor:
    return vectors @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def batch_norm(weights: Weights, name: str, vectors: Tensor, training: bool, momentum: float) -> Tensor:
    """Ioffe and Szegedy (2015): the batch's statistics, and their running means for evaluation."""
    mean, variance = weights[f"{name}.running_mean"], weights[f"{name}.running_var"]
    if training:
        count = len(vectors)
        of_batch = vectors.mean(0), (vectors - vectors.mean(0)).square().mean(0)
        with torch.no_grad():
            weights[f"{name}.running_mean"] = (1 - momentum) * mean + momentum * of_batch[0]
            unbiased = of_batch[1] * count / (count - 1)
            weights[f"{name}.running_var"] = (1 - momentum) * variance + momentum * unbiased
            weights[f"{name}.num_batches_tracked"] = weights[f"{name}.num_batches_tracked"] + 1
        mean, variance = of_batch
    return weights[f"{name}.weight"] * (vectors - mean) / (variance + 1e-5).sqrt() + weights[f"{name}.bias"]


def lstm(weights: Weights, name: str, words: Tensor, lengths: Tensor) -> Tensor:
    """Last states (B, h) over words (B, W, d); rows of the weights: input, forget, cell, output gate."""
    state = cell = words.new_zeros(len(words), weights[f"{name}.weight_hh_l0"].shape[1])
    for time in range(words.shape[1]):
        gates = words[:, time] @ weights[f"{name}.weight_ih_l0"].T + weights[f"{name}.bias_ih_l0"]
        gates = gates + state @ weights[f"{name}.weight_hh_l0"].T + weights[f"{name}.bias_hh_l0"]
        enter, forget, content, out = gates.chunk(4, 1)
        next_cell = forget.sigmoid() * cell + enter.sigmoid() * content.tanh()
        goes_on = (time < lengths)[:, None]
        cell = torch.where(goes_on, next_cell, cell)
        state = torch.where(goes_on, out.sigmoid() * next_cell.tanh(), state)
    return state


def gru(weights: Weights, name: str, words: Tensor, lengths: Tensor, reset_before: bool) -> Tensor:
    """Last states of a GRU (reset, keep, content).

    Cho et al. (2014) reset before the product, PyTorch after it.
    """
    recurrent = weights[f"{name}.weight_hh_l0"]
    size = recurrent.shape[1]
    bias = weights.get(f"{name}.bias_hh_l0", torch.zeros(3 * size, dtype=torch.double))
    state = words.new_zeros(len(words), size)
    for time in range(words.shape[1]):
        of_word = words[:, time] @ weights[f"{name}.weight_ih_l0"].T + weights[f"{name}.bias_ih_l0"]
        of_state = state @ recurrent.T + bias
        reset = (of_word[:, :size] + of_state[:, :size]).sigmoid()
        keep = (of_word[:, size : 2 * size] + of_state[:, size : 2 * size]).sigmoid()
        content = reset * of_state[:, 2 * size :]
        if reset_before:
            content = (reset * state) @ recurrent[2 * size :].T
        next_state = keep * state + (1 - keep) * (of_word[:, 2 * size :] + content).tanh()
        state = torch.where((time < lengths)[:, None], next_state, state)
    return state
