"""Lessons learned (Kádár et al. 2018), Table 1 and Section 4: the overlap of the languages' vocabularies."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from pipeline.datasets.table import read_sentences
from pipeline.tables.counted import Row, write_tables
from pipeline.tables.result_files import paper_table

DATASET = "multi30k"
MINIMUM_COUNT = 4  # occurrences of a word of the vocabulary (Section 4)
NAMES = {"en": "En", "de": "De", "fr": "Fr", "cs": "Cz"}  # of languages, as the paper prints them


def measure_vocabulary_overlap(
    translation: Sequence[Path],
    comparable: Sequence[Path],
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
            several named NAME.LANGUAGE. LANGUAGE.csv is a sentence table, whose training split counts. Its
            tokens have no punctuation, so the numbers differ from the paper's even on the same text.
        comparable: files of the comparable portion.
        papers: the paper's own numbers, config/papers/lessons/table1.csv.
        table: CSV to write, as the paper prints it.
        comparison: CSV to write, one number per line.
        scale: value of the column `scale`.
    """
    vocabularies = {
        portion: {
            language: _vocabulary(language, [path for path in files if _language(path) == language])
            for language in dict.fromkeys(map(_language, files))
        }
        for portion, files in {"translation": translation, "comparable": comparable}.items()
    }
    paper = {(row["group"], row["method"]): row for row in paper_table(papers).to_dict("records")}
    rows: list[Row] = []
    lines: list[Row] = []
    for portion, of in vocabularies.items():
        sizes: Row = {"total": sum(map(len, of.values())), "union": len(set().union(*of.values()))}
        for place, language in enumerate(of):
            overlaps = {other: jaccard(of[language], of[other]) for other in list(of)[place:]}
            printed = {other: f"{overlap:.2f}" for other, overlap in overlaps.items()}
            rows.append(
                {"portion": portion, "language": language, "words": len(of[language]), **printed, **sizes}
            )
            # The paper prints Jaccard coefficients of the translation portion only.
            of_paper = paper[("", NAMES[language])] if portion == "translation" else {}
            for other, overlap in overlaps.items():
                line = {"method": language, "language": other, "metric": "jaccard"}
                number = {"measured": f"{overlap:.4f}", "paper": of_paper.get(other)}
                lines.append({"group": portion, "row": of_paper.get("row"), **line, **number})
        for method, size in sizes.items():
            of_paper = paper[portion, method]
            line = {"group": portion, "method": method, "metric": "words", "measured": size}
            lines.append({**line, "row": of_paper["row"], "paper": of_paper["words"]})
    languages = dict.fromkeys(row["language"] for row in rows)
    columns = ["portion", "language", *languages, "words", "total", "union"]
    write_tables(
        pd.DataFrame(rows, columns=columns).assign(minimum_count=MINIMUM_COUNT, scale=scale),
        table,
        [line | {"table": "1", "dataset": DATASET, "scale": scale} for line in lines],
        comparison,
    )


def jaccard(first: set[str], second: set[str]) -> float:
    """|A and B| / |A or B|; 0 for two empty sets."""
    return len(first & second) / max(1, len(first | second))


def _language(path: Path) -> str:
    """The language of a file: of en.csv and of train.lc.norm.tok.en."""
    return path.name.removesuffix(".csv").rpartition(".")[2]


def _vocabulary(language: str, paths: Sequence[Path]) -> set[str]:
    counts = Counter(token for path in paths for token in _tokens(path, language))
    return {word for word, count in counts.items() if count >= MINIMUM_COUNT}


def _tokens(path: Path, language: str) -> list[str]:
    if path.suffix != ".csv":
        return path.read_text(encoding="utf-8").split()
    sentences = read_sentences(path)
    rows = (sentences["split"] == "train") & (sentences["language"] == language)
    return " ".join(sentences["tokens"][rows]).split()
