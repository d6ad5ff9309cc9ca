"""The state of a training run in one file, so that it can be killed at any moment and resumed."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from pipeline.common.files import atomic_write, link_or_copy, sha256
from pipeline.common.torch_files import read_torch

log = logging.getLogger("pipeline")


def save_checkpoint(path: Path, fingerprint: str, state: dict[str, Any]) -> None:
    """Write `state`, completely or not at all; the earlier checkpoint is kept until then."""
    with atomic_write(path) as temporary, open(temporary, "wb") as file:
        torch.save({"fingerprint": fingerprint, **state}, file)


def load_checkpoint(path: Path, fingerprint: str) -> dict[str, Any] | None:
    """The state to resume from; None if there is none, or if settings, inputs or code have changed.

    Raises:
        InputError: the file is damaged.
    """
    if not path.exists():
        return None
    state = read_torch(path, "a checkpoint of a training", "Delete it to start over.")
    found = state.pop("fingerprint", None)
    if found != fingerprint:
        log.info("%s belongs to other settings, inputs or code: training starts over", path)
        return None
    return state


def keep_finished(path: Path, fingerprint: str, files: Sequence[Path]) -> None:
    """Replace the checkpoint of a finished run by links to its files, which take no space.

    Snakemake deletes the outputs of a job whose end it did not see, because it was killed while the job ran
    on in a queue.
    """
    for file in files:
        link_or_copy(file, _kept(path, file))
    save_checkpoint(path, fingerprint, {"finished": {file.name: sha256(file) for file in files}})


def found_finished(path: Path, fingerprint: str, files: Sequence[Path]) -> bool:
    """Whether a run was finished before; if so, its files are restored."""
    state = load_checkpoint(path, fingerprint)
    if state is None or "finished" not in state:
        return False
    kept = {file: _kept(path, file) for file in files}
    # A link is damaged together with the file that it is.
    if not all(link.exists() and sha256(link) == state["finished"][file.name] for file, link in kept.items()):
        path.unlink()
        return False
    for file, link in kept.items():
        link_or_copy(link, file)
    log.info("finished by an earlier run")
    return True


def _kept(path: Path, file: Path) -> Path:
    return path.with_name(f"{path.stem}-{file.name}")
