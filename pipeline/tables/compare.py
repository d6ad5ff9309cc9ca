"""Comparison of two systems on the same test images, over all their seeds (docs/statistics.md)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pipeline.common.errors import InputError
from pipeline.common.files import atomic_write
from pipeline.tables.confounders import CONFOUNDERS, confounders
from pipeline.tables.contrasts import Term, contrast, holm
from pipeline.tables.evaluations import Evaluations, Key, read_evaluation
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
        InputError: the systems have no language in common.
    """
    contents = [[read_evaluation(path) for path in paths] for paths in (first, second)]
    first_models, second_models = map(_models, contents)
    languages = [language for language in first_models if language in second_models]
    if not languages:
        raise InputError(f"{output}: the two systems have no language in common.")
    seeds = sorted({content["seed"] for of_system in contents for content in of_system})
    evaluations = Evaluations([*first, *second], seeds)
    rows = [
        _row(evaluations, [first_models[language], second_models[language]], language, metric)
        for language in languages
    ]
    table = pd.DataFrame(rows)
    table["p_holm"] = holm(table["p"].to_numpy())
    with atomic_write(output) as temporary:
        table[COLUMNS].to_csv(temporary, index=False, float_format="%.6f")


def _models(contents: Sequence[Mapping[str, Any]]) -> dict[str, Key]:
    """The model of each language in which a system's evaluations count."""
    return {
        language: (content["dataset"], content["experiment"], content["queries"])
        for content in contents
        for language in content["settings"].get("stop_on", content["test"])
    }


def _row(evaluations: Evaluations, keys: Sequence[Key], language: str, metric: Recall) -> dict[str, object]:
    of_each = [evaluations.hits_of_seeds(key, language) for key in keys]
    terms = [Term(weight, hits) for weight, hits in zip((1, -1), of_each, strict=True)]
    means = [float(evaluations.values(key, language, metric).mean()) for key in keys]
    difference = contrast(terms, metric)
    return {
        "dataset": keys[0][0],
        "language": language,
        "metric": metric,
        "seeds": " ".join(map(str, evaluations.seeds)),
        **{f"{side}_name": " ".join(key[1:]) for side, key in zip(("first", "second"), keys, strict=True)},
        "first": means[0],
        "second": means[1],
        "difference": difference.value,
        "low": difference.low,
        "high": difference.high,
        "p": difference.p,
        **confounders(evaluations, [[key] for key in keys]),
    }
