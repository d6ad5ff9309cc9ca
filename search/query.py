"""Search of an index from the command line."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pipeline.common.errors import InputError
from search.index import Index, open_index
from search.model import check_positive, load_for
from search.result_files import check_ending, write_results


def search(
    index: Path,
    sentence: Sequence[str] = (),
    photograph: Sequence[Path] = (),
    search_in: Literal["images", "sentences"] = "images",
    top_k: int = 10,
    language: str | None = None,
    bundle: Path | None = None,
    output: Path | None = None,
    weights: str | None = None,
    device: Literal["cpu", "cuda"] = "cpu",
    threads: int | None = None,
) -> None:
    """Search an index with sentences or photographs.

    Args:
        index: folder of the index.
        sentence: sentences to search with.
        photograph: photographs to search with.
        search_in: what is searched; with sentences only images.
        top_k: number of results per query.
        language: language of the sentences; by default each sentence's is detected from the vocabularies.
        bundle: bundle of the index, if it has moved.
        output: file to write, .csv, .json or .h5; by default the results are printed.
        weights: file of the backbone's weights, if the bundle names a file.
        device: device of the model.
        threads: threads on a CPU; by default all.
    """
    if output:
        check_ending(output)
    check_positive("--top-k", top_k)
    if bool(sentence) == bool(photograph):
        raise InputError("search: give either --sentence or --photograph.")
    if not all(map(str.strip, sentence)):
        raise InputError("--sentence: found an empty text, expected a sentence.")
    opened_index = open_index(index)
    model = load_for(opened_index, bundle, device, weights, threads)
    queries = list(map(str, photograph)) if photograph else list(sentence)
    sentences, images = (None, queries) if photograph else (queries, None)
    neighbours = model.search(opened_index, sentences, images, search_in, top_k, language)
    rows = [
        {
            "query": query,
            "rank": rank,
            **_result(opened_index, search_in, int(row)),
            "similarity": float(score),
        }
        for query, nearest, scores in zip(queries, neighbours.rows, neighbours.scores, strict=True)
        for rank, (row, score) in enumerate(zip(nearest, scores, strict=True), 1)
        if row >= 0
    ]
    if output:
        write_results(output, rows)
        return
    print(*(rows[0] if rows else ()), sep="\t")
    for row in rows:
        print(*(f"{value:.4f}" if isinstance(value, float) else value for value in row.values()), sep="\t")


def _result(index: Index, search_in: str, row: int) -> dict[str, object]:
    if search_in == "images":
        return {"image": index.images[row], "file": index.files[row]}
    image, language, text = index.sentences[row]
    return {"sentence": text, "language": language, "image": image}
