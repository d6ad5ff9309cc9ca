"""The experiments of a data set, and the tables that a configuration has data for."""

from pipeline.common.errors import raise_together
from pipeline.settings.configuration import Configuration
from pipeline.tables.settings import Table

# Tables that are not in config/tables; each is a file of results/ with a comparison.
OTHER_TABLES = ("table1", "parameters", "lessons/table1", "smalr/parameters")


def left_out(settings: Configuration) -> dict[str, str]:
    """Experiments that are not trained because the configuration lacks their feature set, with the reason."""
    features = {name: one.features for name, one in settings.experiments.items()}
    for dataset in settings.datasets:
        features |= {name: one.features for name, one in settings.experiments_on(dataset).items()}
    feature_sets = settings.images.feature_sets()
    return {
        name: f"the configuration has no features {name_of_set} (images.sets)"
        for name, name_of_set in features.items()
        if name_of_set not in feature_sets
    }


def table_named(settings: Configuration, name: str) -> Table:
    """The table with a name; `table2-row7+11` is table2 with only rows 7 and 11.

    Raises:
        InputError: the table has no such row, or the name has a row twice.
    """
    base, _, numbers = name.partition("-row")
    if name in settings.tables or not numbers:
        return settings.tables[name]
    table, rows = settings.tables[base], [int(number) for number in numbers.split("+")]
    every = [row.row for row in table.rows]
    raise_together(
        [
            *(f"{base} has no row {number}" for number in dict.fromkeys(rows) if number not in every),
            *(f"row {number} is named twice" for number in dict.fromkeys(rows) if rows.count(number) > 1),
        ],
        f"{settings.results}/{name}.csv: its rows are {', '.join(map(str, every))}:",
    )
    return table.model_copy(update={"rows": [row for row in table.rows if row.row in rows]})


def makeable_tables(settings: Configuration) -> list[str]:
    """Tables for which this configuration has data, at least for some columns and rows."""
    papers_datasets, lacking = set(settings.stand_ins), left_out(settings)
    names = [
        name
        for name, table in settings.tables.items()
        if papers_datasets & set(table.columns) and any(row.experiment not in lacking for row in table.rows)
    ]
    papers = {settings.tables[name].paper for name in names} - {None}
    others = ["table1", *(["parameters"] if papers else [])]
    others += ["lessons/table1"] if "multi30k" in papers_datasets else []
    return [*names, *others, *(["smalr/parameters"] if "smalr" in papers else [])]
