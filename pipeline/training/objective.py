"""The whole loss of one batch: matching, neighbourhood constraints, language classifier, word regulariser."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from pipeline import registry as parts
from pipeline.common.devices import to_device
from pipeline.models.losses.classifier import classifier_loss, reversal_strength
from pipeline.models.losses.neighborhood import neighborhood_loss
from pipeline.models.losses.triplets import Anchored, Triplets
from pipeline.models.retrieval_model import Embedded, RetrievalModel
from pipeline.models.step import Step, Terms
from pipeline.models.universal import UniversalEmbedding
from pipeline.training.batches import Batch
from pipeline.training.precision import embedding_precision
from pipeline.words.corpus import Corpus, Sentences


def training_terms(
    model: RetrievalModel, corpus: Corpus, drawn: Batch, settings: Mapping[str, Any], done: float
) -> Terms:
    """The weighted terms whose sum is minimised (MULE, Equation 4), by name.

    Args:
        settings: triplets, matching, ranking, neighborhood, classifier, each None where it is not used;
            words, training.precision; blocks of the losses in `pipeline.registry`, those that are there. A
            ranking loss replaces the matching of Equation 3.
        done: fraction of the training that is done, 0 to 1.
    """
    device = corpus.features.device
    sentences = {language: corpus.languages[language].take(rows) for language, rows in drawn.rows.items()}
    features = corpus.features[to_device(torch.from_numpy(drawn.images), device)]

    def embed(chosen: Mapping[str, Sentences]) -> dict[str, Embedded]:
        with embedding_precision(settings["training"]["precision"], device):
            return model.embed_sentences(chosen)

    embedded = embed(sentences)
    with embedding_precision(settings["training"]["precision"], device):
        images = model.embed_images(features)
    step = Step(
        model=model,
        sentences=sentences,
        # An image without captions in a language is still a negative for that language's sentences.
        images=Anchored(images, torch.arange(len(images)), 1),
        embed=embed,
        universal={key: _anchored(part.universal, drawn, key) for key, part in embedded.items()},
        multimodal={key: _anchored(part.multimodal, drawn, key) for key, part in embedded.items()},
        settings=settings,
    )
    terms: Terms = {}
    if settings["matching"] and not settings["ranking"]:
        terms["matching"] = step.matching(step.multimodal)
    for loss in parts.losses(settings).values():
        terms |= loss.terms(step)
    if settings["neighborhood"]:
        layers = step.multimodal, step.universal
        on_both = [neighborhood_loss(list(layer.values()), step.triplets) for layer in layers]
        terms["neighborhood"] = settings["neighborhood"]["weight"] * (on_both[0] + on_both[1])
    if settings["classifier"]:
        terms["classifier"] = _adversary(model, embedded, settings["classifier"], done)
    terms["words"] = settings["word_regularizer"]["weight"] * model.universal.drift()
    return terms


def pretraining_terms(
    universal: UniversalEmbedding, corpus: Corpus, drawn: Batch, triplets: Triplets
) -> Terms:
    """The neighbourhood constraints on u only (MULE: pretraining MULE with paired sentences)."""
    anchored = []
    for language, rows in drawn.rows.items():
        means = universal.means(language, corpus.languages[language].take(rows))
        anchored.append(_anchored(functional.normalize(means, dim=-1), drawn, language))
    return {"neighborhood": neighborhood_loss(anchored, triplets)}


def _anchored(vectors: Tensor, drawn: Batch, language: str) -> Anchored:
    return Anchored(vectors, torch.from_numpy(drawn.slots[language]), drawn.each[language])


def _adversary(
    model: RetrievalModel, embedded: Mapping[str, Embedded], settings: Mapping[str, Any], done: float
) -> Tensor:
    strength = reversal_strength(done)
    if settings["weight_applied"] == "twice":  # the authors' code: on the reversal and on the loss
        strength *= settings["weight"]
    universal = {model.languages.index(language): part.universal for language, part in embedded.items()}
    return settings["weight"] * classifier_loss(universal, model.classifier, strength)
