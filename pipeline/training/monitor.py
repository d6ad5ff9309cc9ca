"""Monitoring of a running training: curves so far, TensorBoard events, warnings.

It never changes a result.
"""

import itertools
import logging
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from pipeline.common.files import atomic_write
from pipeline.training.adam import Adam

log = logging.getLogger("pipeline")

STEPS_BETWEEN_EVENTS = 20  # reading a number makes the CPU wait for a GPU
RISES = 3  # consecutive epochs of rising loss that cause a warning


def partial_curves(curves: Path) -> Path:
    """Path of an unfinished training's curves, next to the path of the finished curves."""
    return curves.with_name(f"{curves.stem}-partial{curves.suffix}")


class Monitor:
    """Shows a training to a person.

    Args:
        curves: file of its finished curves; None: no curves so far are written.
        events: folder of its TensorBoard event files; None: none are written.
    """

    def __init__(self, curves: Path | None = None, events: Path | None = None):
        self.curves, self.events = curves, events
        self._writer: Any = None

    def begin(self, step: int) -> None:
        """Begin at a step, possibly that of a checkpoint: TensorBoard drops events of later steps."""
        if self.events:
            from tensorboardX import SummaryWriter

            # The name has the step: two writers started in one second would share a file.
            suffix = f".{step:09d}"
            self._writer = SummaryWriter(str(self.events), purge_step=step, filename_suffix=suffix)

    def before_update(self, step: int, terms: Mapping[str, Tensor], optimizer: Adam) -> None:
        """Write each loss term, the learning rate and the total gradient norm, before clipping."""
        if self._writer is None or step % STEPS_BETWEEN_EVENTS:
            return
        for name, term in terms.items():
            self._add(f"training/{name}", float(term.detach()), step)
        gradients = [weight.grad for weight in optimizer.weights if weight.grad is not None]
        self._add("optimizer/gradient_norm", float(torch.nn.utils.get_total_norm(gradients)), step)
        self._add("optimizer/learning_rate", optimizer.learning_rate, step)

    def after_epoch(self, rows: Sequence[Mapping[str, float]], step: int) -> None:
        """Write the curves so far and the last epoch's events; warn if the losses show no learning."""
        if self.curves:
            with atomic_write(partial_curves(self.curves)) as temporary:
                pd.DataFrame(rows).to_csv(temporary, index=False)
        for name, value in rows[-1].items() if self._writer else ():
            if name != "epoch":
                self._add(f"epochs/{name}", value, step)
        if self._writer:
            self._writer.flush()
        if warning := warning_of([row["loss"] for row in rows]):
            log.warning("WARNING: epoch %d: %s", len(rows), warning)

    def end(self) -> None:
        """Close the event file: the training is finished, or will be resumed later."""
        if self._writer:
            self._writer.close()

    def remove_partial_curves(self) -> None:
        """Remove the curves so far, once the complete ones exist."""
        if self.curves:
            partial_curves(self.curves).unlink(missing_ok=True)

    def _add(self, name: str, value: float, step: int) -> None:
        self._writer.add_scalar(name, value, step)


def warning_of(losses: Sequence[float]) -> str:
    """A warning about the losses of the epochs so far; empty if they look right."""
    hint = "lower training.learning_rate, or set training.max_grad_norm (2.0, say)"
    if not math.isfinite(losses[-1]):
        return f"the loss is {losses[-1]}, not a finite number: {hint}"
    last = losses[-RISES - 1 :]
    if len(last) > RISES and all(later > earlier for earlier, later in itertools.pairwise(last)):
        rise = f"from {last[0]:.4g} to {last[-1]:.4g}"
        return f"the loss rose in each of the last {RISES} epochs, {rise}: {hint}"
    return ""
