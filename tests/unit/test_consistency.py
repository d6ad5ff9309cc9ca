"""Cross-lingual consistency: the network, its loss, and the matching of translations to captions, by hand."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from reference.losses import score_matching_loss
from small import segments_at
from torch import Tensor

from pipeline.common.errors import InputError
from pipeline.evaluation.consistency import (
    _combined_similarity,
    fill_missing,
    of_split,
    translated_tokens,
    translation_rows,
)
from pipeline.evaluation.ranks import both_ranks
from pipeline.models import consistency
from pipeline.models.consistency import Combiner, ScoredQueries, fit, triplet_loss
from pipeline.models.losses.matching import matching_loss
from pipeline.models.model import count_parameters
from pipeline.models.settings import Consistency, Matching, Triplets

TRIPLETS = Triplets(num_hard_negatives=3, distance="cosine")  # and a margin of 0.05
WEIGHTS = Matching(sentence_only=0.0)  # 1.5 and 1


def test_ten_languages_make_352_equal_weights() -> None:
    made = Combiner(10, 32, 1.0)
    assert count_parameters(made) == 352
    assert len(torch.cat([weight.flatten() for weight in made.parameters()]).unique()) == 1


@given(st.lists(st.floats(0, 1), min_size=4, max_size=4), st.floats(0.1, 10))
def test_the_network_starts_as_the_mean(scores: list[float], begin: float) -> None:
    with torch.no_grad():
        found = Combiner(4, 32, begin).double()(torch.tensor(scores).double())
    assert found.item() == pytest.approx(begin * np.mean(scores), rel=1e-6, abs=1e-9)


def test_without_a_relu_the_network_starts_as_the_mean_of_negative_scores_too() -> None:
    scores = torch.tensor([[-0.5, -0.1], [-0.2, -0.1]])
    with torch.no_grad():
        assert Combiner(2, 32, 1.0)(scores).tolist() == pytest.approx([-0.3, -0.15])
        assert Combiner(2, 32, 1.0, "relu")(scores).tolist() == [0.0, 0.0]


def test_a_single_image_to_learn_from_is_refused() -> None:
    single = ScoredQueries(torch.rand(3, 1, 2), torch.zeros(3, dtype=torch.long))
    with pytest.raises(InputError, match="a language has a single image"):
        fit(Combiner(2, 2, 1.0), [single], Consistency(), TRIPLETS, WEIGHTS)


def test_the_network_by_hand() -> None:
    made = Combiner(2, 2, 1.0, "relu")
    with torch.no_grad():
        made.first.weight.copy_(torch.tensor([[1.0, 2.0], [-1.0, 0.0]]))
        made.second.weight.copy_(torch.tensor([[3.0, 5.0]]))
        # 1 + 2 * 2 = 5 and -1, which ReLU makes 0; -1 + 2 = 1 and 1.
        assert made(torch.tensor([[1.0, 2.0], [-1.0, 1.0]])).tolist() == [15.0, 8.0]


def queries(seed: int = 0, images: int = 6, each: int = 2, languages: int = 3) -> ScoredQueries:
    torch.manual_seed(seed)
    image_of = torch.arange(images).repeat_interleave(each)
    return ScoredQueries(torch.rand(len(image_of), images, languages).double(), image_of)


@pytest.mark.parametrize("images", [6, 2])  # with two images there are fewer negatives than three
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_loss_equals_the_plain_reading(seed: int, images: int) -> None:
    made, asked = Combiner(3, 4, 1.0).double(), queries(seed, images)
    with torch.no_grad():
        made.first.weight.uniform_(-1, 1)
        expected = score_matching_loss(
            made(asked.scores), asked.image_of, TRIPLETS.model_dump(), WEIGHTS.model_dump()
        ).item()
    assert triplet_loss(made, asked, TRIPLETS, WEIGHTS).item() == pytest.approx(expected, rel=1e-12)


def test_the_loss_of_equal_scores_is_the_models_matching_loss() -> None:
    torch.manual_seed(0)
    images = torch.nn.functional.normalize(torch.rand(6, 4), dim=1).double()
    sentences = torch.nn.functional.normalize(torch.rand(12, 4), dim=1).double()
    slots = torch.arange(6).repeat_interleave(2)
    expected = matching_loss(images, sentences, segments_at([slots.tolist()], [2]), TRIPLETS, WEIGHTS)
    scores = (sentences @ images.T)[:, :, None].expand(-1, -1, 5)
    found = triplet_loss(Combiner(5, 32, 1.0).double(), ScoredQueries(scores, slots), TRIPLETS, WEIGHTS)
    assert found.item() == pytest.approx(expected.item(), rel=1e-6)


def test_gradients_are_those_of_finite_differences() -> None:
    made, asked = Combiner(3, 4, 1.0).double(), queries()
    with torch.no_grad():
        for weight in made.parameters():
            weight.add_(0.1 * torch.rand_like(weight))
    names = [name for name, _ in made.named_parameters()]

    def loss(*values: Tensor) -> Tensor:
        with torch.nn.utils.stateless._reparametrize_module(made, dict(zip(names, values, strict=True))):
            return triplet_loss(made, asked, TRIPLETS, WEIGHTS)

    begin = [weight.detach().clone().requires_grad_() for weight in made.parameters()]
    assert torch.autograd.gradcheck(loss, begin)


def test_chunks_of_pairs_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    made, asked = Combiner(3, 4, 1.0).double(), queries(images=9)
    whole = triplet_loss(made, asked, TRIPLETS, WEIGHTS)
    monkeypatch.setattr(consistency, "PAIRS", 20)
    assert torch.allclose(triplet_loss(made, asked, TRIPLETS, WEIGHTS), whole)


def test_the_network_learns_which_language_to_trust() -> None:
    """The first language's scores are right, the second's are noise."""
    torch.manual_seed(0)
    image_of = torch.arange(30)
    scores = torch.stack([torch.eye(30) * 0.3 + 0.3, torch.rand(30, 30)], 2)
    made = Combiner(2, 32, 1.0)
    losses = fit(made, [ScoredQueries(scores, image_of)], Consistency(learning_rate=1e-2), TRIPLETS, WEIGHTS)
    assert len(losses) == 30 and losses[-1] < losses[0]
    first = made.first.weight.detach()
    assert (first[:, 0] > first[:, 1]).all()
    again = Combiner(2, 32, 1.0)
    fit(again, [ScoredQueries(scores, image_of)], Consistency(learning_rate=1e-2), TRIPLETS, WEIGHTS)
    assert all(torch.equal(*pair) for pair in zip(made.parameters(), again.parameters(), strict=True))


def test_ranks_of_the_initial_network_are_those_of_the_mean() -> None:
    torch.manual_seed(0)
    images = torch.rand(40, 5)
    sentences = torch.rand(80, 3, 5)
    image_of = torch.arange(40).repeat_interleave(2)
    learned = both_ranks(
        images, sentences.flatten(1), image_of, _combined_similarity(Combiner(3, 32, 1.0), sentences.shape)
    )
    average = both_ranks(images, sentences.mean(1), image_of)
    by_score = torch.einsum("ble,ne->bnl", sentences, images).mean(2)
    right = by_score.gather(1, image_of[:, None])
    assert learned["s2i"].tolist() == average["s2i"].tolist() == (1 + (by_score > right).sum(1)).tolist()
    assert learned["i2s"].tolist() == average["i2s"].tolist()


def test_a_missing_translation_counts_as_the_mean_of_the_others() -> None:
    embedded = torch.tensor([[[1.0, 0.0], [0.0, 2.0], [7.0, 7.0]], [[1.0, 1.0], [5.0, 5.0], [9.0, 9.0]]])
    there = torch.tensor([[True, True, False], [True, False, False]])
    found = fill_missing(embedded, there)
    assert found.tolist() == [[[1, 0], [0, 2], [0.5, 1]], [[1, 1], [1, 1], [1, 1]]]


def test_the_informative_language_gets_most_of_the_weight() -> None:
    """One language scores the right image higher, with little noise; the other is noise."""
    torch.manual_seed(0)
    image_of = torch.arange(40).repeat_interleave(2)
    informative = 0.3 * torch.nn.functional.one_hot(image_of, 40) + 0.05 * torch.randn(80, 40)
    asked = ScoredQueries(torch.stack([informative, 0.2 * torch.randn(80, 40)], 2), image_of)
    made = Combiner(2, 32, 1.0)
    fit(made, [asked], Consistency(), TRIPLETS, WEIGHTS)
    weights = (made.second.weight @ made.first.weight)[0]
    assert (weights[0] / weights.sum()).item() > 0.8  # 0.62 with a rate of 1e-3


def table(rows: list[tuple[str, str, str]], left_out: set[tuple[str, str]] | None = None) -> pd.DataFrame:
    made = pd.DataFrame(rows, columns=["image", "caption", "tokens"]).assign(split="test")
    made.attrs = {"left_out": left_out or set(), "path": "de-en.csv"}
    return made


GERMAN = table([("1", "ein Hund", ""), ("2", "Katze", ""), ("1", "kein Hund", ""), ("2", "ein Kater", "")])


def test_translations_of_an_image_are_in_the_order_of_its_captions() -> None:
    english = table(
        [("1", "a dog", "a dog"), ("2", "cat", "cat"), ("1", "no dog", "no dog"), ("2", "tom", "tom")]
    )
    assert translation_rows(GERMAN, english).tolist() == [0, 1, 2, 3]
    turned = table(
        [("2", "cat", "cat"), ("2", "tom", "tom"), ("1", "a dog", "a dog"), ("1", "no dog", "no dog")]
    )
    assert translated_tokens(GERMAN, [turned]).tolist() == ["a dog", "cat", "no dog", "tom"]


def test_a_translation_that_was_left_out_does_not_shift_the_others() -> None:
    english = table([("1", "no dog", "no dog"), ("2", "cat", "cat")], {("1", "ein Hund"), ("2", "ein Kater")})
    assert translated_tokens(GERMAN, [english]).tolist() == ["", "cat", "no dog", ""]


def test_translations_of_translations() -> None:
    english = table(
        [("1", "no dog", "no dog"), ("2", "cat", "cat"), ("2", "tom", "tom")], {("1", "ein Hund")}
    )
    french = table([("1", "aucun chien", "aucun chien"), ("2", "matou", "matou")], {("2", "cat")})
    assert translated_tokens(GERMAN, [english, french]).tolist() == ["", "", "aucun chien", "matou"]


def test_other_numbers_of_translations_are_reported() -> None:
    english = table([("1", "a dog", "a dog"), ("2", "cat", "cat"), ("2", "tom", "tom")])
    with pytest.raises(
        InputError, match=r"de-en.csv: 1 images do not have as many translations as captions, such as 1,"
    ):
        translation_rows(GERMAN, english)


def test_a_split_keeps_what_was_left_out(tmp_path: Path) -> None:
    made = table([("1", "a", "a")], {("1", "b")})
    assert of_split(made, "test").attrs == made.attrs
    assert of_split(made, "val").empty
