"""YAML files that people write: one reader, which always ends soon, with the content or a message."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from pipeline.common.errors import InputError, raise_together
from pipeline.common.files import read_utf8

MAX_VALUES = 100_000  # values in a file after its aliases are expanded; a few lines can stand for billions
_MAX_DEPTH = 100  # depth of nested blocks; libyaml crashes at about ten thousand
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml's is several times as fast
# Octal, binary and sexagesimal numbers, and numbers with underscores: YAML 1.1 and 1.2 read another value.
_AMBIGUOUS = re.compile(
    r"[-+]?(0[0-9]+|0o[0-7]+|0b[01_]+|(?=[0-9.]*_)[0-9][0-9_]*(\.[0-9_]*)?"
    r"|[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?)"
)
_READ_AS = {
    "tag:yaml.org,2002:bool": "true or false",
    "tag:yaml.org,2002:null": "nothing",
    "tag:yaml.org,2002:timestamp": "a date",
    "tag:yaml.org,2002:float": "a number",
}
_EXPECTED: dict[type, str] = {dict: "`key: value` lines in YAML", list: "a list in YAML"}


def read_yaml(path: Path, kind: type = dict) -> Any:
    """The content of a YAML file.

    Args:
        kind: what the file holds, `dict` or `list`.

    Raises:
        InputError: lists everything that `yaml_mistakes` finds.
    """
    return read_yaml_files([path], f"{path}: cannot be used:", kind)[path]


def read_yaml_files(paths: Iterable[Path], heading: str, kind: type = dict) -> dict[Path, Any]:
    """The content of some YAML files; raises `InputError` that lists the mistakes of all."""
    read = {path: _content_and_mistakes(path, kind) for path in paths}
    raise_together([mistake for _, mistakes in read.values() for mistake in mistakes], heading)
    return {path: content for path, (content, _) in read.items()}


def yaml_mistakes(path: Path) -> list[str]:
    """The mistakes of a YAML file, one per line, each beginning with the file's path.

    The file is missing, not regular, not UTF-8, not YAML, empty, of another kind, or too large or deep. Or a
    key is repeated in a block, where YAML would silently keep the last value. Or versions of YAML read
    different values, such as 8 and 10 of `010`.
    """
    return _content_and_mistakes(path, dict)[1]


def yaml_text_mistake(text: str) -> str:
    """The mistake in a text of YAML; empty if it is valid, or a plain text that is not YAML."""
    try:
        return next(_mistakes_of(_checked_node(text)), "")
    except yaml.YAMLError:
        return ""
    except ValueError as error:
        return str(error)


def _content_and_mistakes(path: Path, kind: type) -> tuple[Any, list[str]]:
    text, node = "", None
    try:
        if path.is_dir() or not path.exists():
            kind_of_content = "a folder" if path.is_dir() else "not there"
            return None, [f"{path}: {kind_of_content}, expected a YAML file"]
        text = read_utf8(path)
        node = _checked_node(text)
        content = yaml.load(text, _LOADER)
    except InputError as error:
        return None, [str(error).rstrip(".")]
    except OSError as error:
        return None, [f"{path}: cannot be read: {error.strerror}"]
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, TypeError) as error:
        # PyYAML raises the last three for tags that do not fit their values, such as `!!bool x`.
        return None, [f"{path}: {_misfit(node) or _yaml_mistake(error, text)}"]
    if not isinstance(content, kind):
        kind_of_content = "nothing" if content is None else type(content).__name__
        return None, [f"{path}: found {kind_of_content}, expected {_EXPECTED[kind]}"]
    mistakes = [*_mistakes_of(node), *_odd_scalars(node)]
    return content, [f"{path}: {mistake}" for mistake in mistakes]


def _checked_node(text: str) -> yaml.Node | None:
    """The nodes of a document.

    Raises:
        ValueError: it is too deep or too large, or an anchor contains itself. YAMLError: it is not YAML.
    """
    depth = 0
    for event in yaml.parse(text, _LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_DEPTH:
            raise ValueError(f"blocks within more than {_MAX_DEPTH} blocks; write fewer")
    node = yaml.compose(text, _LOADER)
    if _expanded_size(node, {}) > MAX_VALUES:
        raise ValueError(f"its aliases stand for more than {MAX_VALUES:,} values; write them out")
    return node


def _expanded_size(node: yaml.Node | None, sizes: dict[int, int]) -> int:
    """Number of values in a document after its aliases are expanded."""
    if id(node) not in sizes:
        sizes[id(node)] = -1  # being counted
        inner = node.value if isinstance(node, yaml.SequenceNode | yaml.MappingNode) else []
        parts = [part for item in inner for part in (item if isinstance(item, tuple) else (item,))]
        sizes[id(node)] = 1 + sum(_expanded_size(part, sizes) for part in parts)
    if sizes[id(node)] < 0:
        raise ValueError("an anchor contains itself; write its values out")
    return sizes[id(node)]


def _mistakes_of(node: yaml.Node | None, where: str = "") -> Iterator[str]:
    """Keys that occur twice in a block."""
    if isinstance(node, yaml.SequenceNode):
        for place, item in enumerate(node.value):
            yield from _mistakes_of(item, f"{where}{place}.")
    if not isinstance(node, yaml.MappingNode):
        return
    lines: dict[str, int] = {}
    for key, value in node.value:
        name, line = str(key.value), key.start_mark.line + 1
        if name in lines:
            yield f"line {line}: the key {where}{name} is in line {lines[name]} too; keep one of them"
        lines.setdefault(name, line)
        yield from _mistakes_of(value, f"{where}{name}.")


def _odd_scalars(node: yaml.Node | None) -> Iterator[str]:
    """Numbers of which versions of YAML read different values, and keys that are read as something else."""
    for scalar, is_key in _scalars(node):
        found = f"line {scalar.start_mark.line + 1}: found {scalar.value:.40}"
        kind = _READ_AS.get(scalar.tag) if is_key else None
        if not scalar.style and _AMBIGUOUS.fullmatch(scalar.value):
            yield (
                f"{found}, of which versions of YAML read different values; write a number in decimal digits "
                "only, or put a text in quotation marks"
            )
        elif kind and scalar.value.lower() != "no":  # the language; see `reading`
            yield f"{found} as a key, which YAML reads as {kind}; put it in quotation marks"


def _scalars(node: yaml.Node | None, is_key: bool = False) -> Iterator[tuple[yaml.ScalarNode, bool]]:
    """The scalars of a document, and whether each is a key."""
    if isinstance(node, yaml.ScalarNode):
        yield node, is_key
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _scalars(item)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield from _scalars(key, is_key=True)
            yield from _scalars(value)


def _misfit(node: yaml.Node | None) -> str:
    """The first scalar that is not of its tag's kind, such as `!!bool x`; empty if there is none."""
    for scalar, _ in _scalars(node):
        try:
            yaml.SafeLoader("").construct_document(scalar)
        except yaml.YAMLError:
            continue
        except (ValueError, LookupError, AttributeError, TypeError) as error:
            reason = f" ({error})" if isinstance(error, ValueError) else ""
            return (
                f"not YAML: line {scalar.start_mark.line + 1}: found {scalar.value:.40}, expected a "
                f"{scalar.tag.rpartition(':')[2]}{reason}; put a text in quotation marks, without a tag"
            )
    return ""


def _yaml_mistake(error: Exception, text: str) -> str:
    """YAML's description of a mistake, with its place."""
    problem = getattr(error, "problem", None) or str(error).partition("\n")[0] or type(error).__name__
    mark = getattr(error, "problem_mark", None)
    if not mark:
        return f"not YAML: {problem}"
    before = text.split("\n")[mark.line : mark.line + 1]
    tab = " (a tab; indent with spaces)" if "\t" in "".join(before)[: mark.column + 1] else ""
    return f"not YAML: line {mark.line + 1}, column {mark.column + 1}: {problem}{tab}"
