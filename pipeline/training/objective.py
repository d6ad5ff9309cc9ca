"""The whole loss of one batch, by term (MULE, Equation 4)."""

from collections.abc import Mapping

import torch
from torch import Tensor

from pipeline.common.devices import to_device
from pipeline.models.losses.loss import Step, Terms, losses
from pipeline.models.losses.triplets import Anchored
from pipeline.models.protocols import Embedded
from pipeline.models.retrieval_model import RetrievalModel
from pipeline.training.batches import Batch
from pipeline.training.loop import Moment
from pipeline.training.precision import embedding_precision
from pipeline.training.settings import TrainSettings
from pipeline.words.corpus import Corpus, Sentences


def training_terms(
    model: RetrievalModel, corpus: Corpus, batch: Batch, settings: TrainSettings, moment: Moment
) -> Terms:
    """The weighted terms of the experiment's losses, whose sum is minimised, by name."""
    step = training_step(model, corpus, batch, settings.training.precision, moment)
    terms: Terms = {}
    for loss in losses(settings).values():
        terms |= loss.terms(step)
    return terms


def training_step(
    model: RetrievalModel, corpus: Corpus, batch: Batch, precision: str, moment: Moment
) -> Step:
    """A batch with its embeddings, in the precision of the training."""
    device = corpus.features.device
    sentences = {language: corpus.languages[language].take(rows) for language, rows in batch.rows.items()}
    features = corpus.features[to_device(torch.from_numpy(batch.images), device)]

    def embed(chosen: Mapping[str, Sentences]) -> dict[str, Embedded]:
        with embedding_precision(precision, device):
            return model.embed_sentences(chosen)

    embedded = embed(sentences)
    with embedding_precision(precision, device):
        images = model.embed_images(features)
    return Step(
        model=model,
        sentences=sentences,
        # An image without captions in a language is still a negative for that language's sentences.
        images=Anchored(images, torch.arange(len(images)), 1),
        embed=embed,
        universal={key: anchored(part.universal, batch, key) for key, part in embedded.items()},
        multimodal={key: anchored(part.multimodal, batch, key) for key, part in embedded.items()},
        number=moment.step,
        done=moment.done,
    )


def anchored(vectors: Tensor, batch: Batch, language: str) -> Anchored:
    """Embeddings of a language's sentences of a batch, with the places of their images."""
    return Anchored(vectors, torch.from_numpy(batch.slots[language]), batch.each[language])
