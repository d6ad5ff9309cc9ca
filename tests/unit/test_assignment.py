"""Words and their entries: choices, exploration and gradients by hand."""

from contextlib import nullcontext
from typing import Literal

import numpy as np
import pytest
import torch

from pipeline.common.errors import InputError
from pipeline.models import assignment
from pipeline.models.assignment import Assignment, explored_ranks
from pipeline.models.settings import Exploration, Triplets
from pipeline.training.assign import assignment_terms, check_pairs, own_rows
from pipeline.training.batches import Sampler
from pipeline.training.settings import AssignSettings, Batches
from pipeline.words.corpus import Corpus, LanguageCorpus


def exploration(probability: float, top_m: int, gradient: str) -> Exploration:
    return Exploration.from_values(
        {"exploration": probability, "top_m": top_m, "gradient": gradient}, "tests"
    )


def test_entries_are_initialised_between_minus_and_plus_a_tenth() -> None:
    torch.manual_seed(0)
    entries = Assignment(3, 100, 100).entries.weight
    assert -0.1 <= entries.min() < -0.0995
    assert 0.0995 < entries.max() <= 0.1


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


def corpus(ids: list[list[int]]) -> LanguageCorpus:
    lengths = torch.tensor([sum(map(bool, row)) for row in ids])
    return LanguageCorpus(torch.tensor(ids), lengths, np.arange(len(ids)))


def test_the_most_frequent_words_have_own_vectors() -> None:
    part = corpus([[2, 1, 2], [3, 3, 0], [4, 2, 0]])  # 2 three times, 3 twice, 1 and 4 once, 5 never
    assert own_rows(part, 6, 3).tolist() == [0, 3, 1, 2, 0, 0]
    assert own_rows(part, 6, 0).tolist() == [0] * 6
    assert own_rows(part, 6, 100).tolist() == [0, 3, 1, 2, 4, 5]
