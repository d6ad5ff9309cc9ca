"""Recall against size: the points of SMALR's Figures 1b and 3, counted on the trained models."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pipeline.common.errors import raise_together
from pipeline.common.files import atomic_write
from pipeline.models.model import load_model
from pipeline.models.sizes import at_test_time, count_model
from pipeline.tables.evaluations import Evaluations
from pipeline.tables.settings import ScalingSettings
from pipeline.tables.statistics import intervals

COLUMNS = [
    "figure", "scale", "dataset", "series", "label", "languages", "averaged", "parameters",
    "parameters_at_test", "mR", "low", "high", "seeds", "experiment",
]  # fmt: skip

# (data set, experiment) -> for each seed its parameters, and its parameters at test time.
Sizes = Mapping[tuple[str, str], Sequence[tuple[int, int]]]


def measure_scaling(
    settings: ScalingSettings, evaluations: Sequence[Path], models: Sequence[Path], output: Path
) -> None:
    """Write one line per point: mR averaged over languages with its 95% interval, and parameters.

    Args:
        settings: JSON: figure, points, seeds, ...
        evaluations: outputs of `evaluate`, with the ranks next to them.
        models: the trained models of all seeds.
        output: CSV to write, one point per line. `parameters`: trainable, mean over seeds, whose latent
            vocabularies may differ in size, and over models if a point has one for each language.
            `parameters_at_test`: parameters left if the vocabulary's word vectors are precomputed (SMALR,
            Section 5).
    """
    reader = Evaluations(evaluations, settings.seeds)
    sizes: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for path in models:
        model, record = load_model(path)
        counts = count_model(model, record.settings)
        of_experiment = sizes.setdefault((record.settings.dataset, record.settings.experiment), [])
        of_experiment.append((sum(counts.values()), sum(at_test_time(counts).values())))
    lines = list(_lines(settings, reader, sizes))
    raise_together(
        sorted({line["missing"] for line in lines if line["missing"]}), f"{output}: files are missing:"
    )
    with atomic_write(output) as temporary:
        pd.DataFrame(lines, columns=COLUMNS).to_csv(temporary, index=False, float_format="%.6f")


def _lines(settings: ScalingSettings, evaluations: Evaluations, sizes: Sizes) -> Iterator[dict[str, Any]]:
    for point in settings.points:
        dataset, experiments, languages = point.dataset, point.experiments, point.languages
        answering = experiments * len(languages) if len(experiments) == 1 else experiments
        keys = [((dataset, name, "original"), code) for name, code in zip(answering, languages, strict=True)]
        missing = [name for key, code in keys for name in evaluations.missing(key, code)]
        missing += [f"{dataset} {name}: no model" for name in experiments if (dataset, name) not in sizes]
        if missing:
            yield {"missing": "; ".join(dict.fromkeys(missing))}
            continue
        low, high = intervals(*(evaluations.hits(key, code) for key, code in keys))["mR"]
        sizes_of_point = [size for name in experiments for size in sizes[dataset, name]]
        yield {
            "figure": settings.figure,
            "scale": settings.scale,
            "dataset": dataset,
            "series": point.series,
            "label": point.label,
            "languages": point.trained,
            "averaged": " ".join(languages),
            "parameters": round(sum(all_ for all_, _ in sizes_of_point) / len(sizes_of_point)),
            "parameters_at_test": round(sum(test for _, test in sizes_of_point) / len(sizes_of_point)),
            "mR": sum(evaluations.values(key, code, "mR").mean() for key, code in keys) / len(keys),
            "low": low,
            "high": high,
            "seeds": len(settings.seeds),
            "experiment": " ".join(experiments),
            "missing": "",
        }
