"""Tables and pictures of pages, from results of finished runs that are kept in git (results/published).

    python -m workflow.published   # fill the tables of all pages, draw the pictures; also: make results-pages

A table in a page is between two comments, and the first comment says what fills it:

    <!-- recalls RUN/TABLE DATASET -->           mR of each row and language
    <!-- differences RUN DATASET A-vs-B ... -->  of two experiments, with 95% intervals
    <!-- verdicts RUN -->                        claims of each paper by verdict
    <!-- orders RUN -->                          orders of rows that the claims name: the paper's and ours
    <!-- end -->
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.common.rounding import tenths
from pipeline.common.yaml_files import read_yaml
from pipeline.datasets.languages import name_of
from pipeline.report.plots import intervals
from pipeline.tables.claims import LEVEL, VERDICTS
from pipeline.tables.orders import order_counts
from pipeline.tables.result_files import read_result
from pipeline.tables.show import row_names

FOLDER = Path("results/published")
PAGES = ("README.md", "config/README.md", "docs/*.md", "results/published/**/*.md")
BLOCK = re.compile(r"^<!-- (recalls|differences|verdicts|orders) (.*?) -->\n.*?^<!-- end -->", re.M | re.S)
STAND_INS_FOR_MSCOCO = ["flickr8kcn"]

# The tables that have the paper's numbers, by data set.
PRINTED = {
    "multi30k": ["flickr8k-mule/table2", "flickr8k-mule/table4"],
    "flickr8kcn": ["flickr8k-mule/table3"],
}
NAMES = {
    "multi30k": "Multi30K",
    "flickr8kcn": "Flickr8K-CN",
    "zh15": "15% with Chinese",
    "zh30": "30% with Chinese",
}


def fill_pages(root: Path = Path()) -> list[Path]:
    """Fill every table of the pages; returns the pages that changed."""
    changed = []
    for path in pages(root):
        text = path.read_text(encoding="utf-8")
        if (filled := filled_page(text, root)) != text:
            path.write_text(filled, encoding="utf-8")
            changed.append(path)
    return changed


def pages(root: Path = Path()) -> Iterator[Path]:
    """All pages that may have tables."""
    for pattern in PAGES:
        yield from sorted(root.glob(pattern))


def filled_page(text: str, root: Path = Path()) -> str:
    """A page with the tables that its comments ask for."""

    def filled_block(match: re.Match[str]) -> str:
        kind, arguments = match[1], match[2].split()
        lines = TABLES[kind](root / FOLDER, *arguments)
        return "\n".join([f"<!-- {kind} {match[2]} -->", *lines, "<!-- end -->"])

    return BLOCK.sub(filled_block, text)


def recalls(folder: Path, table: str, dataset: str) -> list[str]:
    """The mR of each row and language: the mean and, over several seeds, its standard deviation."""
    numbers = _comparison(folder, table, dataset)
    deviations = [f" ± {tenths(std)}" if std >= 0 else "" for std in numbers["std"]]
    numbers["cell"] = numbers["measured"].map(tenths) + deviations
    return _by_language(numbers, "method")


def differences(folder: Path, run: str, dataset: str, *pairs: str) -> list[str]:
    """Differences of mR with 95% intervals, bold where the interval excludes zero.

    A bold difference that is not significant after Holm's correction over its languages has the mark °.
    Pairs that differ only in the language of a model of one language share a row.
    """
    files = [folder / run / "compare" / dataset / f"{pair}.csv" for pair in pairs]
    table = pd.concat(map(_read, files))
    table["names"] = [_names(row) for row in table.to_dict("records")]
    value = table["difference"].map(partial(tenths, sign=True))
    bold = "**" + value + "**" + np.where(table["p_holm"] < LEVEL, "", "°")
    value = value.mask((table["low"] > 0) | (table["high"] < 0), bold)
    table["cell"] = value + " (" + table["low"].map(tenths) + " to " + table["high"].map(tenths) + ")"
    return _by_language(table, "names")


def picture(folder: Path, run: str, datasets: Sequence[str], differences: Mapping[str, str]) -> str:
    """Differences of mR with 95% intervals next to the paper's, if any, a panel for each language, as SVG.

    Args:
        differences: the pair of experiments, A-vs-B, of each difference; its keys name them in the picture.
    """
    panels = {}
    for dataset in datasets:
        printed = _printed(folder, dataset)
        tables = []
        for place, pair in enumerate(differences.values()):
            table = _read(folder / run / "compare" / dataset / f"{pair}.csv")
            # The paper has an LSTM throughout: its EmbN is that of lstm-embn too.
            first, second = Path(pair).name.replace("lstm-", "").split("-vs-")
            paper = [
                _of_paper(printed, first, code) - _of_paper(printed, second, code)
                for code in table["language"]
            ]
            tables.append(table.assign(place=place, paper=paper, chance=0, measured=table["difference"]))
        for code, part in pd.concat(tables).groupby("language", sort=False):
            panels[f"{name_of(str(code))}, {NAMES[dataset]}"] = part
    description = "Differences of mean recall with 95% intervals, and the paper's, if any"
    return intervals(panels, list(differences), description) + "\n"


def _printed(folder: Path, dataset: str) -> pd.Series:
    """The paper's mR by experiment and language; empty for a data set that the paper does not have."""
    rows = [_comparison(folder, table, dataset) for table in PRINTED.get(dataset, [])]
    place = ["experiment", "language"]
    empty = pd.DataFrame(columns=[*place, "paper"])
    return pd.concat([empty, *rows]).drop_duplicates(place).set_index(place)["paper"]


def _of_paper(printed: pd.Series, name: str, language: str) -> float:
    """The paper's number of an experiment, or of its model of one language; NaN if it has none."""
    each = (name, language) if (name, language) in printed else (f"{name}-{language}", language)
    return float(printed.get(each, np.nan))


PAPERS = {"M": "MULE", "S": "SMALR", "L": "*Lessons*"}


def verdicts(folder: Path, run: str) -> list[str]:
    """How many claims of each paper have each verdict, and how many of these its own numbers contradict.

    Claims that are judged a second time, on models that follow the published code, are counted apart.
    """
    claims = _read(folder / run / "claims.csv")
    again = claims["id"].str.endswith("-as-code").map({True: ", again as published code", False: ""})
    claims["paper"] = claims["id"].str[0].map(PAPERS) + again
    contradicted = claims[claims["paper_numbers"] == "contradict"]
    note = ", contradicted by its own numbers"
    claims = pd.concat([claims, contradicted.assign(paper=contradicted["paper"] + note)])
    counts = pd.crosstab(claims["paper"], claims["verdict"]).reindex(claims["paper"].unique())
    counts = counts[[verdict for verdict in VERDICTS if verdict in counts]]
    return markdown(["paper", *counts.columns], counts.reset_index().to_numpy())


def orders(folder: Path, run: str) -> list[str]:
    """How many of the paper's orders are ours, by kind of captions (`order_counts`)."""
    counts = order_counts(_read(folder / run / "comparison" / "claims.csv"), STAND_INS_FOR_MSCOCO)
    clear = f"of these p < {LEVEL} (by Holm)"
    head = ["", "orders", "the paper's sign", clear, "the opposite sign", clear]
    rows = []
    for row in counts.itertuples():
        same, other = f"{row.same_clear} ({row.same_holm})", f"{row.reversed_clear} ({row.reversed_holm})"
        rows.append([row.Index, row.orders, row.same, same, row.reversed, other])
    return markdown(head, rows)


TABLES: Mapping[str, Callable[..., list[str]]] = {
    "recalls": recalls,
    "differences": differences,
    "verdicts": verdicts,
    "orders": orders,
}


def markdown(head: Sequence[str], rows: Iterable[Iterable[object]]) -> list[str]:
    """Lines of a table."""
    lines = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(map(str, cells))} |" for cells in lines]


def _by_language(numbers: pd.DataFrame, row: str) -> list[str]:
    """A line for each value of a column, with the `cell` of each language, in the order of the numbers."""
    wide = numbers.pivot(index=row, columns="language", values="cell").fillna("-")
    wide = wide.loc[numbers[row].unique(), numbers["language"].unique()]
    # En for en; HA and A, means over languages, as in the paper.
    heads = [code[:1].upper() + code[1:] for code in wide]
    return markdown(["", *heads], wide.reset_index().to_numpy())


def _comparison(folder: Path, table: str, dataset: str) -> pd.DataFrame:
    run, _, name = table.partition("/")
    numbers = _read(folder / run / "comparison" / f"{name}.csv")
    numbers = numbers[(numbers["dataset"] == dataset) & (numbers["metric"] == "mR")]
    return numbers.assign(method=row_names(numbers))


def _names(row: Mapping[str, str]) -> str:
    """The two experiments of a comparison, without the language of models of one language each."""
    language = rf"(?:-{row['language']})?(?: original)?$"
    return f"{re.sub(language, '', row['first_name'])} - {re.sub(language, '', row['second_name'])}"


def _read(path: Path) -> pd.DataFrame:
    return read_result(path, "published results", "Name a run of results/published, and a table that it has")


if __name__ == "__main__":
    for path, content in read_yaml(FOLDER / "pictures.yaml").items():
        Path(path).write_text(picture(FOLDER, **content), encoding="utf-8")
    print("\n".join(map(str, fill_pages())) or "every page is as its files say")
