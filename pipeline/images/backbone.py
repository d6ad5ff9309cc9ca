"""The frozen CNN: a timm model without its classifier (MULE, Implementation details)."""

import difflib
import hashlib
import importlib.metadata
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import timm
import torch
from torch import Tensor, nn

from pipeline.errors import InputError, raise_together
from pipeline.files import existing
from pipeline.images.settings import ExtractionSettings

_ENDINGS = (".pth", ".pt", ".bin", ".safetensors")


@dataclass(frozen=True)
class Backbone:
    """A frozen network with the preprocessing it expects.

    Attributes:
        model: maps (n, 3, crop, crop) float32 to pooled features (n, dimension).
        mean, std: of red, green and blue, of pixels in 0..1.
        weights_sha256: digest of the weights in use, see `weights_digest`.
    """

    model: nn.Module
    mean: list[float]
    std: list[float]
    interpolation: str
    dimension: int
    weights_sha256: str
    device: torch.device

    @torch.inference_mode()
    def features(self, crops: Tensor) -> np.ndarray:
        """Mean over the crops of their pooled features.

        Args:
            crops: (images, crops, 3, crop, crop) uint8.

        Returns:
            (images, dimension) float32.
        """
        images, views = crops.shape[:2]
        pixels = crops.flatten(0, 1).to(self.device).to(memory_format=torch.channels_last)
        pooled = self.model(_normalised(pixels, self.mean, self.std))  # (images * views, dimension)
        mean: np.ndarray = pooled.float().unflatten(0, (images, views)).mean(1).cpu().numpy()
        return mean


def _normalised(pixels: Tensor, mean: list[float], std: list[float]) -> Tensor:
    shift, scale = (torch.tensor(each, device=pixels.device).view(3, 1, 1) for each in (mean, std))
    return pixels.float().div_(255).sub_(shift).div_(scale)


def load_backbone(settings: ExtractionSettings, device: torch.device) -> Backbone:
    """Build the network and load its weights.

    Raises:
        InputError: the backbone or its weights are not to be had or do not fit, or the features
            have not the dimension that the settings ask for.
    """
    model = _pretrained(settings).eval().requires_grad_(False)
    digest = weights_digest(model)
    defaults = timm.data.resolve_model_data_config(model)
    interpolation = settings.interpolation or defaults["interpolation"]
    model = model.to(device).to(memory_format=torch.channels_last)
    torch.backends.cudnn.allow_tf32 = False  # features are the same to 1e-5 on every device
    torch.backends.cuda.matmul.allow_tf32 = False
    sample = torch.zeros(settings.crops, 3, settings.crop, settings.crop, device=device)
    sample = sample.to(memory_format=torch.channels_last)
    dimension = _dimension(model, sample, settings)
    if device.type == "cpu":
        model = _folded(model, sample)
    mean, std = (
        list(map(float, given or default))
        for given, default in ((settings.mean, defaults["mean"]), (settings.std, defaults["std"]))
    )
    return Backbone(model, mean, std, interpolation, dimension, digest, device)


def weights_digest(model: nn.Module) -> str:
    """SHA-256 over the names, shapes and values of all weights, whatever file they came from."""
    digest = hashlib.sha256()
    for name, tensor in model.state_dict().items():
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}\n".encode())
        digest.update(tensor.contiguous().numpy().tobytes())
    return digest.hexdigest()


@torch.inference_mode()
def _dimension(model: nn.Module, sample: Tensor, settings: ExtractionSettings) -> int:
    try:
        pooled = model(sample[:1])
    except (AssertionError, RuntimeError) as error:
        raise InputError(
            f"backbone {settings.backbone!r} does not take crops of {settings.crop} pixels: {error}. "
            "Set crop (and resize) to the size it was trained for."
        ) from error
    dimension = int(pooled.shape[1])
    if settings.dimension not in (None, dimension):
        raise InputError(
            f"features settings: dimension is {settings.dimension}, but backbone {settings.backbone!r} "
            f"gives {dimension}. Correct dimension or choose another backbone."
        )
    return dimension


@torch.inference_mode()
def _folded(model: nn.Module, sample: Tensor) -> nn.Module:
    """Fold batch norms into their convolutions: two to four times faster on a CPU, equal to about 1e-6."""
    with warnings.catch_warnings():
        # Deprecated in favour of torch.compile, which needs a C++ compiler on the reader's machine.
        warnings.filterwarnings("ignore", "`torch.jit", FutureWarning)
        return torch.jit.freeze(torch.jit.trace(model, sample))


def _pretrained(settings: ExtractionSettings) -> Any:  # any timm model; they share no base class
    _check_name(settings)
    if settings.weights == "timm":
        return _downloaded(settings.backbone)
    path = weights_file(settings.weights)
    model: Any = timm.create_model(settings.backbone, pretrained=False)
    state = _matched(_read_weights(path), model, f"{path}: weights do not fit {settings.backbone!r}:")
    model.reset_classifier(0)
    model.load_state_dict(state, strict=False)  # _matched has been strict already
    return model


def _check_name(settings: ExtractionSettings) -> None:
    backbone = settings.backbone
    if not timm.is_model(backbone):
        known = timm.list_models() + timm.list_pretrained()
        close = difflib.get_close_matches(backbone, known, n=5) or ["none"]
        raise InputError(f"backbone {backbone!r} is not a model of timm. Close names: {', '.join(close)}.")
    if "." in backbone and backbone not in timm.list_pretrained():
        tags = timm.list_pretrained(f"{backbone.split('.')[0]}.*") or ["none"]
        raise InputError(f"backbone {backbone!r}: timm has no such tag. It has {', '.join(tags)}.")


def _downloaded(backbone: str) -> Any:
    try:
        return timm.create_model(backbone, pretrained=True, num_classes=0)
    except Exception as error:  # the hub's client raises errors of several libraries
        raise InputError(
            f"backbone {backbone!r}: timm could not fetch its weights: {error} "
            "Connect to the network, or set weights to the path of a local file."
        ) from error


def weights_file(weights: str) -> Path:
    """The file that a `weights` setting other than "timm" names; raises `InputError` where there is none."""
    if not weights.startswith("package:"):
        return existing(Path(weights), "the weights file", 'Give another path, or "timm" to download.')
    package = weights.removeprefix("package:")
    try:
        distribution = importlib.metadata.distribution(package)
    except importlib.metadata.PackageNotFoundError:
        raise InputError(f"weights {weights!r}: the package is not installed. Install {package}.") from None
    found = [Path(str(file.locate())) for file in distribution.files or [] if file.suffix in _ENDINGS]
    if len(found) != 1:
        raise InputError(f"weights {weights!r}: found {len(found)} weights files in it, expected one.")
    return found[0]


def _read_weights(path: Path) -> dict[str, Tensor]:
    try:
        if path.suffix == ".safetensors":
            from safetensors.torch import load_file

            return load_file(path)
        state = torch.load(path, map_location="cpu", weights_only=True)
        state = state.get("state_dict", state)
        return {name: tensor for name, tensor in state.items() if isinstance(tensor, Tensor)}
    except Exception as error:  # torch, pickle and safetensors each raise their own
        raise InputError(
            f"{path}: not a readable weights file: {error}. Expected a state dict (.pth, .safetensors)."
        ) from error


def _matched(state: dict[str, Tensor], model: Any, heading: str) -> dict[str, Tensor]:
    """Weights under the model's own names, without the classifier; raises `InputError` if they don't fit."""
    wanted = model.state_dict()
    if not wanted.keys() & state.keys():
        state = _renamed_by_order(state, wanted)
    classifier = model.pretrained_cfg["classifier"]
    heads = tuple(f"{name}." for name in ([classifier] if isinstance(classifier, str) else classifier))
    body = {name: tensor for name, tensor in wanted.items() if not name.startswith(heads)}
    given = {name: tensor for name, tensor in state.items() if not name.startswith(heads)}
    optional = {name for name in body if name.endswith("num_batches_tracked")}  # files of before 2019
    mistakes = [f"missing {name}" for name in body.keys() - given.keys() - optional]
    mistakes += [f"unexpected {name}" for name in given.keys() - body.keys()]
    mistakes += [
        f"{name}: found shape {tuple(given[name].shape)}, expected {tuple(body[name].shape)}"
        for name in body.keys() & given.keys()
        if given[name].shape != body[name].shape
    ]
    shown = sorted(mistakes)[:10]
    raise_together(shown, f"{heading} {len(mistakes)} differences, first {len(shown)}")
    return given


def _renamed_by_order(state: dict[str, Tensor], wanted: dict[str, Tensor]) -> dict[str, Tensor]:
    """Rename another library's tensors, where order, kinds (weight, bias, ...) and shapes all agree."""
    agree = len(state) == len(wanted) and all(
        theirs.rpartition(".")[2] == ours.rpartition(".")[2] and state[theirs].shape == wanted[ours].shape
        for theirs, ours in zip(state, wanted, strict=True)
    )
    return dict(zip(wanted, state.values(), strict=True)) if agree else state
