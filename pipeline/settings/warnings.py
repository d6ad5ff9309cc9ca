"""Warnings about user settings that some rows of a table ignore, printed before the table is made."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from pipeline.settings.configuration import Configuration
from pipeline.settings.experiments import left_out, table_named

Path = tuple[str, ...]
MAX_SHOWN = 6  # experiments named in a warning


def setting_warnings(settings: Configuration, user: Mapping[str, Any], table: str) -> list[str]:
    """Warnings about keys that have another value in some rows, and about languages that an experiment lacks.

    A value that the user set for an experiment is intended. A list of languages counts only where a data set
    has its own captions; other languages are left out of the model and its row.

    Args:
        settings: the whole configuration. user: what the user gave. table: its name, as
            `table_named` takes it.

    Raises:
        InputError: the table has no such row.
    """
    table_settings = table_named(settings, table)
    rows = [row.experiment for row in table_settings.rows]
    trained = settings.experiments.keys() - left_out(settings)
    names = [
        name for name in settings.experiments if name in trained and any(_is_of(row, name) for row in rows)
    ]
    unlike = [f"{table}: {doubt}" for doubt in _overridden(settings, user, names)]
    return unlike + [f"{table}: {doubt}" for doubt in _without(settings, user, names, table_settings.columns)]


def _overridden(settings: Configuration, user: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    own = {name: dict(_leaves(_override(settings, name))) for name in names}
    experiments = user.get("experiments", {})
    overrides = {name: dict(_leaves(experiments.get(name, {}).get("settings", {}))) for name in names}
    warnings, read = [], dict(_leaves(settings.model_dump(exclude={"experiments", "tables"})))
    for path, text in _leaves({key: block for key, block in user.items() if key != "experiments"}):
        value = read.get(path, text)  # a number may be given as text
        others: dict[str, list[str]] = defaultdict(list)
        for name in names:
            if own[name].get(path, value) != value and path not in overrides[name]:
                others[json.dumps(own[name][path])].append(name)
        if sum(map(len, others.values())) < len(names):
            warnings += [_warning(path, value, *other) for other in others.items()]
    return warnings


def _without(
    settings: Configuration,
    user: Mapping[str, Any],
    names: Sequence[str],
    columns: Mapping[str, Sequence[str]],
) -> Iterator[str]:
    here, experiments = settings.stand_ins, user.get("experiments", {})
    for name, column in product(names, columns):
        languages = experiments.get(name, {}).get("languages", "all")
        if languages == "all" or column not in here:
            continue
        own = settings.datasets[here[column]].languages
        if lacking := [code for code in languages if code in columns[column] and code not in own]:
            yield (
                f"{name} lacks {', '.join(lacking)} on {here[column]}, which has no captions of its own in "
                "that language; `languages: all` includes translated languages"
            )


def _override(settings: Configuration, name: str) -> dict[str, object]:
    """What an experiment overrides, as plain values."""
    return settings.experiments[name].settings.model_dump(exclude_unset=True)


def _is_of(row: str, name: str) -> bool:
    """Whether a row's model is an experiment's, or the one that it has for a language."""
    return row == name or (row.startswith(f"{name}-") and len(row) == len(name) + 3)


def _warning(path: Path, value: Any, own: str, names: list[str]) -> str:
    key, more = ".".join(path), f" and {len(names) - MAX_SHOWN} more" if len(names) > MAX_SHOWN else ""
    return (
        f"{key} is {json.dumps(value)} in some rows, and {own} in rows of "
        f"{', '.join(names[:MAX_SHOWN])}{more} (experiments.*.settings.{key})"
    )


def _leaves(block: Mapping[str, Any], above: Path = ()) -> Iterator[tuple[Path, object]]:
    """Values that are not blocks, with the keys that lead to them."""
    for key, value in block.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, (*above, str(key)))
        else:
            yield (*above, str(key)), value
