"""Models of the Hugging Face hub that a configuration uses."""

import re
from collections.abc import Iterable
from pathlib import Path

from pipeline.settings.experiments import Settings, feature_sets
from pipeline.settings.translations import provider_of


def context_name(model: str) -> str:
    """What files of a model of `context` are called: a folder's own name, `OWNER--NAME` on the hub."""
    folder = model.startswith((".", "/")) or Path(model).is_dir()
    return re.sub(r"[^A-Za-z0-9._-]", "-", Path(model).name if folder else model.replace("/", "--"))


def hub_models(settings: Settings, pairs: Iterable[str]) -> Settings:
    """What jobs would download from the hub: `backbones`, `bert`, `marian` as (name, revision), `context`.

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
        "context": [model for model in settings["context"] if not Path(model).is_dir()],
    }
