"""The fast training step against a plain one in double precision; prefix trees against PyTorch's own LSTM."""

from argparse import Namespace
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from small import EACH, batch_of, corpus, model, smalr_model, terms_of
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from benchmarks import training as benchmark
from benchmarks.plain_training import Item, PaddedBatch, padded_batch, plain_objective
from pipeline.common.errors import InputError
from pipeline.models import prefixes
from pipeline.models.branches import packing
from pipeline.models.model import RetrievalModel
from pipeline.models.prefixes import prefix_tree
from pipeline.training.batches import Batch
from pipeline.training.precision import exact_products, set_precision
from pipeline.words.corpus import Corpus


def plain_batch(corpus: Corpus, drawn: Batch) -> PaddedBatch:
    """The same batch as a DataLoader would give it."""
    items = [Item(corpus.features[image], {code: [] for code in drawn.rows}) for image in drawn.images]
    for language, rows in drawn.rows.items():
        part = corpus.languages[language]
        for row, slot in zip(rows, drawn.slots[language], strict=True):
            items[slot].sentences[language].append(part.ids[row, : part.lengths[row]].tolist())
    return padded_batch(items)


def assert_same_step(model: RetrievalModel, settings: dict[str, Any], done: float) -> None:
    """Check that `pipeline.training` and the plain loop have the same losses and gradients."""
    sentences = corpus()
    drawn = batch_of(settings)
    torch.manual_seed(5)  # of masks
    fast = terms_of(model, sentences, drawn, settings, done)
    torch.manual_seed(5)
    plain, loss = plain_objective(model, plain_batch(sentences, drawn), settings, done)
    assert fast.keys() == plain.keys()
    for name, value in plain.items():
        torch.testing.assert_close(fast[name], value, rtol=1e-9, atol=1e-12, msg=name)
        assert value.item() > 0
    names, weights = zip(*model.named_parameters(), strict=True)
    both = [torch.autograd.grad(of, weights) for of in (torch.stack(list(fast.values())).sum(), loss)]
    for name, first, second in zip(names, *both, strict=True):
        torch.testing.assert_close(first, second, rtol=1e-7, atol=1e-10, msg=name)


@pytest.mark.parametrize(
    ("branches", "recurrent", "distance"), [("shared", "lstm", "euclidean"), ("separate", "gru", "cosine")]
)
def test_the_fast_step_and_the_plain_one_have_the_same_loss_and_gradients(
    experiment: dict[str, Any], branches: str, recurrent: str, distance: str
) -> None:
    settings = {**experiment, "triplets": {"margin": 0.3, "num_hard_negatives": 5, "distance": distance}}
    settings["classifier"] |= {"weight": 0.1}
    settings["languages"] = list(EACH)
    settings["word_regularizer"] = {"weight": 0.01, "regularize_toward": "initial"}
    settings["model"] |= {"recurrent": recurrent, "dropout": 0.0}
    assert_same_step(model(branches, settings["model"]), settings, 0.1)


def test_the_fast_step_of_smalr_equals_the_plain_one(experiment: dict[str, Any]) -> None:
    experiment["model"] |= {"recurrent": "gru", "dropout": 0.0}
    experiment["triplets"] = {"margin": 0.05, "num_hard_negatives": 10, "distance": "cosine"}
    experiment |= {
        "masking": {"mask_probability": 0.2, "weight": 1.0, "matching": 1.0},
        "embedding": "hybrid",
    }
    experiment["languages"] = list(EACH)
    assert_same_step(smalr_model(experiment), experiment, 0.3)


def both_ways(
    cell: type[nn.LSTM | nn.GRU], size: int, words: int, count: int, most: int, dtype: torch.dtype
) -> tuple[list[Tensor], list[Tensor]]:
    """Last states and their gradients, over the prefix tree and by PyTorch's own layer."""
    layer = cell(size, size + 1, batch_first=True).to(dtype)
    vectors = torch.randn(words, size, dtype=dtype, requires_grad=True)
    ids, lengths = torch.randint(0, words, (count, most)), torch.randint(1, most + 1, (count,))
    packed = pack_padded_sequence(vectors[ids], lengths, batch_first=True, enforce_sorted=False)
    rows = ids[torch.arange(most) < lengths[:, None]]
    found = prefixes.last_states(layer, vectors, prefix_tree(rows, lengths))
    state = layer(packed)[1]
    expected = (state[0] if isinstance(state, tuple) else state)[0]
    weight, inputs = torch.randn_like(expected), [vectors, *layer.parameters()]
    first, second = (torch.autograd.grad((states * weight).sum(), inputs) for states in (found, expected))
    return [found, *first], [expected, *second]


@pytest.mark.parametrize("cell", [nn.LSTM, nn.GRU])
@given(st.integers(0, 1000), st.integers(1, 30), st.integers(1, 6), st.integers(1, 9))
@hypothesis_settings(max_examples=40, deadline=None)
def test_prefix_trees_give_the_layers_states_and_gradients(
    cell: type[nn.LSTM | nn.GRU], seed: int, count: int, words: int, most: int
) -> None:
    torch.manual_seed(seed)
    for found, expected in zip(*both_ways(cell, 3, words, count, most, torch.double), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("cell", [nn.LSTM, nn.GRU])
def test_single_words_and_longer_sentences_in_float32(cell: type[nn.LSTM | nn.GRU]) -> None:
    """Float32 uses oneDNN if PyTorch has it; a batch of single words has no product of states."""
    torch.manual_seed(0)
    for most in (1, 6):
        for found, expected in zip(*both_ways(cell, 16, 9, 30, most, torch.float32), strict=True):
            torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def test_a_prefix_tree_by_hand() -> None:
    """0 1, 0 1 2, 3 4 and 0 2: the words 0 and 3; 0 1, 0 2 and 3 4; 0 1 2."""
    tree = prefix_tree(torch.tensor([0, 1, 0, 1, 2, 3, 4, 0, 2]), torch.tensor([2, 3, 2, 2]))
    assert tree.levels == [2, 3, 1]
    assert tree.words.tolist() == [0, 3, 1, 2, 4, 2]
    assert tree.parents.tolist() == [0, 0, 0, 0, 1, 0]
    assert tree.sentences.tolist() == [2, 5, 4, 3]


def test_a_cpu_has_only_float32() -> None:
    with pytest.raises(InputError, match=r"training\.precision.*set float32"):
        set_precision("tf32", torch.device("cpu"))


@pytest.mark.parametrize("name", benchmark.MODELS)
def test_the_benchmark_takes_a_step_of_each_loop(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    few = {language: replace(of, words=50) for language, of in benchmark.CAPTIONS[name].items()}
    monkeypatch.setitem(benchmark.CAPTIONS, name, few)
    sizes = {"images": 12, "hidden": 8, "corpus_images": 24, "precision": "float32"}
    steps = benchmark.Steps(name, Namespace(device=torch.device("cpu"), **sizes))
    weight = steps.model.image_branch.get_parameter("layers.0.weight")
    before = weight.detach().clone()
    steps.fast()
    once = weight.detach().clone()
    steps.plain()
    assert not torch.equal(before, once)
    assert not torch.equal(once, weight)


def test_packing_by_hand() -> None:
    """Sentences of 2, 3 and 1 words, a b, c d e, f: longest first c a f, then d b, then e."""
    order, places, sizes = packing(torch.tensor([2, 3, 1]))
    assert order.tolist() == [1, 0, 2]
    assert [("abcdef")[place] for place in places] == list("cafdbe")
    assert sizes.tolist() == [3, 2, 1]


@pytest.mark.parametrize("precision", ["float32", "tf32"])
def test_pytorchs_switches_of_precision_can_all_be_read(precision: str) -> None:
    """PyTorch refuses to read one that contradicts another; libraries that read them would stop."""
    try:
        set_precision(precision, torch.device("cuda"))
        for _ in range(2):
            assert torch.backends.cudnn.allow_tf32 == (precision != "float32")
            assert torch.backends.cuda.matmul.allow_tf32 == (precision == "tf32")
            assert torch.get_float32_matmul_precision() == ("high" if precision == "tf32" else "highest")
            with exact_products():
                assert not torch.backends.cudnn.allow_tf32
                assert not torch.backends.cuda.matmul.allow_tf32
    finally:
        set_precision("float32", torch.device("cpu"))
