"""The frozen CNN: a timm model without its classifier (MULE, Implementation details)."""

import difflib
import importlib.metadata
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import timm
import torch
from timm.data.config import resolve_model_data_config
from torch import Tensor, nn

from pipeline.common.errors import InputError, raise_together
from pipeline.common.files import reading, require_file
from pipeline.common.published_weights import COMMITS, check_digest_in_name, check_hub_weights
from pipeline.common.torch_files import weights_digest
from pipeline.images.crops import has_mirror, views, window_weights
from pipeline.images.foreign_weights import Weights, agree_with_torchvision, weights_in, with_own_names
from pipeline.images.settings import ExtractionSettings

_ENDINGS = (".pth", ".pt", ".bin", ".safetensors")

Network = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Backbone:
    """A frozen network with the preprocessing it expects.

    Attributes:
        network: maps normalised (n, 3, height, width) float32 to pooled features (n, dimension), or to a
            feature map (n, dimension, h, w) where crops are evaluated densely.
        mean, std: of red, green and blue, of pixels in 0..1.
        weights_sha256: digest of the weights in use, see `weights_digest`.
        precision: of the network's products, "float32" or "bfloat16".
        shift, scale: mean and std for pixels in 0..255, (3,) on the device: computed once, because a copy to
            a GPU waits for its current work.
        pixels: (batch * crops, 3, crop, crop) float32, channels last: the only shape that the network sees.
    """

    network: Network
    mean: list[float]
    std: list[float]
    interpolation: str
    dimension: int
    weights_sha256: str
    device: torch.device
    precision: str
    crop: int
    crops: int
    crop_evaluation: str
    shift: Tensor
    scale: Tensor
    pixels: Tensor

    @property
    def batch(self) -> int:
        """Images in one pass."""
        return len(self.pixels) // self.crops

    @torch.inference_mode()
    def features(self, images: Sequence[Tensor]) -> Tensor:
        """Mean over the crops of their pooled features.

        Args:
            images: up to `batch` resized images (3, height, width) uint8, of any sizes, in main memory.

        Returns:
            (images, dimension) float32 on the device, perhaps still being computed.
        """
        pixels_of_images = [self._normalise(image.to(self.device, non_blocking=True)) for image in images]
        if self.crop_evaluation == "dense":
            return torch.stack([self._from_map(image) for image in pixels_of_images])
        cut = [view for image in pixels_of_images for view in views(image, self.crop, self.crops)]
        # An incomplete last batch leaves some slots unchanged.
        for slot, view in zip(self.pixels, cut, strict=False):
            slot.copy_(view)
        features = self.network(self.pixels)[: len(cut)]
        by_image: Tensor = features.float().unflatten(0, (len(images), self.crops))
        return by_image.mean(1)

    def _from_map(self, image: Tensor) -> Tensor:
        """Approximate features (dimension), from one pass over the whole image and one over its mirror."""
        pixels = image[None]
        if has_mirror(self.crops):
            pixels = torch.cat([pixels, pixels.flip(3)])
        maps = self.network(pixels).float()  # (1 or 2, dimension, h, w)
        size, cells = (image.shape[1], image.shape[2]), (maps.shape[2], maps.shape[3])
        weights = window_weights(size, cells, self.crop, self.crops).to(self.device, non_blocking=True)
        return (maps * weights).sum((2, 3)).mean(0)

    def _normalise(self, image: Tensor) -> Tensor:
        """The whole image (3, height, width) as float32, once for all of its crops; channels last in memory.

        Rows are joined: a loop over only three channels is ten times slower on a CPU.
        """
        rows = image.permute(1, 2, 0).float().contiguous()
        width = rows.shape[1]
        rows.view(len(rows), -1).sub_(self.shift.repeat(width)).div_(self.scale.repeat(width))
        return rows.permute(2, 0, 1)


def load_backbone(
    settings: ExtractionSettings, device: torch.device, batch: int = 1, compiled: bool = False
) -> Backbone:
    """Build the network and load its weights.

    Args:
        batch: images in one pass. compiled: `torch.compile` on a GPU; on a CPU nothing is compiled.

    Raises:
        InputError: the backbone or its weights are unavailable or do not fit, the features do not have the
            dimension of the settings, or the hardware has no bfloat16.
    """
    precision = precision_on(device, settings.precision)
    model = _pretrained_network(settings).eval().requires_grad_(False)
    digest = weights_digest(model)
    defaults = resolve_model_data_config(model)
    mean, std = (
        list(map(float, setting or default))
        for setting, default in ((settings.mean, defaults["mean"]), (settings.std, defaults["std"]))
    )
    shift, scale = (torch.tensor(each).mul(255).to(device) for each in (mean, std))
    model = model.to(device).to(memory_format=torch.channels_last)
    torch.backends.cudnn.allow_tf32 = False  # features agree to 1e-5 on all devices
    torch.backends.cuda.matmul.allow_tf32 = False
    shape = (batch * settings.crops, 3, settings.crop, settings.crop)
    pixels = torch.zeros(shape, device=device).contiguous(memory_format=torch.channels_last)
    dimension = _dimension(model, pixels, settings)
    # One shape from here on, worth a search for its fastest algorithms. Not in float32, where the fastest
    # algorithm may round more and change from run to run.
    torch.backends.cudnn.benchmark = settings.crop_evaluation == "exact" and precision == "bfloat16"
    if settings.crop_evaluation == "dense":
        _check_pools_last(model, settings.backbone, pixels[:1])
        model = _Map(model).eval()
    return Backbone(
        network=_fast(model, pixels, precision, compiled and settings.crop_evaluation == "exact"),
        mean=mean,
        std=std,
        interpolation=settings.interpolation or defaults["interpolation"],
        dimension=dimension,
        weights_sha256=digest,
        device=device,
        precision=precision,
        crop=settings.crop,
        crops=settings.crops,
        crop_evaluation=settings.crop_evaluation,
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


class _Map(nn.Module):
    """A network without its pooling."""

    def __init__(self, model: Any):
        super().__init__()
        self.model = model

    def forward(self, pixels: Tensor) -> Tensor:
        features: Tensor = self.model.forward_features(pixels)
        return features


@torch.inference_mode()
def _check_pools_last(model: Any, backbone: str, sample: Tensor) -> None:
    """Raise `InputError` unless the features are the plain mean of the feature map."""
    noise = torch.rand(sample.shape, generator=torch.Generator().manual_seed(0)).to(sample)
    features, means = model.forward_features(noise), model(noise)
    if features.ndim != 4 or features.shape[1] != means.shape[1]:
        same = False
    else:
        same = torch.allclose(features.mean((2, 3)), means, rtol=1e-3, atol=1e-5)
    if not same:
        raise InputError(
            f"crop_evaluation: dense needs a network whose last step is the mean over its feature map, which "
            f"{backbone!r} is not. Set crop_evaluation to exact."
        )


@torch.inference_mode()
def _fast(model: Any, pixels: Tensor, precision: str, compiled: bool) -> Network:
    """The network in its precision, as fast as the device runs it, once warmed up."""
    device = pixels.device.type

    def autocast() -> torch.autocast:
        return torch.autocast(device, torch.bfloat16, enabled=precision == "bfloat16", cache_enabled=False)

    with autocast():
        if device == "cpu":
            model = _fold_batch_norms(model, pixels)
        elif precision == "bfloat16":
            round_weights(model)
        if compiled and device != "cpu":
            model = compiled_network(model, pixels)

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


def compiled_network(model: nn.Module, pixels: Tensor) -> Network:
    """The network compiled for the only shape that it sees.

    Raises:
        InputError: the machine lacks something needed to compile, such as a C compiler.
    """
    network: Network = torch.compile(model, dynamic=False)
    try:
        network(pixels)
    except torch.OutOfMemoryError:
        raise
    except Exception as error:  # Triton, Inductor and what they call raise errors of their own
        raise InputError(
            f"images.compile: torch.compile fails on this machine: {str(error).strip()}\n"
            "Set images.compile to false, which changes no feature beyond rounding, or install what it lacks."
        ) from error
    return network


@torch.inference_mode()
def _dimension(model: nn.Module, sample: Tensor, settings: ExtractionSettings) -> int:
    try:
        features = model(sample[:1])
    except torch.OutOfMemoryError:
        raise
    except (AssertionError, RuntimeError) as error:
        raise InputError(
            f"backbone {settings.backbone!r} does not take crops of {settings.crop} pixels: {error}. "
            "Set crop (and resize) to the size it was trained for."
        ) from error
    dimension = int(features.shape[1])
    if settings.dimension not in (None, dimension):
        raise InputError(
            f"features settings: dimension is {settings.dimension}, but backbone {settings.backbone!r} "
            f"gives {dimension}. Correct dimension or choose another backbone."
        )
    return dimension


@torch.inference_mode()
def _fold_batch_norms(model: nn.Module, sample: Tensor) -> nn.Module:
    """Fold batch norms into their convolutions: two to four times faster on a CPU, equal to about 1e-6."""
    with warnings.catch_warnings():
        # Deprecated in favour of torch.compile, which needs a C++ compiler on the user's machine.
        warnings.filterwarnings("ignore", "`torch.jit", FutureWarning)
        network: nn.Module = torch.jit.freeze(torch.jit.trace(model, sample))
    return network


def _pretrained_network(settings: ExtractionSettings) -> Any:  # any timm model; they share no base class
    if settings.weights == "timm":
        return hub_model(settings.backbone)
    _check_name(settings.backbone)
    path = weights_file(settings.weights)
    model: Any = timm.create_model(settings.backbone, pretrained=False)
    state = _match_weights(_read_weights(path), model, settings.backbone, path)
    model.reset_classifier(0)
    model.load_state_dict(state, strict=False)  # _match_weights has been strict already
    return model


def _check_name(backbone: str) -> None:
    if not timm.is_model(backbone):
        names = timm.list_models() + timm.list_pretrained()
        close = difflib.get_close_matches(backbone, names, n=5) or ["none"]
        raise InputError(f"backbone {backbone!r} is not a model of timm. Close names: {', '.join(close)}.")
    if "." in backbone and backbone not in timm.list_pretrained():
        tags = timm.list_pretrained(f"{backbone.split('.')[0]}.*") or ["none"]
        raise InputError(f"backbone {backbone!r}: timm has no such tag. It has {', '.join(tags)}.")


def hub_model(backbone: str) -> Any:
    """A network with timm's weights, at the known commit, from the hub or its cache on this machine."""
    _check_name(backbone)
    hub = getattr(timm.get_pretrained_cfg(backbone), "hf_hub_id", None) or ""
    options: dict[str, Any] = {}
    if hub in COMMITS:
        options["pretrained_cfg_overlay"] = {"hf_hub_id": f"{hub}@{COMMITS[hub]}"}
    try:
        check_hub_weights(hub)
        return timm.create_model(backbone, pretrained=True, num_classes=0, **options)
    except InputError:
        raise
    except Exception as error:  # the hub's client raises errors of several libraries
        raise InputError(
            f"backbone {backbone!r}: timm could not fetch its weights: {error} "
            "Connect to the network, or set weights to the path of a local file."
        ) from error


def weights_file(weights: str) -> Path:
    """The file that a `weights` setting other than "timm" names; raises `InputError` if there is none."""
    if not weights.startswith("package:"):
        path = require_file(Path(weights), "the weights file", 'Give another path, or "timm" to download.')
        check_digest_in_name(path)
        return path
    package = weights.removeprefix("package:")
    try:
        distribution = importlib.metadata.distribution(package)
    except importlib.metadata.PackageNotFoundError:
        raise InputError(f"weights {weights!r}: the package is not installed. Install {package}.") from None
    files = [Path(str(file.locate())) for file in distribution.files or [] if file.suffix in _ENDINGS]
    if len(files) != 1:
        raise InputError(f"weights {weights!r}: found {len(files)} weights files in it, expected one.")
    return files[0]


def _read_weights(path: Path) -> Weights:
    with reading(path, "a file of weights", "Expected a state dict with only names and numbers."):
        if path.suffix == ".safetensors":
            from safetensors.torch import load_file

            return load_file(path)
        return weights_in(torch.load(path, map_location="cpu", weights_only=True))


def _match_weights(state: Weights, model: Any, backbone: str, path: Path) -> Weights:
    """Weights under the model's own names, without the classifier.

    Raises:
        InputError: they do not fit the model, or are torchvision's and the model computes something else.
    """
    own = model.state_dict()
    classifier = model.pretrained_cfg["classifier"]
    heads = tuple(f"{name}." for name in ([classifier] if isinstance(classifier, str) else classifier))
    new = with_own_names(state, own, lambda name: name.startswith(heads))
    body = {name: tensor for name, tensor in own.items() if not name.startswith(heads)}
    theirs = {name: tensor for name, tensor in new.items() if not name.startswith(heads)}
    optional = {name for name in body if name.endswith("num_batches_tracked")}  # files from before 2019
    mistakes = [f"missing {name}" for name in body.keys() - theirs.keys() - optional]
    mistakes += [f"unexpected {name}" for name in theirs.keys() - body.keys()]
    mistakes += [
        f"{name}: found shape {tuple(theirs[name].shape)}, expected {tuple(body[name].shape)}"
        for name in body.keys() & theirs.keys()
        if theirs[name].shape != body[name].shape
    ]
    first = sorted(mistakes)[:10]
    heading = f"{path}: weights do not fit {backbone!r}: {len(mistakes)} differences, first {len(first)}"
    raise_together(first, heading)
    if new.keys() != state.keys():
        agree_with_torchvision(model, backbone, state, new)
    return theirs
