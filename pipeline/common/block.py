"""The base of all settings: a block of keys, each with a type, a default, a meaning and its checks.

The docstring below a field says what the key means, with its unit. Messages are pydantic's, after the key
and what was found.
"""

import json
import os
import re
import reprlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Self, TypeVar, get_args, get_origin

# Looking for plugins of pydantic among all installed packages takes longer than building the classes.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic.functional_validators import AfterValidator
from pydantic_core import ErrorDetails, PydanticCustomError

from pipeline.common.errors import InputError, raise_together

MAX_LISTED = 30  # known names that a message lists

# Shortens long values in messages.
_SHORT = reprlib.Repr()
_SHORT.maxlevel, _SHORT.maxlist, _SHORT.maxdict, _SHORT.maxstring, _SHORT.maxother = 2, 8, 8, 100, 100

_OBJECT = 'expected an object, such as {"key": 1}'

T = TypeVar("T")


class Contradictions(ValueError):
    """Keys of a block that are each valid but do not fit together: `args` are `Block.contradictions`."""


class Block(BaseModel):
    """Settings that belong together. Unknown keys and wrong types are refused; values never change.

    Texts count as the numbers that they stand for: YAML reads 1e-4 as a text, and Snakemake's --config passes
    numbers as texts.
    """

    model_config = ConfigDict(
        extra="forbid",
        use_attribute_docstrings=True,
        frozen=True,
        allow_inf_nan=False,
        defer_build=True,
        protected_namespaces=(),
    )

    def contradictions(self) -> Iterator[str]:
        """Keys that contradict each other: `.key: mistake`, or `: mistake` for the whole block."""
        return iter(())

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if lines := list(self.contradictions()):
            raise Contradictions(*lines)
        return self

    @classmethod
    def parse(cls, text: str) -> Self:
        """The block of the option --settings, a JSON object; raises `InputError` that lists every mistake."""
        try:
            values = json.loads(text)
        except ValueError as error:
            raise InputError(f"--settings: not JSON: {error}; {_OBJECT}") from None
        if not isinstance(values, dict):
            raise InputError(f"--settings: found {text[:60]}; {_OBJECT}")
        return cls.from_values(values, "--settings: cannot be used:")

    @classmethod
    def from_values(cls, values: Mapping[str, object], heading: str) -> Self:
        """The block of values as YAML or JSON have them; raises `InputError` that lists every mistake."""
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise_together(mistakes(cls, error), heading)
            raise

    def as_json(self) -> str:
        """The JSON of the block without keys that are None, so that a new optional key changes no JSON."""
        return self.model_dump_json(exclude_none=True)

    def as_values(self) -> dict[str, Any]:
        """The same as `as_json`, as plain values."""
        return self.model_dump(exclude_none=True)


def _unique(values: list[T]) -> list[T]:
    if any(value in values[:place] for place, value in enumerate(values)):
        raise PydanticCustomError("twice", "one of them twice")
    return values


def text_check(problem: Callable[[str], str]) -> AfterValidator:
    """A check of a text, by a function that returns its mistake or an empty string."""

    def check(text: str) -> str:
        if mistake := problem(text):
            raise PydanticCustomError("problem", "{problem}", {"problem": mistake})
        return text

    return AfterValidator(check)


def _expanded(text: str) -> str:
    repository = os.path.join(os.path.relpath(Path(__file__).parents[2]), "").removeprefix("./")
    path = os.path.expanduser(os.path.expandvars(text.replace("$WORKFLOW/", repository)))
    if "$" in path:
        problem = f"{text}: the environment variable is not set; set it, or write the path itself"
        raise PydanticCustomError("problem", "{problem}", {"problem": problem})
    return path


Unique = AfterValidator(_unique)
LARGEST = 2**31 - 1  # largest whole number that libraries in C accept
Count = Annotated[int, Field(ge=1, le=LARGEST)]
Number = Annotated[int, Field(ge=0, le=LARGEST)]
Seed = Number
Weight = Annotated[float, Field(ge=0)]
Rate = Annotated[float, Field(gt=0)]
Fraction = Annotated[float, Field(ge=0, le=1)]
Factor = Annotated[float, Field(gt=0, le=1)]
Text = Annotated[str, Field(min_length=1)]
PathText = Annotated[Text, AfterValidator(_expanded)]  # with environment variables and ~, which it expands


def mistakes(kind: type[Block], error: ValidationError) -> list[str]:
    """One line per mistake in the values of a block: the key, what was found, and pydantic's message."""
    lines = [line for one in error.errors(include_url=False) for line in _lines(kind, one)]
    return list(dict.fromkeys(lines))


def _lines(kind: type[Block], error: ErrorDetails) -> Iterator[str]:
    location = error["loc"]
    where = ".".join(str(part) for part in location if part != "[key]")
    cause = error.get("ctx", {}).get("error")
    if isinstance(cause, Contradictions):
        yield from (f"{where}{line}".lstrip(".: ") for line in cause.args)
    elif error["type"] == "extra_forbidden":
        fields = _block_at(kind, location[:-1]).model_fields
        key, names = str(location[-1]), [field.alias or name for name, field in fields.items()]
        yield f"{where}: unknown key {key!r}{did_you_mean(key, names)}"
    elif error["type"] in ("missing", "problem"):
        yield f"{where}: {error['msg']}"
    else:
        yield f"{where or 'top level'}: found {_shown(error['input'], location)}: {error['msg']}"


def _shown(value: object, location: tuple[str | int, ...]) -> str:
    text = _SHORT.repr(value)
    if location and location[-1] == "url":  # passwords and keys are not printed
        return re.sub(r"(?<=//)[^/@]*@|(?<=[?])[^']*", "***", text)
    return text


def _block_at(kind: Any, location: tuple[str | int, ...]) -> type[Block]:
    """The block at pydantic's location, which has also tags of unions."""
    if isinstance(kind, type) and issubclass(kind, Block):
        if not location or (field := kind.model_fields.get(str(location[0]))) is None:
            return kind
        return _block_at(field.annotation, location[1:])
    if get_origin(kind) in (dict, list):
        return _block_at(get_args(kind)[-1], location[1:])
    members = [each for each in get_args(kind) if each is not NoneType]
    if len(members) > 1 and location:  # the tag, which a key of one of the blocks has as its value
        for member in members:
            for field in getattr(member, "model_fields", {}).values():
                if location[0] in get_args(field.annotation):
                    return _block_at(member, location[1:])
    return _block_at(members[0], location)


def did_you_mean(key: str, names: Sequence[str]) -> str:
    """End of a message about an unknown name: a similar known name, or at most `MAX_LISTED` known names."""
    from difflib import get_close_matches

    close = get_close_matches(str(key), names, 1)
    more = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
    return f", did you mean {close[0]!r}?" if close else f"; known are {', '.join(names[:MAX_LISTED])}{more}"
