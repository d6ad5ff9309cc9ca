"""SIGKILL of the whole workflow at random moments: in the end it has the bytes of an undisturbed run."""

import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pandas as pd
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
    "training": {"epochs": 25},
    "pretraining": {"epochs": 25},
    "hybrid": {"frequent_words": 5, "frequent_dim": 4, "latent_entries": 30},
    "assignment": {"epochs": 25},
    "experiments": {
        "full-cut": {**FULL, "languages": LANGUAGES},
        "smalr-cut": {**SMALR, "languages": LANGUAGES},
    },
    "tables": {
        "small": {
            "columns": {"multi30k": LANGUAGES},
            "rows": [
                {"row": 1, "method": "MULE full", "experiment": "full-cut"},
                {"row": 2, "method": "SMALR", "experiment": "smalr-cut"},
            ],
        }
    },
}
TARGET = "results/small.csv"
KILLS = 3
# All outputs without times: run times and logs differ from run to run.
COMPARED = ("results/**/*.csv", "work/demo/multi30k/**/*.*")


def start(project: Project) -> "subprocess.Popen[bytes]":
    """Run in a process group of its own."""
    with open(project.folder / "output.txt", "ab") as log:
        return subprocess.Popen(
            ["snakemake", "--configfile", "small.yaml", "--cores", "2", TARGET],
            cwd=project.folder,
            env=project.environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def jobs_finished(project: Project) -> int:
    return output(project).count("Finished jobid")


def output(project: Project) -> str:
    return (project.folder / "output.txt").read_text(errors="replace")


def outputs(project: Project) -> dict[str, bytes]:
    """The outputs in the end, without a killed writer's hidden files and folders."""
    paths = (path for pattern in COMPARED for path in project.folder.glob(pattern) if path.is_file())
    relative = {path.relative_to(project.folder): path for path in paths}
    return {
        str(name): content(path)
        for name, path in relative.items()
        if not any(part.startswith(".") for part in name.parts)
    }


def content(path: Path) -> bytes:
    """A file's bytes; of the list of photographs, all except the times at which they were drawn."""
    if path.name != "images.csv":
        return path.read_bytes()
    listed: pd.DataFrame = pd.read_csv(path).drop(columns="time")
    return str(listed.to_csv()).encode()


def workflow(folder: Path) -> Project:
    folder.mkdir()
    made = copy_of_project(folder)
    made.configure(**CUT)
    return made


def test_power_cuts_change_no_byte_of_the_tables(tmp_path: Path) -> None:
    undisturbed = workflow(tmp_path / "undisturbed")
    begun = time.monotonic()
    assert start(undisturbed).wait() == 0, output(undisturbed)[-4000:]
    seconds = time.monotonic() - begun
    whole = outputs(undisturbed)
    assert {TARGET, "results/comparison/small.csv"} <= whole.keys()

    moments, cut = random.Random(KILLS), workflow(tmp_path / "cut")
    for _ in range(KILLS):
        shutil.rmtree(cut.folder / ".snakemake/locks", ignore_errors=True)  # sooner than --unlock
        process = start(cut)
        # Every second time a job must have finished, or a slow machine would make no progress.
        wanted = jobs_finished(cut) + moments.randrange(2)
        while process.poll() is None and jobs_finished(cut) < wanted:
            time.sleep(0.05)
        with pytest.raises(subprocess.TimeoutExpired):  # it must not have ended before its cut
            process.wait(moments.uniform(0, seconds / 10))
        os.killpg(process.pid, signal.SIGKILL)  # all its jobs too
        process.wait()
        time.sleep(0.5)
    cut.snakemake("--unlock", TARGET)  # as a person does after a power cut
    assert start(cut).wait() == 0, output(cut)[-4000:]
    made = outputs(cut)
    assert made.keys() == whole.keys()
    assert [name for name in whole if made[name] != whole[name]] == []
