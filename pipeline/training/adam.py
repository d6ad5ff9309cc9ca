"""Adam, as every training uses it."""

from collections.abc import Iterable
from typing import TypedDict

import torch
from torch import Tensor
from torch.optim.adam import adam

BETAS, EPSILON = (0.9, 0.999), 1e-8  # PyTorch's and TensorFlow's defaults

Moments = tuple[Tensor, Tensor, Tensor]  # running means of a gradient and of its square; steps taken


class SavedState(TypedDict):
    """What the next steps depend on, besides weights and gradients; `moments` by the weight's number."""

    learning_rate: float
    moments: dict[int, Moments]


class Adam:
    """Adam (Kingma and Ba 2015), equal bit by bit to a fused `torch.optim.Adam`.

    PyTorch's class imports its compiler, which takes as long as importing PyTorch. The function that its
    class calls, which this class calls too, does not.

    weights: what is trained. learning_rate: of the next step. max_grad_norm: the largest total norm of a
    gradient, which is scaled down to it; None: any.
    """

    def __init__(
        self, parameters: Iterable[Tensor], learning_rate: float, max_grad_norm: float | None = None
    ):
        self.weights = list(parameters)
        self.learning_rate = learning_rate
        self.max_grad_norm = max_grad_norm
        self.moments: dict[int, Moments] = {}  # of the weights that have had a gradient, by number

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for weight in self.weights:
            weight.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Change the weights that have a gradient."""
        if self.max_grad_norm:
            torch.nn.utils.clip_grad_norm_(self.weights, self.max_grad_norm)
        weights: list[Tensor] = []
        gradients: list[Tensor] = []
        moments: list[Moments] = []
        for number, weight in enumerate(self.weights):
            if weight.grad is None:
                continue
            if number not in self.moments:
                steps = torch.zeros((), device=weight.device)
                self.moments[number] = torch.zeros_like(weight), torch.zeros_like(weight), steps
            weights.append(weight)
            gradients.append(weight.grad)
            moments.append(self.moments[number])
        if weights:
            adam(
                weights,
                gradients,
                [mean for mean, _, _ in moments],
                [square for _, square, _ in moments],
                [],
                [steps for _, _, steps in moments],
                fused=True,
                amsgrad=False,
                beta1=BETAS[0],
                beta2=BETAS[1],
                lr=self.learning_rate,
                weight_decay=0.0,
                eps=EPSILON,
                maximize=False,
            )

    def state_dict(self) -> SavedState:
        """The state to continue from."""
        return {"learning_rate": self.learning_rate, "moments": self.moments}

    def load_state_dict(self, saved: SavedState) -> None:
        """Continue from a saved state, on the device of the weights."""
        self.learning_rate = saved["learning_rate"]
        self.moments = {}
        for number, (mean, square, steps) in saved["moments"].items():
            device = self.weights[number].device
            self.moments[number] = mean.to(device), square.to(device), steps.to(device)
