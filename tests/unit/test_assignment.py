"""Words and their entries: choices, exploration and gradients by hand."""

import math
from collections import Counter
from contextlib import nullcontext
from typing import Literal

import numpy as np
import pandas as pd
import pytest
import small
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from pipeline.common.errors import InputError
from pipeline.models import assignment
from pipeline.models.assignment import Assignment, choice_weights, explored_ranks, sentence_means
from pipeline.models.hybrid import WordRows
from pipeline.models.settings import Exploration, Triplets
from pipeline.training.assign import (
    assignment_table,
    assignment_terms,
    check_pairs,
    own_rows,
    scoring_inputs,
    used_entries,
)
from pipeline.training.batches import Sampler
from pipeline.training.settings import AssignSettings, Batches
from pipeline.words.corpus import Corpus, LanguageCorpus, Sentences
from pipeline.words.vocabulary import Vocabulary

WORDS = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.5]]).double()


def exploration(probability: float, top_m: int, gradient: str) -> Exploration:
    return Exploration.from_values(
        {"exploration": probability, "top_m": top_m, "gradient": gradient}, "tests"
    )


def assignment_with_scores() -> Assignment:
    """Three entries, whose scores are x, y + 0.25 and -x."""
    made = Assignment(2, 3, 2).double()
    with torch.no_grad():
        made.scores.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]))
        made.scores.bias.copy_(torch.tensor([0.0, 0.25, 0.0]))
        made.entries.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 1.0], [5.0, 5.0]]))
    return made


def test_a_word_takes_the_entry_with_the_largest_score() -> None:
    assert assignment_with_scores().best_entry(WORDS).tolist() == [0, 1, 2]
    assert assignment_with_scores().best_entries(WORDS, 2).tolist() == [[0, 1], [1, 0], [2, 1]]


def test_entries_are_initialised_between_minus_and_plus_a_tenth() -> None:
    torch.manual_seed(0)
    entries = Assignment(3, 100, 100).entries.weight
    assert -0.1 <= entries.min() < -0.0995
    assert 0.0995 < entries.max() <= 0.1


def test_in_a_tie_the_first_entry_is_taken() -> None:
    made = assignment_with_scores()
    torch.nn.init.zeros_(made.scores.weight)
    torch.nn.init.zeros_(made.scores.bias)
    assert made.best_entry(WORDS).tolist() == [0, 0, 0]


def test_without_exploration_a_word_is_its_best_entry() -> None:
    found = assignment_with_scores().vectors(WORDS, exploration(0.0, 2, "straight_through"))
    assert torch.allclose(found, torch.tensor([[1.0, 0.0], [0.0, 1.0], [5.0, 5.0]]).double())


def test_softmax_mixes_the_best_entries() -> None:
    found = assignment_with_scores().vectors(WORDS[:1], exploration(0.0, 2, "softmax"))
    share = math.exp(1) / (math.exp(1) + math.exp(0.25))
    assert found.tolist()[0] == pytest.approx([share, 1 - share])


def test_exploration_takes_each_of_the_best_entries_equally_often() -> None:
    torch.manual_seed(0)
    none, every = explored_ranks(1000, 20, 0.0), explored_ranks(100_000, 20, 1.0)
    assert not none.any()
    counts = torch.bincount(every, minlength=20)
    assert len(counts) == 20
    # 5,000 each; five standard deviations of a binomial are 345.
    assert (counts - 5000).abs().max() < 345


def test_a_fifth_of_the_words_explores_and_some_of_these_take_the_best_entry() -> None:
    torch.manual_seed(0)
    other = explored_ranks(100_000, 20, 0.2).gt(0).double().mean().item()
    assert other == pytest.approx(0.2 * 19 / 20, abs=0.006)  # five standard deviations


def test_shares_by_hand() -> None:
    scores = torch.tensor([[math.log(3), 0.0]]).double()
    assert choice_weights(scores, torch.tensor([1]), "softmax").tolist()[0] == pytest.approx([0.75, 0.25])
    taken = choice_weights(scores, torch.tensor([1]), "straight_through")
    assert taken.tolist()[0] == pytest.approx([0.0, 1.0])


def test_gradients_of_scores_by_hand() -> None:
    """Entries 4 and 8, the second taken, shares 3/4 and 1/4: their mean is 5."""
    for gradient in ("softmax", "straight_through"):
        scores = torch.tensor([[math.log(3), 0.0]]).double().requires_grad_()
        (choice_weights(scores, torch.tensor([1]), gradient) @ torch.tensor([4.0, 8.0]).double()).backward()
        assert scores.grad is not None
        assert scores.grad.tolist()[0] == pytest.approx([0.75 * (4 - 5), 0.25 * (8 - 5)])


def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    made, words = Assignment(4, 30, 5).double(), torch.randn(17, 4).double()
    found = []
    for chunk in (1024, 3):
        monkeypatch.setattr(assignment, "CHUNK", chunk)
        made.zero_grad()
        torch.manual_seed(1)
        vectors = made.vectors(words, exploration(0.5, 6, "straight_through"))
        vectors.square().sum().backward()
        assert made.scores.weight.grad is not None
        found.append((vectors.detach(), made.scores.weight.grad.clone(), made.best_entry(words)))
    for one, other in zip(*found, strict=True):
        assert torch.allclose(one, other)


def test_a_sentence_is_the_mean_of_its_words_entries() -> None:
    features = {"en": F.pad(WORDS, (0, 0, 1, 0)), "de": F.pad(WORDS.flip(0), (0, 0, 1, 0))}
    sentences = {
        "en": Sentences(torch.tensor([[1, 3], [2, 0]]), torch.tensor([2, 1])),
        "de": Sentences(torch.tensor([[1, 1]]), torch.tensor([2])),
    }
    found = sentence_means(
        assignment_with_scores(), features, sentences, exploration(0.0, 2, "straight_through")
    )
    assert found.tolist() == [[3.0, 2.5], [0.0, 1.0], [5.0, 5.0]]


@pytest.mark.parametrize(("pairs", "terms"), [("all", {"between", "within"}), ("different", {"between"})])
def test_pairs_of_one_language_are_positives_if_configured(
    pairs: Literal["all", "different"], terms: set[str]
) -> None:
    torch.manual_seed(0)
    data, words = small.corpus(), small.WORDS + 1
    batch = small.batch_of({"training": {"batch_images": 6}})
    settings = AssignSettings.model_construct(
        assignment=Exploration(pairs=pairs, top_m=2), triplets=Triplets()
    )
    features = {language: torch.randn(words, 4).double() for language in data.languages}
    found = assignment_terms(Assignment(4, 5, 3).double(), features, data, batch, settings)
    assert found.keys() == terms


def of_one_language(captions: int) -> tuple[Corpus, Sampler]:
    """Four images with so many French captions each."""
    ids = torch.arange(4 * captions)[:, None] + 1
    image = np.repeat(np.arange(4), captions)
    part = LanguageCorpus(ids, torch.ones(len(ids), dtype=torch.long), image)
    made = Corpus(list("abcd"), torch.zeros(4, 0), {"fr": part})
    return made, Sampler(made, [np.arange(4)], Batches(epoch_unit="images", batch_images=4), 0)


@pytest.mark.parametrize(
    ("captions", "pairs", "refused"), [(2, "all", False), (1, "all", True), (2, "different", True)]
)
def test_an_assignment_without_two_sentences_of_an_image_is_refused(
    captions: int, pairs: Literal["all", "different"], refused: bool
) -> None:
    _, batches = of_one_language(captions)
    settings = AssignSettings.model_construct(
        dataset="d", experiment="e", assignment=Exploration(pairs=pairs, top_m=2)
    )
    with pytest.raises(InputError, match="d e: the assignment") if refused else nullcontext():
        check_pairs(batches, settings)


def test_a_batch_without_pairs_has_no_gradient() -> None:
    """As when only one of several languages, with one caption, has two images in it."""
    corpus, sampler = of_one_language(1)
    settings = AssignSettings.model_construct(assignment=Exploration(top_m=2), triplets=Triplets())
    made, features = Assignment(4, 5, 3), {"fr": torch.randn(5, 4)}
    found = assignment_terms(made, features, corpus, sampler.batch(0), settings)
    torch.stack(list(found.values())).sum().backward()
    assert all(weight.grad is not None and not weight.grad.any() for weight in made.parameters())


def test_scoring_inputs_are_standardized() -> None:
    vectors = torch.tensor([[9.0, 9.0], [1.0, 5.0], [5.0, 5.0]])  # mean 3, standard deviation 2; and 5, 0
    assert scoring_inputs(vectors).tolist() == [[0, 0], [-1, 0], [1, 0]]


def corpus(ids: list[list[int]]) -> LanguageCorpus:
    lengths = torch.tensor([sum(map(bool, row)) for row in ids])
    return LanguageCorpus(torch.tensor(ids), lengths, np.arange(len(ids)))


def test_the_most_frequent_words_have_own_vectors() -> None:
    part = corpus([[2, 1, 2], [3, 3, 0], [4, 2, 0]])  # 2 three times, 3 twice, 1 and 4 once, 5 never
    assert own_rows(part, 6, 3).tolist() == [0, 3, 1, 2, 0, 0]
    assert own_rows(part, 6, 0).tolist() == [0] * 6
    assert own_rows(part, 6, 100).tolist() == [0, 3, 1, 2, 4, 5]


def test_unused_entries_are_dropped_and_words_with_own_vectors_use_none() -> None:
    entries = torch.arange(10.0).reshape(5, 2)
    places = {
        "en": WordRows(torch.tensor([0, 1, 0, 0]), torch.tensor([3, 3, 5, 2])),  # word 1 has its own vector
        "de": WordRows(torch.tensor([0, 0]), torch.tensor([1, 5])),
    }
    kept, found = used_entries(entries, places)
    assert kept.tolist() == [[2.0, 3.0], [8.0, 9.0]]  # the second and the fifth
    assert found["en"].entry.tolist() == [0, 0, 2, 1]
    assert found["de"].entry.tolist() == [0, 2]


def test_the_table_shows_which_words_share_an_entry() -> None:
    vocabularies = {
        "en": Vocabulary("en", ["", "a", "dog", "hut"], np.zeros((4, 2), np.float32)),
        "de": Vocabulary("de", ["", "Hund"], np.zeros((2, 2), np.float32)),
    }
    places = {
        "en": WordRows(torch.tensor([0, 1, 0, 0]), torch.tensor([0, 0, 2, 1])),
        "de": WordRows(torch.tensor([0, 0]), torch.tensor([0, 2])),
    }
    expected = pd.DataFrame(
        {"word": ["hut", "dog", "Hund"], "language": ["en", "en", "de"], "entry": [1, 2, 2]}
    )
    assert assignment_table(places, vocabularies).reset_index(drop=True).equals(expected)


@given(
    st.lists(st.integers(0, 7), min_size=2, max_size=30),
    st.lists(st.booleans(), min_size=30, max_size=30),
)
def test_every_word_has_one_place_and_every_entry_a_word(entry: list[int], owns: list[bool]) -> None:
    count = len(entry)
    own = torch.zeros(count, dtype=torch.long)
    owners = [row for row in range(1, count) if owns[row]]
    own[owners] = torch.arange(1, len(owners) + 1)
    kept, found = used_entries(torch.randn(8, 2), {"en": WordRows(own, torch.tensor(entry) + 1)})
    places = found["en"]
    assert ((places.own[1:] > 0) ^ (places.entry[1:] > 0)).all()
    assert places.entry[0] == 0
    assert set(places.entry[places.entry > 0].tolist()) == set(range(1, len(kept) + 1))
    together = Counter(zip(entry, places.entry.tolist(), strict=True))
    shared = {pair for pair in together if pair[1]}
    assert len({old for old, _ in shared}) == len(shared)  # words that shared an entry still do
