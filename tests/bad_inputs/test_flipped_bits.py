"""A bit that a disk flips never changes a table silently: 200 places in every file kept between jobs."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from changes import EXPERIMENT, flip

from pipeline.common.errors import InputError
from pipeline.common.files import atomic_write, require_file
from pipeline.models.saved import load_model
from pipeline.training.checkpoint import load_checkpoint
from search.bundle import read_bundle
from search.index import open_index

pytestmark = [pytest.mark.integration, pytest.mark.extended]

PLACES = 200


def kept_files(folder: Path) -> list[Path]:
    """Files that jobs wrote and others read, by their path in the project."""
    found = (path for part in ("work/demo", "work/results") for path in (folder / part).rglob("*"))
    files = (path.relative_to(folder) for path in found if path.is_file() and path.stat().st_size)
    return sorted(path for path in files if not {"bundle", "index"} & set(path.parts))


@pytest.mark.parametrize("attributes", [True, False])
def test_a_flipped_bit_of_any_file_is_noticed(
    finished_project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attributes: bool
) -> None:
    """By its digest, in an attribute of the file or, on a disk without attributes, next to it."""
    paths = kept_files(finished_project)
    if not attributes:
        monkeypatch.delattr(os, "setxattr")
        monkeypatch.delattr(os, "getxattr")
    kinds = {path.name.partition("-ranks")[2] or path.suffix for path in paths}
    assert {".csv", ".h5", ".pt", ".json", ".csv.gz"} <= kinds
    draw = np.random.default_rng(0)
    for path in paths:
        file = tmp_path / path.name
        if attributes:
            shutil.copy2(finished_project / path, file)
        else:
            with atomic_write(file) as temporary:
                shutil.copyfile(finished_project / path, temporary)
        require_file(file, "", "")
        for bit in draw.integers(0, 8 * file.stat().st_size, PLACES):
            flip(file, int(bit))
            with pytest.raises(InputError, match="changed since it was written"):
                require_file(file, "", "")
            flip(file, int(bit))
        require_file(file, "", "")
        file.unlink()


def test_a_flipped_bit_of_an_index_or_its_bundle_is_noticed(finished_project: Path, tmp_path: Path) -> None:
    """By the digests in the names of an index's files, in the bundle, and of the bundle in the index."""
    draw = np.random.default_rng(3)
    for name in ("bundle", "index"):
        shutil.copytree(finished_project / EXPERIMENT / name, tmp_path / name, copy_function=shutil.copyfile)
    index = open_index(tmp_path / "index")
    assert read_bundle(index.bundle).digest == index.bundle_digest
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path.stat().st_size]
    files = [path for path in files if path.name not in ("README.md", "index.json")]
    assert {path.suffix for path in files} >= {".csv", ".npy", ".safetensors", ".txt", ".json"}
    for path in files:
        for bit in draw.integers(0, 8 * path.stat().st_size, PLACES):
            flip(path, int(bit))
            try:
                noticed = read_bundle(index.bundle).digest != open_index(tmp_path / "index").bundle_digest
            except InputError:
                noticed = True
            assert noticed, f"{path}, bit {bit}"
            flip(path, int(bit))


def test_a_file_changed_on_purpose_is_accepted_without_its_digest(
    finished_project: Path, tmp_path: Path
) -> None:
    """With the command that the message gives, whatever characters the file's name has."""
    file = tmp_path / "a 'split'.csv"
    shutil.copy2(finished_project / "work/demo/shapes/split.csv", file)
    file.write_bytes(file.read_bytes().replace(b"val", b"tst"))
    with pytest.raises(InputError, match="changed since it was written") as caught:
        require_file(file, "", "")
    program, *arguments = shlex.split(str(caught.value).partition("remove the digest: ")[2])
    assert program == "python"
    subprocess.run([sys.executable, *arguments], check=True)
    require_file(file, "", "")


def test_a_flipped_bit_of_a_model_without_a_digest_is_refused_or_changes_nothing(
    finished_project: Path, tmp_path: Path
) -> None:
    """Without extended attributes, by the checksums inside. (HDF5 has none for the places of its rows.)"""
    draw = np.random.default_rng(1)
    file = tmp_path / "model.pt"
    shutil.copyfile(finished_project / EXPERIMENT / "model.pt", file)
    weights = load_model(file)[0].state_dict()
    refused = 0
    for bit in draw.integers(0, 8 * file.stat().st_size, PLACES):
        flip(file, int(bit))
        try:
            read = load_model(file)[0].state_dict()
            assert all((read[name] == value).all() for name, value in weights.items())
        except InputError:
            refused += 1
        flip(file, int(bit))
    assert refused > PLACES / 4


def test_a_flipped_bit_of_a_checkpoint_without_a_digest_is_refused_or_changes_nothing(
    finished_project: Path, tmp_path: Path
) -> None:
    draw = np.random.default_rng(2)
    (found,) = (finished_project / "work/demo/checkpoints").glob("*-0.pt")
    file = tmp_path / "checkpoint.pt"
    shutil.copyfile(found, file)
    state = load_checkpoint(file, "another")
    assert state is None
    refused = 0
    for bit in draw.integers(0, 8 * file.stat().st_size, PLACES):
        flip(file, int(bit))
        try:
            assert load_checkpoint(file, "another") is None
        except InputError:
            refused += 1
        flip(file, int(bit))
    assert refused
