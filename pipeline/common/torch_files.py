"""Files of torch.save: written completely or not at all, and refused if damaged; digests of weights."""

import hashlib
import pickle
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from pipeline.common.errors import InputError, disk_message
from pipeline.common.files import atomic_write, verify_digest

_ERRORS_OF_DAMAGE = (
    RuntimeError, pickle.UnpicklingError, EOFError, LookupError, TypeError, ValueError, AttributeError,
    OSError, zipfile.BadZipFile, zlib.error, NotImplementedError, AssertionError,
)  # fmt: skip


def write_torch(content: Mapping[str, object], path: Path) -> None:
    """Write a dictionary, completely or not at all."""
    with atomic_write(path) as temporary, open(temporary, "wb") as file:
        torch.save(content, file)  # given a path, it would write the temporary name into the file


def read_torch(path: Path, what: str, hint: str) -> dict[str, Any]:
    """The dictionary in a file of torch.save: only numbers, text and containers, never code.

    The file is a ZIP archive. torch does not compare the checksums of its members, but this function does.

    Raises:
        InputError: the file (`what`) is damaged or of another kind; the message ends with `hint`.
    """
    verify_digest(path)
    try:
        with zipfile.ZipFile(path) as archive:
            if member := archive.testzip():
                raise zipfile.BadZipFile(f"the checksum of its part {member} does not match")
        content = torch.load(path, map_location="cpu", weights_only=True)
    except _ERRORS_OF_DAMAGE as error:
        if disk_message(error):
            raise
        raise InputError(f"{path}: not {what}, or damaged: {short_reason(error)}. {hint}") from None
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


def short_reason(error: BaseException) -> str:
    """What went wrong, in few words, without PyTorch's advice to load files that may run code."""
    if isinstance(error, pickle.UnpicklingError):
        return "it contains objects other than numbers and texts"
    first = str(error).strip().partition("\n")[0].rstrip(".")
    return first[:200] or type(error).__name__
