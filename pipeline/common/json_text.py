"""JSON that people write: a repeated key is an error, where JSON itself would keep the last value."""

import json
from typing import Any


def json_value(text: str | bytes) -> Any:
    """The value of a JSON text.

    Raises:
        ValueError: it is not JSON, too deep, has a number with too many digits, or a key twice in an object.
    """
    try:
        return json.loads(text, object_pairs_hook=_object)
    except RecursionError:
        raise ValueError("too many brackets within brackets") from None


def _object(pairs: list[tuple[str, object]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} is there twice; keep one of them")
    return values
