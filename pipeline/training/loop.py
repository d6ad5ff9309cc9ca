"""The loop of every training: steps, validation, early stopping, checkpoints, curves, progress.

A step is a function of its number: batches and dropout depend on (seed, step). So on a CPU a run that is
killed and resumed from its checkpoint ends with the same weights, bit for bit, as an uninterrupted one.
"""

import copy
import logging
import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch import Tensor, nn

from pipeline.common.errors import InputError
from pipeline.common.files import atomic_write, link_or_copy, sha256
from pipeline.common.memory import keep_freed_memory
from pipeline.common.progress import Progress
from pipeline.common.torch_files import read_torch, write_torch
from pipeline.training.precision import set_precision
from pipeline.training.settings import Resources

log = logging.getLogger("pipeline")

SECONDS_BETWEEN_CHECKPOINTS = 60.0
STEPS_BETWEEN_EVENTS = 20  # reading a number makes the CPU wait for a GPU

Terms = dict[str, Tensor]


@dataclass(frozen=True)
class Job:
    """Files of a training besides its inputs.

    checkpoint: file from which a killed run resumes. outputs: what the finished run writes. fingerprint:
    digest of settings, inputs and code; a checkpoint with another one is not resumed. curves: the output with
    a row for each validation, if any. events: folder for TensorBoard's event files, if any.
    """

    checkpoint: Path
    outputs: Sequence[Path]
    fingerprint: str
    curves: Path | None = None
    events: Path | None = None

    def save(self, state: Mapping[str, object]) -> None:
        """Write a state, completely or not at all; the earlier checkpoint is kept until then."""
        write_torch({"fingerprint": self.fingerprint, **state}, self.checkpoint)

    def load(self) -> dict[str, Any]:
        """The state to resume from; empty if there is none, or if settings, inputs or code have changed.

        Raises:
            InputError: the checkpoint is damaged.
        """
        if not self.checkpoint.exists():
            return {}
        state = read_torch(self.checkpoint, "a checkpoint of a training", "Delete it to start over.")
        if state.pop("fingerprint", None) == self.fingerprint:
            return state
        log.info("%s belongs to other settings, inputs or code: training starts over", self.checkpoint)
        return {}

    def keep_outputs(self) -> None:
        """Replace the checkpoint of a finished run by links to its outputs, which take no space.

        Snakemake deletes the outputs of a job whose end it did not see, because it was killed while the job
        ran on in a queue.
        """
        for output in self.outputs:
            link_or_copy(output, self._link(output))
        self.save({"finished": {output.name: sha256(output) for output in self.outputs}})

    def restore_outputs(self) -> bool:
        """Restore the outputs of a run that an earlier job finished; return whether there was such a run."""
        digests = self.load().get("finished")
        if not digests:
            return False
        links = {output: self._link(output) for output in self.outputs}
        # A hard link is damaged together with its file.
        if not all(link.exists() and sha256(link) == digests[output.name] for output, link in links.items()):
            self.checkpoint.unlink()
            return False
        for output, link in links.items():
            link_or_copy(link, output)
        log.info("finished by an earlier run")
        return True

    def _link(self, output: Path) -> Path:
        return self.checkpoint.with_name(f"{self.checkpoint.stem}-{output.name}")


@dataclass
class State:
    """What a run has done so far.

    step: steps done. sums: sum of each loss term since the last validation. curves: a row for each
    validation. best_row: number of the best validation, from 1. best_score: its score. best_weights: the
    weights then.
    """

    step: int = 0
    sums: Terms = field(default_factory=dict)
    curves: list[dict[str, float]] = field(default_factory=list)
    best_row: int = 0
    best_score: float = -1.0
    best_weights: Terms = field(default_factory=dict)

    def add(self, terms: Terms) -> None:
        """Add a step's terms, kept on their device: reading a number would make the CPU wait for a GPU."""
        for name, term in terms.items():
            value = term.double()
            self.sums[name] = self.sums[name].to(value.device) + value if name in self.sums else value
        self.step += 1

    def check_loss(self) -> None:
        """Raise an `InputError` if the loss is not a finite number any more."""
        loss = self.sums["loss"].item() if self.sums else 0.0
        if not math.isfinite(loss):
            raise InputError(
                f"the loss is {loss} before step {self.step + 1}, not a finite number. Lower the learning "
                "rate, or clip gradients (max_grad_norm: 2.0, say)."
            )

    def end_epoch(self, validation: Mapping[str, float], steps: int, score: str, model: nn.Module) -> None:
        """Add a row to the curves; keep the weights if its score is higher than all before."""
        means = {name: total.item() / steps for name, total in self.sums.items()}
        self.curves.append({"epoch": len(self.curves) + 1, **means, **validation})
        self.sums = {}
        if score and validation[score] > self.best_score:
            self.best_row, self.best_score = len(self.curves), validation[score]
            self.best_weights = copy.deepcopy(model.state_dict())

    def has_converged(self, patience: int | None) -> bool:
        """Whether the last `patience` validations had no better score; never, without a patience."""
        return patience is not None and len(self.curves) - self.best_row >= patience


def train_steps(
    job: Job,
    model: nn.Module,
    terms: Callable[[int], Terms],
    *,
    seed: int,
    steps: int,
    validate_every: int,
    rate: Callable[[int], float],
    validate: Callable[[], Mapping[str, float]] = dict,
    score: str = "",
    patience: int | None = None,
    max_grad_norm: float | None = None,
) -> State:
    """Train a model with Adam to the last step, from the checkpoint if there is one.

    Args:
        model: all its weights that require a gradient are trained.
        terms: the loss terms of a step, which are numbered from 0.
        validate_every: steps between two validations, after each of which a row is added to the curves.
        rate: the learning rate of a step.
        validate: its columns of the curves.
        score: the column that selects the best validation, the higher the better; empty: none is selected.
        patience: validations without a better score after which the run stops; None: it never does.
        max_grad_norm: the largest total norm of a gradient, which is scaled down to it; None: any.

    Raises:
        InputError: the loss is not a finite number.
    """
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.Adam(weights, lr=rate(0), fused=True)
    state = _resume(job, model, optimizer)
    progress = Progress("steps", steps, done=state.step)
    saved_at = time.monotonic()
    with _event_writer(job.events, state.step) as writer:
        while state.step < steps and not state.has_converged(patience):
            step = state.step
            torch.manual_seed(seed * 1_000_003 + step)  # for dropout
            model.train()
            losses = _with_gradients(terms(step), optimizer)
            optimizer.param_groups[0]["lr"] = rate(step)
            if writer and step % STEPS_BETWEEN_EVENTS == 0:
                norm = nn.utils.get_total_norm([each.grad for each in weights if each.grad is not None])
                numbers = {"gradient_norm": norm, "learning_rate": torch.tensor(rate(step))}
                _write_events(writer, "training", {**losses, **numbers}, step)
            if max_grad_norm:
                nn.utils.clip_grad_norm_(weights, max_grad_norm)
            optimizer.step()
            state.add(losses)
            progress.advance(note=f"epoch {len(state.curves) + 1}/{steps // validate_every}")
            if state.step % validate_every == 0:
                state.check_loss()
                state.end_epoch(validate(), validate_every, score, model)
                _write_curves(job, state)
                if writer:
                    _write_events(writer, "epochs", state.curves[-1], state.step)
            if time.monotonic() - saved_at > SECONDS_BETWEEN_CHECKPOINTS:
                _save(job, state, model, optimizer)
                saved_at = time.monotonic()
    _save(job, state, model, optimizer)
    return state


def _with_gradients(terms: Terms, optimizer: torch.optim.Optimizer) -> Terms:
    """Compute the gradients of the sum of some terms; return the terms and their sum, `loss`, as numbers."""
    loss = torch.stack(list(terms.values())).sum()
    optimizer.zero_grad()
    loss.backward()
    return {name: term.detach() for name, term in {"loss": loss, **terms}.items()}


def _resume(job: Job, model: nn.Module, optimizer: torch.optim.Optimizer) -> State:
    saved = job.load()
    if not saved:
        return State()
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    state = State(**saved["state"])
    log.info("resuming after step %d", state.step)
    if state.curves:
        _write_curves(job, state)
    return state


def _save(job: Job, state: State, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    state.check_loss()
    job.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "state": vars(state)})


def _write_curves(job: Job, state: State) -> None:
    log.info("%s", ", ".join(f"{name} {value:.5g}" for name, value in state.curves[-1].items()))
    if job.curves:
        with atomic_write(job.curves) as temporary:
            pd.DataFrame(state.curves).to_csv(temporary, index=False)


def _event_writer(folder: Path | None, step: int) -> AbstractContextManager[Any]:
    """A writer of TensorBoard's event files from a step on; None without a folder."""
    if folder is None:
        return nullcontext()
    from tensorboardX import SummaryWriter

    # TensorBoard drops events of later steps. Two writers of one second would share a file's name.
    writer: AbstractContextManager[Any] = SummaryWriter(
        str(folder), purge_step=step, filename_suffix=f".{step:09d}"
    )
    return writer


def _write_events(writer: Any, group: str, values: Mapping[str, float | Tensor], step: int) -> None:
    for name, value in values.items():
        writer.add_scalar(f"{group}/{name}", float(value), step)


def training_device(seed: int, resources: Resources) -> torch.device:
    """The device of a training, a GPU if there is one; sets memory, threads, seed and precision."""
    keep_freed_memory()
    torch.set_num_threads(resources.threads)
    torch.manual_seed(seed)
    if resources.deterministic:
        os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":16:8"  # required by cuBLAS and cuDNN; ignored on a CPU
        torch.use_deterministic_algorithms(True)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    set_precision(resources.precision, device)
    name = torch.cuda.get_device_name() if device.type == "cuda" else "the CPU"
    log.info("trains on %s, PyTorch %s", name, torch.__version__)
    return device
