"""Models before their first step."""

from dataclasses import replace
from pathlib import Path

from pipeline.models.build import build, encoder
from pipeline.models.losses.loss import losses
from pipeline.models.protocols import Vocabularies
from pipeline.models.retrieval_model import RetrievalModel
from pipeline.models.settings import ModelSettings


def start_model(
    settings: ModelSettings, vocabularies: Vocabularies, pretrained: Path | None, features: int
) -> RetrievalModel:
    """A model with its initial values, and with the layers of its losses.

    Args:
        pretrained: output of the embedding's own pretraining, if it has any. features: D.

    Raises:
        InputError: the vocabularies or the pretrained weights do not fit the settings.
    """
    kind = encoder(settings)
    values = kind.values(settings, vocabularies, pretrained)
    model = build(settings, replace(kind.sizes(settings, values), features=features))
    for name, loss in losses(settings).items():
        if layers := loss.layers():
            model.losses[name] = layers
    model.copy_values(values)
    return model
