"""Settings of the image-feature stages, as a JSON object."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.common.errors import InputError, raise_together

CROPS = (1, 2, 5, 10)
INTERPOLATIONS = ("bilinear", "bicubic")
PRECISIONS = ("float32", "bfloat16", "auto")
CROP_EVALUATIONS = ("exact", "dense")


@dataclass(frozen=True)
class ExtractionSettings:
    """How features are made; `None` for interpolation, mean and std means what timm says of the backbone.

    Attributes:
        backbone: name of a timm model, with its pretrained tag where it has one ("resnet152.tv_in1k").
        weights: "timm" (downloaded by tag), "package:NAME" (the weights file of an installed package),
            or the path of a .pth, .pt, .bin or .safetensors file.
        resize: length of the shorter side in pixels, before cropping.
        crop: side of each square crop in pixels.
        crops: 1 (centre), 2 (centre and its mirror), 5 (corners and centre), 10 (those and their mirrors).
        precision: "float32", "bfloat16", or "auto": bfloat16 where the hardware has instructions for it.
        crop_evaluation: "exact" (each crop through the network), or "dense" (one pass over the whole image
            and one over its mirror, the feature map pooled over the crops: faster, approximate, not in the
            papers).
        dimension: length the feature vectors must have; `None` takes what the backbone gives.
    """

    backbone: str
    weights: str
    resize: int
    crop: int
    crops: int
    interpolation: str | None = None
    mean: list[float] | None = None
    std: list[float] | None = None
    precision: str = "float32"
    crop_evaluation: str = "exact"
    dimension: int | None = None

    @classmethod
    def parse(cls, text: str) -> "ExtractionSettings":
        """Settings from the command line."""
        return extraction_settings(text)


@dataclass(frozen=True)
class ImportSettings:
    """What imported features must be; `None` accepts what the file says."""

    backbone: str | None = None
    dimension: int | None = None

    @classmethod
    def parse(cls, text: str) -> "ImportSettings":
        """Settings from the command line."""
        return import_settings(text)


def extraction_settings(text: str) -> ExtractionSettings:
    """Parse the JSON settings of `extract-features`; raises `InputError` that lists every mistake."""
    values = _values(text, required=("backbone", "weights", "resize", "crop", "crops"), checks=_CHECKS)
    settings = ExtractionSettings(**values)
    if settings.crop > settings.resize:
        raise InputError(
            f"features settings: crop {settings.crop} is larger than resize {settings.resize}, the shorter "
            "side of the image it is cut from. Make resize at least crop."
        )
    return settings


def import_settings(text: str) -> ImportSettings:
    """Parse the JSON settings of `import-features`; raises `InputError` that lists every mistake."""
    checks = {key: _CHECKS[key] for key in ("backbone", "dimension")}
    return ImportSettings(**_values(text, required=(), checks=checks))


def expected_attributes(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What a store made with these settings must say of itself, for `store.read_features`.

    What the settings leave open cannot be expected.
    """
    expected = {key: value for key, value in settings.items() if value is not None}
    if expected.get("precision") == "auto":
        del expected["precision"]
    if "weights" in expected:
        expected["weights"] = weights_name(expected["weights"])
    return expected


def weights_name(weights: str) -> str:
    """Weights as an attribute names them: a file goes by its name, wherever it lies."""
    return weights if weights.startswith("package:") else Path(weights).name


def _values(text: str, required: tuple[str, ...], checks: "Mapping[str, _Check]") -> dict[str, Any]:
    try:
        values = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"features settings: not JSON: {error}. Expected an object of settings.") from None
    if not isinstance(values, dict):
        raise InputError(f"features settings: found {text}, expected a JSON object of settings.")
    given = {key: value for key, value in values.items() if value is not None}
    mistakes = [f"{key}: unknown; known are {', '.join(checks)}" for key in given if key not in checks]
    mistakes += [f"{key}: missing; expected {checks[key].expected}" for key in required if key not in given]
    mistakes += [
        f"{key}: found {value!r}, expected {checks[key].expected}"
        for key, value in given.items()
        if key in checks and not checks[key].holds(value)
    ]
    raise_together(mistakes, "features settings:")
    return given


@dataclass(frozen=True)
class _Check:
    holds: Callable[[Any], bool]
    expected: str


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _is_count(value: Any) -> bool:
    return type(value) is int and value > 0


def _are_three(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 3 and all(type(x) in (int, float) for x in value)


_TEXT = _Check(_is_text, "the name of a timm model")
_COUNT = _Check(_is_count, "a whole number above 0")
_CHECKS = {
    "backbone": _TEXT,
    "weights": _Check(_is_text, '"timm", "package:NAME" or the path of a weights file'),
    "resize": _COUNT,
    "crop": _COUNT,
    "crops": _Check(lambda value: type(value) is int and value in CROPS, "1, 2, 5 or 10"),
    "interpolation": _Check(lambda value: value in INTERPOLATIONS, '"bilinear", "bicubic" or null'),
    "mean": _Check(_are_three, "three numbers (red, green, blue, of pixels in 0..1) or null"),
    "std": _Check(
        lambda value: _are_three(value) and min(value) > 0,
        "three numbers above 0 (red, green, blue, of pixels in 0..1) or null",
    ),
    "precision": _Check(lambda value: value in PRECISIONS, '"float32", "bfloat16" or "auto"'),
    "crop_evaluation": _Check(lambda value: value in CROP_EVALUATIONS, '"exact" or "dense"'),
    "dimension": _COUNT,
}
