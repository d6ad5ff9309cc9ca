"""The configuration files: read, merged and validated as a whole.

Order: config/experiments.yaml and config/tables/*.yaml, then config/scales/{scale}.yaml, which may change an
experiment, then what the user gives (config/config.yaml, --configfile, --config).
"""

import json
import math
import re
import reprlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

from pipeline.common.errors import InputError, raise_together
from pipeline.settings.contradictions import contradictions, meant
from pipeline.settings.experiments import Settings, makeable_tables, overlaid
from pipeline.settings.paths import with_paths_expanded
from pipeline.settings.renamed import renamed_key, renamed_value

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml's is several times as fast


def _is_whole(_: object, value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


# JSON Schema takes 2.0 for a whole number too, which would be a seed of other files and no count of epochs.
_Validator = extend(
    Draft202012Validator, type_checker=Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_whole)
)

# What JSON takes for a number or a truth value.
_PLAIN = re.compile(r"-?\d+(\.\d+)?([eE][-+]?\d+)?|true|false")

# How values are shown in messages: long ones in part.
_SHOWN = reprlib.Repr()
_SHOWN.maxlevel, _SHOWN.maxlist, _SHOWN.maxdict, _SHOWN.maxstring, _SHOWN.maxother = 2, 8, 8, 100, 100

# What JSON Schema's types are in YAML.
_TYPES = {
    "object": "a block of keys",
    "array": "a list",
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}

# What a data set need not say.
DATASET_DEFAULTS: Settings = {
    "caption_origins": {},
    "translated_languages": [],
    "borrowed_translations": {},
    "groups": [],
    "max_caption_length": 40,
}


# What makes a data set the paper's own, besides its languages. Where its photographs lie does not matter, and
# of MSCOCO, whose sample is lost, every sample of the size is as good.
_OF_THE_DATA = ("source", "captions", "split", "sample_size", "test_images", "val_images", "stands_for")


def given(user: Mapping[str, Any]) -> Settings:
    """What the user gives, with the types that YAML files have."""
    typed: Settings = _with_norwegian(_typed(user))
    return typed


def load(user: Mapping[str, Any], folder: Path) -> Settings:
    """The whole configuration; raises `InputError` that lists every mistake of a kind.

    Unknown keys and wrong values are reported first, then keys that contradict each other, then paths.

    Args:
        user: what the user gives; at least `scale`.
        folder: the folder config/.
    """
    schema = read(folder / "schema.yaml")
    scale = user.get("scale")
    if scale not in schema["properties"]["scale"]["enum"]:
        raise InputError(
            f"configuration: scale: found {_SHOWN.repr(scale)}, expected demo, flickr8k or paper"
        )
    settings: Settings = {
        "experiments": read(folder / "experiments.yaml"),
        "tables": _tables(folder / "tables"),
    }
    settings = overlaid(settings, read(folder / "scales" / f"{scale}.yaml"))
    settings = overlaid(settings, given(user))
    mistakes = [_described(error) for error in _Validator(schema).iter_errors(settings)]
    mistakes += _not_finite(settings)
    raise_together(mistakes, "The configuration has mistakes:")
    named = settings["datasets"].items()
    settings["datasets"] = {name: {"stands_for": name, **DATASET_DEFAULTS, **data} for name, data in named}
    settings["tables"] = {name: _with_added_rows(table) for name, table in settings["tables"].items()}
    settings.setdefault("report", makeable_tables(settings))
    settings["papers_data"] = _papers_data(settings, read(folder / "scales" / "paper.yaml")["datasets"])
    raise_together(contradictions(settings), "The configuration has mistakes:")
    return with_paths_expanded(settings)


def _papers_data(settings: Settings, of_paper: Settings) -> list[str]:
    """The data sets that are the paper's own: source, split and languages as in config/scales/paper.yaml."""
    if settings["scale"] != "paper" or settings["images"]["list"]:
        return []
    return [
        name
        for name, data in settings["datasets"].items()
        if all(data.get(key) == of_paper.get(name, {}).get(key) for key in _OF_THE_DATA)
        and set(data["languages"]) == set(of_paper[name]["languages"])
    ]


def _typed(value: Any) -> Any:
    """Numbers and truth values in lists and blocks, which Snakemake's --config hands over as text."""
    if isinstance(value, Mapping):
        return {key: _typed(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_typed(inner) for inner in value]
    if isinstance(value, str) and _PLAIN.fullmatch(value):
        return json.loads(value)
    return value


def _not_finite(value: Any, where: str = "") -> Iterator[str]:
    """Numbers that are none or without an end, which JSON Schema takes for any number."""
    if isinstance(value, float) and not math.isfinite(value):
        yield f"{where}: found {value}, expected a finite number"
    for key, inner in value.items() if isinstance(value, Mapping) else ():
        yield from _not_finite(inner, f"{where}.{key}" if where else str(key))
    for place, inner in enumerate(value if isinstance(value, list) else ()):
        yield from _not_finite(inner, f"{where}.{place}")


def _tables(folder: Path) -> Settings:
    """Every table by its name: `table2` of MULE, `lessons/table2` of another paper's folder."""
    paths = sorted(folder.rglob("*.yaml"))
    return {path.relative_to(folder).with_suffix("").as_posix(): read(path) for path in paths}


def _with_added_rows(table: Settings) -> Settings:
    """The table with the rows of `add_rows` after its own."""
    own = {key: value for key, value in table.items() if key != "add_rows"}
    return {**own, "rows": [*table["rows"], *table.get("add_rows", [])]}


def read(path: Path) -> Settings:
    """One YAML file of the configuration.

    Raises:
        InputError: a key stands twice in a block; every one is listed with both lines.
    """
    with open(path, encoding="utf-8") as file:
        loader = _LOADER(file)
        try:
            node = loader.get_single_node()
            mistakes = [f"{path}: {said}" for said in _keys_given_twice(node)]
            content: Settings = loader.construct_document(node) if node else {}
        finally:
            loader.dispose()
    raise_together(mistakes, "The configuration has mistakes:")
    return _with_norwegian(content)


def check_keys(paths: Iterable[str | Path]) -> None:
    """Check that no key of a user's files occurs twice in a block: YAML would silently keep the last.

    Snakemake reads these files before this project does, so they are read again.

    Raises:
        InputError: every such key is listed with both lines.
    """
    mistakes = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            mistakes += [f"{path}: {said}" for said in _keys_given_twice(yaml.compose(file, _LOADER))]
    raise_together(mistakes, "The configuration has mistakes:")


def _keys_given_twice(node: yaml.Node | None, where: str = "") -> Iterator[str]:
    if isinstance(node, yaml.SequenceNode):
        for place, item in enumerate(node.value):
            yield from _keys_given_twice(item, f"{where}{place}.")
    if not isinstance(node, yaml.MappingNode):
        return
    lines: dict[str, int] = {}
    for key, value in node.value:
        name, line = str(key.value), key.start_mark.line + 1
        if name in lines:
            yield f"line {line}: the key {where}{name} is in line {lines[name]} too; keep one of them"
        lines.setdefault(name, line)
        yield from _keys_given_twice(value, f"{where}{name}.")


def _with_norwegian(value: Any) -> Any:
    """The settings with the language code `no`, which YAML reads as false: in lists, and as a key."""
    if isinstance(value, Mapping):
        return {"no" if key is False else key: _with_norwegian(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return ["no" if item is False else _with_norwegian(item) for item in value]
    return value


def _described(error: ValidationError) -> str:
    where = ".".join(map(str, error.absolute_path)) or "top level"
    if error.validator == "additionalProperties":
        known = list(error.schema.get("properties", {}))
        unknown = [key for key in error.instance if key not in known]
        return "; ".join(f"{where}: {_unknown(error.absolute_path, key, known)}" for key in unknown)
    if error.validator == "required":
        missing = [key for key in error.validator_value if key not in error.instance]
        return "; ".join(f"{where}: {key!r} is missing" for key in missing)
    described = error.schema.get("description") if isinstance(error.schema, Mapping) else None
    now = renamed_value(list(error.absolute_path), error.instance)
    shown = _SHOWN.repr(error.instance)
    if error.absolute_path and error.absolute_path[-1] == "url":  # passwords and keys are not printed
        shown = re.sub(r"(?<=//)[^/@]*@|(?<=[?])[^']*", "***", shown)
    twice = "one of them twice, " if error.validator == "uniqueItems" else ""
    return f"{where}: found {shown}, " + (
        f"which is now {now!r}" if now else f"{twice}expected {described or _expected(error)}"
    )


def _expected(error: ValidationError) -> str:
    """What a part of the schema without a description asks for."""
    wanted = error.validator_value
    if error.validator == "enum":
        return " or ".join(map(str, wanted))
    if error.validator == "type":
        return " or ".join(_TYPES[name] for name in ([wanted] if isinstance(wanted, str) else wanted))
    if error.validator in ("minItems", "minProperties"):
        return f"{wanted} or more of them"
    return str(error.message)


def _unknown(block: Iterable[str | int], key: str, known: list[str]) -> str:
    now = renamed_key(list(block), key)
    return f"key {key!r} is now {now}" if now else f"unknown key {key!r}{meant(key, known)}"
