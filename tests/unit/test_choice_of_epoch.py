"""Which epoch's weights a training keeps, by mR of each language that are given here."""

from typing import Any

import pytest
import torch
from small import corpus
from torch import nn

from pipeline.training import train
from pipeline.training.train import _keep_best

FOUND = [(10.0, 30.0), (40.0, 20.0), (35.0, 25.0), (50.0, 5.0)]  # means of 20, 30, 30 and 27.5


def test_the_first_of_the_epochs_with_the_best_mean_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a later one as good, nor the one that is best in a single language."""
    model: Any = nn.Linear(1, 1)
    kept: dict[str, Any] = {"mean": -1.0}
    means = []
    for epoch, (english, german) in enumerate(FOUND):
        nn.init.constant_(model.weight, epoch)
        found = {"en": english, "de": german}
        monkeypatch.setattr(train, "mean_recalls", lambda *_, found=found: found)
        row = _keep_best(model, corpus(), kept, epoch, {"word_regularizer": {"regularize_toward": "initial"}})
        assert row == {"val_mR": (english + german) / 2, "val_mR_en": english, "val_mR_de": german}
        means.append(kept["mean"])
    assert means == [20.0, 30.0, 30.0, 30.0]
    assert (kept["epoch"], kept["validation"]) == (2, {"en": 40.0, "de": 20.0})
    assert torch.equal(kept["weights"]["weight"], torch.tensor([[1.0]]))
