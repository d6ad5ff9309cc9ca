"""Ranking losses by hand, and against the plain reading; order embeddings' similarity."""

from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import losses as reference
from torch import Tensor
from torch.nn import functional as F

from pipeline.models.losses.loss import Slotted
from pipeline.models.losses.ranking import ranking_loss, ranking_terms
from pipeline.models.settings import Hinge, Ranking
from pipeline.models.similarity import similarities

# Captions in rows, images in columns; caption 0 describes image 0, and so on.
SIMILARITY = torch.tensor([[0.9, 0.8, 0.75], [0.2, 0.5, 0.45], [0.6, 0.3, 0.7]], dtype=torch.double)


Chosen = tuple[Ranking, str]  # and the similarity


def ranking(
    hinge: Hinge = "sum", similarity: str = "cosine", margin: float = 0.2, between: float = 0
) -> Chosen:
    return Ranking(margin=margin, hinge=hinge, caption_caption=between), similarity


def both_losses(similarity: Tensor, own: Tensor, chosen: Chosen) -> list[float]:
    """The project's loss and the plain reading's."""
    return [
        ranking_loss(similarity, own, chosen[0].margin, chosen[0].hinge).item(),
        reference.ranking_loss(similarity, own, chosen[0].model_dump()).item(),
    ]


def test_the_sum_of_hinges_by_hand() -> None:
    # captions: 0.1 + 0.05, 0.15, 0.1; images: 0, 0.5, 0.25
    for loss in both_losses(SIMILARITY, torch.eye(3, dtype=torch.bool), ranking()):
        assert loss == pytest.approx(0.15 + 0.15 + 0.1 + 0.5 + 0.25, rel=1e-12)


def test_the_max_of_hinges_by_hand() -> None:
    for loss in both_losses(SIMILARITY, torch.eye(3, dtype=torch.bool), ranking("max")):
        assert loss == pytest.approx(0.1 + 0.15 + 0.1 + 0.5 + 0.25, rel=1e-12)


def test_two_captions_of_an_image_are_two_pairs_and_no_negatives() -> None:
    similarity = torch.tensor([[0.5, 0.4], [0.3, 0.2], [0.45, 0.6]], dtype=torch.double)
    own = torch.tensor([[True, False], [True, False], [False, True]])
    # captions: 0.1, 0.1, 0.05; image 0 with caption 0: 0.15, with caption 1: 0.35; image 1: 0, with 0 and 1
    for loss in both_losses(similarity, own, ranking()):
        assert loss == pytest.approx(0.75, rel=1e-12)


def test_the_order_similarity_by_hand() -> None:
    captions, images = torch.tensor([[0.6, 0.8, 0.0]]), torch.tensor([[0.0, 1.0, 0.0], [0.6, 0.8, 0.0]])
    for function in (similarities, reference.similarities):
        torch.testing.assert_close(function(captions, images, "order"), torch.tensor([[-0.36, 0.0]]))
        # An image is below its caption, not above it: in the other direction only 1.0 - 0.8 is penalised.
        torch.testing.assert_close(function(images[:1], captions, "order"), torch.tensor([[-0.04]]))


def test_gradients_of_the_order_similarity_by_hand() -> None:
    caption = torch.tensor([[0.5, 0.1]], requires_grad=True)
    image = torch.tensor([[0.2, 0.4]], requires_grad=True)
    similarities(caption, image, "order").sum().backward()
    assert caption.grad is not None and image.grad is not None
    torch.testing.assert_close(caption.grad, torch.tensor([[-0.6, 0.0]]))
    torch.testing.assert_close(image.grad, torch.tensor([[0.6, 0.0]]))


@st.composite
def batches(draw: st.DrawFn) -> tuple[Slotted, list[Slotted], Chosen]:
    """Images, captions of some of them in two or three languages, and settings."""
    generator = np.random.default_rng(draw(st.integers(0, 10_000)))
    kind = draw(st.sampled_from(["cosine", "order"]))
    count, each = draw(st.integers(2, 8)), draw(st.integers(1, 3))

    def slotted(slots: list[int]) -> Slotted:
        vectors = F.normalize(torch.tensor(generator.normal(size=(len(slots), 5))), dim=-1)
        return Slotted(vectors.abs() if kind == "order" else vectors, torch.tensor(slots))

    languages = []
    for _ in range(draw(st.integers(2, 3))):
        captioned = sorted(generator.choice(count, int(generator.integers(2, count + 1)), replace=False))
        languages.append(slotted([int(slot) for slot in captioned for _ in range(each)]))
    chosen = ranking(draw(st.sampled_from(["sum", "max"])), kind, draw(st.sampled_from([0.05, 0.5])), 0.7)
    return slotted(list(range(count))), languages, chosen


def loss_by_reading(first: Slotted, second: Slotted, chosen: Chosen) -> float:
    similarity = reference.similarities(first.vectors, second.vectors, chosen[1])
    return reference.ranking_loss(
        similarity, first.slots[:, None] == second.slots, chosen[0].model_dump()
    ).item()


@given(batches())
@settings(max_examples=60, deadline=None)
def test_the_terms_equal_the_plain_reading(batch: tuple[Slotted, list[Slotted], Chosen]) -> None:
    images, languages, chosen = batch
    terms = ranking_terms(images, languages, *chosen)
    with_images = sum(loss_by_reading(captions, images, chosen) for captions in languages)
    between = sum(loss_by_reading(first, second, chosen) for first, second in combinations(languages, 2))
    assert terms["caption_image"].item() == pytest.approx(with_images, rel=1e-9, abs=1e-12)
    assert terms["caption_caption"].item() == pytest.approx(0.7 * between, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("hinge", ["sum", "max"])
@pytest.mark.parametrize("kind", ["cosine", "order"])
def test_pairs_separated_by_the_margin_cost_nothing(hinge: Hinge, kind: str) -> None:
    axes = Slotted(torch.eye(3), torch.arange(3))
    # On different axes the cosine is 0 and the order similarity -1, on the same one 1 and 0.
    apart = ranking_terms(axes, [axes, axes], *ranking(hinge, kind, margin=1.0, between=1.0))
    assert {name: value.item() for name, value in apart.items()} == {"caption_image": 0, "caption_caption": 0}
    closer = ranking_terms(axes, [axes, axes], *ranking(hinge, kind, margin=1.1, between=1.0))
    assert all(value.item() > 0 for value in closer.values())


def test_languages_without_a_common_image_cost_nothing_between_them() -> None:
    images = Slotted(torch.eye(4), torch.arange(4))
    first = Slotted(torch.eye(4)[:2].requires_grad_(), torch.tensor([0, 1]))
    second = Slotted(torch.eye(4)[2:], torch.tensor([2, 3]))
    for hinge in ("sum", "max"):
        between = ranking_terms(images, [first, second], *ranking(hinge, between=1.0))["caption_caption"]
        assert between.item() == 0.0
        between.backward()


def test_captions_of_one_language_or_without_a_weight_have_no_term_between_them() -> None:
    axes = Slotted(torch.eye(3), torch.arange(3))
    assert list(ranking_terms(axes, [axes], *ranking(between=1.0))) == ["caption_image"]
    assert list(ranking_terms(axes, [axes, axes], *ranking(between=0.0))) == ["caption_image"]


def test_order_similarities_are_the_same_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    captions, images = torch.rand(7, 5), torch.rand(4, 5)
    whole = similarities(captions, images, "order")
    monkeypatch.setattr("pipeline.models.similarity.NUMBERS", 2 * images.numel())
    assert torch.equal(similarities(captions, images, "order"), whole)
