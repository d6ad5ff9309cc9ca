"""Lessons learned (Kádár et al. 2018), Table 1 and Section 4: the overlap of the languages' vocabularies."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd

from pipeline.datasets.table import read_sentences
from pipeline.tables.counted import Row, write_tables
from pipeline.tables.result_files import paper_table

DATASET = "multi30k"
MINIMUM_COUNT = 4  # occurrences of a word of the vocabulary (Section 4)
NAMES = {"en": "En", "de": "De", "fr": "Fr", "cs": "Cz"}  # of languages, as the paper prints them

Vocabularies = dict[str, set[str]]  # language -> words


def measure_vocabulary_overlap(
    translation: Mapping[str, Sequence[Path]],
    comparable: Mapping[str, Sequence[Path]],
    papers: Path,
    table: Path,
    comparison: Path,
    scale: str = "",
) -> None:
    """Write Table 1 with the vocabulary sizes of Section 4, and its numbers one per line.

    A word is a token between spaces, punctuation included, that occurs at least `MINIMUM_COUNT` times in a
    language's files. The table has a row for each portion and language: the Jaccard coefficients |A and B| /
    |A or B| with itself and the following languages, its number of words, and the sum (`total`) and size of
    the union of its portion's vocabularies.

    Args:
        translation: each language's published training tokens of the translation portion, in one file or
            several. A .csv file is a sentence table, whose training split counts. Its tokens have no
            punctuation, so the numbers differ from the paper's even on the same text.
        comparable: each language's files of the comparable portion.
        papers: the paper's own numbers, config/papers/lessons/table1.csv.
        table: CSV to write, as the paper prints it.
        comparison: CSV to write, one number per line.
        scale: value of the column `scale`.
    """
    vocabularies = {
        portion: {language: _vocabulary(language, paths) for language, paths in files.items()}
        for portion, files in {"translation": translation, "comparable": comparable}.items()
    }
    rows = [row for portion, of in vocabularies.items() for row in _printed_rows(portion, of)]
    languages = dict.fromkeys(language for of in vocabularies.values() for language in of)
    columns = ["portion", "language", *languages, "words", "total", "union"]
    paper = {(row["group"], row["method"]): row for row in paper_table(papers).to_dict("records")}
    lines = [line for portion, of in vocabularies.items() for line in _lines(portion, of, paper)]
    write_tables(
        pd.DataFrame(rows, columns=columns).assign(minimum_count=MINIMUM_COUNT, scale=scale),
        table,
        [line | {"table": "1", "dataset": DATASET, "scale": scale} for line in lines],
        comparison,
    )


def jaccard(first: set[str], second: set[str]) -> float:
    """|A and B| / |A or B|; 0 for two empty sets."""
    return len(first & second) / max(1, len(first | second))


def _vocabulary(language: str, paths: Sequence[Path]) -> set[str]:
    counts = Counter(token for path in paths for token in _tokens(path, language))
    return {word for word, count in counts.items() if count >= MINIMUM_COUNT}


def _tokens(path: Path, language: str) -> list[str]:
    if path.suffix != ".csv":
        return path.read_text(encoding="utf-8").split()
    sentences = read_sentences(path)
    rows = (sentences["split"] == "train") & (sentences["language"] == language)
    return " ".join(sentences["tokens"][rows]).split()


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
            **_sizes(vocabularies),
        }


def _lines(
    portion: str, vocabularies: Vocabularies, paper: Mapping[tuple[str, str], Mapping[str, str]]
) -> Iterator[Row]:
    """Jaccard coefficients, total and union, each with the paper's number.

    Args:
        paper: rows as printed, by group and method. Jaccard coefficients have no group: the paper prints only
            those of the translation portion.
    """
    languages = list(vocabularies)
    for place, language in enumerate(languages):
        row = paper.get(("", NAMES[language]), {}) if portion == "translation" else {}
        for other in languages[place:]:
            yield {
                "row": row.get("row", ""),
                "group": portion,
                "method": language,
                "language": other,
                "metric": "jaccard",
                "measured": f"{jaccard(vocabularies[language], vocabularies[other]):.4f}",
                "paper": row.get(other, ""),
            }
    for method, size in _sizes(vocabularies).items():
        row = paper.get((portion, method), {})
        yield {
            "row": row.get("row", ""),
            "group": portion,
            "method": method,
            "language": "",
            "metric": "words",
            "measured": size,
            "paper": row.get("words", ""),
        }


def _sizes(vocabularies: Vocabularies) -> dict[str, int]:
    """The sum of the vocabularies' sizes, and the size of their union."""
    return {
        "total": sum(map(len, vocabularies.values())),
        "union": len(set().union(*vocabularies.values())),
    }
