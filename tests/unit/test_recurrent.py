"""TensorFlow's GRU by hand, initial weights of recurrent layers, and means over padded rows."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from run_stages import block_of
from torch.nn.utils.rnn import pack_padded_sequence

from pipeline.datasets.table import read_sentences, write_sentences
from pipeline.models.embedding import Sizes
from pipeline.models.recurrent import ResetBeforeGRU, recurrent_layer
from pipeline.models.settings import EmbeddingSettings, Model, UniversalModel
from pipeline.models.universal import UniversalEmbedding
from pipeline.training.data import Inputs, training_data
from pipeline.training.settings import TrainSettings
from pipeline.words.corpus import Sentences


def sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value))


def test_one_unit_of_tensorflows_gru_by_hand() -> None:
    """Two words, 1 and -2; the reset gate scales the state before its product with U = 3."""
    layer = ResetBeforeGRU(1, 1)
    with torch.no_grad():
        layer.weight_ih_l0.copy_(torch.tensor([[0.5], [-0.25], [2.0]]))  # reset, keep, new
        layer.weight_hh_l0.copy_(torch.tensor([[1.0], [-1.0], [3.0]]))
        layer.bias_ih_l0.copy_(torch.tensor([1.0, 1.0, 0.5]))
    state = 0.0
    for word in (1.0, -2.0):
        reset = sigmoid(0.5 * word + 1.0 * state + 1)
        keep = sigmoid(-0.25 * word - 1.0 * state + 1)
        new = math.tanh(2.0 * word + 3.0 * (reset * state) + 0.5)
        state = keep * state + (1 - keep) * new
    words = pack_padded_sequence(torch.tensor([[[1.0], [-2.0]]]), [2], batch_first=True)
    assert layer(words)[1].item() == pytest.approx(state, abs=1e-6)


def layer_of(recurrent: str, begun: str) -> Any:
    torch.manual_seed(0)
    chosen = {"recurrent": recurrent, "hidden_size": 100, "recurrent_init": begun}
    return recurrent_layer(200, Model.from_values(chosen, "tests"))


@pytest.mark.parametrize(
    ("recurrent", "kernels", "opened"),
    [  # sizes of the joint kernels of word and state; the gates that begin open
        ("lstm", [(0, 400)], slice(100, 200)),
        ("gru", [(0, 200), (200, 300)], slice(0, 200)),
        ("gru_reset_before", [(0, 200), (200, 300)], slice(0, 200)),
    ],
)
def test_tensorflows_initial_values(recurrent: str, kernels: list[tuple[int, int]], opened: slice) -> None:
    """Glorot uniform: +-sqrt(6 / (fan in + fan out)), 300 numbers in and 400, 200 or 100 out."""
    layer = layer_of(recurrent, "tensorflow")
    for first, last in kernels:
        limit = math.sqrt(6 / (200 + 100 + last - first))
        for weight in (layer.weight_ih_l0, layer.weight_hh_l0):
            found = weight[first:last].abs().max().item()
            assert 0.995 * limit < found <= limit
    expected = torch.zeros(len(layer.bias_ih_l0))
    expected[opened] = 1.0
    biases = [value for name, value in layer.named_parameters() if name.startswith("bias")]
    assert torch.equal(sum(biases), expected)


@pytest.mark.parametrize("recurrent", ["lstm", "gru", "gru_reset_before"])
def test_pytorchs_initial_values(recurrent: str) -> None:
    """Uniform within +-1/sqrt(hidden), biases too."""
    for value in layer_of(recurrent, "pytorch").parameters():
        assert 0.09 < value.abs().max().item() <= 0.1


def universal_of(vectors: torch.Tensor, mean: Literal["words", "padded"]) -> UniversalEmbedding:
    model = UniversalModel(universal_dim=2, universal_mean=mean)
    settings = EmbeddingSettings(languages=["en"], model=model)
    universal = UniversalEmbedding(settings, Sizes({"en": len(vectors)}, vectors.shape[1]))
    universal.load_state_dict({"en.table.weight": vectors}, strict=False)
    return universal


def padded_mean(ids: list[int], longest: int) -> tuple[UniversalEmbedding, torch.Tensor]:
    universal = universal_of(torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 4.0]]), "padded")
    universal.pad_to({"en": longest})
    with torch.no_grad():
        universal["en"].table.weight[0] = torch.tensor([8.0, 8.0])  # a trained vector of padding
        universal["en"].get_parameter("projection.weight").copy_(torch.eye(2))
        universal["en"].get_parameter("projection.bias").copy_(torch.tensor([0.5, 0.0]))
    return universal, means_of(universal, [ids])


def means_of(universal: UniversalEmbedding, ids: list[list[int]]) -> torch.Tensor:
    lengths = [sum(word > 0 for word in words) for words in ids]
    sentences = Sentences(torch.tensor(ids), torch.tensor(lengths))
    return universal.read({"en": sentences}).means


@pytest.mark.parametrize(
    ("ids", "longest", "expected"),
    [
        ([1, 2], 4, [(1 + 8 + 8) / 4 + 0.5, (4 + 8 + 8) / 4]),  # two rows of padding
        ([1, 2, 0], 4, [(1 + 8 + 8) / 4 + 0.5, (4 + 8 + 8) / 4]),  # whatever the batch is padded to
        ([1, 2, 1], 2, [2 / 3 + 0.5, 4 / 3]),  # longer than any training sentence
    ],
)
def test_padded_means_run_to_the_longest_training_sentence(
    ids: list[int], longest: int, expected: list[float]
) -> None:
    np.testing.assert_allclose(padded_mean(ids, longest)[1][0].detach().numpy(), expected, rtol=1e-6)


def test_each_language_is_padded_to_its_own_longest_training_caption(
    inputs: Inputs, experiment: dict[str, Any], tmp_path: Path
) -> None:
    """English captions have 3 words, one of them in no vocabulary; German ones 6, of which 4 are read."""
    longer = []
    for path, more in zip(inputs.sentences, (" unheard", " Hund" * 4), strict=True):
        table = read_sentences(path)
        longer.append(tmp_path / path.name)
        write_sentences(table.assign(tokens=table["tokens"] + more), longer[-1])
    settings = {**experiment, "max_caption_length": 4}
    data = training_data(replace(inputs, sentences=longer), block_of(TrainSettings, settings))
    assert data.longest == {"en": 3, "de": 4}
    sizes = {code: len(part.vectors) for code, part in data.vocabularies.items()}
    model = UniversalModel(universal_dim=2, universal_mean="padded")
    embedding = UniversalEmbedding(EmbeddingSettings(languages=list(sizes), model=model), Sizes(sizes, 8))
    embedding.pad_to(data.longest)
    for language, row in (("en", 3), ("de", 4)):
        with torch.no_grad():
            embedding[language].table.weight[:] = torch.eye(8)[0]
            embedding[language].table.weight[0] = 0
        sentence = Sentences(torch.tensor([[1, 2]]), torch.tensor([2]))
        expected = embedding[language].projection(2 / row * torch.eye(8)[:1])
        torch.testing.assert_close(embedding.read({language: sentence}).means, expected)


def test_padding_is_trained_only_if_means_are_padded() -> None:
    universal, mean = padded_mean([1, 2], 4)
    mean.sum().backward()
    np.testing.assert_allclose(universal["en"].table.weight.grad[0].numpy(), [2 / 4, 2 / 4])
    plain = universal_of(torch.randn(3, 2), "words")
    means_of(plain, [[1, 2, 0]]).sum().backward()
    assert not plain["en"].table.weight.grad[0].any()
