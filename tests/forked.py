"""Commands in forks of the tests' process: what they import is imported already."""

import contextlib
import importlib
import logging
import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from io import StringIO, TextIOWrapper
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, NoReturn, cast

ROOT = Path(__file__).parents[1]


class Ended(NamedTuple):
    """How a command ended."""

    status: int
    said: str


def ended(
    run: Callable[[], object],
    folder: Path,
    arguments: Sequence[str],
    environment: Mapping[str, str] | None = None,
) -> Ended:
    """What a command says on both streams and ends with."""
    with tempfile.TemporaryFile() as said:
        if not (child := os.fork()):
            status = 70
            try:
                os.chdir(folder)
                os.environ.update({**(environment or {}), "PWD": str(folder)})
                os.dup2(said.fileno(), 1)
                os.dup2(said.fileno(), 2)
                sys.stdout = TextIOWrapper(os.fdopen(1, "wb", 0, closefd=False), write_through=True)
                sys.stderr = TextIOWrapper(os.fdopen(2, "wb", 0, closefd=False), write_through=True)
                sys.argv = list(arguments)
                logging.getLogger().handlers.clear()  # pytest's
                status = status_of(run)
            finally:
                leave(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said.seek(0)
        return Ended(status, said.read().decode("utf-8", errors="replace"))


def leave(status: int) -> NoReturn:
    """End this fork."""
    with contextlib.suppress(Exception):
        sys.stdout.flush()
    os._exit(status)


def status_of(run: Callable[[], object]) -> int:
    """As a script of a package's entry point ends: sys.exit(main())."""
    try:
        found = run()
    except SystemExit as end:
        found = end.code
    except BaseException:
        traceback.print_exc()
        return 1
    if isinstance(found, str):
        print(found, file=sys.stderr)
        return 1
    return int(found or 0)  # type: ignore[call-overload]


def snakemake(
    folder: Path, arguments: Sequence[str], environment: Mapping[str, str], python: str = sys.executable
) -> Ended:
    """`snakemake ARGUMENTS` in a copy of the project, whose own `pipeline` it imports; jobs run `python`."""
    main, code = warmed(), parsed()

    def run() -> object:
        sys.path.insert(0, str(folder))
        import_from(folder, code)
        sys.executable = python
        return main()

    return ended(run, folder, ["snakemake", *arguments], environment)


@cache
def warmed() -> Callable[[], object]:
    """Snakemake's `main`, with its plug-ins imported and this workflow's files parsed, once for all forks."""
    cli, *_ = [importlib.import_module(name) for name in ("snakemake.cli", "jsonschema", "smart_open", "yte")]
    cli.get_argument_parser()
    _parse_once()
    return cast(Callable[[], object], cli.main)


def _parse_once() -> None:
    """Have Snakemake parse a file of the workflow only where it differs: a fifth of the time of a dry run."""
    workflow: Any = importlib.import_module("snakemake.workflow")
    source = importlib.import_module("snakemake.sourcecache").LocalSourceFile
    files = SimpleNamespace(
        sourcecache=SimpleNamespace(open=lambda file: StringIO(Path(str(file)).read_text("utf-8")))
    )
    parse, known = workflow.parse, {}
    for path in (ROOT / "Snakefile", *ROOT.glob("workflow/**/*.smk")):
        lines: dict[int, int] = {}
        code, rules = parse(source(str(path)), files, lines)
        known[path.read_text(encoding="utf-8")] = repr(str(path)), code, rules, lines

    def parse_once(file: Any, flow: Any, linemap: dict[int, int], rulecount: int = 0) -> tuple[str, int]:
        found = known.get(Path(file.get_path_or_uri(secret_free=True)).read_text(encoding="utf-8"))
        if found is None:
            return cast(tuple[str, int], parse(file, flow, linemap, rulecount=rulecount))
        path, code, rules, lines = found
        linemap |= lines
        return code.replace(path, repr(file.get_path_or_uri(secret_free=True))), rulecount + rules

    workflow.parse = parse_once


@cache
def parsed() -> Any:
    """`pipeline.code`, which has parsed this project's code, once for all forks."""
    code: Any = importlib.import_module("pipeline.code")
    code.text = Path(code.__file__).read_bytes()
    for path in code.ROOT.rglob("*.py"):
        code._parsed(path.read_text(encoding="utf-8"))
    return code


def import_from(folder: Path, code: Any) -> None:
    """Have `pipeline` imported anew, from a copy; its digests parse only the modules that differ."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "pipeline"]:
        del sys.modules[name]
    importlib.invalidate_caches()
    copied = folder / "pipeline" / "code.py"
    if copied.exists() and copied.read_bytes() == code.text:
        its: Any = importlib.import_module("pipeline.code")
        its._parsed = code._parsed
