"""Ranks in tiles against a plain full matrix and argsort: seconds, and the peak memory of each.

    python -m benchmarks.retrieval [--images 5000 --captions 25000] [--width 512] [--threads 1]
    python -m benchmarks.retrieval --images 100000 --captions 1000000 --share 0.01

Each method runs in a process of its own, on the same generated float32 vectors, and must give the same
ranks. Seconds are only for the ranks; peaks are of the whole process, with Python, torch and the vectors.
The plain method holds all similarities and sorted places; it is left out above 10,000 images. With --share,
only the first captions are queries, against all images, and the time of all is extrapolated.
"""

import argparse
import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.functional import normalize

from pipeline.evaluation.ranks import both_ranks

PLAIN_IMAGES = 10_000
NOISE = 16.0  # so that ranks are neither all 1 nor by chance
GENERATED = 10_000  # vectors made at a time


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--images", type=int, default=5_000)
    parser.add_argument("--captions", type=int, default=25_000)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--share", type=float, default=1.0, help="of the captions that are asked")
    parser.add_argument("--method", choices=["tiles", "plain"], help=argparse.SUPPRESS)
    parser.add_argument("--output", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.method:
        measure(arguments)
    else:
        compare(arguments)


def compare(arguments: argparse.Namespace) -> None:
    """Run each method in a process of its own; print times, peaks and whether the ranks are the same."""
    methods = ["tiles", "plain"] if arguments.images <= PLAIN_IMAGES else ["tiles"]
    with tempfile.TemporaryDirectory() as name:
        results = {}
        for method in methods:
            path = Path(name) / method
            options = ["--method", method, "--output", str(path)]
            command = [sys.executable, "-m", "benchmarks.retrieval", *sys.argv[1:], *options]
            if os.spawnv(os.P_WAIT, sys.executable, command):
                sys.exit(f"{method} failed")
            results[method] = json.loads(path.with_suffix(".json").read_text())
            print(method, ", ".join(f"{key} {value:,.2f}" for key, value in results[method].items()))
        if "plain" in results:
            pairs = {key: results["plain"][key] / results["tiles"][key] for key in ("seconds", "CPU seconds")}
            print("plain over tiles:", ", ".join(f"{key} {value:.1f}" for key, value in pairs.items()))
            tiles, plain = (torch.load(Path(name) / method) for method in methods)
            print("equal ranks:", all(torch.equal(tiles[way], plain[way]) for way in tiles))
    if arguments.share < 1:
        wall, processor = (results["tiles"][key] / arguments.share / 60 for key in ("seconds", "CPU seconds"))
        print(f"all captions, extrapolated: {wall:.0f} minutes, {processor:.0f} of CPU time")


def measure(arguments: argparse.Namespace) -> None:
    """Time one method and write its ranks and numbers."""
    torch.set_num_threads(arguments.threads)
    images, sentences, image_of = random_data(arguments.images, arguments.captions, arguments.width)
    count = round(arguments.captions * arguments.share)
    before = peak()
    wall, cpu = time.perf_counter(), time.process_time()
    ranks = (both_ranks if arguments.method == "tiles" else plain)(
        images, sentences[:count], image_of[:count]
    )
    numbers = {
        "seconds": time.perf_counter() - wall,
        "CPU seconds": time.process_time() - cpu,
        "GB before": before,
        "GB at most": peak(),
        "median rank s2i": float(ranks["s2i"].median()),
        "median rank i2s": float(ranks["i2s"].median()),
    }
    torch.save(ranks, arguments.output)
    arguments.output.with_suffix(".json").write_text(json.dumps(numbers))


def random_data(images: int, captions: int, width: int) -> tuple[Tensor, Tensor, Tensor]:
    """Unit vectors of images and, near their own, of captions, (count, width); (captions,) images' rows."""
    generator = torch.Generator().manual_seed(0)
    left, right = torch.empty(images, width), torch.empty(captions, width)
    image_of = torch.arange(captions) * images // captions
    for chunk in left.split(GENERATED):
        chunk.copy_(normalize(torch.randn(chunk.shape, generator=generator), dim=1))
    for chunk, own in zip(right.split(GENERATED), image_of.split(GENERATED), strict=True):
        noise = normalize(torch.randn(chunk.shape, generator=generator), dim=1)
        chunk.copy_(normalize(left[own] + NOISE * noise, dim=1))
    return left, right, image_of


def plain(images: Tensor, sentences: Tensor, image_of: Tensor) -> dict[str, Tensor]:
    """The usual way: all similarities, sorted by row and by column."""
    similarity = sentences @ images.T
    place = similarity.argsort(dim=1, descending=True, stable=True)
    to_image = (place == image_of[:, None]).int().argmax(1)
    del place
    place = similarity.T.argsort(dim=1, descending=True, stable=True)
    to_sentence = (image_of[place] == torch.arange(len(images))[:, None]).int().argmax(1)
    return {"i2s": 1 + to_sentence, "s2i": 1 + to_image}


def peak() -> float:
    """GB of memory that this process has held at most."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


if __name__ == "__main__":
    main()
