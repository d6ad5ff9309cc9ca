"""LIWE: its words, branch, loss and schedule, against plain readings of their definitions."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pipeline.common.errors import InputError
from pipeline.datasets.table import caption_table, write_sentences
from pipeline.models.branches import BidirectionalBranch, last_states, packed_states
from pipeline.models.embedding import Words
from pipeline.models.liwe import SpelledWords
from pipeline.models.model import RetrievalModel, new_model
from pipeline.models.settings import Liwe, Model, ModelSettings
from pipeline.settings import reading
from pipeline.settings import stages as stage_settings
from pipeline.words.corpus import Sentences
from pipeline.words.make import build_vocabulary, spellings
from pipeline.words.settings import WordSettings
from pipeline.words.vocabulary import Vocabulary, read_vocabulary

LIWE = Liwe(character_dim=3, max_word_length=4, layers=[5, 4])
WORDS = {"en": ["", "ab", "c", "abc"], "ru": ["", "да", "a"]}


def codes(words: list[str], longest: int = 4) -> Tensor:
    """Code points of some words."""
    return torch.tensor(
        [[ord(letter) for letter in word] + [0] * (longest - len(word)) for word in words]
    ).float()


def vocabularies(words: dict[str, list[str]]) -> dict[str, Vocabulary]:
    return {code: Vocabulary(code, of, codes(of).numpy()) for code, of in words.items()}


def settings(languages: Iterable[str] = WORDS) -> ModelSettings:
    return ModelSettings(languages=list(languages), model=Model(encoder="liwe", hidden_size=6), liwe=LIWE)


def started(words: dict[str, list[str]] = WORDS) -> RetrievalModel:
    """A model for image features of seven numbers, before its first step."""
    return new_model(settings(words), vocabularies(words), None, 7)


def spelled(made: RetrievalModel) -> SpelledWords:
    assert isinstance(made.universal, SpelledWords)
    return made.universal.eval()


def model() -> RetrievalModel:
    torch.manual_seed(0)
    return started().double()


def sentences(rows: list[list[int]]) -> Sentences:
    lengths = torch.tensor([len(row) for row in rows])
    ids = torch.zeros(len(rows), int(lengths.max()), dtype=torch.long)
    for row, words in enumerate(rows):
        ids[row, : len(words)] = torch.tensor(words)
    return Sentences(ids, lengths)


def test_languages_share_the_characters_that_they_have_in_common() -> None:
    embedding = spelled(model())
    english = embedding.read({"en": sentences([[1]])}).in_order()
    shared = spelled(started({"en": ["", "a"], "ru": ["", "a"]}))
    assert embedding.alphabet.tolist() == [0, *map(ord, "abcад")]
    assert torch.equal(shared.get_buffer("spelling_en"), shared.get_buffer("spelling_ru"))
    assert english.shape == (1, 4)


def test_a_sentence_is_the_mean_of_both_states_at_its_last_word() -> None:
    """As in PyTorch's own bidirectional GRU with the same weights, gradients too; also on a GPU."""
    torch.manual_seed(0)
    branch, both_ways = BidirectionalBranch(4, 3).double(), nn.GRU(4, 3, bidirectional=True).double()
    weights = [*branch.recurrent.parameters(), *branch.backwards.parameters()]
    for parameter, same in zip(both_ways.parameters(), weights, strict=True):
        parameter.data.copy_(same.data)
    words, lengths = torch.randn(7, 4, dtype=torch.float64, requires_grad=True), torch.tensor([2, 4, 1])
    states = [both_ways(part[:, None])[0][-1, 0].unflatten(0, (2, 3)) for part in words.split([2, 4, 1])]
    expected = F.normalize(torch.stack(states).mean(1))
    weight = torch.randn_like(expected)
    wanted = torch.autograd.grad((expected * weight).sum(), [words, *both_ways.parameters()])
    found = branch(Words(lengths, torch.arange(7), words, words))
    torch.testing.assert_close(found, expected)
    got = torch.autograd.grad((found * weight).sum(), [words, *weights])
    for first, second in zip(got, wanted, strict=True):
        torch.testing.assert_close(first, second)
    by_tree = last_states(branch.recurrent, Words(lengths, torch.arange(7), words, words))
    torch.testing.assert_close(packed_states(branch.recurrent, words, lengths), by_tree)


def test_weights_are_initialised_as_by_pytorch() -> None:
    """Seven characters, words of four; the layers of words, both GRUs, the image's layer."""
    torch.manual_seed(0)
    made = started()
    torch.manual_seed(0)
    letters, first, second = nn.Embedding(6, 3, padding_idx=0), nn.Linear(12, 5), nn.Linear(5, 4)
    rest: list[nn.Module] = [nn.GRU(4, 6), nn.GRUCell(4, 6), nn.Linear(7, 6)]
    found = made.state_dict()
    assert torch.equal(found["universal.characters.weight"], letters.weight)
    for place, layer in ((0, first), (3, second)):
        name = f"universal.layers.{place}"
        assert torch.equal(found[f"{name}.bias"], layer.bias)
        assert torch.equal(found[f"{name}.parametrizations.weight.original1"], layer.weight)
    names = "branches.shared.recurrent", "branches.shared.backwards", "image_branch.layers.0"
    for name, part in zip(names, rest, strict=True):
        for key, value in part.state_dict().items():
            assert torch.equal(found[f"{name}.{key}"], value), key


def test_words_are_spelled_in_the_characters_that_training_knows() -> None:
    found = spellings(["abxd", "xx", "abcdef"], set("abcd"), 4)
    assert {word: row.tolist() for word, row in found.items()} == {
        "abxd": [97, 98, 0, 100], "abcdef": [97, 98, 99, 100],
    }  # fmt: skip


def test_a_word_only_in_test_captions_is_spelled_too(tmp_path: Path) -> None:
    rows = [
        ("1", "train", "en", "A cab", "human", "", "a cab"),
        ("2", "test", "en", "Bac!", "human", "", "bac"),
    ]
    table = caption_table([row[:-1] for row in rows]).assign(tokens=[row[-1] for row in rows])
    write_sentences(table, tmp_path / "en.csv")
    spelled = WordSettings(max_word_length=3)
    build_vocabulary("en", tmp_path / "en.csv", spelled, tmp_path / "en.h5")
    vocabulary = read_vocabulary(tmp_path / "en.h5")
    assert vocabulary.words == ["", "a", "bac", "cab"]
    assert vocabulary.vectors[2].tolist() == [98, 97, 99]


def test_sizes_and_schedule_are_as_published() -> None:
    """Wehrmann et al. 2019 by its code, at scale paper; L-LIWE's characters have five times the numbers."""
    paper = reading.load({"scale": "paper"})
    for name, characters in (("liwe-s-ten", 24), ("liwe-l-ten", 120), ("liwe-s-two", 24), ("liwe-s-en", 24)):
        made = stage_settings.train_settings(paper, "multi30k", name, 0)
        assert made.liwe.as_values() == {
            "character_dim": characters, "max_word_length": 26, "layers": [384, 448, 300], "margin": 0.2,
            "image_base": 0.991, "caption_base": 0.91,
            "learning_rate_decay_after": 10000, "learning_rate_decay": 0.1,
            "validate_every": 500,
        }  # fmt: skip
        assert made.model.encoder == "liwe" and made.model.hidden_size == 1024
        training = made.training
        assert (training.epochs, training.learning_rate, training.max_grad_norm) == (30, 6e-4, 2.0)
        assert (training.batch_images, training.learning_rate_decay) == (128, 1.0)
        assert made.matching is None
        assert made.triplets is None and made.neighborhood is None and made.classifier is None
    expanded = paper.experiments_on("multi30k")
    assert expanded["liwe-s-two"].languages == ["en", "de"]
    assert paper.experiments_on("mscoco")["liwe-s-two"].languages == ["en", "ja"]
    # SMALR: "All models we compare to are trained using this augmented training set"; (1) is quoted.
    captions = {
        name: expanded[name].captions for name in ("liwe-s-en", "liwe-s-two", "liwe-s-ten", "liwe-l-ten")
    }
    assert list(captions.values()) == ["human", "augmented", "augmented", "augmented"]


@pytest.mark.parametrize(
    ("experiment", "message"),
    [
        ({"vectors": "fasttext"}, "model.encoder: liwe needs vectors: characters"),
        ({"branches": "separate"}, "model.encoder: liwe needs branches: shared"),
        ({"classifier": True}, "model.encoder: liwe needs classifier: false"),
        ({"ranking": True}, "model.encoder: liwe needs ranking: false"),
    ],
)
def test_what_does_not_fit_liwe_is_refused(experiment: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        reading.load({"scale": "demo", "experiments": {"liwe-s-ten": experiment}})
