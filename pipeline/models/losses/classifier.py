"""The language classifier behind gradient reversal (MULE, Equation 2)."""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from pipeline.models.losses.loss import Loss, Step, Terms
from pipeline.models.settings import ClassifierWeight


class ClassifierLoss(Loss[ClassifierWeight]):
    """The classifier's loss on u, whose gradient to the embedding is reversed more and more strongly."""

    def terms(self, step: Step) -> Terms:
        strength = reversal_strength(step.done)
        if self.block.weight_applied == "twice":  # the authors' code: on the reversal and on the loss
            strength *= self.block.weight
        languages = step.model.languages
        universal = {languages.index(code): part.vectors for code, part in step.universal.items()}
        classifier, by_language = step.model.get_submodule("classifier"), self.block.mean_over == "languages"
        loss = classifier_loss(universal, classifier, strength, by_language)
        return {"classifier": self.block.weight * loss}


def classifier_loss(
    universal: Mapping[int, Tensor], classifier: torch.nn.Module, strength: float, by_language: bool = False
) -> Tensor:
    """Cross-entropy of the language classifier on u behind gradient reversal (MULE, Equation 2).

    Args:
        universal: for each language's number its u, (B, d).
        classifier: linear layer (d, languages).
        strength: factor of the reversed gradient.
        by_language: the mean over languages of each one's mean, instead of the mean over sentences.
    """
    labels = [torch.full((len(u),), number, device=u.device) for number, u in universal.items()]
    vectors = reverse_gradient(torch.cat(list(universal.values())), strength)
    scores, numbers = classifier(vectors), torch.cat(labels)
    if not by_language:
        return F.cross_entropy(scores, numbers)
    each = F.cross_entropy(scores, numbers, reduction="none").split([len(u) for u in universal.values()])
    return torch.stack([of_language.mean() for of_language in each]).mean()


def reversal_strength(done: float) -> float:
    """Ramp of the gradient reversal, 2 / (1 + exp(-10 p)) - 1 (Ganin and Lempitsky 2014, Section 3.1)."""
    return 2 / (1 + math.exp(-10 * done)) - 1


class _Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, strength: float) -> Tensor:
        ctx.strength = strength
        return values.view_as(values)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return -ctx.strength * gradient, None


def reverse_gradient(values: Tensor, strength: float) -> Tensor:
    """Identity whose gradient is multiplied by `-strength` (Ganin and Lempitsky 2014)."""
    result: Tensor = _Reversal.apply(values, strength)
    return result
