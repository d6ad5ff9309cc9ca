"""SIGKILL of the whole workflow at random moments: in the end it has the bytes of an undisturbed run."""

import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import h5py
import pytest
from project import Project, copy_of_project

pytestmark = [pytest.mark.integration, pytest.mark.slow]

LANGUAGES = ["en", "de"]
FULL = {"branches": "shared", "captions": "human", "neighborhood": True, "pretraining": True}
SMALR = {
    "branches": "shared",
    "captions": "human",
    "embedding": "hybrid",
    "masking": True,
    "settings": {"model": {"recurrent": "gru"}},
}
CUT = {
    "scale": "demo",
    "sources": {"scenes": 36},
    "training": {"epochs": 60},
    "pretraining": {"epochs": 60},
    "hybrid": {"frequent_words": 5, "frequent_dim": 4, "latent_entries": 30},
    "assignment": {"epochs": 60},
    "experiments": {
        "parallel-cut": {"branches": "separate", "captions": "human", "languages": LANGUAGES},
        "full-cut": {**FULL, "languages": LANGUAGES},
        "smalr-cut": {**SMALR, "languages": LANGUAGES},
    },
    "tables": {
        "small": {
            "columns": {"multi30k": LANGUAGES},
            "rows": [
                {"row": 1, "method": "PARALLEL-EmbN", "experiment": "parallel-cut"},
                {"row": 2, "method": "MULE full", "experiment": "full-cut"},
                {"row": 3, "method": "CLC-C", "experiment": "smalr-cut", "consistency": "learned"},
            ],
        }
    },
}
TARGET = "results/small.csv"
KILLS = 5
# All outputs without times: run times and logs differ from run to run.
COMPARED = ("results/**/*.csv", "work/demo/multi30k/**/*.*")


class Workflow(Project):
    """A project whose Snakemake and jobs can be killed together."""

    def start(self) -> "subprocess.Popen[bytes]":
        """Unlock, as a person does after a power cut, and run."""
        if any(self.folder.glob(".snakemake/locks/*")):
            self.snakemake("--unlock", TARGET)
        with open(self.folder / "output.txt", "ab") as log:
            return subprocess.Popen(
                ["snakemake", "--configfile", "small.yaml", "--cores", "2", TARGET],
                cwd=self.folder,
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def kill(self, process: "subprocess.Popen[bytes]") -> None:
        """Kill Snakemake and all its jobs at once, and check that none is left."""
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        until = time.monotonic() + 120
        while left := list(self.processes()):
            assert time.monotonic() < until, f"still alive: {left}"
            for number in left:
                os.kill(number, signal.SIGKILL)
            time.sleep(0.02)

    def wait_for_jobs(self, process: "subprocess.Popen[bytes]", count: int) -> None:
        """Wait until so many more jobs, or the whole workflow, have finished."""
        wanted = self.jobs_finished() + count
        while process.poll() is None and self.jobs_finished() < wanted:
            time.sleep(0.05)

    def jobs_finished(self) -> int:
        return (self.folder / "output.txt").read_text(errors="replace").count("Finished jobid")

    def processes(self) -> Iterator[int]:
        """Processes that work in this folder, in whatever session."""
        for entry in Path("/proc").iterdir():
            try:
                inside = entry.name.isdecimal() and Path(os.readlink(entry / "cwd")) == self.folder
                dead = inside and (entry / "stat").read_text().rpartition(")")[2].split()[0] in "ZX"
            except OSError:  # it has ended meanwhile
                continue
            if inside and not dead:
                yield int(entry.name)

    def outputs(self) -> dict[str, bytes]:
        """The outputs in the end, without a killed writer's hidden files and folders."""
        paths = (path for pattern in COMPARED for path in self.folder.glob(pattern) if path.is_file())
        relative = {path.relative_to(self.folder): path for path in paths}
        return {
            str(name): content(path)
            for name, path in relative.items()
            if not any(part.startswith(".") for part in name.parts)
        }

    def log_tail(self) -> str:
        return (self.folder / "output.txt").read_text(errors="replace")[-4000:]


def content(path: Path) -> bytes:
    """A file's bytes; for features, everything except the times at which the photographs were drawn."""
    if path.name != "features.h5":
        return path.read_bytes()
    with h5py.File(path) as file:
        ids = "\n".join(file["image"].asstr()[...])
        return ids.encode() + bytes(file["features"][...])


def workflow(folder: Path) -> Workflow:
    folder.mkdir()
    copy_of_project(folder)
    made = Workflow(folder.resolve())
    made.configure(**CUT)
    return made


def test_power_cuts_change_no_byte_of_the_tables(tmp_path: Path) -> None:
    undisturbed = workflow(tmp_path / "undisturbed")
    begun = time.monotonic()
    assert undisturbed.start().wait() == 0, undisturbed.log_tail()
    seconds = time.monotonic() - begun
    whole = undisturbed.outputs()
    assert {TARGET, "results/comparison/small.csv"} <= whole.keys()

    moments = random.Random(KILLS)
    delivered = cycles = 0
    while delivered < KILLS:  # a workflow that ends before its next cut starts again from nothing
        cut = workflow(tmp_path / f"cut{cycles}")
        cycles += 1
        while True:
            process = cut.start()
            if (
                delivered < KILLS
            ):  # every second time a job must have finished, or a slow machine would make no progress
                cut.wait_for_jobs(process, moments.randrange(2))
            try:
                wait = moments.uniform(0, seconds / 10) if delivered < KILLS else None
                assert process.wait(wait) == 0, cut.log_tail()
                break
            except subprocess.TimeoutExpired:
                cut.kill(process)
                delivered += 1
        made = cut.outputs()
        assert made.keys() == whole.keys()
        assert [name for name in whole if made[name] != whole[name]] == []
