"""How LIWE is trained (Wehrmann et al. 2019): its learning rate, and validation every few steps."""

from collections.abc import Iterator
from dataclasses import replace

from pipeline.training.batches import Batch
from pipeline.training.loop import Batches, Run
from pipeline.training.settings import TrainSettings


class PacedSampler:
    """The batches of a sampler in segments of a fixed number of steps, each followed by validation.

    Args:
        sampler: its epochs follow one another. steps: steps per segment.
    """

    def __init__(self, sampler: Batches[Batch], steps: int):
        self.sampler, self.steps, self.seed = sampler, steps, sampler.seed

    def num_segments(self, epochs: int) -> int:
        """Number of segments for a number of epochs of the sampler, rounded up."""
        return -(-epochs * self.sampler.steps // self.steps)

    def epoch(self, epoch: int, first_step: int = 0) -> Iterator[Batch]:
        """The batches of a segment, from `first_step` on."""
        step, end = epoch * self.steps + first_step, (epoch + 1) * self.steps
        while step < end:
            epoch_of_sampler, step_of_epoch = divmod(step, self.sampler.steps)
            for batch in self.sampler.epoch(epoch_of_sampler, step_of_epoch):
                if step == end:
                    return
                yield batch
                step += 1


def paced_run(run: Run[Batch], settings: TrainSettings) -> Run[Batch]:
    """The run in segments that end with validation, with LIWE's learning rate."""
    liwe, rate = settings.liwe, settings.training.learning_rate
    assert liwe
    batches = PacedSampler(run.batches, liwe.validate_every)
    return replace(
        run,
        batches=batches,
        epochs=batches.num_segments(run.epochs),
        schedule=lambda _, step: rate_at(
            step, rate, liwe.learning_rate_decay_after, liwe.learning_rate_decay
        ),
    )


def rate_at(step: int, rate: float, decay_step: int, factor: float) -> float:
    """The learning rate of a step: the initial one, times `factor` from step `decay_step` on."""
    return rate * (factor if step >= decay_step else 1.0)
