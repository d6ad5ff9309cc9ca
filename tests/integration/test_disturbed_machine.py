"""Full disks, read-only folders, denied permission, locked files, clock skew, two Snakemakes in one folder.

Each gives a clear message, loses nothing, and succeeds once its cause is gone. Nothing is simulated.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import disk
import h5py
import numpy as np
import pytest
import timm
import torch
from disk import Disk
from PIL import Image
from project import Project, copy_of_project
from serving import Trouble, serving

from pipeline import __main__
from pipeline.common.errors import InputError
from pipeline.datasets.table import caption_table, write_captions
from pipeline.images.store import DONE, read_features
from pipeline.models.saved import load_model
from pipeline.training import loop
from pipeline.training.checkpoint import save_checkpoint
from pipeline.training.data import Inputs
from pipeline.translation.cache import Cache, Model

pytestmark = [pytest.mark.integration, pytest.mark.extended]
mounts = pytest.mark.skipif(bool(disk.missing()), reason=disk.missing())

SIZE = 1 << 20


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Disk]:
    """A disk of a mebibyte."""
    with disk.disk(tmp_path / "disk", SIZE) as mounted:
        yield mounted


class Stage:
    """`python -m pipeline STAGE ...` in this process, and its error message."""

    def __init__(self, patch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[str]):
        self.patch, self.capture = patch, capture

    def __call__(self, *arguments: object) -> str:
        """Run the stage; return its error, which is one line, or an empty text."""
        self.patch.setattr(sys, "argv", ["pipeline", *map(str, arguments)])
        self.capture.readouterr()
        status = __main__.main()
        output = self.capture.readouterr().err
        assert status == (1 if output else 0)
        assert output.count("\n") == (1 if output else 0)
        return output


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Stage:
    return Stage(monkeypatch, capsys)


def captions(path: Path, count: int = 40) -> Path:
    rows = [(f"image{n}", "train", "en", f"{n} dogs run", "human", "") for n in range(count)]
    write_captions(caption_table(rows), path)
    return path


def tokenize(table: Path, output: Path) -> list[object]:
    return ["tokenize", "--captions", table, "--language", "en", "--output", output]


def training(inputs: Inputs, settings: dict[str, Any], checkpoint: Path, output: Path) -> list[object]:
    output.mkdir(exist_ok=True)
    return [
        "train", "--settings", json.dumps(settings), "--features", str(inputs.features),
        "--sentences", *inputs.sentences, "--words", *inputs.words, "--checkpoint", checkpoint,
        "--curves", output / "curves.csv", "--output", output / "model.pt",
    ]  # fmt: skip


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@mounts
def test_a_table_on_a_full_disk(tmp_path: Path, small: Disk, stage: Stage) -> None:
    table, output = captions(tmp_path / "captions.csv", 4000), small.folder / "tokens.csv"
    output.write_text("earlier\n")
    small.fill(leave=4096)
    text = stage(*tokenize(table, output))
    assert text == (
        f"error: {output}: no space is left on its disk. Make room, then run the same command again: "
        "what was finished is kept.\n"
    )
    assert names(small.folder) == ["filler", "tokens.csv"]
    assert output.read_text() == "earlier\n"
    small.make_room()
    assert stage(*tokenize(table, output)) == ""
    assert output.read_text().count("\n") == 4001


@mounts
def test_extraction_without_disk_space_fails_before_the_first_image(
    tmp_path: Path, small: Disk, stage: Stage
) -> None:
    small.fill(leave=20_000)
    free = small.free
    arguments = extraction(tmp_path, small.folder / "partial.h5")
    output = stage(*arguments)
    needed = 12 * (4 * 512 + 64)
    assert output == (
        f"error: {small.folder}/partial.h5: {needed:,} bytes are needed, {free:,} are free on its disk. "
        "Make room, or work in another folder, then run the same command again.\n"
    )
    assert names(small.folder) == [".partial.h5.lock", "filler"]
    small.make_room()
    assert stage(*arguments) == ""
    features = read_features(tmp_path / "features.h5", [f"image{n}" for n in range(12)], {})
    assert features.shape == (12, 512)


@mounts
def test_a_disk_that_fills_up_during_extraction_stops_nothing(
    tmp_path: Path, small: Disk, stage: Stage
) -> None:
    """All space is allocated at the beginning."""
    arguments = extraction(tmp_path, small.folder / "partial.h5")
    (tmp_path / "image11.png").rename(tmp_path / "away.png")
    assert "images cannot be decoded" in stage_of_many_lines(stage, arguments)
    (tmp_path / "away.png").rename(tmp_path / "image11.png")
    small.fill()
    assert stage(*arguments) == ""


def stage_of_many_lines(stage: Stage, arguments: list[object]) -> str:
    stage.patch.setattr(sys, "argv", ["pipeline", *map(str, arguments)])
    assert __main__.main() == 1
    return stage.capture.readouterr().err


def extraction(folder: Path, partial: Path) -> list[object]:
    """Features of twelve photographs by a small network with random weights."""
    draw = np.random.default_rng(0)
    rows = ["image,path"]
    for number in range(12):
        path = folder / f"image{number}.png"
        Image.fromarray(draw.integers(0, 256, (40, 40, 3), dtype=np.uint8)).save(path)
        rows.append(f"image{number},{path}")
    (folder / "images.csv").write_text("\n".join(rows) + "\n")
    torch.save(timm.create_model("resnet10t").state_dict(), folder / "w.pth")
    settings = {"backbone": "resnet10t", "weights": str(folder / "w.pth"), "resize": 40, "crop": 32}
    return [
        "extract-features", "--images", folder / "images.csv",
        "--settings", json.dumps(settings | {"crops": 2}), "--threads", 1,
        "--partial", partial, "--failed", folder / "failed.csv", "--output", folder / "features.h5",
    ]  # fmt: skip


@mounts
def test_a_checkpoint_on_a_full_disk_keeps_the_previous_one(
    inputs: Inputs, experiment: dict[str, Any], tmp_path: Path, small: Disk, stage: Stage
) -> None:
    experiment["training"]["epochs"] = 3
    assert stage(*training(inputs, experiment, tmp_path / "whole.pt", tmp_path / "whole")) == ""
    checkpoint = small.folder / "checkpoint.pt"
    arguments = training(inputs, experiment, checkpoint, tmp_path / "model")

    saved: list[bytes] = []

    def fill_after_the_first(*state: Any) -> None:
        save_checkpoint(*state)
        if not saved:
            saved.append(checkpoint.read_bytes())
            small.fill(leave=4096)

    with stage.patch.context() as patch:
        patch.setattr(loop, "save_checkpoint", fill_after_the_first)
        output = stage(*arguments)
    assert output.startswith(f"error: {checkpoint}: no space is left on its disk. Make room, then run")
    assert names(small.folder) == ["checkpoint.pt", "filler"]
    assert checkpoint.read_bytes() == saved[0]
    assert names(tmp_path / "model") == ["curves-partial.csv"]

    small.make_room()
    assert stage(*arguments) == ""
    assert (tmp_path / "model/model.pt").read_bytes() == (tmp_path / "whole/model.pt").read_bytes()
    assert names(small.folder) == ["checkpoint-curves.csv", "checkpoint-model.pt", "checkpoint.pt"]


@mounts
def test_a_model_that_did_not_fit_is_written_from_the_checkpoint_once_there_is_space(
    inputs: Inputs, experiment: dict[str, Any], tmp_path: Path, small: Disk, stage: Stage
) -> None:
    experiment["training"]["epochs"] = 2
    arguments = training(inputs, experiment, tmp_path / "checkpoint.pt", small.folder / "model")
    small.fill(leave=8192)  # the curves fit, the model does not
    output = stage(*arguments)
    assert output.startswith(f"error: {small.folder}/model/model.pt: no space is left on its disk. Make room")
    assert names(small.folder / "model") == ["curves.csv"]
    before = torch.load(tmp_path / "checkpoint.pt", weights_only=True)
    assert before["epoch"] == 2
    small.make_room()
    with stage.patch.context() as patch:
        patch.setattr(loop.Run, "_step", None)  # no training step runs again
        assert stage(*arguments) == ""
    assert load_model(small.folder / "model/model.pt")[1].epoch in (1, 2)


@mounts
def test_a_download_of_unknown_size_onto_a_disk_that_fills_up(
    tmp_path: Path, small: Disk, stage: Stage
) -> None:
    (tmp_path / "host").mkdir()
    content = np.random.default_rng(0).bytes(600_000)
    (tmp_path / "host" / "file.bin").write_bytes(content)
    output = small.folder / "file.bin"
    small.fill(leave=200_000)
    with serving(tmp_path, {"host/file.bin": Trouble(length="")}) as url:
        arguments = ["download", "--url", f"{url}/host/file.bin", "--file", "host/file.bin"]
        arguments += ["--sha256", "first use", "--output", str(output)]
        text = stage(*arguments)
        assert text.startswith(f"error: {output}: no space is left on its disk. Make room, then run the same")
        assert "file.bin" not in names(small.folder)
        small.make_room()
        assert stage(*arguments) == ""
    assert output.read_bytes() == content
    assert names(small.folder) == ["file.bin"]


MODEL = Model("demo", "1", "en", "de")


@mounts
def test_a_cache_of_translations_on_a_full_disk_keeps_its_answers(small: Disk) -> None:
    path = small.folder / "translations.sqlite"
    cache = Cache(path)
    cache.add(MODEL, {"a dog": "ein Hund"})
    small.fill()
    many = {f"{number} dogs": "Hunde" * 200 for number in range(100)}
    with pytest.raises(InputError, match=r"translations\.sqlite: database or disk is full\. Make room"):
        cache.add(MODEL, many)
    assert cache.answers(MODEL, ["a dog", *many]) == {"a dog": "ein Hund"}
    small.make_room()
    cache.add(MODEL, many)
    assert cache.count() == 101
    cache.close()


@mounts
def test_a_read_only_folder(tmp_path: Path, small: Disk, stage: Stage) -> None:
    table, output = captions(tmp_path / "captions.csv"), small.folder / "tokens.csv"
    path = small.folder / "translations.sqlite"
    Cache(path).close()
    with small.read_only():
        text = stage(*tokenize(table, output))
        with pytest.raises(
            InputError, match=r"unable to open database file\. Make room on its disk, make it writ"
        ):
            Cache(path).add(MODEL, {"a dog": "ein Hund"})
    assert text == (
        f"error: {output}: its disk is mounted read-only. Make it writable, or work in another folder, "
        "then run the same command again: what was finished is kept.\n"
    )
    assert names(small.folder) == ["translations.sqlite"]
    assert stage(*tokenize(table, output)) == ""


@mounts
def test_an_unfinished_store_on_a_read_only_disk_does_not_start_over(
    tmp_path: Path, small: Disk, stage: Stage
) -> None:
    partial = small.folder / "partial.h5"
    arguments = extraction(tmp_path, partial)
    (tmp_path / "image11.png").rename(tmp_path / "away.png")
    stage_of_many_lines(stage, arguments)
    (tmp_path / "away.png").rename(tmp_path / "image11.png")
    with small.read_only():
        assert ".partial.h5.lock: its disk is mounted read-only." in stage(*arguments)
    with h5py.File(partial) as file:
        assert int((file["done"][...] == DONE).sum()) == 11
    assert stage(*arguments) == ""


@contextmanager
def as_nobody() -> Iterator[None]:
    """Be a user without rights during the block."""
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_permission_denied_to_read_and_to_write(tmp_path: Path, stage: Stage) -> None:
    for folder in (tmp_path, *tmp_path.parents):
        if folder.owner() == "root" and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o055)
    table, output = captions(tmp_path / "captions.csv"), tmp_path / "made" / "tokens.csv"
    output.parent.mkdir()
    # The first call imports modules that the user "nobody" may not read.
    assert stage(*tokenize(table, tmp_path / "tokens.csv")) == ""
    denied = (
        "permission denied. Change its owner or mode, or its folder's, then run the same command again: "
        "what was finished is kept.\n"
    )
    with as_nobody():
        assert stage(*tokenize(table, output)) == f"error: {output}: {denied}"
    output.parent.chmod(0o777)
    table.chmod(0o600)
    with as_nobody():
        assert stage(*tokenize(table, output)) == f"error: {table}: {denied}"
    table.chmod(0o644)
    with as_nobody():
        assert stage(*tokenize(table, output)) == ""
    assert names(output.parent) == ["tokens.csv"]


HOLD = "import h5py, sys; file = h5py.File(sys.argv[1], 'r+'); print('open', flush=True); sys.stdin.read()"


def test_a_feature_file_that_another_process_writes(
    inputs: Inputs, experiment: dict[str, Any], tmp_path: Path, stage: Stage
) -> None:
    assert inputs.features
    split = tmp_path / "split.csv"
    split.write_text("image,split\n" + "".join(f"image{n},train\n" for n in range(12)))
    store = tmp_path / "features.h5"
    with h5py.File(store, "w") as file:
        file["features"] = np.arange(36, dtype=np.float32).reshape(12, 3)
        file.create_dataset("image", data=[f"image{n}" for n in range(12)], dtype=h5py.string_dtype())
    arguments = ["import-features", "--features", store, "--split", split, "--settings", "{}"]
    arguments += ["--output", tmp_path / "imported.h5"]
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(store)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout
        assert other.stdout.readline() == "open\n"
        output = stage(*arguments)
        other.communicate()
    assert output == (
        f"error: {store}: another process has it locked. Wait for it or end it, then run the same command "
        "again: what was finished is kept.\n"
    )
    assert stage(*arguments) == ""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    made = copy_of_project(tmp_path_factory.mktemp("project"))
    made.configure(scale="demo", sources={"scenes": 36})
    return made


TOKENS = "work/demo/multi30k/tokens/de.csv"


def test_two_snakemakes_in_one_folder(project: Project) -> None:
    long = ["work/demo/multi30k/words/human/de.h5", "work/demo/multi30k/features.h5"]
    with project.run_beside("--cores", "1", *long) as first:
        until = time.monotonic() + 120
        while not any(project.folder.glob(".snakemake/locks/*")):
            assert first.poll() is None and time.monotonic() < until
            time.sleep(0.05)
        second = project.snakemake("--cores", "1", *long)
        output, _ = first.communicate()
    assert second.returncode == 1
    assert "Directory cannot be locked" in second.stdout
    assert "--unlock" in second.stdout
    assert first.returncode == 0, output


def test_a_file_from_the_future_reruns_nothing_while_its_content_is_the_same(project: Project) -> None:
    project.make(TOKENS)
    table = project.folder / "work/demo/multi30k/captions/de.csv"
    before = table.stat()
    _ahead(table)
    assert project.would_run(TOKENS) == {}
    os.utime(table, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_a_job_with_an_input_from_the_future_reports_it_and_runs_once_it_is_touched(project: Project) -> None:
    project.make(TOKENS)
    table, tokens = project.folder / "work/demo/multi30k/captions/de.csv", project.folder / TOKENS
    whole = tokens.read_bytes()
    tokens.unlink()
    _ahead(table)
    done = project.snakemake("--cores", "1", TOKENS)
    assert done.returncode == 1
    assert "This could indicate a clock skew problem" in done.stdout
    assert not tokens.exists()
    os.utime(table)
    project.make(TOKENS)
    assert tokens.read_bytes() == whole
    assert project.would_run(TOKENS) == {}


def _ahead(path: Path) -> None:
    """Give a file the time of a clock that is an hour ahead."""
    later = time.time() + 3600
    os.utime(path, (later, later))
