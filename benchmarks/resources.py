"""What the jobs of a finished run took, next to what their rules declare, as a table in Markdown.

    python benchmarks/resources.py [work/logs/demo]

A rule's jobs are found by its `benchmark:` file; rules that take each other's place share theirs, and so have
the same row. On a busy machine a job takes longer than its work, so the processor's time is shown too.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

RULES = Path(__file__).parents[1] / "workflow" / "rules"
WILDCARDS = {"seed": r"\d+", "language": "[a-z]{2}", "captions": r"human|human\+mt|mt"}
WILDCARDS |= {"set": "|-[a-z][a-z0-9]*", "shard": r"\d+-of-\d+"}
DECLARED = ["mem_mb", "runtime", "disk_mb"]
COLUMNS = ["rule", "jobs", "longest, s", "its CPU time, s", "peak memory, MB", *DECLARED]


def rules() -> Iterator[tuple[re.Pattern[str], str, dict[str, str]]]:
    """Pattern of a rule's benchmark files, its name, and its resources as they are written."""
    for path in sorted(RULES.glob("*.smk")):
        for text in re.split(r"^rule ", path.read_text(encoding="utf-8"), flags=re.M)[1:]:
            if match := re.search(r'benchmark:\s+"work/logs/{scale}/(.+)"', text):
                parts = re.split(r"{(\w+)}", match[1])  # literal, wildcard, literal, ...
                parts[::2] = map(re.escape, parts[::2])
                parts[1::2] = [f"({WILDCARDS.get(name, '[^/]+')})" for name in parts[1::2]]
                resources = dict(re.findall(r"^        (mem_mb|runtime|disk_mb)=(.+?),", text, re.M))
                yield re.compile("".join(parts)), text[: text.index(":")], resources


def main() -> None:
    """Print the table of the logs in a folder."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "work/logs/demo")
    files = {str(path.relative_to(folder)): path for path in folder.rglob("*.tsv")}
    if not files:
        sys.exit(
            f"{folder}: no benchmark files (*.tsv). Give the logs of a finished run, such as work/logs/demo."
        )
    print(f"| {' | '.join(COLUMNS)} |\n|---{'|---:' * (len(COLUMNS) - 1)}|")
    for pattern, rule, declared in rules():
        jobs = [pd.read_csv(path, sep="\t") for name, path in files.items() if pattern.fullmatch(name)]
        if not jobs:
            continue
        took = pd.concat(jobs).sort_values("s")
        longest = took.iloc[-1]
        measured = [len(took), *(f"{value:,.0f}" for value in (longest["s"], longest["cpu_time"]))]
        memory = pd.to_numeric(took["max_rss"], errors="coerce").max()
        requests = [declared[name] for name in DECLARED]
        print(f"| {' | '.join(map(str, [rule, *measured, f'{memory:,.0f}', *requests]))} |")


if __name__ == "__main__":
    main()
