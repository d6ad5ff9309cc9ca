"""How many of mutmut's mistakes in the code are found by the tests, by package, on a random sample.

All mutants take a day; a sample of each package gives its score with an interval in hours:

    make mutants ONLY=nothing    # writes the mutants, and which test calls what
    make mutants ONLY="$(python -m benchmarks.mutation_score names --each 60)"
    python -m benchmarks.mutation_score score

Mutants that no test calls survive, so they count as tried.
"""

import argparse
import json
import math
import random
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

# What mutmut writes as the exit code of the tests. Every other one is a mutant that was found: a test
# failed, or ran so long that it was ended.
UNTRIED, SURVIVED, WITHOUT_TESTS = {None, 2, 34}, {0}, {5, 33}
Results = dict[str, int | None]  # by the mutant's name, None where it was not tried


def main() -> None:
    """Print names to try, or scores."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["names", "score"])
    parser.add_argument("--each", type=int, default=60, help="mutants of each package")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=Path("mutants"))
    arguments = parser.parse_args()
    packages = by_package(exit_codes(arguments.folder))
    if arguments.what == "names":
        print(" ".join(sample(packages, arguments.each, arguments.seed)))
    else:
        print("\n".join(table(packages, sample(packages, arguments.each, arguments.seed))))


def exit_codes(folder: Path) -> Results:
    """The exit code of each mutant."""
    codes: Results = {}
    for path in sorted(folder.glob("pipeline/**/*.meta")):
        codes |= json.loads(path.read_text(encoding="utf-8"))["exit_code_by_key"]
    return codes


def by_package(results: Results) -> dict[str, Results]:
    """The mutants of each package, by the second part of their names."""
    by_name: dict[str, Results] = {}
    for name, code in sorted(results.items()):
        by_name.setdefault(name.split(".")[1], {})[name] = code
    return by_name


def sample(packages: Mapping[str, Results], each: int, seed: int) -> list[str]:
    """A number of mutants of each package, or all of a smaller one; the same for the same code and seed."""
    return [
        name
        for package, results in packages.items()
        for name in random.Random(f"{seed} {package}").sample(sorted(results), min(each, len(results)))
    ]


def table(packages: Mapping[str, Results], names: Iterable[str]) -> Iterator[str]:
    """A line for each package and one for all, each package in it with the weight of its mutants."""
    sample = set(names)
    yield "package,mutants,tried,found,survived,without_tests,score,low,high"
    total = sum(map(len, packages.values()))
    score, variance = 0.0, 0.0
    for package, results in packages.items():
        tried = {name: code for name, code in results.items() if name in sample and code not in UNTRIED}
        survived = sum(code in SURVIVED for code in tried.values())
        without = sum(code in WITHOUT_TESTS for code in tried.values())
        share = 1 - (survived + without) / max(1, len(tried))
        low, high = wilson(share, len(tried))
        yield (
            f"{package},{len(results)},{len(tried)},{len(tried) - survived - without},{survived},{without},"
            f"{share:.3f},{low:.3f},{high:.3f}"
        )
        weight = len(results) / total
        score += weight * share
        variance += weight**2 * share * (1 - share) / max(1, len(tried))
    margin = 1.96 * math.sqrt(variance)
    yield f"all,{total},,,,,{score:.3f},{score - margin:.3f},{min(1.0, score + margin):.3f}"


def wilson(share: float, tried: int) -> tuple[float, float]:
    """95% interval of a share of so many tries (Wilson 1927)."""
    if not tried:
        return 0.0, 1.0
    z = 1.96**2 / tried
    middle = (share + z / 2) / (1 + z)
    half = 1.96 * math.sqrt(share * (1 - share) / tried + z / (4 * tried)) / (1 + z)
    return max(0.0, middle - half), min(1.0, middle + half)


if __name__ == "__main__":
    main()
