"""SMALR's figures of size and recall: the evaluations and models behind the points of each data set."""

from collections.abc import Iterator
from pathlib import Path

from pipeline.common.block import did_you_mean
from pipeline.common.errors import raise_together
from pipeline.settings.configuration import Configuration
from pipeline.settings.experiments import left_out
from pipeline.settings.reading import read
from pipeline.tables.settings import Figure, Point, ScalingSettings


def figure_settings(settings: Configuration, folder: Path, number: str) -> ScalingSettings:
    """What a figure of config/figures/smalr.yaml depends on.

    Args:
        folder: the folder config/. number: 1b or 3.

    Raises:
        InputError: points name unknown experiments; all of them are listed.
    """
    path = folder / "figures" / "smalr.yaml"
    figure = Figure.from_values(read(path).get(number), f"{path}: {number}: has mistakes:")
    raise_together(_unknown(settings, figure, number), "The figures have mistakes:")
    return ScalingSettings(
        scale=settings.scale,
        seeds=settings.seeds,
        figure=number,
        across=figure.across,
        area=figure.area,
        points=list(_points(settings, figure)),
    )


def _unknown(settings: Configuration, figure: Figure, number: str) -> Iterator[str]:
    names = list(settings.experiments)
    for place, point in enumerate(figure.points):
        where, name = f"config/figures/smalr.yaml: {number}.points.{place}", point.experiment
        if name not in names:
            yield f"{where}: no experiment {name!r}{did_you_mean(name, names)}"


def _points(settings: Configuration, figure: Figure) -> Iterator[Point]:
    """The points of each configured data set; a model that lacks one of the languages has none."""
    lacking = left_out(settings)
    for column, languages in figure.languages.items():
        dataset = settings.stand_ins.get(column)
        if dataset is None:
            continue
        entries = settings.experiments_on(dataset)
        for point in figure.points:
            name = point.experiment
            single = settings.experiments[name].one_per_language
            experiments = [f"{name}-{code}" for code in languages] if single else [name]
            codes = {code for one in experiments if one in entries for code in entries[one].languages}
            if name in lacking or not set(languages) <= codes:
                continue
            yield Point(
                dataset=dataset,
                series=point.series,
                label=point.label,
                languages=languages,
                experiments=experiments,
                trained=len(entries[experiments[0]].languages),
            )
