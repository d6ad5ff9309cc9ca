"""Ranks and recalls on matrices worked out by hand, and against the plain reading."""

import itertools

import numpy as np
import pytest
import torch
from reference import evaluation as reference
from reference.captions import Split

from pipeline.evaluation.ranks import both_ranks
from pipeline.evaluation.recall import chance_recalls, recall_at_k, recalls

# Three images on the axes; the sentences' coordinates are their similarities to the images.
IMAGES = torch.eye(3)
SENTENCES = torch.tensor(
    [
        [0.9, 0.1, 0.0],  # of image 0: nearest to it
        [0.2, 0.8, 0.1],  # of image 0: nearer to image 1
        [0.5, 0.5, 0.1],  # of image 1: as near to image 0, which comes earlier
        [0.6, 0.2, 0.7],  # of image 2
    ]
)
IMAGE_OF = torch.tensor([0, 0, 1, 2])


def test_ranks_by_hand() -> None:
    # image 0: .9 .2 .5 .6, best own .9; image 1: .1 .8 .5 .2, own .5; image 2: 0 .1 .1 .7, own .7
    found = both_ranks(IMAGES, SENTENCES, IMAGE_OF)
    assert found["i2s"].tolist() == [1, 2, 1]
    assert found["s2i"].tolist() == [1, 2, 2, 1]
    assert reference.ranks(SENTENCES.numpy(), IMAGE_OF.numpy()) == ([1, 2, 1], [1, 2, 2, 1])


def test_recalls_by_hand() -> None:
    by_project = recalls(both_ranks(IMAGES, SENTENCES, IMAGE_OF))
    for found in (by_project, reference.recalls(([1, 2, 1], [1, 2, 2, 1]))):
        assert found["s2i_R@1"] == 50.0
        assert found["i2s_R@1"] == pytest.approx(200 / 3)
        assert found["s2i_R@5"] == found["i2s_R@10"] == 100.0
        assert found["mR"] == pytest.approx((50 + 200 / 3 + 4 * 100) / 6)


def test_recall_at_k_counts_ranks_up_to_k() -> None:
    assert recall_at_k(torch.tensor([1, 5, 6, 11]), 5) == 50.0


def test_ties_do_not_improve_recalls() -> None:
    """A model with equal similarities is no better than the order of the data."""
    same = torch.ones(4, 2)
    for ranks in both_ranks(same, same, torch.arange(4)).values():
        assert ranks.tolist() == [1, 2, 3, 4]


def test_chance_by_hand() -> None:
    # Two images of one sentence each: R@1 is 1/2 either way, R@5 and R@10 are certain.
    assert chance_recalls(2, np.array([0, 1]))["mR"] == pytest.approx(100 * (0.5 + 0.5 + 4) / 6)
    # Nine of ten sentences belong to one image: R@1 is 9/10 and 1/10, R@5 is 1 and 1/2.
    uneven = chance_recalls(20, np.array([0] * 9 + [1]))
    assert (uneven["i2s_R@1"], uneven["i2s_R@5"]) == pytest.approx((50, 75))
    assert (uneven["s2i_R@1"], uneven["s2i_R@5"], uneven["s2i_R@10"]) == (5, 25, 50)


@pytest.mark.parametrize("counts", [[1, 1], [1, 2, 4], [5, 1, 1, 3], [2] * 6, [11, 1]])
def test_chance_is_the_share_of_all_orders(counts: list[int]) -> None:
    """Any K sentences, or images, are equally often the first K."""
    image_of = np.repeat(np.arange(len(counts)), counts)
    found = chance_recalls(len(counts), image_of)
    expected = {}
    for k in (1, 5, 10):
        firsts = list(itertools.combinations(image_of.tolist(), min(k, len(image_of))))
        hits = [image in first for first in firsts for image in range(len(counts))]
        expected[f"i2s_R@{k}"] = 100 * sum(hits) / len(hits)
        galleries = list(itertools.combinations(range(len(counts)), min(k, len(counts))))
        expected[f"s2i_R@{k}"] = 100 * sum(0 in first for first in galleries) / len(galleries)
    expected["mR"] = sum(expected.values()) / 6
    assert found == pytest.approx(expected)
    split = Split([], torch.zeros(0), {"en": [(image, [1]) for image in image_of.tolist()]})
    assert reference.chance_recalls(split, "en") == pytest.approx(expected)
