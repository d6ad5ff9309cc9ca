"""The language classifier behind gradient reversal (MULE, Equation 2)."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from pipeline.common.devices import to_device
from pipeline.models.losses.loss import Loss, Step, Terms
from pipeline.models.settings import ClassifierWeight


class ClassifierLoss(Loss[ClassifierWeight]):
    """The classifier's loss on u, whose gradient to the embedding is reversed more and more strongly."""

    def terms(self, step: Step) -> Terms:
        strength = reversal_strength(step.progress)
        if self.block.weight_applied == "twice":  # the authors' code: on the reversal and on the loss
            strength *= self.block.weight
        numbers = torch.tensor([step.model.languages.index(language) for language in step.sentences])
        labels = numbers.repeat_interleave(torch.tensor([len(segment.rows) for segment in step.segments]))
        classifier, by_language = step.model.get_submodule("classifier"), self.block.mean_over == "languages"
        loss = classifier_loss(step.universal, labels, classifier, strength, by_language)
        return {"classifier": self.block.weight * loss}


def classifier_loss(
    universal: Tensor, labels: Tensor, classifier: torch.nn.Module, strength: float, by_language: bool = False
) -> Tensor:
    """Cross-entropy of the language classifier on u behind gradient reversal (MULE, Equation 2).

    Args:
        universal: u of all languages' sentences, (N, d). labels: (N,) numbers of their languages, on the CPU.
        classifier: linear layer (d, languages).
        strength: factor of the reversed gradient.
        by_language: the mean over languages of each language's mean, instead of the mean over sentences.
    """
    scores = classifier(reverse_gradient(universal, strength))
    if not by_language:
        return F.cross_entropy(scores, to_device(labels, scores.device))
    _, language, count = labels.unique(return_inverse=True, return_counts=True)
    share = (1 / (len(count) * count[language])).to(scores.dtype)  # weight of a sentence in the mean
    losses = F.cross_entropy(scores, to_device(labels, scores.device), reduction="none")
    return losses @ to_device(share, scores.device)


def reversal_strength(progress: float) -> float:
    """Ramp of the gradient reversal, 2 / (1 + exp(-10 p)) - 1 (Ganin and Lempitsky 2014, Section 3.1)."""
    return 2 / (1 + math.exp(-10 * progress)) - 1


def reverse_gradient(values: Tensor, strength: float) -> Tensor:
    """Identity whose gradient is multiplied by `-strength` (Ganin and Lempitsky 2014)."""
    fixed = values.detach()
    return fixed - strength * (values - fixed)
