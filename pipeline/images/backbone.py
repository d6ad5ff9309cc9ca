"""The frozen CNN: a timm model without its classifier (MULE, Implementation details)."""

import importlib.metadata
import logging
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import timm
import torch
from timm.data.config import resolve_model_data_config
from torch import Tensor, nn

from pipeline.common.errors import InputError
from pipeline.common.files import reading, require_file
from pipeline.common.published_weights import COMMITS
from pipeline.common.torch_files import weights_digest
from pipeline.images.crops import read_image, resize_image, views
from pipeline.images.settings import ExtractionSettings

log = logging.getLogger("pipeline")

_ENDINGS = (".pth", ".pt", ".bin", ".safetensors")

Network = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Backbone:
    """A frozen network with the preprocessing it expects.

    Attributes:
        network: maps normalised (n, 3, crop, crop) float32 to pooled features (n, dimension).
        settings: with the values that the configuration leaves to the network and the device.
        mean, std: of red, green and blue, of pixels in 0..1.
        weights_sha256: digest of the weights in use, see `weights_digest`.
        shift, scale: mean and std for pixels in 0..255, (3,) on the device: computed once, because a copy to
            a GPU waits for its current work.
        pixels: (batch * crops, 3, crop, crop) float32, channels last: the only shape that the network sees.
    """

    network: Network
    settings: ExtractionSettings
    mean: list[float]
    std: list[float]
    interpolation: str
    weights_sha256: str
    shift: Tensor
    scale: Tensor
    pixels: Tensor

    @property
    def batch(self) -> int:
        """Images in one pass."""
        return len(self.pixels) // self.settings.crops

    def resized(self, photograph: str | Path | BinaryIO) -> Tensor:
        """A photograph (a path or an open file) as `features` reads it; raises as `read_image`."""
        assert self.settings.resize
        return resize_image(read_image(photograph), self.settings.resize, self.interpolation)

    @torch.inference_mode()
    def features(self, images: Sequence[Tensor]) -> Tensor:
        """Mean over the crops of their pooled features.

        Args:
            images: up to `batch` resized images (3, height, width) uint8, of any sizes, in main memory.

        Returns:
            (images, dimension) float32 on the device, perhaps still being computed.
        """
        crop, crops, device = self.pixels.shape[-1], self.settings.crops, self.pixels.device
        pixels_of_images = [self._normalise(image.to(device, non_blocking=True)) for image in images]
        cut = [view for image in pixels_of_images for view in views(image, crop, crops)]
        # An incomplete last batch leaves some slots unchanged.
        for slot, view in zip(self.pixels, cut, strict=False):
            slot.copy_(view)
        features = self.network(self.pixels)[: len(cut)]
        by_image: Tensor = features.float().unflatten(0, (len(images), crops))
        return by_image.mean(1)

    def _normalise(self, image: Tensor) -> Tensor:
        """The whole image (3, height, width) as float32, once for all of its crops; channels last in memory.

        Rows are joined: a loop over only three channels is ten times slower on a CPU.
        """
        rows = image.permute(1, 2, 0).float().contiguous()
        width = rows.shape[1]
        rows.view(len(rows), -1).sub_(self.shift.repeat(width)).div_(self.scale.repeat(width))
        return rows.permute(2, 0, 1)


def load_backbone(settings: ExtractionSettings, device: torch.device, batch: int = 1) -> Backbone:
    """Build the network and load its weights.

    Args:
        batch: images in one pass.

    Raises:
        InputError: the backbone or its weights are unavailable or do not fit, the features do not have the
            dimension of the settings, or the hardware has no bfloat16.
    """
    model = _pretrained_network(settings).eval().requires_grad_(False)
    digest = weights_digest(model)
    defaults = resolve_model_data_config(model)
    mean, std = (list(map(float, defaults[key])) for key in ("mean", "std"))
    shift, scale = (torch.tensor(each).mul(255).to(device) for each in (mean, std))
    model = model.to(device).to(memory_format=torch.channels_last)
    torch.backends.cudnn.allow_tf32 = False  # features agree to 1e-5 on all devices
    torch.backends.cuda.matmul.allow_tf32 = False
    crop = settings.crop or defaults["input_size"][-1]
    resize = settings.resize or max(crop, round(crop / defaults["crop_pct"]))
    if crop > resize:
        raise InputError(f"crops of {crop} pixels do not fit an image resized to {resize}: set both or none.")
    shape = (batch * settings.crops, 3, crop, crop)
    pixels = torch.zeros(shape, device=device).contiguous(memory_format=torch.channels_last)
    try:
        with torch.inference_mode():
            dimension = int(model(pixels[:1]).shape[1])
    except AssertionError as error:  # of timm's transformers
        raise InputError(f"backbone {settings.backbone!r}: {error} Leave out crop and resize.") from error
    if settings.dimension not in (None, dimension):
        raise InputError(
            f"features settings: dimension is {settings.dimension}, but backbone {settings.backbone!r} "
            f"gives {dimension}. Correct dimension or choose another backbone."
        )
    # One shape from here on, worth a search for its fastest algorithms. Not in float32, where the fastest
    # algorithm may round more and change from run to run.
    precision = precision_on(device, settings.precision)
    torch.backends.cudnn.benchmark = precision == "bfloat16"
    found = {"resize": resize, "crop": crop, "precision": precision, "dimension": dimension}
    return Backbone(
        network=_fast(model, pixels, precision),
        settings=settings.model_copy(update=found),
        mean=mean,
        std=std,
        interpolation=defaults["interpolation"],
        weights_sha256=digest,
        shift=shift,
        scale=scale,
        pixels=pixels,
    )


def precision_on(device: torch.device, precision: str) -> str:
    """The precision of products: "auto" is bfloat16 if the device has instructions for it, else float32."""
    if device.type == "cuda":
        able = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        able = bool(torch.cpu.get_capabilities().get("avx512_bf16"))
    if precision == "auto":
        return "bfloat16" if able else "float32"
    if precision == "bfloat16" and not able:
        raise InputError(
            f"features settings: precision is bfloat16, but this {device.type} has no instructions for it. "
            'Set it to "float32", or to "auto", which uses what the hardware has.'
        )
    return precision


@torch.inference_mode()
def _fast(model: Any, pixels: Tensor, precision: str) -> Network:
    """The network in its precision, as fast as the device runs it, once warmed up."""
    device = pixels.device.type

    def autocast() -> torch.autocast:
        return torch.autocast(device, torch.bfloat16, enabled=precision == "bfloat16", cache_enabled=False)

    with autocast():
        if device == "cpu":
            model = _fold_batch_norms(model, pixels)
        elif precision == "bfloat16":
            round_weights(model)

    def run(batch: Tensor) -> Tensor:
        with autocast():
            features: Tensor = model(batch)
        return features

    run(pixels)
    return run


def round_weights(model: nn.Module) -> None:
    """Round to bfloat16, once, the weights that autocast would round in every pass; batch norms stay.

    Layers that compute their effective weights first, in float32, are left out.
    """
    for module in model.modules():
        if type(module) in (nn.Conv2d, nn.Linear):
            module.to(torch.bfloat16)


@torch.inference_mode()
def _fold_batch_norms(model: nn.Module, sample: Tensor) -> nn.Module:
    """Fold batch norms into their convolutions: two to four times faster on a CPU, equal to about 1e-6."""
    with warnings.catch_warnings():
        # Deprecated in favour of torch.compile, which needs a C++ compiler on the user's machine.
        warnings.filterwarnings("ignore", "`torch.jit", FutureWarning)
        # A check of the trace would take as long again; tests compare features with those of timm.
        network: nn.Module = torch.jit.freeze(torch.jit.trace(model, sample, check_trace=False))
    return network


def _pretrained_network(settings: ExtractionSettings) -> Any:  # any timm model; they share no base class
    what = f"weights of timm's network {settings.backbone!r}"
    with reading(Path(settings.weights), what, "Correct backbone or weights, or save only a state dict."):
        if settings.weights == "timm":
            return hub_model(settings.backbone)
        return _network_with(settings.backbone, weights_file(settings.weights))


def hub_model(backbone: str) -> Any:
    """A network with timm's weights, at the known commit, from the hub or its cache on this machine."""
    hub = getattr(timm.get_pretrained_cfg(backbone), "hf_hub_id", None) or ""
    overlay = {"hf_hub_id": f"{hub}@{COMMITS[hub]}"} if hub in COMMITS else None
    return timm.create_model(backbone, pretrained=True, num_classes=0, pretrained_cfg_overlay=overlay)


def _network_with(backbone: str, path: Path) -> Any:
    """A network with the weights of a file, from timm or from a library with the same order of layers."""
    state = timm.models.load_state_dict(str(path))
    network: Any = timm.create_model(backbone)
    own = network.state_dict()
    if state.keys() != own.keys() and [w.shape for w in state.values()] == [w.shape for w in own.values()]:
        log.info("%s: weights of another library, matched with timm's by their order", path)
        state = dict(zip(own, state.values(), strict=True))
    # With `num_classes=0`, timm would load without checking names, and leave random weights.
    options: dict[str, Any] = {"pretrained_cfg_overlay": {"state_dict": state}}
    if (head := f"{network.pretrained_cfg['classifier']}.weight") in state:
        options["num_classes"] = options["pretrained_cfg_overlay"]["num_classes"] = len(state[head])
    model: Any = timm.create_model(backbone, pretrained=True, **options)
    model.reset_classifier(0)
    return model


def weights_file(weights: str) -> Path:
    """The file that a `weights` setting other than "timm" names; raises `InputError` if there is none."""
    if not weights.startswith("package:"):
        return require_file(Path(weights), "the weights file", 'Give another path, or "timm" to download.')
    package = weights.removeprefix("package:")
    try:
        distribution = importlib.metadata.distribution(package)
    except importlib.metadata.PackageNotFoundError:
        raise InputError(f"weights {weights!r}: the package is not installed. Install {package}.") from None
    files = [Path(str(file.locate())) for file in distribution.files or [] if file.suffix in _ENDINGS]
    if len(files) != 1:
        raise InputError(f"weights {weights!r}: found {len(files)} weights files in it, expected one.")
    return files[0]
