"""Tables and a picture of pages, from results of finished runs that are kept in git (results/published).

    python -m workflow.published   # fill the tables of all pages, draw the picture; also: make results-pages

A table in a page is between two comments, and the first comment says what fills it:

    <!-- recalls RUN/TABLE DATASET -->           mR of each row and language
    <!-- differences RUN DATASET A-vs-B ... -->  of two experiments, with 95% intervals
    <!-- settings FILE -->                      keys of a configuration file: meaning, default, value there
    <!-- verdicts RUN -->                        claims of each paper by verdict
    <!-- orders RUN -->                          orders of rows that the claims name: the paper's and ours
    <!-- end -->
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd
import yaml

from pipeline.common.block import Block
from pipeline.common.rounding import tenths
from pipeline.datasets.languages import name_of
from pipeline.report.plots import intervals
from pipeline.settings.configuration import Configuration
from pipeline.tables.claims import VERDICTS
from pipeline.tables.result_files import read_result
from pipeline.tables.show import row_names
from workflow.orders import order_counts, own_support

FOLDER = Path("results/published")
PAGES = ("README.md", "config/README.md", "docs/*.md", "results/published/**/*.md")
KINDS = "recalls|differences|settings|verdicts|orders"
BLOCK = re.compile(rf"^<!-- ({KINDS}) (.*?) -->\n.*?^<!-- end -->", re.M | re.S)

# Pictures of differences on Multi30K: a run, and what its pairs of experiments show. The paper's: Table 2.
DATASET, PRINTED = "multi30k", "flickr8k-mule/table2"
PICTURES = {
    Path("docs/gains.svg"): (
        "flickr8k-mule",
        {
            "PARALLEL-EmbN - EmbN": "parallel-embn-vs-embn",
            "MULE EmbN - PARALLEL-EmbN": "mule-embn-vs-parallel-embn",
            "NC": "mule-nc-vs-mule-embn",
            "LC, with NC": "mule-nc-lc-vs-mule-nc",
            "LP, with NC and LC": "mule-full-vs-mule-nc-lc",
            "MULE full - PARALLEL-EmbN": "mule-full-vs-parallel-embn",
        },
    ),
    Path("docs/sharing.svg"): (
        "flickr8k-sharing",
        {
            "PARALLEL-EmbN - EmbN": "parallel-embn-vs-embn",
            "sharing the encoder (MULE EmbN)": "mule-embn-vs-parallel-embn",
            "NC and LC": "mule-nc-lc-vs-mule-embn",
            "LP, with NC and LC": "mule-full-vs-mule-nc-lc",
            "MULE NC+LC - PARALLEL-EmbN": "mule-nc-lc-vs-parallel-embn",
            "MULE full - PARALLEL-EmbN": "mule-full-vs-parallel-embn",
        },
    ),
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
    languages = list(dict.fromkeys(numbers["language"]))
    rows = [
        [method, *(_recall(rows, language) for language in languages)]
        for (_, method), rows in numbers.groupby(["row", "method"], sort=False)
    ]
    return markdown(["", *map(_heading, languages)], rows)


def differences(folder: Path, run: str, dataset: str, *pairs: str) -> list[str]:
    """Differences of mR with 95% intervals, bold where the interval excludes zero.

    A bold difference that is not significant after Holm's correction over its languages has the mark °.
    Pairs that differ only in the language of a model of one language share a row.
    """
    tables = [_read(folder / run / "compare" / dataset / f"{pair}.csv") for pair in pairs]
    languages = list(dict.fromkeys(language for table in tables for language in table["language"]))
    by_names = pd.concat([table.assign(names=_names(table)) for table in tables]).groupby("names", sort=False)
    rows = [[str(names), *_differences(table, languages)] for names, table in by_names]
    return markdown(["", *map(_heading, languages)], rows)


def picture(folder: Path, run: str, steps: Mapping[str, str]) -> str:
    """Differences of mR with 95% intervals next to the paper's, a panel for each language, as SVG."""
    tables = [
        _compared(folder, run, PRINTED, DATASET, pair).assign(place=n)
        for n, pair in enumerate(steps.values())
    ]
    cells = pd.concat(tables).rename(columns={"difference": "measured"}).assign(chance=0)
    panels = {name_of(str(code)): part for code, part in cells.groupby("language", sort=False)}
    return (
        intervals(panels, list(steps), "Differences of mean recall with 95% intervals, and the paper's")
        + "\n"
    )


def _compared(folder: Path, run: str, printed: str, dataset: str, pair: str) -> pd.DataFrame:
    """The differences of two experiments of a run by language, and in the column `paper` the paper's.

    Args:
        printed: RUN/TABLE of a table that has the paper's numbers.
    """
    ours = _read(folder / run / "compare" / dataset / f"{pair}.csv")
    numbers = (
        _comparison(folder, printed, dataset).set_index(["experiment", "language"])["paper"].astype(float)
    )

    def of_paper(name: str, language: str) -> float:
        each = (name, language) if (name, language) in numbers else (f"{name}-{language}", language)
        return float(numbers[each])

    first, second = pair.split("-vs-")
    return ours.assign(paper=[of_paper(first, code) - of_paper(second, code) for code in ours["language"]])


PAPERS = {"M": "MULE", "S": "SMALR", "L": "*Lessons*"}


def verdicts(folder: Path, run: str) -> list[str]:
    """How many claims of each paper have each verdict, and how many of these its own numbers contradict.

    Claims that are judged a second time, on models that follow the published code, are counted apart.
    """
    claims = _read(folder / run / "claims.csv")
    again = claims["id"].str.endswith("-as-code").map({True: ", again as published code", False: ""})
    claims["paper"] = claims["id"].str[0].map(PAPERS) + again
    if (folder / run / "comparison" / "claims.csv").exists():
        support = own_support(folder / run)
        contradicted = claims[claims["id"].isin(support.index[~support])]
        note = ", contradicted by its own numbers"
        claims = pd.concat([claims, contradicted.assign(paper=contradicted["paper"] + note)])
    counts = pd.crosstab(claims["paper"], claims["verdict"]).reindex(claims["paper"].unique())
    counts = counts[[verdict for verdict in VERDICTS if verdict in counts]]
    rows = [
        [str(paper), *(str(int(count)) for count in row)]
        for paper, row in zip(counts.index, counts.values, strict=True)
    ]
    return markdown(["paper", *counts.columns], rows)


def settings(folder: Path, file: str) -> list[str]:
    """The keys of a configuration file, with meaning and default from the schema, and their value there."""
    blocks = yaml.safe_load((folder.parents[1] / file).read_text(encoding="utf-8"))
    rows = []
    for block, keys in blocks.items():
        kind = Configuration.model_fields[block].annotation
        assert isinstance(kind, type) and issubclass(kind, Block)
        for key, value in keys.items():
            field = kind.model_fields[key]
            default = field.get_default(call_default_factory=True)
            meaning = " ".join((field.description or "").split())
            rows.append(
                [f"`{block}.{key}`", meaning, *(json.dumps(each).strip('"') for each in (default, value))]
            )
    return markdown(["key", "meaning", "default", "authors' code"], rows)


def orders(folder: Path, run: str) -> list[str]:
    """How many of the paper's orders are ours, by kind of captions (`order_counts`)."""
    clear = "of these p < 0.05 (by Holm)"
    head = ["", "orders", "the paper's sign", clear, "the opposite sign", clear]
    rows = [
        [
            str(kind),
            f"{every}",
            f"{same}",
            f"{clear} ({by_holm})",
            f"{other}",
            f"{opposite} ({opposite_by_holm})",
        ]
        for kind, every, same, clear, by_holm, other, opposite, opposite_by_holm in order_counts(
            folder / run
        ).itertuples()
    ]
    return markdown(head, rows)


TABLES: Mapping[str, Callable[..., list[str]]] = {
    "recalls": recalls,
    "differences": differences,
    "settings": settings,
    "verdicts": verdicts,
    "orders": orders,
}


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table."""
    lines = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(cells)} |" for cells in lines]


def _heading(language: str) -> str:
    """En for en; HA and A, means over languages, as in the paper."""
    return language[:1].upper() + language[1:]


def _comparison(folder: Path, table: str, dataset: str) -> pd.DataFrame:
    run, _, name = table.partition("/")
    numbers = _read(folder / run / "comparison" / f"{name}.csv")
    numbers = numbers[(numbers["dataset"] == dataset) & (numbers["metric"] == "mR")]
    return numbers.assign(method=row_names(numbers))


def _recall(rows: pd.DataFrame, language: str) -> str:
    of_language = rows[rows["language"] == language]
    if of_language.empty:
        return "-"
    (row,) = of_language.to_dict("records")
    return tenths(row["measured"]) + ("" if pd.isna(row["std"]) else f" ± {tenths(row['std'])}")


def _differences(table: pd.DataFrame, languages: Sequence[str]) -> list[str]:
    rows = {row.language: row for row in table.itertuples()}
    return [_difference(rows[language]) if language in rows else "-" for language in languages]


def _difference(row: object) -> str:
    value, low, high, p_holm = (float(getattr(row, name)) for name in ("difference", "low", "high", "p_holm"))
    text = tenths(value, sign=True)
    if low > 0 or high < 0:
        text = f"**{text}**{'' if p_holm < 0.05 else '°'}"
    return f"{text} ({tenths(low)} to {tenths(high)})"


def _names(table: pd.DataFrame) -> str:
    """The two experiments, without the language of models of one language each."""
    row = table.iloc[0]
    first, second = (
        re.sub(rf"(?:-{row['language']})?(?: original)?$", "", str(row[name]))
        for name in ("first_name", "second_name")
    )
    return f"{first} - {second}"


def _read(path: Path) -> pd.DataFrame:
    return read_result(path, "published results", "Name a run of results/published, and a table that it has")


if __name__ == "__main__":
    for path, (run, steps) in PICTURES.items():
        path.write_text(picture(FOLDER, run, steps), encoding="utf-8")
    print("\n".join(map(str, fill_pages())) or "every page is as its files say")
