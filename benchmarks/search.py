"""How fast an index answers: exact and approximate against plain NumPy in one run, each in its own process.

    python benchmarks/search.py vectors --index INDEX [--count 1000000] [--noise 1.0] [--folder FOLDER]
    python benchmarks/search.py libraries --index INDEX [--count 100000] [--noise 1.0]
    python benchmarks/search.py clients --address http://127.0.0.1:8000 [--clients 50] [--pid PID]
        [--half-open 400] [--renewed 1.0]
    python benchmarks/search.py kills --bundle BUNDLE [--count 10000] [--kills 20] [--folder FOLDER]

`vectors` and `libraries` generate vectors around the index's image vectors: each is one of them with normal
noise of the given length, at length 1 again; queries are made around its sentence vectors. Vectors that are
in the folder already are used again. `libraries` compares faiss, usearch and hnswlib, as far as they are
installed. `clients` asks a page that is served for sentences; with `--half-open`, while so many other
connections have sent half a request. Connections that the server has closed are renewed every `--renewed`
seconds. `kills` indexes drawn pictures, kills that with SIGKILL at random moments, and compares with an index
that was never killed. It reads them by one small crop, whatever the bundle's model was trained on: what is
compared is whether the files are the same, not what is found.
"""

import argparse
import json
import multiprocessing
import os
import random
import resource
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

K = 10


def around(base: np.ndarray, count: int, noise: float, draw: np.random.Generator) -> np.ndarray:
    """(count, e) float32 of length 1, each near a row of `base`."""
    size = base.shape[1]
    vectors = np.empty((count, size), np.float32)
    for begin in range(0, count, 50_000):
        part = vectors[begin : begin + 50_000]
        part[:] = base[draw.integers(0, len(base), len(part))]
        part += noise / size**0.5 * draw.standard_normal(part.shape, np.float32)
        part /= np.linalg.norm(part, axis=1, keepdims=True)
    return vectors


def random_vectors(arguments: argparse.Namespace) -> np.ndarray:
    """Vectors (count, e)."""
    images = np.load(next(arguments.index.glob("images-*.npy"))).astype(np.float32)
    return around(images, arguments.count, arguments.noise, np.random.default_rng(0))


def random_queries(arguments: argparse.Namespace) -> np.ndarray:
    """Queries (Q, e)."""
    sentences = np.load(next(arguments.index.glob("sentences-*.npy"))).astype(np.float32)
    return around(sentences, arguments.queries, 0.3, np.random.default_rng(1))


def measure(
    search: Callable[[np.ndarray], np.ndarray], queries: np.ndarray
) -> tuple[np.ndarray, dict[str, float]]:
    """Rows that were found, and milliseconds per query."""
    search(queries[:1])
    neighbours, seconds = [], []
    for query in queries:
        start = time.perf_counter()
        neighbours.append(search(query[None])[0])
        seconds.append(1000 * (time.perf_counter() - start))
    p50, p95 = np.percentile(seconds, [50, 95])
    return np.array(neighbours), {"p50 ms": round(p50, 2), "p95 ms": round(p95, 2)}


def resident() -> dict[str, float]:
    """Megabytes of this process, without and with the pages of files that it has mapped."""
    text = Path("/proc/self/status").read_text()
    own, mapped = (int(text.split(f"{key}:")[1].split()[0]) / 1024 for key in ("RssAnon", "RssFile"))
    return {"own MB": round(own), "mapped MB": round(mapped)}


def numpy_plain(folder: Path, queries: np.ndarray) -> Any:
    vectors = np.load(folder / "vectors.npy").astype(np.float32)

    def search(query: np.ndarray) -> np.ndarray:
        scores = query @ vectors.T
        best = np.argpartition(-scores, K, axis=1)[:, :K]
        return np.take_along_axis(best, np.argsort(-np.take_along_axis(scores, best, 1), axis=1), 1)

    return measure(search, queries), resident()


def exact_mapped(folder: Path, queries: np.ndarray) -> Any:
    from search.nearest import search_exact

    vectors = np.load(folder / "vectors.npy", mmap_mode="c")
    return measure(
        lambda query: search_exact(vectors, query, K, lambda a, b: a @ b.T).rows, queries
    ), resident()


def approximate_mapped(folder: Path, queries: np.ndarray) -> Any:
    from search.nearest import open_approximate, search_approximate

    index = open_approximate(folder / "nearest.faiss")
    return measure(lambda query: search_approximate(index, query, K).rows, queries), resident()


def build_approximate(folder: Path, queries: np.ndarray) -> Any:
    from search.nearest import build_approximate as build

    start = time.perf_counter()
    build(np.load(folder / "vectors.npy", mmap_mode="r"), folder / "nearest.faiss")
    return round(time.perf_counter() - start), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def vectors(arguments: argparse.Namespace) -> None:
    folder: Path = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "vectors.npy"
    if not path.exists() or len(np.load(path, mmap_mode="r")) != arguments.count:
        np.save(path, random_vectors(arguments).astype(np.float16))
    queries = random_queries(arguments)
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        (truth, speed), memory = pool.apply(numpy_plain, (folder, queries))
        report("plain NumPy, float32 in memory", truth, truth, speed, memory)
        (neighbours, speed), memory = pool.apply(exact_mapped, (folder, queries))
        report("exact, float16 mapped", neighbours, truth, speed, memory)
        seconds, peak = pool.apply(build_approximate, (folder, queries))
        print(f"approximate index: built in {seconds} s, peak {peak} MB, "
              f"{(folder / 'nearest.faiss').stat().st_size / 1e6:.0f} MB on disk", flush=True)  # fmt: skip
        (neighbours, speed), memory = pool.apply(approximate_mapped, (folder, queries))
        report("approximate, mapped", neighbours, truth, speed, memory)


def report(name: str, neighbours: np.ndarray, truth: np.ndarray, *values: dict[str, float]) -> None:
    recall = np.mean([len(set(a) & set(b)) / K for a, b in zip(neighbours, truth, strict=True)])
    numbers = {key: value for part in values for key, value in part.items()}
    print(f"{name}: recall@{K} {recall:.4f}, {json.dumps(numbers)}", flush=True)


def libraries(arguments: argparse.Namespace) -> None:
    vectors, queries = random_vectors(arguments), random_queries(arguments)
    truth = np.argsort(-(queries @ vectors.T), axis=1)[:, :K]
    for library in (with_faiss_lists, with_faiss_graph, with_usearch, with_hnswlib):
        try:
            start = time.perf_counter()
            settings = library(vectors)
            built = time.perf_counter() - start
        except ImportError as error:
            print(f"{library.__name__}: {error}")
            continue
        for setting, search in settings:
            neighbours, speed = measure(search, queries)
            report(f"{library.__name__} {setting}, built in {built:.0f} s", neighbours, truth, speed)


Settings = list[tuple[str, Callable[[np.ndarray], np.ndarray]]]


def with_faiss_lists(vectors: np.ndarray) -> Settings:
    import faiss

    from search.nearest import LISTS

    lists = int(LISTS * len(vectors) ** 0.5)
    index: Any = faiss.index_factory(vectors.shape[1], f"IVF{lists},SQfp16", faiss.METRIC_INNER_PRODUCT)
    index.train(
        vectors[np.random.default_rng(0).choice(len(vectors), min(len(vectors), 40 * lists), replace=False)]
    )
    index.add(vectors)

    def probing(probes: int) -> Callable[[np.ndarray], np.ndarray]:
        def search(query: np.ndarray) -> np.ndarray:
            index.nprobe = probes
            rows: np.ndarray = index.search(query, K)[1]
            return rows

        return search

    return [(f"nprobe {probes}", probing(probes)) for probes in (8, 32, 128)]


def with_faiss_graph(vectors: np.ndarray) -> Settings:
    import faiss

    index: Any = faiss.index_factory(vectors.shape[1], "HNSW32,SQfp16", faiss.METRIC_INNER_PRODUCT)
    index.train(vectors[:10_000])
    index.add(vectors)

    def exploring(width: int) -> Callable[[np.ndarray], np.ndarray]:
        def search(query: np.ndarray) -> np.ndarray:
            index.hnsw.efSearch = width
            rows: np.ndarray = index.search(query, K)[1]
            return rows

        return search

    return [(f"ef {width}", exploring(width)) for width in (64, 256)]


def with_usearch(vectors: np.ndarray) -> Settings:
    from usearch.index import Index

    index = Index(ndim=vectors.shape[1], metric="ip", dtype="f16", connectivity=32)
    index.add(np.arange(len(vectors)), vectors, threads=1)

    def exploring(width: int) -> Callable[[np.ndarray], np.ndarray]:
        def search(query: np.ndarray) -> np.ndarray:
            index.expansion_search = width
            return np.asarray(index.search(query[0], K, threads=1).keys)[None]

        return search

    return [(f"expansion {width}", exploring(width)) for width in (64, 256)]


def with_hnswlib(vectors: np.ndarray) -> Settings:
    import hnswlib

    index = hnswlib.Index("ip", vectors.shape[1])
    index.init_index(len(vectors), M=32, ef_construction=128)
    index.set_num_threads(1)
    index.add_items(vectors)

    def exploring(width: int) -> Callable[[np.ndarray], np.ndarray]:
        def search(query: np.ndarray) -> np.ndarray:
            index.set_ef(width)
            return np.asarray(index.knn_query(query, K)[0], np.int64)

        return search

    return [(f"ef {width}", exploring(width)) for width in (64, 256)]


def clients(arguments: argparse.Namespace) -> None:
    sentences = json.load(urllib.request.urlopen(f"{arguments.address}/api/indexes"))[0]["languages"]
    words = {"en": "a dog", "de": "ein Hund", "fr": "un chien", "cs": "pes", "zh": "狗", "ja": "犬"}
    texts = [words[code] for code in sentences if code in words]
    seconds: list[float] = []
    errors: list[str] = []
    memory = [memory_of(arguments.pid)]
    end = time.monotonic() + arguments.seconds

    def client(number: int) -> None:
        draw = random.Random(number)
        while time.monotonic() < end:
            query = urllib.parse.urlencode({"q": draw.choice(texts), "top_k": 24})
            start = time.perf_counter()
            try:
                with urllib.request.urlopen(
                    f"{arguments.address}/api/sentence?{query}", timeout=60
                ) as answer:
                    assert len(json.load(answer)["images"]) == 24
            except Exception as error:
                errors.append(repr(error))
            seconds.append(time.perf_counter() - start)

    running = [threading.Thread(target=client, args=(number,)) for number in range(arguments.clients)]
    opened: list[int] = []  # connections that have been half open, in all
    if arguments.half_open:
        running.append(threading.Thread(target=stay_half_open, args=(arguments, end, opened)))
    for one in running:
        one.start()
    while time.monotonic() < end:
        time.sleep(min(10, max(0.1, end - time.monotonic())))
        memory.append(memory_of(arguments.pid))
    for one in running:
        one.join()
    p50, p95 = np.percentile(seconds, [50, 95])
    print(
        f"{arguments.clients} clients, {arguments.seconds} s: {len(seconds)} answers, {len(errors)} errors,",
        f"p50 {p50:.3f} s, p95 {p95:.3f} s, longest {max(seconds):.3f} s, server's MB every 10 s: {memory},",
        f"{sum(opened)} connections half open",
        *errors[:3],
    )


def stay_half_open(arguments: argparse.Namespace, end: float, opened: list[int]) -> None:
    """Keep half a request on each of many connections; a closed connection is opened again."""
    place = urllib.parse.urlsplit(arguments.address)
    assert place.hostname and place.port, f"{arguments.address}: expected http://HOST:PORT"
    waiting: list[socket.socket] = []
    while time.monotonic() < end:
        for one in select.select(waiting, [], [], 0)[0]:
            waiting.remove(one)
            one.close()
        opened.append(arguments.half_open - len(waiting))
        for _ in range(opened[-1]):
            one = socket.create_connection((place.hostname, place.port), timeout=60)
            one.sendall(b"GET /api/indexes HTTP/1.1\r\nHost: localhost\r\n")
            waiting.append(one)
        time.sleep(arguments.renewed)
    for one in waiting:
        one.close()


def memory_of(pid: int | None) -> int:
    """Private megabytes of a process."""
    text = Path(f"/proc/{pid}/status").read_text() if pid else "RssAnon: 0 kB"
    return int(text.split("RssAnon:")[1].split()[0]) // 1024


def kills(arguments: argparse.Namespace) -> None:
    folder: Path = arguments.folder
    photographs = folder / "photographs"
    draw_pictures(photographs, arguments.count)
    bundle = with_small_crops(arguments.bundle, folder / "bundle")
    command = [sys.executable, "-m", "search", "build-index", "--bundle", str(bundle), "--threads", "1"]
    command += ["--photographs", str(photographs), "--output"]
    whole, killed = folder / "whole", folder / "killed"
    for one in (whole, killed):
        shutil.rmtree(one, ignore_errors=True)
    start = time.monotonic()
    subprocess.run([*command, str(whole)], check=True, stderr=subprocess.DEVNULL)
    seconds = time.monotonic() - start
    print(f"{arguments.count} pictures indexed in {seconds:.0f} s", flush=True)
    draw = random.Random(0)
    done = 0
    while done < arguments.kills:
        started = time.time()
        running = subprocess.Popen([*command, str(killed)], stderr=subprocess.DEVNULL)
        while running.poll() is None and not is_newer(killed / "features.partial.h5", started):
            time.sleep(0.01)
        try:
            running.wait(timeout=draw.uniform(0, 1.5) * seconds / arguments.kills)
            break
        except subprocess.TimeoutExpired:
            running.send_signal(signal.SIGKILL)
            running.wait()
            done += 1
    subprocess.run([*command, str(killed)], check=True, stderr=subprocess.DEVNULL)
    names = ["index.json", *json.loads((whole / "index.json").read_text())["files"].values()]
    same = all((whole / name).read_bytes() == (killed / name).read_bytes() for name in names)
    outcome = f"{'identical' if same else 'ANOTHER'} index, {len(names)} files"
    print(f"killed {done} times: {outcome}, in {time.monotonic() - start - seconds:.0f} s", flush=True)
    start = time.monotonic()
    draw_pictures(photographs, arguments.count + 100)
    subprocess.run([*command, str(whole)], check=True, stderr=subprocess.DEVNULL)
    print(f"100 more pictures indexed in {time.monotonic() - start:.0f} s", flush=True)


def with_small_crops(bundle: Path, copy: Path) -> Path:
    """A copy of a bundle that reads photographs by one crop of 64 pixels."""
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(bundle, copy)
    values = json.loads((copy / "model.json").read_text(encoding="utf-8"))
    values["backbone"] |= {"resize": 64, "crop": 64, "crops": 1}
    (copy / "model.json").write_text(json.dumps(values), encoding="utf-8")
    return copy


def is_newer(path: Path, moment: float) -> bool:
    return path.exists() and path.stat().st_mtime > moment


def draw_pictures(folder: Path, count: int) -> None:
    """Draw small pictures of coloured rectangles, as far as they are missing."""
    from PIL import Image, ImageDraw

    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        path = folder / f"{number:06d}.jpg"
        if path.exists():
            continue
        draw = random.Random(number)
        picture = Image.new("RGB", (80, 64), tuple(draw.randrange(256) for _ in range(3)))
        for _ in range(5):
            x, y = draw.randrange(60), draw.randrange(45)
            colour = tuple(draw.randrange(256) for _ in range(3))
            ImageDraw.Draw(picture).rectangle((x, y, x + draw.randrange(5, 20), y + 15), fill=colour)
        picture.save(path)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    modes = parser.add_subparsers(required=True)
    for mode, count in ((vectors, 1_000_000), (libraries, 100_000)):
        one = modes.add_parser(mode.__name__)
        one.add_argument("--index", type=Path, required=True)
        one.add_argument("--count", type=int, default=count)
        one.add_argument("--noise", type=float, default=1.0)
        one.add_argument("--queries", type=int, default=100)
        one.add_argument("--folder", type=Path, default=Path("/tmp/search-vectors"))
        one.set_defaults(run=mode)
    one = modes.add_parser("clients")
    one.add_argument("--address", required=True)
    one.add_argument("--clients", type=int, default=50)
    one.add_argument("--seconds", type=int, default=60)
    one.add_argument("--half-open", type=int, default=0, help="connections that send half a request")
    one.add_argument("--renewed", type=float, default=1.0, help="seconds until a closed one is opened again")
    one.add_argument("--pid", type=int, help="of the server")
    one.set_defaults(run=clients)
    one = modes.add_parser("kills")
    one.add_argument("--bundle", type=Path, required=True)
    one.add_argument("--count", type=int, default=10_000)
    one.add_argument("--kills", type=int, default=20)
    one.add_argument("--folder", type=Path, default=Path("/tmp/search-kills"))
    one.set_defaults(run=kills)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    sys.path.insert(0, os.getcwd())
    main()
