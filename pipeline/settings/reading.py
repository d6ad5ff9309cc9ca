"""The configuration files, which are read, merged and validated as a whole.

Order: config/experiments.yaml and config/tables/*.yaml, then config/scales/{scale}.yaml, which may change an
experiment, then what the user gives (config/config.yaml, --configfile, --config). All other keys have the
defaults of their classes.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from pipeline.common.errors import InputError, raise_together
from pipeline.common.yaml_files import read_yaml_files
from pipeline.datasets.settings import Scale
from pipeline.settings.configuration import Configuration
from pipeline.settings.contradictions import contradictions
from pipeline.settings.experiments import makeable_tables
from pipeline.settings.merge import merge
from pipeline.tables.settings import Table

CONFIG = Path(__file__).parents[2] / "config"
HEADING = "The configuration has mistakes:"


def load(user: Mapping[str, Any]) -> Configuration:
    """The whole configuration; raises `InputError` that lists every mistake of a kind.

    Mistakes within a block are reported first, then keys of several blocks that contradict each other.

    Args:
        user: what the user gives; at least `scale`. Snakemake's --config passes numbers as texts, and YAML
            reads 1e-4 as a text: a text is converted where a number belongs, and nowhere else.
    """
    scale = user.get("scale")
    if scale not in get_args(Scale):
        raise InputError(f"configuration: scale: found {scale!r:.100}, expected demo, flickr8k or paper")
    of_scale, values = _own_files(str(scale))
    values = _with_norwegian(merge(merge(values, of_scale), user))
    settings = _with_own_tables(Configuration.from_values(values, HEADING))
    raise_together(contradictions(settings), HEADING)
    return settings


# Rows of the table that a data set of a user's own has, as in the MULE paper.
_OWN_ROWS = [
    {"method": "EmbN", "single_model": "N", "experiment": "embn"},
    {"method": "PARALLEL-EmbN", "single_model": "Y", "experiment": "parallel-embn"},
    {"method": "MULE full", "single_model": "Y", "experiment": "mule-full"},
]


def _with_own_tables(settings: Configuration) -> Configuration:
    """The configuration, with a table added for each of the user's own data sets that no table shows.

    If there are such data sets, the report has only their tables, unless `report` says otherwise.
    """
    own = [
        name for name, data in settings.datasets.items() if data.source == "custom" and not data.stands_for
    ]
    shown = {column for table in settings.tables.values() for column in table.columns}
    new = {
        name: Table.model_validate({"columns": {name: settings.datasets[name].languages}, "rows": _OWN_ROWS})
        for name in own
        if name not in {*shown, *settings.tables}
    }
    settings = settings.model_copy(update={"tables": settings.tables | new})
    if "report" in settings.model_fields_set:
        return settings
    names = [name for name, table in settings.tables.items() if table.columns.keys() & set(own)]
    return settings.model_copy(update={"report": names or makeable_tables(settings)})


def _own_files(scale: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """A scale's file, and all experiments and tables: `table2` of MULE, `lessons/table2` of another paper."""
    of_scale, experiments = CONFIG / "scales" / f"{scale}.yaml", CONFIG / "experiments.yaml"
    tables = sorted((CONFIG / "tables").rglob("*.yaml"))
    values = read_yaml_files([of_scale, experiments, *tables], HEADING)
    names = [path.relative_to(CONFIG / "tables").with_suffix("").as_posix() for path in tables]
    by_name = dict(zip(names, map(values.__getitem__, tables), strict=True))
    return values[of_scale], {"experiments": values[experiments], "tables": by_name}


def _with_norwegian(value: Any) -> Any:
    """The settings with the language code `no`, which YAML reads as false: in lists, and as a key."""
    if isinstance(value, Mapping):
        return {"no" if key is False else key: _with_norwegian(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return ["no" if item is False else _with_norwegian(item) for item in value]
    return value
