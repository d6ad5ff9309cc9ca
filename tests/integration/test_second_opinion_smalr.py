"""SMALR and its second reading (tests/reading_smalr.py) agree, from files to ranks; as for MULE.

Recorded besides what is random in all trainings: which entries words explore, and which words are masked.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pytest
import reading
import reading_smalr as smalr
from reading_smalr import Explored, Masked, Tables
from recorded import (
    CLOSE,
    LC,
    NC,
    SEEDS,
    Read,
    Recorded,
    Settings,
    assert_evaluated,
    assert_ranked,
    assert_same,
    evaluated,
    laid_over,
    own_captions,
    ranks_of_file,
    read,
    recorded_runs,
    written_files,
)
from torch import Tensor
from twelve_things import table_of

from pipeline.datasets.augment import write_added
from pipeline.evaluation.consistency import evaluate_consistency
from pipeline.models import assignment
from pipeline.models.losses import masking
from pipeline.models.step import Step, Terms
from pipeline.training import assign as pretraining
from pipeline.training.assign import assign
from pipeline.training.train import Inputs, train
from pipeline.words.corpus import Sentences

pytestmark = pytest.mark.integration

runs = recorded_runs

# Vectors so long and so many entries that few words have the same one.
ENTRIES, WORD_VECTOR = 1000, 40
HYBRID: dict[str, Any] = {
    "embedding": "hybrid",
    "hybrid": {"own_words": 4, "own_size": 3, "entries": ENTRIES},
    "model": {"recurrent": "gru"},
    "triplets": {"margin": 0.1, "num_hard_negatives": 5, "distance": "cosine"},
    "matching": {"image": 1.5, "sentence": 1.0, "sentence_only": 0.0},
    "captions": "augmented",
    # A small rate: the gradient of a bias before batch norm is rounding alone, which Adam makes larger.
    "training": {"learning_rate": 0.003},
}
ASSIGNMENT = {
    "exploration": 0.4,
    "best": 4,
    "features": "standardized",
    "gradient": "softmax",
    "pairs": "all",
}
MASKING = {"masking": {"share": 0.3, "weight": 0.2, "matching": 0.6}}
CASES: dict[str, dict[str, Any]] = {
    "LA": {
        "hybrid": {"own_words": 0},
        "assignment": {"gradient": "straight_through", "features": "given"},
    },
    "HEM": {**NC, **LC, "assignment": {"gradient": "gated", "features": "centred", "pairs": "different"}},
    "SMALR": {**NC, **LC, **MASKING, "assignment": {"gradient": "straight_through"}},
    "SMALR, three sentences an image": {
        **MASKING,
        "captions": "human+mt",
        "training": {"sentences_per_image": 3},
        "assignment": {"gradient": "softmax", "best": 7},
    },
    "SMALR, scores as they began": {**NC, **MASKING, "captions": "human", "assignment": {"gradient": "none"}},
}
CONSISTENCY = {"hidden": 4, "iterations": 6, "learning_rate": 0.05, "begin": 1.3, "activation": "none"}


def case(name: str, seed: int) -> Settings:
    return laid_over(CASES[name], seed, laid_over(HYBRID, seed))


def of_assignment(settings: Settings) -> Settings:
    """Settings of a case's pretraining.

    All negatives count where words take one entry each and learn by the choice, and of different languages
    one sentence an image: sentences of other words can then be the same, and which of them is the farthest,
    or among the worst, is nobody's to say.
    """
    training = {**settings["training"], "epochs": 2, "learning_rate": 0.002}
    how = {**ASSIGNMENT, **settings.get("assignment", {})}
    universal, triplets = settings["model"]["universal"], settings["triplets"]
    if how["gradient"] in ("straight_through", "gated"):
        triplets = {**triplets, "num_hard_negatives": 1000}
    if how["pairs"] == "different":
        training["sentences_per_image"] = 1
    return {
        **settings,
        "assignment": how,
        "universal": universal,
        "triplets": triplets,
        "training": training,
    }


# --- Files


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    found, draw = written_files(tmp_path_factory.mktemp("files")), np.random.default_rng(5)
    for path in found.words:
        with h5py.File(path, "r+") as file:
            vectors = draw.normal(size=(len(file["words"]), WORD_VECTOR)).astype(np.float32)
            vectors[0] = 0
            del file["vectors"]
            file["vectors"] = vectors
    return found


@pytest.fixture(scope="module")
def queries(files: Inputs, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Path]:
    """Tables of translations with their reports, by pair; German gets into French by English."""
    folder, draw = tmp_path_factory.mktemp("queries"), np.random.default_rng(7)
    own = own_captions(files, laid_over({}, 0))
    paths = {}
    for source, target in (("en", "de"), ("en", "fr"), ("de", "en")):
        paths[source, target] = folder / f"{source}-{target}.csv"
        write_translation(own[source], source, target, paths[source, target], draw)
    paths["de", "fr"] = folder / "de-fr.csv"
    write_translation(reading.read_rows([paths["de", "en"]]), "en", "fr", paths["de", "fr"], draw)
    return paths


def write_translation(
    rows: list[reading.Row], source: str, target: str, path: Path, draw: np.random.Generator
) -> None:
    """Word for word, of all splits, in another order of images: of some captions none, of some none known."""
    lost = [row for row in rows if draw.random() < 0.12]
    kept = [row for row in rows if row not in lost]
    images = draw.permutation(sorted({row["image"] for row in kept}))
    translated: list[tuple[str, ...]] = [
        (row["image"], row["split"], target, said(row, source, target, draw), "dictionary", source)
        for image in images
        for row in kept
        if row["image"] == image
    ]
    table_of(translated).to_csv(path, index=False)
    left_out = [{"image": row["image"], "caption": row["caption"]} for row in lost]
    path.with_suffix(".json").write_text(json.dumps({"captions_left_out": left_out}))


def said(row: reading.Row, source: str, target: str, draw: np.random.Generator) -> str:
    words = [word.replace(source, target) for word in row["tokens"].split()]
    return "unheard" if draw.random() < 0.1 else " ".join(draw.permutation(words))


def tables_of(paths: dict[tuple[str, str], Path], split: str) -> Tables:
    found = {}
    for pair, path in paths.items():
        left_out = json.loads(path.with_suffix(".json").read_text())["captions_left_out"]
        rows = [row for row in reading.read_rows([path]) if row["split"] == split]
        found[pair] = rows, {(row["image"], row["caption"]) for row in left_out}
    return found


# --- What is random


@dataclass
class Noted:
    """Of each step of an assignment what its words explore; of each step of a training what is masked."""

    explored: list[Explored] = field(default_factory=list)
    masked: list[Masked] = field(default_factory=list)


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Noted]:
    found = Noted()
    sentence_means, explored = pretraining.sentence_means, assignment.explored
    terms, masked_sentences = masking.terms, masking.masked_sentences
    places: list[Tensor] = []
    languages: list[str] = []

    def noted_explored(*given: Any) -> Tensor:
        places.append(explored(*given))
        return places[-1]

    def noted_means(model: Any, features: Any, sentences: dict[str, Sentences], how: Any) -> Any:
        means = sentence_means(model, features, sentences, how)
        words = [(code, word) for code, of in sentences.items() for word in of.ids.unique().tolist()]
        found.explored.append(dict(zip(words, places[-1].tolist(), strict=True)))
        return means

    def noted_terms(step: Step) -> Terms:
        languages[:] = step.sentences
        found.masked.append({})
        return terms(step)

    def noted_masked(sentences: Sentences, *given: Any) -> Sentences:
        masked = masked_sentences(sentences, *given)
        changed = (masked.ids != sentences.ids).tolist()
        lengths = sentences.lengths.tolist()
        assert isinstance(found.masked[-1], dict)
        found.masked[-1][languages.pop(0)] = [
            of[:length] for of, length in zip(changed, lengths, strict=True)
        ]
        return masked

    monkeypatch.setattr(assignment, "explored", noted_explored)
    monkeypatch.setattr(pretraining, "sentence_means", noted_means)
    monkeypatch.setattr(masking, "terms", noted_terms)
    monkeypatch.setattr(masking, "masked_sentences", noted_masked)
    yield found


# --- The comparison


@dataclass
class Agreed:
    """A case in which project and reading agree."""

    settings: Settings
    found: Read
    expected: reading.Trained
    noted: Noted


def agreed(
    name: str,
    seed: int,
    files: Inputs,
    queries: dict[tuple[str, str], Path],
    runs: list[Recorded],
    noted: Noted,
    folder: Path,
) -> Agreed:
    """Assign, train and evaluate with the project, then read the same, and compare all that there is."""
    settings = case(name, seed)
    files, translated = with_translations(files, queries, settings, folder)
    how = of_assignment(settings)
    pretrained, table = folder / "entries.pt", folder / "assignment.csv"
    assign(replace(files, features=None), how, "code", folder / "assigning.pt", pretrained, table)
    given = replace(files, pretrained=pretrained)
    train(given, settings, "code", folder / "checkpoint.pt", folder / "curves.csv", folder / "model.pt")
    result = evaluated(files, settings["languages"], folder)

    found = read(files, settings, translated)
    first, second = runs
    for run, split, asked in ((first, found.paired, how), (second, found.train, settings)):
        assert len(run.epochs) == asked["training"]["epochs"]
        for epoch in run.epochs:
            reading.check_epoch(epoch, split, asked["training"])
    weights = begun_by_reading(first, second, found, noted, settings, how, table)
    masked: list[Masked | None] = [*noted.masked] or [None] * len(second.masks)
    kept = list(zip(second.masks, masked, strict=True))
    expected = reading.trained(
        weights,
        found.train,
        found.val,
        second.epochs,
        kept,
        settings,
        smalr.losses_of,
        smalr.hybrid_words,
    )
    assert_same(second.ended, expected.ended)
    assert_same(result.kept["weights"], without_losses(expected.kept))
    for row, by_reading in zip(result.curves, expected.curves, strict=True):
        assert row == pytest.approx(by_reading, rel=CLOSE, abs=CLOSE)
    ranks_of = partial(reading.ranks_of, words_of=smalr.hybrid_words)
    assert_evaluated(result, expected, found, settings, ranks_of)
    return Agreed(settings, found, expected, noted)


def with_translations(
    files: Inputs, queries: dict[tuple[str, str], Path], settings: Settings, folder: Path
) -> tuple[Inputs, list[reading.Row]]:
    """The files that are trained on, and the translations that the reading has for them."""
    if settings["captions"] != "augmented":
        return files, reading.read_rows(files.translations)
    own, added, paths = own_captions(files, settings), [], []
    for code in ("de", "fr"):
        raw, path = queries["en", code], folder / f"augmented-en-{code}.csv"
        (table,) = (one for one in files.sentences if one.stem == f"own-{code}")
        write_added(table, settings["caption_origins"].get(code, "human"), raw, path)
        paths.append(path)
        added += smalr.augmented(own[code], reading.read_rows([raw]))
    return replace(files, translations=paths), added


def begun_by_reading(
    first: Recorded,
    second: Recorded,
    found: Read,
    noted: Noted,
    settings: Settings,
    how: Settings,
    table: Path,
) -> reading.Weights:
    """What training begins with, by the reading's own pretraining, which agrees with the project's."""
    features = smalr.read_from(found.vectors, how["assignment"]["features"])
    assigned = smalr.assigned(first.begun, features, found.paired, first.epochs, noted.explored, how)
    assert_same(first.ended, assigned)
    own, entry, entries = smalr.places(assigned, features, found.paired, how)
    by_entry = pd.read_csv(table)
    words = {code: list(index) for code, index in found.words.items()}
    assert by_entry["entry"].is_monotonic_increasing
    assert set(by_entry.itertuples(index=False, name=None)) == {
        (words[code][word - 1], code, number) for code, of in entry.items() for word, number in of.items()
    }
    return smalr.begun(second.begun, own, entry, entries, found.vectors, settings["hybrid"]["own_size"])


def without_losses(weights: reading.Weights) -> reading.Weights:
    """What is kept of a model: a loss' own weights are for training alone."""
    return {name: value for name, value in weights.items() if not name.startswith("losses.")}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", [name for name in CASES if name != "SMALR"])
def test_the_project_and_the_reading_agree(
    name: str,
    seed: int,
    files: Inputs,
    queries: dict[tuple[str, str], Path],
    runs: list[Recorded],
    noted: Noted,
    tmp_path: Path,
) -> None:
    one = agreed(name, seed, files, queries, runs, noted, tmp_path)
    places = [place for step in one.noted.explored for place in step.values()]
    best = of_assignment(one.settings)["assignment"]["best"]
    assert set(places) == set(range(best))
    # Exploring, a word takes its best entry as well.
    assert np.mean(np.array(places) > 0) == pytest.approx(0.4 * (1 - 1 / best), abs=0.05)


@pytest.mark.parametrize("seed", SEEDS)
def test_they_agree_with_queries_and_their_translations_together(
    seed: int,
    files: Inputs,
    queries: dict[tuple[str, str], Path],
    runs: list[Recorded],
    noted: Noted,
    tmp_path: Path,
) -> None:
    """SMALR, CLC-A and CLC-C, with and without a ReLU, of the same model."""
    one = agreed("SMALR", seed, files, queries, runs, noted, tmp_path)
    masked = [lost for step in noted.masked for of in step.values() for ids in of for lost in ids]
    assert np.mean(masked) == pytest.approx(0.3, abs=0.03)
    scored = {split: scores(split, one, files, queries) for split in ("val", "test")}
    average = {code: found[0].mean(2) for code, found in scored["test"].items()}
    assert_consistent(one, files, queries, tmp_path, {"kind": "average"}, average)
    for activation in ("none", "relu"):
        how = {**CONSISTENCY, "activation": activation}
        network, losses = smalr.learned(list(scored["val"].values()), one.settings, how)
        combined = {
            code: smalr.combined(network, found[0], activation) for code, found in scored["test"].items()
        }
        told = assert_consistent(one, files, queries, tmp_path, {"kind": "learned", **how}, combined)
        assert told["losses"] == pytest.approx(losses, rel=CLOSE)
        assert np.array(told["weights"][0]) == pytest.approx(network["first"].numpy(), rel=CLOSE)
        assert np.array(told["weights"][1]) == pytest.approx(network["second"].numpy(), rel=CLOSE)


def scores(
    split: str, one: Agreed, files: Inputs, queries: dict[tuple[str, str], Path]
) -> dict[str, tuple[Tensor, Tensor]]:
    """Of languages with captions by people, scores (B, n, L), and of each query the place of its image."""
    own, of_split = own_captions(files, one.settings), {"val": one.found.val, "test": one.found.test}[split]
    found = {}
    for code in ("en", "de"):
        rows = [row for row in own[code] if row["split"] == split]
        longest = one.settings["max_caption_length"]
        asked = smalr.asked(rows, of_split, tables_of(queries, split), one.found.words, longest, code)
        assert asked[code] == [ids for _, ids in of_split.sentences[code]]
        images, image_of = reading.candidates(of_split, code)
        embedded = reading.embed_images(one.expected.kept, one.settings, of_split.features[images], None)
        given = one.expected.kept, one.settings, embedded, code, asked, smalr.hybrid_words
        found[code] = smalr.scores_of(*given), image_of
    return found


def assert_consistent(
    one: Agreed,
    files: Inputs,
    queries: dict[tuple[str, str], Path],
    folder: Path,
    how: dict[str, Any],
    combined: dict[str, Tensor],
) -> dict[str, Any]:
    """The project's evaluation has the reading's ranks; what it tells of the network."""
    output, ranks = folder / "consistent.json", folder / "consistent.csv.gz"
    assert files.features
    asked = {"threads": 1, **how}
    given = files.features, files.words, files.sentences, list(queries.values()), asked
    evaluate_consistency(folder / "model.pt", *given, output, ranks)
    evaluation, by_language = json.loads(output.read_text()), ranks_of_file(ranks)
    assert evaluation["queries"] == how["kind"]
    assert evaluation["query_translations"] == {
        "-".join(pair): {"dictionary": sum(row["image"] in one.found.test.images for row in rows)}
        for pair, (rows, _) in tables_of(queries, "test").items()
    }
    assert set(evaluation["test"]) == set(by_language) == set(combined)
    for code, near in combined.items():
        expected = reading.ranks_among(near, reading.candidates(one.found.test, code)[1])
        assert_ranked(evaluation, by_language, one.found.test, code, expected)
    told: dict[str, Any] = evaluation["consistency"]
    return told
