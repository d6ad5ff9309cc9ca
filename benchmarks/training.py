"""Time of a training step, relative to the step of a plain loop in the same run, and the memory of both.

    python -m benchmarks.training [--models mule embn parallel smalr] [--images 450] [--rounds 3]

In every round, one after the other: steps of `pipeline.training`, and steps of the plain loop
(benchmarks/plain_training.py), from drawing a batch to the updated weights. The captions are drawn as long as
Multi30K's, from as many words (SMALR's ten languages: 20,000 each), with as many different words in a batch;
the words of a sentence are independent, so that fewer sentences share a prefix than in real text.
"""

import argparse
import functools
import itertools
import multiprocessing
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from benchmarks.launches import META, count_step
from benchmarks.plain_training import plain_loader, plain_step
from pipeline.common.memory import keep_freed_memory
from pipeline.images.settings import FeatureSettings
from pipeline.models.embedding import Sizes
from pipeline.models.hybrid import HybridEmbedding
from pipeline.models.losses.loss import add_layers
from pipeline.models.model import RetrievalModel
from pipeline.models.settings import (
    ClassifierWeight,
    Hybrid,
    Masking,
    Matching,
    Model,
    Neighborhood,
    Triplets,
    WordRegularizer,
)
from pipeline.models.universal import TableEmbedding
from pipeline.training.batches import Batch, Sampler
from pipeline.training.objective import training_terms
from pipeline.training.precision import set_precision
from pipeline.training.settings import TrainingSchedule, TrainSettings
from pipeline.words.corpus import Corpus, LanguageCorpus

HALFWAY = 0, 0.5  # a step's number, and the fraction of the training before it


@dataclass
class Captions:
    """Multi30K's training captions of one language, as counted in the published files.

    each: captions per image. mean, spread: of the logarithm of their words' number. words: different ones
    in all. exponent: of the law by which words are drawn, so that batches have as many different ones.
    """

    each: int
    mean: float
    spread: float
    words: int
    exponent: float


MULTI30K = {
    "en": Captions(5, 2.432, 0.395, 18_154, 1.295),
    "de": Captions(5, 2.167, 0.443, 40_110, 1.265),
    "fr": Captions(1, 2.479, 0.330, 11_619, 1.230),
    "cs": Captions(1, 2.143, 0.349, 22_201, 1.085),
}
TEN = {  # augmented by translations
    language: replace(MULTI30K.get(language, MULTI30K["en"]), each=5, words=20_000)
    for language in ("en", "de", "fr", "cs", "zh", "ja", "ar", "af", "ko", "ru")
}
LONGEST = 40
OWN = 5_000  # SMALR's words of each language that have vectors of their own
ENTRIES = 12_500  # that the other words share; the paper's number of parameters leaves room for about as many

MULE: dict[str, Any] = {"captions": "human", "triplets": Triplets(), "matching": Matching()}
MODELS: dict[str, dict[str, Any]] = {
    "mule": {**MULE, "neighborhood": Neighborhood(), "classifier": ClassifierWeight()},
    "embn": MULE,
    "parallel": {**MULE, "branches": "separate"},
    "smalr": {
        "captions": "augmented",
        "embedding": "hybrid",
        "hybrid": Hybrid(frequent_words=OWN),
        "triplets": Triplets(distance="cosine"),
        "matching": Matching(sentence_only=0.0),
        "neighborhood": Neighborhood(weight=5e-2),
        "classifier": ClassifierWeight(),
        "masking": Masking(),
    },
}
CAPTIONS = {"mule": MULTI30K, "embn": {"en": MULTI30K["en"]}, "parallel": MULTI30K, "smalr": TEN}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--models", nargs="+", choices=[*MODELS], default=[*MODELS])
    parser.add_argument("--images", type=int, default=450, help="in a batch")
    parser.add_argument("--hidden", type=int, help="units of the recurrent layer; default: the paper's")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--warm", type=int, default=1, help="steps of each loop before all rounds")
    parser.add_argument("--steps", type=int, default=1, help="a round; more on a GPU")
    parser.add_argument("--memory", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--corpus-images", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--precision", choices=["float32", "tf32"], default="float32", help="tf32: on a GPU")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    arguments = parser.parse_args()
    arguments.device = torch.device(arguments.device)
    torch.set_num_threads(arguments.threads)
    set_precision(arguments.precision, arguments.device)
    for name in arguments.models:
        measure(name, arguments)


class Steps:
    """One model, its data, and a step of either loop."""

    def __init__(self, name: str, arguments: argparse.Namespace):
        self.settings = settings_of(name, arguments)
        self.device = arguments.device
        self.captions = CAPTIONS[name]
        self.on_cpu = corpus_like(self.captions, arguments.corpus_images)
        self.corpus = self.on_cpu.to(self.device)
        torch.manual_seed(0)
        make = smalr if name == "smalr" else mule
        self.model = make(self.settings, self.captions).to(self.device)
        everything = [np.arange(arguments.corpus_images)]
        sampler = Sampler(self.corpus, everything, self.settings.training, 0)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-4, fused=True)
        self.batches = map(sampler.batch, itertools.count())

    def fast(self) -> None:
        """A step of `pipeline.training`."""
        keep_freed_memory()
        self.model.train()
        self.optimizer.zero_grad()
        torch.stack(list(self.terms(next(self.batches)).values())).sum().backward()
        self.optimizer.step()

    def terms(self, batch: Batch) -> dict[str, Tensor]:
        """The loss terms of a batch."""
        return training_terms(self.model, self.corpus, batch, self.settings, *HALFWAY)

    @functools.cached_property
    def _plain(self) -> tuple[Iterator[Any], torch.optim.Optimizer]:
        each = {key: min(2, of.each) for key, of in self.captions.items()}
        loader = plain_loader(self.on_cpu, each, self.settings.training.batch_images)
        batches = (batch for _ in iter(int, 1) for batch in loader)
        return batches, torch.optim.Adam(self.model.parameters(), 1e-4)

    def plain(self) -> None:
        """A step of the plain loop."""
        keep_freed_memory(False)
        batches, optimizer = self._plain
        plain_step(self.model, optimizer, next(batches), self.settings.model_dump(), HALFWAY[1])


def settings_of(name: str, arguments: argparse.Namespace) -> TrainSettings:
    """The paper's settings of a model, with the sizes that were asked for."""
    units = arguments.hidden or (512 if name == "smalr" else 1024)
    recurrent: Literal["lstm", "gru"] = "gru" if name == "smalr" else "lstm"
    return TrainSettings(
        **MODELS[name],
        scale="paper",
        dataset="multi30k",
        experiment=name,
        seed=0,
        languages=list(CAPTIONS[name]),
        caption_origins={},
        groups=[],
        features=FeatureSettings(),
        model=Model(recurrent=recurrent, recurrent_init="pytorch", hidden_size=units),
        word_regularizer=WordRegularizer(),
        training=TrainingSchedule(
            epoch_unit="images", batch_images=arguments.images, precision=arguments.precision
        ),
    )


def corpus_like(captions: Mapping[str, Captions], images: int) -> Corpus:
    """Captions as long and as varied as the counted ones, and features of as many images."""
    draw = np.random.default_rng(0)
    parts = {}
    for language, of in captions.items():
        count = images * of.each
        lengths = np.exp(draw.normal(of.mean, of.spread, count)).round().clip(1, LONGEST).astype(np.int64)
        chance = (np.arange(of.words) + 2.7) ** -of.exponent
        ids = 1 + draw.choice(of.words, (count, LONGEST), p=chance / chance.sum())
        ids[np.arange(LONGEST) >= lengths[:, None]] = 0
        image = np.repeat(np.arange(images), of.each)
        parts[language] = LanguageCorpus(torch.from_numpy(ids), torch.from_numpy(lengths), image)
    features = torch.from_numpy(draw.random((images, 2048), dtype=np.float32))
    return Corpus([str(number) for number in range(images)], features, parts)


def mule(settings: TrainSettings, captions: Mapping[str, Captions]) -> RetrievalModel:
    """A model of random word vectors."""
    vectors = {key: torch.randn(of.words + 1, 300) for key, of in captions.items()}
    for table in vectors.values():
        table[0] = 0
    model = RetrievalModel(settings, Sizes({key: len(table) for key, table in vectors.items()}, 300, 2048))
    tables = {f"universal.{key}.table.weight": table for key, table in vectors.items()}
    model.load_state_dict(tables, strict=False)
    assert isinstance(model.universal, TableEmbedding)
    model.universal.forget_initial()
    return model


def smalr(settings: TrainSettings, captions: Mapping[str, Captions]) -> RetrievalModel:
    """SMALR; a word's number is its rank, and rarer words take any entry."""
    words = {key: of.words + 1 for key, of in captions.items()}
    model = RetrievalModel(settings, Sizes(words, 300, 2048, ENTRIES + 1))
    embedding = model.universal
    assert isinstance(embedding, HybridEmbedding)
    with torch.no_grad():
        embedding.entries.weight[1 : ENTRIES + 1].normal_(std=0.1)
        for language, count in words.items():
            rank, of_language = torch.arange(count), embedding[language]
            entries = torch.randint(1, ENTRIES + 1, (count,))
            of_language.table.weight.normal_()
            of_language.own[:count] = torch.where(rank <= OWN, rank, 0)
            of_language.entry[:count] = torch.where(rank > OWN, entries, 0)
            of_language.entry[-1] = ENTRIES + 1  # MASK
    embedding.forget_initial()
    add_layers(model, settings)
    return model


def measure(name: str, arguments: argparse.Namespace) -> None:
    """Time fast steps and plain steps in turn, and print their medians and the ratio."""
    steps = Steps(name, arguments)
    timed: dict[str, Callable[[], None]] = {"fast": steps.fast, "plain": steps.plain}
    seconds: dict[str, list[float]] = {key: [] for key in timed}
    for work in timed.values():
        repeat(work, arguments.warm)
    for _ in range(arguments.rounds):
        for key, work in timed.items():
            took = seconds_of(functools.partial(repeat, work, arguments.steps), arguments.device)
            seconds[key].append(took / arguments.steps)
    fast, plain = (statistics.median(of) for of in seconds.values())
    ratios = [slow / quick for quick, slow in zip(*seconds.values(), strict=True)]
    sentences = sum(len(rows) for rows in next(steps.batches).rows.values())
    ratio = f"{statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})"
    print(f"\n{name}: {arguments.images} images, {sentences} sentences")
    print(f"  on a GPU: {launches(name, arguments)} operators a step")
    print(f"  fast {fast:.3f} s a step, {sentences / fast:,.0f} sentences/s; plain {plain:.3f} s")
    print(f"  plain over fast {ratio}", flush=True)
    for key in timed if arguments.memory else ():
        print(f"  peak memory, {key}: {peak_memory(name, key, arguments) / 2**20:,.0f} MiB", flush=True)


def launches(name: str, arguments: argparse.Namespace) -> int:
    """Operators that a step, forward and backward, gives a GPU; counted without one."""
    steps = Steps(name, argparse.Namespace(**{**vars(arguments), "device": META}))
    drawn = next(steps.batches)
    return sum(part.total for part in count_step(lambda: steps.terms(drawn), steps.model))


def repeat(work: Callable[[], object], times: int) -> None:
    """Do some work several times."""
    for _ in range(times):
        work()


def seconds_of(work: Callable[[], None], device: torch.device) -> float:
    """Wall time on a GPU; on a CPU the process's own time, which other processes lengthen least."""
    if device.type == "cpu":
        start = time.process_time()
        work()
        return time.process_time() - start
    torch.cuda.synchronize()
    start = time.perf_counter()
    work()
    torch.cuda.synchronize()
    return time.perf_counter() - start


def peak_memory(name: str, loop: str, arguments: argparse.Namespace) -> float:
    """Peak bytes of two steps: of a process of its own on a CPU, of the allocator on a GPU."""
    context = multiprocessing.get_context("spawn")
    answer = context.SimpleQueue()
    process = context.Process(target=_two_steps, args=(name, loop, arguments, answer))
    process.start()
    process.join()
    if process.exitcode:
        sys.exit(f"{name}, {loop} loop: the process that measures memory ended with {process.exitcode}")
    return float(answer.get())


def _two_steps(name: str, loop: str, arguments: argparse.Namespace, answer: Any) -> None:
    torch.set_num_threads(arguments.threads)
    set_precision(arguments.precision, arguments.device)
    repeat(getattr(Steps(name, arguments), loop), 2)
    on_gpu = arguments.device.type == "cuda"
    answer.put(torch.cuda.max_memory_allocated() if on_gpu else _peak_resident())


def _peak_resident() -> int:
    """Peak bytes of this process, without those of the process that started it."""
    status = Path("/proc/self/status").read_text()
    lines = dict(line.split(":", 1) for line in status.splitlines())
    return int(lines["VmHWM"].split()[0]) * 1024


if __name__ == "__main__":
    main()
