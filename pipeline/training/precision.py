"""Precision of the matrix products of a training step, for GPUs.

Validation is always computed in float32, because it selects the epoch.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from pipeline.common.errors import InputError

_CUDA: Any = torch.backends.cuda.matmul
_CUDNN: Any = torch.backends.cudnn


def set_precision(precision: str, device: torch.device) -> None:
    """Make float32 products exact, or TF32 if `precision` is tf32; a CPU only has float32."""
    if device.type == "cpu" and precision != "float32":
        raise InputError(
            f"training.precision: found {precision!r}, which needs a GPU, but none is available; set float32"
        )
    _set_products("tf32" if precision == "tf32" else "ieee")


@contextmanager
def exact_products() -> Iterator[None]:
    """Products inside are in float32, whatever the precision of training."""
    precision = _CUDA.fp32_precision
    _set_products("ieee")
    try:
        yield
    finally:
        _set_products(precision)


def _set_products(precision: str) -> None:
    # The older switches first: PyTorch refuses to read them if they contradict the newer switches.
    _CUDA.allow_tf32 = _CUDNN.allow_tf32 = precision == "tf32"
    for products in (_CUDA, _CUDNN.rnn, _CUDNN.conv):  # TF32 by default in cuDNN
        products.fp32_precision = precision
