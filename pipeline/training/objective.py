"""The whole loss of one batch, by term (MULE, Equation 4)."""

import functools
from typing import TYPE_CHECKING

import numpy as np
import torch

from pipeline.common.devices import to_device
from pipeline.models.losses.loss import Step, Terms, losses
from pipeline.models.losses.triplets import PLANS, Segment
from pipeline.training.batches import Batch
from pipeline.training.settings import TrainSettings
from pipeline.words.corpus import Corpus

if TYPE_CHECKING:  # an edit of the model reruns no pretraining
    from pipeline.models.model import RetrievalModel


def training_terms(
    model: "RetrievalModel",
    corpus: Corpus,
    batch: Batch,
    settings: TrainSettings,
    number: int,
    progress: float,
) -> Terms:
    """The weighted terms of the experiment's losses, whose sum is minimised, by name.

    Args:
        number: of the step, from 0. progress: fraction of the training before it.
    """
    sentences = {language: corpus.languages[language].take(rows) for language, rows in batch.rows.items()}
    features = corpus.features[to_device(torch.from_numpy(batch.images), corpus.features.device)]
    embedded = model.embed_sentences(sentences)
    step = Step(
        model=model,
        sentences=sentences,
        segments=batch_segments(batch),
        images=model.embed_images(features),
        universal=embedded.universal,
        multimodal=embedded.multimodal,
        number=number,
        progress=progress,
    )
    terms: Terms = {}
    for loss in losses(settings).values():
        terms |= loss.terms(step)
    return terms


def batch_segments(batch: Batch) -> tuple[Segment, ...]:
    """Each language's rows of the embeddings of a batch, one language after another.

    Batches in which the same images have sentences have equal segments, so one plan (`losses/triplets.py`)
    serves them all.
    """
    return _parts(
        tuple((slots.tobytes(), batch.per_image[language]) for language, slots in batch.slots.items())
    )


@functools.lru_cache(PLANS)
def _parts(languages: tuple[tuple[bytes, int], ...]) -> tuple[Segment, ...]:
    segments, first = [], 0
    for of_language, each in languages:
        slots = np.frombuffer(of_language, np.int64).copy()
        segments.append(Segment(first + np.arange(len(slots)), slots, each))
        first += len(slots)
    return tuple(segments)
