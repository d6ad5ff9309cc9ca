"""Parameters of SMALR's comparison at the paper's sizes, with the vocabularies of the captions at hand."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.models.consistency import Combiner
from pipeline.models.model import count_parameters
from pipeline.models.settings import ClassifierWeight, ModelSettings
from pipeline.models.sizes import at_test_time, count
from pipeline.tables.counted import MILLIONS, parameter_lines, with_papers_numbers, write_tables
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
        characters: output of `build-vocabulary` with `max_word_length` for each language.
        papers: the paper's own numbers, config/papers/smalr/parameters.csv.
        table: CSV to write: columns model, counted, metric, value, paper, vocabulary, note.
        comparison: CSV to write, one number per line.
    """
    sizes = {part.language: len(part.words) - 1 for part in map(read_vocabulary, words)}
    codes = np.concatenate([read_vocabulary(path).vectors.ravel() for path in characters])
    letters = int(np.count_nonzero(np.unique(codes)))
    columns = ["model", "counted", "metric", "value", "note"]
    rows = pd.DataFrame(_counts(settings, sizes, letters), columns=columns)
    rows["value"] = [round(value, 2) for value in rows["value"]]
    if len(sizes) != 10:  # the paper has no numbers for it
        for column in ("model", "counted"):
            rows[column] = rows[column].str.replace(r"\bten\b", str(len(sizes)), regex=True)
    rows = with_papers_numbers(rows, papers)
    rows["vocabulary"] = f"{settings.dataset} at scale {settings.scale}, {sum(sizes.values()):,} words"
    lines = parameter_lines(rows, "smalr/parameters", settings.scale, settings.dataset)
    write_tables(rows[[*columns[:4], "paper", "vocabulary", "note"]], table, lines, comparison)


def _counts(
    settings: SmalrParameterSettings, words: Mapping[str, int], characters: int
) -> Iterator[tuple[str, str, str, float, str]]:
    """Each number of the comparison: its name, what is counted, the unit, and a note.

    Args:
        words: number of words of each language, without padding. characters: number of characters that words
            are spelled in.
    """
    languages, model = list(words), settings.model
    ten = count(ModelSettings(languages=languages, model=model, classifier=ClassifierWeight()), words)
    # A classifier of one language has nothing to distinguish.
    one = sum(count(ModelSettings(languages=["en"], model=model), {"en": words["en"]}).values())
    whole, name = sum(ten.values()), "MULE, ten languages"
    share = 100 * (ten["words"] + ten["layers"]) / whole
    what = "only English: table, linear layer, both branches"
    yield "MULE, one language", what, MILLIONS, one / 1e6, ""
    yield name, "ten tables and linear layers, both branches, classifier", MILLIONS, whole / 1e6, ""
    yield f"{name}: word tables", "numbers of the ten tables", MILLIONS, ten["words"] / 1e6, ""
    what = "word tables and linear layers in all parameters"
    yield f"{name}: share of the languages", what, "percent", share, ""
    yield f"{name} to one", "ratio of the two above", "times", whole / one, ""
    as_liwe = model.model_copy(update={"encoder": "liwe"})
    for kind, size in (("S-LIWE", 24), ("L-LIWE", 120)):
        liwe = settings.liwe.model_copy(update={"character_dim": size})
        counts = count(ModelSettings(languages=languages, model=as_liwe, liwe=liwe), words, characters)
        what = f"{characters} characters of {size} numbers"
        yield f"{kind}, ten languages", what, MILLIONS, sum(counts.values()) / 1e6, ""
    yield from _hybrid_counts(settings, words, whole)
    what = f"sentence branch ({settings.model.recurrent}) and image branch"
    yield f"{name}: at test time", what, MILLIONS, sum(at_test_time(ten).values()) / 1e6, BEFOREHAND


def _hybrid_counts(
    settings: SmalrParameterSettings, words: Mapping[str, int], of_mule: int
) -> Iterator[tuple[str, str, str, float, str]]:
    """Parameters of LA, HEM and SMALR, and of SMALR with CLC-C at test time.

    The number of entries in use is known only after pretraining. So there are lines for the maximum number of
    entries, and for the numbers at which SMALR has as many parameters as the text says.

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
        note = "entries that no word uses are dropped"
        yield f"{method}, ten languages", what, MILLIONS, most / 1e6, note
        what = f"{', '.join(part for part, number in without.items() if number)}; no entry but MASK"
        yield f"{method}, ten languages: without entries", what, MILLIONS, fewest / 1e6, ""
        yield f"MULE to {method}, ten languages", "ratio, with as many entries", "times", of_mule / most, ""
    for limit, what in ((MOST, "20 million"), (of_mule / 5, "a fifth of MULE's")):
        room = (limit - fewest) // of.model.universal_dim
        yield f"{method}: entries that make {what} parameters", "all others counted", "entries", room, ""
    # The network that combines the scores of languages.
    combiner = count_parameters(Combiner(len(words), settings.consistency.hidden, 1.0))
    at_test = sum(at_test_time(without).values()) + combiner
    what = f"sentence branch ({of.model.recurrent}), image branch, CLC-C"
    yield "Image-sentence model at test time", what, MILLIONS, at_test / 1e6, BEFOREHAND
    yield "CLC-C", "weights of its two layers", "parameters", combiner, ""
