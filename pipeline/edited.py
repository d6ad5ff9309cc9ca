"""Jobs refuse code that was edited after their run of Snakemake began.

Snakemake records a job with the digests of the code as it was when the run began (`pipeline.digest`), but the
job imports the code as it is when the job starts.
"""

import hashlib
import json
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from pathlib import Path

from pipeline.common.errors import InputError
from pipeline.digest import PACKAGES, ROOT, WITHOUT_EFFECT

VARIABLE = "PIPELINE_WHEN_THE_RUN_BEGAN"  # of the environment that jobs inherit from Snakemake


def snapshot() -> str:
    """JSON of the digest of each module's text."""
    return json.dumps(_digests(), separators=(",", ":"))


def refuse_edited(before: str) -> None:
    """Let the import of each module fail whose text is not that of an earlier snapshot.

    Modules without effect on a result are left alone, as are those that are imported already.
    """
    began, now = json.loads(before), _digests()
    edited = {name for name in began.keys() & now.keys() - WITHOUT_EFFECT if began[name] != now[name]}
    if edited:
        sys.meta_path.insert(0, _Refusing(edited))


class _Refusing(MetaPathFinder):
    def __init__(self, edited: set[str]):
        self.edited = edited

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: object = None) -> None:
        if fullname in self.edited:
            raise InputError(
                f"{fullname} was edited after this run of Snakemake began, which would record the job with "
                "the earlier code. Undo the edit, or start the run again: what is finished is kept."
            )


def _digests() -> dict[str, str]:
    return {
        _name(path): hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
    }


def _name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)
