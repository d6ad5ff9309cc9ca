"""Models of the Hugging Face hub that a configuration uses."""

from collections.abc import Iterable
from pathlib import Path

from pipeline.configuration.experiments import Settings, feature_sets
from pipeline.configuration.translations import provider_of


def hub_models(settings: Settings, pairs: Iterable[str]) -> Settings:
    """What jobs would download from the hub: `backbones`, `bert`, and `marian` as (name, revision).

    Args:
        pairs: languages (`SOURCE-TARGET`) that are translated.
    """
    extracted = [images for images in feature_sets(settings).values() if not images["features"]]
    bert = settings["bert"]["model"]
    providers = {pair: provider_of(settings, pair) or {} for pair in pairs}
    named = {
        (
            provider["model"].format(source=pair[:2], target=pair[3:]),
            provider.get("revision"),
        )
        for pair, provider in providers.items()
        if provider.get("provider") == "marian"
    }
    return {
        "backbones": sorted({images["backbone"] for images in extracted if images["weights"] == "timm"}),
        "bert": None if bert == "pretrain" or Path(bert).is_dir() else bert,
        "marian": sorted((one for one in named if not Path(one[0]).is_dir()), key=str),
    }
