"""What the jobs of a finished run took, next to what they requested, as a table in Markdown.

    python benchmarks/resources.py [work/logs/demo]

On a busy machine a job takes longer than its work, so the processor's time is shown too.
"""

import ast
import sys
from pathlib import Path

import pandas as pd

REQUESTED = ["mem_mb", "runtime", "disk_mb"]
COLUMNS = ["rule", "jobs", "longest, s", "its CPU time, s", "peak memory, MB", *REQUESTED]


def main() -> None:
    """Print the table of the logs in a folder."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "work/logs/demo")
    jobs = pd.concat([pd.read_csv(path, sep="\t", na_values=["-"]) for path in sorted(folder.rglob("*.tsv"))])
    print(f"| {' | '.join(COLUMNS)} |\n|---{'|---:' * (len(COLUMNS) - 1)}|")
    for rule, took in jobs.groupby("rule_name"):
        longest = took.sort_values("s").iloc[-1]
        measured = [longest["s"], longest["cpu_time"], took["max_rss"].max()]
        requests = ast.literal_eval(longest["resources"])
        cells = [rule, len(took), *(f"{value:,.0f}" for value in measured), *map(requests.get, REQUESTED)]
        print(f"| {' | '.join(map(str, cells))} |")


if __name__ == "__main__":
    main()
