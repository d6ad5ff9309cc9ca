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

import torch
from torch import Tensor, nn

from pipeline.models.products import linear, product

sigmoid_backward, tanh_backward = torch.ops.aten.sigmoid_backward, torch.ops.aten.tanh_backward


@dataclass
class PrefixTree:
    """The distinct prefixes of some sentences: those of one word first, then those of two, and so on.

    words: (N,) the last word of each, 0 to U - 1. parents: (N,) the prefix without its last word; 0 if
    nothing is left. levels: how many have 1, 2, ... words. sentences: (B,) which of them is the whole
    sentence.
    """

    words: Tensor
    parents: Tensor
    levels: list[int]
    sentences: Tensor


def prefix_tree(ids: Tensor, lengths: Tensor) -> PrefixTree:
    """The prefixes of sentences (B, W) of `lengths` (B,) words; padding is ignored."""
    distinct = int(ids.max()) + 1
    reached = torch.zeros(len(ids), dtype=torch.long)  # by each sentence, as far as it is read
    words, parents, levels, before = [], [], [], 0
    for place in range(int(lengths.max())):
        read = torch.nonzero(lengths > place)[:, 0]
        keys, found = torch.unique(reached[read] * distinct + ids[read, place], return_inverse=True)
        words.append(keys % distinct)
        parents.append(keys // distinct)
        levels.append(len(keys))
        reached[read] = before + found
        before += len(keys)
    return PrefixTree(torch.cat(words), torch.cat(parents), levels, reached)


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
        cells, states = inputs.new_zeros(2, len(gates), weight.shape[1]).unbind()
        end = 0
        for count in tree.levels:
            begin, end = end, end + count
            level, parents = slice(begin, end), tree.parents[begin:end]
            if begin:
                gates[level].add_(product(states[parents], weight))
            enter, keep, new, out = _activated(gates[level])
            if begin:
                torch.mul(keep, cells[parents], out=cells[level])
            cells[level].addcmul_(enter, new)
            torch.mul(out, cells[level].tanh(), out=states[level])
        ctx.save_for_backward(weight, gates, cells, states)
        ctx.tree, ctx.distinct = tree, len(inputs)
        return states

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        weight, gates, cells, states = ctx.saved_tensors
        tree, first = ctx.tree, ctx.tree.levels[0]
        to_states, to_cells, to_gates = gradients[0].clone(), torch.zeros_like(cells), torch.empty_like(gates)
        begin = len(gates)
        for count in reversed(tree.levels):
            begin, level = begin - count, slice(begin - count, begin)
            parents = tree.parents[level]
            before = cells[parents] if begin else torch.zeros_like(cells[level])
            to_before = _cell_backward(
                gates[level], cells[level], before, to_states[level], to_cells[level], to_gates[level]
            )
            if begin:
                to_cells.index_add_(0, parents, to_before)
                to_states.index_add_(0, parents, product(to_gates[level], weight.T))
        to_weight = product(states[tree.parents[first:]].T, to_gates[first:].T).T
        to_inputs = gates.new_zeros(ctx.distinct, gates.shape[1]).index_add_(0, tree.words, to_gates)
        return to_inputs, to_weight, None


def _activated(gates: Tensor) -> tuple[Tensor, ...]:
    """The four gates (n, h) of (n, 4h), after their sigmoids and tanh, in place."""
    size = gates.shape[1] // 4
    gates[:, : 2 * size].sigmoid_()
    gates[:, 2 * size : 3 * size].tanh_()
    gates[:, 3 * size :].sigmoid_()
    return gates.chunk(4, 1)


def _cell_backward(
    gates: Tensor, cells: Tensor, before: Tensor, to_states: Tensor, to_cells: Tensor, to_gates: Tensor
) -> Tensor:
    """Fill `to_gates` (n, 4h), gradient before the activations; return the cells' before, (n, h)."""
    enter, keep, new, out = gates.chunk(4, 1)
    squashed = cells.tanh()
    to_cells = to_cells + tanh_backward(to_states * out, squashed)
    to_enter, to_keep, to_new, to_out = to_gates.chunk(4, 1)
    sigmoid_backward(to_cells * new, enter, grad_input=to_enter)
    sigmoid_backward(to_cells * before, keep, grad_input=to_keep)
    tanh_backward(to_cells * enter, new, grad_input=to_new)
    sigmoid_backward(to_states * squashed, out, grad_input=to_out)
    return to_cells * keep
