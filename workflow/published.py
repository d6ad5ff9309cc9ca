"""Results of a finished run, kept in git as data, and the tables of pages that are made of them.

    python -m workflow.published copy RUN SCALE CHECKOUT COMMAND...   # into results/published/RUN
    python -m workflow.published pages   # fill the tables of pages; also: make results-pages

A table in a page is between two comments, and the first comment says what fills it:

    <!-- recalls RUN/TABLE DATASET -->           mR of each row and language
    <!-- differences RUN DATASET A-vs-B ... -->  of two experiments, with 95% intervals
    <!-- gain RUN/TABLE DATASET A-vs-B -->       the same, next to the paper's
    <!-- verdicts RUN -->                        claims of each paper by verdict
    <!-- claims RUN -->                          every claim with its verdict and differences
    <!-- hours RUN -->                           CPU hours by table and by stage
    <!-- end -->
"""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import pandas as pd

from pipeline.common.errors import InputError
from pipeline.common.rounding import tenths
from pipeline.tables.claims import VERDICTS
from pipeline.tables.result_files import read_result
from pipeline.tables.show import row_names

FOLDER = Path("results/published")
PAGES = ("README.md", "docs/*.md", "results/published/**/*.md")
PACKAGES = ("torch", "numpy", "pandas", "timm", "snakemake", "h5py")
# No captions, no photographs: figures and tables of translated texts stay out.
KEPT = ("*.csv", "comparison/**/*.csv", "lessons/*.csv", "smalr/*.csv", "compare/**/*.csv")
BLOCK = re.compile(
    r"^<!-- (recalls|differences|gain|verdicts|claims|hours) (.*?) -->\n.*?^<!-- end -->", re.M | re.S
)
STAGES = ("vectors", "pretrain", "train", "evaluate", "extract", "assign", "translate", "other")


def copy_run(name: str, scale: str, command: str, checkout: Path = Path()) -> None:
    """Copy the numbers of a finished run into results/published and record how they were made.

    Args:
        name: of the run. scale: the folder of results/ that has its tables. command: what made them.
        checkout: the repository in which the run was made, whose commit is recorded.

    Raises:
        InputError: there are no tables, files of the repository differ from its commit, or tables are older
            than the checkout of that commit.
    """
    results = checkout / "results" / scale
    files = sorted({path for pattern in KEPT for path in results.glob(pattern)})
    if not files:
        raise InputError(f"{results}: has no tables; run {command}")
    if changed := _git(checkout, "status", "--porcelain"):
        raise InputError(
            f"{checkout}: files differ from the commit, so it does not say what made the tables. Commit them "
            f"and run again:\n{changed}"
        )
    moved = re.search(r"@{(\d+)}", _git(checkout, "reflog", "-1", "--format=%gd", "--date=unix"))
    if moved and (older := [str(path) for path in files if path.stat().st_mtime < int(moved[1])]):
        raise InputError(
            f"{checkout}: {len(older)} tables are older than the checkout of its commit, such as {older[0]}, "
            "so it does not say what made them. Make them again, or remove them."
        )
    jobs = job_times(checkout / "work" / "logs" / scale)
    curves = brief_curves(checkout / "work" / scale)
    folder = FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    for path in files:
        copy = folder / path.relative_to(results)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    jobs.to_csv(folder / "jobs.csv", index=False, float_format="%.1f")
    curves.to_csv(folder / "curves.csv", index=False, float_format="%.2f")
    times = [datetime.fromtimestamp(path.stat().st_mtime, UTC) for path in files]
    run = {
        "command": command,
        "commit": _git(checkout, "rev-parse", "--short", "HEAD"),
        "date": f"{max(times):%Y-%m-%d}",
        "machine": f"{os.cpu_count()} cores of {_processor()}, {platform.system()}",
        "versions": {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}},
        "trained_on": jobs["device"].value_counts().sort_index().to_dict(),
        "seeds": sorted(int(seed) for seed in set(jobs["seed"].dropna())),
        "hours_of_cpu": round(jobs["cpu_seconds"].sum() / 3600, 2),
    }
    (folder / "run.json").write_text(json.dumps(run, indent=2) + "\n", encoding="utf-8")


def job_times(logs: Path) -> pd.DataFrame:
    """CPU seconds of each job of a run, from the benchmark files of its rules.

    Column `device`: what a training ran on, from its log; the jobs may have run on several machines.
    """
    rows = []
    for path in sorted(logs.glob("**/*.tsv")):
        seconds = pd.read_csv(path, sep="\t")["cpu_time"]
        name = str(path.relative_to(logs).with_suffix(""))
        model = re.fullmatch(r"[^/]+/(.+)-(\d+)-(pretrain|train|evaluate)(?:-.*)?", name)
        stage = model[3] if model else _stage(name)
        rows.append(
            {
                "job": name,
                "stage": stage,
                "experiment": model and model[1],
                "seed": model and model[2],
                "cpu_seconds": float(seconds.sum()),
                "device": _device(path.with_suffix(".log")),
            }
        )
    return pd.DataFrame(rows, columns=["job", "stage", "experiment", "seed", "cpu_seconds", "device"])


def brief_curves(work: Path) -> pd.DataFrame:
    """The validation of each trained model in brief.

    Columns: dataset, experiment, seed; `validations`, and which of them, from 1, is the first of the best;
    mR of the first, best and last one, in percent.
    """
    rows = []
    for path in sorted(work.glob("*/experiments/*/seed*/curves.csv")):
        dataset, _, experiment, seed = path.parts[-5:-1]
        curve = pd.read_csv(path)
        best = int(curve["val_sum" if "val_sum" in curve else "val_mR"].idxmax())
        recalls = curve["val_mR"].iloc[[0, best, -1]].tolist()
        rows.append([dataset, experiment, int(seed.removeprefix("seed")), len(curve), best + 1, *recalls])
    columns = ["dataset", "experiment", "seed", "validations", "best", "mR_first", "mR_best", "mR_last"]
    return pd.DataFrame(rows, columns=columns)


def _device(log: Path) -> str | None:
    """What a training's log says that it trains on; None for other jobs."""
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    found = re.findall(r"trains on (.+)$", text, re.M)
    return str(found[-1]) if found else None


def _stage(job: str) -> str:
    return next((stage for stage in STAGES if stage in job), "other")


def _git(checkout: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=checkout, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _processor() -> str:
    match = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.M)
    return " ".join(match[1].split()) if match else platform.machine()


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

    Pairs that differ only in the language of a model of one language share a row.
    """
    tables = [_read(folder / run / "compare" / dataset / f"{pair}.csv") for pair in pairs]
    languages = list(dict.fromkeys(language for table in tables for language in table["language"]))
    by_names = pd.concat([table.assign(names=_names(table)) for table in tables]).groupby("names", sort=False)
    rows = [[str(names), *_differences(table, languages)] for names, table in by_names]
    return markdown(["", *map(_heading, languages)], rows)


def gain(folder: Path, table: str, dataset: str, pair: str) -> list[str]:
    """The difference of two experiments of a table, the paper's and ours."""
    run = table.split("/")[0]
    ours = _read(folder / run / "compare" / dataset / f"{pair}.csv")
    languages = list(ours["language"])
    numbers = _comparison(folder, table, dataset).set_index(["experiment", "language"])["paper"].astype(float)
    first, second = pair.split("-vs-")
    of_paper = [numbers[first, language] - numbers[second, language] for language in languages]
    rows = [
        ["paper", *(tenths(value, sign=True) for value in of_paper)],
        ["here", *_differences(ours, languages)],
    ]
    return markdown(["", *map(_heading, languages)], rows)


PAPERS = {"M": "MULE", "S": "SMALR", "L": "*Lessons*"}


def verdicts(folder: Path, run: str) -> list[str]:
    """How many claims of each paper have each verdict."""
    claims = _read(folder / run / "claims.csv")
    counts = pd.crosstab(claims["id"].str[0].map(PAPERS), claims["verdict"]).reindex(PAPERS.values()).dropna()
    counts = counts[[verdict for verdict in VERDICTS if verdict in counts]]
    rows = [
        [str(paper), *(str(int(count)) for count in row)]
        for paper, row in zip(counts.index, counts.values, strict=True)
    ]
    return markdown(["paper", *counts.columns], rows)


def claims(folder: Path, run: str) -> list[str]:
    """Every claim that the run could test, with its verdict and the range of its differences."""
    judged = _read(folder / run / "claims.csv")
    judged = judged[judged["comparisons"] > 0]
    compared = _read(folder / run / "comparison" / "claims.csv").groupby("id")
    rows = []
    for claim in judged.itertuples():
        of_claim = compared.get_group(claim.id)
        differences = [
            f"{tenths(row.difference, sign=True)} ({tenths(row.low)} to {tenths(row.high)})"
            for row in of_claim.itertuples()
            if pd.notna(row.low)
        ]
        shown = (
            differences if len(differences) < 5 else [*differences[:3], f"and {len(differences) - 3} more"]
        )
        rows.append([claim.id, claim.claim, claim.verdict, "; ".join(shown)])
    return markdown(["", "claim", "verdict", "differences with 95% intervals"], rows)


def hours(folder: Path, run: str) -> list[str]:
    """Hours of CPU by table, shared jobs counted in each table, and by stage."""
    jobs = _read(folder / run / "jobs.csv").assign(
        hours=lambda rows: rows["cpu_seconds"].astype(float) / 3600
    )
    of_experiments = jobs.groupby("experiment")["hours"].sum()
    rows = []
    for path in sorted((folder / run / "comparison").glob("**/*.csv")):
        table = _read(path)
        if "experiment" in table:
            names = {str(name) for name in table["experiment"].dropna()}
            rows.append([_table(path), f"{_hours_of(of_experiments, names):.2f}"])
    by_stage = jobs.groupby("stage")["hours"].sum()
    rows += [[f"*{stage}*", f"{value:.2f}"] for stage, value in by_stage.items()]
    return markdown(["table, or *stage*", "hours of CPU"], [*rows, ["all", f"{jobs['hours'].sum():.2f}"]])


TABLES: Mapping[str, Callable[..., list[str]]] = {
    "recalls": recalls, "differences": differences, "gain": gain,
    "verdicts": verdicts, "claims": claims, "hours": hours,
}  # fmt: skip


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table."""
    lines = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(cells)} |" for cells in lines]


def _hours_of(hours: "pd.Series[float]", names: set[str]) -> float:
    """Hours of experiments, including models of one language each whose names begin with theirs."""
    own = [
        str(name) for name in hours.index if name in names or re.sub(r"-[a-z]{2}$", "", str(name)) in names
    ]
    return float(hours[own].sum())


def _heading(language: str) -> str:
    """En for en; HA and A, means over languages, as in the paper."""
    return language[:1].upper() + language[1:]


def _table(path: Path) -> str:
    return str(path.with_suffix("")).split("/comparison/")[1]


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
    value, low, high = (float(getattr(row, name)) for name in ("difference", "low", "high"))
    text = tenths(value, sign=True)
    return f"{f'**{text}**' if low > 0 or high < 0 else text} ({tenths(low)} to {tenths(high)})"


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


def main(arguments: Sequence[str]) -> int:
    """Returns an exit status: 0, or 1 with what is wrong."""
    try:
        match list(arguments):
            case ["pages"]:
                print("\n".join(map(str, fill_pages())) or "every page is as its files say")
            case ["copy", name, scale, checkout, *command]:
                copy_run(name, scale, " ".join(command), Path(checkout))
            case _:
                print(
                    "usage: python -m workflow.published pages | copy RUN SCALE CHECKOUT COMMAND...",
                    file=sys.stderr,
                )
                return 2
    except InputError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
