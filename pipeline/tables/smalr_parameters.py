"""Parameters of SMALR's comparison at the paper's sizes, with the vocabularies of the captions at hand."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.models.consistency import Combiner
from pipeline.models.model import count_parameters
from pipeline.models.settings import ClassifierWeight, ModelSettings
from pipeline.models.sizes import at_test_time, count
from pipeline.tables.counted import MILLIONS, Row, parameter_lines, write_tables
from pipeline.tables.result_files import paper_table
from pipeline.training.settings import SmalrParameterSettings
from pipeline.words.vocabulary import read_vocabulary

BEFOREHAND = "word vectors of the vocabulary are computed beforehand"
HYBRID = {"smalr-la": "LA", "smalr-hem": "HEM", "smalr": "SMALR"}
MOST = 20_000_000  # the text says that SMALR has fewer


def count_smalr_parameters(
    settings: SmalrParameterSettings,
    words: Sequence[Path],
    characters: Sequence[Path],
    papers: Path,
    table: Path,
    comparison: Path,
) -> None:
    """Write the parameters of MULE, LIWE, LA, HEM and SMALR, also next to the paper's.

    Args:
        settings: JSON: `scale` and `dataset` of the vocabularies; of scale paper `model`, `liwe`,
            `consistency` and `hybrid`, the settings of the trainings of smalr-la, smalr-hem and smalr.
        words: one vocabulary per language.
        characters: output of `encode-characters` for each language.
        papers: the paper's own numbers, config/papers/smalr/parameters.csv.
        table: CSV to write: columns model, counted, metric, value, paper, vocabulary, note.
        comparison: CSV to write, one number per line.
    """
    sizes = {part.language: len(part.words) - 1 for part in map(read_vocabulary, words)}
    codes = np.concatenate([read_vocabulary(path).vectors.ravel() for path in characters])
    letters = int(np.count_nonzero(np.unique(codes)))
    paper = paper_table(papers).set_index("method")["value"]
    rows = pd.DataFrame(comparison_lines(settings, sizes, letters))
    if len(sizes) != 10:  # the paper has no numbers for it
        for column in ("model", "counted"):
            rows[column] = rows[column].str.replace(r"\bten\b", str(len(sizes)), regex=True)
    rows["paper"] = rows["model"].map(paper).fillna("")
    rows["vocabulary"] = f"{settings.dataset} at scale {settings.scale}, {sum(sizes.values()):,} words"
    lines = parameter_lines(rows, "smalr/parameters", settings.scale, settings.dataset)
    columns = rows[["model", "counted", "metric", "value", "paper", "vocabulary", "note"]]
    write_tables(columns, table, lines, comparison)


def comparison_lines(
    settings: SmalrParameterSettings, words: Mapping[str, int], characters: int
) -> Iterator[Row]:
    """Each number of the comparison.

    Args:
        words: number of words of each language, without padding. characters: number of characters that words
            are spelled in.
    """
    languages, model = list(words), settings.model
    ten = count(ModelSettings(languages=languages, model=model, classifier=ClassifierWeight()), words)
    # A classifier of one language has nothing to distinguish.
    one = sum(count(ModelSettings(languages=["en"], model=model), {"en": words["en"]}).values())
    whole = sum(ten.values())
    yield _row("MULE, one language", "only English: table, linear layer, both branches", MILLIONS, one / 1e6)
    yield _row(
        "MULE, ten languages",
        "ten tables and linear layers, both branches, classifier",
        MILLIONS,
        whole / 1e6,
    )
    tables = ten["words"] / 1e6
    yield _row("MULE, ten languages: word tables", "numbers of the ten tables", MILLIONS, tables)
    yield _row(
        "MULE, ten languages: share of the languages",
        "word tables and linear layers in all parameters",
        "percent",
        100 * (ten["words"] + ten["layers"]) / whole,
    )
    yield _row("MULE, ten languages to one", "ratio of the two above", "times", whole / one)
    as_liwe = model.model_copy(update={"encoder": "liwe"})
    for name, size in (("S-LIWE, ten languages", 24), ("L-LIWE, ten languages", 120)):
        liwe = settings.liwe.model_copy(update={"character_dim": size})
        counts = count(ModelSettings(languages=languages, model=as_liwe, liwe=liwe), words, characters)
        what = f"{characters} characters of {size} numbers"
        yield _row(name, what, MILLIONS, sum(counts.values()) / 1e6)
    yield from hybrid(settings, words, whole)
    yield _row(
        "MULE, ten languages: at test time",
        f"sentence branch ({settings.model.recurrent}) and image branch",
        MILLIONS,
        sum(at_test_time(ten).values()) / 1e6,
        BEFOREHAND,
    )


def count_combiner(languages: int, hidden: int) -> int:
    """Parameters of the network that combines the scores of languages (CLC-C)."""
    return count_parameters(Combiner(languages, hidden, 1.0))


def hybrid(settings: SmalrParameterSettings, words: Mapping[str, int], of_mule: int) -> Iterator[Row]:
    """Parameters of LA, HEM and SMALR, and of SMALR with CLC-C at test time.

    The number of entries in use is known only after pretraining. So lines have the maximum number of
    entries, and the numbers at which SMALR has as many parameters as the text says.

    Args:
        words: number of words of each language, without padding. of_mule: MULE's parameters.
    """
    for name, of in settings.hybrid.items():
        assert of.hybrid
        latent = sum(max(0, number - of.hybrid.frequent_words) for number in words.values())
        entries, method = min(latent, of.hybrid.latent_entries), HYBRID[name]
        most, without = sum(count(of, words, entries).values()), count(of, words)
        fewest = sum(without.values())
        what = f"all trainable parameters, with {entries:,} entries, the most that {latent:,} words can take"
        yield _row(
            f"{method}, ten languages", what, MILLIONS, most / 1e6, "entries that no word uses are dropped"
        )
        what = f"{', '.join(part for part, number in without.items() if number)}; no entry but MASK"
        yield _row(f"{method}, ten languages: without entries", what, MILLIONS, fewest / 1e6)
        yield _row(f"MULE to {method}, ten languages", "ratio, with as many entries", "times", of_mule / most)
    room = (MOST - fewest) // of.model.universal_dim
    yield _row(f"{method}: entries that make 20 million parameters", "all others counted", "entries", room)
    beyond = (of_mule / 5 - fewest) // of.model.universal_dim
    yield _row(
        f"{method}: entries that make a fifth of MULE's parameters", "all others counted", "entries", beyond
    )
    combiner = count_combiner(len(words), settings.consistency.hidden)
    at_test = sum(at_test_time(without).values()) + combiner
    what = f"sentence branch ({of.model.recurrent}), image branch, CLC-C"
    yield _row("Image-sentence model at test time", what, MILLIONS, at_test / 1e6, BEFOREHAND)
    yield _row("CLC-C", "weights of its two layers", "parameters", combiner)


def _row(model: str, what: str, metric: str, value: float, note: str = "") -> Row:
    return {"model": model, "counted": what, "metric": metric, "value": round(value, 2), "note": note}
