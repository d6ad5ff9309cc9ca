"""Commands of the images room: `features` and `bring-features`."""

import argparse
import logging
from pathlib import Path

log = logging.getLogger("pipeline")


def add_commands(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the room's commands to the command line."""
    features = subparsers.add_parser("features", help="extract image features with a frozen CNN")
    features.add_argument("--images", type=Path, required=True, help="folder of photographs")
    features.add_argument("--partial", type=Path, help="journal of a run; default: OUTPUT.partial")
    features.add_argument("--threads", type=int, help="CPU threads; default: all")
    features.set_defaults(run=_features)

    bring = subparsers.add_parser("bring-features", help="check ready-made image features and bring them in")
    bring.add_argument("--features", type=Path, required=True, help="HDF5 file: features (N, D), image (N,)")
    bring.set_defaults(run=_bring_features)

    for parser in (features, bring):
        parser.add_argument(
            "--captions", type=Path, required=True, help="caption table that names the images"
        )
        parser.add_argument("--settings", required=True, help="JSON object, see pipeline/images/settings.py")
        parser.add_argument("--output", type=Path, required=True, help="feature store to write (HDF5)")


def _features(arguments: argparse.Namespace) -> None:
    from pipeline.images.settings import extraction_settings

    settings = extraction_settings(arguments.settings)

    import torch

    from pipeline.images.backbone import load_backbone
    from pipeline.images.extract import extract, find_images

    paths = find_images(arguments.images, _images(arguments.captions))
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if device.type == "cpu":
        log.warning("NO GPU FOUND: extracting on the CPU with %d threads", torch.get_num_threads())
    backbone = load_backbone(settings, device)
    partial = arguments.partial or arguments.output.with_name(f"{arguments.output.name}.partial")
    extract(paths, backbone, settings, partial, arguments.output)


def _bring_features(arguments: argparse.Namespace) -> None:
    from pipeline.images.brought import bring_features
    from pipeline.images.settings import brought_settings

    settings = brought_settings(arguments.settings)
    bring_features(arguments.features, _images(arguments.captions), settings, arguments.output)


def _images(captions: Path) -> list[str]:
    from pipeline.captions.table import read_captions

    return list(read_captions(captions)["image"].unique())
