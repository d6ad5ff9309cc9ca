"""The recurrent layers of a sentence branch, and the initialisation of their weights.

PyTorch's own, and the GRU of the MULE authors' framework (TensorFlow 1.2), which differs: its reset gate is
applied to the state before the product (Cho et al. 2014), in PyTorch and cuDNN after it.

Sizes in comments: N words of B sentences, n of them of one time step, h hidden size.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import PackedSequence

from pipeline.models.settings import Model


class ResetBeforeGRU(nn.Module):
    """A GRU whose candidate state is tanh(W x + U (r * h) + b); weights are laid out as in `nn.GRU`.

    Initialised like `nn.GRU`, but with one bias instead of two.
    """

    def __init__(self, input_size: int, hidden_size: int):
        super().__init__()
        self.hidden_size = hidden_size
        self.weight_ih_l0 = nn.Parameter(torch.empty(3 * hidden_size, input_size))  # gates: reset, keep, new
        self.weight_hh_l0 = nn.Parameter(torch.empty(3 * hidden_size, hidden_size))
        self.bias_ih_l0 = nn.Parameter(torch.empty(3 * hidden_size))
        for weight in self.parameters():
            nn.init.uniform_(weight, -1 / math.sqrt(hidden_size), 1 / math.sqrt(hidden_size))

    def forward(self, words: PackedSequence) -> tuple[Tensor, Tensor]:
        """The last states, the second output of `nn.GRU`: (1, B, h), in the order of the packed sentences."""
        inputs = F.linear(words.data, self.weight_ih_l0, self.bias_ih_l0)  # (N, 3h)
        to_gates, to_new = self.weight_hh_l0.split([2 * self.hidden_size, self.hidden_size])
        sizes = words.batch_sizes.tolist()  # always on the CPU
        state = inputs.new_zeros(sizes[0], self.hidden_size)
        for step in inputs.split(sizes):
            running, finished = state[: len(step)], state[len(step) :]
            gates, candidate = step.split([2 * self.hidden_size, self.hidden_size], 1)
            reset, keep = (gates + running @ to_gates.T).sigmoid().chunk(2, 1)  # (n, h)
            candidate = (candidate + (reset * running) @ to_new.T).tanh()
            state = torch.cat([keep * running + (1 - keep) * candidate, finished])
        return state, state[None]


Recurrent = nn.LSTM | nn.GRU | ResetBeforeGRU


def recurrent_layer(size: int, model: Model) -> Recurrent:
    """The layer selected by the `model` settings.

    Args:
        size: of a word vector that it reads.
    """
    layer: Recurrent
    if model.recurrent == "gru_reset_before":
        layer = ResetBeforeGRU(size, model.hidden_size)
    else:
        cell = {"lstm": nn.LSTM, "gru": nn.GRU}[model.recurrent]
        layer = cell(size, model.hidden_size, batch_first=True)
    if model.recurrent_init == "tensorflow":
        _begin_as_tensorflow(layer)
    return layer


@torch.no_grad()
def _begin_as_tensorflow(layer: Recurrent) -> None:
    """Glorot uniform kernels, and zero biases except 1 for gates of the state (TensorFlow 1.2).

    There, a kernel is one matrix for word and state together: for all gates of an LSTM (LSTMCell, forget_bias
    1); for a GRU, one for the two gates (initial bias 1) and a separate one for the candidate state
    (GRUCell).
    """
    hidden = layer.hidden_size
    kernels = [4 * hidden] if isinstance(layer, nn.LSTM) else [2 * hidden, hidden]
    weights = layer.get_parameter("weight_ih_l0"), layer.get_parameter("weight_hh_l0")
    for kernel_pair in zip(*(weight.split(kernels) for weight in weights), strict=True):
        limit = math.sqrt(6 / (sum(kernel.shape[1] for kernel in kernel_pair) + len(kernel_pair[0])))
        for kernel in kernel_pair:
            kernel.uniform_(-limit, limit)
    for name, bias in layer.named_parameters():
        if name.startswith("bias"):
            bias.zero_()
    # PyTorch's gates: input, forget, cell, output of an LSTM; reset, keep, new of a GRU.
    gate = slice(hidden, 2 * hidden) if isinstance(layer, nn.LSTM) else slice(0, 2 * hidden)
    layer.get_parameter("bias_ih_l0")[gate] = 1.0
