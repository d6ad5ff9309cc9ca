"""SMALR on small files: assignment, training, killed runs, queries together with their translations."""

import json
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest
import torch
from run_stages import assign, killed_after, train

from pipeline.datasets.table import read_sentences, write_sentences
from pipeline.datasets.tokenize import with_tokens
from pipeline.evaluation.consistency import evaluate_consistency
from pipeline.evaluation.evaluate import evaluate
from pipeline.evaluation.settings import ConsistencySettings, EvaluateSettings
from pipeline.models.model import load_model
from pipeline.models.settings import Consistency
from pipeline.tables.evaluations import Evaluations
from pipeline.tables.statistics import percentages
from pipeline.training.data import Inputs
from pipeline.words.corpus import Sentences
from pipeline.words.vocabulary import read_vocabulary
from search import load

pytestmark = pytest.mark.integration

KEPT = ("epoch_unit", "batch_images", "sentences_per_image", "repeat_captions", "images_in_batch")


@pytest.fixture
def smalr(experiment: dict[str, Any]) -> dict[str, Any]:
    """Settings of a small SMALR: of each language's eight words three have vectors of their own."""
    experiment["model"] |= {"recurrent": "gru"}
    experiment["triplets"] = {"margin": 0.05, "num_hard_negatives": 5, "distance": "cosine"}
    experiment["matching"] = {"image": 1.5, "sentence": 1.0, "sentence_only": 0.0}
    return experiment | {
        "experiment": "smalr",
        "embedding": "hybrid",
        "hybrid": {"frequent_words": 3, "frequent_dim": 4, "latent_entries": 30},
        "masking": {"mask_probability": 0.2, "weight": 1e-4, "matching": 1.0},
    }


def assignment_of(smalr: dict[str, Any], **changed: Any) -> dict[str, Any]:
    """Settings of SMALR's pretraining."""
    data = (
        "languages",
        "captions",
        "caption_origins",
        "groups",
        "max_caption_length",
        "scale",
        "dataset",
        "experiment",
        "seed",
    )
    drawing = {key: smalr["training"][key] for key in (*KEPT, "threads", "deterministic")}
    how = {
        "exploration": 0.2,
        "top_m": 4,
        "features": "unchanged",
        "gradient": "straight_through",
        "pairs": "all",
    }
    return {
        **{key: smalr[key] for key in data},
        "universal_dim": smalr["model"]["universal_dim"],
        "hybrid": smalr["hybrid"],
        "assignment": how | changed,
        "triplets": smalr["triplets"],
        "training": {**drawing, "epochs": 30, "learning_rate": 0.02},
    }


def run_assign(inputs: Inputs, settings: dict[str, Any], folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    files = folder / "assign-checkpoint.pt", folder / "entries.pt", folder / "assignment.csv"
    assign(inputs, settings, "code", *files)
    return folder / "entries.pt"


def run_train(inputs: Inputs, settings: dict[str, Any], folder: Path) -> Path:
    entries = run_assign(inputs, assignment_of(settings), folder)
    given = Inputs(inputs.sentences, inputs.translations, inputs.words, inputs.features, entries)
    train(given, settings, "code", folder / "checkpoint.pt", folder / "curves.csv", folder / "model.pt")
    return folder / "model.pt"


@pytest.fixture
def queries(inputs: Inputs, things: dict[str, list[str]], tmp_path: Path) -> list[Path]:
    """Word-for-word translations of the captions, both ways; one caption has none."""
    files = []
    for source, target in (("en", "de"), ("de", "en")):
        words = dict(zip(things[source], things[target], strict=True))
        table = read_sentences(inputs.sentences[list(things).index(source)])
        sentences = [" ".join(words[word] for word in caption.split()) for caption in table["caption"]]
        translated = table.assign(
            caption=sentences, language=target, origin="dictionary", source_language=source
        )
        lost = table[(table["split"] == "test")].index[:1]
        output = tmp_path / f"{source}-{target}.csv"
        write_sentences(with_tokens(translated.drop(lost), target), output)
        files.append(output)
    return files


@pytest.mark.parametrize("gradient", ["straight_through", "softmax"])
def test_each_word_gets_one_entry_or_a_vector_of_its_own(
    inputs: Inputs, smalr: dict[str, Any], tmp_path: Path, gradient: str
) -> None:
    settings = assignment_of(smalr, gradient=gradient)
    settings["training"]["epochs"] = 3
    entries = torch.load(run_assign(inputs, settings, tmp_path), weights_only=True)
    table = pd.read_csv(tmp_path / "assignment.csv")
    assert table.columns.tolist() == ["word", "language", "entry"]
    assert sorted(table["entry"].unique()) == list(range(1, len(entries["entries"]) + 1))
    for path in inputs.words:
        vocabulary = read_vocabulary(path)
        shared = table[table["language"] == vocabulary.language]
        assert len(shared) == 5 and set(shared["word"]) <= set(vocabulary.words)
        places = entries["places"][vocabulary.language]
        assert sorted(places["own"].tolist()) == [0] * 6 + [1, 2, 3]
        rows = dict(zip(shared["word"], shared["entry"], strict=True))
        assert {
            vocabulary.words[row]: int(places["entry"][row]) for row in range(1, 9) if places["entry"][row]
        } == rows


def test_smalr_learns_from_the_captions(
    inputs: Inputs, smalr: dict[str, Any], queries: list[Path], tmp_path: Path
) -> None:
    model = run_train(inputs, smalr, tmp_path)
    found = {}
    kinds: tuple[Literal["original", "average", "learned"], ...] = ("original", "average", "learned")
    for kind in kinds:
        output, ranks = tmp_path / f"test-{kind}.json", tmp_path / f"test-{kind}-ranks.csv.gz"
        given = model, inputs.features, inputs.words, inputs.sentences
        if kind == "original":
            evaluate(*given, EvaluateSettings(), output, ranks)  # type: ignore[arg-type]
        else:
            network = Consistency(iterations=5) if kind == "learned" else None
            asked = ConsistencySettings(kind=kind, network=network)
            evaluate_consistency(*given, asked, output, ranks, queries)  # type: ignore[arg-type]
        found[kind] = json.loads(output.read_text())
    assert inputs.features
    read, record = load_model(model)
    words = Sentences(torch.tensor([[1, 8, 5]]), torch.tensor([3]))
    expected = read.eval().embed_sentences({"de": words}).multimodal.detach().numpy()
    words_read = " ".join(record.words["de"][row] for row in (1, 8, 5))
    np.testing.assert_array_equal(load(model).embed_sentences([words_read], "de"), expected)
    # By chance 41 and 44 among 12 images; a model that learned nothing stays there.
    for kind, result in found.items():
        assert result["queries"] == kind
        for language in ("en", "de"):
            assert result["test"][language]["mR"] > 60, (kind, language)
            hits = Evaluations([tmp_path / f"test-{kind}.json"], [0]).hits(
                ("things", "smalr", kind), language
            )
            assert percentages(hits)["mR"] == pytest.approx(result["test"][language]["mR"])
    assert found["average"]["query_translations"] == {
        "en-de": {"dictionary": 23},
        "de-en": {"dictionary": 11},
    }
    assert len(found["learned"]["consistency"]["losses"]) == 5
    assert [np.shape(weight) for weight in found["learned"]["consistency"]["weights"]] == [(32, 2), (1, 32)]
    curves = pd.read_csv(tmp_path / "curves.csv")
    assert {"matching", "masked_matching", "masking"} <= set(curves.columns)
    assert curves["masked_matching"].iloc[-1] < 0.7 * curves["masked_matching"].iloc[0]


@pytest.mark.parametrize("stage", ["assign", "train"])
def test_a_killed_run_ends_with_the_bytes_of_an_undisturbed_one(
    inputs: Inputs, smalr: dict[str, Any], tmp_path: Path, stage: str
) -> None:
    smalr["training"]["epochs"] = 3
    settings = assignment_of(smalr)
    settings["training"]["epochs"] = 3

    def run(folder: Path) -> None:
        if stage == "assign":
            run_assign(inputs, settings, folder)
        else:
            run_train(inputs, smalr, folder)

    run(tmp_path / "whole")
    for steps in (1, 4, 2):
        with killed_after(steps):
            run(tmp_path / "stopped")
    run(tmp_path / "stopped")
    names = ["entries.pt", "assignment.csv"] + (["model.pt", "curves.csv"] if stage == "train" else [])
    for name in names:
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "stopped" / name).read_bytes(), name


def test_consistency_gives_the_same_bytes_each_time(
    inputs: Inputs, smalr: dict[str, Any], queries: list[Path], tmp_path: Path
) -> None:
    """It starts over when it was killed: nothing is kept half done."""
    smalr["training"]["epochs"] = 1
    model = run_train(inputs, smalr, tmp_path)
    asked = ConsistencySettings(kind="learned", network=Consistency(iterations=3, learning_rate=1e-2))
    found = []
    for name in ("first", "second"):
        output, ranks = tmp_path / f"{name}.json", tmp_path / "ranks.csv.gz"
        given = model, inputs.features, inputs.words, inputs.sentences
        evaluate_consistency(*given, asked, output, ranks, queries)  # type: ignore[arg-type]
        found.append((output.read_bytes(), ranks.read_bytes()))
    assert found[0] == found[1]
