"""A paper's claims from config/claims/*.yaml: read, checked, and split into single comparisons."""

import itertools
import re
import reprlib
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Required

from pydantic import Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from pipeline.common.errors import raise_together
from pipeline.common.files import require_file
from pipeline.common.yaml_files import read_yaml
from pipeline.tables.averages import ALL, ALL_OF_PAPER, HUMAN, HUMAN_OF_PAPER
from pipeline.tables.claimed_counts import COUNT, count_mistakes
from pipeline.tables.statistics import METRICS

Row = dict[str, Any]


def _list_of(types: dict[str, Any]) -> Any:
    """The type of a list of dictionaries, from the types of their keys."""
    keys: Any = TypedDict("_Keys", types, total=False)  # type: ignore[misc]
    return list[keys]


_Texts = str | Annotated[list[str], Field(min_length=1)]
_SIZES = ("within", "at_most", "not_below")
# Types of the keys; config/claims/mule.yaml says what they mean.
_STATEMENT: dict[str, Any] = {
    "greater": _Texts,
    "than": _Texts,
    "in": _Texts | dict[str, list[str]],
    "metrics": list[str],
    "by": dict[str, float],
    "best_of_than": bool,
    **dict.fromkeys(_SIZES, float),
}
_JUDGED_BY: dict[str, Any] = {
    "compare": _list_of(_STATEMENT),
    "counts": _list_of(COUNT),
    "paper_scale_only": str,
    "untestable": str,
}
_CLAIM: dict[str, Any] = {
    **dict.fromkeys(("id", "tables", "claim"), Required[str]),
    "needs": Literal["all", "nearly all", "most", "some"],
    "left_out": list[str],
    **_JUDGED_BY,
}
_TERM = re.compile(
    r"(?:(?P<weight>\d+(?:[.]\d+)?) \* )?"
    r"(?P<name>[a-z0-9+-]+)(?:/(?P<queries>translated|average|learned))?(?:@(?P<language>[a-z]{2}|HA|A))?"
)


@dataclass(frozen=True)
class Part:
    """A recall in a side of a comparison, with its weight.

    average: HA or A, if it is one of the languages of a mean.
    """

    weight: float
    name: str
    queries: str
    language: str
    average: str


@dataclass(frozen=True)
class Comparison:
    """`greater` above the best of `than` in one metric.

    dataset: of the paper. language: "" where each term names its own.
    within: if set, the two differ by at most so many points instead. at_most: if set, `greater` is above by
    at most so many. not_below: if set, `greater` is at most so many points below, or above. by: the paper's
    difference.
    """

    greater: str
    than: tuple[str, ...]
    dataset: str
    language: str
    metric: str
    within: float | None
    at_most: float | None
    not_below: float | None
    by: float | None

    @property
    def of_size(self) -> bool:
        """Whether it is judged by a magnitude, which is meaningful only on the paper's data."""
        return any(size is not None for size in (self.within, self.at_most, self.not_below))

    @property
    def of_no_difference(self) -> bool:
        """Whether the claim is that there is no difference, or none in one direction: p tests neither."""
        return self.within is not None or self.not_below is not None

    def as_claimed(self, difference: float) -> bool:
        """Whether a measured difference agrees with the claim."""
        if self.within is not None:
            return abs(difference) <= self.within
        if self.not_below is not None:
            return difference >= -self.not_below - 1e-9
        return difference > 1e-9 and (self.at_most is None or difference <= self.at_most)


def read_claims(path: Path, experiments: Container[str]) -> list[Row]:
    """Read and check the claims of a paper; raises `InputError` that lists every mistake.

    A claim about experiments that `experiments` has `-as-code` too is followed by the same claim about them.
    """
    require_file(path, "the list of claims", "Give config/claims/mule.yaml.")
    claims: list[Row] = read_yaml(path, list)
    heading = f"{path}: mistakes in claims:"
    raise_together(_mistaken_types(claims), heading)
    raise_together((mistake for claim in claims for mistake in _mistakes(claim)), heading)
    return [one for claim in claims for one in (claim, *_as_code(claim, experiments))]


def _as_code(claim: Row, experiments: Container[str]) -> Iterator[Row]:
    """The claim about the experiments that follow the published code, if it names any."""

    def renamed(text: str) -> str:
        return " ".join(
            f"{word}-as-code" if f"{word}-as-code" in experiments else word for word in text.split(" ")
        )

    statements = [
        {**statement, **{side: [*map(renamed, _as_list(statement[side]))] for side in ("greater", "than")}}
        for statement in claim.get("compare", [])
    ]
    twin = {
        **claim,
        "id": f"{claim['id']}-as-code",
        "claim": f"{claim['claim']} (as published code)",
        "compare": statements,
    }
    if [*comparisons(twin)] != [*comparisons(claim)]:
        yield twin


def comparisons(claim: Mapping[str, Any]) -> Iterator[Comparison]:
    """The comparisons of a claim, one for each pair, language and metric."""
    for statement in claim.get("compare", []):
        places = statement["in"]
        columns = (
            [(n, code) for n in places for code in places[n]]
            if isinstance(places, dict)
            else [(n, "") for n in _as_list(places)]
        )
        others = _as_list(statement["than"])
        thans = [tuple(others)] if statement.get("best_of_than") else [(one,) for one in others]
        for greater, than, (dataset, language), metric in itertools.product(
            _as_list(statement["greater"]), thans, columns, statement.get("metrics", ["mR"])
        ):
            by = statement.get("by", {}).get(language)
            within, at_most, not_below = (statement.get(size) for size in _SIZES)
            yield Comparison(greater, than, dataset, language, metric, within, at_most, not_below, by)


def terms(text: str) -> list[tuple[int, dict[str, Any]]]:
    """Signs and parts of `a@en - 0.5 * b@de`; raises `ValueError` for anything else."""
    signed_terms = []
    for sign, part in zip([1, *(-1 if s == "-" else 1 for s in re.findall(r" ([+-]) ", text))],
                          re.split(r" [+-] ", text), strict=True):  # fmt: skip
        term = _TERM.fullmatch(part)
        if not term:
            raise ValueError(part)
        signed_terms.append((sign, term.groupdict()))
    return signed_terms


def parts(text: str, language: str, dataset: str) -> list[Part]:
    """The recalls of one side of a comparison; a mean over languages has one for each.

    Args:
        language: of the terms that name none. dataset: of the paper.
    """
    averages = {HUMAN: HUMAN_OF_PAPER.get(dataset, []), ALL: ALL_OF_PAPER}
    found = []
    for sign, term in terms(text):
        named = term["language"] or language
        languages = averages.get(named, [named])
        weight = sign * float(term["weight"] or 1) / len(languages)
        average = named if named in averages else ""
        found += [Part(weight, term["name"], term["queries"] or "original", x, average) for x in languages]
    return found


def _mistaken_types(claims: list[Any]) -> Iterator[str]:
    try:
        TypeAdapter(_list_of(_CLAIM)).validate_python(claims, strict=True)
    except ValidationError as error:
        for one in error.errors(include_url=False):
            place = ".".join(map(str, one["loc"]))
            yield f"{place}: found {reprlib.repr(one['input'])}: {one['msg'].lower()}"


def _mistakes(claim: Row) -> Iterator[str]:
    where = claim["id"]
    for key in sorted(set(claim) - set(_CLAIM), key=str):
        yield f"{where}: unknown key {key!r}; known are {', '.join(sorted(_CLAIM))}"
    if len(set(_JUDGED_BY) & set(claim)) != 1:
        yield f"{where}: expected one of {', '.join(_JUDGED_BY)}"
    for number, statement in enumerate(claim.get("compare", [])):
        yield from _statement_mistakes(f"{where}.compare.{number}", statement)
    for number, statement in enumerate(claim.get("counts", [])):
        yield from count_mistakes(f"{where}.counts.{number}", statement)


def _statement_mistakes(where: str, statement: Row) -> Iterator[str]:
    wrong = (set(statement) - set(_STATEMENT)) | ({"greater", "than", "in"} - set(statement))
    if wrong:
        yield f"{where}: keys unknown or missing: {', '.join(sorted(map(str, wrong)))}"
        return
    for text in [*_as_list(statement["greater"]), *_as_list(statement["than"])]:
        try:
            bare = any(not term["language"] for _, term in terms(text))
        except ValueError as error:
            example = "embn, embn-en/translated, smalr/average or 0.5 * embn@en"
            yield f"{where}: {error.args[0]!r} is not a term like {example}"
            continue
        if bare and not isinstance(statement["in"], dict):
            yield f"{where}: {text!r} needs a language, such as {text}@en, or `in` needs languages"
    if len(set(_SIZES) & set(statement)) > 1:
        yield f"{where}: expected one of {', '.join(_SIZES)}"
    for metric in set(statement.get("metrics", [])) - set(METRICS):
        yield f"{where}.metrics: found {metric!r}, expected some of {', '.join(METRICS)}"


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
