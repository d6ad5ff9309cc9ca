"""Files of torch.save, written whole or not at all, and read without running code; digests of weights."""

import hashlib
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from pipeline.common.errors import InputError
from pipeline.common.files import atomic_write, reading


def write_torch(content: Mapping[str, object], path: Path) -> None:
    """Write a dictionary, completely or not at all."""
    with atomic_write(path) as temporary, open(temporary, "wb") as file:
        try:
            torch.save(content, file)  # given a path, it would write the temporary name into the file
        except RuntimeError as error:  # hides the error of a full disk
            raise error.__context__ or error from None


def read_torch(path: Path, what: str, hint: str) -> dict[str, Any]:
    """The dictionary in a file of torch.save: only numbers, text and containers, never code.

    Raises:
        InputError: the file (`what`) is damaged or of another kind; the message ends with `hint`.
    """
    with reading(path, what, hint):
        try:
            content = torch.load(path, map_location="cpu", weights_only=True)
        except pickle.UnpicklingError:  # PyTorch's message advises to run the code in the file
            raise InputError(f"{path}: not {what}: holds more than numbers and texts. {hint}") from None
    if not isinstance(content, dict):
        raise InputError(f"{path}: not {what}: found {type(content).__name__}, expected a dictionary. {hint}")
    return content


def weights_digest(model: torch.nn.Module) -> str:
    """SHA-256 over the names, shapes and values of all weights, whatever file they came from."""
    digest = hashlib.sha256()
    for name, tensor in model.state_dict().items():
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}\n".encode())
        digest.update(tensor.cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
