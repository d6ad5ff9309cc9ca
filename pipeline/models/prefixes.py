"""An LSTM or a GRU over a prefix tree of sentences: each distinct prefix is computed once.

The states after "a man in" are the same in every sentence with that prefix. A batch is therefore processed as
a prefix tree (trie), level by level: one product with the recurrent weights for all distinct prefixes of t
words. Padding is never computed, and a word's product with the input weights only once. The results are those
of `nn.LSTM` and `nn.GRU` except for the order of summation.

Sizes in comments: B sentences, W words of the longest, U distinct words, N prefixes (`prefix_tree`), n of
them at one level, h hidden size.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from pipeline.models.products import linear


@dataclass
class PrefixTree:
    """The distinct prefixes of some sentences: prefixes of one word first, then of two words, and so on.

    words: (N,) last word of each prefix, 0 to U - 1. levels: number of prefixes of 1, 2, ... words.
    parents: (N,) place of the prefix without its last word among those of its length; 0 if that is empty.
    sentences: (B,) the prefix that is the whole sentence.
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
    number = first.T.cumsum(1) - 1  # (W, B) of each sentence's prefixes, among those of a length
    parents = np.vstack([np.zeros_like(number[:1]), number[:-1]])
    levels = first.sum(0)
    number += (levels.cumsum() - levels)[:, None]
    sentences = np.empty_like(order)
    sentences[order] = number[lengths.numpy()[order] - 1, np.arange(len(order))]
    last_words, parents_of_first = (torch.from_numpy(values[first.T]) for values in (words.T, parents))
    return PrefixTree(last_words, parents_of_first, levels.tolist(), torch.from_numpy(sentences))


def last_states(recurrent: nn.LSTM | nn.GRU, vectors: Tensor, tree: PrefixTree) -> Tensor:
    """The hidden states (B, h) after the last words, from the vectors (U, d) of the distinct words."""
    input_weight, weight, input_bias, bias = recurrent.all_weights[0]
    inputs = (linear(vectors, input_weight) + input_bias).index_select(0, tree.words)
    step = _lstm if isinstance(recurrent, nn.LSTM) else _gru
    state = (vectors.new_zeros(1, recurrent.hidden_size),) * 2  # of the empty prefix: hidden state and cell
    hidden = []
    for level, parents in zip(inputs.split(tree.levels), tree.parents.split(tree.levels), strict=True):
        before, cells = (each.index_select(0, parents) for each in state)
        state = step(level, linear(before, weight) + bias, before, cells)
        hidden.append(state[0])
    return torch.cat(hidden).index_select(0, tree.sentences)


State = tuple[Tensor, Tensor]


def _lstm(inputs: Tensor, recurrent: Tensor, before: Tensor, cells: Tensor) -> State:
    """Hidden states and cells (n, h) from the contributions (n, 4h) of the words and of the states before."""
    enter, keep, new, out = (inputs + recurrent).chunk(4, 1)
    cells = keep.sigmoid() * cells + enter.sigmoid() * new.tanh()
    return out.sigmoid() * cells.tanh(), cells


def _gru(inputs: Tensor, recurrent: Tensor, before: Tensor, cells: Tensor) -> State:
    """Hidden states (n, h) from the contributions (n, 3h) of the words and of the states before; no cells."""
    size = before.shape[1]
    to_gates, to_new = inputs.split([2 * size, size], 1)
    from_state, to_candidate = recurrent.split([2 * size, size], 1)
    reset, keep = (to_gates + from_state).sigmoid().chunk(2, 1)
    return torch.lerp((to_new + reset * to_candidate).tanh(), before, keep), cells
