"""A paper's claims, judged by our own numbers: config/claims/*.yaml says what each claim compares."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from re import fullmatch
from typing import Any

import numpy as np
import pandas as pd

from pipeline.common.files import atomic_write
from pipeline.tables.averages import HUMAN, HUMAN_OF_PAPER
from pipeline.tables.cells import model_and_queries
from pipeline.tables.claim_terms import Claim, Comparison, Part, enough, parts, read_claims
from pipeline.tables.claimed_counts import CountStatement, judge_count
from pipeline.tables.confounders import CONFOUNDERS, confounder_remarks, confounders
from pipeline.tables.contrasts import Term, contrast, contrast_to_best, holm
from pipeline.tables.evaluations import Evaluations, provider_label, word_by_word
from pipeline.tables.printed import PrintedNumbers
from pipeline.tables.result_files import read_result
from pipeline.tables.settings import ClaimSettings

HOLDS, FAILS, UNDECIDED = "holds", "does not hold", "undecided"
NOT_HERE, NOT_TESTABLE = "not testable at this scale", "not testable"
VERDICTS = (HOLDS, FAILS, UNDECIDED, NOT_HERE, NOT_TESTABLE)
LEVEL = 0.05
LINEAR = "with model.recurrent: mean, shared and separate sentence branches represent the same functions"
ONE_SEED = "one seed, which does not tell whether another would agree"

CLAIM_COLUMNS = [
    "id", "tables", "claim", "needs", "verdict", "paper_numbers", "reason", "scale", "comparisons",
    "as_claimed", "smallest_difference", "largest_difference", "largest_p",
]  # fmt: skip
COMPARISON_COLUMNS = [
    "id", "scale", "dataset", "language", "metric", "greater", "than", "rivals", "measured_greater",
    "measured_than", "difference", "low", "high", "p", "p_holm", "seeds", "as_claimed", "paper_difference",
    *CONFOUNDERS, "translations", "word_by_word", "not_human",
]  # fmt: skip

Row = dict[str, Any]


class Untestable(Exception):
    """The reason why a comparison cannot be made from the evaluations."""


def judge_claims(
    settings: ClaimSettings,
    claims: Sequence[Path],
    output: Path,
    comparison: Path,
    papers: Path,
    evaluations: Sequence[Path] = (),
    counts: Path | None = None,
) -> None:
    """Write a verdict on each claim, and every comparison that it is made of.

    `paper_numbers` says whether the numbers that the paper prints `support` or `contradict` its claim, and
    `paper_difference` is their difference. With one seed, a claim about recalls is undecided.
    A comparison has who made the translations behind it, whether some are `word_by_word`, and `not_human`:
    the languages whose captions are human in the paper and translations here. It also has the columns of
    `CONFOUNDERS`, and `rivals`: of how many rows `than` is the best. A verdict's reason mentions all of them.

    Args:
        settings: JSON: `scale` and `seeds`. `papers_data`: data sets that are the paper's own. `datasets`:
            for each data set of the paper the data set of this scale that stands for it. `languages` and
            `human`: the languages of each data set, and those with human captions. `experiments`: all of the
            configuration. `recurrent`: as in `model`. `one_per_language`: experiments with a model for each
            language. `left_out`: why some are not trained or not comparable, by name. `rows`: by paper, table
            and row, the experiment and its queries.
        claims: YAML of each paper's claims, in the format of config/claims/mule.yaml.
        output: CSV to write, one claim per line.
        comparison: CSV to write, one comparison per line.
        papers: folder of the papers' own numbers, config/papers.
        evaluations: outputs of `evaluate`, with the ranks next to them. A claim that needs another is not
            testable.
        counts: output of `count-captions`; without it, claims about the size of the data are not testable.
    """
    measured, counted = Evaluations(evaluations, settings.seeds), _read_counts(counts)
    rows, lines = [], []
    for path in claims:
        printed = PrintedNumbers(papers, settings.rows.get(path.stem, {}), settings.one_per_language)
        judge = _Judge(settings, measured, counted, printed)
        for claim in read_claims(path, settings.experiments):
            row, of_claim = judge.judge(claim)
            rows.append(row)
            lines += of_claim
    for path, table, columns in ((output, rows, CLAIM_COLUMNS), (comparison, lines, COMPARISON_COLUMNS)):
        with atomic_write(path) as temporary:
            pd.DataFrame(table, columns=columns).to_csv(temporary, index=False, float_format="%.6f")


def _read_counts(path: Path | None) -> pd.DataFrame | None:
    return path and read_result(path, "the counts", "Run `count-captions`.")


class _Judge:
    """Judges claims on some evaluations and counts.

    Args:
        settings: as `judge_claims` has them. counts: None if the data were not counted. printed: of the
            paper.
    """

    def __init__(
        self,
        settings: ClaimSettings,
        evaluations: Evaluations,
        counts: pd.DataFrame | None,
        printed: PrintedNumbers,
    ):
        self.settings, self.evaluations, self.counts, self.printed = settings, evaluations, counts, printed

    def judge(self, claim: Claim) -> tuple[Row, list[Row]]:
        """A claim's row, and a line for each of its comparisons that could be made."""
        row = {
            **claim.model_dump(include={"id", "tables", "claim", "needs"}),
            "paper_numbers": self.printed.verdict(claim),
            "scale": self.settings.scale,
            "comparisons": 0,
        }
        if claim.untestable:
            return {**row, "verdict": NOT_TESTABLE, "reason": claim.untestable}, []
        if claim.paper_scale_only:
            verdict = NOT_TESTABLE if self.settings.papers_data else NOT_HERE
            return {**row, "verdict": verdict, "reason": claim.paper_scale_only}, []
        if claim.sharing and self.settings.recurrent == "mean":
            return {**row, "verdict": NOT_HERE, "reason": LINEAR}, []
        lines, elsewhere, never = self._lines(claim)
        if never:
            return {**row, "verdict": NOT_TESTABLE, "reason": _together(never)}, lines
        if not lines:
            return {**row, "verdict": NOT_HERE, "reason": _together(elsewhere)}, lines
        p_holm = holm(np.array([line["p"] for line in lines], dtype=float))
        lines = [{**line, "p_holm": p} for line, p in zip(lines, p_holm, strict=True)]
        return row | _verdict(claim, lines, [*elsewhere, *claim.left_out]), lines

    def _lines(self, claim: Claim) -> tuple[list[Row], list[str], list[str]]:
        """The comparisons, and the reasons why some are meaningless at this scale or cannot be made."""
        lines, elsewhere, never = [], [], []
        stated: list[Comparison | CountStatement] = [*claim.comparisons(), *claim.counts]
        for comparison in stated:
            if isinstance(comparison, Comparison):
                reason = self._why_meaningless(comparison)
                line = partial(self._measured_line, comparison, claim.tables)
            else:
                reason = self._why_count_is_meaningless(comparison)
                line = partial(self._count_line, comparison)
            if reason:
                elsewhere.append(reason)
                continue
            try:
                lines.append({"id": claim.id, "scale": self.settings.scale, **line()})
            except Untestable as error:
                never.append(str(error))
        return lines, elsewhere, never

    def _why_meaningless(self, comparison: Comparison) -> str:
        """Why a comparison is meaningless at this scale; empty if it is meaningful."""
        if comparison.dataset not in self.settings.datasets:
            return f"no data set of this configuration stands for {comparison.dataset}"
        dataset = self.settings.datasets[comparison.dataset]
        languages, of_paper = self.settings.languages[dataset], HUMAN_OF_PAPER[comparison.dataset]
        if set(languages) != set(of_paper):
            lacking_languages = f"{dataset} has its own captions in {', '.join(languages)}"
            return f"{lacking_languages}; in the paper {comparison.dataset} has them in {', '.join(of_paper)}"
        named = self._parts(comparison, comparison.greater, *comparison.than)
        for part in named:
            if reason := self.settings.left_out.get(part.name):
                return f"{part.name}: {reason}"
        if reason := self._why_not_human(comparison, named):
            return reason
        if comparison.of_size and not self._of_papers_data(comparison.dataset):
            return "closeness is a claim about size, and sizes are compared only on the paper's data"
        return ""

    def _of_papers_data(self, dataset: str) -> bool:
        """Whether the data set that stands for one of the paper's is the same, split and languages too."""
        return self.settings.datasets[dataset] in self.settings.papers_data

    def _why_not_human(self, comparison: Comparison, named: Sequence[Part]) -> str:
        """Why a mean over human captions (HA), or a human query with its translations, is not available."""
        dataset = self.settings.datasets[comparison.dataset]
        asked = {
            part.language for part in named if part.average == HUMAN or part.queries in ("average", "learned")
        } & set(HUMAN_OF_PAPER.get(comparison.dataset, []))
        lacking = sorted(asked - set(self.settings.human[dataset]))
        return f"{dataset} has no human captions in {', '.join(lacking)}" if lacking else ""

    def _why_count_is_meaningless(self, statement: CountStatement) -> str:
        """Why a count is meaningless at this scale; empty if it is meaningful."""
        if statement.dataset not in self.settings.datasets:
            return f"no data set of this configuration stands for {statement.dataset}"
        if not self._of_papers_data(statement.dataset):
            return "a count of the published data; results/counts.csv has this configuration's"
        return ""

    def _count_line(self, statement: CountStatement) -> Row:
        """Our count next to the claimed count."""
        if self.counts is None:
            raise Untestable("the data are counted if `report` names table1")
        dataset = self.settings.datasets[statement.dataset]
        line = judge_count(statement, self.counts[self.counts["dataset"] == statement.dataset])
        metric = {"language": statement.language, "metric": statement.count}
        return {"dataset": dataset, **metric, **line, "p": None}

    def _measured_line(self, comparison: Comparison, tables: str) -> Row:
        """Both sides, their difference with its interval, p over test images and seeds, and the paper's."""
        greater = self._side(comparison.greater, comparison)
        others = {text: self._side(text, comparison) for text in comparison.than}
        values = {text: contrast(side, comparison.metric).value for text, side in others.items()}
        than = max(values, key=lambda text: values[text])
        difference = contrast_to_best(greater, list(others.values()), comparison.metric)
        return {
            "dataset": self.settings.datasets[comparison.dataset],
            "language": comparison.language,
            "metric": comparison.metric,
            "greater": comparison.greater,
            "than": than,
            "rivals": len(others),
            "measured_greater": contrast(greater, comparison.metric).value,
            "measured_than": values[than],
            "difference": difference.value,
            "low": difference.low,
            "high": difference.high,
            "p": None if comparison.of_no_difference else difference.p,
            "seeds": len(self.settings.seeds),
            "as_claimed": comparison.as_claimed(difference.value),
            "paper_difference": self.printed.difference(comparison, tables),
            **confounders(
                self.evaluations, [self._keys(text, comparison) for text in (comparison.greater, than)]
            ),
            **self._translation_columns([comparison.greater, than], comparison),
        }

    def _translation_columns(self, sides: Sequence[str], comparison: Comparison) -> Row:
        """The translations behind a comparison."""
        dataset = self.settings.datasets[comparison.dataset]
        places = [
            (self._key(part, comparison.dataset), part.language) for part in self._parts(comparison, *sides)
        ]
        providers: set[str] = set().union(*(self.evaluations.providers(*place) for place in places))
        human = {language for _, language in places} & set(HUMAN_OF_PAPER.get(comparison.dataset, []))
        return {
            "translations": provider_label(providers),
            "word_by_word": word_by_word(providers),
            "not_human": " ".join(sorted(human - set(self.settings.human[dataset]))),
        }

    def _side(self, text: str, comparison: Comparison) -> list[Term]:
        """One side of a comparison."""
        side = []
        for part in self._parts(comparison, text):
            key = self._key(part, comparison.dataset)
            if not self.evaluations.has(key, part.language):
                queries = "" if key[2] == "original" else f" with queries {key[2]!r}"
                raise Untestable(
                    f"{key[1]}{queries} on {key[0]} is in none of the tables that `report` names"
                )
            side.append(Term(part.weight, self.evaluations.hits_of_seeds(key, part.language)))
        return side

    def _keys(self, text: str, comparison: Comparison) -> list[tuple[str, str, str]]:
        """The evaluations that one side of a comparison names."""
        return [self._key(part, comparison.dataset) for part in self._parts(comparison, text)]

    def _parts(self, comparison: Comparison, *sides: str) -> list[Part]:
        """The recalls of some sides of a comparison."""
        return [part for text in sides for part in parts(text, comparison.language, comparison.dataset)]

    def _key(self, part: Part, dataset: str) -> tuple[str, str, str]:
        """The evaluation that holds a recall; raises `Untestable` if there is no such experiment."""
        name, singles = part.name, self.settings.one_per_language
        alone = fullmatch(r"(.+)-[a-z]{2}", name)
        if name not in self.settings.experiments and not (alone and alone[1] in singles):
            raise Untestable(f"no experiment {name} in config/experiments.yaml")
        model = model_and_queries(name, part.queries, part.language, singles)
        return self.settings.datasets[dataset], *model


def _verdict(claim: Claim, lines: Sequence[Row], elsewhere: Sequence[str]) -> Row:
    """The verdict, and the numbers that decide it.

    A difference that chance explains, with p of 0.05 or more, decides nothing, whatever its sign.
    """
    table = pd.DataFrame(lines)
    as_claimed, clear = table["as_claimed"], ~(table["p_holm"] >= LEVEL)
    one_seed = "seeds" in table and table["seeds"].max() == 1
    if one_seed:
        verdict = UNDECIDED
    elif enough(claim.needs, int((as_claimed & clear).sum()), len(table)):
        verdict = HOLDS
    else:
        possible = enough(claim.needs, int((as_claimed | ~clear).sum()), len(table))
        verdict = UNDECIDED if possible else FAILS
    remarks = [f"{len(table) - int(as_claimed.sum())} of {len(table)} comparisons are not as claimed"]
    remarks = [] if as_claimed.all() else remarks
    if not clear.all():
        remarks.append(f"{len(table) - int(clear.sum())} of {len(table)} have a p of {LEVEL} or more")
    remarks += [*confounder_remarks(table), *_on_translations(table)]
    if elsewhere:
        remarks.append(f"left out: {_together(elsewhere)}")
    if one_seed:
        remarks.append(ONE_SEED)
    return {
        "verdict": verdict,
        "reason": "; ".join(remarks),
        "comparisons": len(table),
        "as_claimed": int(as_claimed.sum()),
        "smallest_difference": table["difference"].min(),
        "largest_difference": table["difference"].max(),
        "largest_p": table["p_holm"].max(),
    }


def _on_translations(table: pd.DataFrame) -> list[str]:
    """Remarks about comparisons that rest on other captions than the paper's."""
    if "word_by_word" not in table:  # counts of captions
        return []
    literal, languages = table["word_by_word"].eq("yes").sum(), table["not_human"].fillna("").unique()
    remarks = [f"{literal} of {len(table)} rest on word-by-word translations"] if literal else []
    others = sorted({code for text in languages for code in text.split()})
    return [*remarks, f"captions in {', '.join(others)} are translations here"] if others else remarks


def _together(reasons: Sequence[str]) -> str:
    return "; ".join(dict.fromkeys(reasons))
