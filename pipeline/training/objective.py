"""The whole loss of one batch: matching, neighbourhood constraints, language classifier, word regulariser."""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from pipeline.models.losses import (
    Anchored,
    Triplets,
    classifier_loss,
    matching_loss,
    neighborhood_loss,
)
from pipeline.models.ranking import Ranking, ranking_terms
from pipeline.models.retrieval_model import Embedded, RetrievalModel
from pipeline.models.universal import UniversalEmbedding
from pipeline.training.batches import Drawn
from pipeline.training.precision import embedding_precision
from pipeline.words.corpus import Corpus, uploaded

Terms = dict[str, Tensor]


def training_terms(
    model: RetrievalModel, corpus: Corpus, drawn: Drawn, settings: Mapping[str, Any], done: float
) -> Terms:
    """The weighted terms whose sum is minimised (MULE, Equation 4), by name.

    Args:
        settings: triplets, matching, ranking, neighborhood, classifier, each None where it is not used;
            words, training.precision. A ranking loss stands in the place of the matching of Equation 3.
        done: share of the training that is done, 0 to 1.
    """
    device = corpus.features.device
    sentences = {language: corpus.languages[language].take(rows) for language, rows in drawn.rows.items()}
    features = corpus.features[uploaded(torch.from_numpy(drawn.images), device)]
    with embedding_precision(settings["training"]["precision"], device):
        embedded, images = model.embed_sentences(sentences), model.embed_images(features)
    multimodal = {
        language: _anchored(part.multimodal, drawn, language) for language, part in embedded.items()
    }
    # An image without captions in a language is still a negative for that language's sentences.
    shown = Anchored(images, torch.arange(len(images)), 1)
    if settings["ranking"]:
        ranking = Ranking(**settings["ranking"], similarity=model.similarity)
        terms = ranking_terms(shown, list(multimodal.values()), ranking)
    else:
        triplets = Triplets(**settings["triplets"])
        terms = {"matching": _matching(shown, multimodal, triplets, settings["matching"])}
    if settings["neighborhood"]:
        triplets = Triplets(**settings["triplets"])
        universal = [_anchored(part.universal, drawn, language) for language, part in embedded.items()]
        on_both = neighborhood_loss(list(multimodal.values()), triplets) + neighborhood_loss(
            universal, triplets
        )
        terms["neighborhood"] = settings["neighborhood"]["weight"] * on_both
    if settings["classifier"]:
        terms["classifier"] = _adversary(model, embedded, settings["classifier"], done)
    terms["words"] = settings["words"]["regularization"] * model.universal.drift()
    return terms


def pretraining_terms(
    universal: UniversalEmbedding, corpus: Corpus, drawn: Drawn, triplets: Triplets
) -> Terms:
    """The neighbourhood constraints on u alone (MULE: pretraining MULE with paired sentences)."""
    anchored = []
    for language, rows in drawn.rows.items():
        means = universal.means(language, corpus.languages[language].take(rows))
        anchored.append(_anchored(functional.normalize(means, dim=-1), drawn, language))
    return {"neighborhood": neighborhood_loss(anchored, triplets)}


def _anchored(vectors: Tensor, drawn: Drawn, language: str) -> Anchored:
    return Anchored(vectors, torch.from_numpy(drawn.slots[language]), drawn.each[language])


def _matching(
    images: Anchored, sentences: Mapping[str, Anchored], triplets: Triplets, weights: Mapping[str, float]
) -> Tensor:
    losses = [matching_loss(images, part, triplets, weights) for part in sentences.values()]
    return torch.stack(losses).mean()


def _adversary(
    model: RetrievalModel, embedded: Mapping[str, Embedded], settings: Mapping[str, Any], done: float
) -> Tensor:
    strength = reversal_strength(done)
    if settings["weight_applied"] == "twice":  # the authors' code: on the reversal and on the loss
        strength *= settings["weight"]
    universal = {model.languages.index(language): part.universal for language, part in embedded.items()}
    return settings["weight"] * classifier_loss(universal, model.classifier, strength)


def reversal_strength(done: float) -> float:
    """Ramp of the gradient reversal, 2 / (1 + exp(-10 p)) - 1 (Ganin and Lempitsky 2014, Section 3.1)."""
    return 2 / (1 + math.exp(-10 * done)) - 1
