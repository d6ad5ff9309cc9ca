"""MULE's objective (Equation 4) and its training ("Implementation Details")."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations

import torch
from torch import Tensor

from reference.batches import Batch, steps_per_epoch
from reference.captions import Split
from reference.evaluation import model_ranks, recalls
from reference.layers import Weights, unit
from reference.losses import (
    classifier_losses,
    matching_loss,
    neighborhood_loss,
    ranking_loss,
    similarities,
)
from reference.model import Settings, WordVectors, embed_images, embed_sentences, universal_words

Embedded = Mapping[str, tuple[Tensor, Tensor]]  # u and s by language
Objective = tuple[dict[str, Tensor], Tensor]  # the weighted terms by name, and what is minimised


def objective(
    weights: Weights,
    initial: Weights,
    split: Split,
    batch: Batch,
    settings: Settings,
    done: float,
) -> Objective:
    """Equation 4 of a batch.

    Args:
        initial: the word tables E0 that training should not forget. done: share of the training that is done.
    """
    embedded = embed_sentences(weights, settings, batch.word_ids(split), training=True)
    images = embed_images(weights, settings, split.features[batch.images], training=True)
    return embedded_objective(weights, initial, embedded, images, batch.slot_tensors(), settings, done)


def embedded_objective(
    weights: Weights,
    initial: Weights,
    embedded: Embedded,
    images: Tensor,
    slots: Mapping[str, Tensor],
    settings: Settings,
    done: float,
) -> Objective:
    """Equation 4 of a batch's embeddings: the sum of the terms, the classifier's with the other sign."""
    universal = {language: u for language, (u, _) in embedded.items()}
    multimodal = {language: s for language, (_, s) in embedded.items()}
    if settings["ranking"]:
        terms = ranking_terms(multimodal, images, slots, settings)
    else:
        terms = {"matching": mean_matching(images, multimodal, slots, settings)}
    if settings["neighborhood"]:
        layers = [neighborhood_loss(layer, slots, settings["triplets"]) for layer in (multimodal, universal)]
        terms["neighborhood"] = settings["neighborhood"]["weight"] * torch.stack(layers).sum()
    drift = [
        0.5 * (weights[f"universal.{code}.table.weight"] - initial[code]).square().sum()
        for code in settings["languages"]
    ]
    terms["words"] = settings["word_regularizer"]["weight"] * torch.stack(drift).mean()
    minimised = torch.stack(list(terms.values())).sum()
    if settings["classifier"]:
        weight, strength = settings["classifier"]["weight"], 2 / (1 + math.exp(-10 * done)) - 1
        if settings["classifier"]["weight_applied"] == "twice":
            strength *= weight
        of_classifier, of_all_else = classifier_losses(
            weights, universal, settings["languages"], settings["classifier"]["mean_over"]
        )
        terms["classifier"] = weight * of_classifier.detach()
        minimised = minimised + weight * of_classifier - weight * strength * of_all_else
    return terms, minimised


def mean_matching(
    images: Tensor, multimodal: Mapping[str, Tensor], slots: Mapping[str, Tensor], settings: Settings
) -> Tensor:
    """Equation 3, mean over languages."""
    triplets, weights = settings["triplets"], settings["matching"]
    each = [matching_loss(images, s, slots[code], triplets, weights) for code, s in multimodal.items()]
    return torch.stack(each).mean()


def ranking_terms(
    multimodal: Mapping[str, Tensor], images: Tensor, slots: Mapping[str, Tensor], settings: Settings
) -> dict[str, Tensor]:
    """*Lessons*, Section 3: captions against images, and captions of each pair of languages."""
    ranking = settings["ranking"]

    def loss(first: Tensor, first_slots: Tensor, second: Tensor, second_slots: Tensor) -> Tensor:
        similarity = similarities(first, second, settings["model"]["similarity"])
        return ranking_loss(similarity, first_slots[:, None] == second_slots, ranking)

    every = torch.arange(len(images))
    with_images = [loss(s, slots[code], images, every) for code, s in multimodal.items()]
    terms = {"caption_image": torch.stack(with_images).sum()}
    if ranking["caption_caption"]:
        pairs = [
            loss(multimodal[one], slots[one], multimodal[two], slots[two])
            for one, two in combinations(multimodal, 2)
        ]
        terms["caption_caption"] = ranking["caption_caption"] * torch.stack(pairs).sum()
    return terms


class Adam:
    """Kingma and Ba (2014), Algorithm 1; a weight that a batch does not reach is left as it is."""

    def __init__(self) -> None:
        self.steps: dict[str, int] = {}
        self.first: Weights = {}
        self.second: Weights = {}

    def step(self, weights: Weights, gradients: Mapping[str, Tensor], rate: float) -> None:
        for name, gradient in gradients.items():
            time = self.steps[name] = self.steps.get(name, 0) + 1
            first = 0.9 * self.first.get(name, torch.zeros_like(gradient)) + 0.1 * gradient
            second = 0.999 * self.second.get(name, torch.zeros_like(gradient)) + 0.001 * gradient.square()
            self.first[name], self.second[name] = first, second
            step = first / (1 - 0.9**time) / ((second / (1 - 0.999**time)).sqrt() + 1e-8)
            weights[name] = (weights[name].detach() - rate * step).requires_grad_()


def gradients_of(
    loss: Tensor, weights: Weights, names: Sequence[str], padding_learns: bool
) -> dict[str, Tensor]:
    """Gradients by name, without those of weights that the loss does not reach."""
    values = torch.autograd.grad(loss, [weights[name] for name in names], allow_unused=True)
    gradients = {name: value for name, value in zip(names, values, strict=True) if value is not None}
    if not padding_learns:
        for name in gradients:
            if name.endswith("table.weight"):
                gradients[name][0] = 0
    return gradients


def clip(gradients: dict[str, Tensor], max_norm: float | None) -> dict[str, Tensor]:
    """All gradients together no longer than `max_norm`; PyTorch adds 1e-6 to their length."""
    if max_norm is None:
        return gradients
    length = math.sqrt(sum(float(value.square().sum()) for value in gradients.values()))
    return {name: value * min(1.0, max_norm / (length + 1e-6)) for name, value in gradients.items()}


def trainable(weights: Weights) -> list[str]:
    """Names of what is trained, and the weights ready for gradients."""
    names = [name for name in weights if weights[name].is_floating_point() and ".running_" not in name]
    names = [name for name in names if not name.endswith(".initial")]
    for name in names:
        weights[name] = weights[name].detach().clone().requires_grad_()
    return names


def pretrain_layers(
    weights: Weights, split: Split, epochs: Sequence[Sequence[Batch]], settings: Settings
) -> Weights:
    """LP: the layers into the universal embedding trained by the u part of Equation 1, tables frozen."""
    weights, adam = dict(weights), Adam()
    names = [name for name in trainable(weights) if ".projection." in name]
    for batch in chain.from_iterable(epochs):
        universal = {
            language: unit(universal_words(weights, settings["model"], language, sentences)[2])
            for language, sentences in batch.word_ids(split).items()
        }
        loss = neighborhood_loss(universal, batch.slot_tensors(), settings["triplets"])
        gradients = gradients_of(loss, weights, names, padding_learns=False)
        adam.step(weights, gradients, settings["training"]["learning_rate"])
    return {name: weights[name].detach() for name in names}


@dataclass
class Training:
    """What a training writes.

    curves: a row per epoch. last: the weights after the last epoch. epoch, best: the epoch with the highest
    score on validation, from 1, and its weights.
    """

    curves: list[dict[str, float]] = field(default_factory=list)
    last: Weights = field(default_factory=dict)
    epoch: int = 0
    best: Weights = field(default_factory=dict)
    score: float = -1.0
    sums: dict[str, float] = field(default_factory=dict)

    def add_step(self, terms: Mapping[str, Tensor]) -> None:
        """Add a step's terms to the epoch's sums, and the sum of the terms as `loss`."""
        for name, term in {**terms, "loss": torch.stack(list(terms.values())).sum()}.items():
            self.sums[name] = self.sums.get(name, 0.0) + float(term.detach())

    def add_epoch(
        self, weights: Weights, recalls: Mapping[str, float], steps: int, score: float | None = None
    ) -> bool:
        """Close an epoch; whether it has the highest score so far, by default the mean mR over languages."""
        mean = sum(recalls.values()) / len(recalls)
        row = {"epoch": len(self.curves) + 1, "val_mR": mean}
        row |= {f"val_mR_{language}": value for language, value in recalls.items()}
        row |= {name: total / steps for name, total in self.sums.items()}
        row |= {} if score is None else {"val_sum": score}
        self.curves.append(row)
        self.sums = {}
        self.last = {name: value.detach().clone() for name, value in weights.items()}
        better = (score := mean if score is None else score) > self.score
        if better:
            self.score, self.epoch, self.best = score, len(self.curves), dict(self.last)
        return better


def train(
    weights: Weights,
    split: Split,
    validation: Split,
    epochs: Sequence[Sequence[Batch]],
    settings: Settings,
    objective: Callable[..., Objective] = objective,
    word_vectors: WordVectors = universal_words,
) -> Training:
    """Adam over the epochs. objective, word_vectors: of a model that is not MULE's."""
    weights, adam, training = dict(weights), Adam(), settings["training"]
    initial = {code: weights[f"universal.{code}.table.weight"].clone() for code in settings["languages"]}
    names, rate, result = trainable(weights), training["learning_rate"], Training()
    padding_learns = settings["model"]["universal_mean"] == "padded" or word_vectors is not universal_words
    steps = steps_per_epoch(split, training)
    for epoch, batches in enumerate(epochs):
        for step, batch in enumerate(batches, epoch * steps):
            done = step / (training["epochs"] * steps)
            terms, loss = objective(weights, initial, split, batch, settings, done)
            result.add_step(terms)
            gradients = gradients_of(loss, weights, names, padding_learns)
            adam.step(weights, clip(gradients, training["max_grad_norm"]), rate)
        rate *= training["learning_rate_decay"]  # "a learning rate of 1e-4 that we decay exponentially"
        if settings["word_regularizer"]["regularize_toward"] == "previous_epoch":
            initial = {code: weights[f"universal.{code}.table.weight"].detach() for code in initial}
        mean_recalls = {
            code: recalls(model_ranks(weights, settings, validation, code, word_vectors))["mR"]
            for code in initial
        }
        result.add_epoch(weights, mean_recalls, steps)
    return result
