"""The loop shared by pretraining and training: epochs, steps, checkpoints, progress, curves.

Batches and dropout are functions of (seed, epoch, step), so on a CPU a run that is killed and resumed from
its checkpoint ends with the same weights, bit for bit, as an uninterrupted one.
"""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from pipeline.common.progress import Progress
from pipeline.common.signals import Interrupted, collect_signals, raise_on_signal
from pipeline.training.batches import Batch
from pipeline.training.checkpoint import load_checkpoint, save_checkpoint
from pipeline.training.watching import Watched

log = logging.getLogger("pipeline")

SECONDS_BETWEEN_CHECKPOINTS = 60.0
SHARE_OF_SAVING = 0.05  # of the time, at most, at the ends of short epochs


class Batches(Protocol):
    """The batches of a run: `steps` per epoch, each a function of (seed, epoch, step)."""

    seed: int

    @property
    def steps(self) -> int:
        """Batches per epoch."""

    def epoch(self, epoch: int, first_step: int = 0) -> Iterator[Batch]:
        """The batches of an epoch, from `first_step` on."""


@dataclass
class Course:
    """The schedule of a training: its batches, its epochs, and the loss terms of a batch."""

    batches: Batches
    epochs: int
    terms: Callable[[Batch, float], dict[str, Tensor]]


@dataclass
class Run:
    """A training run over a number of epochs.

    terms: the loss terms of a batch, given also the fraction of the run that is done. after_epoch: returns
    the epoch's row of the curves; it may store state in `kept`. kept: state that a checkpoint contains
    besides the model and the optimiser. saved_at, took: when the last checkpoint was saved, and how many
    seconds that took. fingerprint: digest of settings, inputs and code; a checkpoint with another one is not
    resumed. watched: what shows the run to a person.
    """

    model: nn.Module
    optimizer: torch.optim.Optimizer
    sampler: Batches
    epochs: int
    decay: float
    terms: Callable[[Batch, float], dict[str, Tensor]]
    after_epoch: Callable[[int], dict[str, float]]
    checkpoint: Path
    fingerprint: str
    kept: dict[str, Any] = field(default_factory=dict)
    curves: list[dict[str, float]] = field(default_factory=list)
    watched: Watched = field(default_factory=Watched)
    saved_at: float = field(default_factory=lambda: time.monotonic())
    took: float = 0.0

    def finish(self) -> None:
        """Run to the last epoch, from the checkpoint if there is one.

        Raises:
            Interrupted: a signal arrived; the checkpoint contains the step that was in progress.
        """
        with collect_signals() as signals:
            try:
                self._finish(signals)
            finally:
                self.watched.end()

    def _finish(self, signals: Sequence[int]) -> None:
        epoch, step, sums = self._continued()
        total = self.epochs * self.sampler.steps
        progress = Progress("steps", total, done=epoch * self.sampler.steps + step)
        self.watched.begin(epoch * self.sampler.steps + step)
        while epoch < self.epochs:
            for drawn in self.sampler.epoch(epoch, step):
                seed_dropout(self.sampler.seed, epoch, step)
                self.watched.step = epoch * self.sampler.steps + step
                add_to(sums, self._step(drawn, self.watched.step / total))
                step += 1
                progress.advance(note=f"epoch {epoch + 1}/{self.epochs}")
                if signals or time.monotonic() - self.saved_at > SECONDS_BETWEEN_CHECKPOINTS:
                    self._save(epoch, step, sums)
                if signals:
                    raise self._interrupted(signals[0], epoch, step)
            if signals:  # one that came since the last step was looked at
                self._save(epoch, step, sums)
                raise self._interrupted(signals[0], epoch, step)
            self._end_epoch(epoch, sums)
            epoch, step, sums = epoch + 1, 0, {}
            if epoch == self.epochs or time.monotonic() - self.saved_at > self.took / SHARE_OF_SAVING:
                self._save(epoch, step, sums)

    def _step(self, drawn: Batch, done: float) -> dict[str, Tensor]:
        self.model.train()
        terms = self.terms(drawn, done)
        loss = torch.stack(list(terms.values())).sum()
        self.optimizer.zero_grad()
        loss.backward()
        self.watched.before_update({"loss": loss, **terms}, self.optimizer)
        self.optimizer.step()
        # Left on the device: asking for a number would make the CPU wait for every step of a GPU.
        return {name: term.detach().double() for name, term in {"loss": loss, **terms}.items()}

    def _end_epoch(self, epoch: int, sums: dict[str, Tensor]) -> None:
        found = self._after_epoch(epoch, sums)  # first: a signal ends it, also while a GPU is waited for
        means = {name: total.item() / self.sampler.steps for name, total in sums.items()}
        row = {"epoch": epoch + 1, **means, **found}
        self.curves.append(row)
        self.watched.after_epoch(self.curves, (epoch + 1) * self.sampler.steps)
        for group in self.optimizer.param_groups:
            group["lr"] *= self.decay
        log.info("%s", ", ".join(f"{name} {value:.5g}" for name, value in row.items()))

    def _after_epoch(self, epoch: int, sums: dict[str, Tensor]) -> dict[str, float]:
        """What `after_epoch` gives. It may take minutes and changes no weights: a signal ends it at once."""
        try:
            with raise_on_signal():
                return self.after_epoch(epoch)
        except Interrupted as end:
            self._save(epoch, self.sampler.steps, sums)
            raise self._interrupted(end.number, epoch, self.sampler.steps) from None

    def _interrupted(self, number: int, epoch: int, step: int) -> Interrupted:
        return Interrupted(number, f"{self.checkpoint} is of epoch {epoch + 1}, step {step}.")

    def _save(self, epoch: int, step: int, sums: dict[str, Tensor]) -> None:
        state = {
            "epoch": epoch,
            "step": step,
            "sums": sums,
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "curves": self.curves,
            "kept": self.kept,
        }
        begun = time.monotonic()
        save_checkpoint(self.checkpoint, self.fingerprint, state)
        self.saved_at = time.monotonic()
        self.took = self.saved_at - begun

    def _continued(self) -> tuple[int, int, dict[str, Tensor]]:
        state = load_checkpoint(self.checkpoint, self.fingerprint)
        if state is None:
            return 0, 0, {}
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.curves.extend(state["curves"])
        self.kept.update(state["kept"])
        log.info("resuming after epoch %d, step %d", state["epoch"], state["step"])
        return state["epoch"], state["step"], state["sums"]


def seed_dropout(seed: int, epoch: int, step: int) -> None:
    """Make the dropout of a step a function of (seed, epoch, step)."""
    torch.manual_seed(((seed * 1_000_003 + epoch) * 1_000_003 + step) % 2**63)


def add_to(sums: dict[str, Tensor], values: dict[str, Tensor]) -> None:
    """Add each value to the sum of its name; sums from a checkpoint are moved to the device of the values."""
    for name, value in values.items():
        sums[name] = sums[name].to(value.device) + value if name in sums else value
