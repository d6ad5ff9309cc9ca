"""Jobs and calls of Snakemake in forks (`warm.py`) do what they do in new processes."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import warm
from project import DEMO, Project, copy_of_project

PIPELINE = """
import os, sys, time
asked = sys.argv[1:], os.getcwd(), os.environ["SAID"], sorted(os.environ), sys.stdin.read()
print(*asked, __name__, flush=True)
print("to the other stream", file=sys.stderr)
match sys.argv[1:]:
    case ["raise"]: raise ValueError("as it is")
    case ["kill"]: os.kill(os.getpid(), 9)
    case ["wait"]:
        open("begun", "w").write(str(os.getpid()))
        time.sleep(60)
    case [status]: sys.exit(int(status))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pipeline").mkdir()
    (tmp_path / "pipeline" / "__init__.py").touch()
    (tmp_path / "pipeline" / "__main__.py").write_text(PIPELINE)
    return tmp_path


def start(python: str, folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [python, *arguments],
        cwd=folder,
        env={"SAID": "ÄÖÜ", "PYTHONUTF8": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("argument", ["0", "3", "raise", "kill"])
def test_output_and_exit_status_are_the_same(folder: Path, argument: str) -> None:
    found = []
    for python in (sys.executable, warm.python()):
        job = start(python, folder, "-m", "pipeline", argument)
        output, errors = job.communicate("asked")
        found.append((job.returncode, output, errors.splitlines()[-1:]))
    assert found[0] == found[1]
    assert f"['{argument}'] {folder} ÄÖÜ" in found[0][1]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_signal_reaches_the_job(folder: Path, number: int) -> None:
    job = start(warm.python(), folder, "-m", "pipeline", "wait")
    assert job.stdin
    job.stdin.close()
    while not (folder / "begun").exists() or not (pid := (folder / "begun").read_text()):
        time.sleep(0.01)
    job.send_signal(number)
    assert job.wait(60) == -number
    end = time.monotonic() + 60
    while Path("/proc", pid).exists():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_any_other_command_is_the_real_pythons(folder: Path) -> None:
    job = start(warm.python(), folder, "-c", "import sys; print(sys.executable, sys.prefix)")
    assert job.communicate()[0].split() == [sys.executable, sys.prefix]
    assert not os.path.samefile(warm.python(), sys.executable)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A copy in which one rule's command was edited."""
    project = copy_of_project(tmp_path)
    project.configure(**DEMO)
    project.edit("workflow/rules/tables.smk", "pipeline tabulate", "pipeline tabulate --edited")
    return project


def cold(project: Project, *arguments: str) -> str:
    """The output of Snakemake in a new process."""
    command = ["snakemake", "--configfile", "small.yaml", *arguments]
    done = subprocess.run(
        command, cwd=project.folder, env=project.environment, capture_output=True, text=True
    )
    return done.stdout + done.stderr


def test_a_dry_run_announces_what_the_real_snakemake_does(project: Project) -> None:
    arguments = ["-n", "-p", "results/lessons/table4.csv"]
    announced = r"^Shell command: .*|^\w+ +\d+$"
    expected = re.findall(announced, cold(project, *arguments), re.M)
    assert any("--edited" in line for line in expected) and len(expected) > 50
    assert sorted(re.findall(announced, project.snakemake(*arguments).stdout, re.M)) == sorted(expected)


def test_an_error_names_the_same_file_and_line_as_the_real_snakemake(project: Project) -> None:
    """Also in files that are parsed once for all copies."""
    arguments = ["-n", "work/demo/multi30k/experiments/unknown/seed0/model.pt"]
    place = r'"?(/[^"\s]+\.smk)"?, line (\d+)'
    expected = re.findall(place, cold(project, *arguments))
    assert {path for path, _ in expected} >= {f"{project.folder}/workflow/rules/training.smk"}
    assert re.findall(place, project.snakemake(*arguments).stdout) == expected
