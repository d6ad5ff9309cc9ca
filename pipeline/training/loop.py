"""The loop of every training: epochs, steps, checkpoints, validation, early stopping, progress, curves.

Batches and dropout are functions of (seed, epoch, step), so on a CPU a run that is killed and resumed from
its checkpoint ends with the same weights, bit for bit, as an uninterrupted one.
"""

import copy
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import torch
from torch import Tensor, nn

from pipeline.common.progress import Progress
from pipeline.common.signals import Interrupted, collect_signals, raise_on_signal
from pipeline.training.adam import Adam
from pipeline.training.checkpoint import load_checkpoint, save_checkpoint
from pipeline.training.monitor import Monitor

log = logging.getLogger("pipeline")

SECONDS_BETWEEN_CHECKPOINTS = 60.0
SHARE_OF_SAVING = 0.05  # largest share of the time that saving takes at the ends of short epochs

BatchT = TypeVar("BatchT")
BatchT_co = TypeVar("BatchT_co", covariant=True)


class Batches(Protocol[BatchT_co]):
    """The batches of a run: `steps` per epoch, each a function of (seed, epoch, step)."""

    @property
    def seed(self) -> int:
        """The seed of all draws."""

    @property
    def steps(self) -> int:
        """Batches per epoch."""

    def epoch(self, epoch: int, first_step: int = 0) -> Iterator[BatchT_co]:
        """The batches of an epoch, from `first_step` on."""


@dataclass(frozen=True)
class Moment:
    """A step's place in the run: its number from 0, and the fraction of the run before it."""

    step: int
    progress: float


@dataclass(frozen=True)
class Validation:
    """The result of validation after an epoch.

    row: its columns of the curves. score: selects the best epoch, the higher the better; None selects the
    last epoch. recalls: mR of each language on the validation split, where there is a score.
    """

    row: Mapping[str, float] = field(default_factory=dict)
    score: float | None = None
    recalls: Mapping[str, float] = field(default_factory=dict)


@dataclass
class Best:
    """The best epoch so far, numbered from 1; `epochs_since`: epochs since then."""

    score: float = -1.0
    epoch: int = 0
    recalls: dict[str, float] = field(default_factory=dict)
    weights: dict[str, Tensor] = field(default_factory=dict)
    epochs_since: int = 0

    def update(self, epoch: int, validation: Validation, model: nn.Module) -> None:
        """Record an epoch, numbered from 0; only a score above the best one is an improvement."""
        assert validation.score is not None
        if validation.score > self.score:
            self.weights = copy.deepcopy(model.state_dict())
            self.score, self.epoch, self.epochs_since = validation.score, epoch + 1, 0
            self.recalls = dict(validation.recalls)
        else:
            self.epochs_since += 1


def constant_rate(rate: float, step: int) -> float:
    """The schedule of a learning rate that does not change."""
    return rate


@dataclass
class Run(Generic[BatchT]):
    """A training run.

    terms: the loss terms of a batch. schedule: the learning rate of a step, from the learning rate of the
    step before and the step's number in the whole run. validate: called after each epoch, numbered from 0.
    patience: epochs without a better score after which the run stops; None: it never does. monitor: shows the
    run to a person.
    saved_at, saving_seconds: when the last checkpoint was saved, and how long that took.
    """

    model: nn.Module
    optimizer: Adam
    batches: Batches[BatchT]
    epochs: int
    terms: Callable[[BatchT, Moment], dict[str, Tensor]]
    schedule: Callable[[float, int], float] = constant_rate
    validate: Callable[[int], Validation] = lambda epoch: Validation()
    patience: int | None = None
    monitor: Monitor = field(default_factory=Monitor)
    best: Best = field(default_factory=Best)
    curves: list[dict[str, float]] = field(default_factory=list)
    checkpoint: Path = field(init=False)
    fingerprint: str = field(init=False)
    saved_at: float = field(default_factory=lambda: time.monotonic())
    saving_seconds: float = 0.0

    @property
    def stopped_early(self) -> bool:
        """Whether the score has not improved for so long that the run is over."""
        return self.patience is not None and self.best.epochs_since >= self.patience

    def finish(self, checkpoint: Path, fingerprint: str) -> None:
        """Run to the last epoch, from the checkpoint if there is one.

        Args:
            checkpoint: file to save the state in repeatedly.
            fingerprint: digest of settings, inputs and code; a checkpoint with another one is not resumed.

        Raises:
            Interrupted: a signal arrived; the checkpoint contains the step that was in progress.
        """
        self.checkpoint, self.fingerprint = checkpoint, fingerprint
        with collect_signals() as signals:
            try:
                self._finish(signals)
            finally:
                self.monitor.end()

    def _finish(self, signals: Sequence[int]) -> None:
        epoch, step, sums = self._resume()
        total = self.epochs * self.batches.steps
        progress = Progress("steps", total, done=epoch * self.batches.steps + step)
        self.monitor.begin(epoch * self.batches.steps + step)
        while epoch < self.epochs and not self.stopped_early:
            for batch in self.batches.epoch(epoch, step):
                seed_dropout(self.batches.seed, epoch, step)
                number = epoch * self.batches.steps + step
                add_to(sums, self._step(batch, Moment(number, number / total)))
                step += 1
                progress.advance(note=f"epoch {epoch + 1}/{self.epochs}")
                if signals or time.monotonic() - self.saved_at > SECONDS_BETWEEN_CHECKPOINTS:
                    self._save(epoch, step, sums)
                if signals:
                    raise self._interruption(signals[0], epoch, step)
            if signals:  # a signal that came after the last step's check
                self._save(epoch, step, sums)
                raise self._interruption(signals[0], epoch, step)
            self._end_epoch(epoch, sums)
            epoch, step, sums = epoch + 1, 0, {}
            last = epoch == self.epochs or self.stopped_early
            if last or time.monotonic() - self.saved_at > self.saving_seconds / SHARE_OF_SAVING:
                self._save(epoch, step, sums)

    def _step(self, batch: BatchT, moment: Moment) -> dict[str, Tensor]:
        self.optimizer.learning_rate = self.schedule(self.optimizer.learning_rate, moment.step)
        self.model.train()
        terms = self.terms(batch, moment)
        loss = torch.stack(list(terms.values())).sum()
        self.optimizer.zero_grad()
        loss.backward()
        self.monitor.before_update(moment.step, {"loss": loss, **terms}, self.optimizer)
        self.optimizer.step()
        # Kept on the device: reading a number would make the CPU wait for the GPU at every step.
        return {name: term.detach().double() for name, term in {"loss": loss, **terms}.items()}

    def _end_epoch(self, epoch: int, sums: dict[str, Tensor]) -> None:
        validation = self._validate(
            epoch, sums
        )  # first: a signal ends it, even while the CPU waits for a GPU
        means = {name: total.item() / self.batches.steps for name, total in sums.items()}
        self.curves.append({"epoch": epoch + 1, **means, **validation.row})
        if validation.score is not None:
            self.best.update(epoch, validation, self.model)
        self.monitor.after_epoch(self.curves, (epoch + 1) * self.batches.steps)
        log.info("%s", ", ".join(f"{name} {value:.5g}" for name, value in self.curves[-1].items()))

    def _validate(self, epoch: int, sums: dict[str, Tensor]) -> Validation:
        """Validation may take minutes and changes no weights: a signal ends it at once."""
        try:
            with raise_on_signal():
                return self.validate(epoch)
        except Interrupted as end:
            self._save(epoch, self.batches.steps, sums)
            raise self._interruption(end.number, epoch, self.batches.steps) from None

    def _interruption(self, number: int, epoch: int, step: int) -> Interrupted:
        return Interrupted(number, f"{self.checkpoint} is from epoch {epoch + 1}, step {step}.")

    def _save(self, epoch: int, step: int, sums: dict[str, Tensor]) -> None:
        state = {
            "epoch": epoch,
            "step": step,
            "sums": sums,
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "curves": self.curves,
            "best": vars(self.best),
        }
        start = time.monotonic()
        save_checkpoint(self.checkpoint, self.fingerprint, state)
        self.saved_at = time.monotonic()
        self.saving_seconds = self.saved_at - start

    def _resume(self) -> tuple[int, int, dict[str, Tensor]]:
        """The epoch, the step in it and the epoch's sums so far; all 0 without a checkpoint."""
        state = load_checkpoint(self.checkpoint, self.fingerprint)
        if state is None:
            return 0, 0, {}
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.curves.extend(state["curves"])
        self.best = Best(**state["best"])
        log.info("resuming after epoch %d, step %d", state["epoch"], state["step"])
        return state["epoch"], state["step"], state["sums"]


def seed_dropout(seed: int, epoch: int, step: int) -> None:
    """Make the dropout of a step a function of (seed, epoch, step)."""
    torch.manual_seed(((seed * 1_000_003 + epoch) * 1_000_003 + step) % 2**63)


def add_to(sums: dict[str, Tensor], values: dict[str, Tensor]) -> None:
    """Add each value to the sum of its name; sums from a checkpoint are moved to the device of the values."""
    for name, value in values.items():
        sums[name] = sums[name].to(value.device) + value if name in sums else value
