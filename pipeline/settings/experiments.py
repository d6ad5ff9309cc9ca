"""The experiments of a data set, the feature sets, and the tables that a configuration has data for."""

from collections.abc import Mapping
from typing import Any

from pipeline.common.errors import raise_together

Settings = dict[str, Any]

# Tables beside those of config/tables; each is a file of results/ with a comparison.
OTHER_TABLES = ("table1", "parameters", "lessons/table1", "smalr/parameters")

# Figures that are drawn from points of their own, a CSV file each; `report` names them as it names tables.
POINTS = ("smalr/figure1b", "smalr/figure3")


# Blocks that may be empty: `{}` over one of them empties it.
EMPTIED = ("weights", "pairs", "caption_origins", "borrowed_translations")


def overlaid(below: Mapping[str, Any], above: Mapping[str, Any]) -> Settings:
    """Merge one configuration over another, block by block; lists and plain values are replaced as a whole.

    An empty block replaces one of `EMPTIED`, and leaves any other as it is.

    Neither is changed; the result shares with them what only one of them has.
    """
    merged = dict(below)
    for key, value in above.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        both = both and bool(value or key not in EMPTIED)
        merged[key] = overlaid(merged[key], value) if both else value
    return merged


def expanded(settings: Settings, dataset: str) -> dict[str, Settings]:
    """Every experiment of a data set by name; one with a model per language becomes one entry per language.

    Such an entry has that language alone (one_per_language), or all and stops on it (stop_on_each_language).
    An experiment has the data set's own languages, or those of them that it names; with `languages: all` the
    translated ones too.
    """
    found: dict[str, Settings] = {}
    for name in settings["experiments"]:
        found |= _entries(settings, dataset, name)
    return found


def experiment_named(settings: Settings, dataset: str, name: str) -> Settings:
    """One of the `expanded`; raises KeyError where the data set has no such experiment."""
    found: dict[str, Settings] = {}
    for beginning in settings["experiments"]:
        if name.startswith(beginning):  # of one language: beginning-de
            found |= _entries(settings, dataset, beginning)
    return found[name]


def _entries(settings: Settings, dataset: str, name: str) -> dict[str, Settings]:
    """The entries of `expanded` that one experiment of the configuration has."""
    made = settings["experiments"][name]
    languages = settings["datasets"][dataset]["languages"]
    asked = made.get("languages", made.get("selection", languages))
    if asked == "all":
        chosen = every_language(settings, dataset)
    else:
        chosen = [code for code in languages if code in asked]
    if made.get("one_per_language"):
        return {f"{name}-{code}": {**made, "languages": [code]} for code in chosen}
    if made.get("stop_on_each_language"):
        return {f"{name}-{code}": {**made, "languages": chosen, "stop_on": [code]} for code in chosen}
    return {name: {**made, "languages": chosen}}


def every_language(settings: Settings, dataset: str) -> list[str]:
    """A data set's own languages, followed by those whose captions are all translated from English."""
    data = settings["datasets"][dataset]
    return [*data["languages"], *data["translated_languages"]]


def one_for_each(settings: Settings) -> list[str]:
    """Names of the experiments with one model per language."""
    keys = ("one_per_language", "stop_on_each_language")
    return [name for name, made in settings["experiments"].items() if any(map(made.get, keys))]


def stand_ins(settings: Settings) -> dict[str, str]:
    """The data set of this scale for each data set of the papers, and for each of the user's own."""
    return {data["stands_for"]: dataset for dataset, data in settings["datasets"].items()}


def human_languages(settings: Settings) -> dict[str, list[str]]:
    """The languages in which each data set has human captions."""
    return {
        dataset: [code for code in data["languages"] if data["caption_origins"].get(code, "human") == "human"]
        for dataset, data in settings["datasets"].items()
    }


def feature_sets(settings: Settings) -> dict[str | None, Settings]:
    """Settings of every feature set: `None` is the main one, others are by name, merged over it.

    Precomputed features belong only to the set that names them.
    """
    main = {key: value for key, value in settings["images"].items() if key != "sets"}
    named = {name: own for name, own in settings["images"]["sets"].items() if own is not None}
    return {None: main} | {name: {**main, "features": None, **own} for name, own in named.items()}


def left_out(settings: Settings) -> dict[str, str]:
    """Experiments that are not trained because the configuration lacks their feature set, with the reason."""
    every, known = {**settings["experiments"]}, feature_sets(settings)
    for dataset in settings["datasets"]:
        every |= expanded(settings, dataset)
    return {
        name: f"the configuration has no features {experiment['features']} (images.sets)"
        for name, experiment in every.items()
        if experiment.get("features") not in known
    }


def table_named(settings: Settings, name: str) -> Settings:
    """A table by its name; `table2-row7+11` is table2 with only rows 7 and 11.

    Raises:
        InputError: the table has no such row, or the name has one twice.
    """
    base, _, numbers = name.partition("-row")
    if name in settings["tables"] or not numbers:
        found: Settings = settings["tables"][name]
        return found
    table, wanted = settings["tables"][base], [int(number) for number in numbers.split("+")]
    known = [row["row"] for row in table["rows"]]
    raise_together(
        [
            *(f"{base} has no row {number}" for number in dict.fromkeys(wanted) if number not in known),
            *(f"row {number} is named twice" for number in dict.fromkeys(wanted) if wanted.count(number) > 1),
        ],
        f"results/{name}.csv: its rows are {', '.join(map(str, known))}:",
    )
    return {**table, "rows": [row for row in table["rows"] if row["row"] in wanted]}


def makeable_tables(settings: Settings) -> list[str]:
    """Tables and `POINTS` for which this configuration has data, at least for some columns and rows."""
    named, lacking = set(stand_ins(settings)), left_out(settings)
    found = [
        name
        for name, table in settings["tables"].items()
        if named & set(table["columns"]) and any(row["experiment"] not in lacking for row in table["rows"])
    ]
    papers = {settings["tables"][name].get("paper") for name in found} - {None}
    counted = ["table1", *(["parameters"] if papers else [])]
    counted += ["lessons/table1"] if "multi30k" in named else []
    return [*found, *counted, *(["smalr/parameters", *POINTS] if "smalr" in papers else [])]
