"""A GRU over a prefix tree of sentences (`pipeline.models.prefixes`): each distinct prefix is computed once.

On a CPU, PyTorch's own GRU also copies the gradient of all words at every time step; here each word's
gradient is written once. The results are those of `nn.GRU` except for the order of summation.

Sizes in comments: U distinct words, N prefixes (`prefix_tree`), n of them at one level, h hidden size.
"""

from typing import Any

import torch
from torch import Tensor, nn

from pipeline.models.prefixes import PrefixTree
from pipeline.models.products import linear, product

sigmoid_backward, tanh_backward = torch.ops.aten.sigmoid_backward, torch.ops.aten.tanh_backward


def last_states(gru: nn.GRU, vectors: Tensor, tree: PrefixTree) -> Tensor:
    """The GRU's hidden states (B, h) after the last words, from the vectors (U, d) of the distinct words."""
    input_weight, weight, input_bias, bias = gru.all_weights[0]
    to_gates, to_new = bias.split([2 * gru.hidden_size, gru.hidden_size])
    inputs = linear(vectors, input_weight) + (input_bias + torch.cat([to_gates, torch.zeros_like(to_new)]))
    states: Tensor = _States.apply(inputs, weight, to_new, tree)
    return states[tree.sentences]


class _States(torch.autograd.Function):
    """Hidden states (N, h) of all prefixes, from the distinct words' contributions to the gates (U, 3h).

    The weight is (3h, h), its gates in PyTorch's order: reset, keep, new. The new state's recurrent bias (h,)
    is separate because the reset gate multiplies it too.
    """

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weight: Tensor, bias: Tensor, tree: PrefixTree) -> Tensor:
        gates, size = inputs[tree.words], len(bias)  # (N, 3h)
        states, recurrent = inputs.new_zeros(2, len(gates), size).unbind()
        end = 0
        for count in tree.levels:
            begin, end = end, end + count
            level = slice(begin, end)
            states_before = states[tree.parents[level]] if begin else states[level]
            recurrent[level] = bias
            if begin:
                shares = product(states_before, weight)
                gates[level, : 2 * size].add_(shares[:, : 2 * size])
                recurrent[level].add_(shares[:, 2 * size :])
            gates[level, : 2 * size].sigmoid_()
            reset, keep, new = gates[level].chunk(3, 1)
            new.addcmul_(reset, recurrent[level]).tanh_()
            torch.lerp(new, states_before, keep, out=states[level])
        ctx.save_for_backward(weight, gates, recurrent, states)
        ctx.tree, ctx.distinct = tree, len(inputs)
        return states

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        weight, gates, recurrent, states = ctx.saved_tensors
        tree, first, size = ctx.tree, ctx.tree.levels[0], states.shape[1]
        to_states, to_shares, to_new = gradients[0].clone(), torch.empty_like(gates), torch.empty_like(states)
        begin = len(gates)
        for count in reversed(tree.levels):
            begin, level = begin - count, slice(begin - count, begin)
            parents = tree.parents[level]
            states_before = states[parents] if begin else torch.zeros_like(states[level])
            reset, keep, new = gates[level].chunk(3, 1)
            to_reset, to_keep, to_recurrent = to_shares[level].chunk(3, 1)
            to_state = to_states[level]
            tanh_backward(to_state * (1 - keep), new, grad_input=to_new[level])
            sigmoid_backward(to_state * (states_before - new), keep, grad_input=to_keep)
            sigmoid_backward(to_new[level] * recurrent[level], reset, grad_input=to_reset)
            torch.mul(to_new[level], reset, out=to_recurrent)
            if begin:
                to_before = product(to_shares[level], weight.T).addcmul_(to_state, keep)
                to_states.index_add_(0, parents, to_before)
        to_weight = product(states[tree.parents[first:]].T, to_shares[first:].T).T
        to_inputs = gates.new_zeros(ctx.distinct, gates.shape[1])
        to_inputs[:, : 2 * size].index_add_(0, tree.words, to_shares[:, : 2 * size])
        to_inputs[:, 2 * size :].index_add_(0, tree.words, to_new)
        return to_inputs, to_weight, to_shares[:, 2 * size :].sum(0), None
