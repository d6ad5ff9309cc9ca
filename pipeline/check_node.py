"""What a node of a cluster offers to a job, tried as the jobs of tables would use it."""

import fcntl
import os
import shutil
import socket
import sqlite3
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from pipeline.common.errors import InputError, error_message
from pipeline.common.files import atomic_write
from pipeline.common.gpus import take_gpu
from pipeline.common.hdf5 import create_hdf5

MEGABYTES = 256  # written to the disk; a checkpoint at the paper's sizes has 770


def check_node(output: Path, gpu: int = 0) -> None:
    """Try this node's queue, GPU, disk and locks, and list what was found.

    Args:
        output: list to write, one trial per line. Its folder's disk is the disk that is tried.
        gpu: 1: a GPU is expected, 0: none.

    Raises:
        InputError: a trial failed; the message lists all of them.
    """
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=output.parent) as name:
        folder = Path(name)
        trials: dict[str, Callable[[], str]] = {
            "queue": _queue,
            "GPU": lambda: _gpu(gpu),
            "disk": lambda: _disk(folder),
            "locks": lambda: _locks(folder),
            "network": _network,
        }
        found = {trial: _outcome(try_it) for trial, try_it in trials.items()}
    report = "".join(f"{trial}: {outcome}\n" for trial, outcome in found.items())
    if any(outcome.startswith("FAILED") for outcome in found.values()):
        raise InputError(f"a trial of {socket.gethostname()} failed.\n{report}")
    with atomic_write(output) as temporary:
        temporary.write_text(report, encoding="utf-8")


def _outcome(try_it: Callable[[], str]) -> str:
    try:
        return try_it()
    except Exception as error:
        return f"FAILED: {error_message(error) or repr(error)}"


def _queue() -> str:
    job = os.environ.get("SLURM_JOB_ID") or os.environ.get("PBS_JOBID") or "none of Slurm or PBS"
    return f"node {socket.gethostname()}, job {job}, {len(os.sched_getaffinity(0))} cores"


def _gpu(gpu: int) -> str:
    take_gpu(gpu)
    import torch

    device = torch.device("cuda" if gpu else "cpu")
    numbers = torch.ones(1000, 1000, device=device)
    if float((numbers @ numbers).sum()) != 1e9:
        raise InputError("a product of two matrices is wrong")
    name = torch.cuda.get_device_name() if gpu else "none asked for (--config gpu=1 asks)"
    return f"{name}, PyTorch {torch.__version__}, CUDA {torch.version.cuda}"


def _disk(folder: Path) -> str:
    start = time.monotonic()
    with create_hdf5(folder / "numbers.h5", MEGABYTES << 20) as file:
        file["numbers"] = np.ones((MEGABYTES, 1 << 20), np.uint8)
    seconds = time.monotonic() - start
    free = shutil.disk_usage(folder).free >> 30
    return f"{folder.parent.resolve()}, {free} GB free, {MEGABYTES / seconds:.0f} MB/s written"


def _locks(folder: Path) -> str:
    with (folder / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with sqlite3.connect(folder / "cache.sqlite") as cache:
        cache.execute("CREATE TABLE tried (number)")
    cache.close()
    return "files and SQLite"


def _network() -> str:
    try:
        socket.create_connection(("huggingface.co", 443), timeout=5).close()
    except OSError as error:
        return f"no connection to the hub ({error}): run prefetch first"
    return "the hub answers"
