"""The GPU of a job: each job on a machine has its own, even if several Snakemakes run.

A slot is a name that a process holds until it ends, so a killed job frees its slot.
"""

import errno
import logging
import os
import re
import shutil
import socket
import subprocess
import time
from itertools import takewhile

from pipeline.common.errors import InputError

log = logging.getLogger("pipeline")

VISIBLE = "CUDA_VISIBLE_DEVICES"
POLL_INTERVAL = 1.0  # seconds between two checks for a free GPU

_slots: list[socket.socket] = []  # the kernel closes them when the process ends, however it ends


def take_gpu(count: int) -> None:
    """Make one GPU that no other job on this machine uses visible to this process; none if `count` is 0.

    Call it before CUDA is first used.

    Raises:
        InputError: a GPU was asked for, and PyTorch finds none.
    """
    if count == 0:
        os.environ[VISIBLE] = ""
        return
    take_slot()
    import torch

    if not torch.cuda.is_available():
        driver = next(iter(_asked_of_driver("driver_version")), "nvidia-smi finds none")
        raise InputError(
            f"a GPU was asked for (--gpus 1), and PyTorch finds none. Driver: {driver}. PyTorch: "
            f"{torch.__version__}, for CUDA {torch.version.cuda}. {VISIBLE}: {os.environ.get(VISIBLE)}. "
            "Ask the queue for a GPU, install a driver and a PyTorch that fit each other, or take the CPU "
            "(gpu: 0 in the configuration)."
        )


def take_slot() -> None:
    """Take the first free GPU, waiting until there is one, and hide all others from this process.

    Jobs share the devices of CUDA_VISIBLE_DEVICES, if it is set. If it names one device, a
    cluster's queue has assigned it to this job, and may call it 0 in several jobs.
    """
    devices = visible_devices()
    if not devices or (VISIBLE in os.environ and len(devices) == 1):
        return
    os.environ[VISIBLE] = _first_free(devices)
    log.info("using GPU %s (visible: %s)", os.environ[VISIBLE], ", ".join(devices))


def visible_devices() -> list[str]:
    """GPUs visible to this process, as CUDA_VISIBLE_DEVICES names them: numbers or UUIDs."""
    if VISIBLE in os.environ:
        names = [name.strip() for name in os.environ[VISIBLE].split(",")]
        return list(takewhile(re.compile(r"\d+|(GPU|MIG)-\S+").fullmatch, names))  # as CUDA reads them
    return _asked_of_driver("index")


def _asked_of_driver(what: str) -> list[str]:
    """What the driver says of each GPU; empty without a driver."""
    command = ["nvidia-smi", f"--query-gpu={what}", "--format=csv,noheader"]
    if not shutil.which(command[0]):
        return []
    answer = subprocess.run(command, capture_output=True, text=True)
    return answer.stdout.split() if answer.returncode == 0 else []


def _first_free(devices: list[str]) -> str:
    waits = False
    while not (free := next(filter(_claim, devices), "")):
        if not waits:
            log.info("waiting for a GPU: other jobs hold %s", ", ".join(devices))
        waits = True
        time.sleep(POLL_INTERVAL)
    return free


def _claim(name: str) -> bool:
    """Try to take the slot of a device for this process; return whether it succeeded.

    A name in Linux' abstract namespace of sockets belongs to one process at a time, of whichever user. There
    is no file to clean up: the kernel frees it with the process, after SIGKILL too.
    """
    slot = socket.socket(socket.AF_UNIX)
    try:
        slot.bind(f"\0multilingual-retrieval GPU {name}")
    except OSError as error:
        slot.close()
        if error.errno != errno.EADDRINUSE:
            raise
        return False
    _slots.append(slot)
    return True
