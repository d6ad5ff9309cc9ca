"""Models of the Hugging Face hub that a configuration uses."""

from collections.abc import Iterable
from pathlib import Path

from pipeline.prefetch.settings import HubModels, MarianModel
from pipeline.settings.configuration import Configuration
from pipeline.translation.settings import MarianProvider


def hub_models(settings: Configuration, pairs: Iterable[str]) -> HubModels:
    """What jobs would download from the hub.

    Args:
        pairs: languages (`SOURCE-TARGET`) that are translated.
    """
    feature_sets = [images for images in settings.images.feature_sets().values() if not images.features]
    bert = settings.bert.model
    providers = {pair: settings.translation.provider_of(pair) for pair in pairs}
    marian = {
        MarianModel(name=provider.model_of(*pair.split("-")), revision=provider.revision)
        for pair, provider in providers.items()
        if isinstance(provider, MarianProvider)
    }
    return HubModels(
        backbones=sorted({images.backbone for images in feature_sets if images.weights == "timm"}),
        bert=None if bert == "pretrain" or Path(bert).is_dir() else bert,
        marian=[one for one in sorted(marian, key=str) if not Path(one.name).is_dir()],
    )
