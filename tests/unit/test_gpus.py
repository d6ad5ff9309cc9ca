"""Each job on a machine has its own GPU: real processes, no GPU needed."""

import itertools
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import torch

from pipeline.common.errors import InputError
from pipeline.common.gpus import VISIBLE, take_gpu, visible_devices

# Takes a slot, prints which and when, holds it until its input ends or for some seconds, prints when it ends.
JOB = """
import logging, os, sys, time
logging.basicConfig(level=logging.INFO, format="%(message)s")
from pipeline.common.gpus import take_slot
take_slot()
print(os.environ["CUDA_VISIBLE_DEVICES"], time.monotonic(), flush=True)
time.sleep(float(sys.argv[1])) if len(sys.argv) > 1 else sys.stdin.read()
print(time.monotonic(), flush=True)
"""


@pytest.fixture
def names() -> list[str]:
    """Devices that no other run of the tests on this machine has."""
    return [f"GPU-{uuid.uuid4()}" for _ in range(3)]


@pytest.fixture
def jobs() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def start(jobs: ExitStack, visible: list[str], *arguments: str) -> "subprocess.Popen[str]":
    job = subprocess.Popen(
        [sys.executable, "-c", JOB, *arguments],
        env={**os.environ, VISIBLE: ",".join(visible)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    jobs.enter_context(job)
    jobs.callback(job.kill)
    return job


def gpu_of(job: "subprocess.Popen[str]") -> str:
    """The device a job has taken; waits until it has one."""
    assert job.stdout is not None
    return job.stdout.readline().split()[0]


def test_of_eight_jobs_on_three_gpus_no_two_have_the_same_at_a_time(
    jobs: ExitStack, names: list[str]
) -> None:
    spans = []
    for job in [start(jobs, names, "0.3") for _ in range(8)]:
        name, begun, ended = job.communicate(timeout=60)[0].split()
        spans.append((name, float(begun), float(ended)))
    assert {name for name, _, _ in spans} == set(names)
    for (one, _, end), (other, later, _) in itertools.combinations(sorted(spans, key=lambda s: s[1]), 2):
        assert one != other or later > end, spans


def test_a_killed_job_frees_its_gpu_for_one_that_waits(jobs: ExitStack, names: list[str]) -> None:
    first, second = start(jobs, names[:2]), start(jobs, names[:2])
    held = {gpu_of(first): first, gpu_of(second): second}
    assert set(held) == set(names[:2])
    third = start(jobs, names[:2])
    assert third.stderr is not None
    assert "waiting for a GPU: other jobs hold" in third.stderr.readline()
    time.sleep(0.2)
    assert third.poll() is None
    held[names[1]].kill()
    assert gpu_of(third) == names[1]


def test_a_single_device_named_by_a_queue_is_not_waited_for(jobs: ExitStack, names: list[str]) -> None:
    both = [start(jobs, names[:1]) for _ in range(2)]
    assert [gpu_of(job) for job in both] == names[:1] * 2


def test_a_job_without_a_gpu_sees_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VISIBLE, "0,1")
    take_gpu(0)
    assert os.environ[VISIBLE] == ""


def test_a_gpu_that_is_asked_for_and_missing_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a run of days on the CPU that ends with success."""
    monkeypatch.setenv(VISIBLE, "")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match=r"(?s)--gpus 1.*CUDA.*gpu: 0"):
        take_gpu(1)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("0", ["0"]),
        ("2, 0", ["2", "0"]),
        ("0,-1,1", ["0"]),  # CUDA stops reading at the first invalid device
        ("", []),
        ("NoDevFiles", []),  # Slurm's value for a job without a GPU
        ("GPU-8932f937,MIG-1/2/3", ["GPU-8932f937", "MIG-1/2/3"]),
    ],
)
def test_devices_are_read_as_cuda_reads_them(
    monkeypatch: pytest.MonkeyPatch, text: str, found: list[str]
) -> None:
    monkeypatch.setenv(VISIBLE, text)
    assert visible_devices() == found


@pytest.mark.parametrize(("script", "found"), [("echo 0; echo 1", ["0", "1"]), ("echo broken; exit 9", [])])
def test_if_nothing_is_set_the_driver_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, found: list[str]
) -> None:
    asked = tmp_path / "nvidia-smi"
    asked.write_text(f"#!/bin/sh\n{script}\n")
    asked.chmod(0o755)
    monkeypatch.delenv(VISIBLE, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert visible_devices() == found
