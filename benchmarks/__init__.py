"""Benchmarks, each run as `python -m benchmarks.NAME` at the repository's root.

Benchmarks against a plain loop use the plain reading of the papers in tests/reference.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tests"))
