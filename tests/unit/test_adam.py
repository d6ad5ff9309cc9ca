"""Adam: the same weights as PyTorch's class, without what that imports."""

import subprocess
import sys

import torch
from torch.nn import Parameter

from pipeline.training.adam import Adam


def weights() -> list[Parameter]:
    torch.manual_seed(0)
    return [Parameter(torch.randn(shape)) for shape in ((3, 4), (5,), ())]


def test_weights_equal_those_of_pytorch_bit_by_bit() -> None:
    ours, theirs = weights(), weights()
    optimizer = Adam(ours, 0.01, max_grad_norm=1.0)
    reference = torch.optim.Adam(theirs, lr=0.01, fused=True)
    for step in range(8):
        rate = 0.01 / (1 + step)
        optimizer.learning_rate = reference.param_groups[0]["lr"] = rate
        optimizer.zero_grad()
        reference.zero_grad()
        for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            if number == 1 and step in (0, 1, 4):
                continue  # no gradient: neither the weight nor its moments change
            one.grad = 10.0 ** (step % 3 - 1) * torch.randn_like(one)
            other.grad = one.grad.clone()
        torch.nn.utils.clip_grad_norm_(theirs, 1.0)
        optimizer.step()
        reference.step()
        assert all(torch.equal(one, other) for one, other in zip(ours, theirs, strict=True))
        if step == 3:  # what a checkpoint keeps is all that the next steps need
            saved = optimizer.state_dict()
            optimizer = Adam(ours, 1.0, max_grad_norm=1.0)
            optimizer.load_state_dict(saved)


def test_a_step_does_not_import_pytorchs_compiler() -> None:
    code = """
import sys, torch
from pipeline.training.adam import Adam
weight = torch.nn.Parameter(torch.ones(2))
optimizer = Adam([weight], 0.1, max_grad_norm=1.0)
weight.sum().backward()
optimizer.step()
optimizer.zero_grad()
sys.exit("torch._dynamo" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
