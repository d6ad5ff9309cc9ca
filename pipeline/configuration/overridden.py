"""Keys that a user sets and that some experiments of a table do not take, since they have their own."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pipeline.configuration.experiments import Settings, table_named

Path = tuple[str, ...]


def overridden(settings: Settings, user: Mapping[str, Any], tables: Sequence[str]) -> list[str]:
    """A warning for each key of the user's with another value in experiments of some tables.

    Such a table compares rows with and rows without the user's value. A value that the user gave an
    experiment is meant so.

    Args:
        settings: the whole configuration. user: what the user gave, as `given` has it. tables: their names,
            as `table_named` takes them.

    Raises:
        InputError: a table has no such row.
    """
    rows = [row for name in tables for row in table_named(settings, name)["rows"]]
    named = [name for name in dict.fromkeys(row["experiment"] for row in rows)]
    found: dict[tuple[Path, str, str], list[str]] = defaultdict(list)
    for name in settings["experiments"]:
        if not any(one == name or one.startswith(f"{name}-") for one in named):
            continue
        own = dict(_leaves(settings["experiments"][name].get("settings", {})))
        of_user = dict(_leaves(user.get("experiments", {}).get(name, {}).get("settings", {})))
        for path, value in _leaves({key: block for key, block in user.items() if key != "experiments"}):
            if path in own and path not in of_user and own[path] != value:
                found[path, json.dumps(value), json.dumps(own[path])].append(name)
    return [
        f"{'.'.join(path)}: {value} has no effect on {', '.join(names)}, which has {own} "
        f"(experiments.*.settings.{'.'.join(path)})"
        for (path, value, own), names in found.items()
    ]


def _leaves(block: Mapping[str, Any], above: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Values that are no blocks, with the keys that lead to them."""
    for key, value in block.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, (*above, str(key)))
        else:
            yield (*above, str(key)), value
