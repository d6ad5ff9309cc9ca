"""The overview of commands is shown at once, and stages that need no torch import none."""

import subprocess
import sys
from pathlib import Path

from pipeline.stages import STAGES

ROOT = Path(__file__).parents[2]
WITH_TORCH = {
    *(
        "extract-features",
        "train-translator",
        "pretrain-bert",
        "embed-captions",
        "pretrain",
        "assign",
        "train",
    ),
    *("train-lessons", "evaluate", "evaluate-consistency", "count-parameters", "count-smalr-parameters"),
    *("draw-retrieved", "prefetch-models", "build-index", "search", "serve"),
}


def loaded_packages(source: str) -> set[str]:
    """The large packages that a new Python process has loaded at its end."""
    end = "\nprint('loaded', *{'torch', 'torchvision', 'timm', 'transformers', 'pandas'} & set(sys.modules))"
    command = [sys.executable, "-c", f"import sys\n{source}{end}"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    return {*done.stdout.rpartition("loaded")[2].split()}


def test_the_overview_of_commands_imports_nothing_large() -> None:
    source = """
import contextlib
from pipeline import cli as command_line
sys.argv = ["pipeline", "--help"]
with contextlib.suppress(SystemExit):
    command_line.main()
"""
    assert loaded_packages(source) == set()


def test_the_modules_of_a_stage_without_torch_import_none() -> None:
    modules = [stage.module for name, stage in STAGES.items() if name not in WITH_TORCH]
    assert loaded_packages(f"import {', '.join(modules)}") <= {"pandas"}
