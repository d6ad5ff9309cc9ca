"""Masked cross-language modelling: masks, Equation 2 by hand and the plain reading, its terms in a step."""

import math
from collections.abc import Mapping
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from reference import losses as reference
from small import batch_of, corpus, segments_at, smalr_model, terms_of
from torch import Tensor, nn

from pipeline.models.losses.masking import masked_sentences, reconstruction_loss
from pipeline.words.corpus import Sentences


def test_all_or_no_words_are_masked_and_padding_never() -> None:
    sentences = Sentences(torch.tensor([[3, 4, 5], [6, 0, 0]]), torch.tensor([3, 1]))
    assert masked_sentences(sentences, 9, 1.0).ids.tolist() == [[9, 9, 9], [9, 0, 0]]
    assert masked_sentences(sentences, 9, 0.0).ids.tolist() == [[3, 4, 5], [6, 0, 0]]
    assert sentences.ids.tolist() == [[3, 4, 5], [6, 0, 0]]


def test_a_fifth_of_the_words_is_masked() -> None:
    torch.manual_seed(0)
    sentences = Sentences(torch.full((10_000, 10), 3), torch.full((10_000,), 10))
    found = masked_sentences(sentences, 9, 0.2).ids
    assert (found == 9).double().mean().item() == pytest.approx(0.2, abs=0.0064)  # five standard deviations
    assert set(found.unique().tolist()) == {3, 9}


EACH = {"en": 2, "de": 1, "cs": 3}
SLOTS = {"en": [0, 0, 1, 1, 2, 2, 3, 3], "de": [0, 1, 3], "cs": [1, 1, 1, 2, 2, 2]}

Vectors = Mapping[str, Tensor]  # by language


def loss_of(predictor: nn.Linear, masked: Vectors, whole: Vectors, slots: Mapping[str, list[int]]) -> Tensor:
    parts = segments_at(
        [slots[key] for key in masked], [EACH[key] if slots is SLOTS else 1 for key in masked]
    )
    before, after = (torch.cat(list(of.values())) for of in (masked, whole))
    return reconstruction_loss(predictor, before, after, parts)


def loss_by_reading(
    predictor: nn.Linear, masked: Vectors, whole: Vectors, slots: Mapping[str, list[int]]
) -> Tensor:
    weights: dict[str, Tensor] = {
        f"predictor.{name}": weight for name, weight in predictor.named_parameters()
    }
    places = {key: torch.tensor(of) for key, of in slots.items()}
    return reference.reconstruction_loss(weights, "predictor", masked, whole, places)


def embeddings(seed: int = 0) -> tuple[Vectors, Vectors]:
    """Three languages with two, one and three sentences per image; the second and third lack some images."""
    torch.manual_seed(seed)
    masked, whole = (
        {key: torch.randn(len(of), 4).double().requires_grad_() for key, of in SLOTS.items()}
        for _ in range(2)
    )
    return masked, whole


def test_equation_2_by_hand() -> None:
    """Unit vectors e1 and e2; a predictor of zeros leaves S^m, which is e1 of both, where S is e1 and e2."""
    predictor = nn.Linear(4, 4).double()
    nn.init.zeros_(predictor.weight)
    nn.init.zeros_(predictor.bias)
    e1, e2 = torch.tensor([[1.0, 0.0]]).double(), torch.tensor([[0.0, 1.0]]).double()
    given = {"en": 2 * e1, "de": e1}, {"en": e1, "de": 3 * e2}, {"en": [0], "de": [0]}
    # 0 for English, up to rounding in float32, and the square root of 2 for German.
    assert loss_of(predictor, *given).item() == pytest.approx(0.001 + math.sqrt(2))
    assert loss_by_reading(predictor, *given).item() == pytest.approx(math.sqrt(2))
    with torch.no_grad():
        predictor.bias[3] = 1.0  # S' of German is e2: e1 + e2 is 45 degrees from e2
    expected = math.sqrt(2 - math.sqrt(2))
    assert loss_of(predictor, *given).item() == pytest.approx(0.001 + expected)
    assert loss_by_reading(predictor, *given).item() == pytest.approx(expected)


@given(st.permutations(list(SLOTS)), st.integers(0, 20))
def test_loss_and_gradients_equal_the_plain_reading(order: list[str], seed: int) -> None:
    """In any order of languages with unequal numbers of sentences, and of images."""
    masked, whole = ({key: part[key] for key in order} for part in embeddings(seed))
    predictor = nn.Linear(8, 8).double()
    losses = [loss(predictor, masked, whole, SLOTS) for loss in (loss_of, loss_by_reading)]
    torch.testing.assert_close(*losses, rtol=1e-12, atol=0)
    learned = [*predictor.parameters(), *masked.values(), *whole.values()]
    both = [torch.autograd.grad(loss, learned, retain_graph=True) for loss in losses]
    for first, second in zip(*both, strict=True):
        torch.testing.assert_close(first, second, rtol=1e-10, atol=1e-12)


def test_languages_without_a_common_image_cost_nothing() -> None:
    predictor = nn.Linear(8, 8).double()
    apart = {key: torch.randn(1, 4).double().requires_grad_() for key in ("en", "de")}
    loss = loss_of(predictor, apart, apart, {"en": [0], "de": [1]})
    assert loss.item() == 0
    assert not torch.autograd.grad(loss, apart["en"])[0].any()


@pytest.fixture
def masking(experiment: dict[str, Any]) -> dict[str, Any]:
    """Settings of a small SMALR."""
    experiment["model"] |= {"recurrent": "gru"}
    experiment["triplets"] = {"margin": 0.05, "num_hard_negatives": 10, "distance": "cosine"}
    return experiment | {
        "embedding": "hybrid",
        "masking": {"mask_probability": 0.2, "weight": 1e-4, "matching": 1.0},
    }


def test_masked_sentences_leave_no_trace_in_what_evaluation_reads(masking: dict[str, Any]) -> None:
    """Without recurrence the branch has batch norm, whose statistics must be equal in HEM and SMALR."""
    masking["model"]["recurrent"] = "mean"
    masking["masking"]["mask_probability"] = 0.9
    drawn = batch_of(masking)
    evaluated_with, momentum = [], masking["model"]["batch_norm_momentum"]
    for settings in (masking, {key: value for key, value in masking.items() if key != "masking"}):
        made = smalr_model(masking).train()
        terms_of(made, corpus(), drawn, settings)
        evaluated_with.append({name: of for name, of in made.named_buffers() if ".running_" in name})
        norms = [layer for layer in made.modules() if isinstance(layer, nn.BatchNorm1d)]
        assert [norm.momentum for norm in norms] == [momentum, momentum]
    with_masks, without = evaluated_with
    assert len(with_masks) == 4 and with_masks["branches.shared.layers.0.running_mean"].all()  # initially 0
    assert all(torch.equal(with_masks[name], without[name]) for name in without)
