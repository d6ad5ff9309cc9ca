"""results/report.html: everything that was measured on one page, next to the papers' numbers."""

import os
import platform
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import pandas as pd

from pipeline.report import plots, tables
from pipeline.report.pages import main_of, write_page
from pipeline.report.settings import ReportSettings
from pipeline.tables.claims import NOT_HERE, NOT_TESTABLE, VERDICTS
from pipeline.tables.result_files import read_result
from pipeline.tables.settings import Table

PAPERS = {"mule": "MULE", "smalr": "SMALR", "lessons": "Lessons"}


def write_report(
    settings: ReportSettings,
    comparisons: Sequence[Path],
    benchmarks: Path,
    output: Path,
    claims: Path | None = None,
    claim_comparisons: Path | None = None,
    figures: Sequence[Path] = (),
    curves: Sequence[Path] = (),
) -> None:
    """Write all results to one self-contained page.

    Args:
        settings: JSON: `scale`, `seeds`, `stands_for`, `caption_origins`; `tables`, as in config/tables;
            `left_out`, by table the rows that are not made, and why; `images`, `model` and `training`.
        comparisons: outputs of `tabulate` and of tables of counts, in a folder `comparison`.
        benchmarks: folder of Snakemake's benchmark files, whose run times are listed.
        output: HTML to write.
        claims: output of `judge-claims`, one claim per line; without it, the page has no claims.
        claim_comparisons: output of `judge-claims`, one comparison per line.
        figures: pages of `draw-retrieved`, and drawings, each the picture of the table of its name.
        curves: training curves.
    """
    by_name = {path.as_posix().rpartition("comparison/")[2][: -len(".csv")]: path for path in comparisons}
    names = sorted(by_name, key=natural)
    drawings = {f"{path.parent.name}/{path.stem}": path for path in figures if path.suffix == ".svg"}
    shown = [tables.of_comparison(name, by_name[name], settings, drawings.get(name)) for name in names]
    of_evaluations = [settings.tables[name] for name in names if name in settings.tables]
    values = {
        "settings": settings,
        "printed": lambda dataset: tables.printed_name(dataset, settings),
        "of_paper": any(table.paper for table in of_evaluations),
        "other_data": [
            dataset
            for dataset, stands_for in settings.stands_for.items()
            if stands_for in tables.PAPER_NAMES and dataset not in settings.papers_data
        ],
        "title": _title(of_evaluations, shown, settings),
        "tables": shown,
        "verdicts": VERDICTS,
        "claims": list(_claims(claims, claim_comparisons)),
        "figures": [_figure(path) for path in figures if path.suffix == ".html"],
        "curves": _curves(curves, settings),
        "versions": pd.DataFrame(
            sorted({(one.metadata["Name"].lower(), one.version) for one in distributions()}),
            columns=["Package", "Version"],
        ),
        "told": {
            name: pd.DataFrame(block.items(), columns=["Key", "Value"])
            for name, block in settings.configured.items()
        },
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}",
        **_run_times(benchmarks),
    }
    write_page(output, "report.html.j2", values)


def _figure(path: Path) -> dict[str, object]:
    """MULE's examples, a page of their own, as a section; its headings are one level lower."""
    number = path.stem.replace("figure", "Figure ")
    body = re.sub(r"(</?h)2>", r"\g<1>3>", main_of(path))
    return {"name": path.stem, "title": f"{number}: image-sentence matching", "body": body}


def natural(name: str) -> list[object]:
    """Sort key: table2 before table10, numbered tables before others, MULE's before another paper's."""
    return [
        "/" in name,
        not name.startswith("table"),
        *(int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name) if part),
    ]


def _title(
    of_evaluations: Sequence[Table], shown: Sequence[Mapping[str, Any]], settings: ReportSettings
) -> str:
    """What the report shows: whose tables, on which data sets."""
    whose = []
    for paper, title in PAPERS.items():
        numbers = [table.table for table in of_evaluations if table.paper == paper]
        if None in numbers or len(numbers) > 3:
            whose.append(f"{title}'s tables")
        elif numbers:
            whose.append(f"{title}'s Table{'s' if len(numbers) > 1 else ''} {_together(map(str, numbers))}")
    datasets = dict.fromkeys(dataset for table in shown for dataset in table["datasets"])
    names = [tables.printed_name(dataset, settings) for dataset in datasets]
    return f"{_together(whose) or 'Image-sentence retrieval'} on {_together(names)}"


def _together(names: Iterable[str]) -> str:
    """`a, b and c`."""
    *first, last = [*names] or [""]
    return f"{', '.join(first)} and {last}" if first else last


def _claims(claims: Path | None, comparisons: Path | None) -> Iterator[dict[str, Any]]:
    """The claims of each paper that are tested, and the others; its `name` and `paper`, its printed name."""
    if claims is None or comparisons is None:
        return
    lines = _read(comparisons)
    rows = [
        {**row, "compared": lines[lines["id"] == row["id"]].to_dict("records")}
        for row in _read(claims).to_dict("records")
    ]
    for name, paper in PAPERS.items():
        every = [claim for claim in rows if claim["id"].startswith(paper[0])]
        untested = [claim for claim in every if claim["verdict"] in (NOT_HERE, NOT_TESTABLE)]
        tested = [claim for claim in every if claim not in untested]
        if every:
            yield {"name": name, "paper": paper, "every": every, "tested": tested, "untested": untested}


def _read(path: Path) -> pd.DataFrame:
    """The rows of a CSV file, with None for an empty cell."""
    table = read_result(path, "the table", "Run the stage that makes it.")
    return table.astype(object).where(table.notna(), None)


def _curves(paths: Sequence[Path], settings: ReportSettings) -> list[dict[str, str]]:
    """For each data set a drawing with a panel for each experiment; models of one language share a panel."""
    curves: dict[str, dict[str, dict[str, list[pd.Series]]]] = {}
    for path in paths:
        dataset, experiment = path.parts[-5], path.parts[-3]
        table = pd.read_csv(path, index_col="epoch")
        languages = {c.removeprefix("val_mR_"): table[c] for c in table if c.startswith("val_mR_")}
        only, *others = languages
        name = experiment if others else experiment.removesuffix(f"-{only}")
        for language, curve in languages.items():
            curves.setdefault(dataset, {}).setdefault(name, {}).setdefault(language, []).append(curve)
    return [
        {"dataset": name, "svg": plots.curves(panels, f"Validation mR of each experiment on {name}")}
        for dataset, panels in curves.items()
        for name in [tables.printed_name(dataset, settings)]
    ]


def _run_times(folder: Path) -> dict[str, object]:
    """Seconds and memory of all jobs of the scale when each last ran, by rule, and the minutes of all."""
    jobs = [pd.read_csv(path, sep="\t", na_values=["-"]) for path in sorted(folder.rglob("*.tsv"))]
    table = pd.concat([pd.DataFrame(columns=["rule_name", "s", "max_rss"]), *jobs])
    table = table.astype({"s": float, "max_rss": float}).fillna({"rule_name": ""})
    seconds, memory = table.groupby("rule_name")["s"], table.groupby("rule_name")["max_rss"]
    sums = {"Jobs": seconds.size(), "Seconds, all": seconds.sum(), "Longest": seconds.max()}
    rules = pd.DataFrame({**sums, "Memory, MB": memory.max()}).round().astype("Int64")
    return {"rules": rules.reset_index(names="Rule"), "minutes": f"{table['s'].sum() / 60:.0f}"}
