"""Tokenisers: small sentences of each language, and Multi30K's published tokens."""

import gzip
import html
import logging
import os
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.common.errors import InputError
from pipeline.datasets.sources.multi30k import FOLDER
from pipeline.datasets.table import caption_table, read_sentences, write_captions
from pipeline.datasets.tokenize import moses, tokenize_captions, tokenizer

MIRROR = os.environ.get("MULTILINGUAL_MIRROR")


@pytest.mark.parametrize(
    ("language", "caption", "tokens"),
    [
        (
            "en",
            "Two dogs' owner isn't in a T-shirt (size 3.5)!",
            "two dogs owner isn 't in a t-shirt size 3.5",
        ),
        ("de", "Ein Mann – „Löwe“ genannt – läuft.", "ein mann löwe genannt läuft"),
        ("fr", "L'homme à l’arrêt : « Oui ! »", "l' homme à l' arrêt oui"),
        ("cs", "Žena chytila \u200b\u200bmíč.", "žena chytila míč"),
        ("zh", "一个小男孩在海滩\u200b\u200b上，３个女孩。", "一个 小男孩 在 海滩 上 3 个 女孩"),
        ("ja", "ピンクのドレスの子供は、Ｔシャツです。", "ピンク の ドレス の 子供 は t シャツ です"),
        # A name that only the hidden Markov model joins, and compounds, which the small dictionary splits.
        ("zh", "他来到了网易杭研大厦", "他 来到 了 网易 杭研 大厦"),
        ("ja", "医薬品安全管理責任者と選挙管理委員会", "医薬 品 安全 管理 責任 者 と 選挙 管理 委員 会"),
        ("ru", "Собака бежит.", "собака бежит"),
        ("ar", "كلب يجري، في الحديقة.", "كلب يجري في الحديقة"),
        ("ko", "개가 달린다.", "개가 달린다"),
        # ICU splits where the script changes, and at hyphens; Moses does neither.
        ("ko", "한 남자가 TV를 본다, 2명.", "한 남자가 tv 를 본다 2 명"),
        ("ar", "الكلب-الكبير ٣", "الكلب الكبير ٣"),
        ("af", "'n Hond hardloop.", "n hond hardloop"),
        ("hi", "दो कुत्ते समुद्र तट पर दौड़ रहे हैं।", "दो कुत्ते समुद्र तट पर दौड़ रहे हैं"),
        ("el", "Δύο ΣΚΥΛΟΙ τρέχουν στην παραλία;", "δύο σκυλοι τρέχουν στην παραλία"),
        # Joiners are parts of Persian and Hindi words, and of no other.
        ("fa", "دو مرد می\u200cخواهند کتاب\u200cها را.", "دو مرد می\u200cخواهند کتاب\u200cها را"),
        ("hi", "क्\u200dष है", "क्\u200dष है"),
        ("de", "Auf\u200clage \u200eund\u200f\u2060 Co\u200dop", "auflage und coop"),
        ("en", "a\u3164dog \u2800runs", "a dog runs"),
    ],
)
def test_tokens(language: str, caption: str, tokens: str) -> None:
    # Letters and accents may be separate characters; after NFC, Hindi's and Bengali's dotted letters always
    # are.
    assert " ".join(tokenizer(language)(caption)) == unicodedata.normalize("NFC", tokens)


@pytest.mark.parametrize("caption", ["Žena chytila míč.", "Hai con chó đang chạy.", "Plaża"])
def test_separate_accents_split_no_word(caption: str) -> None:
    apart = unicodedata.normalize("NFD", caption)
    assert apart != caption
    assert tokenizer("cs")(apart) == tokenizer("cs")(caption)


def test_general_rules_cause_a_warning_and_unspaced_languages_are_refused(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for language in ("en", "pl", "af"):
        moses(language)
    assert "no rules" not in caplog.text
    moses("sw")
    assert "Moses has no rules for 'sw'" in caplog.text
    for language in ("th", "lo", "km", "my", "bo"):
        with pytest.raises(InputError, match=f"'{language}' is written without spaces and has no tokeniser"):
            tokenizer(language)


@pytest.mark.parametrize("language", ["ar", "en", "fr", "ja", "ko", "zh"])
@given(caption=st.text(max_size=40))
def test_tokens_are_words_that_a_table_can_join(language: str, caption: str) -> None:
    tokens = tokenizer(language)(caption)
    assert " ".join(tokens).split(" ") == (tokens or [""])
    assert all(any(map(str.isalnum, token)) for token in tokens)


def test_a_table_of_captions_without_words_is_refused(tmp_path: Path) -> None:
    captions = caption_table([("1", "train", "en", "…!", "human", "")])
    write_captions(captions, tmp_path / "captions.csv")
    with pytest.raises(InputError, match=r"None of the 1 captions in 'en' has a word"):
        tokenize_captions(tmp_path / "captions.csv", "en", tmp_path / "tokens.csv")
    assert not (tmp_path / "tokens.csv").exists()


def test_a_sentence_table_keeps_one_language_and_no_empty_row(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    captions = caption_table(
        [
            ("1", "train", "en", "A Dog.", "human", ""),
            ("1", "train", "en", "…!", "human", ""),
            ("1", "train", "de", "Ein Hund.", "human", ""),
            ("2", "test", "en", "Cats", "google", "de"),
        ]
    )
    write_captions(captions, tmp_path / "captions.csv")
    with caplog.at_level(logging.WARNING, "pipeline"):
        tokenize_captions(tmp_path / "captions.csv", "en", tmp_path / "tokens.csv")
    sentences = read_sentences(tmp_path / "tokens.csv")
    assert list(sentences["tokens"]) == ["a dog", "cats"]
    assert list(sentences["origin"]) == ["human", "google"]
    assert "1 of 3 captions in en have no word" in caplog.text


@pytest.mark.skipif(not MIRROR, reason="MULTILINGUAL_MIRROR is not set")
@pytest.mark.parametrize(
    ("language", "raw", "published"),
    [
        ("en", "task2/raw/val.1.en.gz", "task2/tok/val.lc.norm.tok.1.en"),
        ("de", "task2/raw/val.1.de.gz", "task2/tok/val.lc.norm.tok.1.de"),
        ("fr", "task1/raw/val.fr.gz", "task1/tok/val.lc.norm.tok.fr"),
        ("cs", "task1/raw/val.cs.gz", "task1/tok/val.lc.norm.tok.cs"),
    ],
)
def test_moses_gives_the_published_tokens(language: str, raw: str, published: str) -> None:
    """Before punctuation is dropped; the published files have HTML escapes, ours do not."""
    assert MIRROR is not None
    split = moses(language)
    lines = gzip.decompress(Path(MIRROR, FOLDER, raw).read_bytes()).decode().split("\n")
    expected = Path(MIRROR, FOLDER, published).read_text(encoding="utf-8").split("\n")
    assert len(lines) == len(expected) == 1015
    same = sum(split(a) == html.unescape(b).split() for a, b in zip(lines, expected, strict=True))
    assert same / len(lines) > 0.99
