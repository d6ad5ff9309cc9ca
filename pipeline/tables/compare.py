"""Comparison of two systems on the same test images, over all their seeds (docs/statistics.md)."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from pipeline.common.errors import InputError, raise_together
from pipeline.common.files import atomic_write
from pipeline.tables.confounders import CONFOUNDERS, confounders
from pipeline.tables.contrasts import Term, contrast, holm
from pipeline.tables.evaluations import Evaluations, Key, read_evaluation
from pipeline.tables.statistics import METRICS

COLUMNS = [
    "dataset", "language", "metric", "seeds", "first_name", "second_name", "first", "second", "difference",
    "low", "high", "p", "p_holm", *CONFOUNDERS,
]  # fmt: skip


def compare(first: Sequence[Path], second: Sequence[Path], output: Path, metric: str = "mR") -> None:
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
        InputError: a system has two models of a language, two evaluations of a seed, or seeds with different
            settings. The systems differ in their seeds, data set, scale or candidates, or have no language in
            common. The metric is unknown.
    """
    systems = [_models(paths) for paths in (first, second)]
    seeds = {tuple(sorted(set(seeds))) for models in systems for seeds in models.values()}
    languages = [language for language in _languages(systems[0]) if language in _languages(systems[1])]
    mistakes = [*_mistakes(seeds, languages, metric), *_other_images_message([*first, *second])]
    raise_together(mistakes, "These evaluations cannot be compared:")
    evaluations = Evaluations([*first, *second], next(iter(seeds)))
    rows = [
        _row(evaluations, [_languages(models)[language] for models in systems], language, metric)
        for language in languages
    ]
    table = pd.DataFrame(rows)
    table["p_holm"] = holm(table["p"].to_numpy())
    with atomic_write(output) as temporary:
        table[COLUMNS].to_csv(temporary, index=False, float_format="%.6f")


def _models(paths: Sequence[Path]) -> dict[tuple[Key, str], list[int]]:
    """The seeds of each model of a system, by its key and a language in which it counts."""
    seeds_of: dict[tuple[Key, str], list[int]] = {}
    for path in paths:
        content = read_evaluation(path)
        key = (content["dataset"], content["experiment"], content["queries"])
        for language in content["settings"].get("stop_on", content["test"]):
            seeds_of.setdefault((key, language), []).append(content["seed"])
    return seeds_of


def _languages(models: dict[tuple[Key, str], list[int]]) -> dict[str, Key]:
    """The model of each language."""
    keys: dict[str, Key] = {}
    for key, language in models:
        if language in keys:
            two = f"{keys[language][1]} and {key[1]} of {key[0]}"
            raise InputError(f"{language!r}: {two} are both given for one system; leave one out")
        keys[language] = key
    return keys


def _mistakes(seeds: set[tuple[int, ...]], languages: Sequence[str], metric: str) -> list[str]:
    mistakes = [] if languages else ["the two systems have no language in common"]
    if len(seeds) > 1:
        list_of_seeds = " and ".join(str(list(each)) for each in sorted(seeds))
        mistakes.append(
            f"found seeds {list_of_seeds}; give the evaluations of the same seeds for every model"
        )
    if metric not in METRICS:
        mistakes.append(f"--metric: found {metric!r}, expected one of {', '.join(METRICS)}")
    return mistakes


def _other_images_message(paths: Sequence[Path]) -> Iterator[str]:
    """The message for several data sets or scales, whose images are not the same whatever their names."""
    evaluations = [read_evaluation(path) for path in paths]
    kinds = {
        "data sets": {content["dataset"] for content in evaluations},
        "scales": {content["settings"].get("scale", "unknown") for content in evaluations},
    }
    for kind, names in kinds.items():
        if len(names) > 1:
            found_names = " and ".join(sorted(names))
            yield f"found {kind} {found_names}; both systems must be tested on the same images"


def _row(evaluations: Evaluations, keys: Sequence[Key], language: str, metric: str) -> dict[str, object]:
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
