"""The captions, or pairs of captions, of a training step (*Lessons*, Figure 2).

A step is of one task: captions of one language against their images, or captions of two languages of the same
images against each other (c2c). Each data set is shuffled, gone through batch by batch, and shuffled again.

Every draw depends only on (seed, step), so a killed run resumes with the same batches.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from pipeline.common.errors import InputError

Rows = NDArray[np.int64]

_TASK, _ORDER = 0x7A5C, 0x0DE2  # separate random streams for tasks and for orders


def caption_pairs(images: Sequence[Rows], first_rows: Sequence[int]) -> Rows:
    """All pairs of captions of two different languages of the same image (Section 3, last paragraph).

    Args:
        images: for each language the row (B,) of each caption's image, ascending.
        first_rows: for each language the row of its first caption among the captions of all languages.

    Returns:
        (P, 2) rows among the captions of all languages.
    """
    pairs_of_languages = [np.empty((0, 2), np.int64)]
    for first, second in combinations(range(len(images)), 2):
        pairs = _of_the_same_image(images[first], images[second])
        pairs_of_languages.append(pairs + np.array([first_rows[first], first_rows[second]]))
    return np.concatenate(pairs_of_languages)


def _of_the_same_image(first: Rows, second: Rows) -> Rows:
    """(P, 2) places of all pairs of a first and a second caption of the same image; both ascend by image."""
    start, end = np.searchsorted(second, first, "left"), np.searchsorted(second, first, "right")
    count = end - start
    offset = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    return np.stack([np.repeat(np.arange(len(first)), count), np.repeat(start, count) + offset], axis=1)


class TaskSampler:
    """Samples the batches of a training.

    Args:
        captions: for each language the rows (B,) of its captions.
        pairs: (P, 2) rows of captions that belong together; None: no steps of pairs.
        batch: captions of a batch, or pairs. share_of_pairs: probability of a step of pairs.
        steps: between two validations; None: as many as go once through the captions of the first language.
        seed: the experiment's seed.

    Raises:
        InputError: there are no pairs, or no captions of a language.
    """

    def __init__(
        self,
        captions: Sequence[Rows],
        pairs: Rows | None,
        batch: int,
        share_of_pairs: float,
        steps: int | None,
        seed: int,
    ):
        self.datasets = [*captions, *([] if pairs is None else [pairs])]
        self.languages, self.batch, self.seed = len(captions), batch, seed
        self.share_of_pairs = 0.0 if pairs is None else share_of_pairs
        if not all(map(len, self.datasets)):
            raise InputError(
                "c2c: no image has captions in two languages of the experiment, so that there are no pairs "
                "of captions to train on; set c2c: false, or select the same images in several languages"
            )
        # Batches per pass, including an incomplete last batch: "going through each batch and re-shuffling
        # when exhausted".
        self.batches = [-(-len(dataset) // batch) for dataset in self.datasets]
        self.steps = self.batches[0] if steps is None else steps

    def epoch(self, epoch: int, first_step: int = 0) -> Iterator[Rows]:
        """The batches between two validations, which are numbered `epoch` from 0, from `first_step` on.

        Yields:
            (B,) rows of captions of one language, or (B, 2) rows of captions that belong together.
        """
        earlier_tasks = np.concatenate([np.empty(0, np.int64), *map(self.tasks, range(epoch))])
        batches_so_far = np.bincount(
            earlier_tasks, minlength=len(self.datasets)
        )  # batches taken from each data set so far
        orders: dict[int, tuple[int, Rows]] = {}
        for step, task in enumerate(self.tasks(epoch).tolist()):
            if step >= first_step:
                yield self._batch(task, int(batches_so_far[task]), orders)
            batches_so_far[task] += 1

    def tasks(self, epoch: int) -> Rows:
        """(steps,) the task of each step between two validations: index of a language, or of the pairs."""
        generator = np.random.default_rng([self.seed, epoch, _TASK])
        languages = generator.integers(self.languages, size=self.steps)
        is_pair_step = generator.random(self.steps) < self.share_of_pairs
        return np.where(is_pair_step, self.languages, languages)

    def _batch(self, task: int, number: int, orders: dict[int, tuple[int, Rows]]) -> Rows:
        """A data set's batch of this number, from 0; `orders` keeps the order of its present pass."""
        pass_number, place = divmod(number, self.batches[task])
        if task not in orders or orders[task][0] != pass_number:
            generator = np.random.default_rng([self.seed, task, pass_number, _ORDER])
            orders[task] = pass_number, generator.permutation(len(self.datasets[task]))
        order = orders[task][1][place * self.batch : (place + 1) * self.batch]
        return self.datasets[task][order]
