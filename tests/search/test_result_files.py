"""Embeddings and search results, written and read back in each format."""

import json
from pathlib import Path

import h5py
import numpy as np
import pytest

from pipeline.common.errors import InputError
from search.result_files import check_ending, write_embeddings, write_results

COLUMNS = {"sentence": ["Ein Hund, müde.", "犬"], "language": ["de", "ja"]}
VECTORS = np.array([[0.5, -0.25, 0.1], [1, 0, 0]], np.float32)
RESULTS = [
    {"query": "犬", "rank": 1, "image": "a", "similarity": 0.5},
    {"query": "犬", "rank": 2, "image": "b", "similarity": -0.25},
]


def test_embeddings_as_csv_have_one_column_per_number(tmp_path: Path) -> None:
    write_embeddings(tmp_path / "out.csv", COLUMNS, VECTORS)
    assert (tmp_path / "out.csv").read_text(encoding="utf-8") == (
        'sentence,language,0,1,2\n"Ein Hund, müde.",de,0.5,-0.25,0.10000000149011612\n犬,ja,1.0,0.0,0.0\n'
    )


def test_embeddings_as_json_have_one_object_per_sentence(tmp_path: Path) -> None:
    write_embeddings(tmp_path / "out.json", COLUMNS, VECTORS)
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8")) == [
        {"sentence": "Ein Hund, müde.", "language": "de", "vector": VECTORS[0].tolist()},
        {"sentence": "犬", "language": "ja", "vector": [1, 0, 0]},
    ]


def test_embeddings_as_hdf5_have_one_dataset_per_column(tmp_path: Path) -> None:
    write_embeddings(tmp_path / "out.h5", COLUMNS, VECTORS)
    with h5py.File(tmp_path / "out.h5") as file:
        assert list(file["sentence"].asstr()) == COLUMNS["sentence"]
        assert list(file["language"].asstr()) == COLUMNS["language"]
        assert np.array_equal(file["vectors"], VECTORS) and file["vectors"].dtype == np.float32


def test_results_in_three_formats(tmp_path: Path) -> None:
    for ending in ("csv", "json", "h5"):
        write_results(tmp_path / f"out.{ending}", RESULTS)
    assert (tmp_path / "out.csv").read_text(encoding="utf-8") == (
        "query,rank,image,similarity\n犬,1,a,0.5\n犬,2,b,-0.25\n"
    )
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8")) == RESULTS
    with h5py.File(tmp_path / "out.h5") as file:
        assert list(file["query"].asstr()) == ["犬", "犬"]
        assert file["rank"][:].tolist() == [1, 2]
        assert file["similarity"][:].tolist() == [0.5, -0.25]


@pytest.mark.parametrize("ending", ["csv", "json", "h5"])
def test_no_results_are_an_empty_file(tmp_path: Path, ending: str) -> None:
    write_results(tmp_path / f"out.{ending}", [])
    assert (tmp_path / f"out.{ending}").exists()


def test_another_ending_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    for name in ("out.npy", "out"):
        with pytest.raises(InputError, match=r"expected one of \.csv, \.json, \.h5"):
            check_ending(tmp_path / name)
        with pytest.raises(InputError):
            write_results(tmp_path / name, RESULTS)
    assert not list(tmp_path.iterdir())
