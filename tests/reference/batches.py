"""Which batches may be drawn (MULE, supplement, "Minibatch Construction"; *Lessons*, Figure 2)."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Any

import numpy as np
import torch
from torch import Tensor

from reference.captions import Split

Settings = Mapping[str, Any]
Caption = tuple[int, list[int]]  # row of its image, word ids


@dataclass
class Batch:
    """images: (n,) rows. rows: sentences' rows by language. slots: places of their images in the batch."""

    images: list[int]
    rows: dict[str, list[int]]
    slots: dict[str, list[int]]

    def slot_tensors(self) -> dict[str, Tensor]:
        return {language: torch.tensor(slots) for language, slots in self.slots.items()}

    def word_ids(self, split: Split) -> dict[str, list[list[int]]]:
        """Word ids of the batch's sentences by language."""
        return {
            language: [split.sentences[language][row][1] for row in rows]
            for language, rows in self.rows.items()
        }


def steps_per_epoch(split: Split, training: Settings) -> int:
    """Batches of an epoch: a pass over the images, or over the sentences of the language with the most."""
    sentences = max(len(of_language) for of_language in split.sentences.values())
    total = sentences if training["epoch_unit"] == "sentences" else len(split.images)
    return max(1, total // min(int(training["batch_images"]), len(split.images)))


def check_epoch(batches: Sequence[Batch], split: Split, training: Settings) -> None:
    """Assert that batches have different images, each drawn equally often, and the right sentences.

    A batch that begins another pass over the images may draw one twice, and then shows it once.
    """
    size, total = min(training["batch_images"], len(split.images)), len(split.images)
    assert len(batches) == steps_per_epoch(split, training)
    for step, batch in enumerate(batches):
        check_sentences(batch, split, training)
        if training["images_in_batch"] == "distinct":
            first, last = step * size, (step + 1) * size - 1
            assert len(set(batch.images)) == len(batch.images) <= size
            assert len(batch.images) == size or first // total < last // total
    count = np.bincount([image for batch in batches for image in batch.images], minlength=total)
    if training["images_in_batch"] == "distinct":
        images = len(batches) * size
        assert images // total - 1 <= count.min() <= count.max() <= -(-images // total)


def check_sentences(batch: Batch, split: Split, training: Settings) -> None:
    """Assert two sentences per image, or one if most images have no second; an image with one repeats it."""
    for language, sentences in split.sentences.items():
        of_image: dict[int, list[int]] = {}
        for row, (image, _) in enumerate(sentences):
            of_image.setdefault(image, []).append(row)
        each, usual = training["sentences_per_image"], int(statistics.median(map(len, of_image.values())))
        each = each if training["repeat_captions"] else min(each, usual)
        captioned = [slot for slot, image in enumerate(batch.images) if image in of_image]
        assert batch.slots[language] == [slot for slot in captioned for _ in range(each)]
        for place, slot in enumerate(captioned):
            rows, choice = batch.rows[language][place * each :][:each], of_image[batch.images[slot]]
            assert set(rows) <= set(choice)
            assert len(set(rows)) == min(each, len(choice))


def caption_pairs(sentences: Mapping[str, Sequence[Caption]], first_row: int = 0) -> set[tuple[int, int]]:
    """*Lessons*, Section 3: pairs of an image's captions in two languages; rows count from `first_row`."""
    first, row = {}, first_row
    for code, captions in sentences.items():
        first[code], row = row, row + len(captions)
    return {
        (first[one] + row, first[two] + other)
        for one, two in combinations(sentences, 2)
        for row, (image, _) in enumerate(sentences[one])
        for other, (same, _) in enumerate(sentences[two])
        if image == same
    }


def check_tasks(
    epochs: Sequence[Sequence[np.ndarray]],
    sentences: Mapping[str, Sequence[Caption]],
    pairs: set[tuple[int, int]],
    settings: Settings,
) -> None:
    """Assert that every data set is passed through, each time in another order, and that all tasks occur."""
    size = settings["lessons"]["batch_size"]
    sets: dict[str, set[object]] = {"c2c": set(pairs)} if settings["c2c"] else {}
    first_row = 0
    for code, captions in sentences.items():
        sets[code] = set(range(first_row, first_row + len(captions)))
        first_row += len(captions)
    of_set: dict[str, list[list[Any]]] = {}
    for batch in chain.from_iterable(epochs):
        items = [tuple(row) for row in batch.tolist()] if batch.ndim == 2 else batch.tolist()
        (name,) = [name for name, members in sets.items() if items[0] in members]
        of_set.setdefault(name, []).append(items)
    assert set(of_set) == set(sets)
    for name, batches in of_set.items():
        each = -(-len(sets[name]) // size)
        passes = [batches[start : start + each] for start in range(0, len(batches), each)]
        orders = [list(chain.from_iterable(one)) for one in passes]
        for number, order in enumerate(orders):
            whole = (number + 1) * each <= len(batches)
            assert len(order) == len(set(order)) <= len(sets[name])
            assert set(order) <= sets[name] and (not whole or set(order) == sets[name])
        assert len({tuple(order) for order in orders}) == len(orders)
