"""The multimodal branches: sentences and images into one space (MULE, Figure 2, right half).

Sizes in comments: B sentences, W words of the longest of them, d universal size, e multimodal size, n images.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import PackedSequence

from pipeline.common.devices import to_device
from pipeline.models import prefixes
from pipeline.models.embedding import Words, linear
from pipeline.models.prefixes import prefix_tree
from pipeline.models.recurrent import Recurrent, recurrent_layer
from pipeline.models.settings import Model, ModelSettings


class RecurrentBranch(nn.Module):
    """Sentence branch: recurrent layer over universal word vectors, last hidden state, linear layer, L2.

    Without a size of the linear layer the state itself is the embedding, as in VSE.
    """

    def __init__(self, recurrent: Recurrent, multimodal: int | None):
        super().__init__()
        self.recurrent = recurrent
        self.projection = linear(recurrent.hidden_size, multimodal) if multimodal else nn.Identity()

    def forward(self, words: Words) -> Tensor:
        """Words of B sentences to unit vectors (B, e)."""
        return unit(self.projection(last_states(self.recurrent, words)))


class BidirectionalBranch(nn.Module):
    """Sentence branch: a bidirectional GRU whose two states at the last word are averaged, L2.

    The backward direction starts at the last word: its state there is a single step from zeros, so no other
    state is computed.
    """

    def __init__(self, size: int, hidden: int):
        super().__init__()
        self.recurrent = nn.GRU(size, hidden)
        self.backwards = nn.GRUCell(size, hidden)

    def forward(self, words: Words) -> Tensor:
        """Words of B sentences to unit vectors (B, hidden)."""
        last = to_device(words.rows[words.lengths.cumsum(0) - 1], words.vectors.device)
        backwards = self.backwards(words.vectors.index_select(0, last))
        return unit((last_states(self.recurrent, words) + backwards) / 2)


def last_states(recurrent: Recurrent, words: Words) -> Tensor:
    """Last states (B, hidden) of sentences.

    On a CPU, states after common prefixes of sentences are computed only once.
    """
    if words.vectors.device.type == "cpu" and isinstance(recurrent, nn.LSTM | nn.GRU):
        return prefixes.last_states(recurrent, words.vectors, prefix_tree(words.rows, words.lengths))
    return packed_states(recurrent, words.in_order(), words.lengths)


def packed_states(recurrent: Recurrent, words: Tensor, lengths: Tensor) -> Tensor:
    """Last states (B, hidden), by the layer itself, from the vectors (N, d) of all words in order."""
    order, places, sizes = packing(lengths)
    packed = words.index_select(0, to_device(places, words.device))
    _, state = recurrent(PackedSequence(packed, sizes))
    last: Tensor = state[0] if isinstance(state, tuple) else state  # (1, B, hidden); an LSTM adds its cell
    return last[0].index_select(0, to_device(order.argsort(), words.device))


def packing(lengths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The layout of a `PackedSequence`: sentences sorted by length; all first words, then all second, ...

    Computed from word counts (B,) on the CPU, so that nothing is padded and the GPU need not be synchronised.

    Returns:
        the sentences' order (B,), longest first; place (N,) of each packed word among the words of the
        sentences one after another; words (longest,) of each time step.
    """
    order = lengths.argsort(descending=True, stable=True)
    has = lengths[order] > torch.arange(int(lengths.max()))[:, None]  # (longest, B)
    step, rank = has.nonzero(as_tuple=True)
    first = lengths.cumsum(0) - lengths
    return order, first[order][rank] + step, has.sum(1)


class PooledBranch(nn.Module):
    """Sentence branch without recurrence: mean of the words, layers, L2.

    `mlp` is the text branch of Wang et al. (2019), of the same shape as MULE's image branch: linear, batch
    norm, ReLU, dropout, linear. `mean` is batch norm and one linear layer: MULE names mean-pooled features as
    the alternative that Wang et al. (2019) and Burns et al. (2019) found strong. All of it is linear before
    L2, so that a language's own layer can undo what sharing the branch changes: shared or separate, it
    represents the same functions. With `mlp`, sharing is a restriction, as it is with a recurrent layer: all
    languages have the same second layer, and with more hidden units than numbers in the universal embedding
    also the same subspace of inputs to the ReLU.
    """

    def __init__(self, *layers: nn.Module):
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, words: Words) -> Tensor:
        """Words of B sentences to unit vectors (B, e)."""
        return unit(self.layers(words.means))


class ImageBranch(nn.Module):
    """Image branch: layers, L2.

    Args:
        unit_features: whether features are scaled to length 1 first, as in VSE (Kiros et al. 2014).
    """

    def __init__(self, *layers: nn.Module, unit_features: bool = False):
        super().__init__()
        self.layers = nn.Sequential(*layers)
        self.unit_features = unit_features

    def forward(self, features: Tensor) -> Tensor:
        """CNN features (n, size) to unit vectors (n, e)."""
        return unit(self.layers(unit(features) if self.unit_features else features))


def unit(vectors: Tensor) -> Tensor:
    """Vectors (B, e) normalised to unit length."""
    return F.normalize(vectors, dim=-1)


def image_branch(size: int, model: Model) -> ImageBranch:
    """The image branch selected by `encoder` in the `model` settings: one linear layer, or MULE's layers."""
    if model.encoder == "vse":
        return ImageBranch(linear(size, model.hidden_size), unit_features=True)
    if model.encoder == "liwe":
        return ImageBranch(nn.Linear(size, model.hidden_size))
    return ImageBranch(*hidden_layers(size, model.image_hidden_size, model))


def hidden_layers(size: int, hidden: int, model: Model) -> nn.Sequential:
    """EmbN's pair of linear layers: "separated by a ReLU non-linearity", with batch norm and dropout."""
    return nn.Sequential(
        linear(size, hidden),
        nn.BatchNorm1d(hidden, momentum=model.batch_norm_momentum),
        nn.ReLU(),
        nn.Dropout(model.dropout),
        linear(hidden, model.multimodal_dim),
    )


def sentence_branch(words: int, settings: ModelSettings) -> nn.Module:
    """The sentence branch selected by `encoder` and `recurrent` in the `model` settings.

    Args:
        words: size of a word vector, which VSE reads instead of the universal vector.
    """
    model = settings.model
    if model.encoder == "vse":
        return RecurrentBranch(recurrent_layer(words, model), None)
    if model.encoder == "liwe":
        assert settings.liwe
        return BidirectionalBranch(settings.liwe.layers[-1], model.hidden_size)
    size, multimodal, momentum = model.universal_dim, model.multimodal_dim, model.batch_norm_momentum
    if model.recurrent == "mean":
        return PooledBranch(nn.BatchNorm1d(size, momentum=momentum), linear(size, multimodal))
    if model.recurrent == "mlp":
        return PooledBranch(*hidden_layers(size, model.hidden_size, model))
    return RecurrentBranch(recurrent_layer(size, model), multimodal)
