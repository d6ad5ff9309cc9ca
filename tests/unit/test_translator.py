"""The translator: what it learns from, that it learns, and that a killed training ends with equal bytes."""

import json
from collections.abc import Mapping
from pathlib import Path
from random import Random

import pandas as pd
import pytest
import torch

from pipeline.common.errors import InputError
from pipeline.common.files import sha256
from pipeline.datasets.split import write_split
from pipeline.datasets.table import caption_table, write_captions
from pipeline.training import loop, translator
from pipeline.training.settings import TranslatorSettings
from pipeline.training.translator import BatchesByLength
from pipeline.translation.settings import TrainedProvider
from pipeline.translation.translate import translator_of

IMAGES = 150
WORDS = {
    "a": "ein", "red": "rotes", "blue": "blaues", "old": "altes", "new": "neues", "car": "Auto",
    "house": "Haus", "horse": "Pferd", "boat": "Boot", "near": "neben", "under": "unter",
}  # fmt: skip


@pytest.fixture(scope="module")
def captions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Captions of a tiny grammar with human translations, and the split of two runs."""
    random, rows = Random(0), []
    for image in map(str, range(IMAGES)):
        thing = [["a"], ["red", "blue", "old", "new"], ["car", "house", "horse", "boat"]]
        english = [random.choice(words) for words in (*thing, ["near", "under"], *thing)]
        german = [WORDS[word] for word in english]
        split = "test" if int(image) < 10 else "train"
        rows += [(image, split, "en", " ".join(english), "human", "")]
        rows += [(image, split, "de", " ".join(german), "human", "en")]
    folder = tmp_path_factory.mktemp("captions")
    for language, table in caption_table(rows).groupby("language"):
        write_captions(table, folder / f"{language}.csv")
    write_split({image: split for image, split, *_ in rows}, folder / "split.csv")
    other = {str(image): "val" if image < 20 else "train" for image in range(10, 40)}
    write_split(other, folder / "other.csv")
    return folder


def train(
    captions: Path, folder: Path, split: str = "split", pair: str = "en-de", **settings: object
) -> Path:
    sizes = {
        "size": 32, "layers": 1, "dropout": 0.0,
        "vocabulary_size": 60, "batch_size": 64, "steps": 6, "validate_every": 3,
        "learning_rate": 1.0e-2, "validation_images": 10, "threads": 1,
    }  # fmt: skip
    source, target = pair.split("-")
    translator.train_translator(
        source,
        target,
        TranslatorSettings.model_validate(sizes | settings),
        splits=[captions / f"{split}.csv"],
        checkpoint=folder / "checkpoint.pt",
        output=folder / "model",
        code="1",
        captions=[captions / "en.csv", captions / "de.csv"],
    )
    return folder / "model"


def contents(folder: Path) -> Mapping[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_it_learns_from_translations_read_backwards(captions: Path, tmp_path: Path) -> None:
    model = train(captions, tmp_path, pair="de-en", steps=400, validate_every=100, batch_size=128)
    assert pd.read_csv(model / "curves.csv")["BLEU"].iloc[-1] > 90
    provider = TrainedProvider(provider="trained")
    chosen = translator_of(provider, "de", "en", [], None, model, tmp_path / "cache.sqlite", 1.0)
    assert chosen.translate(["ein neues Haus unter ein blaues Pferd"]) == ["a new house under a blue horse"]
    assert "trained on" in chosen.version


@pytest.mark.parametrize(
    ("held_out", "split", "learned"),
    [("test", "split", 130), ("test", "other", 120), ("run", "other", 100)],
)
def test_images_are_held_out(
    captions: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, held_out: str, split: str, learned: int
) -> None:
    """150 images, of which 10 are for testing and 10 validate the translator; another run has 30 (10 val)."""
    caplog.set_level("INFO", "pipeline")
    train(captions, tmp_path, split, held_out=held_out)
    assert f"learns from {learned} captions, validates with 10" in caplog.text


def test_the_best_validation_is_kept(captions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = iter([2.0, 1.0])
    monkeypatch.setattr(translator, "scores", lambda *_: {"BLEU": next(found)})
    best = train(captions, tmp_path / "both")
    found = iter([2.0])
    first = train(captions, tmp_path / "first", steps=3, validate_every=250)
    assert sha256(best / "model.safetensors") == sha256(first / "model.safetensors")


def test_the_seed_chooses_the_images_for_validation(captions: Path, tmp_path: Path) -> None:
    learned = {
        json.loads(contents(train(captions, tmp_path / str(seed), seed=seed))["config.json"])["trained_on"]
        for seed in (0, 1)
    }
    assert len(learned) == 2


def test_an_epoch_has_each_pair_once_in_an_order_of_its_own_and_of_its_seed() -> None:
    """Forty pairs of seven lengths in five batches, each of which has at most three lengths."""
    lengths, orders = torch.arange(40) % 7, set()
    for seed in (0, 1):
        batches = BatchesByLength(lengths, TranslatorSettings(batch_size=8, seed=seed))
        for first in (0, 5):
            epoch = [batches[step] for step in range(first, first + 5)]
            assert sorted(row for batch in epoch for row in batch) == list(range(40))
            assert max(len(set(lengths[batch].tolist())) for batch in epoch) <= 3
            orders.add(str(epoch))
    assert len(orders) == 4


def test_without_enough_captions_it_is_refused(captions: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"found human translations of 0 images.*held_out: run"):
        train(captions, tmp_path, held_out="run")
    assert not (tmp_path / "model").exists()


def test_a_killed_training_ends_with_the_same_bytes(
    captions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is killed after three of its six steps."""
    whole = train(captions, tmp_path / "whole", dropout=0.2)
    monkeypatch.setattr(loop, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    save, saved = loop.Job.save, 0

    def killed(job: loop.Job, state: Mapping[str, object]) -> None:
        nonlocal saved
        save(job, state)
        saved += 1
        if saved == 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(loop.Job, "save", killed)
        train(captions, tmp_path / "killed", dropout=0.2)
    assert contents(train(captions, tmp_path / "killed", dropout=0.2)) == contents(whole)


def test_two_languages_without_translations_are_refused(captions: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="found human translations of 0 images"):
        train(captions, tmp_path, pair="en-fr")
