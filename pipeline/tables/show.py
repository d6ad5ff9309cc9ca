"""A table for the terminal: our mean recalls, with the paper's in brackets."""

from pathlib import Path

import pandas as pd

from pipeline.common.errors import InputError
from pipeline.common.rounding import tenths
from pipeline.tables.result_files import read_result

METHOD = ["group", "method", "training_data"]


def show_table(comparison: Path, /) -> None:
    """Print the mean recalls of a table, each with the paper's number in brackets.

    Args:
        comparison: a file of results/comparison.

    Raises:
        InputError: the file is missing or has no mean recalls.
    """
    hint = f"Run: snakemake {str(comparison).replace('/comparison/', '/', 1)}"
    numbers = read_result(comparison, "the comparison", hint)
    if "measured" not in numbers or not numbers["metric"].eq("mR").any():
        raise InputError(f"{comparison} has no mean recalls. Give a table of recalls in results/comparison.")
    print(table_text(numbers))


def table_text(numbers: pd.DataFrame) -> str:
    """For each data set a line for each row of the table, and a column for each language.

    Args:
        numbers: one number per line, as `tabulate` writes them to results/comparison.
    """
    recalls = numbers[numbers["metric"] == "mR"]
    recalls = recalls.assign(
        cell=list(map(_cell, recalls["measured"], recalls["paper"])), method=row_names(recalls)
    )
    return "\n\n".join(_block(dataset, of) for dataset, of in recalls.groupby("dataset", sort=False))


def row_names(recalls: pd.DataFrame) -> pd.Series:
    """The name of each number's row: section, group, method and training data."""
    names = recalls[["section", *METHOD]].astype(object).fillna("").map(str)
    methods = names[METHOD].agg(lambda row: ", ".join(filter(None, row)), axis=1)
    return (names["section"] + " " + methods).str.strip()


def _block(dataset: str, recalls: pd.DataFrame) -> str:
    wide = recalls.pivot(index=["row", "method"], columns="language", values="cell").fillna("-")
    wide = wide.droplevel("row")[recalls["language"].unique()]
    return str(wide.rename_axis(index=None, columns=dataset).to_string())


def _cell(value: float, paper: float) -> str:
    """`62.7 (57.5)`, or without brackets where the paper has no number."""
    return tenths(value) + ("" if pd.isna(paper) else f" ({tenths(paper)})")
