"""The base of all settings: a block of keys, each with a type, a default, a meaning and its checks.

A field's `description` says what the key means, with its unit. Messages take the expected value from its
type (`Count`: a whole number, 1 or more), or for a choice or a list from its description.
"""

import datetime
import json
import os
import re
import reprlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar, Union, get_args, get_origin

# Looking for plugins of pydantic among all installed packages takes longer than building the classes.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic.functional_validators import AfterValidator
from pydantic_core import ErrorDetails, PydanticCustomError

from pipeline.common.errors import InputError, raise_together

MAX_LISTED = 30  # known names that a message lists

# Shortens long values in messages.
_SHORT = reprlib.Repr()
_SHORT.maxlevel, _SHORT.maxlist, _SHORT.maxdict, _SHORT.maxstring, _SHORT.maxother = 2, 8, 8, 100, 100

_OBJECT = 'expected an object, such as {"key": 1}'

# What a type expects if its field does not say so.
_BY_TYPE = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}

# Error types of a text where a number or Boolean belongs, and the pattern of texts that JSON reads as one.
_NO_TEXTS = ("int_type", "float_type", "bool_type", "literal_error")
_PLAIN = re.compile(r"-?(?:0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?|true|false", re.ASCII)

T = TypeVar("T")

LATER = object()  # validation context: contradictions are not raised, but collected with others later


@dataclass(frozen=True)
class Expected:
    """The expected value in messages, given next to its type in an `Annotated`."""

    text: str


class Contradictions(ValueError):
    """Keys of a block that are each valid but do not fit together, as `Block.contradictions` gives them."""

    def __init__(self, lines: Sequence[str]):
        super().__init__(*lines)
        self.lines = lines


class Block(BaseModel):
    """Settings that belong together. Unknown keys and wrong types are refused; values never change."""

    # Whether its keys have a meaning even if the block that they override is absent.
    is_whole: ClassVar[bool] = True

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        defer_build=True,
        protected_namespaces=(),
    )

    def contradictions(self) -> Iterator[str]:
        """Keys that contradict each other: `.key: mistake`, or `: mistake` for the whole block."""
        return iter(())

    @model_validator(mode="after")
    def _consistent(self, info: ValidationInfo) -> Self:
        if info.context is not LATER and (lines := list(self.contradictions())):
            raise Contradictions(lines)
        return self

    @classmethod
    def parse(cls, text: str) -> Self:
        """The block of a command line's JSON object; raises `InputError` that lists every mistake."""
        try:
            values = json.loads(text)
        except ValueError as error:
            raise InputError(f"not JSON: {error}; {_OBJECT}") from None
        if not isinstance(values, dict):
            raise InputError(f"found {text[:60]}; {_OBJECT}")
        return cls.from_values(values, "cannot be used:")

    @classmethod
    def from_values(
        cls, values: Mapping[str, object] | None, heading: str, context: object = None, as_text: bool = False
    ) -> Self:
        """The block of values as YAML or JSON have them; raises `InputError` that lists every mistake.

        Args:
            context: `LATER` leaves out contradictions, which `all_contradictions` finds.
            as_text: numbers and truth values may be written as texts.
        """
        try:
            return cls.model_validate(values, context=context)
        except ValidationError as error:
            if as_text and (plain := _with_numbers(cls, values, error)) != values:
                return cls.from_values(plain, heading, context)
            raise_together(mistakes(cls, values, error), heading)
            raise

    def as_json(self) -> str:
        """The JSON of the block without keys that are None, so that a new optional key changes no JSON."""
        return self.model_dump_json(exclude_none=True)

    def as_values(self) -> dict[str, Any]:
        """The same as `as_json`, as plain values."""
        return self.model_dump(exclude_none=True)


class Sparse(Block):
    """A block whose keys may be left out; only the keys in `nulls` may be null."""

    nulls: ClassVar[frozenset[str]] = frozenset()

    @field_validator("*", mode="before")
    @classmethod
    def _not_null(cls, value: object, info: ValidationInfo) -> object:
        return value if info.field_name in cls.nulls else refuse_null(value)


def refuse_null(value: T) -> T:
    """Raise an error if the value is null; its key may be left out, but not be null."""
    if value is None:
        raise PydanticCustomError("null", "null is not allowed for this key")
    return value


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


Unique = AfterValidator(_unique)
LARGEST = 2**31 - 1  # largest whole number that libraries in C accept
Count = Annotated[int, Field(ge=1, le=LARGEST), Expected("a whole number, 1 or more")]
Number = Annotated[int, Field(ge=0, le=LARGEST), Expected("a whole number, 0 or more")]
Seed = Annotated[int, Field(ge=0, le=LARGEST), Expected(f"a whole number from 0 to {LARGEST}")]
Weight = Annotated[float, Field(ge=0), Expected("a number, 0 or more")]
Rate = Annotated[float, Field(gt=0), Expected("a number above 0")]
Fraction = Annotated[float, Field(ge=0, le=1), Expected("a number from 0 to 1")]
Factor = Annotated[float, Field(gt=0, le=1), Expected("a number above 0, at most 1")]
Text = Annotated[str, Field(min_length=1)]
PathText = Annotated[str, Field(min_length=1), Expected("a path; $NAME stands for an environment variable")]


def all_contradictions(where: str, value: object) -> Iterator[str]:
    """The contradictions of a block and of all blocks within it, as lines that begin with their place."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from all_contradictions(f"{where}.{key}", inner)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from all_contradictions(f"{where}.{place}", inner)
    elif isinstance(value, Block) and value.is_whole:
        yield from (f"{where}{line}".lstrip(".: ") for line in value.contradictions())
        for key in type(value).model_fields:
            yield from all_contradictions(f"{where}.{key}", getattr(value, key))


def mistakes(kind: type[Block], values: object, error: ValidationError) -> list[str]:
    """One line per mistake in the values of a block: the key, and what is expected or what to do."""
    # A value of a union type has one error per type: the most specific one is the most useful.
    lines: dict[str, list[str]] = {}
    for one in sorted(error.errors(include_url=False), key=lambda one: one["type"] != "problem"):
        for line in _lines(kind, values, one):
            of_place = lines.setdefault(line.partition(": ")[0], [])
            if line not in of_place and not (of_place and _place(kind, one["loc"]).undecided):
                of_place.append(line)
    return [line for of_place in lines.values() for line in of_place]


def did_you_mean(key: str, names: Sequence[str]) -> str:
    """End of a message about an unknown name: a similar known name, or at most `MAX_LISTED` known names."""
    from difflib import get_close_matches

    close = get_close_matches(str(key), names, 1)
    more = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
    return f", did you mean {close[0]!r}?" if close else f"; known are {', '.join(names[:MAX_LISTED])}{more}"


@dataclass
class _Place:
    """A place in a block: its path, its type, and what is expected of its value.

    undecided: whether several types are allowed and the value fits none of them.
    """

    path: tuple[str | int, ...]
    type: Any
    expected: str = ""
    description: str = ""
    undecided: bool = False

    @property
    def where(self) -> str:
        parts = [str(part) for part in self.path]
        return ".".join(part if part.isprintable() else repr(part) for part in parts) or "top level"


def _lines(kind: type[Block], values: object, error: ErrorDetails) -> Iterator[str]:
    problem, value, location = error["type"], error["input"], error["loc"]
    if problem in ("extra_forbidden", "missing", "invalid_key"):
        yield _of_keys(kind, problem, location)
        return
    place = _place(kind, location)
    if problem == "value_error" and isinstance(contradictions := error["ctx"]["error"], Contradictions):
        where = ".".join(map(str, place.path))
        yield from (f"{where}{line}".lstrip(".: ") for line in contradictions.lines)
    elif problem == "union_tag_invalid":
        key, tags = (error["ctx"][name].replace("'", "") for name in ("discriminator", "expected_tags"))
        yield f"{place.where}.{key}: found {_SHORT.repr(value[key])}, expected {tags}"
    elif problem == "union_tag_not_found":
        yield f"{place.where}: {error['ctx']['discriminator']} is missing, expected {place.expected}"
    elif problem == "problem":
        yield f"{place.where}: {error['ctx']['problem']}"
    else:
        value = _value_at(values, place.path) if place.undecided else value
        twice = "one of them twice, " if problem == "twice" else ""
        expected = "a finite number" if problem == "finite_number" else _what_is_expected(place, error)
        quote = "; put it in quotation marks" if problem == "string_type" and _is_plain(value) else ""
        yield f"{place.where}: found {_display(value, place.path)}, {twice}expected {expected}{quote}"


def _of_keys(kind: type[Block], problem: str, location: tuple[str | int, ...]) -> str:
    """The message about a key that is missing or unknown."""
    block, key = _place(kind, location[:-1]), location[-1]
    if problem == "missing":
        return f"{block.where}: {key!r} is missing, expected {_what_is_expected(_place(kind, location))}"
    return f"{block.where}: unknown key {key!r}{did_you_mean(str(key), list(block.type.model_fields))}"


def _is_plain(value: object) -> bool:
    """Whether YAML reads an unquoted text as such a value: a number, true, a date."""
    return isinstance(value, int | float | datetime.date)


def _what_is_expected(place: _Place, error: ErrorDetails | None = None) -> str:
    """The expected value at a place, in words."""
    kind = place.type
    if place.expected or kind is bool:
        of_type, bound = place.expected or _BY_TYPE[bool], error and error.get("ctx", {}).get("le")
        return of_type if bound is None or str(bound) in of_type else f"{of_type}, at most {bound}"
    if isinstance(kind, type) and issubclass(kind, Block):
        return "a block of keys"
    if place.description:
        return place.description
    if error and error["type"] == "too_short":
        return f"{error['ctx']['min_length']} or more of them"
    origin = get_origin(kind)
    if origin is Literal:
        return " or ".join(map(str, get_args(kind)))
    if origin in (list, dict):
        return "a list" if origin is list else "a block of keys"
    return _BY_TYPE.get(kind, "another value")


def _display(value: object, path: tuple[str | int, ...]) -> str:
    text = value.isoformat() if isinstance(value, datetime.date) else _SHORT.repr(value)
    if path and path[-1] == "url":  # passwords and keys are not printed
        return re.sub(r"(?<=//)[^/@]*@|(?<=[?])[^']*", "***", text)
    return text


def _with_numbers(kind: type[Block], values: Any, error: ValidationError) -> Any:
    """The values, with texts converted where a number or Boolean is expected."""
    for one in error.errors(include_url=False):
        if one["type"] in _NO_TEXTS and isinstance(one["input"], str):
            values = _with_value_at(values, _place(kind, one["loc"]).path, _number(one["input"]))
    return values


def _number(text: str) -> Any:
    """The number or Boolean that a text stands for; otherwise the text."""
    try:
        return json.loads(text) if _PLAIN.fullmatch(text) else text
    except ValueError:  # a number with more digits than Python converts
        return text


def _with_value_at(values: Any, path: tuple[str | int, ...], value: object) -> Any:
    """A copy of nested values with another value at a path."""
    if not path:
        return value
    copy: Any = list(values) if isinstance(values, list) else dict(values)
    copy[path[0]] = _with_value_at(copy[path[0]], path[1:], value)
    return copy


def _value_at(values: Any, path: tuple[str | int, ...]) -> Any:
    for part in path:
        values = values[part]
    return values


def _place(kind: type[Block], location: tuple[str | int, ...]) -> _Place:
    """The place of an error by pydantic's location, which has also tags of unions, and marks of keys."""
    place = _Place((), kind)
    for number, part in enumerate(location):
        if location[number + 1 :] == ("[key]",):  # the key itself is wrong, so the key is shown as the value
            return _place_of_type(place.path, get_args(place.type)[0])
        place = _step(place, part)
        if place.undecided or place.type is None:
            return place
    return place


def _step(place: _Place, part: str | int) -> _Place:
    kind, path = place.type, (*place.path, part)
    if isinstance(kind, type) and issubclass(kind, Block):
        field = kind.model_fields.get(str(part))
        if field is None:
            return _Place(path, None)
        return _place_of_type(path, field.annotation, field.metadata, field.description or "")
    if get_origin(kind) in (dict, list):
        return _place_of_type(path, get_args(kind)[-1])
    # In a union of blocks, this part of the location is a block's tag.
    for member in get_args(kind):
        if any(part in get_args(field.annotation) for field in member.model_fields.values()):
            return _Place(place.path, member)
    return place


def _place_of_type(
    path: tuple[str | int, ...], annotation: Any, metadata: Sequence[object] = (), description: str = ""
) -> _Place:
    """The place of a type without its wrappers: `Annotated`, and the None of an optional type."""
    notes = list(metadata)
    while True:
        if get_origin(annotation) is Annotated:
            annotation, *more = get_args(annotation)
            notes += more
        elif get_origin(annotation) in (Union, UnionType):
            members = [member for member in get_args(annotation) if member is not NoneType]
            if len(members) > 1:
                undecided = not all(isinstance(one, type) and issubclass(one, Block) for one in members)
                return _Place(path, Union[tuple(members)], _expectation(notes), description, undecided)  # noqa: UP007
            (annotation,) = members
        else:
            return _Place(path, annotation, _expectation(notes), description)


def _expectation(notes: Sequence[object]) -> str:
    return next((note.text for note in notes if isinstance(note, Expected)), "")
