"""Signals end a block at once; handlers are restored; ignored signals stay ignored."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.common.signals import SIGNALS, Interrupted, raise_on_signal

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _hangup_not_ignored() -> Iterator[None]:
    """Under `nohup make test` SIGHUP is ignored."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_the_block_at_once_and_is_named(number: int) -> None:
    before = [signal.getsignal(each) for each in SIGNALS]
    with (
        pytest.raises(Interrupted, match=f"ended by {signal.Signals(number).name}") as end,
        raise_on_signal(),
    ):
        os.kill(os.getpid(), number)
    assert end.value.number == number
    assert [signal.getsignal(each) for each in SIGNALS] == before


def test_a_signal_that_nohup_ignores_stays_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with raise_on_signal():
        os.kill(os.getpid(), signal.SIGHUP)


def test_an_interrupted_stage_reports_it_and_leaves_no_temporary_file(tmp_path: Path) -> None:
    code = (
        "import signal, sys\n"
        "from pathlib import Path\n"
        "from pipeline import cli\n"
        "from pipeline.common.files import atomic_write\n"
        "from pipeline.datasets import unpack as module\n"
        "def unpack(archive: Path, output: Path):\n"
        "    with atomic_write(output) as temporary:\n"
        "        temporary.write_text('half')\n"
        "        print('writes', flush=True)\n"
        "        signal.pause()\n"
        "module.unpack = unpack\n"
        "sys.exit(cli.main())\n"
    )
    stage = subprocess.Popen(
        [sys.executable, "-c", code, "unpack", "--archive", "a.zip", "--output", str(tmp_path / "out")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert stage.stdout
    assert stage.stdout.readline() == "writes\n"
    stage.send_signal(signal.SIGTERM)
    _, output = stage.communicate(timeout=60)
    assert stage.returncode == 128 + signal.SIGTERM
    assert output == "ended by SIGTERM. What was finished is kept. Run the same command again to resume.\n"
    assert list(tmp_path.iterdir()) == []
