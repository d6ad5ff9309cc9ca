"""Values of the command line that are JSON."""

import argparse
import json
from typing import Any


def json_object(text: str) -> dict[str, Any]:
    """A JSON object, for argparse, which says of one that is none where it ends to be."""
    return _parsed(text, dict, 'an object, such as {"key": 1}')


def json_list(text: str) -> list[Any]:
    """A JSON list, likewise."""
    return _parsed(text, list, 'a list, such as [1, "b"]')


def _parsed(text: str, kind: type, expected: str) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise argparse.ArgumentTypeError(f"not JSON: {error}; expected {expected}") from None
    if not isinstance(value, kind):
        raise argparse.ArgumentTypeError(f"found {text[:60]}; expected {expected}")
    return value
