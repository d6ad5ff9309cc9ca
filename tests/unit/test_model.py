"""Sizes and shapes of the models; padding and other sentences in a batch change nothing."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from run_stages import block_of
from small import corpus, record, universal, word_model
from torch import nn
from torch.nn import functional as F

from pipeline.evaluation import embed
from pipeline.models.model import RetrievalModel, count_parameters, load_model, save_model
from pipeline.models.settings import Model, ModelSettings
from pipeline.words.corpus import Sentences

PAPER: dict[str, Any] = Model(recurrent_init="pytorch").model_dump()
SMALL = {**PAPER, "universal_dim": 8, "multimodal_dim": 6, "hidden_size": 10, "image_hidden_size": 12}


def model(
    branches: str, settings: dict[str, Any], languages: tuple[str, ...] = ("en", "de")
) -> RetrievalModel:
    torch.manual_seed(0)
    size, features = (300, 2048) if settings is PAPER else (5, 9)
    vectors = {language: F.pad(torch.randn(7, size), (0, 0, 1, 0)) for language in languages}
    return word_model({"branches": branches, "model": settings}, vectors, features).eval()


def test_dropout_is_that_of_the_settings() -> None:
    """In the image branch and, without recurrence, in the sentence branch."""
    for recurrent, branches in {"lstm": 1, "mlp": 2}.items():
        made = model("shared", {**SMALL, "recurrent": recurrent, "dropout": 0.3})
        assert [layer.p for layer in made.modules() if isinstance(layer, nn.Dropout)] == [0.3] * branches


@pytest.mark.parametrize("recurrent", ["lstm", "gru", "gru_reset_before", "mean"])
@pytest.mark.parametrize("branches", ["shared", "separate"])
def test_a_sentence_is_embedded_the_same_alone_and_in_a_batch(recurrent: str, branches: str) -> None:
    made = model(branches, {**SMALL, "recurrent": recurrent})
    short = Sentences(torch.tensor([[3, 1]]), torch.tensor([2]))
    padded = Sentences(torch.tensor([[2, 4, 4, 1], [3, 1, 0, 0]]), torch.tensor([4, 2]))
    other = Sentences(torch.tensor([[5, 1, 2, 2, 6]]), torch.tensor([5]))
    alone = made.embed_sentences({"en": short})
    together = made.embed_sentences({"en": padded, "de": other})  # English sentences first, two of them
    torch.testing.assert_close(together.multimodal[1:2], alone.multimodal)
    torch.testing.assert_close(together.universal[1:2], alone.universal)


def test_a_split_is_embedded_in_chunks_in_its_own_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty images and sixty sentences; neither number is a multiple of a chunk."""
    split, made = corpus(), model("shared", SMALL).double()
    part = split.languages["en"]
    part.ids.clamp_(max=6)  # words that the model has
    monkeypatch.setattr(embed, "CHUNK", 7)
    alone = [made.embed_sentences({"en": part.take(np.array([row]))}).multimodal[0] for row in range(60)]
    torch.testing.assert_close(embed.embed_sentences(made, "en", part), torch.stack(alone))
    shown = torch.stack([made.embed_images(image[None])[0] for image in split.features])
    torch.testing.assert_close(embed.embed_images(made, split), shown)


def test_a_shared_branch_treats_languages_alike_and_separate_branches_do_not() -> None:
    sentences = Sentences(torch.tensor([[1, 2, 3]]), torch.tensor([3]))
    for branches, alike in (("shared", True), ("separate", False)):
        made = model(branches, SMALL)
        for language in ("en", "de"):
            universal(made)[language].load_state_dict(universal(made)["en"].state_dict())
        english, german = made.embed_sentences({"en": sentences, "de": sentences}).multimodal
        assert torch.allclose(english, german) == alike


def test_a_model_saved_in_float16_has_half_the_size_and_rounded_weights(tmp_path: Path) -> None:
    sizes, loaded = {}, {}
    for precision in (None, "float16"):
        settings = {**SMALL, "image_hidden_size": 4000, "saved_precision": precision}
        chosen = block_of(ModelSettings, {"languages": ["en", "de"], "model": settings})
        path = tmp_path / f"{precision}.pt"
        save_model(path, model("shared", settings), record(chosen))
        sizes[precision], loaded[precision] = path.stat().st_size, load_model(path)[0].state_dict()
    assert 1.9 < sizes[None] / sizes["float16"] < 2
    for name, weight in loaded[None].items():
        of_half = loaded["float16"][name]
        assert of_half.dtype == weight.dtype
        # float16 keeps 11 bits
        torch.testing.assert_close(of_half, weight, rtol=2**-11, atol=1e-7)


def test_a_shared_universal_layer_is_one_for_all_languages() -> None:
    made = model("shared", {**SMALL, "universal_layers": "shared"})
    apart = model("shared", SMALL)
    assert universal(made)["de"].projection is universal(made)["en"].projection
    assert count_parameters(apart) - count_parameters(made) == 5 * 8 + 8
    assert len(universal(made).projections()) == 2
    torch.testing.assert_close(universal(made)["en"].table.weight, universal(apart)["en"].table.weight)


def test_sentence_vectors_are_read_in_place_of_words() -> None:
    """u is the language's linear layer at length 1, s the branch's two layers, with batch norm and ReLU."""
    made = model("shared", {**SMALL, "recurrent": "mlp", "universal_layers": "shared"})
    vectors = torch.randn(2, 5)
    sentences = Sentences(torch.tensor([[1], [2]]), torch.tensor([1, 1]), vectors)
    found = made.embed_sentences({"de": sentences})
    first = universal(made)["de"].projection(vectors)
    torch.testing.assert_close(found.universal, F.normalize(first, dim=-1))
    hidden, last = (made.branches["shared"].get_submodule(f"layers.{place}") for place in (0, 4))
    scale = (1 + 1e-5) ** 0.5  # batch norm in evaluation mode, its running variance still 1
    torch.testing.assert_close(found.multimodal, F.normalize(last((hidden(first) / scale).relu()), dim=-1))


def test_drift_by_hand() -> None:
    made = universal(model("shared", SMALL))
    assert made.drift().item() == 0.0
    with torch.no_grad():
        made["en"].table.weight[2, 3] += 2.0
    assert made.drift().item() == pytest.approx((0.5 * 2.0**2 + 0) / 2)
    made.forget_initial()
    assert made.drift().item() == 0.0


@pytest.mark.parametrize("encoder", ["embn", "vse"])
def test_linear_layers_are_initialised_as_in_the_authors_framework(encoder: str) -> None:
    """Glorot uniform, +-sqrt(6 / (fan in + fan out)), and biases of zero."""
    sizes = {"universal_dim": 70, "multimodal_dim": 60, "hidden_size": 50, "image_hidden_size": 40}
    made = model("shared", {**SMALL, **sizes, "encoder": encoder, "recurrent": "gru"})
    layers = [layer for layer in made.modules() if isinstance(layer, nn.Linear)]
    assert len(layers) == {"embn": 2 + 1 + 2, "vse": 1}[encoder]
    for layer in layers:
        limit = math.sqrt(6 / sum(layer.weight.shape))
        assert -limit <= layer.weight.min() < -0.9 * limit
        assert 0.9 * limit < layer.weight.max() <= limit
        assert not layer.bias.any()


VSE = {**PAPER, "encoder": "vse", "word_vectors": "scratch", "recurrent": "gru"}


def test_vse_has_one_linear_layer_for_images_and_none_after_its_gru() -> None:
    """GRU of 1,024 units on words of 300 numbers, images of 4,096 (Kiros et al. 2014, public code)."""
    vectors = {"en": torch.zeros(11, 300)}
    made = word_model({"model": VSE}, vectors, 4096)
    assert count_parameters(made.branches) == 3 * 1024 * (300 + 1024 + 2)
    assert count_parameters(made.image_branch) == 1024 * (4096 + 1)
    assert count_parameters(universal(made)) == 11 * 300
    assert universal(made).projections() == []


def test_words_from_scratch_are_small_random_numbers_and_the_padding_zeros() -> None:
    made = model("separate", {**SMALL, "encoder": "vse", "recurrent": "gru", "word_vectors": "scratch"})
    table = universal(made)["en"].table.weight
    assert not table[0].any()
    torch.manual_seed(0)  # as `model` did, which draws vectors that are not used
    for _ in range(2):
        torch.randn(7, 5)
    assert torch.equal(table[1:], torch.empty(8, 5).uniform_(-0.1, 0.1)[1:])
    assert not torch.equal(table, universal(made)["de"].table.weight)
    torch.testing.assert_close(universal(made)["en"].initial, table)
