"""The training step as published codes of image-sentence retrieval have it: the baseline to compare with.

A DataLoader draws one image after the other in Python and pads a batch's sentences to the longest of each
language; every language has a separate call of the recurrent layer, over padding too, and masked sentences
another; every loss term makes its own matrix of distances, and Equation 2 of SMALR is computed for each pair
of languages. Layers come from a `RetrievalModel`, so that losses and gradients can be compared with
`pipeline.training`, and losses from tests/reference.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from reference.layers import Weights
from reference.smalr import masking_objective
from reference.training import Objective, embedded_objective
from torch import Tensor
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

from pipeline.models.branches import RecurrentBranch
from pipeline.models.hybrid import HybridEmbedding
from pipeline.models.model import RetrievalModel
from pipeline.models.universal import TableEmbedding
from pipeline.words.corpus import Corpus

Embedded = dict[str, tuple[Tensor, Tensor]]  # u and s by language


@dataclass
class Item:
    """One image: its features (D,) and, for each language, the word ids of the drawn sentences."""

    features: Tensor
    sentences: dict[str, list[list[int]]]


@dataclass
class PaddedBatch:
    """Images' features (n, D); for each language padded ids (B, W), lengths (B,), images' places (B,)."""

    features: Tensor
    ids: dict[str, Tensor]
    lengths: dict[str, Tensor]
    slots: dict[str, Tensor]

    def to(self, device: torch.device) -> "PaddedBatch":
        by_language = [
            {language: part.to(device) for language, part in parts.items()}
            for parts in (self.ids, self.lengths, self.slots)
        ]
        return PaddedBatch(self.features.to(device), *by_language)


class PlainDataset(Dataset[Item]):
    """Images with `each` of their sentences in every language, drawn whenever an image is asked for."""

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
        sentences = {}
        for language, of_image in self.sentences.items():
            numbers = self.draw.permutation(len(of_image[image]))[: self.each[language]]
            sentences[language] = [of_image[image][number] for number in numbers]
        return Item(self.features[image], sentences)


def padded_batch(items: Sequence[Item]) -> PaddedBatch:
    """Pad the sentences of each language to the longest of them."""
    batch = PaddedBatch(torch.stack([item.features for item in items]), {}, {}, {})
    for language in items[0].sentences:
        rows = [(slot, ids) for slot, item in enumerate(items) for ids in item.sentences[language]]
        longest = max(len(ids) for _, ids in rows)
        batch.ids[language] = torch.tensor([ids + [0] * (longest - len(ids)) for _, ids in rows])
        batch.lengths[language] = torch.tensor([len(ids) for _, ids in rows])
        batch.slots[language] = torch.tensor([slot for slot, _ in rows])
    return batch


def plain_loader(
    corpus: Corpus, each: Mapping[str, int], images: int, seed: int = 0
) -> DataLoader[PaddedBatch]:
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


def plain_objective(
    model: RetrievalModel, batch: PaddedBatch, settings: Mapping[str, Any], done: float
) -> Objective:
    """The weighted loss terms of a batch, and what is minimised. done: share of the training that is done."""
    weights: Weights = dict(model.named_parameters())
    embedding = model.universal
    assert isinstance(embedding, TableEmbedding)
    initial = {language: embedding[language].initial for language in model.languages}
    images, embedded = model.embed_images(batch.features), embed(model, batch.ids, batch.lengths)
    if not settings.get("masking"):
        with batch.features.device:  # the reading makes its index tensors on the default device
            return embedded_objective(weights, initial, embedded, images, batch.slots, settings, done)
    masked = embed(
        model, masked_ids(model, batch.ids, settings["masking"]["mask_probability"]), batch.lengths
    )
    with batch.features.device:
        return masking_objective(weights, initial, embedded, masked, images, batch.slots, settings, done)


def embed(model: RetrievalModel, ids: Mapping[str, Tensor], lengths: Mapping[str, Tensor]) -> Embedded:
    """u and s of padded sentences (B, W), one language after another."""
    embedded, embedding = {}, model.universal
    assert isinstance(embedding, TableEmbedding)
    for language, padded in ids.items():
        branch = model.branches["shared" if "shared" in model.branches else language]
        assert isinstance(branch, RecurrentBranch)
        words = embedding.words({language: padded.flatten().cpu()}).unflatten(0, padded.shape)  # (B, W, d)
        count = lengths[language]
        real = (torch.arange(padded.shape[1], device=padded.device) < count[:, None])[:, :, None]
        mean = (words * real).sum(1) / count[:, None]
        outputs, _ = branch.recurrent(words)
        last = outputs[torch.arange(len(padded), device=padded.device), count - 1]
        embedded[language] = F.normalize(mean, dim=-1), F.normalize(branch.projection(last), dim=-1)
    return embedded


def masked_ids(model: RetrievalModel, ids: Mapping[str, Tensor], share: float) -> dict[str, Tensor]:
    """Word ids with a share of the words replaced by MASK, drawn as `pipeline.models` draws them."""
    assert isinstance(model.universal, HybridEmbedding)
    masked = {}
    for language, padded in ids.items():
        masks = (torch.rand(padded.shape, device="cpu") < share).to(padded.device)
        masked[language] = padded.masked_fill(masks & (padded != 0), model.universal.mask_id(language))
    return masked


def plain_step(
    model: RetrievalModel,
    optimizer: torch.optim.Optimizer,
    batch: PaddedBatch,
    settings: Mapping[str, Any],
    done: float,
) -> dict[str, float]:
    """One step of the plain loop, its losses as numbers."""
    device = next(model.parameters()).device
    terms, loss = plain_objective(model, batch.to(device), settings, done)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return {name: term.item() for name, term in terms.items()}
