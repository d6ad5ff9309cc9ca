"""A training step of SMALR as its equations are written: the reference to compare `pipeline.training` with.

As in benchmarks/plain_training.py sentences are padded, every language passes the recurrent layer in a call
of its own, the masked sentences in another, and each loss makes its own matrix of distances. Equation 2 is
computed for each pair of languages with the concatenated sentences as its layer's input. The masks are drawn
as in the pipeline, so that losses and gradients can be compared.
"""

import itertools
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks.plain_training import Batch, farthest, match
from pipeline.models.branches import RecurrentBranch
from pipeline.models.hybrid import HybridEmbedding
from pipeline.models.losses.classifier import reverse_gradient
from pipeline.models.retrieval_model import RetrievalModel

Layers = dict[str, dict[str, Tensor]]  # universal and multimodal embeddings by language


def plain_smalr_terms(
    model: RetrievalModel, batch: Batch, settings: Mapping[str, Any], strength: float
) -> dict[str, Tensor]:
    """The weighted loss terms of a batch; every image has as many sentences in each language."""
    images = model.embed_images(batch.features)
    places = torch.arange(len(images))
    whole = embed(model, batch.ids, batch.lengths)
    how = settings["masking"]
    masked_ids = {}
    for language, ids in batch.ids.items():
        drawn = torch.rand(ids.shape) < how["share"]
        masked_ids[language] = ids.masked_fill(drawn & (ids != 0), len(words_of(model, language)))
    masked = embed(model, masked_ids, batch.lengths)

    def matching(vectors: Mapping[str, Tensor]) -> Tensor:
        losses = [match(images, places, vectors[key], batch.slots[key], settings) for key in vectors]
        return torch.stack(losses).mean()

    terms = {"matching": matching(whole["multimodal"])}
    terms["masked_matching"] = how["matching"] * matching(masked["multimodal"])
    terms["masking"] = how["weight"] * (
        reconstruction(model, "universal", masked, whole) + reconstruction(model, "multimodal", masked, whole)
    )
    pairs = []
    for layer in ("multimodal", "universal"):
        for first, second in itertools.combinations(whole[layer], 2):
            slots = batch.slots[first], batch.slots[second]
            pairs.append(farthest(whole[layer][first], slots[0], whole[layer][second], slots[1], settings))
    terms["neighborhood"] = settings["neighborhood"]["weight"] * torch.stack(pairs).mean() * 2
    labels = [torch.full_like(batch.slots[key], model.languages.index(key)) for key in batch.ids]
    scores = model.classifier(reverse_gradient(torch.cat(list(whole["universal"].values())), strength))
    terms["classifier"] = settings["classifier"]["weight"] * F.cross_entropy(scores, torch.cat(labels))
    terms["words"] = settings["words"]["regularization"] * model.universal.drift()
    return terms


def words_of(model: RetrievalModel, language: str) -> Tensor:
    """Places of a language's words, without MASK."""
    assert isinstance(model.universal, HybridEmbedding)
    return model.universal[language].own[:-1]


def embed(model: RetrievalModel, ids: Mapping[str, Tensor], lengths: Mapping[str, Tensor]) -> Layers:
    """u and s of padded sentences (B, W), each language for itself."""
    branch = model.branches["shared"]
    assert isinstance(branch, RecurrentBranch)
    found: Layers = {"universal": {}, "multimodal": {}}
    for language, padded in ids.items():
        words = model.universal.words(language, padded.flatten()).unflatten(0, padded.shape)  # (B, W, d)
        real = (padded != 0)[:, :, None]
        mean = (words * real).sum(1) / lengths[language][:, None]
        outputs, _ = branch.recurrent(words)
        last = outputs[torch.arange(len(padded)), lengths[language] - 1]
        found["universal"][language] = F.normalize(mean, dim=-1)
        found["multimodal"][language] = F.normalize(branch.projection(last), dim=-1)
    return found


def reconstruction(model: RetrievalModel, layer: str, masked: Layers, whole: Layers) -> Tensor:
    """Equation 2, a pair of languages at a time."""
    predictor = model.losses["masking"].get_submodule(layer)
    losses = []
    for first, second in itertools.combinations(whole[layer], 2):
        before = masked[layer][first], masked[layer][second]
        lacking = predictor(torch.cat(before, 1)).chunk(2, 1)
        after = whole[layer][first], whole[layer][second]
        pairs = zip(before, lacking, after, strict=True)
        losses.append(
            sum((F.normalize(m + s, dim=1) - w).norm(dim=1).mean() for m, s, w in pairs)  # w has length 1
        )
    return torch.stack([torch.as_tensor(loss) for loss in losses]).mean()
