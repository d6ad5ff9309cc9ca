"""Keys that a user sets and that only some rows of a table take: experiments of others have their own."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from pipeline.configuration.experiments import Settings, table_named

Path = tuple[str, ...]
SHOWN = 6  # experiments named in a warning


def overridden(settings: Settings, user: Mapping[str, Any], table: str) -> list[str]:
    """A warning for each key of the user's that has another value in some rows of a table.

    A value that the user gave an experiment is meant so.

    Args:
        settings: the whole configuration. user: what the user gave, as `given` has it. table: its name, as
            `table_named` takes it.

    Raises:
        InputError: the table has no such row.
    """
    rows = [row["experiment"] for row in table_named(settings, table)["rows"]]
    named = [name for name in settings["experiments"] if any(_is_of(row, name) for row in rows)]
    own = {name: dict(_leaves(settings["experiments"][name].get("settings", {}))) for name in named}
    given = user.get("experiments", {})
    asked = {name: dict(_leaves(given.get(name, {}).get("settings", {}))) for name in named}
    told = []
    for path, value in _leaves({key: block for key, block in user.items() if key != "experiments"}):
        others: dict[str, list[str]] = defaultdict(list)
        for name in named:
            if own[name].get(path, value) != value and path not in asked[name]:
                others[json.dumps(own[name][path])].append(name)
        if sum(map(len, others.values())) < len(named):
            told += [_warning(table, path, value, *other) for other in others.items()]
    return told


def _is_of(row: str, name: str) -> bool:
    """Whether a row's model is an experiment's, or the one that it has for a language."""
    return row == name or (row.startswith(f"{name}-") and len(row) == len(name) + 3)


def _warning(table: str, path: Path, value: Any, own: str, names: list[str]) -> str:
    key, more = ".".join(path), f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return (
        f"{table}: {key} is {json.dumps(value)} in some rows, and {own} in those of "
        f"{', '.join(names[:SHOWN])}{more} (experiments.*.settings.{key})"
    )


def _leaves(block: Mapping[str, Any], above: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Values that are no blocks, with the keys that lead to them."""
    for key, value in block.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, (*above, str(key)))
        else:
            yield (*above, str(key)), value
