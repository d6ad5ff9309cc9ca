"""What every training does around its loop.

A training that an earlier job finished is restored. Otherwise it is set up reproducibly, reads its files,
runs, writes its outputs, and keeps links to them in case Snakemake deletes them.
"""

import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import torch

from pipeline.common.memory import keep_freed_memory
from pipeline.training.checkpoint import keep_finished, restore_finished
from pipeline.training.loop import Run
from pipeline.training.precision import set_precision
from pipeline.training.settings import Resources

log = logging.getLogger("pipeline")


@dataclass(frozen=True)
class Job:
    """Files of a training besides its inputs, and the digest of all that their content depends on."""

    checkpoint: Path
    outputs: Sequence[Path]
    fingerprint: str


BatchT = TypeVar("BatchT")
# A run, and the function that writes the outputs of the finished run.
RunAndWriter = tuple[Run[BatchT], Callable[[], None]]


def run_job(
    job: Job,
    seed: int,
    resources: Resources,
    start: Callable[[torch.device], RunAndWriter[BatchT]],
    precision: str = "float32",
) -> None:
    """Run a training to its end, or restore it if an earlier job finished it.

    Args:
        start: reads the data and builds the model on a device.
    """
    if restore_finished(job.checkpoint, job.fingerprint, job.outputs):
        return
    run, write = start(_device(seed, resources, precision))
    run.finish(job.checkpoint, job.fingerprint)
    write()
    keep_finished(job.checkpoint, job.fingerprint, job.outputs)


def _device(seed: int, resources: Resources, precision: str) -> torch.device:
    """Set memory, threads, seed and precision, for speed and reproducible results; returns the device.

    A GPU if there is one.
    """
    keep_freed_memory()
    torch.set_num_threads(resources.threads)
    torch.manual_seed(seed)
    if resources.deterministic:
        os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":16:8"  # required by cuBLAS and cuDNN; ignored on a CPU
        torch.use_deterministic_algorithms(True)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    set_precision(precision, device)
    name = torch.cuda.get_device_name() if device.type == "cuda" else "the CPU"
    log.info("trains on %s, PyTorch %s", name, torch.__version__)  # read by workflow/published.py
    return device
