"""Each loss term against the plain reading in double precision, and both by hand; gradients too."""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from reference import losses as reference
from torch import Tensor

from pipeline.models.losses.classifier import classifier_loss, reversal_strength
from pipeline.models.losses.matching import matching_loss
from pipeline.models.losses.neighborhood import neighborhood_loss
from pipeline.models.losses.triplets import Anchored, alignment_loss
from pipeline.models.settings import Matching, Triplets

Vectors = NDArray[np.float64]
WEIGHTS = Matching()  # 1.5, 1 and 0.05, as in the paper


def unit(generator: np.random.Generator, rows: int, size: int = 6) -> Vectors:
    vectors = generator.normal(size=(rows, size))
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def anchored(vectors: Vectors, slots: list[int], each: int) -> Anchored:
    return Anchored(torch.tensor(vectors, requires_grad=True), torch.tensor(slots), each)


def neighborhood_by_reading(languages: Sequence[Anchored], triplets: Triplets) -> float:
    vectors = {str(number): language.vectors for number, language in enumerate(languages)}
    slots = {str(number): language.slots for number, language in enumerate(languages)}
    return reference.neighborhood_loss(vectors, slots, triplets.model_dump()).item()


@st.composite
def cases(draw: st.DrawFn) -> tuple[np.random.Generator, int, int, Triplets]:
    generator = np.random.default_rng(draw(st.integers(0, 10_000)))
    images, each = draw(st.integers(2, 14)), draw(st.integers(1, 3))
    triplets = Triplets(
        margin=draw(st.sampled_from([0.05, 0.5])),
        num_hard_negatives=draw(st.sampled_from([1, 3, 10])),
        distance=draw(st.sampled_from(["euclidean", "cosine"])),
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
    by_reading = reference.matching_loss(
        torch.tensor(images),
        torch.tensor(sentences),
        torch.tensor(slots),
        triplets.model_dump(),
        WEIGHTS.model_dump(),
    )
    assert loss.item() == pytest.approx(by_reading.item(), rel=1e-9)


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
        languages.append(anchored(unit(generator, len(slots)), slots, own))
    loss = neighborhood_loss(languages, triplets)
    assert loss.item() == pytest.approx(neighborhood_by_reading(languages, triplets), rel=1e-9)


def test_a_pair_of_languages_without_common_images_costs_nothing() -> None:
    generator = np.random.default_rng(0)
    first = anchored(unit(generator, 2), [0, 1], 1)
    second = anchored(unit(generator, 2), [2, 3], 1)
    assert (
        neighborhood_loss(
            [first, second], Triplets(margin=0.05, num_hard_negatives=10, distance="euclidean")
        ).item()
        == 0.0
    )


def test_neighborhood_anchors_are_the_common_images_only() -> None:
    generator = np.random.default_rng(1)
    first, second = unit(generator, 3), unit(generator, 3)
    triplets = Triplets(margin=0.5, num_hard_negatives=10, distance="cosine")
    languages = [anchored(first, [0, 1, 2], 1), anchored(second, [1, 2, 3], 1)]
    common = alignment_loss(anchored(first[1:], [1, 2], 1), languages[1], triplets)
    for loss in (neighborhood_loss(languages, triplets).item(), neighborhood_by_reading(languages, triplets)):
        assert loss == pytest.approx(common.item(), rel=1e-9)


def test_alignment_by_hand() -> None:
    """Two images of one sentence in two languages, orthogonal: every distance known."""
    axes, triplets = (
        anchored(np.eye(2), [0, 1], 1),
        Triplets(margin=2.0, num_hard_negatives=10, distance="euclidean"),
    )
    sides = axes.vectors, axes.slots, axes.vectors, axes.slots
    for loss in (
        alignment_loss(axes, axes, triplets),
        reference.alignment_loss(*sides, triplets.model_dump()),
    ):
        assert loss.item() == pytest.approx(2.0 + math.sqrt(1e-4) - math.sqrt(2 + 1e-4), rel=1e-12)


@pytest.mark.parametrize(("count", "terms"), [(1, (0.35, 0.55, 0.95)), (10, (0.35, 0.275, 0.66))])
def test_matching_by_hand(count: int, terms: tuple[float, ...]) -> None:
    """Two images, each of two sentences; a margin of 0.5.

    Distances of the sentences to image 0 are 0.4, 0, 0.2, 1.6, to image 1 0.2, 1, 0.4, 0.2. Between sentences
    0 and 1 0.4, 0 and 2 0.04, 0 and 3 0.72, 1 and 2 0.2, 1 and 3 1.6, 2 and 3 1. Of sentence 0 the image term
    is 0.5 + 0.4 - 0.2, the sentence term 0.5 + 0.4 - 0.2 (the other negative, 1.6, costs nothing), the term
    between sentences 0.5 + 0.4 - 0.04 (the other negative: 0.5 + 0.4 - 0.72).
    """
    images, slots = np.eye(2), [0, 0, 1, 1]
    sentences = np.array([[0.6, 0.8], [1.0, 0.0], [0.8, 0.6], [-0.6, 0.8]])
    triplets = Triplets(margin=0.5, num_hard_negatives=count, distance="cosine")
    expected = sum(weight * term for weight, term in zip(WEIGHTS.model_dump().values(), terms, strict=True))
    loss = matching_loss(anchored(images, [0, 1], 1), anchored(sentences, slots, 2), triplets, WEIGHTS)
    vectors = torch.tensor(images), torch.tensor(sentences), torch.tensor(slots)
    assert loss.item() == pytest.approx(expected, rel=1e-12)
    assert reference.matching_loss(
        *vectors, triplets.model_dump(), WEIGHTS.model_dump()
    ).item() == pytest.approx(expected)


@pytest.mark.parametrize("kind", ["euclidean", "cosine"])
def test_gradients_equal_finite_differences(kind: Literal["euclidean", "cosine"]) -> None:
    generator = np.random.default_rng(3)
    triplets = Triplets(margin=0.5, num_hard_negatives=3, distance=kind)
    slots = torch.tensor([0, 0, 1, 1, 2, 2, 3, 3])

    def loss(images: Tensor, sentences: Tensor) -> Tensor:
        unit_images = torch.nn.functional.normalize(images, dim=-1)
        unit_sentences = torch.nn.functional.normalize(sentences, dim=-1)
        return matching_loss(
            Anchored(unit_images, torch.arange(4), 1), Anchored(unit_sentences, slots, 2), triplets, WEIGHTS
        )

    inputs = tuple(torch.tensor(unit(generator, rows), requires_grad=True) for rows in (4, 8))
    assert torch.autograd.gradcheck(loss, inputs, eps=1e-6, atol=1e-6)


def test_the_classifiers_loss_is_a_mean_over_sentences_or_over_languages() -> None:
    """English has two sentences, of which the classifier is sure, German one, which it takes for English.

    log(1 + e^-2) = 0.1269 and log(1 + e^2) = 2.1269: (2 x 0.1269 + 2.1269) / 3, or (0.1269 + 2.1269) / 2.
    """
    classifier = torch.nn.Linear(1, 2)
    with torch.no_grad():
        classifier.weight.copy_(torch.tensor([[1.0], [-1.0]]))
        classifier.bias.zero_()
    universal = {0: torch.ones(2, 1), 1: torch.ones(1, 1)}
    assert classifier_loss(universal, classifier, 1.0).item() == pytest.approx(0.79359, abs=1e-4)
    assert classifier_loss(universal, classifier, 1.0, True).item() == pytest.approx(1.12693, abs=1e-4)


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
