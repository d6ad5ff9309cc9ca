"""Inputs and arguments of feature extraction.

`suffix` is the name of a feature set in its paths: empty for the main set, `-vgg` for the set vgg.
"""

import os
from pathlib import Path

from pipeline.common.block import did_you_mean
from pipeline.common.errors import raise_together
from pipeline.images.lists import photographs_digest
from pipeline.images.settings import PAPERS_BACKBONE, FeatureSettings, Images
from pipeline.plan import paths
from pipeline.plan.plan import Plan

# Backbones of config/scales, whose names need no check: looking them up takes seconds.
_KNOWN = (PAPERS_BACKBONE, "vgg19.tv_in1k", "resnet50.tv_in1k", "tf_efficientnet_lite0")


def check_backbones(plan: Plan) -> None:
    """Check that timm has every configured backbone, and its weights if they are timm's.

    Raises:
        InputError: it lacks some, which are named with a similar name.
    """
    sets = [images for images in plan.settings.images.feature_sets().values() if not images.features]
    asked = {images.backbone: images.weights for images in sets if images.backbone not in _KNOWN}
    if not asked:
        return
    import timm

    mistakes = []
    for name, weights in asked.items():
        if not timm.is_model(name):
            mistakes.append(f"timm has no {name!r}{did_you_mean(name, timm.list_models())}")
        elif weights == "timm" and not timm.models.is_model_pretrained(name):
            tagged = timm.list_pretrained(f"{name.partition('.')[0]}.*")
            mistakes.append(f"timm has no weights {name!r}{did_you_mean(name, tagged)}; or set `weights`")
    raise_together(mistakes, "images.backbone:")


def suffix_of(name: str | None) -> str:
    """How paths name a feature set."""
    return f"-{name}" if name else ""


def _set_named(plan: Plan, suffix: str) -> Images:
    return plan.settings.images.feature_sets()[suffix.removeprefix("-") or None]


def suffixes(plan: Plan, imported: bool) -> str:
    """A regular expression of the suffixes of feature sets that are extracted here, or imported.

    The suffix of the main set is empty, so the expression may match nothing at all.
    """
    sets = plan.settings.images.feature_sets().items()
    names = [suffix_of(name) for name, settings in sets if bool(settings.features) == imported]
    return f"(?:{'|'.join(names)})" if names else "(?!)"


def feature_settings(plan: Plan, suffix: str) -> FeatureSettings:
    """What the features of a set depend on."""
    return plan.settings.images.feature_settings(suffix.removeprefix("-") or None)


def imported_features(plan: Plan, suffix: str) -> str:
    """The user's file of features."""
    return str(_set_named(plan, suffix).features)


def weights_file(plan: Plan, suffix: str) -> list[str]:
    """The user's file of weights; empty for weights of a package or of the Hugging Face hub."""
    weights = _set_named(plan, suffix).weights
    return [weights] if os.path.isfile(weights) else []


def shards(plan: Plan, dataset: str, suffix: str) -> list[str]:
    """Outputs of the jobs that share a data set's extraction; empty if one job extracts all."""
    count = plan.settings.images.shards
    parts = [f"{number}-of-{count}" for number in range(1, count + 1)] if count > 1 else []
    return [plan.path(paths.SHARD, dataset=dataset, suffix=suffix, shard=part) for part in parts]


def photographs(plan: Plan, dataset: str) -> str:
    """Digest of the photographs, which changes if one is overwritten, and not if all are copied."""
    return photographs_digest(Path(plan.path(paths.IMAGES, dataset=dataset)))


def image_list(plan: Plan, dataset: str) -> list[str]:
    """The list of a data set's photographs; empty if features are imported.

    A rule that needs the photographs depends on their list: once it exists, they do.
    """
    return [] if plan.settings.images.features else [plan.path(paths.IMAGES, dataset=dataset)]


def flickr_names(plan: Plan, dataset: str) -> str:
    """The argument that allows file names as in Flickr8k; empty for other photographs."""
    return "--flickr-names" if plan.source(dataset).flickr_names else ""
