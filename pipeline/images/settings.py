"""Settings of image features: how they are extracted, and what imported features must be."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from pipeline.common.block import Block, Count, Fraction, PathText, Text

CropCount = Literal[1, 10]
Precision = Literal["float32", "bfloat16", "auto"]

_BACKBONE = "name of a timm model, with its pretrained tag if it has one (resnet152.tv_in1k)"
_WEIGHTS = (
    "timm (downloaded by tag), package:NAME (the weights file of an installed package), or the path of a "
    "local file"
)
_DIMENSION = "length of a feature vector; null: as the backbone gives"
_RESIZE = "shorter side of an image before it is cropped, pixels; null: as timm does for the backbone"
_CROP = "side of a crop, pixels; null: as timm does for the backbone"
_CROPS = "crops whose features are averaged: 1 (centre), or 10 (corners, centre and their mirrors)"
_PRECISION = "float32, bfloat16, or auto (bfloat16 where the hardware has instructions for it)"
_FEATURES = "file of precomputed features, or null: they are extracted"

PAPERS_BACKBONE = "resnet152.tv_in1k"
_PAPERS = {"dimension": 2048, "resize": 512, "crop": 448}  # MULE, Implementation details


class FeatureSettings(Block):
    """What features depend on; of imported features only backbone and dimension are known."""

    backbone: Text | None = Field(default=None, description=_BACKBONE)
    weights: PathText | None = Field(default=None, description=_WEIGHTS)
    dimension: Count | None = Field(default=None, description=_DIMENSION)
    resize: Count | None = Field(default=None, description=_RESIZE)
    crop: Count | None = Field(default=None, description=_CROP)
    crops: CropCount | None = Field(default=None, description=_CROPS)
    precision: Precision | None = Field(default=None, description=_PRECISION)


class FeatureSet(FeatureSettings):
    """Settings in which a further set of features differs from the block `images`."""

    features: PathText | None = Field(default=None, description=_FEATURES)


class Images(FeatureSettings):
    """Image features: precomputed, or extracted by a network from crops."""

    features: PathText | None = Field(default=None, description=_FEATURES)
    backbone: Text = Field(default=PAPERS_BACKBONE, description=_BACKBONE)
    weights: PathText = Field(default="timm", description=_WEIGHTS)
    crops: CropCount = Field(default=10, description=_CROPS)
    precision: Precision = Field(default="auto", description=_PRECISION)
    batch_size: Count = 8
    """images that the network reads at once"""
    workers: Count = 8
    """threads that decode images, and CPU cores of the job"""
    shards: Count = 1
    """jobs that share the images of a data set"""
    max_failed_fraction: Fraction = 0.001
    """fraction of the images that may fail to decode, and are left out; above 0, one image always may"""
    sets: dict[
        Annotated[str, Field(pattern="^[a-z][a-z0-9]*$")],
        FeatureSet | None,
    ] = Field(default={})
    """further sets of features, each merged over this block; experiments select one (`features`)"""
    list: PathText | None = None
    """CSV file of the images to use, with a column `image`, or null: all"""

    @model_validator(mode="before")
    @classmethod
    def _with_the_papers(cls, values: Any) -> Any:
        is_papers = isinstance(values, dict) and values.get("backbone", PAPERS_BACKBONE) == PAPERS_BACKBONE
        return {**_PAPERS, **values} if is_papers else values

    def feature_sets(self) -> "dict[str | None, Images]":
        """Settings of every feature set by name, merged into those of the main set, whose name is None.

        Precomputed features belong only to the set that names them, and what a backbone needs to the sets
        that share it.
        """
        sets: dict[str | None, Images] = {None: self}
        for name, own in self.sets.items():
            if own is not None:
                values: dict[str, Any] = {"features": None}
                if own.backbone not in (None, self.backbone):
                    values |= {"weights": "timm", "dimension": None, "resize": None, "crop": None}
                sets[name] = self.model_copy(update=values | own.model_dump(exclude_unset=True))
        return sets

    def contradictions(self) -> Iterator[str]:
        for name, images in self.feature_sets().items():
            where = f".sets.{name}" if name else ""
            if images.crop and images.resize and images.crop > images.resize:
                yield (
                    f"{where}.crop: {images.crop} is larger than resize, {images.resize}: crops do not fit "
                    "the image"
                )

    def feature_settings(self, name: str | None = None) -> FeatureSettings:
        """What the features of a feature set depend on; little is known of precomputed features."""
        images = self.feature_sets()[name]
        keys = ("backbone", "dimension") if images.features else tuple(FeatureSettings.model_fields)
        return FeatureSettings(**{key: getattr(images, key) for key in keys})

    def extraction_options(self) -> str:
        """Arguments of `extract-features` that do not affect its result, except for rounding.

        The network's threads on a CPU are as many as are configured, not as many as Snakemake has to give:
        with another number features differ in their last digits, and so do the weights trained on them.
        """
        numbers = {key: getattr(self, key) for key in ("batch_size", "workers", "max_failed_fraction")}
        options = [f"--{key.replace('_', '-')} {value}" for key, value in numbers.items()]
        return " ".join([*options, f"--threads {self.workers}"])


class ExtractionSettings(FeatureSettings):
    """How features are made; None means timm's values for the backbone, of a dimension whatever it gives."""

    backbone: Text
    weights: Text
    crops: CropCount
    precision: Precision = "float32"


def expected_attributes(settings: FeatureSettings) -> dict[str, object]:
    """The attributes that a store of such features must have, for `store.read_features`.

    What the settings leave open cannot be expected.
    """
    attributes = settings.as_values()
    if settings.precision == "auto":
        del attributes["precision"]
    if settings.weights:
        attributes["weights"] = weights_name(settings.weights)
    return attributes


def weights_name(weights: str) -> str:
    """Weights as an attribute names them: a file by its name without folder."""
    return weights if weights.startswith("package:") else Path(weights).name
