"""Settings of tables: their rows and columns, and what the stages that fill them depend on."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from pipeline.common.block import Block, Number, Seed, Unique, did_you_mean
from pipeline.datasets.settings import LanguageCode, Languages, Origins

Paper = Literal["mule", "smalr", "lessons"]
Recall = Literal["mR", "i2s_R@1", "i2s_R@5", "i2s_R@10", "s2i_R@1", "s2i_R@5", "s2i_R@10"]
Queries = Literal["original", "translated"]
Columns = dict[str, Languages]


class Row(Block):
    """A row of a table: an experiment, and how it is evaluated."""

    section: str | None = None
    """part of the table, such as (a)"""
    row: Number
    """its number, 0 or more; default: after the row before it"""
    group: str | None = None
    """heading above the row"""
    method: str
    """what the paper calls the method; default: the experiment"""
    training_data: str | None = None
    """the paper's name for the training data"""
    single_model: Literal["Y", "N"] | None = None
    """Y or N: whether one model has all languages"""
    experiment: str
    """a key of experiments, or `{experiment}-{language}` of one that is one_per_language"""
    queries: Queries | None = None
    """original (the default), or translated (into the model's language)"""
    consistency: Literal["average", "learned"] | None = None
    """average (the mean over a query and its translations, CLC-A) or learned (CLC-C); default: only the query
    """
    columns: Columns | None = None
    """the columns that the row has, if not all of the table's"""

    @property
    def term(self) -> str:
        """What claims call it: the experiment, and its queries if they are not original."""
        kind = self.consistency or self.queries
        return self.experiment if kind in (None, "original") else f"{self.experiment}/{kind}"

    def contradictions(self) -> Iterator[str]:
        if self.consistency and self.queries:
            yield ": leave `queries` out, consistency uses original queries"


class Table(Block):
    """A table of results."""

    paper: Paper | None = None
    """the paper that it belongs to: mule, smalr or lessons"""
    table: int | None = None
    """its number, if the paper prints it"""
    caption: str | None = None
    """what it shows, a sentence for the report"""
    averages: bool | None = None
    """whether it has two columns of means over languages for each data set, HA (languages with human
    captions) and A (all languages of the table)
    """
    metrics: Literal["mR", "all"] | Annotated[list[Recall], Field(min_length=1), Unique] | None = None
    """mR (the mean recall; default), all (the six recalls too), or a list of recalls, such as [i2s_R@10]"""
    columns: Columns
    """languages of each data set, in the paper's order: multi30k, mscoco, or one of yours"""
    rows: Annotated[list[Row], Field(min_length=1)]
    """the rows, each an experiment"""
    add_rows: list[Row] | None = None
    """further rows, after those of the table, which need not be repeated"""

    @model_validator(mode="before")
    @classmethod
    def _with_numbers_and_methods(cls, values: Any) -> Any:
        """The table with all rows in `rows`, and the number and the method of rows that have none."""
        if not isinstance(values, dict) or not isinstance(values.get("rows"), list):
            return values
        found, number, rows = dict(values), 0, []
        added = found.pop("add_rows") if isinstance(found.get("add_rows"), list) else []
        for row in [*found["rows"], *added]:
            if isinstance(row, dict):
                row = {"row": number + 1, "method": row.get("experiment"), **row}
                number = row["row"] if isinstance(row["row"], int) else number
            rows.append(row)
        return found | {"rows": rows}

    def contradictions(self) -> Iterator[str]:
        """Two rows share a number, or a row has a column that its table lacks."""
        first: dict[int, int] = {}
        for place, row in enumerate(self.rows):
            if first.setdefault(row.row, place) != place:
                yield (
                    f".rows.{place}.row: found {row.row}, which is also the number of "
                    f"rows.{first[row.row]}; give each row its own number"
                )
            yield from (f".rows.{place}.columns{line}" for line in self._unknown_columns(row.columns or {}))

    def _unknown_columns(self, columns: Columns) -> Iterator[str]:
        for column, languages in columns.items():
            if column not in self.columns:
                yield f": no column {column!r} in the table{did_you_mean(column, list(self.columns))}"
            for code in sorted(set(languages) - set(self.columns.get(column, languages))):
                yield f".{column}: the table has no language {code!r} of this column"


class ResultSettings(Block):
    """What tables and claims depend on besides the evaluations."""

    scale: str
    papers_data: list[str]
    """the data sets that are the paper's own"""
    seeds: list[Seed]
    datasets: dict[str, str]
    """the data set that stands for one of the papers"""
    languages: dict[str, list[LanguageCode]]
    """languages of each data set's own captions"""
    human: dict[str, list[LanguageCode]]
    """those of them whose captions are human"""
    one_per_language: list[str]
    """experiments with one model per language"""


class TableSettings(ResultSettings):
    """What a table depends on: its rows and columns, and which data sets and experiments fill them."""

    table: Table
    trained: dict[str, dict[str, list[LanguageCode]]]
    """languages of each experiment that the rows name, by data set"""
    left_out: list[str]
    """rows that are not filled, each with the reason"""
    caption_origins: dict[str, Origins]


class ClaimSettings(ResultSettings):
    """What judging a paper's claims depends on."""

    experiments: list[str]
    recurrent: str
    left_out: dict[str, str]
    rows: dict[str, dict[str, dict[str, str]]]
    """by paper, table and number of a row, the term by which claims name it"""
