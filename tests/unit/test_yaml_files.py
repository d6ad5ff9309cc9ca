"""YAML and JSON files are read or refused with a message, whatever is in them."""

import os
from itertools import pairwise
from pathlib import Path

import pytest

from pipeline.common.errors import InputError
from pipeline.common.yaml_files import (
    MAX_VALUES,
    read_yaml,
    read_yaml_files,
    yaml_mistakes,
    yaml_text_mistake,
)

BOMB = "\n".join(
    ["a: &a [x, x, x, x, x, x, x, x, x]"]
    + [f"{key}: &{key} [{', '.join([f'*{before}'] * 9)}]" for before, key in pairwise("abcdefghij")]
)


def write_yaml(folder: Path, content: str | bytes) -> Path:
    path = folder / "c.yaml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize(
    ("content", "mistake"),
    [
        ("", "found nothing, expected `key: value` lines in YAML"),
        ("# a remark\n", "found nothing, expected `key: value` lines in YAML"),
        ("- a\n", "found list, expected `key: value` lines in YAML"),
        ("a\n", "found str, expected `key: value` lines in YAML"),
        ("a: [\n", "not YAML: line 2, column 1: did not find expected node content"),
        ("a:\n\tb: 1\n", "not YAML: line 2, column 1: found character that cannot start any token (a tab;"),
        ("a: 1\n---\nb: 2\n", "not YAML: line 2, column 1: but found another document"),
        (b"a: \xe9\n", "line 1: the byte 0xe9 is not UTF-8"),
        (b"a: 1\0\n", "not YAML: "),
        ("a: &a [*a]\n", "not YAML: an anchor contains itself"),
        ("a: &a {b: [*a]}\n", "not YAML: an anchor contains itself"),
        (BOMB, "not YAML: its aliases stand for more than 100,000 values"),
        ("a: " + "[" * 10**6, "not YAML: blocks within more than 100 blocks"),
        ("- " * 10**5, "not YAML: blocks within more than 100 blocks"),
        ("a: !!python/object/apply:os.system ['touch harmed']\n", "not YAML: line 1, column 4: could not"),
        ("{[1, 2]: 3}\n", "not YAML: line 1, column 2: found unhashable key"),
        ("a: !!bool x\n", "not YAML: line 1: found x, expected a bool; put a text in quotation marks"),
        ("a: !!int ''\n", "not YAML: "),
        ("a: !!timestamp x\n", "not YAML: line 1: found x, expected a timestamp; put a text"),
        ("a: 2024-13-45\n", "not YAML: line 1: found 2024-13-45, expected a timestamp (month must"),
        ("a: 1" + "0" * 5000, "not YAML: line 1: found 100000"),
        ("a: 1\nb: {c: 1, c: 2}\na: 2\n", "line 2: the key b.c is in line 2 too; keep one of them"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_file_is_one_line(tmp_path: Path, content: str | bytes, mistake: str) -> None:
    path = write_yaml(tmp_path, content)
    assert yaml_mistakes(path)[0].startswith(f"{path}: {mistake}")
    assert "\n" not in yaml_mistakes(path)[0]
    with pytest.raises(InputError, match="cannot be used:"):
        read_yaml(path)


def test_a_path_that_is_not_a_text_file_is_reported_without_reading_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    told = [yaml_mistakes(path)[0] for path in (tmp_path / "none.yaml", tmp_path, tmp_path / "pipe.yaml")]
    assert told[0] == f"{tmp_path}/none.yaml: not there, expected a YAML file"
    assert told[1] == f"{tmp_path}: a folder, expected a YAML file"
    assert told[2].startswith(f"{tmp_path}/pipe.yaml: a pipe, expected a file")
    assert yaml_mistakes(Path("/dev/zero"))[0].startswith("/dev/zero: a device, expected a file")


def test_sound_files_are_read(tmp_path: Path) -> None:
    assert read_yaml(write_yaml(tmp_path, "\ufeffa: &a [1, no]\nb: *a\n")) == {
        "a": [1, False],
        "b": [1, False],
    }
    assert read_yaml(write_yaml(tmp_path, '{"a": {"b": [1.5]}}')) == {"a": {"b": [1.5]}}
    assert read_yaml(write_yaml(tmp_path, "[" * 99 + "]" * 99), list) != []
    assert len(read_yaml(write_yaml(tmp_path, f"a: [{'1, ' * (MAX_VALUES - 9)}]"))["a"]) == MAX_VALUES - 9


@pytest.mark.parametrize(
    "number", ["010", "0o10", "08", "-007", "00", "0b10", "1_000", "1_0.5", "1:30", "1:30:59.5", "+190:20"]
)
def test_a_number_that_versions_of_yaml_read_differently_is_refused(tmp_path: Path, number: str) -> None:
    for text, line in ((f"a:\n  b: [1, {number}]", 2), (f"a: 1\n{number}: x", 2), (f"a: {{b: {number}}}", 1)):
        path = write_yaml(tmp_path, text)
        assert yaml_mistakes(path) == [
            f"{path}: line {line}: found {number}, of which versions of YAML read different values; write a "
            "number in decimal digits only, or put a text in quotation marks"
        ]


def test_numbers_that_all_versions_of_yaml_read_alike_are_read(tmp_path: Path) -> None:
    alike = ["0", "-1", "+5", "10", "0.5", ".5", "1.", "1e-4", "1.0e-4", "0x1F", "a_1", "1.2.3", "2024-10-01"]
    alike += ["127.0.0.1:8000", "http://a:80", "'010'", '"1:30"', "1:90", "_1", "10-20", "0a"]
    assert not yaml_mistakes(write_yaml(tmp_path, f"a: [{', '.join(map(str, alike))}]"))
    assert yaml_text_mistake("{a: 007}") == ""  # Snakemake's --config passes numbers on as texts


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        *(("yes", "true or false"), ("Off", "true or false"), ("false", "true or false")),
        *(("~", "nothing"), ("null", "nothing"), ("2024-10-01", "a date"), ("1.5", "a number")),
    ],
)
def test_a_key_that_yaml_reads_as_something_else_is_refused(tmp_path: Path, key: str, kind: str) -> None:
    path = write_yaml(tmp_path, f"a:\n- {{{key}: 1}}\n")
    message = f"line 2: found {key} as a key, which YAML reads as {kind}; put it in quotation marks"
    assert yaml_mistakes(path) == [f"{path}: {message}"]
    assert not yaml_mistakes(write_yaml(tmp_path, f"'{key}': {key}\nno: 1\n2024: 1\nb: [{key}]\n"))


def test_mistakes_of_several_files_are_reported_together(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text("- a\n")
    with pytest.raises(InputError) as caught:
        read_yaml_files([write_yaml(tmp_path, "a: 1\na: 2\na: 3\n"), tmp_path / "b.yaml"], "Wrong:")
    heading, *lines = str(caught.value).split("\n  - ")
    assert heading == "Wrong:"
    assert [line.partition(": ")[0] for line in lines] == [
        f"{tmp_path}/c.yaml",
        f"{tmp_path}/c.yaml",
        f"{tmp_path}/b.yaml",
    ]


def test_a_value_of_the_command_line_may_be_any_text() -> None:
    assert [yaml_text_mistake(text) for text in ("", "a: [", "[1, 2]", "{a: 1}", "x\ty")] == [""] * 5
    assert yaml_text_mistake("{a: 1, a: 2}") == "line 1: the key a is in line 1 too; keep one of them"
    assert yaml_text_mistake("[" * 200).startswith("blocks within")
