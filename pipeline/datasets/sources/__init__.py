"""The sources of captions by name: the modules of this folder, and the demo's.

They are imported by name, so that a digest counts only the source in use.
"""

from functools import cache
from importlib import import_module
from pathlib import Path

from pipeline.common.errors import InputError
from pipeline.datasets.source import Source

_ELSEWHERE = {"demo": "pipeline.demo.source"}


def names() -> list[str]:
    """The values of `datasets.*.source`."""
    return [*_ELSEWHERE, *sorted(path.stem for path in Path(__file__).parent.glob("[!_]*.py"))]


def module_of(name: str) -> str:
    """The module of a source, for digests."""
    return _ELSEWHERE.get(name, f"{__name__}.{name}")


@cache
def source_named(name: str) -> Source:
    """A source by its name in the configuration.

    Raises:
        InputError: there is no source of this name.
    """
    if name not in names():
        raise InputError(f"source: found {name!r}, expected {', '.join(names())}.")
    source: Source = import_module(module_of(name)).SOURCE
    return source
