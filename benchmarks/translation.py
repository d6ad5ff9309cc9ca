"""Requests and seconds for many captions: ours against deep-translator's own translate_batch.

    python -m benchmarks.translation [--captions 10000] [--table CAPTIONS.csv --language en] [--latency 0]

Both ask the same stand-in on this machine (stand_in_service.py), one after the other, without rate limits.
The captions come from the demo or from a caption table, and all differ.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from deep_translator import GoogleTranslator

from benchmarks.stand_in_service import Service, stand_in, translation
from pipeline.datasets.table import read_captions
from pipeline.demo.grammar import language
from pipeline.demo.plans import draw_plan
from pipeline.demo.scenes import draw_scene
from pipeline.translation.machine import machine_translator
from pipeline.translation.service_languages import code_at
from pipeline.translation.settings import Limits, TranslatorSettings


def main() -> None:
    """Print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--captions", type=int, default=10_000)
    parser.add_argument("--table", type=Path, help="caption table; default: the demo's captions")
    parser.add_argument("--language", default="en")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds until the stand-in answers")
    arguments = parser.parse_args()
    every = _demo(arguments.language) if arguments.table is None else _of(arguments.table, arguments.language)
    captions = _different(every, arguments.captions)
    # deep-translator first: ours puts a session with kept connections into its modules.
    theirs = _measure(_theirs, captions, arguments)
    ours = _measure(_ours, captions, arguments)
    print(json.dumps({
        "captions": len(captions),
        "characters": round(sum(map(len, captions)) / len(captions), 1),
        "latency": arguments.latency,
        "translate_batch": theirs,
        "ours": ours,
        "times_fewer_requests": round(theirs["requests"] / ours["requests"], 1),
        "times_faster": round(theirs["seconds"] / ours["seconds"], 1),
    }, indent=1))  # fmt: skip


def _measure(translate: Any, captions: list[str], arguments: argparse.Namespace) -> dict[str, float]:
    with stand_in(arguments.latency) as service:
        start = time.perf_counter()
        answers = translate(captions, arguments.language, service)
        seconds = time.perf_counter() - start
        if answers != list(map(translation, captions)):
            raise SystemExit("an answer is not its caption's")
        return {"requests": len(service.requests), "seconds": round(seconds, 2)}


def _theirs(captions: list[str], source: str, service: Service) -> list[str]:
    translator = GoogleTranslator(source=code_at("google", source, {}), target="de")
    translator._base_url = service.url
    answers: list[str] = translator.translate_batch(captions)
    return answers


def _ours(captions: list[str], source: str, service: Service) -> list[str]:
    limits = Limits(requests_per_second=1e9, requests_per_day=10**9)
    settings = TranslatorSettings(url=service.url)
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder, "cache.sqlite")
        return machine_translator("google", source, "de", settings, cache, limits).translate(captions)


def _demo(code: str) -> Iterator[str]:
    random = Random(0)
    while True:
        yield language(code).caption(draw_plan(draw_scene(random), random), random)


def _of(table: Path, code: str) -> Iterator[str]:
    captions = read_captions(table)
    yield from captions.loc[captions["language"] == code, "caption"]


def _different(captions: Iterator[str], count: int) -> list[str]:
    every: dict[str, None] = {}
    for caption in captions:
        every[caption] = None
        if len(every) == count:
            return list(every)
    raise SystemExit(f"only {len(every)} different captions; ask for fewer with --captions")


if __name__ == "__main__":
    main()
