"""SMALR at the paper's size: a step compared with a plain loop's, and the pretraining's memory and last
assignment.

    python -m benchmarks.smalr [--part step memory assignment] [--rounds 3] [--threads 1]

`step`: in every round one after the other, a step of `pipeline.training` and one of the plain loop
(benchmarks/plain_training.py) on the same batch, ten languages, captions as long as Multi30K's; seconds are
processor time, and wall time on a GPU. `memory`: peak of a process that takes two steps of the pretraining
with 200,000 words and 40,000 entries. `assignment`: time to assign all these words, in all and for only its
products. Only the step uses a GPU.
"""

import argparse
import functools
import multiprocessing
import statistics
import time
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.plain_training import PaddedBatch, plain_objective
from benchmarks.training import (
    HALFWAY,
    LONGEST,
    MULTI30K,
    _peak_resident,
    cost_of,
    median_ratio,
    sum_of,
    take_step,
)
from pipeline.common.memory import keep_freed_memory
from pipeline.images.settings import FeatureSettings
from pipeline.models.assignment import Assignment
from pipeline.models.embedding import Sizes
from pipeline.models.hybrid import HybridEmbedding
from pipeline.models.losses.loss import add_layers
from pipeline.models.model import RetrievalModel
from pipeline.models.products import product
from pipeline.models.settings import (
    ClassifierWeight,
    Exploration,
    Hybrid,
    Masking,
    Matching,
    Model,
    Neighborhood,
    Triplets,
    WordRegularizer,
)
from pipeline.training.assign import assignment_terms
from pipeline.training.batches import Batch, Sampler
from pipeline.training.objective import training_terms
from pipeline.training.precision import set_precision
from pipeline.training.settings import (
    AssignSettings,
    DataSettings,
    FrequentWords,
    PretrainSchedule,
    TrainingSchedule,
    TrainSettings,
)
from pipeline.words.corpus import Corpus, LanguageCorpus

TEN = ("en", "de", "fr", "cs", "zh", "ja", "ar", "af", "ko", "ru")
WORDS, ENTRIES, OWN = 20_000, 40_000, 5_000
TAKEN = 12_500  # entries that words take in the end, about as many as the paper's sum leaves room for


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parts = {"step": step, "memory": memory, "assignment": assignment}
    parser.add_argument("--part", nargs="+", choices=[*parts], default=[*parts])
    parser.add_argument("--images", type=int, default=450, help="in a batch")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--precision", choices=["float32", "tf32"], default="float32", help="tf32: on a GPU")
    parser.add_argument(
        "--device", default="cuda" if torch.cuda.is_available() else "cpu", help="of the step only"
    )
    arguments = parser.parse_args()
    arguments.device = torch.device(arguments.device)
    torch.set_num_threads(arguments.threads)
    set_precision(arguments.precision, arguments.device)
    for name in arguments.part:
        parts[name](arguments)


def settings_of(images: int) -> TrainSettings:
    """The paper's settings."""
    return TrainSettings(
        scale="paper",
        dataset="multi30k",
        experiment="smalr",
        seed=0,
        languages=list(TEN),
        captions="augmented",
        caption_origins={},
        groups=[],
        features=FeatureSettings(),
        embedding="hybrid",
        hybrid=Hybrid(frequent_words=OWN),
        model=Model(recurrent="gru", recurrent_init="pytorch", hidden_size=512),
        triplets=Triplets(distance="cosine"),
        matching=Matching(sentence_only=0.0),
        neighborhood=Neighborhood(weight=5e-2),
        classifier=ClassifierWeight(),
        masking=Masking(),
        word_regularizer=WordRegularizer(),
        training=TrainingSchedule(epoch_unit="images", batch_images=images),
    )


def assignment_settings(settings: TrainSettings) -> AssignSettings:
    """The settings of its pretraining."""
    shared = {key: getattr(settings, key) for key in DataSettings.model_fields}
    return AssignSettings(
        **shared,
        universal_dim=settings.model.universal_dim,
        hybrid=FrequentWords(frequent_words=OWN, latent_entries=ENTRIES),
        assignment=Exploration(),
        triplets=Triplets(distance="cosine"),
        training=PretrainSchedule(epoch_unit="images", batch_images=settings.training.batch_images),
    )


def captions(images: int) -> Corpus:
    """Five captions per image in ten languages, as long and as varied as Multi30K's."""
    draw, languages = np.random.default_rng(0), {}
    for language in TEN:
        of = MULTI30K.get(language, MULTI30K["en"])
        count = images * 5
        lengths = np.exp(draw.normal(of.mean, of.spread, count)).round().clip(1, LONGEST).astype(np.int64)
        chance = (np.arange(WORDS) + 2.7) ** -of.exponent
        ids = 1 + draw.choice(WORDS, (count, LONGEST), p=chance / chance.sum())
        ids[np.arange(LONGEST) >= lengths[:, None]] = 0
        image = np.repeat(np.arange(images), 5)
        languages[language] = LanguageCorpus(torch.from_numpy(ids), torch.from_numpy(lengths), image)
    features = torch.from_numpy(draw.random((images, 2048), dtype=np.float32))
    return Corpus([str(number) for number in range(images)], features, languages)


def smalr(settings: TrainSettings) -> RetrievalModel:
    """SMALR with ten languages; a word's number is its rank, and rarer ones take any entry."""
    torch.manual_seed(0)
    rank = torch.arange(WORDS + 1)
    model = RetrievalModel(settings, Sizes(dict.fromkeys(TEN, WORDS + 1), 300, 2048, TAKEN + 1))
    embedding = model.universal
    assert isinstance(embedding, HybridEmbedding)
    with torch.no_grad():
        embedding.entries.weight[1 : TAKEN + 1].normal_(std=0.1)
        for language in TEN:
            words = embedding[language]
            words.table.weight.normal_()
            words.own[: len(rank)] = torch.where(rank <= OWN, rank, 0)
            words.entry[: len(rank)] = torch.where(rank > OWN, torch.randint(1, TAKEN + 1, (len(rank),)), 0)
            words.entry[-1] = TAKEN + 1  # MASK
    embedding.forget_initial()
    add_layers(model, settings)
    return model


def step(arguments: argparse.Namespace) -> None:
    """Seconds of a step, of either loop."""
    device = arguments.device
    settings = settings_of(arguments.images)
    cpu = captions(arguments.images)
    corpus, model = cpu.to(device), smalr(settings).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    sampler = Sampler(corpus, [np.arange(len(corpus.images))], settings.training, 0)
    seconds: dict[str, list[float]] = {"fast": [], "plain": []}
    for number in range(arguments.rounds + 1):
        rows = sampler.batch(number * sampler.steps)
        batch = plain_batch(cpu, rows)

        def fast(rows: Batch = rows) -> Tensor:
            return sum_of(training_terms(model, corpus, rows, settings, *HALFWAY))

        def plain(batch: PaddedBatch = batch) -> Tensor:
            return plain_objective(model, batch.to(device), settings.model_dump(), HALFWAY[1])[1]

        for loss in (fast, plain):
            torch.manual_seed(number)
            keep_freed_memory(loss is fast)
            cost, _ = cost_of(functools.partial(take_step, loss, optimizer), device)
            if number:  # the first round warms up
                seconds[loss.__name__].append(cost)
    ours, theirs = (statistics.median(of) for of in seconds.values())
    print(f"step, {arguments.images} images, {len(TEN)} languages: fast {ours:.3f} s, plain {theirs:.3f} s; "
          f"plain over fast {median_ratio(seconds['plain'], seconds['fast'])}", flush=True)  # fmt: skip


def plain_batch(corpus: Corpus, batch: Batch) -> PaddedBatch:
    """A batch of the project as the plain loop takes it."""
    rows_of = {language: corpus.languages[language].take(rows) for language, rows in batch.rows.items()}
    return PaddedBatch(
        corpus.features[torch.from_numpy(batch.images)],
        {language: part.ids for language, part in rows_of.items()},
        {language: part.lengths for language, part in rows_of.items()},
        {language: torch.from_numpy(slots) for language, slots in batch.slots.items()},
    )


def memory(arguments: argparse.Namespace) -> None:
    """Peak memory of the pretraining, in a process of its own."""
    context = multiprocessing.get_context("spawn")
    answer = context.SimpleQueue()
    process = context.Process(target=_two_steps, args=(arguments, answer))
    process.start()
    process.join()
    peak, words, seconds = answer.get()
    print(f"memory, {len(TEN) * WORDS:,} words, {ENTRIES:,} entries, {arguments.images} images:")
    print(
        f"  peak {peak / 2**30:.2f} GiB; {words:,} different words in a step of {seconds:.1f} s", flush=True
    )


def _two_steps(arguments: argparse.Namespace, answer: Any) -> None:
    torch.set_num_threads(arguments.threads)
    settings, corpus = settings_of(arguments.images), captions(arguments.images)
    model, features = pretraining()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    sampler = Sampler(corpus, [np.arange(len(corpus.images))], settings.training, 0)
    for number in range(2):
        batch = sampler.batch(number * sampler.steps)
        start = time.process_time()
        terms = assignment_terms(model, features, corpus, batch, assignment_settings(settings))
        take_step(functools.partial(sum_of, terms), optimizer)
        seconds = time.process_time() - start
    words = sum(len(corpus.languages[key].take(rows).ids.unique()) for key, rows in batch.rows.items())
    answer.put((_peak_resident(), words, seconds))


def pretraining() -> tuple[Assignment, dict[str, Tensor]]:
    """Entries and scores, and vectors of all words of ten languages."""
    torch.manual_seed(0)
    features = {language: torch.randn(WORDS + 1, 300) for language in TEN}
    return Assignment(300, ENTRIES, 512), features


def assignment(arguments: argparse.Namespace) -> None:
    """Seconds in which all words are assigned."""
    model, features = pretraining()
    words = torch.cat(list(features.values()))
    left, right = torch.randn(1024, 300), torch.randn(ENTRIES, 300)
    product(left, right)
    seconds, floor = [], []
    for _ in range(arguments.rounds):
        cpu, wall = time.process_time(), time.perf_counter()
        for _ in range(10):
            product(left, right)
        floor.append((time.process_time() - cpu) / 10 * len(words) / len(left))
        cpu, wall = time.process_time(), time.perf_counter()
        model.best_entry(words)
        seconds.append(time.process_time() - cpu)
        waited = time.perf_counter() - wall
    print(f"assignment of {len(words):,} words to {ENTRIES:,} entries, {arguments.threads} threads:")
    cpu_seconds = statistics.median(seconds)
    print(f"  {cpu_seconds:.1f} s of processor time, {waited:.1f} s by the wall in the last round")
    print(f"  over only its products {median_ratio(seconds, floor)}", flush=True)


if __name__ == "__main__":
    main()
