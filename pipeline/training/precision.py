"""How exactly the products of a training step are computed: a switch for GPUs.

Validation is computed in float32 whatever the switch says: it chooses the epoch, and evaluation, which
computes it again, must find the same.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import torch

from pipeline.errors import InputError


def set_precision(precision: str, device: torch.device) -> None:
    """Make float32 products exact, or TF32 where `precision` is tf32; a CPU knows float32 alone."""
    if device.type == "cpu" and precision != "float32":
        raise InputError(
            f"training.precision: found {precision!r}, which needs a GPU, and there is none here; set float32"
        )
    _products("tf32" if precision == "tf32" else "ieee")


def embedding_precision(precision: str, device: torch.device) -> AbstractContextManager[object]:
    """Where sentences and images are embedded: bfloat16 products if asked for; losses are kept out of it."""
    return torch.autocast(device.type, torch.bfloat16) if precision == "bfloat16" else nullcontext()


@contextmanager
def exact() -> Iterator[None]:
    """Float32 products inside, whatever training uses."""
    before = torch.backends.cuda.matmul.fp32_precision
    _products("ieee")
    try:
        yield
    finally:
        _products(before)


def _products(precision: str) -> None:
    torch.backends.cuda.matmul.fp32_precision = precision
    torch.backends.cudnn.rnn.fp32_precision = precision  # type: ignore[attr-defined]  # TF32 by default
