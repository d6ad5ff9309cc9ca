"""Escaped captions are restored; other damage is counted and reported."""

import json
import logging
from pathlib import Path

import pytest

from pipeline.common.characters import is_visible
from pipeline.datasets.captions import Caption
from pipeline.datasets.damaged_text import damage, mended_captions, mended_text
from pipeline.datasets.read_source import read_source_captions
from pipeline.datasets.source_settings import CaptionSettings
from pipeline.datasets.table import caption_table, read_captions


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("l&#39;homme", "l'homme"),
        ("l&#x27;homme", "l'homme"),
        ("a man&apos;s dog", "a man's dog"),
        ("des gar&ccedil;ons", "des garçons"),
        ("salt &amp; pepper", "salt & pepper"),
        ("a man&amp;#39;s dog", "a man's dog"),
        ("a&nbsp;dog&#10;runs", "a dog runs"),
        ("fish &chips; R&D", "fish &chips; R&D"),
        ("&unknown; &#0; &#xD800;", "&unknown; &#0; &#xD800;"),
    ],
)
def test_references_are_read_as_their_characters(written: str, read: str) -> None:
    assert mended_text(written) == read


@pytest.mark.parametrize(
    ("text", "language", "kind"),
    [
        ("M\ufffdnner laufen", "de", "the character U+FFFD"),
        ("a \x1b dog", "en", "the character U+001B"),
        ("MÃ¤nner laufen", "de", "letters that were read in another character set"),
        ("a manâ€™s dog", "en", "letters that were read in another character set"),
        ("Ð¡Ð¾Ð±Ð°ÐºÐ°", "ru", "letters that were read in another character set"),
        ("a <b>red</b> dog", "en", "an HTML tag"),
        ("M\\u00e4nner", "de", "a backslash escape"),
        ("%C3%A9t%C3%A9", "fr", "a percent escape of URLs"),
        ("a dog & cat < 3, 100% fun", "en", ""),
        ("Ã is a letter", "pt", ""),
        ("二人の男", "ja", ""),
    ],
)
def test_kinds_of_damage(text: str, language: str, kind: str) -> None:
    assert damage(text, language) == kind


def test_damage_is_counted_with_an_example(caplog: pytest.LogCaptureFixture) -> None:
    texts = ["a &quot;dog&quot;", "a cat", "a \ufffd", "b \ufffd"]
    captions = [Caption("a", "train", "en", text) for text in texts]
    with caplog.at_level(logging.WARNING, "pipeline"):
        read = mended_captions(caption_table(captions))
    assert list(read["caption"]) == ['a "dog"', *texts[1:]]
    assert "1 of 4 captions have HTML references, which are read as their characters" in caplog.text
    assert "2 of 4 captions have the character U+FFFD, such as 'a \ufffd'" in caplog.text


def test_custom_captions_are_restored_when_they_are_read(tmp_path: Path) -> None:
    own, split, output = (tmp_path / name for name in ("own.csv", "split.csv", "read.csv"))
    own.write_text("image,language,caption\na,en,a man&#39;s dog\n")
    split.write_text("image,split\na,train\n")
    settings = CaptionSettings.parse(json.dumps({"source": "custom", "captions": str(own)}))
    read_source_captions(settings, "en", split, output)
    assert read_captions(output)["caption"].tolist() == ["a man's dog"]


@pytest.mark.parametrize("text", ["\u200b", "\ufeff \u2060", "\u3164", "\u2800", "\ufe0f", "\u0301", "\x07"])
def test_captions_without_a_visible_character(text: str) -> None:
    assert not is_visible(text)
    assert is_visible(f"{text}a") and is_visible(f"犬{text}") and is_visible("♥")
