"""results/report.html: everything that was measured on one page, beside what the paper prints."""

import csv
import os
import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pandas as pd

from pipeline.files import existing, sha256
from pipeline.report import charts, tables
from pipeline.report.pages import main_of, write_page
from pipeline.tables.claims import FAILS, HOLDS, NOT_HERE, NOT_TESTABLE

PACKAGES = (
    "torch", "torchvision", "timm", "transformers", "numpy", "pandas", "h5py", "pillow", "fasttext-community",
    "jieba", "sudachipy", "sudachidict-small", "sacremoses", "sentencepiece", "snakemake", "jinja2",
)  # fmt: skip

# Larger files were checked when they were fetched, and are not read again for a page.
READ_AGAIN = 64 << 20  # bytes

# A benchmark's name tells its job: {experiment}-{seed}-train.tsv, or the stage and then its wildcards.
STAGES = re.compile(
    r"(?:.+-\d+-)(?P<of_experiment>train|pretrain|evaluate)(?:-.+)?"
    r"|(?P<stage>find-images|pretrain-bert|sentence-vectors|translation-quality|[a-z]+)(?:-.+)?"
)


@dataclass
class Inputs:
    """Files of a report.

    comparisons: by table name. figures: pages and SVG drawings. captions: caption tables, by data set.
    benchmarks: folder of Snakemake's benchmark files. sources: table of published files, found: the folder
    they are fetched to.
    """

    comparisons: Mapping[str, Path]
    claims: Path
    claim_comparisons: Path
    figures: Sequence[Path]
    curves: Sequence[Path]
    captions: Mapping[str, Path]
    benchmarks: Path
    sources: Path
    found: Path


def write_report(settings: Mapping[str, Any], inputs: Inputs, output: Path) -> None:
    """Write the report.

    Args:
        settings: `scale`, `seeds`, `datasets`, `own_origins`; `tables`, as in config/tables; `left_out`, by
            table the rows that are not made, and why; `missing`, names of tables that are not in the report;
            `scales`, what each scale is; `files`, the published files of this one; `images`, `model` and
            `training`.
    """
    made = [
        tables.of_comparison(name, path, settings)
        for name, path in sorted(inputs.comparisons.items(), key=lambda item: natural(item[0]))
    ]
    values = {
        "settings": settings,
        "tables": made,
        "missing": sorted(settings["missing"], key=natural),
        "verdicts": [HOLDS, FAILS, NOT_HERE, NOT_TESTABLE],
        "claims": _claims(inputs.claims, inputs.claim_comparisons),
        "figures": [_figure(path) for path in inputs.figures],
        "curves": _curves(inputs.curves),
        "scales": settings["scales"],
        "sources": list(_sources(settings["files"], inputs.sources, inputs.found)),
        "captions": {name: sha256(path) for name, path in inputs.captions.items()},
        "versions": versions(),
        "machine": {
            "system": f"{platform.system()} {platform.machine()}",
            "python": platform.python_version(),
            "cores": os.cpu_count(),
        },
        **_run_times(inputs.benchmarks),
    }
    write_page(output, "report.html.j2", values)


def _figure(path: Path) -> dict[str, str]:
    """A figure as a section of the page: MULE's examples are pages of their own, Lessons' a drawing."""
    if path.suffix == ".svg":
        title = f"{path.parent.name.capitalize()}, {path.stem.replace('figure', 'Figure ')}"
        body = existing(path, "the figure", "Make it first.").read_text(encoding="utf-8")
        return {"name": f"{path.parent.name}-{path.stem}", "title": title, "body": body}
    title = f"{path.stem.replace('figure', 'Figure ')}: image-sentence matching"
    return {"name": path.stem, "title": title, "body": main_of(path)}


def natural(name: str) -> list[Any]:
    """Sort key: table2 before table10, numbered tables before others, this paper's before another's."""
    return [
        "/" in name,
        not name.startswith("table"),
        *(int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name) if part),
    ]


def versions() -> dict[str, str]:
    """Versions of the packages that a result can depend on, of those that are installed."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _claims(claims: Path, comparisons: Path) -> list[dict[str, Any]]:
    rows = _read(claims)
    lines = _read(comparisons)
    return [
        {**row, "compared": lines[lines["id"] == row["id"]].to_dict("records")}
        for row in rows.to_dict("records")
    ]


def _read(path: Path) -> pd.DataFrame:
    """A CSV file whose empty cells are None."""
    table = pd.read_csv(existing(path, "the table", "Run the stage that makes it."))
    return table.astype(object).where(table.notna(), None)


def _curves(paths: Sequence[Path]) -> list[dict[str, Any]]:
    """For each data set a panel for each experiment, the models of one language in one panel."""
    found: dict[str, dict[str, dict[str, list[pd.Series]]]] = {}
    for path in paths:
        dataset, experiment = path.parts[-5], path.parts[-3]
        table = pd.read_csv(path, index_col="epoch")
        languages = {c.removeprefix("val_mR_"): table[c] for c in table if c.startswith("val_mR_")}
        ((only, _), *others) = languages.items()
        name = experiment.removesuffix(f"-{only}") if not others else experiment
        for language, curve in languages.items():
            found.setdefault(dataset, {}).setdefault(name, {}).setdefault(language, []).append(curve)
    return [
        {
            "dataset": dataset,
            "languages": sorted({language for lines in panels.values() for language in lines}),
            "panels": [
                {
                    "name": name,
                    "svg": charts.curves(lines, _highest(panels), f"Validation mR of {name} on {dataset}"),
                }
                for name, lines in panels.items()
            ],
        }
        for dataset, panels in found.items()
    ]


def _highest(panels: Mapping[str, Mapping[str, Sequence[pd.Series]]]) -> float:
    top = max(float(one.max()) for lines in panels.values() for each in lines.values() for one in each)
    return charts.axis(0, top)[1]


def _sources(files: Sequence[str], table: Path, found: Path) -> Iterator[dict[str, Any]]:
    """The published files of this scale by data set, with what lies where they are fetched to."""
    with open(
        existing(table, "the table of sources", "It is part of the project."), encoding="utf-8"
    ) as file:
        rows = [row for row in csv.DictReader(file) if row["file"] in set(files)]
    for name in dict.fromkeys(row["dataset"] for row in rows):
        of_name = [
            {**row, "state": _state(found / row["file"], row)} for row in rows if row["dataset"] == name
        ]
        yield {
            "dataset": name,
            "licence": "; ".join(dict.fromkeys(row["licence"] for row in of_name)),
            "files": of_name,
            "there": sum(row["state"] != "not there" for row in of_name),
        }


def _state(path: Path, row: Mapping[str, str]) -> str:
    if not path.exists():
        return "not there"
    listed = row["sha256"] != "first use"
    if path.stat().st_size > READ_AGAIN:
        return f"there, {'checked when it was fetched' if listed else 'of first use'}"
    if not listed:
        return f"there, of first use: {sha256(path)}"
    return "there, as listed" if sha256(path) == row["sha256"] else "there, not as listed"


def _run_times(folder: Path) -> dict[str, Any]:
    """Seconds and memory of every job that left a benchmark file, and their sums by stage."""
    jobs = []
    for path in sorted(folder.rglob("*.tsv")):
        match = STAGES.fullmatch(path.stem)
        stage = match["of_experiment"] or match["stage"] if match else path.stem
        for row in csv.DictReader(path.read_text(encoding="utf-8").splitlines(), delimiter="\t"):
            place = str(path.relative_to(folder).parent)
            memory = float(row["max_rss"]) if row["max_rss"] not in ("NA", "-") else 0.0
            jobs.append(
                {
                    "dataset": place,
                    "job": path.stem,
                    "stage": stage,
                    "seconds": float(row["s"]),
                    "memory": memory,
                }
            )
    table = pd.DataFrame(jobs, columns=["dataset", "job", "stage", "seconds", "memory"])
    sums = table.groupby(["dataset", "stage"], as_index=False).agg(
        jobs=("seconds", "size"),
        seconds=("seconds", "sum"),
        longest=("seconds", "max"),
        memory=("memory", "max"),
    )
    return {"jobs": jobs, "stages": sums.to_dict("records"), "total": float(table["seconds"].sum())}
