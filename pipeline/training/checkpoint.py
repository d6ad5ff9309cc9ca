"""The state of a training run in one file, so that it can be killed at any moment and go on."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from pipeline.files import linked, sha256, written_beside
from pipeline.torch_file import read_torch

log = logging.getLogger("pipeline")


def save_checkpoint(path: Path, fingerprint: str, state: dict[str, Any]) -> None:
    """Write `state` whole or not at all; an earlier checkpoint stays until then."""
    with written_beside(path) as temporary, open(temporary, "wb") as file:
        torch.save({"fingerprint": fingerprint, **state}, file)


def load_checkpoint(path: Path, fingerprint: str) -> dict[str, Any] | None:
    """The state to go on from; None where there is none, or where settings, inputs or code were others.

    Raises:
        InputError: the file is damaged.
    """
    if not path.exists():
        return None
    state = read_torch(path, "a checkpoint of a training", "Delete it to begin anew.")
    found = state.pop("fingerprint", None)
    if found != fingerprint:
        log.info("%s belongs to other settings, inputs or code: training begins anew", path)
        return None
    return state


def keep_finished(path: Path, fingerprint: str, files: Sequence[Path]) -> None:
    """Put links to the files of a finished run in the place of its checkpoint; they take no space.

    Snakemake deletes the outputs of a job that it did not see end: it was killed, the job in a queue was not.
    """
    for file in files:
        linked(file, _kept(path, file))
    save_checkpoint(path, fingerprint, {"finished": {file.name: sha256(file) for file in files}})


def found_finished(path: Path, fingerprint: str, files: Sequence[Path]) -> bool:
    """Whether a run was finished before; its files are then there again."""
    state = load_checkpoint(path, fingerprint)
    if state is None or "finished" not in state:
        return False
    kept = {file: _kept(path, file) for file in files}
    # A link is damaged together with the file that it is.
    if not all(link.exists() and sha256(link) == state["finished"][file.name] for file, link in kept.items()):
        path.unlink()
        return False
    for file, link in kept.items():
        linked(link, file)
    log.info("finished by an earlier run")
    return True


def _kept(path: Path, file: Path) -> Path:
    return path.with_name(f"{path.stem}-{file.name}")
