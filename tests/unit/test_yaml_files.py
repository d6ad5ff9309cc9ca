"""YAML files are read, or refused with one line."""

from pathlib import Path

import pytest

from pipeline.common.errors import InputError
from pipeline.common.yaml_files import read_yaml, read_yaml_files


def write_yaml(folder: Path, content: str | bytes, name: str = "c.yaml") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize(
    ("content", "mistake"),
    [
        ("# a remark\n", "found nothing, expected `key: value`"),
        ("- a\n", "found list, expected `key: value`"),
        ("a: [\n", "not YAML: .* line 2"),
        ("a:\n\tb: 1\n", "not YAML: .* line 2"),
        (b"a: \xe9\n", "UTF-8"),
        ("a: !!python/object/apply:os.system ['touch harmed']\n", "not YAML: could not"),
        ("a: !!timestamp x\n", "not YAML"),
        ("a: 1\nb: {c: 1, c: 2}\n", "the key c stands twice.* line 2"),
        ("a: 1\nb: 2\na: 3\n", "the key a stands twice.* line 3"),
    ],
)
def test_a_mistake_in_a_file_is_one_line(tmp_path: Path, content: str | bytes, mistake: str) -> None:
    with pytest.raises(InputError, match=rf"c\.yaml: .*{mistake}") as error:
        read_yaml(write_yaml(tmp_path, content))
    assert "\n" not in str(error.value)


def test_sound_files_are_read(tmp_path: Path) -> None:
    read = read_yaml(write_yaml(tmp_path, "\ufeffa: &a {b: 1}\nc: {<<: *a, b: 2}\nd: {<<: *a}\n"))
    assert read == {"a": {"b": 1}, "c": {"b": 2}, "d": {"b": 1}}
    assert read_yaml(write_yaml(tmp_path, "[1, 2]"), list) == [1, 2]


def test_the_mistakes_of_several_files_are_listed_together(tmp_path: Path) -> None:
    paths = [write_yaml(tmp_path, "a: [", "a.yaml"), write_yaml(tmp_path, "b: 1", "b.yaml")]
    with pytest.raises(InputError, match=r"(?s)Wrong:.*a\.yaml: not YAML.*none\.yaml"):
        read_yaml_files([*paths, tmp_path / "none.yaml"], "Wrong:")
