"""Each loss term against a plain double-precision computation, one triplet at a time; gradients too."""

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch import Tensor

from pipeline.models.losses.classifier import classifier_loss, reversal_strength
from pipeline.models.losses.matching import matching_loss
from pipeline.models.losses.neighborhood import neighborhood_loss
from pipeline.models.losses.triplets import Anchored, Triplets, alignment_loss

Vectors = NDArray[np.float64]
WEIGHTS = {"image": 1.5, "sentence": 1.0, "sentence_only": 0.05}


def unit(generator: np.random.Generator, rows: int, size: int = 6) -> Vectors:
    vectors = generator.normal(size=(rows, size))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def distance(a: Vectors, b: Vectors, kind: str) -> float:
    if kind == "cosine":
        return float(1 - np.dot(a, b))
    return math.sqrt(float(np.sum((a - b) ** 2)) + 1e-4)


def hardest_mean(violations: list[float], k: int) -> float:
    """Mean of the k largest [x]+ ; zeros count."""
    largest = sorted((max(0.0, value) for value in violations), reverse=True)[:k]
    return sum(largest) / len(largest)


def plain_matching(images: Vectors, sentences: Vectors, slots: list[int], triplets: Triplets) -> float:
    def d(a: Vectors, b: Vectors) -> float:
        return distance(a, b, triplets.distance)

    m, k = triplets.margin, triplets.num_hard_negatives
    image_term, sentence_term = [], []
    for s, slot in zip(sentences, slots, strict=True):
        others = [image for other, image in enumerate(images) if other != slot]
        image_term.append(hardest_mean([m + d(s, images[slot]) - d(s, f) for f in others], k))
        foreign = [t for t, other in zip(sentences, slots, strict=True) if other != slot]
        sentence_term.append(hardest_mean([m + d(images[slot], s) - d(images[slot], t) for t in foreign], k))
    return float(
        1.5 * np.mean(image_term)
        + 1.0 * np.mean(sentence_term)
        + 0.05 * plain_alignment(sentences, slots, sentences, slots, triplets)
    )


def plain_alignment(
    anchors: Vectors, slots: list[int], candidates: Vectors, others: list[int], triplets: Triplets
) -> float:
    values = []
    for anchor, slot in zip(anchors, slots, strict=True):
        far = {True: list[float](), False: list[float]()}
        for candidate, other in zip(candidates, others, strict=True):
            far[other == slot].append(distance(anchor, candidate, triplets.distance))
        positive = max(far[True])
        values.append(
            hardest_mean(
                [triplets.margin + positive - negative for negative in far[False]],
                triplets.num_hard_negatives,
            )
        )
    return float(np.mean(values))


def anchored(vectors: Vectors, slots: list[int], each: int) -> Anchored:
    return Anchored(torch.tensor(vectors, requires_grad=True), torch.tensor(slots), each)


@st.composite
def cases(draw: st.DrawFn) -> tuple[np.random.Generator, int, int, Triplets]:
    generator = np.random.default_rng(draw(st.integers(0, 10_000)))
    images, each = draw(st.integers(2, 14)), draw(st.integers(1, 3))
    triplets = Triplets(
        draw(st.sampled_from([0.05, 0.5])),
        draw(st.sampled_from([1, 3, 10])),
        draw(st.sampled_from(["euclidean", "cosine"])),
    )
    return generator, images, each, triplets


@given(cases())
@settings(max_examples=40, deadline=None)
def test_matching_equals_the_plain_sum(case: tuple[np.random.Generator, int, int, Triplets]) -> None:
    generator, count, each, triplets = case
    with_captions = sorted(generator.choice(count, max(2, count - 1), replace=False).tolist())
    slots = [slot for slot in with_captions for _ in range(each)]
    images, sentences = unit(generator, count), unit(generator, len(slots))
    loss = matching_loss(
        anchored(images, list(range(count)), 1), anchored(sentences, slots, each), triplets, WEIGHTS
    )
    assert loss.item() == pytest.approx(plain_matching(images, sentences, slots, triplets), rel=1e-9)


@given(cases())
@settings(max_examples=40, deadline=None)
def test_neighborhood_is_the_mean_over_pairs(
    case: tuple[np.random.Generator, int, int, Triplets],
) -> None:
    generator, count, each, triplets = case
    languages = []
    for number in range(3):
        own = each if number < 2 else 1
        slots = [slot for slot in range(count) for _ in range(own)]
        languages.append((unit(generator, len(slots)), slots, own))
    plain = np.mean(
        [
            plain_alignment(first[0], first[1], second[0], second[1], triplets)
            for first, second in itertools.combinations(languages, 2)
        ]
    )
    loss = neighborhood_loss([anchored(*language) for language in languages], triplets)
    assert loss.item() == pytest.approx(float(plain), rel=1e-9)


def test_a_pair_of_languages_without_common_images_costs_nothing() -> None:
    generator = np.random.default_rng(0)
    first = anchored(unit(generator, 2), [0, 1], 1)
    second = anchored(unit(generator, 2), [2, 3], 1)
    assert neighborhood_loss([first, second], Triplets(0.05, 10, "euclidean")).item() == 0.0


def test_neighborhood_anchors_are_the_common_images_only() -> None:
    generator = np.random.default_rng(1)
    first, second = unit(generator, 3), unit(generator, 3)
    triplets = Triplets(0.5, 10, "cosine")
    loss = neighborhood_loss([anchored(first, [0, 1, 2], 1), anchored(second, [1, 2, 3], 1)], triplets)
    plain = plain_alignment(first[1:], [1, 2], second, [1, 2, 3], triplets)
    assert loss.item() == pytest.approx(plain, rel=1e-9)


def test_alignment_by_hand() -> None:
    """Two images of one sentence in two languages, orthogonal: every distance known."""
    anchors = anchored(np.eye(2), [0, 1], 1)
    candidates = anchored(np.eye(2), [0, 1], 1)
    loss = alignment_loss(anchors, candidates, Triplets(2.0, 10, "euclidean"))
    assert loss.item() == pytest.approx(2.0 + math.sqrt(1e-4) - math.sqrt(2 + 1e-4), rel=1e-12)


@pytest.mark.parametrize("kind", ["euclidean", "cosine"])
def test_gradients_equal_finite_differences(kind: str) -> None:
    generator = np.random.default_rng(3)
    triplets = Triplets(0.5, 3, kind)
    slots = torch.tensor([0, 0, 1, 1, 2, 2, 3, 3])

    def loss(images: Tensor, sentences: Tensor) -> Tensor:
        unit_images = torch.nn.functional.normalize(images, dim=-1)
        unit_sentences = torch.nn.functional.normalize(sentences, dim=-1)
        return matching_loss(
            Anchored(unit_images, torch.arange(4), 1), Anchored(unit_sentences, slots, 2), triplets, WEIGHTS
        )

    inputs = tuple(torch.tensor(unit(generator, rows), requires_grad=True) for rows in (4, 8))
    assert torch.autograd.gradcheck(loss, inputs, eps=1e-6, atol=1e-6)


def test_classifier_gradient_is_reversed_before_it_and_not_in_it() -> None:
    torch.manual_seed(0)
    classifier = torch.nn.Linear(4, 2).double()
    first = torch.randn(3, 4, dtype=torch.double, requires_grad=True)
    second = torch.randn(2, 4, dtype=torch.double, requires_grad=True)
    labels = torch.tensor([0, 0, 0, 1, 1])

    loss = classifier_loss({0: first, 1: second}, classifier, 0.25)
    reversed_gradients = torch.autograd.grad(loss, [first, classifier.weight])
    plain = torch.nn.functional.cross_entropy(classifier(torch.cat([first, second])), labels)
    gradients = torch.autograd.grad(plain, [first, classifier.weight])

    assert loss.item() == pytest.approx(plain.item(), rel=1e-12)
    torch.testing.assert_close(reversed_gradients[0], -0.25 * gradients[0])
    torch.testing.assert_close(reversed_gradients[1], gradients[1])


def test_reversal_ramp() -> None:
    assert reversal_strength(0.0) == 0.0
    assert reversal_strength(0.1) == pytest.approx(2 / (1 + math.exp(-1)) - 1)
    assert reversal_strength(1.0) == pytest.approx(1.0, abs=1e-4)
