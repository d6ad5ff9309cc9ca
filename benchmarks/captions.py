"""Seconds and peak memory of `split` and `captions` of MSCOCO at its size, and the rate of `tokenize`.

    python -m benchmarks.captions [--share 1.0]

The files are generated: 616,767 English captions of 123,287 images, 131,740 Japanese ones of 26,500, 22,218
Chinese ones of 20,341 and 5,000 translations, about as long as the published ones. The reference is the time
that Python's json takes to parse only the English files.
"""

import argparse
import json
import os
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.datasets.sources.mscoco import ENGLISH, JAPANESE, LANGUAGES
from pipeline.datasets.table import read_sentences

TRAIN, VAL = 82_783, 40_504  # images
ENGLISH_CAPTIONS = {"train2014": 414_113, "val2014": 202_654}
JAPANESE_IMAGES, JAPANESE_CAPTIONS = 26_500, 131_740
CHINESE_IMAGES, CHINESE_CAPTIONS, TRANSLATED = 20_341, 22_218, 5_000
WORDS = "a man woman dog cat rides stands on in the of with red small train street kitchen table and two"
SIGNS = {
    "ja": "のにがいるたを人男性女犬猫乗てって上道白い赤一台電車でしますテーブル",
    "zh": "一个男人女子狗猫在的上站着骑红色小火车街道厨房桌子和两只",
}
LENGTH = {"ja": 23, "zh": 17}  # characters per caption


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--share", type=float, default=1.0, help="of the published size")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        reference = generate(folder, arguments.share)
        each = max(1, round(1000 * arguments.share))
        measure_reading(folder, reference, "split", "--sample-size", f"{each}", output="split.csv")
        for language in LANGUAGES:
            arguments_of_stage = ["--language", language, "--split", f"{folder}/split.csv"]
            measure_reading(
                folder, reference, "captions", *arguments_of_stage, output=f"captions-{language}.csv"
            )
            measure_tokenize(folder, language)


def measure_reading(folder: Path, reference: float, stage: str, *arguments: str, output: str) -> None:
    """Print what `split` or `captions` takes; `reference` is in seconds."""
    sources = ["--dataset", "mscoco", "--sources", f"{folder}", "--coco-cn", f"{folder}/coco-cn"]
    seconds, peak = measure(stage, *sources, *arguments, "--output", f"{folder}/{output}")
    times = f"{seconds / reference:.1f} times the parsing of the English JSON ({reference:.1f} s)"
    print(f"{output}: {seconds:.1f} s, {times}; peak {peak / 2**20:.0f} MiB")


def measure_tokenize(folder: Path, language: str) -> None:
    """Print what `tokenize` takes for all captions of a language."""
    output = folder / f"{language}.csv"
    captions = [
        "--captions",
        f"{folder}/captions-{language}.csv",
        "--language",
        language,
        "--output",
        f"{output}",
    ]
    seconds, peak = measure("tokenize", *captions)
    count = len(read_sentences(output))
    rate = f"{count / seconds:,.0f} captions/s with the start"
    print(f"tokenize {language}: {count:,} captions in {seconds:.1f} s, {rate}; peak {peak / 2**20:.0f} MiB")


def measure(*arguments: str) -> tuple[float, int]:
    """Seconds and peak resident bytes of one stage, in a process of its own."""
    start = time.perf_counter()
    process = os.spawnv(os.P_NOWAIT, sys.executable, [sys.executable, "-m", "pipeline", *arguments])
    _, status, usage = os.wait4(process, 0)
    if status:
        sys.exit(f"{' '.join(arguments)} ended with status {os.waitstatus_to_exitcode(status)}")
    unit = 1 if sys.platform == "darwin" else 1024
    return time.perf_counter() - start, usage.ru_maxrss * unit


def generate(folder: Path, share: float) -> float:
    """Write the files; return the seconds that json takes to parse the English ones."""
    counts = {"train2014": TRAIN, "val2014": VAL}
    of = {part: _images(part, round(count * share)) for part, count in counts.items()}
    files = {
        f"annotations/captions_{part}.json": _english(part, images, share) for part, images in of.items()
    }
    _zip(folder / ENGLISH, files)
    numbers = list(of["train2014"])[: round(JAPANESE_IMAGES * share)]
    captions = [
        {"image_id": numbers[place % len(numbers)], "id": place, "caption": signs("ja", place)}
        for place in range(round(JAPANESE_CAPTIONS * share))
    ]
    _zip(folder / JAPANESE, {"yjcaptions26k_clean.json": json.dumps({"annotations": captions})})
    _coco_cn(folder / "coco-cn", [*of["train2014"].values()], share)
    return min(_parsing(files) for _ in range(3))


def sentence(seed: int) -> str:
    """About ten English words, as in MSCOCO."""
    generator = np.random.default_rng(seed)
    words = generator.choice(WORDS.split(), generator.integers(8, 14))
    return " ".join(words).capitalize() + "."


def signs(language: str, seed: int) -> str:
    """A caption of Japanese or Chinese characters."""
    generator = np.random.default_rng(seed)
    return "".join(generator.choice(list(SIGNS[language]), LENGTH[language]))


def _parsing(files: dict[str, str]) -> float:
    start = time.perf_counter()
    for content in files.values():
        json.loads(content)
    return time.perf_counter() - start


def _images(part: str, count: int) -> dict[int, str]:
    offset = 0 if part == "train2014" else 1
    return {2 * number + offset: f"COCO_{part}_{2 * number + offset:012d}" for number in range(1, count + 1)}


def _english(part: str, images: dict[int, str], share: float) -> str:
    listed: list[dict[str, Any]] = [
        {
            "license": 5, "file_name": f"{name}.jpg", "coco_url": f"http://images.cocodataset.org/{part}/{name}.jpg",
            "height": 480, "width": 640, "date_captured": "2013-11-14 16:28:13", "id": number,
        }
        for number, name in images.items()
    ]  # fmt: skip
    numbers = list(images)
    captions = [
        {"image_id": numbers[place % len(numbers)], "id": place, "caption": sentence(place)}
        for place in range(round(ENGLISH_CAPTIONS[part] * share))
    ]
    return json.dumps({"info": {}, "images": listed, "licenses": [], "annotations": captions})


def _coco_cn(folder: Path, images: list[str], share: float) -> None:
    folder.mkdir()
    of_chinese = images[round(6_000 * share) :][: round(CHINESE_IMAGES * share)]
    own = _lines(of_chinese, round(CHINESE_CAPTIONS * share))
    translated = _lines(of_chinese[: round(1_000 * share)], round(TRANSLATED * share))
    (folder / "imageid.human-written-caption.txt").write_text("".join(own), encoding="utf-8")
    (folder / "imageid.manually-translated-caption.txt").write_text("".join(translated), encoding="utf-8")


def _lines(images: list[str], count: int) -> Iterator[str]:
    for place in range(count):
        number, image = divmod(place, len(images))
        yield f"{images[image]}#{number}\t{signs('zh', place)}\n"


def _zip(path: Path, contents: dict[str, str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in contents.items():
            file.writestr(name, content)


if __name__ == "__main__":
    main()
