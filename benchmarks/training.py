"""Time of a training step, relative to its matrix products and to the step of a plain loop, in one run.

    python -m benchmarks.training [--images 450] [--hidden 1024] [--models mule embn parallel] [--rounds 3]

In every round, one after the other: products of the recurrent layer's size, which give the machine's rate;
steps of `pipeline.training`; steps of the plain loop (benchmarks/plain_training.py), from drawing a batch to
the updated weights. The captions are drawn as long as Multi30K's, from as many words, with as many different
words in a batch; the words of a sentence are independent, so that fewer sentences share a prefix than in real
text.

The floor is a step's multiply-adds divided by that rate. `every word` counts each word of each sentence, as
an LSTM without padding does. `as computed` counts a prefix that sentences share once, as the step does.
"""

import argparse
import functools
import itertools
import multiprocessing
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor
from torch._C._autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

from benchmarks.launches import META, count_step
from benchmarks.plain_training import plain_loader, plain_step
from pipeline.common.memory import keep_freed_memory
from pipeline.images.settings import FeatureSettings
from pipeline.models import prefixes
from pipeline.models.embedding import Sizes, real_words
from pipeline.models.losses import matching, neighborhood
from pipeline.models.model import RetrievalModel
from pipeline.models.prefixes import prefix_tree
from pipeline.models.products import product
from pipeline.models.settings import (
    ClassifierWeight,
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
LONGEST = 40
MODELS: dict[str, dict[str, Any]] = {
    "mule": {"languages": list(MULTI30K), "neighborhood": Neighborhood(), "classifier": ClassifierWeight()},
    "embn": {"languages": ["en"]},
    "parallel": {"languages": list(MULTI30K), "branches": "separate"},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--images", type=int, default=450, help="in a batch")
    parser.add_argument("--hidden", type=int, default=1024, help="units of the LSTM")
    parser.add_argument("--universal", type=int, default=512)
    parser.add_argument("--models", nargs="+", choices=[*MODELS], default=[*MODELS])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--warm", type=int, default=1, help="steps of each loop before all rounds")
    parser.add_argument("--memory", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--steps", type=int, default=1, help="a round; more on a GPU")
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
        languages = self.settings.languages
        self.corpus = captions_like_multi30k(arguments.corpus_images, languages).to(self.device)
        torch.manual_seed(0)
        vectors = {key: torch.randn(MULTI30K[key].words + 1, 300) for key in languages}
        for table in vectors.values():
            table[0] = 0
        rows = {key: len(table) for key, table in vectors.items()}
        self.model = RetrievalModel(self.settings, Sizes(rows, 300, 2048))
        tables = {f"universal.{key}.table.weight": table for key, table in vectors.items()}
        self.model.load_state_dict(tables, strict=False)
        assert isinstance(self.model.universal, TableEmbedding)
        self.model.universal.forget_initial()
        self.model.to(self.device)
        everything = [np.arange(arguments.corpus_images)]
        self.sampler = Sampler(self.corpus, everything, self.settings.training, 0)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-4, fused=True)
        self.batches = map(self.sampler.batch, itertools.count())

    def fast(self) -> None:
        """A step of `pipeline.training`."""
        keep_freed_memory()
        self.model.train()
        take_step(lambda: self.loss(next(self.batches)), self.optimizer)

    def terms(self, batch: Batch) -> dict[str, Tensor]:
        """The loss terms of a batch."""
        return training_terms(self.model, self.corpus, batch, self.settings, *HALFWAY)

    def loss(self, batch: Batch) -> Tensor:
        """Their sum."""
        return sum_of(self.terms(batch))

    @functools.cached_property
    def _plain(self) -> tuple[Iterator[Any], torch.optim.Optimizer]:
        each = {key: min(2, MULTI30K[key].each) for key in self.settings.languages}
        cpu = self.corpus.to(torch.device("cpu"))
        loader = plain_loader(cpu, each, self.settings.training.batch_images)
        batches = (batch for _ in iter(int, 1) for batch in loader)
        return batches, torch.optim.Adam(self.model.parameters(), 1e-4)

    def plain(self) -> None:
        """A step of the plain loop."""
        keep_freed_memory(False)
        batches, optimizer = self._plain
        plain_step(self.model, optimizer, next(batches), self.settings.model_dump(), HALFWAY[1])


def sum_of(terms: dict[str, Tensor]) -> Tensor:
    """The loss of a step."""
    return torch.stack(list(terms.values())).sum()


def take_step(loss: Callable[[], Tensor], optimizer: torch.optim.Optimizer) -> None:
    """Take a step of the optimiser."""
    optimizer.zero_grad()
    loss().backward()
    optimizer.step()


def settings_of(name: str, arguments: argparse.Namespace) -> TrainSettings:
    """The paper's settings of a model, with the sizes that were asked for."""
    return TrainSettings(
        **MODELS[name],
        scale="paper",
        dataset="multi30k",
        experiment=name,
        seed=0,
        captions="human",
        caption_origins={},
        groups=[],
        features=FeatureSettings(),
        model=Model(
            universal_dim=arguments.universal, hidden_size=arguments.hidden, recurrent_init="pytorch"
        ),
        triplets=Triplets(),
        matching=Matching(),
        word_regularizer=WordRegularizer(),
        training=TrainingSchedule(
            epoch_unit="images", batch_images=arguments.images, precision=arguments.precision
        ),
    )


def captions_like_multi30k(images: int, languages: list[str]) -> Corpus:
    """Captions as long and as varied as Multi30K's, and features of as many images."""
    draw = np.random.default_rng(0)
    parts = {}
    for language in languages:
        of = MULTI30K[language]
        count = images * of.each
        lengths = np.exp(draw.normal(of.mean, of.spread, count)).round().clip(1, LONGEST).astype(np.int64)
        chance = (np.arange(of.words) + 2.7) ** -of.exponent
        ids = 1 + draw.choice(of.words, (count, LONGEST), p=chance / chance.sum())
        ids[np.arange(LONGEST) >= lengths[:, None]] = 0
        image = np.repeat(np.arange(images), of.each)
        parts[language] = LanguageCorpus(torch.from_numpy(ids), torch.from_numpy(lengths), image)
    features = torch.from_numpy(draw.random((images, 2048), dtype=np.float32))
    return Corpus([str(number) for number in range(images)], features, parts)


def measure(name: str, arguments: argparse.Namespace) -> None:
    """Time products, fast steps and plain steps in turn and print the medians' ratios."""
    steps = Steps(name, arguments)
    timed: dict[str, Callable[[], None]] = {"fast": steps.fast, "plain": steps.plain}
    seconds: dict[str, list[float]] = {key: [] for key in ("rate", *timed)}
    waited: dict[str, list[float]] = {key: [] for key in timed}
    for work in timed.values():
        repeat(work, arguments.warm)
    for _ in range(arguments.rounds):
        seconds["rate"].append(product_rate(arguments))
        for key, work in timed.items():
            cost, wall = cost_of(functools.partial(repeat, work, arguments.steps), arguments.device)
            seconds[key].append(cost / arguments.steps)
            waited[key].append(wall / arguments.steps)
    rate, fast, plain = (statistics.median(seconds[key]) for key in ("rate", "fast", "plain"))
    counted = multiply_adds(steps)
    sentences = sum(len(rows) for rows in next(steps.batches).rows.values())
    print(f"\n{name}: {arguments.images} images, {sentences} sentences, LSTM {arguments.hidden}", flush=True)
    walls = ", ".join(f"{key} {statistics.median(values):.3f}" for key, values in waited.items())
    print(f"  products {rate / 1e9:.1f} GFLOP/s; seconds a step by the wall: {walls}")
    print(f"  fast {fast:.3f} s a step, {sentences / fast:,.0f} sentences/s; plain {plain:.3f} s; "
          f"plain over fast {median_ratio(seconds['plain'], seconds['fast'])}")  # fmt: skip
    for what, count in counted.items():
        floors = [2 * count / each for each in seconds["rate"]]
        print(f"  floor, {what}: {count / 1e9:.0f} G multiply-adds, {statistics.median(floors):.3f} s; "
              f"fast over floor {median_ratio(seconds['fast'], floors)}, "
              f"plain {median_ratio(seconds['plain'], floors)}")  # fmt: skip
    forward, backward = launches(name, arguments)
    print(f"  on a GPU: {forward} launches forward, {backward} backward")
    if arguments.device.type == "cuda":
        for key, work in timed.items():
            kernels, busy = gpu_work(work)
            print(f"  {key}: {kernels:,.0f} kernels a step keep the GPU busy for {1000 * busy:.1f} ms")
    for part, share in shares(steps).items():
        print(f"  {100 * share:5.1f}%  {part}")
    for key in timed if arguments.memory else ():
        print(f"  peak memory, {key}: {peak_memory(name, key, arguments) / 2**20:,.0f} MiB", flush=True)


def launches(name: str, arguments: argparse.Namespace) -> tuple[int, int]:
    """Operators that a step, forward and backward, gives a GPU; counted without one."""
    steps = Steps(name, argparse.Namespace(**{**vars(arguments), "device": META}))
    drawn = next(steps.batches)
    forward, backward = count_step(lambda: steps.terms(drawn), steps.model)
    return forward.total, backward.total


def gpu_work(step: Callable[[], None], steps: int = 5) -> tuple[float, float]:
    """Kernels and copies of a step on the GPU, and the seconds that they take in all."""
    with profile(activities=[ProfilerActivity.CUDA]) as recorded:
        repeat(step, steps)
        torch.cuda.synchronize()
    events = [event for event in recorded.events() or [] if event.device_type == DeviceType.CUDA]
    return len(events) / steps, sum(event.device_time for event in events) / 1e6 / steps


def median_ratio(over: list[float], under: list[float]) -> str:
    """The median of the rounds' ratios, and the least and the largest."""
    ratios = [first / second for first, second in zip(over, under, strict=True)]
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})"


def cost_of(work: Callable[[], None], device: torch.device) -> tuple[float, float]:
    """Seconds of some work: processor time on a CPU, which other processes lengthen least, and wall time."""
    wait(device)
    start, cpu = time.perf_counter(), time.process_time()
    work()
    wait(device)
    wall = time.perf_counter() - start
    return (time.process_time() - cpu if device.type == "cpu" else wall), wall


def wait(device: torch.device) -> None:
    """Until a GPU has done all that it was given."""
    if device.type == "cuda":
        torch.cuda.synchronize()


def repeat(work: Callable[[], object], times: int) -> None:
    """Do some work several times."""
    for _ in range(times):
        work()


def product_rate(arguments: argparse.Namespace) -> float:
    """Floating-point operations a second at the recurrent layer's size; the faster of two libraries."""
    left = torch.randn(4 * arguments.images, arguments.hidden, device=arguments.device)
    right = torch.randn(arguments.hidden, 4 * arguments.hidden, device=arguments.device)
    operations = 2 * left.shape[0] * right.numel()
    times = max(1, int((1e13 if arguments.device.type == "cuda" else 5e10) / operations))
    rates = []
    for multiply in (torch.matmul, lambda left, right: product(left, right.T)):
        multiply(left, right)
        many = functools.partial(repeat, functools.partial(multiply, left, right), times)
        rates.append(operations * times / cost_of(many, arguments.device)[0])
    return max(rates)


def multiply_adds(steps: Steps) -> dict[str, float]:
    """Multiply-adds of a step, mean of a few batches: forward, and twice as many backward."""
    model = steps.settings.model
    size, hidden, out = model.universal_dim, model.hidden_size, model.multimodal_dim
    every, computed = [], []
    for of_step in (next(steps.batches) for _ in range(5)):
        sentences = {key: steps.corpus.languages[key].take(rows) for key, rows in of_step.rows.items()}
        words = sum(int(batch.lengths.sum()) for batch in sentences.values())
        count = sum(len(batch.lengths) for batch in sentences.values())
        distinct, nodes = 0, 0
        for batch in sentences.values():
            tree = prefix_tree(batch.ids[real_words(batch.lengths, batch.ids.shape[1])], batch.lengths)
            distinct += len(batch.ids.unique())
            nodes += len(tree.words) - tree.levels[0]
        word, recurrent = 300 * size + 4 * hidden * size, 4 * hidden * hidden
        rest = 3 * (count * (hidden * out + 300 * size) + _losses(steps, of_step))
        rest += _images(len(of_step.images), model)
        every.append(3 * words * (word + recurrent) + rest)
        computed.append(3 * (distinct * word + nodes * recurrent) + rest)
    counts = {"every word": statistics.mean(every)}
    return counts | ({"as computed": statistics.mean(computed)} if steps.device.type == "cpu" else {})


def _images(count: int, model: Model) -> int:
    """Of the image branch; its features get no gradient."""
    return count * model.image_hidden_size * (2 * 2048 + 3 * model.multimodal_dim)


def _losses(steps: Steps, batch: Batch) -> int:
    """Of one matrix of cosines for each loss term, forward."""
    counts = [len(rows) for rows in batch.rows.values()]
    model = steps.settings.model
    of_matching = sum(count * (len(batch.images) + count) for count in counts) * model.multimodal_dim
    if not steps.settings.neighborhood:
        return of_matching
    both = model.multimodal_dim + model.universal_dim
    return of_matching + both * sum(first * second for first, second in combinations(counts, 2))


def shares(steps: Steps) -> dict[str, float]:
    """Share of the time of a fast step in each of its parts; on a GPU with a wait after each part."""
    seconds: dict[str, float] = {}

    @contextmanager
    def part(name: str) -> Iterator[None]:
        wait(steps.device)
        start = time.perf_counter()
        yield
        wait(steps.device)
        seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - start

    def timed(owner: Any, attribute: str, name: str) -> Any:
        original = getattr(owner, attribute)

        def wrapped(*arguments: Any, **named: Any) -> Any:
            with part(name):
                return original(*arguments, **named)

        return patch.object(owner, attribute, wrapped)

    with (
        timed(steps.model, "embed_sentences", "sentences, forward"),
        timed(steps.model, "embed_images", "images, forward"),
        timed(matching, "matching_loss", "matching, forward"),
        timed(neighborhood, "neighborhood_loss", "neighbourhood, forward"),
        timed(LanguageCorpus, "take", "drawing and taking"),
        timed(Tensor, "backward", "backward"),
        timed(prefixes._States, "backward", "of it the recurrent layer"),
        timed(steps.optimizer, "step", "optimiser"),
        part("whole"),
    ):
        with part("drawing and taking"):
            batch = next(steps.batches)
        take_step(functools.partial(steps.loss, batch), steps.optimizer)
    whole = seconds.pop("whole")
    known = sum(value for name, value in seconds.items() if not name.startswith("of it"))
    return {name: value / whole for name, value in {**seconds, "the rest": whole - known}.items()}


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
    """Peak bytes of this process; on Linux `ru_maxrss` also holds those of the process that started it."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(lines["VmHWM"].split()[0]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    main()
