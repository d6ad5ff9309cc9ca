"""Which images and sentences are in a batch (MULE, supplement, "Minibatch Construction").

Every draw depends only on (seed, epoch, step), so a killed run resumes with the same batches.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.common.errors import InputError
from pipeline.training.settings import Batches
from pipeline.words.corpus import Corpus, LanguageCorpus

Rows = NDArray[np.int64]


@dataclass
class Batch:
    """A batch.

    images: (n,) rows of images. rows: for each language the drawn sentences' rows, `each` per image.
    slots: for each sentence the place of its image in `images`. each: sentences an image has.
    """

    images: Rows
    rows: dict[str, Rows]
    slots: dict[str, Rows]
    each: dict[str, int]


class Sampler:
    """Draws the batches of an experiment, `steps` of them in an epoch.

    An epoch is one pass over the sentences of the language with most of them, as in the MULE authors' code
    (`len(sent_inds) // batch_size`), or over the images.

    Args:
        corpus: the training corpus.
        groups: sets of images that are drawn equally often, as rows; one group where data are balanced.
        settings: `training` settings: epoch_unit, batch_images, sentences_per_image, repeat_captions,
            images_in_batch.
        seed: the experiment's seed.
        steps: batches of an epoch, where they are those of another experiment.
    """

    def __init__(
        self,
        corpus: Corpus,
        groups: Sequence[Rows],
        settings: Batches,
        seed: int,
        steps: int | None = None,
    ):
        self.groups = list(groups)
        self.seed = seed
        self.images = sum(len(group) for group in groups)
        self.batch = min(int(settings.batch_images), self.images)
        self.by_sentence = settings.images_in_batch == "sampled_by_sentence"
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
        passed_over = self._largest() if settings.epoch_unit == "sentences" else self.images
        # An incomplete last batch is dropped.
        self.steps = steps or max(1, passed_over // self.batch)

    def _largest(self) -> int:
        """Sentences of the language that has most of them."""
        return max(int(captions.count.sum()) for captions in self.captions.values())

    def epoch(self, epoch: int, first_step: int = 0) -> Iterator[Batch]:
        """The batches of an epoch, from `first_step` on."""
        stream = self._by_sentence if self.by_sentence else self._by_image
        drawn = [
            stream(group, np.random.default_rng([self.seed, epoch, number, 0xB]), int(share))
            for number, (group, share) in enumerate(zip(self.groups, self.shares, strict=True))
        ]
        for step in range(first_step, self.steps):
            images = np.concatenate([part.images[step] for part in drawn])
            if not self.by_sentence:
                images = _distinct(images)
            leading = {
                language: np.concatenate([part.sentences(language)[step] for part in drawn])
                for language in {part.language for part in drawn if part.language}
            }
            yield self._draw(images, leading, np.random.default_rng([self.seed, epoch, step]))

    def _by_image(self, group: Rows, generator: np.random.Generator, share: int) -> "_Stream":
        return _Stream(_passes(group, generator, (self.steps, share)))

    def _by_sentence(self, group: Rows, generator: np.random.Generator, share: int) -> "_Stream":
        """Sentences of the language that has most of them in the group, each with its image."""
        language = max(self.captions, key=lambda code: self.captions[code].count[group].sum())
        captions = self.captions[language]
        rows = _passes(captions.rows_of(group), generator, (self.steps, share))
        return _Stream(captions.image[rows], language, rows)

    def _draw(self, images: Rows, leading: Mapping[str, Rows], generator: np.random.Generator) -> Batch:
        batch = Batch(images, {}, {}, {})
        for language, captions in self.captions.items():
            slots = np.flatnonzero(captions.count[images] > 0)
            if len(slots) > 1:  # a triplet needs two images
                kept = leading[language][slots] if language in leading else None
                rows = captions.draw(images[slots], generator, kept)
                batch.rows[language] = rows.ravel()
                batch.slots[language] = slots.repeat(captions.each)
                batch.each[language] = captions.each
        return batch


@dataclass
class _Stream:
    """What a group contributes to the batches of an epoch.

    images: (steps, share) rows. language, rows: where sentences are drawn, their language and rows.
    """

    images: Rows
    language: str | None = None
    rows: Rows | None = None

    def sentences(self, language: str) -> Rows:
        """Rows (steps, share) of the sentences drawn in a language, -1 in another language's turn."""
        if self.rows is None or language != self.language:
            return np.full_like(self.images, -1)
        return self.rows


def _passes(rows: Rows, generator: np.random.Generator, shape: tuple[int, int]) -> Rows:
    """Rows in a new random order for each pass over them, as many as (steps, share) needs."""
    needed = shape[0] * shape[1]
    passes = [generator.permutation(rows) for _ in range(-(-needed // len(rows)))]
    return np.concatenate(passes)[:needed].reshape(shape)


class _Captions:
    """The sentences of one language by image."""

    def __init__(self, part: LanguageCorpus, images: int, settings: Batches):
        self.image = part.image
        self.count = np.bincount(part.image, minlength=images)
        self.first = np.concatenate([[0], np.cumsum(self.count)[:-1]])
        most = int(settings.sentences_per_image)
        # What most images have decides: with 1 or 2 Chinese sentences an image, one is drawn.
        usual = int(np.median(self.count[self.count > 0])) if len(part.image) else 0
        self.each = most if settings.repeat_captions else min(most, usual)

    def rows_of(self, group: Rows) -> Rows:
        """Rows of the sentences of some images."""
        return np.flatnonzero(np.isin(self.image, group))

    def draw(self, images: Rows, generator: np.random.Generator, kept: Rows | None = None) -> Rows:
        """Rows (n, each) of sentences, drawn without replacement if an image has enough.

        Args:
            kept: (n,) for each image a sentence of its own that must be among them; -1 for none.
        """
        count = self.count[images]
        width = max(int(count.max()), self.each)
        keys = generator.random((len(images), width))
        keys[np.arange(width) >= count[:, None]] = 2.0  # behind every real sentence
        if kept is not None:
            chosen = np.flatnonzero(kept >= 0)
            keys[chosen, kept[chosen] - self.first[images[chosen]]] = -1.0  # before all others
        order = keys.argsort(1)[:, : self.each]
        wrapped = np.arange(self.each) % count[:, None]  # an image with too few repeats them
        return self.first[images][:, None] + np.take_along_axis(order, wrapped, 1)


def _distinct(rows: Rows) -> Rows:
    """The rows without duplicates: an image that was drawn twice, by two groups or passes, appears once."""
    _, first = np.unique(rows, return_index=True)
    return rows[np.sort(first)]


def language_groups(
    images: Sequence[str],
    own: Mapping[str, Collection[str]],
    groups: Sequence[Sequence[str]],
) -> list[Rows]:
    """Rows of images that are sampled equally often (MULE: English only, English-Japanese, English-Chinese).

    An image belongs to the largest groups of which it has every language; images in no group form another
    one.

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
