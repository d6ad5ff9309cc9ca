"""SMALR's figures of size and recall: the evaluations and models behind the points of each data set."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.common.errors import raise_together
from pipeline.settings.contradictions import meant
from pipeline.settings.experiments import Settings, expanded, left_out, stand_ins
from pipeline.settings.reading import read


def figure_settings(settings: Settings, folder: Path, number: str) -> Settings:
    """What a figure of config/figures/smalr.yaml depends on.

    Args:
        folder: the folder config/. number: 1b or 3.

    Returns:
        `scale`, `seeds`, `figure`, `across`, `area`; `points`, each with `dataset`, `series`, `label`;
        `languages` whose mR is averaged, and the `experiments` that answer them, one or one a language;
        `trained`, how many languages each of these is trained on.

    Raises:
        InputError: points name experiments that there are not; every one is listed.
    """
    figure = read(folder / "figures" / "smalr.yaml")[number]
    raise_together(_unknown(settings, figure, number), "The figures have mistakes:")
    return {
        "scale": settings["scale"],
        "seeds": settings["seeds"],
        "figure": number,
        "across": figure["across"],
        "area": figure.get("area", ""),
        "points": list(_points(settings, figure)),
    }


def _unknown(settings: Settings, figure: Settings, number: str) -> Iterator[str]:
    known = list(settings["experiments"])
    for place, point in enumerate(figure["points"]):
        where = f"config/figures/smalr.yaml: {number}.points.{place}"
        if (name := point["experiment"]) not in known:
            yield f"{where}: no experiment {name!r}{meant(name, known)}"


def _points(settings: Settings, figure: Settings) -> Iterator[dict[str, Any]]:
    """The points of each data set at hand; a model that lacks one of the languages makes none."""
    lacking = left_out(settings)
    for named, languages in figure["languages"].items():
        dataset = stand_ins(settings).get(named)
        trained = expanded(settings, dataset) if dataset else {}
        for point in figure["points"] if dataset else []:
            name = point["experiment"]
            alone = settings["experiments"][name].get("one_per_language")
            experiments = [f"{name}-{code}" for code in languages] if alone else [name]
            read_by = {
                code for one in experiments for code in trained.get(one, {"languages": []})["languages"]
            }
            if name in lacking or not set(languages) <= read_by:
                continue
            yield {
                "dataset": dataset,
                "series": point["series"],
                "label": point.get("label", ""),
                "languages": languages,
                "experiments": experiments,
                "trained": len(trained[experiments[0]]["languages"]),
            }
