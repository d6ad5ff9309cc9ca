"""Comparison of two systems on the same test images, over all their seeds (docs/statistics.md)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pipeline.common.errors import InputError
from pipeline.common.files import atomic_write
from pipeline.tables.confounders import CONFOUNDERS, confounders
from pipeline.tables.contrasts import Term, contrast, holm
from pipeline.tables.evaluations import Evaluations, Key, key_of
from pipeline.tables.settings import Recall

COLUMNS = [
    "dataset", "language", "metric", "seeds", "first_name", "second_name", "first", "second", "difference",
    "low", "high", "p", "p_holm", *CONFOUNDERS,
]  # fmt: skip


def compare(first: Sequence[Path], second: Sequence[Path], output: Path, metric: Recall = "mR") -> None:
    """Write, for each language of both systems, the difference of a metric, its 95% interval and p.

    A system is one model, or a model for each language. If a model stops on one of its languages (*Lessons*,
    Tables 6 and 7), only that language counts.

    Args:
        first: outputs of `evaluate` of one system, with every seed.
        second: outputs of `evaluate` of the other system, with every seed.
        output: CSV to write, one line per language: `first_name` and `second_name` are the experiments with
            their queries; `difference` is first minus second, in percentage points; `p_holm` is p
            corrected for the number of languages; `unequal_steps` and `unequal_groups` are further
            differences between the trainings.
        metric: mR, i2s_R@1, ..., s2i_R@10.

    Raises:
        InputError: a system has two models of a language, or the systems have no language of a data set in
            common, or the same name.
    """
    evaluations = Evaluations([*first, *second])
    firsts, seconds = (_models(evaluations, paths) for paths in (first, second))
    common = [code for code, key in firsts.items() if code in seconds and seconds[code][0] == key[0]]
    if not common:
        raise InputError(f"{output}: the two systems have no language of a data set in common.")
    table = pd.DataFrame(_row(evaluations, firsts[code], seconds[code], code, metric) for code in common)
    table["p_holm"] = holm(table["p"].to_numpy())
    with atomic_write(output) as temporary:
        table[COLUMNS].to_csv(temporary, index=False, float_format="%.6f")


def _models(evaluations: Evaluations, paths: Sequence[Path]) -> dict[str, Key]:
    """The model of each language in which a system's evaluations count."""
    models: dict[str, Key] = {}
    for content in map(evaluations.contents.__getitem__, paths):
        key = key_of(content)
        for language in content["settings"].get("stop_on", content["test"]):
            if (other := models.setdefault(language, key)) != key:
                names = " and ".join(" ".join(one) for one in (other, key))
                raise InputError(f"{names}: two models of {language!r} in one system. Name only one of them.")
    return models


def _row(evaluations: Evaluations, first: Key, second: Key, language: str, metric: Recall) -> dict[str, Any]:
    hits = evaluations.hits_of_seeds
    difference = contrast([Term(1, hits(first, language)), Term(-1, hits(second, language))], metric)
    means = [evaluations.table([(key, language)])[metric].mean() for key in (first, second)]
    return {
        "dataset": first[0],
        "language": language,
        "metric": metric,
        "seeds": " ".join(map(str, evaluations.seeds)),
        "first_name": " ".join(first[1:]),
        "second_name": " ".join(second[1:]),
        "first": means[0],
        "second": means[1],
        "difference": difference.value,
        **vars(difference),
        **confounders(evaluations, [[first], [second]]),
    }
