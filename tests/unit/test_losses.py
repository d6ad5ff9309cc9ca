"""Each loss term against the plain reading in double precision, and both by hand; gradients too."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from reference import losses as reference
from small import segments_at
from torch import Tensor
from torch.nn import functional as F

from pipeline.models.losses import triplets as of_triplets
from pipeline.models.losses.classifier import classifier_loss, reversal_strength
from pipeline.models.losses.matching import matching_loss
from pipeline.models.losses.neighborhood import neighborhood_loss
from pipeline.models.losses.triplets import Segment
from pipeline.models.settings import Matching, Triplets

WEIGHTS = Matching()  # 1.5, 1 and 0.05, as in the paper

Vectors = NDArray[np.float64]
Slots = list[list[int]]  # of each language's sentences


def normalized(vectors: Sequence[Tensor]) -> list[Tensor]:
    return [F.normalize(part, dim=-1) for part in vectors]


def leaves(generator: np.random.Generator, slots: Slots, size: int = 6) -> list[Tensor]:
    """Vectors of each language's sentences; embeddings are these vectors at length 1."""
    return [torch.tensor(generator.normal(size=(len(of), size)), requires_grad=True) for of in slots]


def assert_same(losses: Sequence[Tensor], learned: Sequence[Tensor]) -> None:
    """Check that losses and gradients are equal up to rounding in double precision."""
    torch.testing.assert_close(*losses, rtol=1e-12, atol=1e-14)
    both = [torch.autograd.grad(loss, learned, retain_graph=True, materialize_grads=True) for loss in losses]
    for first, second in zip(*both, strict=True):
        torch.testing.assert_close(first, second, rtol=1e-10, atol=1e-12)


def matching_by_reading(
    images: Tensor, sentences: Sequence[Tensor], slots: Slots, triplets: Triplets, weights: Matching
) -> Tensor:
    settings = triplets.model_dump(), weights.model_dump()
    losses = [
        reference.matching_loss(images, part, torch.tensor(of), *settings)
        for part, of in zip(sentences, slots, strict=True)
    ]
    return torch.stack(losses).mean()


def neighborhood_by_reading(sentences: Sequence[Tensor], slots: Slots, triplets: Triplets) -> Tensor:
    vectors = {str(number): part for number, part in enumerate(sentences)}
    places = {str(number): torch.tensor(of) for number, of in enumerate(slots)}
    return reference.neighborhood_loss(vectors, places, triplets.model_dump())


@dataclass
class Case:
    """A batch of languages with unequal numbers of sentences, some of which lack images; settings."""

    generator: np.random.Generator
    images: int
    slots: Slots
    each: list[int]
    triplets: Triplets

    @property
    def segments(self) -> tuple[Segment, ...]:
        return segments_at(self.slots, self.each)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    generator = np.random.default_rng(draw(st.integers(0, 10_000)))
    images, each = draw(st.integers(2, 14)), draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    slots = []
    for number in each:
        captioned = sorted(generator.choice(images, draw(st.integers(2, images)), replace=False).tolist())
        slots.append([slot for slot in captioned for _ in range(number)])
    triplets = Triplets(
        margin=draw(st.sampled_from([0.05, 0.5])),
        num_hard_negatives=draw(st.sampled_from([1, 3, 10])),
        distance=draw(st.sampled_from(["euclidean", "cosine"])),
    )
    return Case(generator, images, slots, each, triplets)


@given(cases(), st.sampled_from([WEIGHTS, Matching(sentence_only=0.0), Matching(image=0.2, sentence=3.0)]))
@settings(max_examples=60, deadline=None)
def test_matching_equals_the_plain_reading(case: Case, weights: Matching) -> None:
    image_leaves = leaves(case.generator, [list(range(case.images))])
    sentence_leaves = leaves(case.generator, case.slots)
    (images,), sentences = normalized(image_leaves), normalized(sentence_leaves)
    loss = matching_loss(images, torch.cat(sentences), case.segments, case.triplets, weights)
    by_reading = matching_by_reading(images, sentences, case.slots, case.triplets, weights)
    assert_same([loss, by_reading], [*image_leaves, *sentence_leaves])


@given(cases(), st.sampled_from([6, 4]))
@settings(max_examples=60, deadline=None)
def test_neighborhood_equals_the_plain_reading_on_both_layers(case: Case, size: int) -> None:
    """Two layers of equal sizes and of different ones."""
    learned = [leaves(case.generator, case.slots, of) for of in (6, size)]
    layers = [normalized(layer) for layer in learned]
    slots = [set(of) for of in case.slots]
    assume(any(first & second for first, second in combinations(slots, 2)))
    loss = neighborhood_loss([torch.cat(layer) for layer in layers], case.segments, case.triplets)
    by_reading = [neighborhood_by_reading(layer, case.slots, case.triplets) for layer in layers]
    assert_same([loss, torch.stack(by_reading).sum()], [part for layer in learned for part in layer])


def test_products_in_tiles_give_the_same_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten languages of two images with three sentences each: at most one pair in a product, 20, or all."""
    case = Case(
        np.random.default_rng(0), 2, [[0, 0, 0, 1, 1, 1]] * 10, [3] * 10, Triplets(num_hard_negatives=3)
    )
    learned = leaves(case.generator, case.slots)
    vectors, losses = torch.cat(normalized(learned)), []
    for most in (1, 36 * 20, 2**25):
        monkeypatch.setattr(of_triplets, "TILE", most)
        losses.append(neighborhood_loss([vectors], case.segments, case.triplets))
    for other in losses[:2]:
        assert_same([other, losses[2]], learned)


def test_a_pair_of_languages_without_common_images_costs_nothing() -> None:
    vectors = torch.eye(4, requires_grad=True)
    loss = neighborhood_loss([vectors], segments_at([[0, 1], [2, 3]], [1, 1]), Triplets())
    assert loss.item() == 0.0
    loss.backward()


def test_neighborhood_anchors_are_the_common_images_only() -> None:
    """One sentence each of images 0 to 2 and 1 to 3, on the axes; cosine distance.

    The second language's images 1 and 2 are on the axes of the first's 1 and 3, 3 on that of the first's 2.
    Anchor 1: its positive's distance is 0, the negatives' are 1: 0.5 - 1 costs nothing. Anchor 2: its
    positive's is 1, its negatives' are 1 (image 1) and 0 (image 3): mean of 0.5 and 1.5. Mean of both: 0.5.
    """
    first, second = torch.eye(4)[:3].double(), torch.eye(4)[[1, 3, 2]].double()
    triplets = Triplets(margin=0.5, num_hard_negatives=10, distance="cosine")
    slots = [[0, 1, 2], [1, 2, 3]]
    loss = neighborhood_loss([torch.cat([first, second])], segments_at(slots, [1, 1]), triplets)
    for found in (loss, neighborhood_by_reading([first, second], slots, triplets)):
        assert found.item() == pytest.approx(0.5, rel=1e-12)


def test_neighborhood_by_hand() -> None:
    """Two images of one sentence in two languages, orthogonal: every distance known."""
    axes = torch.eye(2).double()
    triplets = Triplets(margin=2.0, num_hard_negatives=10, distance="euclidean")
    loss = neighborhood_loss([torch.cat([axes, axes])], segments_at([[0, 1], [0, 1]], [1, 1]), triplets)
    for found in (loss, neighborhood_by_reading([axes, axes], [[0, 1], [0, 1]], triplets)):
        assert found.item() == pytest.approx(2.0 + math.sqrt(1e-4) - math.sqrt(2 + 1e-4), rel=1e-12)


@pytest.mark.parametrize(("count", "terms"), [(1, (0.35, 0.55, 0.95)), (10, (0.35, 0.275, 0.66))])
def test_matching_by_hand(count: int, terms: tuple[float, ...]) -> None:
    """Two images, each of two sentences; a margin of 0.5.

    Distances of the sentences to image 0 are 0.4, 0, 0.2, 1.6, to image 1 0.2, 1, 0.4, 0.2. Between sentences
    0 and 1 0.4, 0 and 2 0.04, 0 and 3 0.72, 1 and 2 0.2, 1 and 3 1.6, 2 and 3 1. Of sentence 0 the image term
    is 0.5 + 0.4 - 0.2, the sentence term 0.5 + 0.4 - 0.2 (the other negative, 1.6, costs nothing), the term
    between sentences 0.5 + 0.4 - 0.04 (the other negative: 0.5 + 0.4 - 0.72).
    """
    images, slots = torch.eye(2).double(), [[0, 0, 1, 1]]
    sentences = torch.tensor([[0.6, 0.8], [1.0, 0.0], [0.8, 0.6], [-0.6, 0.8]]).double()
    triplets = Triplets(margin=0.5, num_hard_negatives=count, distance="cosine")
    expected = sum(weight * term for weight, term in zip(WEIGHTS.model_dump().values(), terms, strict=True))
    loss = matching_loss(images, sentences, segments_at(slots, [2]), triplets, WEIGHTS)
    for found in (loss, matching_by_reading(images, [sentences], slots, triplets, WEIGHTS)):
        assert found.item() == pytest.approx(expected, rel=1e-6)


def test_the_classifiers_loss_is_a_mean_over_sentences_or_over_languages() -> None:
    """English has two sentences, which the classifier is sure of, German one, which it mistakes for English.

    log(1 + e^-2) = 0.1269 and log(1 + e^2) = 2.1269: (2 x 0.1269 + 2.1269) / 3, or (0.1269 + 2.1269) / 2.
    """
    classifier = torch.nn.Linear(1, 2)
    with torch.no_grad():
        classifier.weight.copy_(torch.tensor([[1.0], [-1.0]]))
        classifier.bias.zero_()
    vectors, labels = torch.ones(3, 1), torch.tensor([0, 0, 1])
    assert classifier_loss(vectors, labels, classifier, 1.0).item() == pytest.approx(0.79359, abs=1e-4)
    assert classifier_loss(vectors, labels, classifier, 1.0, True).item() == pytest.approx(1.12693, abs=1e-4)


def test_the_classifiers_gradient_is_reversed_only_before_the_classifier() -> None:
    torch.manual_seed(0)
    classifier = torch.nn.Linear(4, 2).double()
    vectors = torch.randn(5, 4, dtype=torch.double, requires_grad=True)
    labels = torch.tensor([0, 0, 0, 1, 1])

    loss = classifier_loss(vectors, labels, classifier, 0.25)
    reversed_gradients = torch.autograd.grad(loss, [vectors, classifier.weight])
    plain = torch.nn.functional.cross_entropy(classifier(vectors), labels)
    gradients = torch.autograd.grad(plain, [vectors, classifier.weight])

    assert loss.item() == pytest.approx(plain.item(), rel=1e-12)
    torch.testing.assert_close(reversed_gradients[0], -0.25 * gradients[0])
    torch.testing.assert_close(reversed_gradients[1], gradients[1])


def test_reversal_ramp() -> None:
    assert reversal_strength(0.0) == 0.0
    assert reversal_strength(0.1) == pytest.approx(2 / (1 + math.exp(-1)) - 1)
    assert reversal_strength(1.0) == pytest.approx(1.0, abs=1e-4)
