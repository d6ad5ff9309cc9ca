"""Commands of the images package: `find-images`, `features`, `merge-features` and `import-features`."""

import argparse
import logging
import os
from pathlib import Path

from pipeline.common.errors import InputError
from pipeline.common.gpus import add_gpus, take_gpu

log = logging.getLogger("pipeline")


def add_commands(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the package's commands to the command line."""
    find = subparsers.add_parser("find-images", help="find the file of every image of a data set")
    find.add_argument("--images", type=Path, nargs="+", required=True, help="folders of photographs")
    find.add_argument("--ask", default="", help="how to obtain the images; printed if some are missing")
    find.add_argument(
        "--flickr-names",
        action="store_true",
        help="an image's id may also be the file name's part before the first underscore, as in Flickr8k",
    )
    find.set_defaults(run=_find_images)

    features = subparsers.add_parser("features", help="extract image features with a frozen CNN")
    features.add_argument("--partial", type=Path, help="store of an unfinished run; default: OUTPUT.partial")
    features.add_argument(
        "--earlier",
        type=Path,
        help="finished store (`merge-features --keep`) whose rows are reused",
    )
    features.add_argument(
        "--batch-size", type=int, default=8, help="images per forward pass, each with all its crops"
    )
    features.add_argument("--workers", type=int, default=4, help="threads that decode and resize")
    features.add_argument("--threads", type=int, help="threads of the network on a CPU; default: all")
    features.add_argument("--compile", action="store_true", help="torch.compile, on a GPU")
    add_gpus(features)
    features.add_argument("--shard", type=_shard, metavar="I/N", help="extract only part I of N, such as 1/8")
    features.add_argument(
        "--failed", type=Path, required=True, help="list to write, of the images that failed"
    )
    features.set_defaults(run=_features)

    merge = subparsers.add_parser("merge-features", help="merge the feature stores of all shards")
    merge.add_argument("--shards", type=Path, nargs="+", required=True, help="feature stores of the shards")
    merge.add_argument("--failed", type=Path, nargs="+", required=True, help="their lists of failed images")
    merge.add_argument("--failed-output", type=Path, required=True, help="list of all failed images")
    merge.add_argument(
        "--keep",
        type=Path,
        help="hard link to create to the store, for `features --earlier`; takes no disk space",
    )
    merge.set_defaults(run=_merge_features)

    importing = subparsers.add_parser(
        "import-features", help="check precomputed image features and import them"
    )
    importing.add_argument(
        "--features", type=Path, required=True, help="HDF5 file: features (N, D), image (N,)"
    )
    importing.set_defaults(run=_import_features)

    for parser in (features, merge):
        parser.add_argument("--images", type=Path, required=True, help="output of `find-images`")
        parser.add_argument(
            "--max-failed-fraction",
            type=float,
            default=0.0,
            help="fraction of the images that may fail; default: 0",
        )
    for parser in (find, importing):
        parser.add_argument("--split", type=Path, required=True, help="output of `split`")
    for parser in (features, importing):
        parser.add_argument("--settings", required=True, help="JSON object, see pipeline/images/settings.py")
    find.add_argument("--output", type=Path, required=True, help="list to write: columns image and path")
    for parser in (features, merge, importing):
        parser.add_argument("--output", type=Path, required=True, help="feature store to write (HDF5)")


def _find_images(arguments: argparse.Namespace) -> None:
    from pipeline.images.find import find_images

    wanted = _images(arguments.split)
    find_images(arguments.images, wanted, arguments.ask, arguments.output, arguments.flickr_names)


def _features(arguments: argparse.Namespace) -> None:
    from pipeline.images.settings import extraction_settings

    settings = extraction_settings(arguments.settings)
    # Threads that wait for one another sleep: beside busy processes, a spinning one takes the time of the one
    # it waits for. Read when torch loads its OpenMP.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    take_gpu(arguments.gpus)

    import torch

    from pipeline.digest import digest
    from pipeline.images.backbone import load_backbone
    from pipeline.images.extract import extract
    from pipeline.images.lists import read_image_list, shard_of

    paths = read_image_list(arguments.images)
    allowed = _allowed(arguments.max_failed_fraction, len(paths))
    if arguments.shard:
        paths = {image: paths[image] for image in shard_of(list(paths), *arguments.shard)}
    if not paths:
        raise InputError(
            f"{arguments.images}: has fewer images than shards. Set images.shards to a smaller number."
        )
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if device.type == "cuda":
        torch.set_num_threads(1)  # or each thread that decodes wakes a team of its own to copy an image
    elif arguments.threads:
        torch.set_num_threads(arguments.threads)
    name = (
        torch.cuda.get_device_name()
        if device.type == "cuda"
        else f"the CPU, {torch.get_num_threads()} threads"
    )
    batch = min(arguments.batch_size, len(paths))
    backbone = load_backbone(settings, device, batch, arguments.compile)
    log.info("extracting on %s in %s, %d images per batch", name, backbone.precision, batch)
    partial = arguments.partial or arguments.output.with_name(f"{arguments.output.name}.partial")
    extract(
        paths,
        backbone,
        settings,
        partial,
        arguments.output,
        arguments.failed,
        workers=arguments.workers,
        failures_allowed=allowed,
        gpu_missed=arguments.gpus > 0 and device.type == "cpu",
        earlier=arguments.earlier,
        code=digest("features"),
    )


def _merge_features(arguments: argparse.Namespace) -> None:
    from pipeline.images.lists import read_image_list
    from pipeline.images.merge import merge

    images = list(read_image_list(arguments.images))
    allowed = _allowed(arguments.max_failed_fraction, len(images))
    merge(
        arguments.shards,
        images,
        arguments.failed,
        allowed,
        arguments.output,
        arguments.failed_output,
        arguments.keep,
    )


def _import_features(arguments: argparse.Namespace) -> None:
    from pipeline.images.imported import import_features
    from pipeline.images.settings import import_settings

    settings = import_settings(arguments.settings)
    import_features(arguments.features, _images(arguments.split), settings, arguments.output)


def _images(split: Path) -> list[str]:
    from pipeline.datasets.split import read_split

    return list(read_split(split))


def _allowed(share: float, count: int) -> int:
    return int(share * count + 1e-9)  # 0.29 of 100 is 29


def _shard(text: str) -> tuple[int, int]:
    number, _, count = text.partition("/")
    if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise argparse.ArgumentTypeError(f"found {text!r}, expected I/N with I from 1 to N, such as 1/8")
    return int(number), int(count)
