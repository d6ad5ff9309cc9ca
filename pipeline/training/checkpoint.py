"""The state of a training run in one file, so that it can be killed at any moment and go on."""

import logging
from pathlib import Path
from typing import Any

import torch

from pipeline.files import written_beside

log = logging.getLogger("pipeline")


def save_checkpoint(path: Path, fingerprint: str, state: dict[str, Any]) -> None:
    """Write `state` whole or not at all; an earlier checkpoint stays until then."""
    with written_beside(path) as temporary, open(temporary, "wb") as file:
        torch.save({"fingerprint": fingerprint, **state}, file)


def load_checkpoint(path: Path, fingerprint: str) -> dict[str, Any] | None:
    """The state to go on from; None where there is none, or where settings, inputs or code were others."""
    if not path.exists():
        return None
    state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    if state.pop("fingerprint") != fingerprint:
        log.info("%s belongs to other settings, inputs or code: training begins anew", path)
        return None
    return state
