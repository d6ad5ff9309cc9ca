"""Products of float32 matrices on a CPU, with oneDNN where PyTorch has it.

PyTorch's own `@` uses MKL, which reaches only half the speed of AMD processors (86 against 190 GFLOP/s with
AVX-512; benchmarks/README.md). PyTorch exposes oneDNN's product only through an operator of its compiler,
which this module uses.
"""

from typing import Any

import torch
from torch import Tensor

LARGE = 2**27  # multiply-adds, about two milliseconds; for each new shape, oneDNN compiles a kernel in 0.7 ms


def product(left: Tensor, right: Tensor) -> Tensor:
    """`left @ right.T` (R, C) of (R, k) and (C, k), without gradients."""
    if _by_onednn(left, right):
        result: Tensor = torch.ops.mkldnn._linear_pointwise(left, right, None, "none", [], "")
        return result
    return left @ right.T


def linear(vectors: Tensor, weight: Tensor) -> Tensor:
    """`vectors @ weight.T`, with gradients; all three products use `product`."""
    result: Tensor = _Linear.apply(vectors, weight)
    return result


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, vectors: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(vectors, weight)
        return product(vectors, weight)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        vectors, weight = ctx.saved_tensors
        return product(gradients[0], weight.T), product(vectors.T, gradients[0].T).T


def _by_onednn(left: Tensor, right: Tensor) -> bool:
    large = left.numel() * len(right) >= LARGE and left.dtype == torch.float32
    return large and left.device.type == "cpu" and torch.backends.mkldnn.is_available()
