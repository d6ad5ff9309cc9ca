"""A job that Slurm cancels gets SIGTERM and saves the step under way; the next one goes on from it."""

import re
import subprocess
import time

import pytest
import torch
from project import copied
from slurm import missing, slurm

pytestmark = [pytest.mark.integration, pytest.mark.skipif(bool(missing()), reason=missing())]

HERE = ["--workflow-profile", "profiles/slurm", "--slurm-no-account", "--slurm-status-command", "squeue"]
HERE += ["--slurm-init-seconds-before-status-checks", "2", "--retries", "0"]
TARGET = "work/demo/multi30k/experiments/embn-en/seed0/model.pt"


def test_a_cancelled_training_saves_its_step_before_slurm_kills_it(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("cancelled")
    (folder / "project").mkdir()
    project = copied(folder / "project")
    training = {"training": {"epochs": 400}}
    project.configure(scale="demo", sources={"scenes": 36}, experiments={"embn": {"settings": training}})
    log = project.folder / "work/logs/demo/multi30k/embn-en-0-train.log"
    checkpoint = project.folder / "work/demo/checkpoints/multi30k-embn-en-0.pt"
    project.make("work/demo/multi30k/features.h5", "work/demo/multi30k/words/human/en.h5")
    with slurm(folder / "slurm"):
        with project.started(*HERE, TARGET) as running:
            until = time.monotonic() + 400
            while not checkpoint.exists() and running.poll() is None and time.monotonic() < until:
                time.sleep(0.2)
            assert running.poll() is None, "it ended before it could be cancelled"
            assert checkpoint.exists(), "it has not begun"
            subprocess.run(["scancel", "--state=RUNNING", "--user=root"], check=True)
            said = running.communicate(timeout=300)[0]
        assert running.returncode == 1, said
        ended = re.search(r"ended by SIGTERM\. .* is of epoch (\d+), step (\d+)\.", log.read_text())
        assert ended, log.read_text()
        saved = torch.load(checkpoint, weights_only=True)
        assert (saved["epoch"] + 1, saved["step"]) == (int(ended[1]), int(ended[2]))

        done = project.snakemake(*HERE, TARGET)
        assert done.returncode == 0, done.stdout
        assert f"continues after epoch {saved['epoch']}, step {saved['step']}" in log.read_text()
