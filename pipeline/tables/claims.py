"""What a paper claims, judged on our own numbers: config/claims/*.yaml says what each claim compares."""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from pipeline.errors import raise_together
from pipeline.files import existing, written_beside
from pipeline.tables.evaluations import Evaluations
from pipeline.tables.statistics import METRICS, contributions, holm, sign_flip_p, weighted_sum

HOLDS, FAILS = "holds", "does not hold"
NOT_HERE, NOT_TESTABLE = "not testable at this scale", "not testable"
LEVEL = 0.05

CLAIM_COLUMNS = [
    "id", "tables", "claim", "verdict", "reason", "scale", "comparisons", "as_claimed", "smallest_difference",
    "largest_difference", "largest_p",
]  # fmt: skip
COMPARISON_COLUMNS = [
    "id", "scale", "dataset", "language", "metric", "greater", "than", "measured_greater", "measured_than",
    "difference", "p", "p_holm", "as_claimed", "paper_difference",
]  # fmt: skip

_CLAIM_KEYS = {"id", "tables", "claim", "needs", "significant", "compare", "paper_scale_only", "untestable"}
_COMPARISON_KEYS = {"greater", "than", "in", "metrics", "by", "within"}
_TERM = re.compile(
    r"(?:(?P<weight>[\d.]+) \* )?"
    r"(?P<name>[a-z0-9+-]+)(?P<translated>/translated)?(?:@(?P<language>[a-z]{2}))?"
)

Row = dict[str, Any]


@dataclass(frozen=True)
class Comparison:
    """`greater` above `than` in one metric.

    dataset: of the paper. language: "" where each term names its own.
    within: where given, the two are alike up to so many points instead. by: the paper's difference.
    """

    greater: str
    than: str
    dataset: str
    language: str
    metric: str
    within: float | None
    by: float | None


class Untestable(Exception):
    """Why a comparison cannot be made from the evaluations that there are."""


def judge_claims(
    settings: Mapping[str, Any], evaluations: Sequence[Path], claims: Path, output: Path, comparison: Path
) -> None:
    """Write a verdict on each claim, and every comparison that it is made of.

    Args:
        settings: `scale`; `seeds`; `datasets`, for each data set of the paper the one of this scale;
            `experiments`, all that the configuration has; `left_out`, why some are not trained, by name;
            `one_per_language`, those that are a model for each language.
        evaluations: JSON files with the ranks beside them. A claim that needs another is not testable.
        claims: YAML, as config/claims/mule.yaml says of itself.
    """
    evaluated = Evaluations(evaluations, settings["seeds"])
    rows, lines = [], []
    for claim in read_claims(claims):
        row, made = _judged(claim, settings, evaluated)
        rows.append(row)
        lines += made
    for path, table, columns in ((output, rows, CLAIM_COLUMNS), (comparison, lines, COMPARISON_COLUMNS)):
        with written_beside(path) as temporary:
            pd.DataFrame(table, columns=columns).to_csv(temporary, index=False, float_format="%.6f")


def read_claims(path: Path) -> list[Row]:
    """Read and check the claims of a paper; raises `InputError` that lists every mistake."""
    existing(path, "the list of claims", "Give config/claims/mule.yaml.")
    claims: list[Row] = yaml.safe_load(path.read_text(encoding="utf-8"))
    raise_together(
        (mistake for claim in claims for mistake in _mistakes(claim)), f"{path}: mistakes in claims:"
    )
    return claims


def comparisons(claim: Mapping[str, Any]) -> Iterator[Comparison]:
    """The comparisons that a claim is made of, one for each pair, language and metric."""
    for stated in claim.get("compare", []):
        places = stated["in"]
        columns = (
            [(places, "")] if isinstance(places, str) else [(n, code) for n in places for code in places[n]]
        )
        for greater, than, (dataset, language), metric in itertools.product(
            _listed(stated["greater"]), _listed(stated["than"]), columns, stated.get("metrics", ["mR"])
        ):
            by = stated.get("by", {}).get(language)
            yield Comparison(greater, than, dataset, language, metric, stated.get("within"), by)


def _judged(claim: Row, settings: Mapping[str, Any], evaluated: Evaluations) -> tuple[Row, list[Row]]:
    """A claim's row, and a line for each of its comparisons that could be made."""
    row = {
        **{key: claim[key] for key in ("id", "tables", "claim")},
        "scale": settings["scale"],
        "comparisons": 0,
    }
    if "untestable" in claim:
        return {**row, "verdict": NOT_TESTABLE, "reason": claim["untestable"]}, []
    if "paper_scale_only" in claim:
        verdict = NOT_TESTABLE if settings["scale"] == "paper" else NOT_HERE
        return {**row, "verdict": verdict, "reason": claim["paper_scale_only"]}, []
    lines, elsewhere, never = [], [], []
    for compared in comparisons(claim):
        if reason := _not_here(compared, settings):
            elsewhere.append(reason)
            continue
        try:
            lines.append({"id": claim["id"], **_measured(compared, settings, evaluated)})
        except Untestable as error:
            never.append(str(error))
    if never:
        return {**row, "verdict": NOT_TESTABLE, "reason": _together(never)}, lines
    if not lines:
        return {**row, "verdict": NOT_HERE, "reason": _together(elsewhere)}, lines
    corrected = holm(np.array([line["p"] for line in lines], dtype=float))
    lines = [{**line, "p_holm": p} for line, p in zip(lines, corrected, strict=True)]
    return row | _verdict(claim, lines, elsewhere), lines


def _verdict(claim: Row, lines: Sequence[Row], elsewhere: Sequence[str]) -> Row:
    """Holds or not, and the numbers that say so."""
    table = pd.DataFrame(lines)
    strict = bool(claim.get("significant"))
    good = table["as_claimed"] & ((table["p_holm"] < LEVEL) | table["p_holm"].isna() if strict else True)
    enough = {"all": good.all(), "most": good.mean() > 0.5, "some": good.any()}[claim.get("needs", "all")]
    doubtful = int((table["as_claimed"] & (table["p_holm"] >= LEVEL)).sum())
    remarks = [
        f"{len(table) - int(table['as_claimed'].sum())} of {len(table)} comparisons are not as claimed"
    ]
    remarks = [] if table["as_claimed"].all() else remarks
    if doubtful:
        remarks.append(f"{doubtful} of {len(table)} are as claimed with p of {LEVEL} or more")
    if elsewhere:
        remarks.append(f"left out: {_together(elsewhere)}")
    return {
        "verdict": HOLDS if enough else FAILS,
        "reason": "; ".join(remarks),
        "comparisons": len(table),
        "as_claimed": int(table["as_claimed"].sum()),
        "smallest_difference": table["difference"].min(),
        "largest_difference": table["difference"].max(),
        "largest_p": table["p_holm"].max(),
    }


def _not_here(compared: Comparison, settings: Mapping[str, Any]) -> str:
    """Why a comparison says nothing at this scale; empty where it does."""
    if compared.dataset not in settings["datasets"]:
        return f"no data set of this configuration stands for {compared.dataset}"
    for _, term in (*_terms(compared.greater), *_terms(compared.than)):
        if reason := settings["left_out"].get(term["name"]):
            return f"{term['name']}: {reason}"
    if compared.within is not None and settings["scale"] != "paper":
        return "that two are alike is a claim about size, and sizes are compared at scale paper alone"
    return ""


def _measured(compared: Comparison, settings: Mapping[str, Any], evaluated: Evaluations) -> Row:
    """Both sides, their difference, and p of the paired test over test images."""
    greater, than = (_side(text, compared, settings, evaluated) for text in (compared.greater, compared.than))
    difference = greater.sum() - than.sum()
    alike = compared.within is not None
    return {
        "scale": settings["scale"],
        "dataset": settings["datasets"][compared.dataset],
        "language": compared.language,
        "metric": compared.metric,
        "greater": compared.greater,
        "than": compared.than,
        "measured_greater": greater.sum(),
        "measured_than": than.sum(),
        "difference": difference,
        "p": None if alike else sign_flip_p(weighted_sum([(1, greater), (-1, than)]).to_numpy()),
        "as_claimed": abs(difference) <= compared.within
        if compared.within is not None
        else difference > 1e-9,
        "paper_difference": compared.by if settings["scale"] == "paper" else None,
    }


def _side(text: str, compared: Comparison, settings: Mapping[str, Any], evaluated: Evaluations) -> pd.Series:
    """One side of a comparison, what each test image adds to it (`statistics.contributions`)."""
    parts = []
    for sign, term in _terms(text):
        language = term["language"] or compared.language
        key = _key(term, language, compared.dataset, settings)
        if evaluated.missing(key, language):
            raise Untestable(f"{key[1]} on {key[0]} is in none of the tables that `report` names")
        weight = sign * float(term["weight"] or 1)
        parts.append((weight, contributions(evaluated.hits(key, language), compared.metric)))
    return weighted_sum(parts)


def _key(
    term: Mapping[str, str], language: str, dataset: str, settings: Mapping[str, Any]
) -> tuple[str, str, str]:
    """The evaluation that a term names; raises `Untestable` where there is no such experiment."""
    name, singles = term["name"], settings["one_per_language"]
    alone = re.fullmatch(r"(.+)-[a-z]{2}", name)
    if name not in settings["experiments"] and not (alone and alone[1] in singles):
        raise Untestable(f"no experiment {name} in config/experiments.yaml")
    experiment = f"{name}-{language}" if name in singles else name
    translated = term["translated"] and not experiment.endswith(f"-{language}")
    return settings["datasets"][dataset], experiment, "translated" if translated else "own"


def _terms(text: str) -> list[tuple[int, dict[str, Any]]]:
    """Signs and parts of `a@en - 0.5 * b@de`; raises `ValueError` for what is none."""
    found = []
    for sign, part in zip([1, *(-1 if s == "-" else 1 for s in re.findall(r" ([+-]) ", text))],
                          re.split(r" [+-] ", text), strict=True):  # fmt: skip
        term = _TERM.fullmatch(part)
        if not term:
            raise ValueError(part)
        found.append((sign, term.groupdict()))
    return found


def _mistakes(claim: Row) -> Iterator[str]:
    where = claim.get("id", "a claim without id")
    for key in sorted(set(claim) - _CLAIM_KEYS):
        yield f"{where}: unknown key {key!r}; known are {', '.join(sorted(_CLAIM_KEYS))}"
    if len({"compare", "untestable", "paper_scale_only"} & set(claim)) != 1:
        yield f"{where}: expected one of compare, untestable and paper_scale_only"
    if claim.get("needs", "all") not in ("all", "most", "some"):
        yield f"{where}.needs: found {claim['needs']!r}, expected all, most or some"
    for number, stated in enumerate(claim.get("compare", [])):
        yield from _statement_mistakes(f"{where}.compare.{number}", stated)


def _statement_mistakes(where: str, stated: Row) -> Iterator[str]:
    wrong = (set(stated) - _COMPARISON_KEYS) | ({"greater", "than", "in"} - set(stated))
    if wrong:
        yield f"{where}: keys unknown or missing: {', '.join(sorted(wrong))}"
        return
    for text in [*_listed(stated["greater"]), *_listed(stated["than"])]:
        try:
            bare = any(not term["language"] for _, term in _terms(text))
        except ValueError as error:
            yield f"{where}: {error.args[0]!r} is no term such as embn, embn-en/translated or 0.5 * embn@en"
            continue
        if bare and isinstance(stated["in"], str):
            yield f"{where}: {text!r} needs a language, such as {text}@en, or `in` needs languages"
    for metric in set(stated.get("metrics", [])) - set(METRICS):
        yield f"{where}.metrics: found {metric!r}, expected some of {', '.join(METRICS)}"


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _together(reasons: Sequence[str]) -> str:
    return "; ".join(dict.fromkeys(reasons))
