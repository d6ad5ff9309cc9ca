"""The multimodal branches: sentences and images into one space (MULE, Figure 2, right half).

Sizes in comments: B sentences, W words of the longest of them, d universal size, e multimodal size, n images.
"""

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence

from pipeline.models.universal import linear, mean_of_words


class RecurrentBranch(nn.Module):
    """Sentence branch: recurrent layer over universal word vectors, last hidden state, linear layer, L2."""

    def __init__(self, cell: type[nn.LSTM] | type[nn.GRU], size: int, hidden: int, multimodal: int):
        super().__init__()
        self.recurrent = cell(size, hidden, batch_first=True)
        self.projection = linear(hidden, multimodal)

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Universal word vectors (B, W, d) and word counts (B,) to unit vectors (B, e)."""
        packed = pack_padded_sequence(words, lengths.cpu(), batch_first=True, enforce_sorted=False)
        _, state = self.recurrent(packed)
        last = state[0] if isinstance(state, tuple) else state  # (1, B, hidden); an LSTM adds its cell
        return F.normalize(self.projection(last[0]), dim=-1)


class MeanBranch(nn.Module):
    """Sentence branch without recurrence: mean of the words and a pair of linear layers.

    MULE names it as the alternative that Wang et al. (2019) and Burns et al. (2019) found strong.
    """

    def __init__(self, size: int, hidden: int, multimodal: int, dropout: float, momentum: float):
        super().__init__()
        self.layers = _two_layers(size, hidden, multimodal, dropout, momentum)

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Universal word vectors (B, W, d) and word counts (B,) to unit vectors (B, e)."""
        return F.normalize(self.layers(mean_of_words(words, lengths)), dim=-1)


class ImageBranch(nn.Module):
    """Image features (n, 2048) to unit vectors (n, e): linear, batch norm, ReLU, dropout, linear, L2."""

    def __init__(self, size: int, hidden: int, multimodal: int, dropout: float, momentum: float):
        super().__init__()
        self.layers = _two_layers(size, hidden, multimodal, dropout, momentum)

    def forward(self, features: Tensor) -> Tensor:
        """CNN features (n, size) to unit vectors (n, e)."""
        return F.normalize(self.layers(features), dim=-1)


def _two_layers(size: int, hidden: int, out: int, dropout: float, momentum: float) -> nn.Sequential:
    return nn.Sequential(
        linear(size, hidden),
        nn.BatchNorm1d(hidden, momentum=momentum),
        nn.ReLU(),
        nn.Dropout(dropout),
        linear(hidden, out),
    )


def sentence_branch(model: Mapping[str, Any]) -> nn.Module:
    """The sentence branch that the `model` settings ask for by `recurrent`: lstm, gru or mean."""
    if model["recurrent"] == "mean":
        return MeanBranch(
            model["universal"],
            model["hidden"],
            model["multimodal"],
            model["dropout"],
            model["batch_norm_momentum"],
        )
    cell = {"lstm": nn.LSTM, "gru": nn.GRU}[model["recurrent"]]
    return RecurrentBranch(cell, model["universal"], model["hidden"], model["multimodal"])
