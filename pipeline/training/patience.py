"""Early stopping (*Lessons*, "Implementation")."""

import copy
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from pipeline.training.loop import Run

State = dict[str, Any]


@dataclass
class Patience:
    """Keeps the weights of the best validation, and decides when to stop.

    validations: without improvement, after which training ends ("patience of 10 evaluations"). kept: state in
    the checkpoint: `best`, the highest score; `epoch`, the validation that had it, from 1; `weights` of it;
    `waited`, validations since then; `stopped`.
    """

    validations: int
    kept: State

    def __post_init__(self) -> None:
        self.kept.update(best=-1.0, epoch=0, waited=0, stopped=False)

    def see(self, epoch: int, score: float, model: nn.Module) -> None:
        """Record a validation, numbered from 0; only a score above the best one is an improvement."""
        if score > self.kept["best"]:
            weights = copy.deepcopy(model.state_dict())
            self.kept.update(best=score, epoch=epoch + 1, weights=weights, waited=0)
            return
        self.kept["waited"] += 1
        self.kept["stopped"] = self.kept["waited"] >= self.validations


@dataclass
class PatientRun(Run):
    """A run whose epochs are the steps between two validations, and which ends when `kept` has stopped.

    divide_learning_rate_every: validations after which the learning rate is divided by ten, or None.
    """

    divide_learning_rate_every: int | None = None

    def _end_epoch(self, epoch: int, sums: dict[str, Tensor]) -> None:
        super()._end_epoch(epoch, sums)
        if self.divide_learning_rate_every and (epoch + 1) % self.divide_learning_rate_every == 0:
            for group in self.optimizer.param_groups:
                group["lr"] /= 10

    def _after_epoch(self, epoch: int, sums: dict[str, Tensor]) -> dict[str, float]:
        found = super()._after_epoch(epoch, sums)
        if self.kept["stopped"]:
            self.epochs = epoch + 1
        return found

    def _continued(self) -> tuple[int, int, dict[str, Tensor]]:
        epoch, step, sums = super()._continued()
        if self.kept["stopped"]:
            self.epochs = epoch
        return epoch, step, sums
