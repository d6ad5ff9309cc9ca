"""The content of a batch: different images, sentences without repeats, the same after a kill."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.common.errors import InputError
from pipeline.training.batches import Batch, Rows, Sampler, language_groups
from pipeline.training.settings import Batches
from pipeline.words.corpus import Corpus, LanguageCorpus

SETTINGS: dict[str, Any] = {"epoch_unit": "images", "batch_images": 4}


def sampler_of(corpus: Corpus, groups: Sequence[Rows], settings: dict[str, Any], seed: int) -> Sampler:
    """A sampler with the paper's settings, except for the named ones."""
    return Sampler(corpus, groups, Batches(**settings), seed)


def corpus(counts: dict[str, list[int]]) -> Corpus:
    """A corpus whose languages have so many sentences for each image; word ids are the rows."""
    languages = {}
    for language, each in counts.items():
        image = np.repeat(np.arange(len(each)), each)
        ids = torch.arange(len(image))[:, None] + 1
        languages[language] = LanguageCorpus(ids, torch.ones(len(image), dtype=torch.long), image)
    images = [f"image{number}" for number in range(len(next(iter(counts.values()))))]
    return Corpus(images, torch.zeros(len(images), 0), languages)


def epoch_of(sampler: Sampler, epoch: int) -> list[Batch]:
    """The batches of an epoch."""
    return [sampler.batch(step) for step in range(epoch * sampler.steps, (epoch + 1) * sampler.steps)]


def all_images(count: int) -> list[np.ndarray]:
    return [np.arange(count)]


def test_a_language_with_one_image_in_a_batch_has_no_negatives() -> None:
    made = corpus({"en": [5] * 6, "fr": [1, 0, 0, 1, 0, 0]})
    batches = [*epoch_of(sampler_of(made, all_images(6), {**SETTINGS, "batch_images": 3}, 0), 0)]
    batches += epoch_of(sampler_of(made, all_images(6), {**SETTINGS, "batch_images": 6}, 0), 0)
    french = [int(np.isin([0, 3], drawn.images).sum()) for drawn in batches]
    assert french == [1, 1, 2]
    for drawn, images in zip(batches, french, strict=True):
        languages = ["en", "fr"] if images > 1 else ["en"]
        assert list(drawn.rows) == list(drawn.slots) == list(drawn.per_image) == languages


def test_every_pair_of_sentences_is_equally_likely() -> None:
    sampler = sampler_of(corpus({"en": [4, 4]}), all_images(2), SETTINGS, 0)
    firsts = [drawn.rows["en"][drawn.slots["en"] == drawn.images.argmin()] for epoch in range(3000)
              for drawn in epoch_of(sampler, epoch)]  # fmt: skip
    pairs = [tuple(sorted(rows.tolist())) for rows in firsts]
    shares = np.array([pairs.count((a, b)) for a in range(4) for b in range(a + 1, 4)]) / len(pairs)
    assert shares == pytest.approx(np.full(6, 1 / 6), abs=0.035)  # five standard deviations


def test_one_sentence_is_drawn_if_images_have_one_or_two() -> None:
    sampler = sampler_of(corpus({"zh": [1, 2, 1, 1, 2]}), all_images(5), SETTINGS, 0)
    assert sampler.batch(0).per_image == {"zh": 1}


def test_repeat_captions_draws_an_only_caption_twice() -> None:
    sampler = sampler_of(corpus({"fr": [1] * 4}), all_images(4), {**SETTINGS, "repeat_captions": True}, 0)
    drawn = sampler.batch(0)
    assert sorted(drawn.rows["fr"].tolist()) == [0, 0, 1, 1, 2, 2, 3, 3]


def test_an_image_with_too_few_captions_repeats_each_of_them_equally_often() -> None:
    settings = {**SETTINGS, "repeat_captions": True, "sentences_per_image": 5}
    drawn = next(iter(epoch_of(sampler_of(corpus({"fr": [2] * 4}), all_images(4), settings, 0), 0)))
    assert sorted(np.bincount(drawn.rows["fr"]).reshape(4, 2).ravel()) == [2] * 4 + [3] * 4


BY_SENTENCE = {**SETTINGS, "epoch_unit": "sentences", "images_in_batch": "sampled_by_sentence"}


@pytest.mark.parametrize(
    ("images", "each", "steps"),
    [  # batches of 450; sentences per image, with translations if there are any
        (29_000, {"fr": 1}, 64),
        (29_000, {"en": 5}, 322),
        (29_000, {"en": 5, "de": 5, "fr": 1, "cs": 1}, 322),
        (29_000, {"en": 5 + 5 + 1 + 1}, 773),  # and translations from German, French, Czech
        (29_000, {"en": 12, "de": 10, "fr": 6, "cs": 6}, 773),
        (29_000, {"de": 5 + 5}, 644),
        (29_000, {"fr": 1 + 5}, 386),
        (121_287, {"en": 5}, 1347),  # MSCOCO
        (121_287, {"en": 5, "fr": 1}, 1347),
    ],
)
def test_an_epoch_has_as_many_steps_as_in_the_authors_code(
    images: int, each: dict[str, int], steps: int
) -> None:
    made = corpus({language: [count] * images for language, count in each.items()})
    chosen = {**SETTINGS, "batch_images": 450}
    assert sampler_of(made, all_images(images), {**chosen, "epoch_unit": "sentences"}, 0).steps == steps
    of_images = {29_000: 64, 121_287: 269}
    assert (
        sampler_of(made, all_images(images), {**chosen, "epoch_unit": "images"}, 0).steps == of_images[images]
    )


def test_an_epoch_of_sentences_shows_every_image_as_often_as_it_has_sentences() -> None:
    """Four images of three sentences, two images in a batch: six steps, so each image is in three."""
    sampler = sampler_of(
        corpus({"en": [3] * 4, "fr": [1] * 4}),
        all_images(4),
        {**SETTINGS, "epoch_unit": "sentences", "batch_images": 2},
        0,
    )
    batches = epoch_of(sampler, 0)
    assert len(batches) == 6
    assert np.bincount(np.concatenate([drawn.images for drawn in batches])).tolist() == [3, 3, 3, 3]
    assert all(drawn.images[0] != drawn.images[1] for drawn in batches)
    assert len({frozenset(drawn.images.tolist()) for drawn in batches}) > 2  # each pass has its own order


@given(st.integers(0, 1000))
@settings(max_examples=30, deadline=None)
def test_sampled_by_sentence_draws_each_sentence_once_per_epoch(seed: int) -> None:
    """English has the most: 21 sentences, five batches of four images, each with its drawn sentence.

    It is the largest, although one image has more French sentences than any has English ones.
    """
    made = corpus({"fr": [6, 1, 1, 1, 1, 1], "en": [5, 4, 1, 5, 2, 4]})
    led = []
    for drawn in epoch_of(sampler_of(made, all_images(6), BY_SENTENCE, seed), 1):
        pairs = drawn.rows["en"].reshape(-1, 2)  # each image's drawn sentence comes first
        assert made.languages["en"].image[pairs[:, 0]].tolist() == drawn.images.tolist()
        alone = np.isin(drawn.images, 2)  # an only sentence is repeated
        assert (pairs[~alone, 0] != pairs[~alone, 1]).all()
        assert (made.languages["fr"].image[drawn.rows["fr"]] == drawn.images).all()
        led += pairs[:, 0].tolist()
    assert len(led) == 20
    assert len(set(led)) == 20


def test_sampled_by_sentence_may_show_an_image_twice() -> None:
    sampler = sampler_of(corpus({"en": [5] * 5}), all_images(5), BY_SENTENCE, 0)
    twice = [drawn for drawn in epoch_of(sampler, 0) if len(set(drawn.images)) < 4]
    assert twice
    # An image that occurs twice is its own negative.
    assert twice[0].slots["en"].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_sampled_by_sentence_keeps_the_shares_of_groups() -> None:
    """Each group passes over the sentences of its own largest language: three batches, six in Japanese."""
    made = corpus({"en": [5] * 6 + [1] * 2, "ja": [0] * 6 + [3] * 2})
    groups, led = [np.arange(6), np.arange(6, 8)], []
    for drawn in epoch_of(sampler_of(made, groups, BY_SENTENCE, 0), 0):
        assert (drawn.images >= 6).tolist() == [False, False, True, True]
        assert drawn.slots["ja"].tolist() == [2, 2, 3, 3]
        led += drawn.rows["ja"][::2].tolist()  # each image's drawn sentence comes first
    assert sorted(led[:6]) == [0, 1, 2, 3, 4, 5]


def same(first: Batch, second: Batch) -> bool:
    return first.images.tolist() == second.images.tolist() and all(
        first.rows[language].tolist() == second.rows[language].tolist() for language in first.rows
    )


def test_batches_depend_only_on_seed_and_step() -> None:
    """Whichever batches were drawn before."""
    made = corpus({"en": [3] * 20})
    in_order, one_by_one = (sampler_of(made, all_images(20), SETTINGS, 7) for _ in range(2))
    batches = [in_order.batch(step) for step in range(15)]
    assert all(same(batches[step], one_by_one.batch(step)) for step in (11, 3, 14, 4, 9, 0))
    assert not same(batches[10], sampler_of(made, all_images(20), SETTINGS, 8).batch(10))


def choices(seed: int, epoch: int) -> list[list[int]]:
    """For each batch, which of their five sentences its images have, in the order of the batch."""
    batches = epoch_of(sampler_of(corpus({"en": [5] * 20}), all_images(20), SETTINGS, seed), epoch)
    return [(drawn.rows["en"] % 5).tolist() for drawn in batches]


def test_sentences_differ_between_steps_epochs_and_seeds() -> None:
    """Whichever images are in the batch: 8 numbers from 0 to 4."""
    drawn = [*choices(7, 2), *choices(7, 3), *choices(8, 2)]
    assert len(drawn) == len({tuple(batch) for batch in drawn}) == 3 * 5
    assert choices(7, 2) == choices(7, 2)


def test_groups_are_drawn_equally_and_no_image_twice() -> None:
    made = corpus({"en": [2] * 12, "ja": [2] * 3 + [0] * 9, "zh": [0] * 2 + [1] * 3 + [0] * 7})
    names = np.array(made.images)
    own = {"en": set(names), "ja": set(names[:3]), "zh": set(names[2:5])}
    groups = language_groups(made.images, own, [["en"], ["en", "ja"], ["en", "zh"]])
    assert [group.tolist() for group in groups] == [list(range(5, 12)), [0, 1, 2], [2, 3, 4]]
    drawn = [
        batch.images.tolist()
        for epoch in range(50)
        for batch in epoch_of(sampler_of(made, groups, {**SETTINGS, "batch_images": 6}, 0), epoch)
    ]
    assert all(len(set(images)) == len(images) for images in drawn)
    by_group = np.array([[np.isin(images, group).sum() for group in groups] for images in drawn])
    assert by_group[:, 0].max() == 2  # two of the seven English-only images, though they are most
    assert by_group.sum() >= 0.85 * 6 * len(drawn)  # fewer only where an image was drawn twice


def test_each_group_is_in_an_order_of_its_own() -> None:
    """Groups of the same size: an order that they shared would always pair the same images."""
    groups = [np.arange(6), np.arange(6, 12)]
    sampler = sampler_of(corpus({"en": [2] * 12}), groups, {**SETTINGS, "batch_images": 12}, 0)
    drawn = [batch.images.reshape(2, 6) % 6 for epoch in range(5) for batch in epoch_of(sampler, epoch)]
    assert len(drawn) == 5
    assert all((first != second).any() for first, second in drawn)


def test_images_in_no_group_form_a_further_group() -> None:
    own = {"en": {"a", "b", "c"}, "ja": {"a"}}
    groups = language_groups(["a", "b", "c", "d"], own, [["en"], ["en", "ja"]])
    assert [group.tolist() for group in groups] == [[1, 2], [0], [3]]


def test_one_language_has_one_group() -> None:
    assert len(language_groups(["a", "b"], {"ja": {"a"}}, [["en"], ["en", "ja"]])) == 1


def test_languages_that_could_not_be_trained_are_refused() -> None:
    with pytest.raises(InputError, match=r"two images:\n +- 'fr'\n +- 'ja'$"):
        sampler_of(
            corpus({"en": [1] * 4, "fr": [5, 0, 0, 0], "ja": [0, 0, 0, 1]}), all_images(4), SETTINGS, 0
        )
    disjoint = sampler_of(
        corpus({"en": [1, 1, 0, 0], "fr": [0, 0, 1, 1]}), all_images(4), {**SETTINGS, "batch_images": 2}, 0
    )
    with pytest.raises(InputError, match="two of a batch's 2 images"):
        for epoch in range(20):
            epoch_of(disjoint, epoch)


def test_a_batch_smaller_than_the_groups_is_refused() -> None:
    made = corpus({"en": [2] * 12})
    groups = [np.arange(0, 4), np.arange(4, 8), np.arange(8, 12)]
    with pytest.raises(InputError, match="2 images of 3 groups"):
        sampler_of(made, groups, {**SETTINGS, "batch_images": 2}, 0)
