"""Search of an index from the command line."""

from collections.abc import Sequence
from pathlib import Path

from pipeline.common.errors import InputError
from search.index import open_index
from search.model import Searched, load


def search(
    index: Path,
    /,
    sentence: Sequence[str] = (),
    photograph: Sequence[Path] = (),
    search_in: Searched = "images",
    top_k: int = 10,
    language: str | None = None,
    model: Path | None = None,
) -> None:
    """Search an index with sentences or photographs, and print what is nearest as columns with tabs.

    Args:
        index: index to search, as `build-index` writes it.
        sentence: sentences to search with.
        photograph: photographs to search with.
        search_in: what is searched.
        top_k: number of results per query.
        language: language of the sentences; by default each sentence's is detected from the vocabularies.
        model: model of the index, if it has moved.
    """
    if bool(sentence) == bool(photograph) or top_k < 1:
        raise InputError("search: give either --sentence or --photograph, and a --top-k of 1 or more.")
    opened = open_index(index)
    loaded = load(model or opened.model)
    queries = list(map(str, photograph or sentence))
    kind = "images" if photograph else "sentences"
    found = loaded.search(opened, **{kind: queries}, search_in=search_in, top_k=top_k, language=language)
    columns = {"image": opened.images}
    if search_in == "captions":
        images = [opened.images[row] for row in opened.caption_images]
        columns = {"image": images, "language": opened.languages, "caption": opened.captions}
    print("query", "rank", "similarity", *columns, sep="\t")
    for query, rows, scores in zip(queries, found.rows, found.scores, strict=True):
        for rank, (row, score) in enumerate(zip(rows, scores, strict=True), 1):
            print(query, rank, f"{score:.4f}", *(column[row] for column in columns.values()), sep="\t")
