"""`make demo`: Table 4 of MULE and its report, made of the demo's data; what Snakemake prints goes to a log.

On the terminal: how many jobs are done, the time left, and at the end the table and what to do next.
"""

import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TextIO

from pipeline.common.progress import duration

LOG = Path("work/logs/demo.log")
TARGETS = ["results/table4.csv", "results/report.html"]
COMPARISON = "results/comparison/table4.csv"
COMMAND = ["snakemake", *TARGETS, "--config", "report=[table4]", "--cores", "all"]
END = f"""
Mean recalls in percent on generated scenes, and in brackets the paper's on its photographs.
The numbers of generated scenes show that the pipeline runs; they say nothing about the paper.

  results/report.html   the table with intervals, curves and claims: open it in a browser
  {COMPARISON}   every recall

Next:
  make search                                            search the scenes with the trained model
  . .venv/bin/activate && snakemake -n results/report.html   what the other tables need
"""

# On a terminal, each line takes the place of the one before.
TERMINAL = sys.stdout.isatty()
EVERY = 1.0 if TERMINAL else 30.0

# Seconds of a job on one of two cores, roughly, for the time left. A job of another rule takes about one.
SECONDS = {"train": 15, "extract_features": 58, "pretrain": 5, "evaluate": 4}
# No long job ends in the first minute, so the rate (seconds of work per second) is averaged with the expected
# rate, which counts as much as a minute of the run.
EXPECTED_RATE, PRIOR = 2, 60.0


def main() -> int:
    """Run the demo; returns Snakemake's exit status."""
    LOG.parent.mkdir(parents=True, exist_ok=True)
    with (
        LOG.open("w") as log,
        subprocess.Popen(COMMAND, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as running,
    ):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends Snakemake, whose last lines are still read
        assert running.stdout is not None
        for line in progress_lines(_copy_to_log(running.stdout, log)):
            print(f"\r\033[K{line}" if TERMINAL else f"{line}\n", end="", flush=True)
    print(flush=True)
    if running.returncode:
        last = LOG.read_text().splitlines()[-30:]
        print(
            *last, f"\nThe whole log is in {LOG}; `make demo` goes on from here.", sep="\n", file=sys.stderr
        )
        return running.returncode
    subprocess.run([sys.executable, "-m", "pipeline", "show-table", COMPARISON], check=True)
    print(END)
    return 0


def progress_lines(lines: Iterable[str], every: float = EVERY) -> Iterator[str]:
    """From what Snakemake prints, at most every `every` seconds: jobs done, time left, the latest job."""
    jobs, finished_jobs = Counter[str](), Counter[str]()
    begin = last_line = time.monotonic()
    for line in lines:
        if match := re.fullmatch(r"(\w+) +(\d+)\n", line):
            jobs[match[1]] = int(match[2])
        elif match := re.match(r"Finished jobid: \d+ \(Rule: (\w+)\)", line):
            finished_jobs[match[1]] += 1
        elif match := re.match(r"Job \d+: (.+)", line):
            now = time.monotonic()
            if now - last_line >= every and finished_jobs:
                last_line = now
                share = f"{finished_jobs.total()} of {jobs['total']} jobs"
                left = duration(_time_left(_seconds(jobs), _seconds(finished_jobs), now - begin))
                yield f"{share}, about {left} left: {match[1]}"


def _time_left(work: int, done: int, elapsed: float) -> float:
    """Seconds left, by the rate of work so far and by what is usual on two cores."""
    return (work - done) * (elapsed + PRIOR) / (done + EXPECTED_RATE * PRIOR)


def _seconds(jobs: Mapping[str, int]) -> int:
    return sum(count * SECONDS.get(rule, 1) for rule, count in jobs.items() if rule != "total")


def _copy_to_log(lines: Iterable[str], log: TextIO) -> Iterator[str]:
    for line in lines:
        log.write(line)
        log.flush()
        yield line


if __name__ == "__main__":
    sys.exit(main())
