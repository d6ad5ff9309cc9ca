"""Which experiment fills which cell of a table."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Cell:
    """One cell of a table.

    row: the row's entry in config/tables. paper_dataset: the data set of its column in the paper.
    dataset: the one of this scale that stands for it. queries: `own` test captions, or ones `translated`
    into the language of the experiment's model; of a row with `consistency`, its value: own ones together
    with their translations.
    """

    row: Mapping[str, Any]
    paper_dataset: str
    dataset: str
    language: str
    experiment: str
    queries: str


def cells(settings: Mapping[str, Any]) -> Iterator[Cell]:
    """The cells of a table, row by row.

    Left out are columns of data sets and languages that this configuration lacks, and what an experiment is
    not trained on.

    Args:
        settings: `table`, as in config/tables; `datasets`, for each data set of the paper the one of this
            scale; `languages` of each data set; `trained`, for each data set its experiments and their
            languages; `one_per_language`, the experiments that are a model for each language;
            `caption_origins`
            of each data set, by language, where captions are not by people.
    """
    for row in settings["table"]["rows"]:
        for named, languages in row.get("columns", settings["table"]["columns"]).items():
            for language in languages if named in settings["datasets"] else []:
                single = row["experiment"] in settings["one_per_language"]
                experiment = f"{row['experiment']}-{language}" if single else row["experiment"]
                translated = row.get("queries") == "translated" and not experiment.endswith(f"-{language}")
                dataset = settings["datasets"][named]
                known = settings["trained"][dataset].get(experiment, [])
                if consistency := row.get("consistency"):
                    # Only what people wrote is a query; its translations are asked beside it.
                    origin = settings["caption_origins"][dataset].get(language, "human")
                    if language in known and origin == "human":
                        yield Cell(row, named, dataset, language, experiment, consistency)
                elif language in (settings["languages"][dataset] if known and translated else known):
                    queries = "translated" if translated else "own"
                    yield Cell(row, named, dataset, language, experiment, queries)
