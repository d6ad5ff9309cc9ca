"""Commands of the report package."""

import argparse
from pathlib import Path

from pipeline.arguments import json_object
from pipeline.common.files import named_files


def add_commands(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `figure`, `scatter`, `languages-figure` and `report`."""
    figure = subparsers.add_parser(
        "figure", help="make a page of retrieved test examples (MULE, Figures 3 and 4)"
    )
    figure.add_argument("--settings", type=json_object, required=True, help="JSON: number, seed, threads")
    figure.add_argument("--model", type=Path, required=True)
    figure.add_argument("--features", type=Path, required=True)
    figure.add_argument("--words", type=Path, nargs="+", required=True, help="one vocabulary per language")
    figure.add_argument("--sentences", type=Path, nargs="+", required=True, help="own captions, tokenised")
    figure.add_argument("--images", type=Path, help="output of `find-images`; without it, no pictures")
    figure.add_argument("--output", type=Path, required=True, help="HTML to write")
    figure.set_defaults(run=_figure)

    scatter = subparsers.add_parser(
        "scatter", help="plot recall against model size (SMALR, Figures 1b and 3)"
    )
    scatter.add_argument("--settings", type=json_object, required=True, help="JSON: figure, across, area")
    scatter.add_argument("--points", type=Path, required=True, help="output of `scaling`")
    scatter.add_argument("--output", type=Path, required=True, help="SVG to write")
    scatter.set_defaults(run=_scatter)
    languages = subparsers.add_parser(
        "languages-figure", help="plot one, two and four languages (Lessons, Figure 3)"
    )
    languages.add_argument("--comparison", type=Path, required=True, help="outputs of `tabulate`")
    languages.add_argument("--output", type=Path, required=True, help="SVG to write")
    languages.set_defaults(run=_languages_figure)

    report = subparsers.add_parser("report", help="write all results to one self-contained page")
    report.add_argument("--settings", type=json_object, required=True, help="JSON")
    report.add_argument(
        "--comparisons", nargs="+", required=True, metavar="TABLE=CSV", help="outputs of `tabulate`"
    )
    report.add_argument(
        "--claims", type=Path, help="output of `judge-claims`, one claim per line; without it, no claims"
    )
    report.add_argument("--claim-comparisons", type=Path, help="the same, one comparison per line")
    report.add_argument("--figures", type=Path, nargs="*", default=[], help="outputs of `figure`")
    report.add_argument("--curves", type=Path, nargs="*", default=[], help="training curves")
    report.add_argument("--captions", nargs="*", default=[], metavar="DATASET=CSV", help="caption tables")
    report.add_argument(
        "--context", type=Path, help="output of `tabulate-context`; without it, no such section"
    )
    report.add_argument(
        "--benchmarks", type=Path, required=True, help="folder of Snakemake's benchmark files"
    )
    report.add_argument("--sources", type=Path, required=True, help="CSV of published files")
    report.add_argument("--found", type=Path, required=True, help="folder to which they are downloaded")
    report.add_argument("--output", type=Path, required=True, help="HTML to write")
    report.set_defaults(run=_report)


def _figure(arguments: argparse.Namespace) -> None:
    from pipeline.report.figures import draw_figure

    draw_figure(
        arguments.settings,
        arguments.model,
        arguments.features,
        arguments.words,
        arguments.sentences,
        arguments.images,
        arguments.output,
    )


def _scatter(arguments: argparse.Namespace) -> None:
    from pipeline.report.scatter import write_scatter

    write_scatter(arguments.settings, arguments.points, arguments.output)


def _languages_figure(arguments: argparse.Namespace) -> None:
    from pipeline.report.languages_figure import write_figure

    write_figure(arguments.comparison, arguments.output)


def _report(arguments: argparse.Namespace) -> None:
    from pipeline.report.report import Inputs, write_report

    inputs = Inputs(
        named_files(arguments.comparisons),
        arguments.claims,
        arguments.claim_comparisons,
        arguments.figures,
        arguments.curves,
        named_files(arguments.captions),
        arguments.context,
        arguments.benchmarks,
        arguments.sources,
        arguments.found,
    )
    write_report(arguments.settings, inputs, arguments.output)
