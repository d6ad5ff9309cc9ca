"""What a training step gives a GPU to do: operators that reach the device, counted without a GPU.

A step runs on PyTorch's meta device, whose tensors have sizes and no numbers, as it would on a GPU. Every
operator that computes or copies there counts once; views, and whatever stays on the CPU, do not. cuDNN's
recurrent layers, which the meta device lacks, count as one operator forward and one backward.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor, nn
from torch.nn.modules import rnn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

META = torch.device("meta")


class Launches(TorchDispatchMode):
    """Counts by name the operators on the meta device whose result is not a view, while it is active."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.counts: Counter[str] = Counter()

    @property
    def total(self) -> int:
        """All operators."""
        return sum(self.counts.values())

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        results = func(*args, **(kwargs or {}))
        used = [leaf for leaf in tree_leaves([args, kwargs, results]) if isinstance(leaf, Tensor)]
        if any(tensor.device == META for tensor in used) and not _only_views(func):
            self.counts[func.overloadpacket.__name__] += 1
        return results


def _only_views(operator: Any) -> bool:
    """Whether an operator computes nothing: its results are views of its inputs, or unwritten memory."""
    schema = operator._schema
    aliases = [result.alias_info is not None for result in schema.returns]
    writes = any(argument.alias_info and argument.alias_info.is_write for argument in schema.arguments)
    nothing = operator.overloadpacket.__name__.startswith(("empty", "new_empty", "_unsafe_view"))
    return nothing or (bool(aliases) and all(aliases) and not writes)


def count_step(terms: Callable[[], dict[str, Tensor]], model: nn.Module) -> tuple[Launches, Launches]:
    """The operators of a step's losses and of their gradients; the model is on the meta device.

    Args:
        terms: the terms of the loss, by name.
    """
    model.zero_grad()
    with as_on_a_gpu():
        with Launches() as forward:
            loss = torch.stack(list(terms().values())).sum()
        with Launches() as backward:
            loss.backward()
    return forward, backward


@contextmanager
def as_on_a_gpu() -> Iterator[None]:
    """Recurrent layers are one operator each way, and memory need not be pinned for the meta device."""
    with patch.object(rnn, "_VF", _Recurrent), patch.object(Tensor, "pin_memory", lambda tensor: tensor):
        yield


class _Recurrent:
    """In the place of `torch._VF`, for packed sequences of one layer without dropout."""

    @staticmethod
    def lstm(
        data: Tensor, sizes: Tensor, state: object, weights: list[Tensor], *rest: object
    ) -> tuple[Tensor, ...]:
        states, last = _Layer.apply(data, sizes, *weights)
        return states, last, last

    @staticmethod
    def gru(
        data: Tensor, sizes: Tensor, state: object, weights: list[Tensor], *rest: object
    ) -> tuple[Tensor, ...]:
        states, last = _Layer.apply(data, sizes, *weights)
        return states, last


class _Layer(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, data: Tensor, sizes: Tensor, *weights: Tensor) -> tuple[Tensor, Tensor]:
        ctx.save_for_backward(data, *weights)
        hidden = weights[1].shape[1]
        return data.new_zeros(len(data), hidden), data.new_empty(1, int(sizes[0]), hidden)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        data, *weights = ctx.saved_tensors
        return torch.zeros_like(data), None, *map(torch.empty_like, weights)
