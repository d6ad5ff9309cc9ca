"""The hybrid embedding on numbers worked out by hand, and against a plain reading."""

import pytest
import torch
from small import fill, hybrid_values
from torch import nn

from pipeline.common.errors import InputError
from pipeline.models.embedding import Sizes
from pipeline.models.hybrid import HybridEmbedding, WordRows
from pipeline.models.settings import EmbeddingSettings, Hybrid, Masking, UniversalModel
from pipeline.words.components import principal_components
from pipeline.words.corpus import Sentences

# English: words 1 and 3 have own vectors (3 is the more frequent), 2 is entry 2, 4 is entry 1.
# German: word 1 is entry 2, too; no word has its own vector.
PLACES = {
    "en": WordRows(torch.tensor([0, 2, 0, 1, 0]), torch.tensor([0, 0, 2, 0, 1])),
    "de": WordRows(torch.tensor([0, 0]), torch.tensor([0, 2])),
}
OWN = {"en": torch.tensor([[1.0], [2.0]]).double(), "de": torch.zeros(1, 1).double()}
ENTRIES = torch.tensor([[10.0, 0.0], [0.0, 20.0]]).double()


def settings(masks: bool = False, vector: int = 1) -> EmbeddingSettings:
    """Settings: two words per language have their own vectors, of one number by default."""
    return EmbeddingSettings(
        languages=["en", "de"],
        model=UniversalModel(universal_dim=2),
        hybrid=Hybrid(frequent_words=2, frequent_dim=vector),
        masking=Masking() if masks else None,
    )


def new_embedding(masks: bool = False) -> HybridEmbedding:
    """The embedding before anything is copied into it; German has an unused row."""
    return HybridEmbedding(settings(masks), Sizes({"en": 5, "de": 2}, 300, shared=3))


def hybrid(masks: bool = False) -> HybridEmbedding:
    made = new_embedding(masks).double()
    fill(made, hybrid_values(OWN, PLACES, ENTRIES, masks))
    layer = made["en"].projection
    assert isinstance(layer, nn.Linear)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[3.0], [5.0]]))
        layer.bias.copy_(torch.tensor([0.5, -0.5]))
    return made


def test_frequent_words_pass_through_the_layer_and_others_are_entries() -> None:
    found = hybrid().words({"en": torch.tensor([0, 1, 2, 3, 4])})
    assert found.tolist() == [[0, 0], [6.5, 9.5], [0, 20], [3.5, 4.5], [10, 0]]


def test_mask_is_one_vector_for_all_languages() -> None:
    made = hybrid(masks=True)
    assert (made.mask_id("en"), made.mask_id("de")) == (5, 2)
    english, german = made.words({key: torch.tensor([made.mask_id(key)]) for key in ("en", "de")})
    assert torch.equal(english, german)
    assert torch.equal(english, made.entries.weight[3])
    assert english.abs().max() > 0
    assert not hybrid().words({"en": torch.tensor([5])}).any()


def test_mask_is_initialised_between_minus_and_plus_a_tenth() -> None:
    torch.manual_seed(3)
    made = new_embedding(masks=True)
    fill(made, hybrid_values(OWN, PLACES, ENTRIES.float(), masks=True))
    torch.manual_seed(3)
    assert torch.equal(made.entries.weight[-1], torch.empty(2).uniform_(-0.1, 0.1))


def test_words_are_read_sentence_by_sentence_and_each_is_computed_once() -> None:
    made = hybrid()
    sentences = {
        "en": Sentences(torch.tensor([[1, 2, 4], [3, 1, 0]]), torch.tensor([3, 2])),
        "de": Sentences(torch.tensor([[1]]), torch.tensor([1])),
    }
    words = made.read(sentences)
    assert words.in_order().tolist() == [[6.5, 9.5], [0, 20], [10, 0], [3.5, 4.5], [6.5, 9.5], [0, 20]]
    assert words.vectors.tolist() == [[6.5, 9.5], [0, 20], [3.5, 4.5], [10, 0], [0, 20]]  # en 1 to 4, de 1
    assert words.lengths.tolist() == [3, 2, 1]


def test_only_words_in_the_batch_have_a_gradient() -> None:
    made = hybrid(masks=True)
    made.read({"en": Sentences(torch.tensor([[1, 2]]), torch.tensor([2]))}).means.sum().backward()
    table, entries = made["en"].table.weight.grad, made.entries.weight.grad
    assert table is not None and entries is not None
    assert table.abs().sum(1).gt(0).tolist() == [False, True]
    assert entries.abs().sum(1).gt(0).tolist() == [False, False, True, False]


def test_own_vectors_are_regularised_and_entries_are_not() -> None:
    made = hybrid()
    assert made.drift().item() == 0
    with torch.no_grad():
        made["en"].table.weight += torch.tensor([[1.0], [3.0]])
        made.entries.weight += 7
    assert made.drift().item() == (1 + 9) / 2 / 2  # mean over two languages


def test_principal_components_keep_distances_and_are_uncorrelated() -> None:
    torch.manual_seed(0)
    vectors = torch.randn(40, 6).double() @ torch.randn(6, 6).double()
    found = principal_components(vectors, 6)
    centred = vectors - vectors.mean(0)
    assert torch.allclose(found @ found.T, centred @ centred.T)
    covariance = found.T @ found
    variances = covariance.diagonal()
    assert torch.allclose(covariance, variances.diag(), atol=1e-8)
    assert (variances.diff() < 0).all()
    with pytest.raises(InputError, match="vectors of 6 numbers have no 7 principal components"):
        principal_components(vectors, 7)
