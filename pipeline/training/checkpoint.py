"""The state of a training run in one file, so that it can be killed at any moment and resumed."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipeline.common.files import link_or_copy, sha256
from pipeline.common.torch_files import read_torch, write_torch

log = logging.getLogger("pipeline")


def save_checkpoint(path: Path, fingerprint: str, state: dict[str, object]) -> None:
    """Write `state`, completely or not at all; the earlier checkpoint is kept until then."""
    write_torch({"fingerprint": fingerprint, **state}, path)


def load_checkpoint(path: Path, fingerprint: str) -> dict[str, Any] | None:
    """The state to resume from; None if there is none, or if settings, inputs or code have changed.

    Raises:
        InputError: the file is damaged.
    """
    if not path.exists():
        return None
    state = read_torch(path, "a checkpoint of a training", "Delete it to start over.")
    found_fingerprint = state.pop("fingerprint", None)
    if found_fingerprint != fingerprint:
        log.info("%s belongs to other settings, inputs or code: training starts over", path)
        return None
    return state


def keep_finished(path: Path, fingerprint: str, files: Sequence[Path]) -> None:
    """Replace the checkpoint of a finished run by links to its files, which take no space.

    Snakemake deletes the outputs of a job whose end it did not see, because it was killed while the job ran
    on in a queue.
    """
    for file in files:
        link_or_copy(file, _link(path, file))
    save_checkpoint(path, fingerprint, {"finished": {file.name: sha256(file) for file in files}})


def restore_finished(path: Path, fingerprint: str, files: Sequence[Path]) -> bool:
    """Restore the files of a run that an earlier job finished; return whether there was such a run."""
    state = load_checkpoint(path, fingerprint)
    if state is None or "finished" not in state:
        return False
    links = {file: _link(path, file) for file in files}
    # A hard link is damaged together with its file.
    digests = state["finished"]
    if not all(link.exists() and sha256(link) == digests[file.name] for file, link in links.items()):
        path.unlink()
        return False
    for file, link in links.items():
        link_or_copy(link, file)
    log.info("finished by an earlier run")
    return True


def _link(path: Path, file: Path) -> Path:
    return path.with_name(f"{path.stem}-{file.name}")
