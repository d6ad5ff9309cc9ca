"""Lessons learned (Kádár et al. 2018), Table 1 and Section 4: the overlap of the languages' vocabularies."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd

from pipeline.common.errors import InputError, raise_together
from pipeline.datasets.table import read_sentences
from pipeline.tables.counted import Row, write_tables
from pipeline.tables.result_files import paper_rows

PAPER, TABLE, DATASET = "lessons", "1", "multi30k"

Files = Mapping[str, Sequence[Path]]  # language -> files
Vocabularies = dict[str, set[str]]  # language -> words


def measure_vocabulary_overlap(
    translation: Mapping[str, Sequence[Path]],
    comparable: Mapping[str, Sequence[Path]],
    papers: Path,
    table: Path,
    comparison: Path,
    minimum_count: int = 4,
    scale: str = "",
) -> None:
    """Write Table 1 with the vocabulary sizes of Section 4, and its numbers one per line.

    A word is a token between spaces, punctuation included, that occurs at least `minimum_count` times in a
    language's files. The table has a row for each portion and language: the Jaccard coefficients |A and B| /
    |A or B| with itself and the following languages, its number of words, and the sum (`total`) and size of
    the union of its portion's vocabularies.

    Args:
        translation: each language's published training tokens of the translation portion, in one file or
            several. A .csv file is a sentence table, whose training split counts. Its tokens have no
            punctuation, so the numbers differ from the paper's even on the same text.
        comparable: each language's files of the comparable portion.
        papers: the papers' own numbers, columns as in pipeline/tables/papers.csv.
        table: CSV to write, as the paper prints it.
        comparison: CSV to write, one number per line.
        minimum_count: minimum number of occurrences of a word.
        scale: value of the column `scale`.

    Raises:
        InputError: lists every file that is missing or unreadable, and languages without a frequent word.
    """
    portions = {"translation": translation, "comparable": comparable}
    mistakes: list[str] = []
    if minimum_count < 1:
        mistakes.append(f"--minimum-count: found {minimum_count}; expected 1 or more")
    vocabularies = {
        portion: {
            language: _vocabulary(language, paths, minimum_count, mistakes)
            for language, paths in files.items()
        }
        for portion, files in portions.items()
    }
    raise_together(mistakes, f"{table}: the vocabularies cannot be counted:")
    rows = [
        row for portion, by_language in vocabularies.items() for row in _printed_rows(portion, by_language)
    ]
    languages = list(
        dict.fromkeys(language for by_language in vocabularies.values() for language in by_language)
    )
    columns = ["portion", "language", *languages, "words", "total", "union"]
    lines = [line for portion, by_language in vocabularies.items() for line in _lines(portion, by_language)]
    paper = {_key(row): row for row in paper_rows(papers, PAPER, TABLE)}
    write_tables(
        pd.DataFrame(rows, columns=columns).assign(minimum_count=minimum_count, scale=scale),
        table,
        [_comparison_line(line, paper) | {"scale": scale} for line in lines],
        comparison,
    )


def jaccard(first: set[str], second: set[str]) -> float:
    """|A and B| / |A or B|; 0 for two empty sets."""
    return len(first & second) / max(1, len(first | second))


def _vocabulary(language: str, paths: Sequence[Path], minimum_count: int, mistakes: list[str]) -> set[str]:
    counts: Counter[str] = Counter()
    for path in paths:
        try:
            counts.update(_tokens(path, language))
        except (InputError, OSError, UnicodeDecodeError) as error:
            mistakes.append(
                str(error) if isinstance(error, InputError) else f"{path}: cannot be read: {error}"
            )
    frequent = {word for word, count in counts.items() if count >= minimum_count}
    if counts and not frequent:
        mistakes.append(f"{language}: no word in its files occurs {minimum_count} times")
    return frequent


def _tokens(path: Path, language: str) -> list[str]:
    if path.suffix != ".csv":
        tokens = path.read_text(encoding="utf-8").split()
    else:
        sentences = read_sentences(path)
        rows = (sentences["split"] == "train") & (sentences["language"] == language)
        tokens = " ".join(sentences["tokens"][rows]).split()
    if not tokens:
        raise InputError(f"{path}: has no tokens in {language} to train on; give the training text.")
    return tokens


def _printed_rows(portion: str, vocabularies: Vocabularies) -> Iterator[Row]:
    languages = list(vocabularies)
    for place, language in enumerate(languages):
        overlaps = {
            other: f"{jaccard(vocabularies[language], vocabularies[other]):.2f}"
            for other in languages[place:]
        }
        yield {
            "portion": portion,
            "language": language,
            **overlaps,
            "words": len(vocabularies[language]),
            "total": _total(vocabularies),
            "union": len(set().union(*vocabularies.values())),
        }


def _lines(portion: str, vocabularies: Vocabularies) -> Iterator[Row]:
    """Jaccard coefficients (the paper prints only the translations'), total and union."""
    languages = list(vocabularies)
    for place, language in enumerate(languages):
        for other in languages[place:]:
            yield {
                "group": portion,
                "method": language,
                "language": other,
                "metric": "jaccard",
                "measured": f"{jaccard(vocabularies[language], vocabularies[other]):.4f}",
            }
    for method, size in (
        ("total", _total(vocabularies)),
        ("union", len(set().union(*vocabularies.values()))),
    ):
        yield {"group": portion, "method": method, "language": "", "metric": "words", "measured": size}


def _total(vocabularies: Vocabularies) -> int:
    return sum(map(len, vocabularies.values()))


def _key(row: Row) -> tuple[str, ...]:
    """(portion, language or total or union, other language, metric) of a row of papers.csv."""
    names = {"En": "en", "De": "de", "Fr": "fr", "Cz": "cs"}
    method = str(row["method"])
    return (row["group"] or "translation", names.get(method, method), row["language"], row["metric"])


def _comparison_line(line: Row, paper: Mapping[tuple[str, ...], Row]) -> Row:
    """A line of the comparison with the paper's row and value, where it has one."""
    row = paper.get(_key(line), {})
    return {
        **line,
        "table": TABLE,
        "dataset": DATASET,
        "section": row.get("section", ""),
        "row": row.get("row", ""),
        "paper": row.get("value", ""),
    }
