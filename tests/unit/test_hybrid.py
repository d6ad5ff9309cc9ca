"""The hybrid embedding on numbers worked out by hand, and beside a plain reading of it."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from pipeline.common.errors import InputError
from pipeline.models.hybrid import HybridEmbedding, Places, begun, empty, reduced, write_places
from pipeline.words.corpus import Sentences

# English: words 1 and 3 have own vectors (3 is the more frequent), 2 is entry 2, 4 is entry 1.
# German: word 1 is entry 2, too; nobody has an own vector.
PLACES = {
    "en": Places(torch.tensor([0, 2, 0, 1, 0]), torch.tensor([0, 0, 2, 0, 1])),
    "de": Places(torch.tensor([0, 0]), torch.tensor([0, 2])),
}
OWN = {"en": torch.tensor([[1.0], [2.0]]).double(), "de": torch.zeros(0, 1).double()}
ENTRIES = torch.tensor([[10.0, 0.0], [0.0, 20.0]]).double()


def hybrid(masks: bool = False) -> HybridEmbedding:
    made = HybridEmbedding(OWN, PLACES, ENTRIES, masks).double()
    layer = made["en"].projection
    assert layer
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[3.0], [5.0]]))
        layer.bias.copy_(torch.tensor([0.5, -0.5]))
    return made


def test_frequent_words_pass_the_layer_and_others_are_entries() -> None:
    found = hybrid().words("en", torch.tensor([0, 1, 2, 3, 4]))
    expected = [[0, 0], [6.5, 9.5], [0, 20], [3.5, 4.5], [10, 0]]
    assert found.tolist() == expected


def test_a_word_of_another_language_shares_the_entry() -> None:
    made = hybrid()
    assert torch.equal(made.words("de", torch.tensor([1])), made.words("en", torch.tensor([2])))


def test_mask_is_one_vector_for_all_languages() -> None:
    made = hybrid(masks=True)
    assert (made.mask_id("en"), made.mask_id("de")) == (5, 2)
    english, german = (made.words(key, torch.tensor([made.mask_id(key)])) for key in ("en", "de"))
    assert torch.equal(english, german)
    assert torch.equal(english[0], made.entries.weight[3])
    assert english.abs().max() > 0
    assert not hybrid().words("en", torch.tensor([5])).any()


def test_mask_begins_with_numbers_between_minus_and_plus_a_tenth() -> None:
    torch.manual_seed(3)
    made = HybridEmbedding(OWN, PLACES, ENTRIES.float(), masks=True)
    torch.manual_seed(3)
    assert torch.equal(made.entries.weight[-1], torch.empty(2).uniform_(-0.1, 0.1))


def test_a_sentence_is_the_mean_of_its_words() -> None:
    sentences = Sentences(torch.tensor([[1, 2, 4], [3, 0, 0]]), torch.tensor([3, 1]))
    found = hybrid().means("en", sentences)
    assert found.tolist() == [[16.5 / 3, 29.5 / 3], [3.5, 4.5]]


def test_words_one_after_another_and_distinct_words_are_the_same_vectors() -> None:
    made = hybrid()
    sentences = {
        "en": Sentences(torch.tensor([[1, 2, 4], [3, 1, 0]]), torch.tensor([3, 2])),
        "de": Sentences(torch.tensor([[1]]), torch.tensor([1])),
    }
    vectors, lengths = made.unpadded(sentences)
    assert vectors.tolist() == [[6.5, 9.5], [0, 20], [10, 0], [3.5, 4.5], [6.5, 9.5], [0, 20]]
    assert lengths.tolist() == [3, 2, 1]
    distinct, ids, _ = made.distinct(sentences)
    assert torch.equal(distinct[ids[0]], made.words("en", torch.tensor([1, 2, 4])))


def test_only_words_that_are_there_have_a_gradient() -> None:
    made = hybrid(masks=True)
    made.means("en", Sentences(torch.tensor([[1, 2]]), torch.tensor([2]))).sum().backward()
    table, entries = made["en"].table.weight.grad, made.entries.weight.grad
    assert table is not None and entries is not None
    assert table.abs().sum(1).gt(0).tolist() == [False, True]
    assert entries.abs().sum(1).gt(0).tolist() == [False, False, True, False]


def test_gradients_are_those_of_finite_differences() -> None:
    made = hybrid(masks=True)
    sentences = {"en": Sentences(torch.tensor([[1, 2, 4], [3, 5, 0]]), torch.tensor([3, 2]))}
    names = ["entries.weight", "en.table.weight", "en.projection.weight", "en.projection.bias"]
    begin = [made.get_parameter(name).detach().clone().requires_grad_() for name in names]

    def read(*values: Tensor) -> Tensor:
        entries = torch.cat([torch.zeros(1, 2), values[0][1:]])  # padding's row is no weight
        state = dict(zip(names, [entries, *values[1:]], strict=True))
        with torch.nn.utils.stateless._reparametrize_module(made, state):
            words, _ = made.unpadded(sentences)
            return made.means("en", sentences["en"]).square().sum() + words.square().sum()

    assert torch.autograd.gradcheck(read, begin)


def test_own_vectors_are_held_near_their_begin_and_entries_are_not() -> None:
    made = hybrid()
    assert made.drift().item() == 0
    with torch.no_grad():
        made["en"].table.weight += torch.tensor([[1.0], [3.0]])
        made.entries.weight += 7
    assert made.drift().item() == (1 + 9) / 2 / 2  # mean over two languages


def test_principal_components_of_points_on_a_line() -> None:
    line = torch.tensor([[1.0, 2.0], [2.0, 4.0], [6.0, 12.0]])
    found = reduced(line, 1)[:, 0]
    assert found.tolist() == pytest.approx([-2 * 5**0.5, -1 * 5**0.5, 3 * 5**0.5], rel=1e-6)


def test_principal_components_keep_distances_and_are_uncorrelated() -> None:
    torch.manual_seed(0)
    vectors = torch.randn(40, 6).double() @ torch.randn(6, 6).double()
    found = reduced(vectors, 6)
    centred = vectors - vectors.mean(0)
    assert torch.allclose(found @ found.T, centred @ centred.T)
    covariance = found.T @ found
    variances = covariance.diagonal()
    assert torch.allclose(covariance, variances.diag(), atol=1e-8)
    assert (variances.diff() < 0).all()
    with pytest.raises(InputError, match="7 principal components of vectors of 6"):
        reduced(vectors, 7)


def settings(masking: bool = False) -> dict[str, Any]:
    return {
        "languages": ["en", "de"],
        "hybrid": {"frequent_dim": 2},
        **({"masking": {"mask_probability": 0.2}} if masking else {}),
    }


@pytest.mark.parametrize("masking", [False, True])
def test_it_begins_with_what_was_assigned_and_is_read_back(tmp_path: Path, masking: bool) -> None:
    torch.manual_seed(0)
    vectors = {"en": torch.randn(5, 4), "de": torch.randn(2, 4)}
    torch.save(write_places(ENTRIES.float(), PLACES), tmp_path / "entries.pt")
    made = begun(vectors, tmp_path / "entries.pt", settings(masking))
    components = reduced(vectors["en"][1:], 2)
    assert torch.equal(made["en"].table.weight, components[[2, 0]])  # word 3, then word 1
    assert torch.equal(made.entries.weight[1:3], ENTRIES.float())
    weights = {f"universal.{key}": value for key, value in made.state_dict().items()}
    again = empty(weights, settings(masking))
    missing = again.load_state_dict(made.state_dict())
    assert not missing.missing_keys and not missing.unexpected_keys
    ids = torch.arange(6 if masking else 5)
    assert torch.equal(again.words("en", ids), made.words("en", ids))


def test_other_vocabularies_and_damaged_files_are_told(tmp_path: Path) -> None:
    path = tmp_path / "entries.pt"
    with pytest.raises(InputError, match="run `assign`"):
        begun({"en": torch.zeros(5, 4)}, None, settings())
    torch.save(write_places(ENTRIES.float(), PLACES), path)
    with pytest.raises(InputError, match="'en': assigned 5 words, the vocabulary has 9") as told:
        begun({"en": torch.zeros(9, 4), "fr": torch.zeros(3, 4)}, path, settings())
    assert "'fr': assigned 0 words, the vocabulary has 3" in str(told.value)
    path.write_text("<html>")
    with pytest.raises(InputError, match="not an assignment of words"):
        begun({"en": torch.zeros(5, 4)}, path, settings())
