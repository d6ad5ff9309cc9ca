"""Which images and sentences stand in a batch (MULE, supplement, "Minibatch Construction").

Every draw is a function of (seed, epoch, step) alone, so a run that was killed goes on with the same batches.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import InputError
from pipeline.words.corpus import Corpus, LanguageCorpus

Rows = NDArray[np.int64]


@dataclass
class Drawn:
    """A batch.

    images: (n,) rows of images. rows: for each language the drawn sentences' rows, `each` per image.
    slots: for each sentence the place of its image in `images`. each: sentences an image has.
    """

    images: Rows
    rows: dict[str, Rows]
    slots: dict[str, Rows]
    each: dict[str, int]


class Sampler:
    """Draws the batches of an experiment.

    Args:
        corpus: the training corpus.
        groups: sets of images that are drawn equally often, as rows; one group where data are balanced.
        settings: `training` settings: batch_images, sentences_per_image, repeat_captions, images_in_batch.
        seed: the experiment's seed.
    """

    def __init__(self, corpus: Corpus, groups: Sequence[Rows], settings: Mapping[str, Any], seed: int):
        self.groups = list(groups)
        self.seed = seed
        self.images = sum(len(group) for group in groups)
        self.batch = min(int(settings["batch_images"]), self.images)
        self.by_sentence = settings["images_in_batch"] == "drawn_by_sentence"
        self.captions = {
            language: _Captions(part, len(corpus.images), settings)
            for language, part in corpus.languages.items()
        }
        self.shares = np.diff(np.linspace(0, self.batch, len(groups) + 1).round().astype(int))
        if 0 in self.shares:
            raise InputError(
                f"training.batch_images: {self.batch} images of {len(groups)} groups (datasets.*.groups) "
                "leave one without any; take more"
            )
        if self.batch < 2:
            raise InputError(
                f"training: {self.images} image to train on, but a triplet needs two; "
                "check the captions' split column and images.list"
            )

    @property
    def steps(self) -> int:
        """Batches an epoch: as many as hold every image once, an incomplete last one left out."""
        return self.images // self.batch

    def epoch(self, epoch: int, first_step: int = 0) -> Iterator[Drawn]:
        """The batches of an epoch, from `first_step` on."""
        streams = [
            self._stream(number, group, epoch, int(share))
            for number, (group, share) in enumerate(zip(self.groups, self.shares, strict=True))
        ]
        for step in range(self.steps):
            images = np.concatenate([stream[step] for stream in streams])
            if not self.by_sentence:
                images = _distinct(images)
            if step >= first_step:
                yield self._draw(images, np.random.default_rng([self.seed, epoch, step]))

    def _stream(self, number: int, group: Rows, epoch: int, share: int) -> Rows:
        """Rows of a group for each step (steps, share): passes over the group in ever new order."""
        generator = np.random.default_rng([self.seed, epoch, number, 0xB])
        needed = self.steps * share
        if self.by_sentence:
            return generator.choice(group, (self.steps, share))
        passes = [generator.permutation(group) for _ in range(-(-needed // len(group)))]
        return np.concatenate(passes)[:needed].reshape(self.steps, share)

    def _draw(self, images: Rows, generator: np.random.Generator) -> Drawn:
        drawn = Drawn(images, {}, {}, {})
        for language, captions in self.captions.items():
            slots = np.flatnonzero(captions.count[images] > 0)
            if len(slots) > 1:  # a triplet needs two images
                rows = captions.draw(images[slots], generator)
                drawn.rows[language] = rows.ravel()
                drawn.slots[language] = slots.repeat(captions.each)
                drawn.each[language] = captions.each
        return drawn


class _Captions:
    """The sentences of one language by image."""

    def __init__(self, part: LanguageCorpus, images: int, settings: Mapping[str, Any]):
        self.count = np.bincount(part.image, minlength=images)
        self.first = np.concatenate([[0], np.cumsum(self.count)[:-1]])
        most = int(settings["sentences_per_image"])
        # What most images have decides: with 1 or 2 Chinese sentences an image, one is drawn.
        usual = int(np.median(self.count[self.count > 0])) if len(part.image) else 0
        self.each = most if settings["repeat_captions"] else min(most, usual)

    def draw(self, images: Rows, generator: np.random.Generator) -> Rows:
        """Rows (n, each) of sentences, drawn without replacement as far as an image has enough."""
        count = self.count[images]
        width = max(int(count.max()), self.each)
        keys = generator.random((len(images), width))
        keys[np.arange(width) >= count[:, None]] = 2.0  # behind every real sentence
        order = keys.argsort(1)[:, : self.each]
        wrapped = np.arange(self.each) % count[:, None]  # an image with too few repeats them
        return self.first[images][:, None] + np.take_along_axis(order, wrapped, 1)


def _distinct(rows: Rows) -> Rows:
    """The rows without repeats: an image that was drawn twice, by two groups or passes, stands once."""
    _, first = np.unique(rows, return_index=True)
    return rows[np.sort(first)]


def language_groups(
    images: Sequence[str],
    own: Mapping[str, Collection[str]],
    groups: Sequence[Sequence[str]],
) -> list[Rows]:
    """Rows of images that are drawn equally often (MULE: English only, English-Japanese, English-Chinese).

    An image belongs to the largest groups of which it has every language; images of no group make one more.

    Args:
        images: the training images.
        own: for each language of the experiment the images with captions of the data set's own.
        groups: sets of languages; empty where the data are balanced.
    """
    asked = dict.fromkeys(tuple(language for language in group if language in own) for group in groups)
    wanted = [group for group in asked if group]
    if len(own) == 1 or not wanted:
        return [np.arange(len(images))]
    has = {language: np.isin(images, list(captioned)) for language, captioned in own.items()}
    size = np.array([len(group) for group in wanted])
    member = np.array([np.logical_and.reduce([has[language] for language in group]) for group in wanted])
    largest = (member * size[:, None]).max(0)
    rows = [inside & (largest == n) for inside, n in zip(member, size, strict=True)]
    return [np.flatnonzero(group) for group in [*rows, largest == 0] if group.any()]
