"""Progress of long work: what is left, and how long it takes."""

import logging

import pytest

from pipeline.common.progress import Progress, duration


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (48, "48 s"), (185, "3 min 05 s"), (7_800, "2 h 10 min"), (float("inf"), "unknown time")],
)
def test_durations_are_readable(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_work_of_an_earlier_run_does_not_count_in_the_rate(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "pipeline")
    progress = Progress("images", 100, done=90, every=0.0)
    progress.started -= 2.0
    progress.advance(5)
    assert "images 95/100 (95%), 2.5/s, 2 s left" in caplog.text


def test_without_a_rate_the_time_left_is_unknown_unless_nothing_is_left(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "pipeline")
    Progress("images", 100, done=90, every=0.0).advance(0)
    assert "90/100 (90%), 0.0/s, unknown time left" in caplog.text
    caplog.clear()
    Progress("images", 100, done=100).advance(0)
    assert "100/100 (100%), 0.0/s, 0 s left" in caplog.text
