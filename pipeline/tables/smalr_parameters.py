"""Parameters of SMALR's comparison at the paper's sizes, with the vocabularies of the captions at hand."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from pipeline.models.consistency import Combiner
from pipeline.models.liwe import LiweModel
from pipeline.models.retrieval_model import RetrievalModel, count_parameters
from pipeline.models.sizes import at_test_time, trainable
from pipeline.tables.counted import Row, paper_rows, write_tables
from pipeline.training.settings import SmalrParameterSettings
from pipeline.words.vocabulary import read_vocabulary

IMAGE_FEATURES = 2048
WORD_VECTOR = 300  # numbers of a FastText vector
MILLIONS = "parameters (millions)"
BEFOREHAND = "word vectors of the vocabulary are computed beforehand"
HYBRID = {"smalr-la": "LA", "smalr-hem": "HEM", "smalr": "SMALR"}
MOST = 20_000_000  # SMALR has fewer, the text says


def count_smalr_parameters(
    settings: SmalrParameterSettings,
    words: Sequence[Path],
    characters: Sequence[Path],
    papers: Path,
    table: Path,
    comparison: Path,
) -> None:
    """Write the parameters of MULE, LIWE, LA, HEM and SMALR, and the same beside the paper's.

    Args:
        settings: JSON: `scale` and `dataset` of the vocabularies; of scale paper `model`, `liwe`,
            `consistency` and `hybrid`, the settings of the trainings of smalr-la, smalr-hem and smalr.
        words: one vocabulary per language.
        characters: output of `encode-characters` for each language.
        papers: the papers' own numbers, columns as in pipeline/tables/papers.csv.
        table: CSV to write: columns model, counted, metric, value, paper, vocabulary, note.
        comparison: CSV to write, one number per line.
    """
    sizes = {part.language: len(part.words) for part in map(read_vocabulary, words)}
    codes = {part.language: torch.from_numpy(part.vectors) for part in map(read_vocabulary, characters)}
    paper = {row["method"]: row["value"] for row in paper_rows(papers, "smalr", "parameters")}
    rows = pd.DataFrame(counted(settings, sizes, codes))
    if len(sizes) != 10:  # of which the paper has no numbers
        for column in ("model", "counted"):
            rows[column] = rows[column].str.replace(r"\bten\b", str(len(sizes)), regex=True)
    rows["paper"] = rows["model"].map(paper).fillna("")
    rows["vocabulary"] = f"{settings.dataset} at scale {settings.scale}, {sum(sizes.values()):,} words"
    lines = [
        {
            "table": "smalr/parameters",
            "row": number,
            "method": row["model"],
            "scale": settings.scale,
            "dataset": settings.dataset,
            "metric": row["metric"],
            "measured": row["value"],
            "paper": row["paper"].rstrip("M%x"),
        }
        for number, row in enumerate(rows.to_dict("records"), 1)
    ]
    printed = rows[["model", "counted", "metric", "value", "paper", "vocabulary", "note"]]
    write_tables(printed, table, lines, comparison)


def counted(
    settings: SmalrParameterSettings, sizes: Mapping[str, int], codes: Mapping[str, torch.Tensor]
) -> Iterator[Row]:
    """Each number of the comparison.

    Args:
        sizes: words of each language, with padding. codes: code points of each language's words.
    """
    model = settings.model.model_dump()
    ten, one = mule(model, sizes), mule(model, {"en": sizes["en"]})
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
        made = liwe({**settings.liwe.model_dump(), "character_dim": characters}, model, codes)
        letters = len(made.spelled.alphabet) - 1
        yield _row(
            name, f"{letters} characters of {characters} numbers", MILLIONS, count_parameters(made) / 1e6
        )
    yield from hybrid(settings, {language: size - 1 for language, size in sizes.items()}, whole)
    left = count_parameters(ten.branches) + count_parameters(ten.image_branch)
    yield _row(
        "MULE, ten languages: at test time",
        f"sentence branch ({settings.model.recurrent}) and image branch",
        MILLIONS,
        left / 1e6,
        BEFOREHAND,
    )


def hybrid(settings: SmalrParameterSettings, words: Mapping[str, int], of_mule: int) -> Iterator[Row]:
    """What LA, HEM and SMALR have, and SMALR with CLC-C at test time.

    The number of entries in use is known only after pretraining. Counted are the most that can be in use, and
    how many SMALR may have to reach the numbers of parameters in the text.

    Args:
        words: of each language, without padding. of_mule: MULE's parameters.
    """
    for name, typed in settings.hybrid.items():
        of = typed.model_dump()
        latent = sum(max(0, count - of["hybrid"]["frequent_words"]) for count in words.values())
        entries, printed = min(latent, of["hybrid"]["latent_entries"]), HYBRID[name]
        most = sum(trainable(of, words, entries).values())
        fewest = sum(trainable(of, words, 1).values()) - of["model"]["universal_dim"]
        told = f"all that training changes, with {entries:,} entries, the most that {latent:,} words can take"
        yield _row(
            f"{printed}, ten languages", told, MILLIONS, most / 1e6, "entries that no word takes are dropped"
        )
        told = (
            f"{', '.join(key for key, count in trainable(of, words, 1).items() if count)}; no entry but MASK"
        )
        yield _row(f"{printed}, ten languages: without entries", told, MILLIONS, fewest / 1e6)
        yield _row(
            f"MULE to {printed}, ten languages", "ratio, with as many entries", "times", of_mule / most
        )
    room = (MOST - fewest) // of["model"]["universal_dim"]
    yield _row(f"{printed}: entries that make 20 million parameters", "all others counted", "entries", room)
    beyond = (of_mule / 5 - fewest) // of["model"]["universal_dim"]
    yield _row(
        f"{printed}: entries that make a fifth of MULE's parameters", "all others counted", "entries", beyond
    )
    found = at_test_time(of, words, settings.consistency.hidden)
    told = f"sentence branch ({of['model']['recurrent']}), image branch, CLC-C"
    yield _row("Image-sentence model at test time", told, MILLIONS, sum(found.values()) / 1e6, BEFOREHAND)
    combiner = Combiner(len(words), settings.consistency.hidden, 1.0)
    yield _row("CLC-C", "weights of its two layers", "parameters", count_parameters(combiner))


def _row(model: str, what: str, metric: str, value: float, note: str = "") -> Row:
    return {"model": model, "counted": what, "metric": metric, "value": round(value, 2), "note": note}


def mule(model: Mapping[str, Any], sizes: Mapping[str, int]) -> RetrievalModel:
    """MULE in some languages, without memory for its weights."""
    with torch.device("meta"):
        tables = {language: torch.zeros(size, WORD_VECTOR) for language, size in sizes.items()}
        return RetrievalModel(tables, IMAGE_FEATURES, "shared", model)


def trained(model: RetrievalModel) -> int:
    """Parameters; for one language without the classifier, which has nothing to distinguish."""
    alone = len(model.languages) == 1
    return count_parameters(model) - (count_parameters(model.classifier) if alone else 0)


def liwe(sizes: Mapping[str, Any], model: Mapping[str, Any], codes: Mapping[str, torch.Tensor]) -> LiweModel:
    """LIWE in some languages."""
    return LiweModel(codes, IMAGE_FEATURES, model, sizes)
