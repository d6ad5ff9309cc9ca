"""Models of the Hugging Face hub that a configuration uses."""

from collections.abc import Iterable
from pathlib import Path

from pydantic import Field

from pipeline.common.block import Block
from pipeline.settings.configuration import Configuration
from pipeline.translation.settings import MarianProvider


class HubModels(Block):
    """Models of the Hugging Face hub that jobs would download, by their purpose."""

    backbones: list[str] = Field(default=[])
    """names of timm"""
    bert: str | None = None
    """name on the hub"""
    marian: dict[str, str | None] = Field(default={})
    """names, with a commit or tag, or null"""


def hub_models(settings: Configuration, pairs: Iterable[str]) -> HubModels:
    """What jobs would download from the hub.

    Args:
        pairs: languages (`SOURCE-TARGET`) that are translated.
    """
    feature_sets = [images for images in settings.images.feature_sets().values() if not images.features]
    bert = settings.bert.model
    providers = {pair: settings.translation.provider_of(pair) for pair in pairs}
    marian = {
        provider.model_of(*pair.split("-")): provider.revision
        for pair, provider in providers.items()
        if isinstance(provider, MarianProvider)
    }
    return HubModels(
        backbones=sorted({images.backbone for images in feature_sets if images.weights == "timm"}),
        bert=None if bert == "pretrain" or Path(bert).is_dir() else bert,
        marian={name: marian[name] for name in sorted(marian) if not Path(name).is_dir()},
    )
