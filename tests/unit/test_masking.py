"""Masked cross-language modelling: masks, Equation 2 by hand and the plain reading, its terms in a step."""

import math
from collections.abc import Mapping
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from reference import losses as reference
from small import WORDS, batch_of, corpus, smalr_model, terms_of
from torch import Tensor, nn

from pipeline.models.losses import masking as of_masking
from pipeline.models.losses.masking import masked_sentences, reconstruction_loss
from pipeline.models.losses.triplets import Anchored
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


def loss_by_reading(
    predictor: nn.Linear, masked: Mapping[str, Anchored], whole: Mapping[str, Anchored]
) -> float:
    weights = {f"predictor.{name}": weight.detach() for name, weight in predictor.named_parameters()}
    before, after = ({key: part.vectors for key, part in of.items()} for of in (masked, whole))
    slots = {key: part.slots for key, part in masked.items()}
    return reference.reconstruction_loss(weights, "predictor", before, after, slots).item()


def embeddings(seed: int = 0) -> tuple[dict[str, Anchored], dict[str, Anchored]]:
    """Three languages: two sentences an image, one, three; the second and third lack some images."""
    torch.manual_seed(seed)
    slots = {"en": [0, 0, 1, 1, 2, 2, 3, 3], "de": [0, 1, 3], "cs": [1, 1, 1, 2, 2, 2]}
    each = {"en": 2, "de": 1, "cs": 3}
    masked, whole = (
        {
            key: Anchored(torch.randn(len(rows), 4).double(), torch.tensor(rows), each[key])
            for key, rows in slots.items()
        }
        for _ in range(2)
    )
    return masked, whole


def test_equation_2_by_hand() -> None:
    """Unit vectors e1 and e2; a predictor of zeros leaves S^m, which is e1 of both, where S is e1 and e2."""
    predictor = nn.Linear(4, 4).double()
    nn.init.zeros_(predictor.weight)
    nn.init.zeros_(predictor.bias)
    e1, e2 = torch.tensor([[1.0, 0.0]]).double(), torch.tensor([[0.0, 1.0]]).double()
    slot = torch.tensor([0])
    masked = {"en": Anchored(2 * e1, slot, 1), "de": Anchored(e1, slot, 1)}
    whole = {"en": Anchored(e1, slot, 1), "de": Anchored(3 * e2, slot, 1)}
    # 0 for English, but for what float32 cannot tell from it, and the square root of 2 for German.
    assert reconstruction_loss(predictor, masked, whole).item() == pytest.approx(0.001 + math.sqrt(2))
    assert loss_by_reading(predictor, masked, whole) == pytest.approx(math.sqrt(2))
    with torch.no_grad():
        predictor.bias[3] = 1.0  # S' of German is e2: e1 + e2 is 45 degrees from e2
    expected = math.sqrt(2 - math.sqrt(2))
    assert reconstruction_loss(predictor, masked, whole).item() == pytest.approx(0.001 + expected)
    assert loss_by_reading(predictor, masked, whole) == pytest.approx(expected)


def test_who_is_predicted_from_whom() -> None:
    """Weights that copy the second sentence to what the first lacks, and nothing else."""
    predictor = nn.Linear(4, 4).double()
    nn.init.zeros_(predictor.weight)
    nn.init.zeros_(predictor.bias)
    with torch.no_grad():
        predictor.weight[:2, 2:] = 100 * torch.eye(2)
    slot, zero = torch.tensor([0]), torch.zeros(1, 2).double()
    e1, e2 = torch.tensor([[1.0, 0.0]]).double(), torch.tensor([[0.0, 1.0]]).double()
    masked = {"en": Anchored(zero, slot, 1), "de": Anchored(e2, slot, 1)}
    whole = {"en": Anchored(e2, slot, 1), "de": Anchored(e2, slot, 1)}
    assert reconstruction_loss(predictor, masked, whole).item() == pytest.approx(0.002)
    turned = {"en": Anchored(e1, slot, 1), "de": Anchored(e2, slot, 1)}
    assert reconstruction_loss(predictor, masked, turned).item() == pytest.approx(0.001 + math.sqrt(2))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_loss_is_that_of_a_plain_reading(seed: int) -> None:
    masked, whole = embeddings(seed)
    predictor = nn.Linear(8, 8).double()
    found = reconstruction_loss(predictor, masked, whole)
    assert found.item() == pytest.approx(loss_by_reading(predictor, masked, whole), rel=1e-12)


@given(st.permutations(["en", "de", "cs"]), st.integers(0, 5))
def test_so_it_is_in_any_order_of_the_languages(order: list[str], seed: int) -> None:
    masked, whole = ({key: part[key] for key in order} for part in embeddings(seed))
    predictor = nn.Linear(8, 8).double()
    found = reconstruction_loss(predictor, masked, whole)
    assert found.item() == pytest.approx(loss_by_reading(predictor, masked, whole), rel=1e-12)


def test_gradients_are_those_of_finite_differences() -> None:
    masked, whole = embeddings()
    predictor = nn.Linear(8, 8).double()

    def loss(weight: Tensor, bias: Tensor, english: Tensor, german: Tensor, target: Tensor) -> Tensor:
        state = {"weight": weight, "bias": bias}
        given = {**masked, "en": _with(masked["en"], english), "de": _with(masked["de"], german)}
        with torch.nn.utils.stateless._reparametrize_module(predictor, state):
            return reconstruction_loss(predictor, given, {**whole, "de": _with(whole["de"], target)})

    values = [predictor.weight, predictor.bias]
    values += [masked["en"].vectors, masked["de"].vectors, whole["de"].vectors]
    assert torch.autograd.gradcheck(loss, [value.detach().clone().requires_grad_() for value in values])


def _with(part: Anchored, vectors: Tensor) -> Anchored:
    return Anchored(vectors, part.slots, part.each)


def test_languages_without_a_common_image_cost_nothing() -> None:
    predictor = nn.Linear(8, 8).double()
    apart = {
        key: Anchored(torch.randn(1, 4).double(), torch.tensor([slot]), 1)
        for slot, key in enumerate(("en", "de"))
    }
    assert reconstruction_loss(predictor, apart, apart).item() == 0


@pytest.fixture
def masking(experiment: dict[str, Any]) -> dict[str, Any]:
    """Settings of a small SMALR."""
    experiment["model"] |= {"recurrent": "gru"}
    experiment["triplets"] = {"margin": 0.05, "num_hard_negatives": 10, "distance": "cosine"}
    return experiment | {
        "embedding": "hybrid",
        "masking": {"mask_probability": 0.2, "weight": 1e-4, "matching": 1.0},
    }


def test_a_step_matches_masked_sentences_with_images_too(masking: dict[str, Any]) -> None:
    made = smalr_model(masking)
    drawn = batch_of(masking)
    terms = terms_of(made, corpus(), drawn, masking)
    named = ["matching", "masked_matching", "masking", "neighborhood", "classifier", "words"]
    assert list(terms) == named
    for weight, changed in (("weight", "masking"), ("matching", "masked_matching")):
        other = {**masking, "masking": {**masking["masking"], weight: 3 * masking["masking"][weight]}}
        torch.manual_seed(0)
        before = terms_of(made.eval(), corpus(), drawn, masking)
        torch.manual_seed(0)
        after = terms_of(made.eval(), corpus(), drawn, other)
        assert {name: (after[name] / before[name]).item() for name in (changed,)} == {
            changed: pytest.approx(3)
        }
        assert all(torch.equal(after[name], before[name]) for name in set(named) - {changed})


def test_mask_is_the_word_after_the_last_of_each_language(
    masking: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """German has a word more than English and French."""
    made, asked = smalr_model(masking), []
    german = made.universal.get_submodule("de")
    for name, place in (("own", 0), ("entry", 1)):
        rows = german.get_buffer(name)
        german.register_buffer(name, torch.cat([rows[:-1], torch.tensor([place]), rows[-1:]]))

    def noted(sentences: Sentences, mask: int, share: float) -> Sentences:
        asked.append(mask)
        return masked_sentences(sentences, mask, share)

    monkeypatch.setattr(of_masking, "masked_sentences", noted)
    drawn = batch_of(masking)
    terms_of(made, corpus(), drawn, masking)
    assert dict(zip(drawn.rows, asked, strict=True)) == {"en": WORDS + 1, "de": WORDS + 2, "fr": WORDS + 1}


def test_nothing_masked_is_the_matching_twice(masking: dict[str, Any]) -> None:
    masking["masking"]["mask_probability"] = 0.0
    drawn = batch_of(masking)
    terms = terms_of(smalr_model(masking).eval(), corpus(), drawn, masking)
    assert terms["masked_matching"].item() == pytest.approx(terms["matching"].item(), rel=1e-12)


def test_all_weights_are_learned(masking: dict[str, Any]) -> None:
    made = smalr_model(masking)
    drawn = batch_of(masking)
    torch.stack(list(terms_of(made, corpus(), drawn, masking).values())).sum().backward()
    without = [name for name, weight in made.named_parameters() if weight.grad is None]
    assert without == []


def test_masked_sentences_leave_no_trace_in_what_evaluation_reads(masking: dict[str, Any]) -> None:
    """Without recurrence the branch has batch norm: HEM and SMALR are evaluated with statistics alike."""
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
    assert len(with_masks) == 4 and with_masks["branches.shared.norm.running_mean"].all()  # begun at 0
    assert all(torch.equal(with_masks[name], without[name]) for name in without)
