"""What Snakemake itself uses during a run: CPU seconds and threads, with and without this project's repairs.

    python -m benchmarks.controller [--jobs 841 4453] [--cores 2] [--unrepaired]

Jobs of a stub workflow, with the scheduler of profiles/default, only touch their file: a third has no input,
and each of the others has an input of an earlier job. Their own CPU time is not counted. `--unrepaired` also
measures Snakemake with its own scheduler and timers.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
REPAIR = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from workflow.timers import repair_timers
repair_timers()
"""
STUB = """
rule all:
    input: expand("done/{layer}/{number}", layer=range(3), number=range(NUMBER))

rule first:
    output: "done/0/{number}"
    shell: "touch {output}"

rule next:
    input: lambda w: f"done/{int(w.layer) - 1}/{w.number}"
    output: "done/{layer}/{number}"
    wildcard_constraints: layer="[12]"
    shell: "touch {output}"
"""
TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--jobs", type=int, nargs="+", default=[841, 4453])
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--unrepaired", action="store_true")
    arguments = parser.parse_args()
    print("jobs   Snakemake   CPU s  ms per job  most threads  wall s")
    for jobs in arguments.jobs:
        for repaired in (True, False) if arguments.unrepaired else (True,):
            cpu, threads, wall = measure(jobs // 3, arguments.cores, repaired)
            kind = "repaired" if repaired else "as it is"
            print(
                f"{jobs:5}  {kind:11} {cpu:5.1f} {1000 * cpu / jobs:11.1f} {threads:13} {wall:7.0f}",
                flush=True,
            )


def measure(number: int, cores: int, repaired: bool) -> tuple[float, int, float]:
    """CPU seconds and the most threads of the controller, and seconds, of a run of 3 * number jobs."""
    with tempfile.TemporaryDirectory() as folder:
        stub = f"{REPAIR if repaired else ''}\nNUMBER = {number}\n{STUB}"
        Path(folder, "Snakefile").write_text(stub)
        scheduler = ["--scheduler", "greedy"] if repaired else []
        begin, cpu, threads = time.monotonic(), 0.0, 0
        command = [sys.executable, "-m", "snakemake", "--cores", str(cores), "--quiet", "all", *scheduler]
        with subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL) as controller:
            while controller.poll() is None:
                cpu, threads = max(cpu, _cpu(controller.pid)), max(threads, _threads(controller.pid))
                time.sleep(0.2)
        if controller.returncode:
            sys.exit(f"Snakemake ended with {controller.returncode}")
        return cpu, threads, time.monotonic() - begin


def _cpu(pid: int) -> float:
    """User and system seconds of a process without its children."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / TICKS


def _threads(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/task"))


if __name__ == "__main__":
    main()
