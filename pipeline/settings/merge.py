"""One configuration merged over another."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pipeline.common.block import LATER, Block

B = TypeVar("B", bound=Block)


def merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """One configuration merged over another, block by block; lists and plain values are replaced as a whole.

    An empty block empties a block, and one with another `provider` replaces it as a whole, because providers
    have different keys.

    Neither is changed. The result shares the blocks that only one of them has.
    """
    result = dict(below)
    for key, value in above.items():
        both = isinstance(value, Mapping) and isinstance(result.get(key), Mapping)
        result[key] = merge(result[key], value) if both and value and _one_kind(result[key], value) else value
    return result


def _one_kind(below: Mapping[str, Any], above: Mapping[str, Any]) -> bool:
    """Whether two blocks do not name different providers."""
    return above.get("provider") in (None, below.get("provider", above.get("provider")))


def with_override(block: B, override: Block | None) -> B:
    """A block with the keys that an override has set."""
    if override is None:
        return block
    values = merge(block.model_dump(), override.model_dump(exclude_unset=True))
    return type(block).model_validate(values, context=LATER)
