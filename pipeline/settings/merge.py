"""One configuration merged over another."""

from collections.abc import Mapping
from typing import Any

# Blocks that may be empty: `{}` over one of them empties it.
REPLACED_WHEN_EMPTY = ("weights", "pairs", "caption_origins", "borrowed_translations")

# Keys of a block that say nothing of another `backbone`.
OF_BACKBONE = ("weights", "dimension", "resize", "crop")


def merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """One configuration merged over another, block by block; lists and plain values are replaced as a whole.

    An empty block replaces one of `REPLACED_WHEN_EMPTY`, and leaves any other as it is. A block with another
    `provider` replaces a block as a whole, because providers have different keys; another `backbone` replaces
    `OF_BACKBONE`.

    Neither is changed. The result shares the blocks that only one of them has.
    """
    result = dict(below)
    if below.get("backbone") != above.get("backbone", below.get("backbone")):
        result = {key: value for key, value in below.items() if key not in OF_BACKBONE}
    for key, value in above.items():
        both = isinstance(value, Mapping) and isinstance(result.get(key), Mapping)
        both = both and bool(value or key not in REPLACED_WHEN_EMPTY) and not _other_kind(result[key], value)
        result[key] = merge(result[key], value) if both else value
    return result


def _other_kind(below: Mapping[str, Any], above: Mapping[str, Any]) -> bool:
    """Whether two blocks name different providers."""
    return "provider" in below and "provider" in above and below["provider"] != above["provider"]
