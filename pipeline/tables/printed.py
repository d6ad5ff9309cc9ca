"""The papers' printed recalls, by what a claim compares."""

import re
from collections.abc import Mapping
from pathlib import Path

from pipeline.tables.claim_terms import Claim, Comparison, enough, parts, terms
from pipeline.tables.result_files import paper_table

Place = tuple[str, str, str, str, str]  # data set of the paper, experiment, queries, language, metric

SUPPORT, CONTRADICT = "support", "contradict"


class PrintedNumbers:
    """The recalls that a paper prints, in percent.

    Args:
        folder: config/papers.
        rows: by table, as its file is named, and by number and method of a row, the term by which claims name
            it.
    """

    def __init__(self, folder: Path, rows: Mapping[str, Mapping[str, str]]):
        self._tables = {table: self._recalls(folder / f"{table}.csv", rows[table]) for table in rows}

    def _recalls(self, path: Path, rows: Mapping[str, str]) -> dict[Place, float]:
        recalls = {}
        for line in paper_table(path).to_dict("records"):
            if (name := f"{line['row']} {line['method']}") not in rows:
                continue
            (term,) = terms(rows[name])
            for column, value in line.items():
                if value and column not in ("row", "group", "method"):
                    dataset, language, metric = str(column).split()
                    recalls[dataset, term.name, term.queries, language, metric] = float(value)
        return recalls

    def verdict(self, claim: Claim) -> str:
        """Whether the printed numbers `support` or `contradict` a claim; empty if the paper lacks some."""
        differences = [(one, self.difference(one, claim.tables)) for one in claim.comparisons()]
        signs = [one.as_claimed(value) for one, value in differences if value is not None]
        if not signs or len(signs) < len(differences):
            return ""
        return SUPPORT if enough(claim.needs, sum(signs), len(signs)) else CONTRADICT

    def difference(self, comparison: Comparison, tables: str) -> float | None:
        """`greater` minus the best of `than`, in points; None if the paper does not print one of them.

        Args:
            tables: those that the claim is about, such as `2(a); 4`: *Lessons* prints two numbers of one
                model.
        """
        numbers = re.findall(r"\d+", re.sub(r"\(.*?\)", "", tables))
        recalls: dict[Place, float] = {}
        for name in sorted(self._tables, key=lambda name: name.rpartition("table")[2] in numbers):
            recalls |= self._tables[name]
        sides = [self._side(text, comparison, recalls) for text in (comparison.greater, *comparison.than)]
        known = [side for side in sides if side is not None]
        return known[0] - max(known[1:]) if len(known) == len(sides) else None

    def _side(self, text: str, comparison: Comparison, recalls: Mapping[Place, float]) -> float | None:
        """The sum of recalls that one side of a comparison names."""
        total = 0.0
        for part in parts(text, comparison.language, comparison.dataset):
            place = comparison.dataset, part.name, part.queries, part.language, comparison.metric
            recall = recalls.get(place)
            if recall is None:
                return None
            total += part.weight * recall
        return total
