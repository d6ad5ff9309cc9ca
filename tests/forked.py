"""Commands in forks of the tests' process: what they import is imported already."""

import contextlib
import importlib
import io
import logging
import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, NoReturn, cast


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
                sys.stdout = io.TextIOWrapper(os.fdopen(1, "wb", 0, closefd=False), write_through=True)
                sys.stderr = io.TextIOWrapper(os.fdopen(2, "wb", 0, closefd=False), write_through=True)
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
    main, code = warmed(), importlib.import_module("pipeline.code")

    def run() -> object:
        for name in [name for name in sys.modules if name.partition(".")[0] == "pipeline"]:
            del sys.modules[name]
        sys.path.insert(0, str(folder))
        importlib.invalidate_caches()
        _remember(code, folder)
        sys.executable = python
        return main()

    return ended(run, folder, ["snakemake", *arguments], environment)


@cache
def warmed() -> Callable[[], object]:
    """Snakemake's `main`, with its plug-ins imported and the project's code parsed, once for all forks."""
    cli, *_ = [importlib.import_module(name) for name in ("snakemake.cli", "jsonschema", "yte")]
    cli.get_argument_parser()
    code = importlib.import_module("pipeline.code")
    for path in code.ROOT.rglob("*.py"):
        code._parsed(path.read_text(encoding="utf-8"))
    return cast(Callable[[], object], cli.main)


def _remember(code: ModuleType, folder: Path) -> None:
    """Have a copy's digests parse only the modules that differ from this project's."""
    copied = folder / "pipeline" / "code.py"
    if copied.exists() and copied.read_bytes() == Path(str(code.__file__)).read_bytes():
        its: Any = importlib.import_module("pipeline.code")
        its._parsed = code._parsed
