"""The sentences that `embed` reads from a file."""

from pathlib import Path

import pytest

from pipeline.common.errors import InputError
from search.embed import _read_sentences


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_sentence_ends_at_any_line_end_and_at_no_other_separator(tmp_path: Path, end: str) -> None:
    sentences = ["a\u2028dog", "ein\x85Hund", "un\x0bchien\u2029noir", "\u72ac\x1c"]
    path = tmp_path / "sentences.txt"
    for last in ("", end, end * 3):
        path.write_bytes(("\ufeff" + f"{end}{end}".join(sentences) + last).encode())
        assert _read_sentences(path) == [*sentences[:3], "\u72ac"]


def test_a_file_without_sentences_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "sentences.txt"
    with pytest.raises(InputError, match=r"sentences\.txt: the file of sentences is not there\. Give a text"):
        _read_sentences(path)
    path.write_text(" \n\r\n\u2028\r")
    with pytest.raises(InputError, match=r"sentences\.txt: no sentences\. Expected one per line"):
        _read_sentences(path)
    path.write_text("image,split,language,caption\na,train,en,a dog\n")
    with pytest.raises(InputError, match=r"sentences\.txt: found a table, expected one sentence per line"):
        _read_sentences(path)
