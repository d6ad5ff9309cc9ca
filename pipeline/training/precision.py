"""Precision of the matrix products of a training step, for GPUs.

Validation is always computed in float32, because it selects the epoch.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch

from pipeline.common.errors import InputError

_CUDA: Any = torch.backends.cuda.matmul
_CUDNN: Any = torch.backends.cudnn


def set_precision(precision: str, device: torch.device) -> None:
    """Make float32 products exact, or TF32 if `precision` is tf32; a CPU only has float32.

    Under bfloat16 recurrent layers multiply in TF32, see `RecurrentBranch`.
    """
    if device.type == "cpu" and precision != "float32":
        raise InputError(
            f"training.precision: found {precision!r}, which needs a GPU, but none is available; set float32"
        )
    matmul = "tf32" if precision == "tf32" else "ieee"
    _products(matmul, "ieee" if precision == "float32" else "tf32")


def embedding_precision(precision: str, device: torch.device) -> AbstractContextManager[object]:
    """Context for embedding sentences and images: bfloat16 products if configured; losses are unaffected."""
    return torch.autocast(device.type, torch.bfloat16) if precision == "bfloat16" else nullcontext()


@contextmanager
def exact_products() -> Iterator[None]:
    """Products inside are in float32, whatever the precision of training."""
    precisions = _CUDA.fp32_precision, _CUDNN.rnn.fp32_precision
    _products("ieee", "ieee")
    try:
        yield
    finally:
        _products(*precisions)


def _products(matmul: str, recurrent: str) -> None:
    # The older switches first: PyTorch refuses to read them if they contradict the newer switches.
    _CUDA.allow_tf32, _CUDNN.allow_tf32 = matmul == "tf32", recurrent == "tf32"
    _CUDA.fp32_precision = matmul
    _CUDNN.rnn.fp32_precision = recurrent  # TF32 by default
    _CUDNN.conv.fp32_precision = recurrent
