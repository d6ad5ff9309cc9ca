"""SMALR on small files: assignment, training, killed runs, queries together with their translations."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from run_stages import assign, train

from pipeline.datasets.table import read_sentences, write_sentences
from pipeline.datasets.tokenize import with_tokens
from pipeline.evaluation.consistency import evaluate_consistency
from pipeline.evaluation.evaluate import evaluate
from pipeline.evaluation.settings import ConsistencySettings, Preparation
from pipeline.models.model import load_model
from pipeline.models.settings import Consistency
from pipeline.tables.evaluations import Evaluations
from pipeline.tables.statistics import percentages
from pipeline.training.data import Inputs
from pipeline.words.corpus import Sentences
from search import load

pytestmark = pytest.mark.integration

KINDS = ("original", "average", "learned")


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


def run_train(inputs: Inputs, smalr: dict[str, Any], folder: Path, assigning_epochs: int = 30) -> Path:
    """Assign words, and train."""
    folder.mkdir(exist_ok=True)
    how = {"exploration": 0.2, "top_m": 4, "gradient": "straight_through"}
    schedule = {"epochs": assigning_epochs, "learning_rate": 0.02}
    of_assignment = {
        **smalr,
        "universal_dim": smalr["model"]["universal_dim"],
        "assignment": how,
        "training": {**smalr["training"], **schedule},
    }
    entries, table = folder / "entries.pt", folder / "assignment.csv"
    assign(inputs, of_assignment, "code", folder / "assign-checkpoint.pt", entries, table)
    given = replace(inputs, pretrained=entries)
    train(given, smalr, "code", folder / "checkpoint.pt", folder / "curves.csv", folder / "model.pt")
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


def test_smalr_learns_from_the_captions(
    inputs: Inputs, smalr: dict[str, Any], queries: list[Path], tmp_path: Path
) -> None:
    model = run_train(inputs, smalr, tmp_path)
    assert inputs.features
    given = model, inputs.features, inputs.words, inputs.sentences
    of_kind = {kind: (tmp_path / f"{kind}.json", tmp_path / f"{kind}.csv.gz") for kind in KINDS}
    evaluate(*given, Preparation(), *of_kind["original"])
    average = ConsistencySettings(kind="average", network=None)
    learned = ConsistencySettings(kind="learned", network=Consistency(iterations=5))
    evaluate_consistency(*given, average, *of_kind["average"], queries)
    evaluate_consistency(*given, learned, *of_kind["learned"], queries)
    before = [path.read_bytes() for path in of_kind["learned"]]
    evaluate_consistency(*given, learned, *of_kind["learned"], queries)  # as after a kill: it starts over
    assert [path.read_bytes() for path in of_kind["learned"]] == before
    found = {kind: json.loads(output.read_text()) for kind, (output, _) in of_kind.items()}
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
            hits = Evaluations([of_kind[kind][0]], [0]).hits(("things", "smalr", kind), language)
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
