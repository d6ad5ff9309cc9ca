"""Weights from other libraries than timm: their names and shapes, and other content that a training saved."""

import difflib
import logging
import re
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from pipeline.common.errors import InputError

log = logging.getLogger("pipeline")

Weights = dict[str, Tensor]

_HELD_AS = ("state_dict", "model_state_dict", "model", "weights")  # in checkpoints of trainings
_PREFIXES = ("module.", "_orig_mod.", "model.")  # prefixes that wrappers of the network add to each name
_KINDS = ("weight", "bias", "running_mean", "running_var")
_BATCH_COUNT = "num_batches_tracked"  # not in files of before 2019
_CLOSE = 1e-3  # share of the largest output; more than rounding


def weights_in(content: Any) -> Weights:
    """The weights of a file: tensors by name, which a training may have saved among other things.

    Raises:
        ValueError: the file has no weights, or several sets of weights.
    """
    if not isinstance(content, Mapping):
        raise ValueError(f"found {type(content).__name__}, expected tensors by name")
    tensors = {str(name): value for name, value in content.items() if isinstance(value, Tensor)}
    if not tensors:
        inner = {
            str(name): value
            for name, value in content.items()
            if isinstance(value, Mapping) and any(isinstance(part, Tensor) for part in value.values())
        }
        parts = [name for name in _HELD_AS if name in inner] or list(inner)
        if len(parts) != 1:
            raise ValueError(f"found {', '.join(inner) or 'no tensors'}, expected one set of tensors by name")
        return weights_in(inner[parts[0]])
    for wrapper in _PREFIXES:
        if all(name.startswith(wrapper) for name in tensors):
            tensors = {name.removeprefix(wrapper): tensor for name, tensor in tensors.items()}
    return tensors


def with_own_names(state: Weights, network: Mapping[str, Tensor], is_head: Callable[[str], bool]) -> Weights:
    """Tensors renamed to a network's own names, if they agree in order, kind and shape.

    In the file, a fully connected layer may be a convolution, and a scale may have other axes. If the tensors
    do not agree, they are returned unchanged.
    """
    theirs = [name for name in state if name not in network and not name.endswith(_BATCH_COUNT)]
    ours = [name for name in network if name not in state and not name.endswith(_BATCH_COUNT)]
    if len(theirs) != len(ours):
        return state
    new: Weights = {name: tensor for name, tensor in state.items() if name in network}
    for name, own in zip(theirs, ours, strict=True):
        tensor, shape = state[name], network[own].shape
        if _kind(name) != _kind(own):
            return state
        if tensor.shape != shape and not is_head(own):
            if tensor.shape[:1] != shape[:1] or tensor.numel() != shape.numel():
                return state
            tensor = tensor.reshape(shape)
        new[own] = tensor
    return new


def _kind(name: str) -> str:
    last = name.rpartition(".")[2]
    return last if last in _KINDS else ""


def agree_with_torchvision(model: Any, backbone: str, state: Weights, new: Weights) -> None:
    """Make a network compute the same as torchvision's with these weights; other libraries are not known.

    Args:
        model: the network, with its classifier. state: the weights under the names in their file. new: the
            same weights under the names of `model`.

    Raises:
        InputError: its output differs from torchvision's.
    """
    name, theirs = _torchvision_network(backbone, state)
    if theirs is None:
        log.info("weights of %s: from another library, matched by the order of their names", backbone)
        return
    for ours, other in zip(_norms(model), _norms(theirs), strict=True):
        ours.eps = other.eps  # a weights file does not say so
    theirs.load_state_dict(state, strict=False)
    model.load_state_dict(new, strict=False)
    noise = (
        torch.rand((2, *model.default_cfg["input_size"]), generator=torch.Generator().manual_seed(0)) - 0.5
    )
    with torch.inference_mode():
        target, output = theirs.eval()(noise), model.eval()(noise)
    if not (output - target).abs().max() <= _CLOSE * target.abs().max():
        raise InputError(
            f"weights of torchvision's {name}: backbone {backbone!r} of timm computes something else with "
            "them. Choose another backbone, or extract the features with torchvision and set images.features."
        )


def _norms(model: nn.Module) -> list[Any]:
    return [module for module in model.modules() if hasattr(module, "eps")]


def _torchvision_network(backbone: str, state: Weights) -> tuple[str, Any]:
    """The torchvision network whose weights have these names and shapes, after its name."""
    from torchvision import models

    plain = {re.sub(r"\W|_", "", name): name for name in models.list_models(module=models)}
    close = difflib.get_close_matches(re.sub(r"_", "", backbone.partition(".")[0]), plain, 8, 0.4)
    shapes = {name: tensor.shape for name, tensor in state.items() if not name.endswith(_BATCH_COUNT)}
    for name in close:
        with torch.device("meta"):
            network = models.get_model(plain[name], weights=None)
        tensors = network.state_dict().items()
        own = {key: value.shape for key, value in tensors if not key.endswith(_BATCH_COUNT)}
        if own == shapes:
            return plain[name], network.to_empty(device="cpu")
    return "", None
