"""SMALR and its plain reading (tests/reference/smalr.py) agree, from files to ranks; as for MULE.

Also recorded: which entries words explore, and which words are masked.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pytest
import torch
from recorded import (
    CLOSE,
    LC,
    NC,
    SEEDS,
    Recorded,
    Settings,
    Splits,
    assert_agreement,
    assert_same_ranks,
    assert_same_weights,
    captions_by_language,
    evaluate_model,
    read_ranks,
    read_splits,
    recorded_runs,
    with_changes,
    write_inputs,
)
from reference import smalr
from reference.batches import check_epoch
from reference.captions import Row, added_translations, read_rows
from reference.evaluation import gallery, model_ranks, rounded_ranks
from reference.layers import Weights
from reference.model import embed_images
from reference.smalr import Explored, Masked, Tables
from reference.training import Training
from reference.training import train as train_by_reading
from run_stages import assign, train
from torch import Tensor
from twelve_things import table_of

from pipeline.evaluation.consistency import evaluate_consistency
from pipeline.evaluation.settings import ConsistencySettings
from pipeline.models import assignment
from pipeline.models.assignment import sentence_means
from pipeline.models.losses import masking
from pipeline.models.losses.loss import Step, Terms
from pipeline.models.settings import Consistency
from pipeline.training import assign as pretraining
from pipeline.training.data import Inputs
from pipeline.words.corpus import Sentences

pytestmark = pytest.mark.integration

runs = recorded_runs

# Long vectors and many entries, so that few words share an entry.
ENTRIES, WORD_VECTOR = 1000, 40
HYBRID: dict[str, Any] = {
    "embedding": "hybrid",
    "hybrid": {"frequent_words": 4, "frequent_dim": 3, "latent_entries": ENTRIES},
    "model": {"recurrent": "gru"},
    "triplets": {"margin": 0.1, "num_hard_negatives": 5, "distance": "cosine"},
    "matching": {"image": 1.5, "sentence": 1.0, "sentence_only": 0.0},
    "captions": "augmented",
    # A small rate, because the gradient of a bias before batch norm is only rounding, which Adam amplifies.
    "training": {"learning_rate": 0.003},
}
ASSIGNMENT = {
    "exploration": 0.4,
    "top_m": 4,
    "gradient": "softmax",
    "pairs": "all",
}
MASKING = {"masking": {"mask_probability": 0.3, "weight": 0.2, "matching": 0.6}}
CASES: dict[str, dict[str, Any]] = {
    "LA": {
        "hybrid": {"frequent_words": 0},
        "assignment": {"gradient": "straight_through"},
    },
    "HEM": {**NC, **LC, "assignment": {"gradient": "straight_through", "pairs": "different"}},
    "SMALR": {**NC, **LC, **MASKING, "assignment": {"gradient": "straight_through"}},
    "SMALR, three sentences per image": {
        **MASKING,
        "captions": "human+mt",
        "training": {"sentences_per_image": 3},
        "assignment": {"gradient": "softmax", "top_m": 7},
    },
    "SMALR, human captions": {**NC, **MASKING, "captions": "human"},
}
CONSISTENCY = {
    "hidden": 4,
    "iterations": 6,
    "learning_rate": 0.05,
    "initial_weight": 1.3,
}


def case(name: str, seed: int) -> Settings:
    return with_changes(CASES[name], seed, with_changes(HYBRID, seed))


def assignment_settings(settings: Settings) -> Settings:
    """Settings of a case's pretraining.

    If words take one entry each and learn by the choice, all negatives count, and between languages one
    sentence per image: sentences of different words can then be equal, so the farthest or worst of them is
    arbitrary.
    """
    training = {**settings["training"], "epochs": 2, "learning_rate": 0.002}
    how = {**ASSIGNMENT, **settings.get("assignment", {})}
    universal, triplets = settings["model"]["universal_dim"], settings["triplets"]
    if how["gradient"] == "straight_through":
        triplets = {**triplets, "num_hard_negatives": 1000}
    if how["pairs"] == "different":
        training["sentences_per_image"] = 1
    return {
        **settings,
        "assignment": how,
        "universal_dim": universal,
        "triplets": triplets,
        "training": training,
    }


# --- Files


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    inputs, draw = write_inputs(tmp_path_factory.mktemp("files")), np.random.default_rng(5)
    for path in inputs.words:
        with h5py.File(path, "r+") as file:
            vectors = draw.normal(size=(len(file["words"]), WORD_VECTOR)).astype(np.float32)
            vectors[0] = 0
            del file["vectors"]
            file["vectors"] = vectors
    return inputs


@pytest.fixture(scope="module")
def queries(files: Inputs, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Path]:
    """Tables of translations by pair; German is translated into French via English."""
    folder, draw = tmp_path_factory.mktemp("queries"), np.random.default_rng(7)
    captions = captions_by_language(files, with_changes({}, 0))
    paths = {}
    for source, target in (("en", "de"), ("en", "fr"), ("de", "en")):
        paths[source, target] = folder / f"{source}-{target}.csv"
        write_translation(captions[source], source, target, paths[source, target], draw)
    paths["de", "fr"] = folder / "de-fr.csv"
    write_translation(read_rows([paths["de", "en"]]), "en", "fr", paths["de", "fr"], draw)
    return paths


def write_translation(
    rows: list[Row], source: str, target: str, path: Path, draw: np.random.Generator
) -> None:
    """Word for word, all splits, in another order; some captions have none, some no known word."""
    rest = [row for row in rows if draw.random() >= 0.12]
    rest = [rest[place] for place in draw.permutation(len(rest))]
    translated: list[tuple[str, ...]] = [
        (row["image"], row["split"], target, translation(row, source, target, draw), "dictionary", source)
        for row in rest
    ]
    table_of(translated).assign(number=[row["number"] for row in rest]).to_csv(path, index=False)


def translation(row: Row, source: str, target: str, draw: np.random.Generator) -> str:
    words = [word.replace(source, target) for word in row["tokens"].split()]
    return "unheard" if draw.random() < 0.1 else " ".join(draw.permutation(words))


def read_tables(paths: dict[tuple[str, str], Path], split: str) -> Tables:
    return {pair: [row for row in read_rows([path]) if row["split"] == split] for pair, path in paths.items()}


# --- Random numbers


@dataclass
class Choices:
    """The explored entries in each step of an assignment, and the masked words in each step of a training."""

    explored: list[Explored] = field(default_factory=list)
    masked: list[Masked] = field(default_factory=list)


@pytest.fixture
def choices(monkeypatch: pytest.MonkeyPatch) -> Iterator[Choices]:
    """The choices of all runs of the test."""
    noted = Choices()
    explored_ranks = assignment.explored_ranks
    terms, masked_sentences = masking.MaskingLoss.terms, masking.masked_sentences
    places: list[Tensor] = []
    languages: list[str] = []

    def note_places(*args: Any) -> Tensor:
        places.append(explored_ranks(*args))
        return places[-1]

    def note_explored(model: Any, features: Any, sentences: dict[str, Sentences], *how: Any) -> Any:
        places.clear()
        means = sentence_means(model, features, sentences, *how)
        words = [(code, word) for code, of in sentences.items() for word in of.ids.unique().tolist()]
        noted.explored.append(dict(zip(words, torch.cat(places).tolist(), strict=True)))
        return means

    def note_languages(loss: masking.MaskingLoss, step: Step) -> Terms:
        languages[:] = step.sentences
        noted.masked.append({})
        return terms(loss, step)

    def note_masked(sentences: Sentences, *args: Any) -> Sentences:
        masked = masked_sentences(sentences, *args)
        changed = (masked.ids != sentences.ids).tolist()
        lengths = sentences.lengths.tolist()
        assert isinstance(noted.masked[-1], dict)
        noted.masked[-1][languages.pop(0)] = [
            of[:length] for of, length in zip(changed, lengths, strict=True)
        ]
        return masked

    monkeypatch.setattr(assignment, "explored_ranks", note_places)
    monkeypatch.setattr(pretraining, "sentence_means", note_explored)
    monkeypatch.setattr(masking.MaskingLoss, "terms", note_languages)
    monkeypatch.setattr(masking, "masked_sentences", note_masked)
    yield noted


# --- The comparison


@dataclass
class Agreement:
    """A case in which project and reading agree; folder: of the project's model."""

    settings: Settings
    splits: Splits
    expected: Training
    folder: Path


@pytest.fixture
def agreement(
    files: Inputs,
    queries: dict[tuple[str, str], Path],
    runs: list[Recorded],
    choices: Choices,
    tmp_path: Path,
) -> Callable[[str, int], Agreement]:
    """Assign, train and evaluate a case with the project, then by the reading, and compare everything."""

    def agree(name: str, seed: int) -> Agreement:
        settings = case(name, seed)
        how = assignment_settings(settings)
        inputs, translated = with_translations(files, queries, settings)
        pretrained, table = tmp_path / "entries.pt", tmp_path / "assignment.csv"
        assign(replace(inputs, features=None), how, "code", tmp_path / "assigning.pt", pretrained, table)
        paths = [tmp_path / name for name in ("checkpoint.pt", "curves.csv", "model.pt")]
        train(replace(inputs, pretrained=pretrained), settings, "code", *paths)
        result = evaluate_model(inputs, settings["languages"], tmp_path)

        splits = read_splits(inputs, settings, translated)
        first, second = runs
        for run, split, of_run in ((first, splits.paired, how), (second, splits.train, settings)):
            assert len(run.epochs) == of_run["training"]["epochs"]
            for epoch in run.epochs:
                check_epoch(epoch, split, of_run["training"])
        weights = weights_by_reading(first, second, splits, choices, settings, how, table)
        by_smalr = partial(smalr.objective, iter(choices.masked)), smalr.hybrid_words
        expected = train_by_reading(weights, splits.train, splits.val, second.epochs, settings, *by_smalr)
        ranks_of = partial(model_ranks, word_vectors=smalr.hybrid_words)
        assert_agreement(second, result, expected, splits, settings, ranks_of)
        return Agreement(settings, splits, expected, tmp_path)

    return agree


def with_translations(
    files: Inputs, queries: dict[tuple[str, str], Path], settings: Settings
) -> tuple[Inputs, list[Row]]:
    """The files to train on, and their translations as the reading has them."""
    if settings["captions"] != "augmented":
        return files, read_rows(files.translations)
    captions, paths = captions_by_language(files, settings), [queries["en", code] for code in ("de", "fr")]
    added = [
        row
        for code, path in zip(("de", "fr"), paths, strict=True)
        for row in added_translations(captions[code], read_rows([path]))
    ]
    return replace(files, translations=paths), added


def weights_by_reading(
    first: Recorded,
    second: Recorded,
    splits: Splits,
    choices: Choices,
    settings: Settings,
    how: Settings,
    table: Path,
) -> Weights:
    """The initial weights by the reading's own pretraining, which agrees with the project's."""
    features = smalr.scored_vectors(splits.vectors)
    entry_weights = smalr.pretrain_entries(
        first.initial, features, splits.paired, first.epochs, choices.explored, how
    )
    assert_same_weights(first.last, entry_weights)
    own, entry, entries = smalr.word_places(entry_weights, features, splits.paired, how)
    by_entry = pd.read_csv(table)
    words = {code: list(index) for code, index in splits.words.items()}
    assert by_entry["entry"].is_monotonic_increasing
    assert set(by_entry.itertuples(index=False, name=None)) == {
        (words[code][word - 1], code, number) for code, of in entry.items() for word, number in of.items()
    }
    size = settings["hybrid"]["frequent_dim"]
    return smalr.initial_weights(second.initial, own, entry, entries, splits.vectors, size)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", [name for name in CASES if name != "SMALR"])
def test_the_project_and_the_reading_agree(
    name: str, seed: int, agreement: Callable[[str, int], Agreement], choices: Choices
) -> None:
    one = agreement(name, seed)
    places = [place for step in choices.explored for place in step.values()]
    best = assignment_settings(one.settings)["assignment"]["top_m"]
    assert set(places) == set(range(best))
    # Exploring, a word takes its best entry as well.
    assert np.mean(np.array(places) > 0) == pytest.approx(0.4 * (1 - 1 / best), abs=0.08)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_project_and_the_reading_agree_on_queries_with_translations(
    seed: int,
    files: Inputs,
    queries: dict[tuple[str, str], Path],
    agreement: Callable[[str, int], Agreement],
    choices: Choices,
) -> None:
    """SMALR, CLC-A and CLC-C, with the same model."""
    one = agreement("SMALR", seed)
    masked = [lost for step in choices.masked for of in step.values() for ids in of for lost in ids]
    assert np.mean(masked) == pytest.approx(0.3, abs=0.03)
    scored = {split: scores(split, one, files, queries) for split in ("val", "test")}
    average = {code: of_queries.mean(2) for code, (of_queries, _) in scored["test"].items()}
    assert_consistency(one, files, queries, {"kind": "average"}, average)
    how = {**CONSISTENCY, "activation": "none"}
    network, losses = smalr.fit_combiner(list(scored["val"].values()), one.settings, how)
    combined = {
        code: smalr.combine(network, of_queries, "none") for code, (of_queries, _) in scored["test"].items()
    }
    report = assert_consistency(one, files, queries, {"kind": "learned", **CONSISTENCY}, combined)
    assert report["losses"] == pytest.approx(losses, rel=CLOSE)
    assert np.array(report["weights"][0]) == pytest.approx(network["first"].numpy(), rel=CLOSE)
    assert np.array(report["weights"][1]) == pytest.approx(network["second"].numpy(), rel=CLOSE)


def scores(
    split: str, one: Agreement, files: Inputs, queries: dict[tuple[str, str], Path]
) -> dict[str, tuple[Tensor, Tensor]]:
    """For languages with human captions, scores (B, n, L), and the place of each query's image."""
    captions = captions_by_language(files, one.settings)
    of_split = {"val": one.splits.val, "test": one.splits.test}[split]
    weights, longest = one.expected.best, one.settings["max_caption_length"]
    result = {}
    for code in ("en", "de"):
        rows = [row for row in captions[code] if row["split"] == split]
        asked = smalr.translated_queries(
            rows, of_split, read_tables(queries, split), one.splits.words, longest, code
        )
        assert asked[code] == [ids for _, ids in of_split.sentences[code]]
        images, image_of = gallery(of_split, code)
        embedded = embed_images(weights, one.settings, of_split.features[images])
        result[code] = (
            smalr.query_scores(weights, one.settings, embedded, code, asked, smalr.hybrid_words),
            image_of,
        )
    return result


def assert_consistency(
    one: Agreement,
    files: Inputs,
    queries: dict[tuple[str, str], Path],
    how: dict[str, Any],
    combined: dict[str, Tensor],
) -> dict[str, Any]:
    """Check that the project's evaluation has the reading's ranks; returns its report on the network."""
    output, ranks = one.folder / "consistent.json", one.folder / "consistent.csv.gz"
    assert files.features
    network = Consistency(**{key: value for key, value in how.items() if key != "kind"})
    asked = ConsistencySettings(kind=how["kind"], network=network if how["kind"] == "learned" else None)
    paths = files.features, files.words, files.sentences, asked, output, ranks
    evaluate_consistency(one.folder / "model.pt", *paths, list(queries.values()))
    evaluation, by_language = json.loads(output.read_text()), read_ranks(ranks)
    assert evaluation["queries"] == how["kind"]
    assert evaluation["query_translations"] == {
        "-".join(pair): {"dictionary": sum(row["image"] in one.splits.test.images for row in rows)}
        for pair, rows in read_tables(queries, "test").items()
    }
    assert set(evaluation["test"]) == set(by_language) == set(combined)
    for code, near in combined.items():
        expected = rounded_ranks(near, gallery(one.splits.test, code)[1])
        assert_same_ranks(evaluation, by_language, one.splits.test, code, expected)
    report: dict[str, Any] = evaluation["consistency"]
    return report
