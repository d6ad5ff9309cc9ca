"""Inputs and arguments of feature extraction.

`suffix` is the name of a feature set in its paths: empty for the main set, `-vgg` for the set vgg.
"""

import os
from pathlib import Path

from pipeline.images.lists import photographs_digest
from pipeline.images.settings import FeatureSettings, Images
from pipeline.plan import paths
from pipeline.plan.plan import Plan


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
