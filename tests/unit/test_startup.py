"""Stages that need no torch import none, and help imports nothing heavy."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pipeline import digest as code
from pipeline.images.store import write_features
from pipeline.stages import STAGES

HEAVY = {"torch", "torchvision", "timm", "transformers"}
WITHOUT_TORCH = {name: [stage.module] for name, stage in STAGES.items() if not stage.torch}
CAPTIONS = "image,language,caption\n" + "".join(
    f"{image}.jpg,{language},{text}\n"
    for image in range(10)
    for language, text in (("en", "a red dog"), ("de", "ein roter Hund"))
)


def loaded_modules(source: str, *arguments: str, folder: Path | None = None) -> str:
    """The modules that a new Python process has loaded."""
    command = [sys.executable, "-c", source, *arguments]
    environment = {"PYTHONPATH": str(code.ROOT), "PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_help_of_every_stage_imports_nothing_heavy() -> None:
    source = """
import contextlib, io, re, sys
from pipeline import __main__ as command_line
def helped(*words):
    sys.argv = ["pipeline", *words, "--help"]
    with contextlib.redirect_stdout(io.StringIO()) as output, contextlib.suppress(SystemExit):
        command_line.main()
    return output.getvalue()
stages = [line.split()[0] for line in helped().splitlines() if re.match("  [a-z]", line)]
assert all(f"pipeline {stage}" in helped(stage) for stage in stages)
print(len(stages), *{"torch", "pandas", "numpy", "h5py", "timm", "transformers"} & set(sys.modules))
"""
    count, *heavy = loaded_modules(source).split()
    assert int(count) > 10
    assert heavy == []


def test_the_modules_of_a_stage_without_torch_import_none() -> None:
    source = """
import importlib, json, sys
for stage, modules in json.loads(sys.argv[1]).items():
    for module in modules:
        importlib.import_module(module)
    for name in {"torch", "torchvision", "timm", "transformers"} & set(sys.modules):
        sys.exit(f"{stage} imports {name}")
"""
    loaded_modules(source, json.dumps(WITHOUT_TORCH))


@pytest.mark.parametrize("stage", sorted(WITHOUT_TORCH))
def test_nothing_that_a_stage_without_torch_reaches_imports_it_later(stage: str) -> None:
    """Not even within a function, which importing the module does not show."""
    left, seen = list(WITHOUT_TORCH[stage]), set()
    while left:
        module = left.pop()
        path = code.path_of(module)
        if module in seen or path is None:
            continue
        seen.add(module)
        text = path.read_text(encoding="utf-8")
        assert not HEAVY & outside(ast.parse(text)), module
        left += code.code_of_text(text).imports


def outside(tree: ast.Module) -> set[str]:
    """Packages that a module imports anywhere."""
    plain = [name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names]
    members = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {name.partition(".")[0] for name in [*plain, *members]}


@pytest.mark.extended
def test_stages_without_torch_run_without_it(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text(CAPTIONS)
    (tmp_path / "images").mkdir()
    for image in range(10):
        (tmp_path / "images" / f"{image}.jpg").touch()
    (tmp_path / "en-de.txt").write_text("dog hund\nred roter\n")
    own = '--settings {"source":"custom","captions":"own.csv"}'
    imported = {"backbone": "own", "dimension": 4}
    write_features(
        tmp_path / "imported.h5",
        [str(image) for image in range(10)],
        np.arange(40.0).reshape(10, 4),
        imported,
    )
    made = json.dumps(imported, separators=(",", ":"))
    small = '{"dimension":4,"tokens":2000,"subword_buckets":10}'
    pair = "--source en --target de --provider dictionary --sentences en.csv --dictionaries en-de.txt"
    for line in (
        f"split {own} --output split.csv",
        f"read-captions {own} --split split.csv --language en --output en-captions.csv",
        f"read-captions {own} --split split.csv --language de --output de-captions.csv",
        "tokenize --captions en-captions.csv --language en --output en.csv",
        "tokenize --captions de-captions.csv --language de --output de.csv",
        f"build-vocabulary --language en --sentences en.csv --settings {small} --output en.h5",
        f"build-vocabulary --language de --sentences de.csv --settings {small} --output de.h5",
        "align-vectors --words de.h5 --english en.h5 --dictionaries en-de.txt --output aligned.h5",
        f"translate {pair} --output en-de.csv",
        "find-images --split split.csv --images images --output images.csv",
        f"import-features --split split.csv --features imported.h5 --settings {made} --output f.h5",
    ):
        assert modules_of(line.split(), tmp_path) == set(), line


def modules_of(arguments: list[str], folder: Path) -> set[str]:
    """The heavy modules that a stage has imported when it ends."""
    source = """
import sys
from pipeline.__main__ import main
sys.argv[0] = "pipeline"
status = main()
print(*[name for name in sys.modules if name in ("torch", "torchvision", "timm", "transformers")])
sys.exit(status)
"""
    return set(loaded_modules(source, *arguments, folder=folder).split())
