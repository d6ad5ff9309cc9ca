"""Images/s of feature extraction over bare forward passes of the same network in the same run.

    python -m benchmarks.features [--backbone resnet50] [--resize 256] [--crop 224] [--images 16] [--repeat 3]

Timed, one after the other in every round: only the network on ready tensors of the same shape, the whole
extraction from files to a finished store, and a plain script of torchvision's DataLoader and TenCrop at
PyTorch's own settings. Weights are random unless --weights names some.
"""

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import timm
import torch
from PIL import Image
from timm.data.config import resolve_model_data_config
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

from pipeline.images.backbone import Backbone, load_backbone
from pipeline.images.cache import FeatureCache
from pipeline.images.extract import fill, write_store
from pipeline.images.lists import Photograph
from pipeline.images.settings import ExtractionSettings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--backbone", default="resnet50")
    parser.add_argument("--weights", help="as in the configuration (images.weights); default: random")
    parser.add_argument("--resize", type=int, default=256)
    parser.add_argument("--crop", type=int, default=224)
    parser.add_argument("--crops", type=int, default=10)
    parser.add_argument("--precision", default="float32", help="float32, bfloat16 or auto")
    parser.add_argument("--batch-size", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1, help="CPU threads of the network")
    parser.add_argument("--images", type=int, default=16)
    parser.add_argument("--photographs", type=Path, help="folder of JPEGs; default: 500x375, made here")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--repeat", type=int, default=3, help="rounds")
    parser.add_argument("--without-plain", action="store_true", help="leave the slow plain script out")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    with tempfile.TemporaryDirectory() as name:
        compare(arguments, Path(name))


def compare(arguments: argparse.Namespace, folder: Path) -> None:
    """Time everything in turn, `repeat` times, and print medians and ratios."""
    if not arguments.weights:
        torch.save(random_network(arguments.backbone).state_dict(), folder / "weights.pth")
    settings = ExtractionSettings(
        backbone=arguments.backbone,
        weights=arguments.weights or str(folder / "weights.pth"),
        resize=arguments.resize,
        crop=arguments.crop,
        crops=arguments.crops,
        precision=arguments.precision,
    )
    paths = photographs(arguments, folder)
    device = torch.device(arguments.device)
    backbone = load_backbone(settings, device, arguments.batch_size)

    def whole() -> None:
        shutil.rmtree(folder / "cache", ignore_errors=True)
        cache = FeatureCache(folder / "cache", {})
        listed = {image: Photograph(path, image) for image, path in paths.items()}
        reasons = fill(cache, listed, backbone, arguments.workers)
        write_store(folder / "out.h5", listed, cache, reasons, {})

    timed: dict[str, Callable[[], None]] = {
        "bare forward": lambda: bare(backbone, len(paths)),
        "end to end": whole,
    }
    if not arguments.without_plain:
        timed["plain script"] = plain(
            list(paths.values()), settings, device, arguments, backbone.settings.precision
        )
    report(timed, arguments.repeat, len(paths), device.type == "cpu")


def report(timed: dict[str, Callable[[], None]], repeat: int, images: int, on_cpu: bool) -> None:
    """Print images/s and their ratio to the bare forward pass, both as medians over the rounds."""
    wall: dict[str, list[float]] = {name: [] for name in timed}
    processor: dict[str, list[float]] = {name: [] for name in timed}
    for work in timed.values():
        work()  # warm
    for _ in range(repeat):
        for name, work in timed.items():
            began_at, cpu = time.perf_counter(), time.process_time()
            work()
            wall[name].append(time.perf_counter() - began_at)
            processor[name].append(time.process_time() - cpu)
    heading = f"{'':15} images/s  over bare forward (least-most of {repeat})"
    print(heading + ("  CPU time over bare forward's" if on_cpu else ""))
    for name in timed:
        rates = [bare / own for bare, own in zip(wall["bare forward"], wall[name], strict=True)]
        costs = [own / bare for bare, own in zip(processor["bare forward"], processor[name], strict=True)]
        print(
            f"{name:15} {images / statistics.median(wall[name]):8.2f}  {statistics.median(rates):8.3f}  "
            f"({min(rates):.3f}-{max(rates):.3f})"
            + (f"  {statistics.median(costs):8.3f}" if on_cpu else "")  # a GPU's is mostly waiting
        )


def random_network(backbone: str, **options: Any) -> torch.nn.Module:
    """A network that multiplies by no zeros, which would cost a GPU less power, and time."""
    model: torch.nn.Module = timm.create_model(backbone, **options).eval()
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.weight.data.uniform_(0.5, 1.5)
    return model


def photographs(arguments: argparse.Namespace, folder: Path) -> dict[str, Path]:
    """The files that are extracted: image id to file."""
    if arguments.photographs:
        files = sorted(arguments.photographs.glob("*.jpg"))[: arguments.images]
        return {path.stem: path for path in files}
    draw = np.random.default_rng(0)
    for number in range(arguments.images):
        coarse = Image.fromarray(draw.integers(0, 256, (24, 32, 3), dtype=np.uint8))
        coarse.resize((500, 375), Image.Resampling.BICUBIC).save(folder / f"{number:06d}.jpg", quality=90)
    return {path.stem: path for path in sorted(folder.glob("*.jpg"))}


@torch.inference_mode()
def bare(backbone: Backbone, images: int) -> None:
    """As many forward passes as the images need, on one ready tensor."""
    for _ in range(-(-images // backbone.batch)):
        features = backbone.network(backbone.pixels)
    features.cpu()


class Plain(Dataset[torch.Tensor]):
    """What a plain script has: crops as normalised tensors, one image after the other."""

    def __init__(self, paths: list[Path], settings: ExtractionSettings, config: dict[str, Any]):
        self.paths, ten = paths, settings.crops == 10
        self.views = transforms.Compose(
            [
                transforms.Resize(settings.resize, transforms.InterpolationMode(config["interpolation"])),
                transforms.TenCrop(settings.crop) if ten else transforms.CenterCrop(settings.crop),
                transforms.Lambda(lambda views: views if ten else [views]),
            ]
        )
        self.tensor = transforms.Compose(
            [transforms.ToTensor(), transforms.Normalize(config["mean"], config["std"])]
        )

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, number: int) -> torch.Tensor:
        views = self.views(Image.open(self.paths[number]).convert("RGB"))
        return torch.stack([self.tensor(view) for view in views])


def plain(
    paths: list[Path],
    settings: ExtractionSettings,
    device: torch.device,
    arguments: argparse.Namespace,
    precision: str,
) -> Callable[[], None]:
    """The usual script: DataLoader with worker processes, TenCrop, the network as it is."""
    model = random_network(settings.backbone, num_classes=0).to(device)
    dataset = Plain(paths, settings, resolve_model_data_config(model))

    @torch.inference_mode()
    def script() -> None:
        on_gpu = device.type == "cuda"
        loader = DataLoader(dataset, arguments.batch_size, num_workers=arguments.workers, pin_memory=on_gpu)
        with usual_switches(), torch.autocast(device.type, torch.bfloat16, precision == "bfloat16"):
            for crops in loader:
                images, views = crops.shape[:2]
                model(crops.flatten(0, 1).to(device)).unflatten(0, (images, views)).mean(1).cpu()

    return script


@contextmanager
def usual_switches() -> Iterator[None]:
    """PyTorch's own settings of convolutions, TF32 among them, which extraction has changed."""
    cudnn = torch.backends.cudnn
    before = cudnn.allow_tf32, cudnn.benchmark
    cudnn.allow_tf32, cudnn.benchmark = True, False
    try:
        yield
    finally:
        cudnn.allow_tf32, cudnn.benchmark = before


if __name__ == "__main__":
    main()
