"""The captions, or pairs of captions, of a training step (*Lessons*, Figure 2).

A step has one task: captions of one language against their images, or captions of the same images in two
languages against each other (c2c). Each data set is shuffled, read batch by batch, and shuffled again.

Every draw depends only on (seed, step), so a killed run resumes with the same batches.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd
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
    tables = [
        pd.DataFrame({"image": of_language, "row": first + np.arange(len(of_language))})
        for of_language, first in zip(images, first_rows, strict=True)
    ]
    pairs = [
        one.merge(other, on="image")[["row_x", "row_y"]].to_numpy() for one, other in combinations(tables, 2)
    ]
    return np.concatenate([np.empty((0, 2), np.int64), *pairs])


class TaskSampler:
    """Samples the batches of a training.

    Args:
        captions: for each language the rows (B,) of its captions.
        pairs: (P, 2) rows of captions that belong together; None: no steps of pairs.
        batch_size: captions of a batch, or pairs. share_of_pairs: probability of a step of pairs.
        steps: of the whole training. seed: the experiment's seed.

    Raises:
        InputError: there are no pairs, or no captions of a language.
    """

    def __init__(
        self,
        captions: Sequence[Rows],
        pairs: Rows | None,
        batch_size: int,
        share_of_pairs: float,
        steps: int,
        seed: int,
    ):
        self.datasets = [*captions, *([] if pairs is None else [pairs])]
        self.batch_size, self.seed = batch_size, seed
        if not all(map(len, self.datasets)):
            raise InputError(
                "c2c: no image has captions in two languages of the experiment, so that there are no pairs "
                "of captions to train on; set c2c: false, or select the same images in several languages"
            )
        generator = np.random.default_rng([seed, _TASK])
        languages = generator.integers(len(captions), size=steps)
        is_pair_step = generator.random(steps) < (0.0 if pairs is None else share_of_pairs)
        # The task of each step: the number of a language, or of the pairs.
        self.tasks = np.where(is_pair_step, len(captions), languages)
        self._earlier = np.empty(steps, np.int64)  # how many steps before each step had its task
        for task in range(len(self.datasets)):
            steps_of_task = np.flatnonzero(self.tasks == task)
            self._earlier[steps_of_task] = np.arange(len(steps_of_task))
        self._orders: dict[int, tuple[int, Rows]] = {}  # of each data set's last pass

    def batch(self, step: int) -> Rows:
        """(B,) rows of captions of one language, or (B, 2) rows of captions that belong together."""
        task = int(self.tasks[step])
        dataset = self.datasets[task]
        pass_number, place = divmod(int(self._earlier[step]), batches_of(len(dataset), self.batch_size))
        if task not in self._orders or self._orders[task][0] != pass_number:
            generator = np.random.default_rng([self.seed, task, pass_number, _ORDER])
            self._orders[task] = pass_number, generator.permutation(len(dataset))
        _, order = self._orders[task]
        return dataset[order[place * self.batch_size : (place + 1) * self.batch_size]]


def batches_of(size: int, batch_size: int) -> int:
    """Batches of a pass, including an incomplete last one: "going through each batch and re-shuffling when
    exhausted".
    """
    return -(-size // batch_size)
