"""Copies from the CPU to the device that trains."""

import torch
from torch import Tensor


def to_device(numbers: Tensor, device: torch.device) -> Tensor:
    """Copy numbers from the CPU to the device without synchronising with the GPU."""
    return numbers if device.type == "cpu" else numbers.pin_memory().to(device, non_blocking=True)
