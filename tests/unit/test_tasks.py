"""The captions in a step of *Lessons*: pairs by hand, passes, shares of tasks, resumed runs."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import batches as reference

from pipeline.common.errors import InputError
from pipeline.training.tasks import Rows, TaskSampler, batches_of, caption_pairs


def rows(*numbers: int) -> Rows:
    return np.array(numbers, dtype=np.int64)


def test_pairs_are_all_captions_of_two_languages_of_an_image() -> None:
    """Image 0: two English, one German, no French; image 1: one, none, two; image 2: none, one, one."""
    english, german, french = rows(0, 0, 1), rows(0, 2), rows(1, 1, 2)
    pairs = caption_pairs([english, german, french], [0, 3, 5])
    assert sorted(map(tuple, pairs.tolist())) == [(0, 3), (1, 3), (2, 5), (2, 6), (4, 7)]


@given(st.lists(st.lists(st.integers(0, 5), max_size=12).map(sorted), min_size=1, max_size=4))
def test_pairs_are_those_of_the_plain_reading(images: list[list[int]]) -> None:
    firsts = [sum(map(len, images[:place])) for place in range(len(images))]
    found = caption_pairs([np.array(of, dtype=np.int64) for of in images], firsts)
    sentences = {str(code): [(image, [1]) for image in of] for code, of in enumerate(images)}
    expected = reference.caption_pairs(sentences)
    assert len(found) == len(expected)
    assert set(map(tuple, found.tolist())) == expected


def test_a_pass_has_every_caption_once_and_an_incomplete_last_batch() -> None:
    assert batches_of(10, 4) == 3
    sampler = TaskSampler([np.arange(10) + 3], None, 4, 0.5, 9, seed=0)
    for first in (0, 3, 6):
        batches = [sampler.batch(step) for step in range(first, first + 3)]
        assert [len(batch) for batch in batches] == [4, 4, 2]
        assert sorted(np.concatenate(batches)) == list(range(3, 13))


def test_each_pass_has_another_order_and_each_seed() -> None:
    orders = set()
    for seed in range(3):
        sampler = TaskSampler([np.arange(50)], None, 7, 0.5, 24, seed)
        batches = [sampler.batch(step) for step in range(24)]
        orders |= {tuple(np.concatenate(batches[first : first + 8])) for first in (0, 8, 16)}
    assert len(orders) == 9


def test_languages_with_equally_many_captions_have_different_orders() -> None:
    """Two languages of fifty captions, each shuffled in one batch."""
    sampler = TaskSampler([np.arange(50), np.arange(50, 100)], None, 50, 0.5, 40, seed=0)
    batches = [sampler.batch(step) for step in reversed(range(40))]
    first = {int(batch[0] >= 50): tuple(batch % 50) for batch in batches}
    assert first[0] != first[1]


def joint(seed: int = 0, steps: int = 200, share: float = 0.5) -> TaskSampler:
    """Eleven English and seven German captions, and nine pairs, in batches of four."""
    pairs = np.stack([np.arange(9), np.arange(9) + 11], axis=1)
    return TaskSampler([np.arange(11), np.arange(11, 18)], pairs, 4, share, steps, seed)


def test_every_data_set_is_used_up_before_it_is_shuffled_again() -> None:
    sampler = joint()
    of_each: dict[str, list[Rows]] = {"en": [], "de": [], "pairs": []}
    for step in range(200):
        batch = sampler.batch(step)
        name = "pairs" if batch.ndim == 2 else "en" if batch[0] < 11 else "de"
        of_each[name].append(batch)
    for name, (batches, whole) in {"en": (3, 11), "de": (2, 7), "pairs": (3, 9)}.items():
        given = of_each[name]
        for first in range(0, len(given) - batches + 1, batches):
            passed = np.concatenate(given[first : first + batches])
            assert len(passed) == whole
            assert len(np.unique(passed, axis=0)) == whole, f"pass {first // batches} of {name}"


@pytest.mark.parametrize("share", [0.5, 0.2])
def test_a_share_of_the_steps_has_pairs_and_the_others_a_random_language(share: float) -> None:
    """In 40,000 steps, a share is within four standard deviations (0.01) of its probability."""
    counts = Counter(joint(seed=5, steps=40_000, share=share).tasks.tolist())
    shares = [counts[task] / 40_000 for task in range(3)]
    assert np.allclose(shares, [(1 - share) / 2, (1 - share) / 2, share], atol=0.01)


def test_tasks_differ_by_seed() -> None:
    assert len({tuple(joint(seed).tasks) for seed in range(3)}) == 3


def test_without_pairs_no_step_has_pairs() -> None:
    sampler = TaskSampler([np.arange(11), np.arange(11, 18)], None, 4, 0.5, 1000, 0)
    assert set(sampler.tasks.tolist()) == {0, 1}


@given(st.integers(0, 199), st.integers(0, 3))
def test_a_resumed_run_has_the_same_batches(first: int, seed: int) -> None:
    whole, rest = joint(seed), joint(seed)
    batches = [whole.batch(step) for step in range(200)]
    assert all(np.array_equal(batches[step], rest.batch(step)) for step in range(first, 200))


def test_missing_pairs_are_reported() -> None:
    with pytest.raises(InputError, match="no image has captions in two languages"):
        TaskSampler([np.arange(3), np.arange(3)], np.empty((0, 2), np.int64), 4, 0.5, 10, 0)
