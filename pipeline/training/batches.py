"""Which images and sentences are in a batch (MULE, supplement, "Minibatch Construction").

Every draw depends only on (seed, step), so a killed run resumes with the same batches.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.common.errors import InputError, raise_together
from pipeline.training.settings import Batches
from pipeline.words.corpus import Corpus, LanguageCorpus

Rows = NDArray[np.int64]


@dataclass
class Batch:
    """A batch.

    images: (n,) rows of images. rows: for each language the rows of the sampled sentences, `per_image` for
    each image. slots: for each sentence the place of its image in `images`. per_image: sentences per image.
    """

    images: Rows
    rows: dict[str, Rows]
    slots: dict[str, Rows]
    per_image: dict[str, int]


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
        steps: batches of an epoch, if it has as many as another experiment's.
    """

    def __init__(
        self,
        corpus: Corpus,
        groups: Sequence[Rows],
        settings: Batches,
        seed: int,
        steps: int | None = None,
    ):
        self.groups, self.seed = list(groups), seed
        images = sum(map(len, groups))
        self.batch_size = min(settings.batch_images, images)
        self.by_sentence = settings.images_in_batch == "sampled_by_sentence"
        self.captions = {
            language: _Captions(captions, len(corpus.images), settings)
            for language, captions in corpus.languages.items()
        }
        self.shares = np.diff(np.linspace(0, self.batch_size, len(groups) + 1).round().astype(int))
        if 0 in self.shares:
            raise InputError(
                f"training.batch_images: {self.batch_size} images of {len(groups)} groups "
                "(datasets.*.groups) leave one without any; take more"
            )
        raise_together(
            [f"{code!r}" for code, captions in self.captions.items() if (captions.count > 0).sum() < 2],
            "A triplet needs two images; check `captions`, the captions' split column, and images.list. "
            "Languages with training captions of fewer than two images:",
        )
        # Sentences of the language that has most of them, or images.
        largest = max(int(captions.count.sum()) for captions in self.captions.values())
        passed_over = largest if settings.epoch_unit == "sentences" else images
        # An incomplete last batch is dropped.
        self.steps = steps or max(1, passed_over // self.batch_size)
        self._epoch = -1  # of the last batch

    def batch(self, step: int) -> Batch:
        """The batch of a step; steps are numbered from 0 through all epochs."""
        epoch, place = divmod(step, self.steps)
        if epoch != self._epoch:
            self._epoch, self._drawn = epoch, self._draw_epoch(epoch)
        images, required = self._drawn[0][place], self._drawn[1]
        columns = np.arange(len(images))
        if not self.by_sentence:  # an image that was drawn twice, by two groups or passes, appears once
            columns = np.sort(np.unique(images, return_index=True)[1])
        batch = Batch(images[columns], {}, {}, {})
        generator = np.random.default_rng([self.seed, epoch, place])
        for language, captions in self.captions.items():
            slots = np.flatnonzero(captions.count[batch.images] > 0)
            if len(slots) > 1:  # a triplet needs two images
                of_images = required[language][place, columns[slots]]
                rows = captions.draw(batch.images[slots], generator, of_images)
                batch.rows[language] = rows.ravel()
                batch.slots[language] = slots.repeat(captions.per_image)
                batch.per_image[language] = captions.per_image
        if not batch.rows:
            raise InputError(
                f"training.batch_images: no language has captions of two of a batch's {len(columns)} images, "
                "which a triplet needs; take more"
            )
        return batch

    def _draw_epoch(self, epoch: int) -> tuple[Rows, dict[str, Rows]]:
        """Images (steps, B) of an epoch; for each language a sentence (steps, B) of each image, -1 for none.

        Where sentences are drawn, they are those of a group's largest language.
        """
        images = np.empty((self.steps, self.batch_size), np.int64)
        required = {language: np.full_like(images, -1) for language in self.captions}
        ends = np.cumsum(self.shares)
        for number, (group, share, end) in enumerate(zip(self.groups, self.shares, ends, strict=True)):
            generator = np.random.default_rng([self.seed, epoch, number, 0xB])
            place, shape = np.s_[:, end - share : end], (self.steps, int(share))
            if not self.by_sentence:
                images[place] = _passes(group, generator, shape)
                continue
            sizes = {language: captions.count[group].sum() for language, captions in self.captions.items()}
            largest = max(sizes, key=sizes.__getitem__)
            image = self.captions[largest].image
            rows = _passes(np.flatnonzero(np.isin(image, group)), generator, shape)
            images[place], required[largest][place] = image[rows], rows
        return images, required


def _passes(rows: Rows, generator: np.random.Generator, shape: tuple[int, int]) -> Rows:
    """Rows in a new random order for each pass over them, as many as (steps, share) needs."""
    count = shape[0] * shape[1]
    passes = [generator.permutation(rows) for _ in range(-(-count // len(rows)))]
    return np.concatenate(passes)[:count].reshape(shape)


class _Captions:
    """The sentences of one language by image."""

    def __init__(self, captions: LanguageCorpus, images: int, settings: Batches):
        self.image = captions.image
        self.count = np.bincount(captions.image, minlength=images)
        self.first = np.concatenate([[0], np.cumsum(self.count)[:-1]])
        # The median decides: if images have 1 or 2 Chinese sentences, one is sampled.
        usual = int(np.median(self.count[self.count > 0])) if len(captions.image) else 0
        most = settings.sentences_per_image
        self.per_image = most if settings.repeat_captions else min(most, usual)

    def draw(self, images: Rows, generator: np.random.Generator, required: Rows) -> Rows:
        """Rows (n, per_image) of sentences, drawn without replacement if an image has enough.

        Args:
            required: (n,) for each image the row of a sentence that must be among them; -1 for none.
        """
        count = self.count[images]
        width = max(int(count.max()), self.per_image)
        keys = generator.random((len(images), width))
        keys[np.arange(width) >= count[:, None]] = 2.0  # after all real sentences
        place = np.flatnonzero(required >= 0)
        keys[place, required[place] - self.first[images[place]]] = -1.0  # before all others
        order = keys.argsort(1)[:, : self.per_image]
        repeated = np.arange(self.per_image) % count[:, None]  # an image with too few repeats them
        return self.first[images][:, None] + np.take_along_axis(order, repeated, 1)


def language_groups(
    images: Sequence[str],
    captioned: Mapping[str, Collection[str]],
    groups: Sequence[Sequence[str]],
) -> list[Rows]:
    """Rows of images that are sampled equally often (MULE: English only, English-Japanese, English-Chinese).

    An image belongs to the largest groups whose languages all caption it; images in no group form a further
    group.

    Args:
        images: the training images.
        captioned: for each language of the experiment the images with original captions.
        groups: sets of languages; empty if the data are balanced.
    """
    known_groups = dict.fromkeys(
        tuple(language for language in group if language in captioned) for group in groups
    )
    nonempty = [group for group in known_groups if group]
    if len(captioned) == 1 or not nonempty:
        return [np.arange(len(images))]
    has = {
        language: np.isin(images, list(captioned_images)) for language, captioned_images in captioned.items()
    }
    size = np.array([len(group) for group in nonempty])
    member = np.array([np.logical_and.reduce([has[language] for language in group]) for group in nonempty])
    largest = (member * size[:, None]).max(0)
    rows = [is_member & (largest == n) for is_member, n in zip(member, size, strict=True)]
    return [np.flatnonzero(group) for group in [*rows, largest == 0] if group.any()]
