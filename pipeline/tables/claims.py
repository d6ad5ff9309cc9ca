"""A paper's claims, judged by our own numbers: config/claims/*.yaml says what each claim compares."""

from collections.abc import Sequence
from pathlib import Path
from re import fullmatch
from typing import Any

import numpy as np
import pandas as pd

from pipeline.common.files import atomic_write
from pipeline.tables.averages import HUMAN, HUMAN_OF_PAPER
from pipeline.tables.cells import model_and_queries
from pipeline.tables.claim_terms import Claim, Comparison, Part, enough, parts, read_claims
from pipeline.tables.confounders import CONFOUNDERS, confounder_remarks, confounders
from pipeline.tables.contrasts import Term, contrast, contrast_to_best, holm
from pipeline.tables.evaluations import Evaluations, Key, provider_label, word_by_word
from pipeline.tables.printed import PrintedNumbers
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


class NotJudged(Exception):
    """The reason why a comparison is not judged; `verdict` is that of its claim."""

    def __init__(self, verdict: str, reason: str):
        super().__init__(reason)
        self.verdict = verdict


def judge_claims(
    settings: ClaimSettings,
    claims: Sequence[Path],
    output: Path,
    comparison: Path,
    papers: Path,
    evaluations: Sequence[Path] = (),
) -> None:
    """Write a verdict on each claim, and every comparison that it is made of.

    `paper_numbers` says whether the numbers that the paper prints `support` or `contradict` its claim, and
    `paper_difference` is their difference. With one seed, a claim is undecided.
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
    """
    measured = Evaluations(evaluations, settings.seeds)
    rows, lines = [], []
    for path in claims:
        printed = PrintedNumbers(papers, settings.rows.get(path.stem, {}))
        judge = _Judge(settings, measured, printed)
        for claim in read_claims(path, settings.experiments):
            row, of_claim = judge.judge(claim)
            rows.append(row)
            lines += of_claim
    for path, table, columns in ((output, rows, CLAIM_COLUMNS), (comparison, lines, COMPARISON_COLUMNS)):
        with atomic_write(path) as temporary:
            pd.DataFrame(table, columns=columns).to_csv(temporary, index=False, float_format="%.6f")


class _Judge:
    """Judges claims of a paper on some evaluations.

    Args:
        settings: as `judge_claims` has them. printed: numbers of the paper.
    """

    def __init__(self, settings: ClaimSettings, evaluations: Evaluations, printed: PrintedNumbers):
        self.settings, self.evaluations, self.printed = settings, evaluations, printed

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
        lines: list[Row] = []
        reasons: dict[str, list[str]] = {NOT_TESTABLE: [], NOT_HERE: []}
        for stated in claim.comparisons():
            try:
                line = self._compared(stated, claim.tables)
                lines.append({"id": claim.id, "scale": self.settings.scale, **line})
            except NotJudged as error:
                reasons[error.verdict].append(str(error))
        for verdict, found in reasons.items():
            if found and (verdict == NOT_TESTABLE or not lines):
                return {**row, "verdict": verdict, "reason": _together(found)}, lines
        p_holm = holm(np.array([line["p"] for line in lines], dtype=float))
        lines = [{**line, "p_holm": p} for line, p in zip(lines, p_holm, strict=True)]
        return row | _verdict(claim, lines, [*reasons[NOT_HERE], *claim.left_out]), lines

    def _compared(self, comparison: Comparison, tables: str) -> Row:
        """Both sides, their difference with its interval, p over test images and seeds, and the paper's."""
        texts = (comparison.greater, *comparison.than)
        dataset = comparison.dataset
        sides = {text: parts(text, comparison.language, dataset) for text in texts}
        self._check(comparison, [part for side in sides.values() for part in side])
        terms = {text: self._terms(side, dataset) for text, side in sides.items()}
        values = {text: contrast(of_side, comparison.metric).value for text, of_side in terms.items()}
        than = max(comparison.than, key=lambda text: values[text])
        rivals = [terms[text] for text in comparison.than]
        difference = contrast_to_best(terms[comparison.greater], rivals, comparison.metric)
        compared = [sides[comparison.greater], sides[than]]
        return {
            "dataset": self.settings.datasets[dataset],
            "language": comparison.language,
            "metric": comparison.metric,
            "greater": comparison.greater,
            "than": than,
            "rivals": len(rivals),
            "measured_greater": values[comparison.greater],
            "measured_than": values[than],
            "difference": difference.value,
            **vars(difference),
            "p": None if comparison.of_no_difference else difference.p,
            "seeds": len(self.settings.seeds),
            "as_claimed": comparison.as_claimed(difference.value),
            "paper_difference": self.printed.difference(comparison, tables),
            **confounders(
                self.evaluations, [[self._key(part, dataset) for part in side] for side in compared]
            ),
            **self._translation_columns([part for side in compared for part in side], dataset),
        }

    def _dataset(self, of_paper: str) -> str:
        """The data set that stands for one of the paper's."""
        if of_paper not in self.settings.datasets:
            raise NotJudged(NOT_HERE, f"no data set of this configuration stands for {of_paper}")
        return self.settings.datasets[of_paper]

    def _check(self, comparison: Comparison, named: Sequence[Part]) -> None:
        """Raise `NotJudged` if a comparison of some recalls is meaningless at this scale."""
        dataset, of_paper = self._dataset(comparison.dataset), HUMAN_OF_PAPER[comparison.dataset]
        languages = self.settings.languages[dataset]
        if set(languages) != set(of_paper):
            here = f"{dataset} has its own captions in {', '.join(languages)}"
            of_claim = f"in the paper {comparison.dataset} has them in {', '.join(of_paper)}"
            raise NotJudged(NOT_HERE, f"{here}; {of_claim}")
        for part in named:
            if part.name in self.settings.left_out:
                raise NotJudged(NOT_HERE, f"{part.name}: {self.settings.left_out[part.name]}")
        # A mean over human captions, or a human query with its translations, needs these captions.
        human = {
            part.language for part in named if part.average == HUMAN or part.queries in ("average", "learned")
        }
        if lacking := sorted(human.intersection(of_paper) - set(self.settings.human[dataset])):
            raise NotJudged(NOT_HERE, f"{dataset} has no human captions in {', '.join(lacking)}")
        if comparison.of_size and dataset not in self.settings.papers_data:
            why = "closeness is a claim about size, and sizes are compared only on the paper's data"
            raise NotJudged(NOT_HERE, why)

    def _translation_columns(self, compared: Sequence[Part], dataset: str) -> Row:
        """The translations behind a comparison."""
        providers: set[str] = set()
        for part in compared:
            providers |= self.evaluations.providers(self._key(part, dataset), part.language)
        human = {part.language for part in compared}.intersection(HUMAN_OF_PAPER[dataset])
        return {
            "translations": provider_label(providers),
            "word_by_word": word_by_word(providers),
            "not_human": " ".join(sorted(human - set(self.settings.human[self.settings.datasets[dataset]]))),
        }

    def _terms(self, side: Sequence[Part], dataset: str) -> list[Term]:
        """The recalls of one side of a comparison; raises `NotJudged` if one was not evaluated."""
        terms = []
        for part in side:
            key = self._key(part, dataset)
            if not self.evaluations.has(key, part.language):
                queries = "" if key[2] == "original" else f" with queries {key[2]!r}"
                where = f"{key[1]}{queries} on {key[0]}"
                raise NotJudged(NOT_TESTABLE, f"{where} is in none of the tables that `report` names")
            terms.append(Term(part.weight, self.evaluations.hits_of_seeds(key, part.language)))
        return terms

    def _key(self, part: Part, dataset: str) -> Key:
        """The evaluation that holds a recall; raises `NotJudged` if there is no such experiment."""
        singles = self.settings.one_per_language
        alone = fullmatch(r"(.+)-[a-z]{2}", part.name)
        if part.name not in self.settings.experiments and not (alone and alone[1] in singles):
            raise NotJudged(NOT_TESTABLE, f"no experiment {part.name} in config/experiments.yaml")
        return self._dataset(dataset), *model_and_queries(part.name, part.queries, part.language, singles)


def _verdict(claim: Claim, lines: Sequence[Row], elsewhere: Sequence[str]) -> Row:
    """The verdict, and the numbers that decide it.

    A difference that chance explains, with p of 0.05 or more, decides nothing, whatever its sign.
    """
    table = pd.DataFrame(lines)
    as_claimed, clear = table["as_claimed"], ~(table["p_holm"] >= LEVEL)
    one_seed = table["seeds"].max() == 1
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
    literal, languages = table["word_by_word"].eq("yes").sum(), table["not_human"].fillna("").unique()
    remarks = [f"{literal} of {len(table)} rest on word-by-word translations"] if literal else []
    others = sorted({code for text in languages for code in text.split()})
    return [*remarks, f"captions in {', '.join(others)} are translations here"] if others else remarks


def _together(reasons: Sequence[str]) -> str:
    return "; ".join(dict.fromkeys(reasons))
