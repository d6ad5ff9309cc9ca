"""The training step as published codes of image-sentence retrieval have it: the reference to compare with.

A DataLoader draws one image after the other in Python and pads a batch's sentences to the longest of each
language; every language passes the recurrent layer in a call of its own, over padding too; every loss term
makes its own matrix of distances. Layers, image branch and gradient reversal are those of a `RetrievalModel`,
so that losses and gradients can be compared with those of `pipeline.training`; batches, padding, last states,
distances and losses are computed apart.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

from pipeline.models.branches import RecurrentBranch
from pipeline.models.losses.classifier import reverse_gradient
from pipeline.models.retrieval_model import RetrievalModel
from pipeline.words.corpus import Corpus


@dataclass
class Item:
    """One image: its features (D,) and, for each language, the word ids of the drawn sentences."""

    features: Tensor
    sentences: dict[str, list[list[int]]]


@dataclass
class Batch:
    """Images' features (n, D); for each language padded ids (B, W), lengths (B,), images' places (B,)."""

    features: Tensor
    ids: dict[str, Tensor]
    lengths: dict[str, Tensor]
    slots: dict[str, Tensor]


class PlainDataset(Dataset[Item]):
    """Images with `each` of their sentences a language, drawn anew whenever an image is asked for."""

    def __init__(self, corpus: Corpus, each: Mapping[str, int], seed: int):
        self.features, self.each, self.draw = corpus.features, each, np.random.default_rng(seed)
        self.sentences: dict[str, list[list[list[int]]]] = {}
        for language, part in corpus.languages.items():
            self.sentences[language] = [[] for _ in corpus.images]
            rows = zip(part.image.tolist(), part.ids.tolist(), part.lengths.tolist(), strict=True)
            for image, ids, length in rows:
                self.sentences[language][image].append(ids[:length])

    def __len__(self) -> int:
        return len(self.features)

    def __getitem__(self, image: int) -> Item:
        drawn = {}
        for language, of_image in self.sentences.items():
            chosen = self.draw.permutation(len(of_image[image]))[: self.each[language]]
            drawn[language] = [of_image[image][number] for number in chosen]
        return Item(self.features[image], drawn)


def padded_batch(items: Sequence[Item]) -> Batch:
    """Pad the sentences of each language to the longest of them."""
    batch = Batch(torch.stack([item.features for item in items]), {}, {}, {})
    for language in items[0].sentences:
        rows = [(slot, ids) for slot, item in enumerate(items) for ids in item.sentences[language]]
        longest = max(len(ids) for _, ids in rows)
        batch.ids[language] = torch.tensor([ids + [0] * (longest - len(ids)) for _, ids in rows])
        batch.lengths[language] = torch.tensor([len(ids) for _, ids in rows])
        batch.slots[language] = torch.tensor([slot for slot, _ in rows])
    return batch


def plain_loader(corpus: Corpus, each: Mapping[str, int], images: int, seed: int = 0) -> DataLoader[Batch]:
    """Batches of `images` images in random order."""
    generator = torch.Generator().manual_seed(seed)
    return DataLoader(
        PlainDataset(corpus, each, seed),  # type: ignore[arg-type]
        images,
        shuffle=True,
        drop_last=True,
        collate_fn=padded_batch,
        generator=generator,
    )


def plain_terms(
    model: RetrievalModel, batch: Batch, settings: Mapping[str, Any], strength: float
) -> dict[str, Tensor]:
    """The weighted loss terms of a batch; `strength` is the gradient reversal's."""
    device = batch.features.device
    images = model.embed_images(batch.features)
    places = torch.arange(len(images), device=device)
    universal, multimodal = {}, {}
    for language, ids in batch.ids.items():
        universal[language], multimodal[language] = embed(model, language, ids, batch.lengths[language])
    losses = [match(images, places, multimodal[k], batch.slots[k], settings) for k in multimodal]
    terms = {"matching": torch.stack(losses).mean()}
    if settings["neighborhood"]:
        pairs = []
        for layer in (multimodal, universal):
            for first, second in itertools.combinations(layer, 2):
                slots = batch.slots[first], batch.slots[second]
                pairs.append(farthest(layer[first], slots[0], layer[second], slots[1], settings))
        terms["neighborhood"] = settings["neighborhood"]["weight"] * torch.stack(pairs).mean() * 2
    if settings["classifier"]:
        labels = [torch.full_like(batch.slots[k], model.languages.index(k)) for k in universal]
        scores = model.classifier(reverse_gradient(torch.cat(list(universal.values())), strength))
        terms["classifier"] = settings["classifier"]["weight"] * F.cross_entropy(scores, torch.cat(labels))
    tables = [model.universal[language] for language in model.languages]
    drift = [((table.table.weight - table.initial) ** 2).sum() / 2 for table in tables]
    terms["words"] = settings["words"]["regularization"] * torch.stack(drift).mean()
    return terms


def embed(model: RetrievalModel, language: str, ids: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """u and s of one language's padded sentences."""
    branch = model.branches["shared" if "shared" in model.branches else language]
    assert isinstance(branch, RecurrentBranch)
    words = model.universal[language](ids)  # (B, W, d)
    real = (torch.arange(ids.shape[1], device=ids.device) < lengths[:, None])[:, :, None]
    universal = F.normalize((words * real).sum(1) / lengths[:, None], dim=-1)
    outputs, _ = branch.recurrent(words)
    last = outputs[torch.arange(len(ids), device=ids.device), lengths - 1]
    return universal, F.normalize(branch.projection(last), dim=-1)


def distance(left: Tensor, right: Tensor, settings: Mapping[str, Any]) -> Tensor:
    """Matrix of distances between unit vectors."""
    cosine = left @ right.T
    if settings["triplets"]["distance"] == "cosine":
        return 1 - cosine
    return ((2 - 2 * cosine).clamp(min=0) + 1e-4).sqrt()


def hardest(violation: Tensor, own: Tensor, settings: Mapping[str, Any]) -> Tensor:
    """Mean over rows of the mean of the largest violations by others, of which there must be enough."""
    others = violation.masked_fill(own, -torch.inf)
    return others.topk(settings["triplets"]["num_hard_negatives"], dim=1).values.clamp(min=0).mean()


def match(
    images: Tensor, places: Tensor, sentences: Tensor, slots: Tensor, settings: Mapping[str, Any]
) -> Tensor:
    """Image-sentence matching of one language."""
    weights, margin = settings["matching"], settings["triplets"]["margin"]
    to_images = distance(sentences, images, settings)
    positive = to_images[torch.arange(len(slots), device=slots.device), slots][:, None]
    image_term = hardest(margin + positive - to_images, slots[:, None] == places, settings)
    to_sentences = distance(images[slots], sentences, settings)
    sentence_term = hardest(margin + positive - to_sentences, slots[:, None] == slots, settings)
    only = farthest(sentences, slots, sentences, slots, settings)
    return (
        weights["image"] * image_term + weights["sentence"] * sentence_term + weights["sentence_only"] * only
    )


def farthest(
    first: Tensor, slots: Tensor, second: Tensor, others: Tensor, settings: Mapping[str, Any]
) -> Tensor:
    """Triplets of sentences whose positive is the farthest of its image."""
    matrix = distance(first, second, settings)
    own = slots[:, None] == others
    positive = matrix.masked_fill(~own, -1.0).max(1, keepdim=True).values
    return hardest(settings["triplets"]["margin"] + positive - matrix, own, settings)


def plain_step(
    model: RetrievalModel,
    optimizer: torch.optim.Optimizer,
    batch: Batch,
    settings: Mapping[str, Any],
    strength: float,
) -> dict[str, float]:
    """One step of the plain loop, its losses as numbers."""
    device = next(model.parameters()).device
    moved = [
        {language: part.to(device) for language, part in parts.items()}
        for parts in (batch.ids, batch.lengths, batch.slots)
    ]
    terms = plain_terms(model, Batch(batch.features.to(device), *moved), settings, strength)
    loss = torch.stack(list(terms.values())).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return {name: term.item() for name, term in terms.items()}
