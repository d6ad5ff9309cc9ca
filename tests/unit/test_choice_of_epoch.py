"""The epoch whose weights a training keeps, for given mR of each language, and when the training stops."""

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
import torch
from small import corpus
from torch import nn

from pipeline.common.errors import InputError
from pipeline.training import best_epoch
from pipeline.training.adam import Adam
from pipeline.training.best_epoch import recalls_on_cpu, validate
from pipeline.training.loop import Best, Run, Validation
from pipeline.words.corpus import Corpus, LanguageCorpus

FOUND = [(10.0, 30.0), (40.0, 20.0), (35.0, 25.0), (50.0, 5.0)]  # means of 20, 30, 30 and 27.5


def test_the_first_of_the_epochs_with_the_best_mean_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a later epoch that is as good, nor the epoch that is best in a single language."""
    model: Any = nn.Linear(1, 1)
    best, means = Best(), []
    for epoch, (english, german) in enumerate(FOUND):
        nn.init.constant_(model.weight, epoch)
        found = {"en": english, "de": german}
        monkeypatch.setattr(best_epoch, "mean_recalls", lambda *_, found=found: found)
        validation = validate(model, corpus())
        assert validation.row == {
            "val_mR": (english + german) / 2, "val_mR_en": english, "val_mR_de": german,
        }  # fmt: skip
        best.update(epoch, validation, model)
        means.append(best.score)
    assert means == [20.0, 30.0, 30.0, 30.0]
    assert (best.epoch, best.recalls) == (2, {"en": 40.0, "de": 20.0})
    assert torch.equal(best.weights["weight"], torch.tensor([[1.0]]))


@pytest.mark.parametrize(
    ("images", "difference", "refused"),
    [(100, 0.99, False), (100, 1.01, True), (20, 2.49, False), (20, 2.51, True)],
)
def test_two_devices_may_differ_by_a_point_or_by_three_ranks_of_a_small_gallery(
    monkeypatch: pytest.MonkeyPatch, images: int, difference: float, refused: bool
) -> None:
    """Of 20 images one counts 100 / 6 / 20 points of mR, of 100 images less than a third of a point."""
    model: Any = nn.Linear(1, 1)
    image, lengths = np.arange(images), torch.ones(images, dtype=torch.long)
    captions = {"en": LanguageCorpus(lengths[:, None], lengths, image)}
    validation = Corpus([str(number) for number in image], torch.zeros(images, 1), captions)
    monkeypatch.setattr(best_epoch, "mean_recalls", lambda *_: {"en": 50.0})
    with pytest.raises(InputError, match="disagree") if refused else nullcontext():
        recalls_on_cpu(model, validation, {"en": 50.0 + difference})


def run_of(scores: Sequence[float], patience: int | None) -> tuple[Run[Any], list[bool]]:
    """A run that saw these scores, and after each of them whether it has stopped."""
    model = nn.Linear(1, 1)
    optimizer = Adam(model.parameters(), 0.1)
    batches: Any = None
    run: Run[Any] = Run(model, optimizer, batches, 1, terms=lambda batch, moment: {}, patience=patience)
    stopped = []
    for epoch, score in enumerate(scores):
        nn.init.constant_(model.weight, epoch)
        run.best.update(epoch, Validation(score=score), model)
        stopped.append(run.stopped_early)
    return run, stopped


def test_training_stops_after_so_many_validations_without_a_higher_score() -> None:
    scores = [10.0, 30.0, 20.0, 30.0, 25.0]
    assert run_of(scores, 3)[1] == [False, False, False, False, True]
    assert run_of(scores, None)[1] == [False] * 5
    run, stopped = run_of([10.0, 30.0, 20.0, 29.0, 31.0, 25.0], 3)
    assert not any(stopped)
    assert (run.best.epoch, run.best.score, run.best.epochs_since) == (5, 31.0, 1)
    assert run.best.weights["weight"].item() == 4
