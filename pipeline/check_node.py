"""What a node of a cluster offers to a job, tried as the jobs of tables would use it."""

import fcntl
import os
import shutil
import socket
import sqlite3
import tempfile
import time
from pathlib import Path

import numpy as np

from pipeline.common.errors import InputError
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
        InputError: no GPU is free.
        OSError: the disk is full, or has no locks.
    """
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=output.parent) as folder:
        found = {
            "queue": _queue(),
            "GPU": _gpu(gpu),
            "disk": _disk(Path(folder)),
            "locks": _locks(Path(folder)),
            "network": _network(),
        }
    with atomic_write(output) as temporary:
        temporary.write_text("".join(f"{trial}: {outcome}\n" for trial, outcome in found.items()), "utf-8")


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
