"""Cross-lingual consistency: the network, its loss, and the matching of translations to captions, by hand."""

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pipeline.common.errors import InputError
from pipeline.datasets.table import caption_table
from pipeline.evaluation.consistency import fill_missing
from pipeline.evaluation.inputs import in_translation
from pipeline.models.consistency import Combiner, ScoredQueries, fit
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


def test_a_single_image_to_learn_from_is_refused() -> None:
    single = ScoredQueries(torch.rand(3, 1, 2), torch.zeros(3, dtype=torch.long))
    with pytest.raises(InputError, match="a language has a single image"):
        fit(Combiner(2, 2, 1.0), [single], Consistency(), TRIPLETS, WEIGHTS)


def test_a_weighted_sum_of_scores_is_the_score_of_the_weighted_sum() -> None:
    torch.manual_seed(0)
    images, sentences, made = (
        torch.rand(40, 5).double(),
        torch.rand(80, 3, 5).double(),
        Combiner(3, 32, 1.0).double(),
    )
    with torch.no_grad():
        made.first.weight.uniform_(-1, 1)
        weights = (made.second.weight @ made.first.weight)[0]
        scores = made(torch.einsum("ble,ne->bnl", sentences, images))
    torch.testing.assert_close(torch.einsum("ble,l->be", sentences, weights) @ images.T, scores)


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


def table(
    language: str, rows: list[tuple[str, int, str]], source: str = "", origin: str = "human"
) -> pd.DataFrame:
    made = caption_table([(image, "test", language, text, origin, source) for image, _, text in rows])
    return made.assign(number=[number for _, number, _ in rows], tokens=made["caption"].str.lower())


GERMAN = table("de", [("1", 0, "ein Hund"), ("2", 0, "Katze"), ("1", 1, "kein Hund"), ("2", 1, "ein Kater")])


def test_a_translation_has_the_image_and_number_of_its_caption() -> None:
    """In any order; two captions have none, and image 3 is in another split."""
    english = table("en", [("2", 0, "Cat"), ("3", 0, "Bird"), ("1", 1, "No dog")], "de", "google")
    found = in_translation(GERMAN, english)
    assert found["tokens"].tolist() == ["", "cat", "no dog", ""]
    assert found["caption"].tolist() == ["", "Cat", "No dog", ""]
    assert found["image"].tolist() == GERMAN["image"].tolist()
    assert found["language"].tolist() == ["de"] * 4


@pytest.mark.parametrize("numbers", [[0], [0, 1, 2]])
def test_other_numbers_of_translations_are_refused(numbers: list[int]) -> None:
    """As in Multi30K, where each image has one French translation, of one of its five captions."""
    english = table("en", [(image, number, "A dog") for image in "12" for number in numbers], "de")
    with pytest.raises(InputError, match=r"up to 2 captions .*translation\.pairs\.de-en"):
        in_translation(GERMAN, english)
