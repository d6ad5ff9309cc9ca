"""How fast an index is searched, next to plain NumPy, and how fast a served page answers several clients.

    python -m benchmarks.search vectors [--count 1000000] [--size 512] [--queries 20]
    python -m benchmarks.search clients --address http://127.0.0.1:8000 [--clients 50] [--seconds 60]

`vectors` compares random unit vectors with one query at a time. `clients` asks for sentences without a pause.
"""

import argparse
import random
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable

import numpy as np
import torch

K = 10
SENTENCES = ("a dog", "two red cars", "ein Hund im Schnee", "un chat noir", "tři stromy")


def vectors(arguments: argparse.Namespace) -> None:
    """Milliseconds per query."""
    from search.index import nearest

    draw = np.random.default_rng(0)
    indexed = np.empty((arguments.count, arguments.size), np.float16)
    for start in range(0, len(indexed), 50_000):
        part = draw.standard_normal((min(50_000, len(indexed) - start), arguments.size), np.float32)
        indexed[start : start + len(part)] = part / np.linalg.norm(part, axis=1, keepdims=True)
    queries = indexed[draw.integers(0, len(indexed), arguments.queries)].astype(np.float32)
    wide = torch.from_numpy(indexed).float().numpy()

    def plain(query: np.ndarray) -> np.ndarray:
        scores = query[0] @ wide.T
        best = np.argpartition(-scores, K)[:K]
        return np.asarray(best[np.argsort(-scores[best])])

    def ours(query: np.ndarray) -> np.ndarray:
        return np.asarray(nearest(query, indexed, K, lambda a, b: a @ b.T).rows[0])

    searches: dict[str, Callable[[np.ndarray], np.ndarray]] = {"plain NumPy, float32": plain, "nearest": ours}
    for name, search in searches.items():
        seconds = []
        for query in queries:
            start_time = time.perf_counter()
            search(query[None])
            seconds.append(time.perf_counter() - start_time)
        p50, p95 = 1000 * np.percentile(seconds, [50, 95])
        print(f"{name}: p50 {p50:.0f} ms, p95 {p95:.0f} ms")
    print("same neighbours:", all((plain(query[None]) == ours(query[None])).all() for query in queries))


def clients(arguments: argparse.Namespace) -> None:
    """Seconds per answer, of clients that ask at the same time."""
    seconds: list[float] = []
    end = time.monotonic() + arguments.seconds

    def ask(seed: int) -> None:
        draw = random.Random(seed)
        while time.monotonic() < end:
            start = time.perf_counter()
            query = urllib.parse.urlencode({"q": draw.choice(SENTENCES)})
            urllib.request.urlopen(f"{arguments.address}/api/search?{query}").read()
            seconds.append(time.perf_counter() - start)

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(arguments.clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    p50, p95 = np.percentile(seconds, [50, 95])
    print(f"{len(seconds)} answers, p50 {p50:.2f} s, p95 {p95:.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    modes = parser.add_subparsers(required=True)
    one = modes.add_parser("vectors")
    one.add_argument("--count", type=int, default=1_000_000)
    one.add_argument("--size", type=int, default=512)
    one.add_argument("--queries", type=int, default=20)
    one.set_defaults(run=vectors)
    one = modes.add_parser("clients")
    one.add_argument("--address", required=True)
    one.add_argument("--clients", type=int, default=50)
    one.add_argument("--seconds", type=int, default=60)
    one.set_defaults(run=clients)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
