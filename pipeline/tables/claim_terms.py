"""A paper's claims from config/claims/*.yaml: read, checked, and split into single comparisons."""

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from pipeline.common.block import Block, text_check
from pipeline.common.files import require_file
from pipeline.common.yaml_files import read_yaml
from pipeline.tables.averages import ALL, ALL_OF_PAPER, HUMAN, HUMAN_OF_PAPER
from pipeline.tables.settings import Recall

_TERM = re.compile(
    r"(?:(?P<weight>\d+(?:[.]\d+)?) \* )?"
    r"(?P<name>[a-z0-9+-]+)(?:/(?P<queries>translated|average|learned))?(?:@(?P<language>[a-z]{2}|HA|A))?"
)


_ROUNDING = 1e-9  # differences that are mathematically equal may differ in the last digits


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
    at_least, at_most: bounds of `greater` minus the best of `than`, in points; None for none. Without
    `at_least` the difference is above 0.
    """

    greater: str
    than: tuple[str, ...]
    dataset: str
    language: str
    metric: str
    at_least: float | None
    at_most: float | None

    @property
    def of_size(self) -> bool:
        """Whether it is judged by a magnitude, which is meaningful only on the paper's data."""
        return self.at_least is not None or self.at_most is not None

    @property
    def of_no_difference(self) -> bool:
        """Whether the claim is that there is no difference, or none in one direction: p tests neither."""
        return self.at_least is not None

    def as_claimed(self, difference: float) -> bool:
        """Whether a measured difference agrees with the claim."""
        enough = difference > _ROUNDING if self.at_least is None else difference >= self.at_least - _ROUNDING
        return enough and (self.at_most is None or difference <= self.at_most + _ROUNDING)


def terms(text: str) -> list[Part]:
    """The terms of `a@en - 0.5 * b@de`, a mean as one term; raises `ValueError` for anything else."""
    words = ["+", *re.split(r" ([+-]) ", text)]
    found = []
    for sign, word in zip(words[::2], words[1::2], strict=True):
        term = _TERM.fullmatch(word)
        if not term:
            raise ValueError(word)
        weight, name, queries, language = term.groups()
        signed = float(weight or 1) * (-1 if sign == "-" else 1)
        found.append(Part(signed, name, queries or "original", language or "", ""))
    return found


def parts(text: str, language: str, dataset: str) -> list[Part]:
    """The recalls of one side of a comparison; a mean over languages has one for each.

    Args:
        language: of the terms that name none. dataset: of the paper.
    """
    averages = {HUMAN: HUMAN_OF_PAPER.get(dataset, []), ALL: ALL_OF_PAPER}
    found = []
    for term in terms(text):
        named = term.language or language
        languages = averages.get(named, [named])
        of_each = replace(
            term, weight=term.weight / len(languages), average=named if named in averages else ""
        )
        found += [replace(of_each, language=each) for each in languages]
    return found


def _mistake(text: str) -> str:
    try:
        terms(text)
    except ValueError as error:
        example = "embn, embn-en/translated, smalr/average or 0.5 * embn@en"
        return f"{error.args[0]!r} is not a term like {example}"
    return ""


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _by_dataset(places: Any) -> Any:
    """Languages by data set; if only data sets are given, the terms name the languages."""
    return {name: [""] for name in _as_list(places)} if isinstance(places, str | list) else places


_Sides = Annotated[list[Annotated[str, text_check(_mistake)]], Field(min_length=1), BeforeValidator(_as_list)]


class Statement(Block):
    """Comparisons of each `greater` with each `than`; config/claims/mule.yaml says what the keys mean."""

    greater: _Sides
    than: _Sides
    languages: Annotated[dict[str, list[str]], BeforeValidator(_by_dataset)] = Field(alias="in")
    metrics: list[Recall] = Field(default=["mR"])
    best_of_than: bool = False
    at_least: float | None = None
    at_most: float | None = None

    def comparisons(self) -> Iterator[Comparison]:
        """One for each pair, language and metric."""
        columns = [(dataset, code) for dataset, codes in self.languages.items() for code in codes]
        thans = [tuple(self.than)] if self.best_of_than else [(one,) for one in self.than]
        for greater, than, (dataset, language), metric in itertools.product(
            self.greater, thans, columns, self.metrics
        ):
            yield Comparison(greater, than, dataset, language, metric, self.at_least, self.at_most)


class Claim(Block):
    """A claim of a paper; config/claims/mule.yaml says what the keys mean."""

    id: str
    tables: str
    claim: str
    needs: Literal["all", "nearly all", "most", "some"] = "all"
    left_out: list[str] = Field(default=[])
    compare: list[Statement] = Field(default=[])
    sharing: bool = False
    paper_scale_only: str = ""
    untestable: str = ""

    def comparisons(self) -> list[Comparison]:
        """The comparisons of recalls."""
        return [comparison for statement in self.compare for comparison in statement.comparisons()]

    def as_code(self, experiments: Iterable[str]) -> "Claim":
        """The claim about the experiments that follow the published code, where there are any."""

        def renamed(side: list[str]) -> list[str]:
            return [re.sub(r"\S+", lambda word: code.get(word[0], word[0]), text) for text in side]

        code = {name.removesuffix("-as-code"): name for name in experiments if name.endswith("-as-code")}
        statements = [
            one.model_copy(update={"greater": renamed(one.greater), "than": renamed(one.than)})
            for one in self.compare
        ]
        changes = {"id": f"{self.id}-as-code", "claim": f"{self.claim} (as published code)"}
        return self.model_copy(update={**changes, "compare": statements})


def enough(needs: str, good: int, every: int) -> bool:
    """Whether as many comparisons are good as a claim needs."""
    return {
        "all": good == every,
        "nearly all": 10 * good >= 9 * every,
        "most": 2 * good > every,
        "some": good > 0,
    }[needs]


class _Claims(Block):
    claims: list[Claim]


def read_claims(path: Path, experiments: Iterable[str]) -> list[Claim]:
    """Read and check the claims of a paper; raises `InputError` that lists every mistake.

    A claim about experiments that `experiments` has `-as-code` too is followed by the same claim about them.
    """
    require_file(path, "the list of claims", "Give config/claims/mule.yaml.")
    claims = _Claims.from_values({"claims": read_yaml(path, list)}, f"{path}: mistakes in claims:").claims
    both = [(claim, claim.as_code(experiments)) for claim in claims]
    return [one for text, code in both for one in ([text, code] if code.compare != text.compare else [text])]
