"""Values of the command line that are JSON."""

import argparse
import json
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pipeline.common.errors import InputError

if TYPE_CHECKING:
    from pipeline.common.block import Block


def settings_of(module: str, name: str) -> "Callable[[str], Block]":
    """Settings of a stage, for argparse."""

    def read(text: str) -> "Block":
        kind: type[Block] = getattr(import_module(f"pipeline.{module}.settings"), name)
        try:
            return kind.parse(text)
        except InputError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return read


def settings_dict_of(module: str, name: str) -> Callable[[str], dict[str, Any]]:
    """The same as a dictionary with every key, until the stage takes the block itself."""
    return lambda text: settings_of(module, name)(text).model_dump()


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
