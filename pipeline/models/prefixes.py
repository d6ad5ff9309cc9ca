"""An LSTM over a prefix tree of sentences: each distinct prefix is computed once.

The states of an LSTM after "a man in" are the same in every sentence with that prefix. A batch is therefore
processed as a prefix tree (trie), level by level: one product with the recurrent weights for all distinct
prefixes of t words. Padding is never computed, and a word's product with the input weights only once. The
results are those of `nn.LSTM` except for the order of summation.

Sizes in comments: B sentences, W words of the longest, U distinct words, N prefixes (`prefix_tree`), n of
them at one level, h hidden size.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from pipeline.models.products import linear, product

sigmoid_backward, tanh_backward = torch.ops.aten.sigmoid_backward, torch.ops.aten.tanh_backward


@dataclass
class PrefixTree:
    """The distinct prefixes of some sentences: prefixes of one word first, then of two words, and so on.

    words: (N,) last word of each prefix, 0 to U - 1. parents: (N,) the prefix without its last word; 0 if
    that is empty. levels: number of prefixes of 1, 2, ... words. sentences: (B,) the prefix that is the
    whole sentence.
    """

    words: Tensor
    parents: Tensor
    levels: list[int]
    sentences: Tensor


def prefix_tree(rows: Tensor, lengths: Tensor) -> PrefixTree:
    """The prefixes of sentences of `lengths` (B,) words; `rows` are their words, sentence by sentence."""
    longest = int(lengths.max())
    is_word = np.arange(longest) < lengths.numpy()[:, None]
    words = np.full(is_word.shape, -1)
    words[is_word] = rows.numpy()
    order = np.lexsort(words.T[::-1])  # sentences with a common prefix follow one another
    words, is_word = words[order], is_word[order]
    same = np.logical_and.accumulate(words[1:] == words[:-1], axis=1)
    first = is_word.copy()  # whether the prefix occurs for the first time
    first[1:] &= ~same
    number = first.T.cumsum().reshape(first.T.shape) - 1  # (W, B) of each sentence's prefixes
    parents = np.vstack([np.zeros_like(number[:1]), number[:-1]])
    sentences = np.empty_like(order)
    sentences[order] = number[lengths.numpy()[order] - 1, np.arange(len(order))]
    last_words, parents_of_first = (torch.from_numpy(values[first.T]) for values in (words.T, parents))
    return PrefixTree(last_words, parents_of_first, first.sum(0).tolist(), torch.from_numpy(sentences))


def last_states(lstm: nn.LSTM, vectors: Tensor, tree: PrefixTree) -> Tensor:
    """The LSTM's hidden states (B, h) after the last words, from the vectors (U, d) of the distinct words."""
    input_weight, weight, input_bias, bias = lstm.all_weights[0]
    inputs = linear(vectors, input_weight) + (input_bias + bias)
    states: Tensor = _States.apply(inputs, weight, tree)
    return states[tree.sentences]


class _States(torch.autograd.Function):
    """Hidden states (N, h) of all prefixes, from the distinct words' contributions to the gates (U, 4h).

    The weight is (4h, h), its gates in PyTorch's order: input, forget, cell, output.
    """

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weight: Tensor, tree: PrefixTree) -> Tensor:
        gates = inputs[tree.words]  # (N, 4h)
        cells, tanh_cells, states = inputs.new_zeros(3, len(gates), weight.shape[1]).unbind()
        end = 0
        for count in tree.levels:
            begin, end = end, end + count
            level, parents = slice(begin, end), tree.parents[begin:end]
            if begin:
                gates[level].add_(product(states[parents], weight))
            enter, keep, new, out = _activate(gates[level])
            if begin:
                torch.mul(keep, cells[parents], out=cells[level])
            cells[level].addcmul_(enter, new)
            torch.tanh(cells[level], out=tanh_cells[level])
            torch.mul(out, tanh_cells[level], out=states[level])
        ctx.save_for_backward(weight, gates, cells, tanh_cells, states)
        ctx.tree, ctx.distinct = tree, len(inputs)
        return states

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        weight, gates, cells, tanh_cells, states = ctx.saved_tensors
        tree, first = ctx.tree, ctx.tree.levels[0]
        to_states, to_cells, to_gates = gradients[0].clone(), torch.zeros_like(cells), torch.empty_like(gates)
        begin = len(gates)
        for count in reversed(tree.levels):
            begin, level = begin - count, slice(begin - count, begin)
            parents = tree.parents[level]
            cells_before = cells[parents] if begin else torch.zeros_like(cells[level])
            to_before = _cell_backward(
                gates[level],
                tanh_cells[level],
                cells_before,
                to_states[level],
                to_cells[level],
                to_gates[level],
            )
            if begin:
                to_cells.index_add_(0, parents, to_before)
                to_states.index_add_(0, parents, product(to_gates[level], weight.T))
        to_weight = product(states[tree.parents[first:]].T, to_gates[first:].T).T
        to_inputs = gates.new_zeros(ctx.distinct, gates.shape[1]).index_add_(0, tree.words, to_gates)
        return to_inputs, to_weight, None


def _activate(gates: Tensor) -> tuple[Tensor, ...]:
    """The four gates (n, h) of (n, 4h), after their sigmoids and tanh, in place."""
    size = gates.shape[1] // 4
    gates[:, : 2 * size].sigmoid_()
    gates[:, 2 * size : 3 * size].tanh_()
    gates[:, 3 * size :].sigmoid_()
    return gates.chunk(4, 1)


def _cell_backward(
    gates: Tensor,
    tanh_cells: Tensor,
    cells_before: Tensor,
    to_states: Tensor,
    to_cells: Tensor,
    to_gates: Tensor,
) -> Tensor:
    """Fill `to_gates` (n, 4h), the gradient before the activations; return the parents' cells' gradient (n,
    h).

    Args:
        tanh_cells: tanh of the cells. cells_before: the cells of the parents.
    """
    enter, keep, new, out = gates.chunk(4, 1)
    to_cells = to_cells + tanh_backward(to_states * out, tanh_cells)
    to_enter, to_keep, to_new, to_out = to_gates.chunk(4, 1)
    sigmoid_backward(to_cells * new, enter, grad_input=to_enter)
    sigmoid_backward(to_cells * cells_before, keep, grad_input=to_keep)
    tanh_backward(to_cells * enter, new, grad_input=to_new)
    sigmoid_backward(to_states * tanh_cells, out, grad_input=to_out)
    return to_cells * keep
