"""Drawings of the report and of two papers' figures, as SVG whose bytes depend on the numbers only."""

import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pipeline.common.files import atomic_write
from pipeline.datasets.languages import language, name_of
from pipeline.tables.result_files import read_result

mpl.rcParams.update(
    {
        "svg.fonttype": "none",  # text stays text: readable, searchable, in the page's font
        "svg.hashsalt": "pipeline",
        "font.family": "sans-serif",
        "font.size": 8,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.edgecolor": "#888888",
        "axes.titlesize": 8,
        "axes.titleweight": "bold",
        "axes.axisbelow": True,
        "grid.color": "#dddddd",
        "grid.linewidth": 0.6,
    }
)

# Colours that people with any colour vision tell apart (Okabe and Ito 2008).
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#999999", "#000000")
OURS, GREY, CHANCE = COLOURS[0], "#8a8a8a", "#b07700"
ACROSS = {"parameters": "trainable parameters, millions", "languages": "languages that it was trained on"}
DIRECTIONS = {"s2i_R@10": "text to image", "i2s_R@10": "image to text"}


def svg_text(figure: Figure, description: str) -> str:
    """A figure as an SVG element to be placed into a page, without date.

    Args:
        description: what a screen reader says.
    """
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None, "Title": description})
    text = file.getvalue()
    return text[text.index("<svg") :].replace("<svg", '<svg role="img"', 1)


def draw_scaling(comparison: Path, across: Literal["languages", "parameters"], output: Path) -> None:
    """Draw recall against size: a panel for each data set, a point for each row (SMALR, Figures 1b and 3).

    Rows of one group are joined, and named by their method. In Figure 1b, a point's area is
    (parameters / 10^6)^1.5, as in the paper.

    Args:
        comparison: output of `tabulate`, of a table with the column A.
        across: what the horizontal axis shows.
        output: SVG to write.
    """
    numbers = read_result(comparison, "the comparison", "Run `tabulate`.")
    points = numbers[(numbers["metric"] == "mR") & (numbers["language"] == "A")]
    points = points.assign(series=points["group"].fillna(points["method"]))
    colours = dict(zip(points["series"].unique(), 2 * COLOURS, strict=False))
    datasets = points["dataset"].unique()
    figure = Figure(figsize=(4.6 * len(datasets), 4.2), layout="constrained")
    panels = figure.subplots(1, len(datasets), squeeze=False)[0]
    for panel, dataset in zip(panels, datasets, strict=True):
        of_dataset = points[points["dataset"] == dataset]
        for name, part in of_dataset.groupby("series", sort=False):
            _series(panel, part, across, colours[name], str(name))
        languages = len(of_dataset["averaged"].iloc[0].split())
        panel.set(title=f"{dataset}: mR, mean over {languages} languages", xlabel=ACROSS[across])
        panel.set_xlim(left=0)
        panel.grid()
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    _write(figure, "Mean recall of each model by its size", output)


def _series(panel: Axes, part: pd.DataFrame, across: str, colour: str, name: str) -> None:
    by_size = across == "parameters"
    millions = part["parameters"] / 1e6
    part = part.assign(
        x=millions if by_size else part["trained_languages"], area=25.0 if by_size else millions**1.5
    )
    part = part.sort_values("x")
    errors = [part["measured"] - part["low"], part["high"] - part["measured"]]
    panel.errorbar(part["x"], part["measured"], errors, color=colour, linewidth=0.8, alpha=0.7)
    # The key has equal marks, whatever the area of the points.
    panel.scatter(part["x"], part["measured"], part["area"], color=colour, alpha=0.6)
    panel.scatter([], [], 25, color=colour, label=name)
    if by_size and len(part) > 1:
        for row in part.itertuples():
            panel.annotate(
                str(row.method), (row.x, row.high), (0, 2), textcoords="offset points", ha="center"
            )


def draw_languages(comparison: Path, output: Path) -> None:
    """Draw models of one, two and four languages: R@10 with 95% intervals (*Lessons*, Figure 3).

    Rows in a section (those that follow the published code) are not drawn.

    Args:
        comparison: output of `tabulate`.
        output: SVG to write.
    """
    numbers = read_result(comparison, "the comparison", "Run `tabulate`.")
    cells = numbers[numbers["metric"].isin(DIRECTIONS) & numbers["section"].isna()]
    methods, languages = list(cells["method"].unique()), list(cells["language"].unique())
    figure = Figure(figsize=(7, 3.2), layout="constrained")
    panels = figure.subplots(1, len(DIRECTIONS), sharey=True)
    for panel, (metric, title) in zip(panels, DIRECTIONS.items(), strict=True):
        for number, method in enumerate(methods):
            bars = cells[(cells["metric"] == metric) & (cells["method"] == method)]
            places = [
                languages.index(code) + (number - (len(methods) - 1) / 2) * 0.27 for code in bars["language"]
            ]
            errors = [bars["measured"] - bars["low"], bars["high"] - bars["measured"]]
            panel.bar(places, bars["measured"], 0.25, yerr=errors, color=COLOURS[number], label=method)
        panel.set_xticks(range(len(languages)), [name_of(code) for code in languages])
        panel.set_title(title)
        panel.grid(axis="y")
    panels[0].set_ylabel(f"R@10 in percent, {cells['scale'].iloc[0]}, {cells['seeds'].iloc[0]} seeds")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(methods), frameon=False)
    _write(figure, "R@10 of models of one, two and four languages", output)


def _write(figure: Figure, description: str, output: Path) -> None:
    with atomic_write(output) as temporary:
        temporary.write_text(svg_text(figure, description), encoding="utf-8")


def intervals(panels: Mapping[str, pd.DataFrame], rows: Sequence[str], description: str) -> str:
    """A table's mean recalls with their 95% intervals: a panel for each column, a line for each row.

    Args:
        panels: by title, columns place (of the row), measured, low, high, chance and paper, the paper's
            number, NaN where it cannot be compared.
        rows: labels of the rows, from the top.
    """
    across = min(len(panels), 4)
    down = math.ceil(len(panels) / across)
    size = 0.06 * max(map(len, rows)) + 1.9 * across, down * (0.19 * len(rows) + 0.65)
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(down, across, squeeze=False, sharey=True, sharex=True)
    for axes, (title, cells) in zip(grid.flat, panels.items(), strict=False):
        ends = [cells["measured"] - cells["low"], cells["high"] - cells["measured"]]
        axes.axvline(cells["chance"].iloc[0], color=CHANCE, linestyle="--", linewidth=0.9)
        axes.scatter(cells["paper"], cells["place"], 18, GREY, marker="D")
        axes.errorbar(cells["measured"], cells["place"], xerr=ends, fmt="o", color=OURS, markersize=4)
        axes.set_title(title)
        axes.grid()
    for axes in grid.flat[len(panels) - across : len(panels)]:  # the lowest panel of each column
        axes.tick_params(labelbottom=True)
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    grid[0, 0].set_yticks(range(len(rows)), rows)
    grid[0, 0].set_ylim(len(rows) - 0.5, -0.5)
    return svg_text(figure, description)


def curves(panels: Mapping[str, Mapping[str, Sequence[pd.Series]]], description: str) -> str:
    """Validation mR by validation: a panel for each experiment, a colour for each language, a line a seed.

    Args:
        panels: by experiment and language, percentages of each seed by number of the validation.
    """
    across = min(len(panels), 4)
    down = math.ceil(len(panels) / across)
    figure = Figure(figsize=(2.4 * across, 1.55 * down + 0.5), layout="constrained")
    grid = figure.subplots(down, across, squeeze=False, sharey=True)
    handles = {}
    for axes, (name, lines) in zip(grid.flat, panels.items(), strict=False):
        for code, seeds in lines.items():
            for one in seeds:
                colour = language(code).colour or GREY
                (handles[name_of(code)],) = axes.plot(one.index, one.to_numpy(), color=colour, linewidth=1)
        axes.set_title(name)
        axes.set_ylim(bottom=0)
        axes.grid()
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    figure.legend(handles.values(), handles.keys(), loc="outside upper left", ncols=10, frameon=False)
    return svg_text(figure, description)
