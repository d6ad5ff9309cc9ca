"""YAML files that people write: a key that stands twice is a mistake, and `no` is Norwegian."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from pipeline.common.errors import InputError, raise_together
from pipeline.common.files import read_utf8, require_file

_EXPECTED: dict[type, str] = {dict: "`key: value` lines in YAML", list: "a list in YAML"}


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc] # libyaml's is faster
    """PyYAML's safe loader keeps the last of two values of a key in silence; this one refuses them."""

    def __init__(self, text: str):
        super().__init__(text)
        self._flat: set[yaml.Node] = set()  # blocks whose merges (`<<`) have been replaced by their keys

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        keys: list[object] = []
        for key, _ in [] if node in self._flat else node.value:
            if key.value in keys and key.value != "<<":
                problem = f"the key {key.value} stands twice; keep one of them"
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            keys.append(key.value)
        self._flat.add(node)
        super().flatten_mapping(node)


def read_yaml(path: Path, kind: type = dict) -> Any:
    """The content of a YAML file.

    Args:
        kind: what the file holds, `dict` or `list`.

    Raises:
        InputError: it is missing, not UTF-8, not YAML, or of another kind, or a key stands twice in a block.
    """
    text = read_utf8(require_file(path, "the YAML file", "Give another path."))
    try:
        content = yaml.load(text, _Loader)
    except Exception as error:  # PyYAML raises several others for tags that do not fit their values
        raise InputError(f"{path}: not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(content, kind):
        found = "nothing" if content is None else type(content).__name__
        raise InputError(f"{path}: found {found}, expected {_EXPECTED[kind]}")
    return content


def read_yaml_files(paths: Iterable[Path], heading: str) -> dict[Path, Any]:
    """The content of some YAML files; raises `InputError` that lists the mistakes of all."""
    contents, mistakes = {}, []
    for path in paths:
        try:
            contents[path] = read_yaml(path)
        except (InputError, OSError) as error:
            mistakes.append(str(error))
    raise_together(mistakes, heading)
    return contents
