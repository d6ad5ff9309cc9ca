"""Parameters of SMALR's comparison at the paper's sizes, with the vocabularies of the captions at hand."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from pipeline.models.liwe import LiweModel
from pipeline.models.retrieval_model import RetrievalModel, count_parameters
from pipeline.tables.counted import Row, paper_rows, write_tables
from pipeline.words.vocabulary import read_vocabulary

IMAGE_FEATURES = 2048
WORD_VECTOR = 300  # numbers of a FastText vector
MILLIONS = "parameters (millions)"


def compare_ten_languages(
    settings: Mapping[str, Any], words: Sequence[Path], spelled: Sequence[Path], papers: Path, table: Path,
    comparison: Path,
) -> None:  # fmt: skip
    """Write the parameters of MULE and LIWE with one and ten languages, and the same beside the paper's.

    Args:
        settings: `scale` and `dataset` of the vocabularies; `model` and `liwe`, of scale paper.
        words, spelled: the vocabulary and the spelled words of each language.
        papers: the papers' own numbers.
        table: CSV to write: columns model, counted, metric, value, paper, vocabulary, note.
    """
    sizes = {part.language: len(part.words) for part in map(read_vocabulary, words)}
    codes = {part.language: torch.from_numpy(part.vectors) for part in map(read_vocabulary, spelled)}
    paper = {row["method"]: row["value"] for row in paper_rows(papers, "smalr", "parameters")}
    rows = pd.DataFrame(counted(settings, sizes, codes))
    rows["paper"] = rows["model"].map(paper).fillna("")
    rows["vocabulary"] = f"{settings['dataset']} at scale {settings['scale']}, {sum(sizes.values()):,} words"
    lines = [
        {
            "table": "smalr/parameters",
            "row": number,
            "method": row["model"],
            "scale": settings["scale"],
            "dataset": settings["dataset"],
            "metric": row["metric"],
            "measured": row["value"],
            "paper": row["paper"].rstrip("M%x"),
        }
        for number, row in enumerate(rows.to_dict("records"), 1)
    ]
    printed = rows[["model", "counted", "metric", "value", "paper", "vocabulary", "note"]]
    write_tables(printed, table, lines, comparison)


def counted(
    settings: Mapping[str, Any], sizes: Mapping[str, int], codes: Mapping[str, torch.Tensor]
) -> Iterator[Row]:
    """Each number of the comparison.

    Args:
        sizes: words of each language, with padding. codes: code points of each language's words.
    """
    ten, one = mule(settings["model"], sizes), mule(settings["model"], {"en": sizes["en"]})
    tables = sum(size * WORD_VECTOR for size in sizes.values())
    languages = tables + sum(weight.numel() for weight in ten.universal.projections())
    whole, single = trained(ten), trained(one)
    yield _row(
        "MULE, one language", "English alone: table, linear layer, both branches", MILLIONS, single / 1e6
    )
    yield _row(
        "MULE, ten languages",
        "ten tables and linear layers, both branches, classifier",
        MILLIONS,
        whole / 1e6,
    )
    yield _row("MULE, ten languages: word tables", "numbers of the ten tables", MILLIONS, tables / 1e6)
    yield _row(
        "MULE, ten languages: share of the languages",
        "word tables and linear layers in all parameters",
        "percent",
        100 * languages / whole,
    )
    yield _row("MULE, ten languages to one", "ratio of the two above", "times", whole / single)
    for name, characters in (("S-LIWE, ten languages", 24), ("L-LIWE, ten languages", 120)):
        made = liwe({**settings["liwe"], "characters": characters}, settings["model"], codes)
        letters = len(made.spelled.alphabet) - 1
        yield _row(
            name, f"{letters} characters of {characters} numbers", MILLIONS, count_parameters(made) / 1e6
        )
    left = count_parameters(ten.branches) + count_parameters(ten.image_branch)
    yield _row(
        "Image-sentence model at test time",
        f"sentence branch ({settings['model']['recurrent']}) and image branch",
        MILLIONS,
        left / 1e6,
        "word vectors of the vocabulary are computed beforehand",
    )


def _row(model: str, what: str, metric: str, value: float, note: str = "") -> Row:
    return {"model": model, "counted": what, "metric": metric, "value": round(value, 2), "note": note}


def mule(model: Mapping[str, Any], sizes: Mapping[str, int]) -> RetrievalModel:
    """MULE of some languages, without memory for its weights."""
    with torch.device("meta"):
        tables = {language: torch.zeros(size, WORD_VECTOR) for language, size in sizes.items()}
        return RetrievalModel(tables, IMAGE_FEATURES, "shared", model)


def trained(model: RetrievalModel) -> int:
    """Parameters; for one language without the classifier, which has nothing to distinguish."""
    alone = len(model.languages) == 1
    return count_parameters(model) - (count_parameters(model.classifier) if alone else 0)


def liwe(sizes: Mapping[str, Any], model: Mapping[str, Any], codes: Mapping[str, torch.Tensor]) -> LiweModel:
    """LIWE of some languages."""
    return LiweModel(codes, IMAGE_FEATURES, model, sizes)
