"""Word-by-word translation on dictionaries worked out by hand, published translations, the command line."""

import json
import logging
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest
from stand_in_service import stand_in

from pipeline.cli import run
from pipeline.common.errors import InputError
from pipeline.datasets.table import caption_table, read_sentences, write_captions, write_sentences
from pipeline.datasets.tokenize import with_tokens
from pipeline.stages import STAGES
from pipeline.translation.dictionary import DictionaryTranslator, read_dictionaries
from pipeline.translation.translate import published_translations, translate

DICTIONARIES = os.environ.get("MULTILINGUAL_DICTIONARIES")
FILES = '{"provider": "files", "origin": "google"}'


def _dictionary(folder: Path, name: str, *pairs: str) -> Path:
    path = folder / f"{name}.txt"
    path.write_text("\n".join(pairs) + "\n", encoding="utf-8")
    return path


def _german(folder: Path) -> Path:
    return _dictionary(
        folder, "en-de", "The die", "the der", "man mensch", "man mann", "runs\tläuft", "dog hund"
    )


def test_forwards_in_the_order_of_the_file(tmp_path: Path) -> None:
    assert read_dictionaries([_german(tmp_path)], "en", "de") == {
        "the": ["die", "der"],
        "man": ["mensch", "mann"],
        "runs": ["läuft"],
        "dog": ["hund"],
    }


def test_backwards_a_first_translation_comes_before_a_second(tmp_path: Path) -> None:
    path = _dictionary(
        tmp_path, "en-de", "human mann", "one eins", "one mann", "man mann", "guy kerl", "guy mann"
    )
    assert read_dictionaries([path], "de", "en") == {
        "mann": ["human", "man", "one", "guy"],
        "eins": ["one"],
        "kerl": ["guy"],
    }


def test_words_in_another_script_are_ignored(tmp_path: Path) -> None:
    path = _dictionary(tmp_path, "en-ja", "was was", "dog dog", "dog 犬")
    assert read_dictionaries([path], "en", "ja") == {"dog": ["犬"]}


def test_all_mistakes_of_dictionaries_are_listed(tmp_path: Path) -> None:
    french = _dictionary(tmp_path, "en-fr", "dog chien")
    german = _dictionary(tmp_path, "en-de", "dog hund", "dog", "dog ein hund")
    with pytest.raises(InputError) as caught:
        read_dictionaries([french, german], "en", "de")
    for part in ("en-fr.txt: expected the name en-de.txt or de-en.txt", "line 2: found 'dog'", "line 3"):
        assert part in str(caught.value)


def test_the_word_most_frequent_in_the_targets_captions_wins(tmp_path: Path) -> None:
    path = _german(tmp_path)
    assert DictionaryTranslator("en", "de", [path]).translate(["The man runs."]) == ["die mensch läuft"]
    counts = Counter(der=5, die=2, mann=1)
    assert DictionaryTranslator("en", "de", [path], counts).translate(["The man runs."]) == ["der mann läuft"]


def test_words_that_are_not_in_the_dictionary(tmp_path: Path) -> None:
    counts = Counter({"a": 9, "frisbee": 1})
    translator = DictionaryTranslator("en", "de", [_german(tmp_path)], counts)
    sentences = ["A dog has 2 Frisbees", "a Frisbee", "a zebra", "dog."]
    assert translator.translate(sentences) == ["hund 2", "frisbee", "", "hund"]


def test_chinese_words_are_read_as_their_longest_known_parts(tmp_path: Path) -> None:
    path = _dictionary(tmp_path, "en-zh", "girl 女孩", "woman 女", "small 小", "dog 狗")
    translator = DictionaryTranslator("zh", "en", [path])
    assert translator.translate(["小女孩和狗。"]) == ["small girl dog"]


def _sentences(*rows: tuple[str, ...]) -> pd.DataFrame:
    return with_tokens(caption_table(list(rows)), "en")


SOURCE = [
    ("1", "train", "en", "A man.", "human", ""),
    ("1", "train", "en", "A dog.", "google", "de"),
    ("2", "val", "en", "Zebras.", "human", ""),
    ("3", "test", "en", "The dog runs!", "human", ""),
]


def test_translations_make_a_sentence_table(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    translator = DictionaryTranslator("en", "de", [_german(tmp_path)])
    with caplog.at_level(logging.WARNING, "pipeline"):
        table = translate(_sentences(*SOURCE), translator, "dictionary")
    assert table.to_numpy().tolist() == [
        ["1", "train", "de", "mensch", "dictionary", "en", 0, "mensch"],
        ["3", "test", "de", "die hund läuft", "dictionary", "en", 0, "die hund läuft"],
    ]
    assert "left out" in caplog.text
    of_google = translate(_sentences(*SOURCE), translator, "dictionary", source_origin="google")
    assert list(of_google["caption"]) == ["hund"]


def test_a_translation_has_the_number_of_its_caption(tmp_path: Path) -> None:
    captions = [("1", "train", "en", text, "human", "") for text in ("Zebras.", "A dog.", "A man.")]
    translator = DictionaryTranslator("en", "de", [_german(tmp_path)])
    table = translate(_sentences(*captions), translator, "dictionary")
    assert list(zip(table["number"], table["caption"], strict=True)) == [(1, "hund"), (2, "mensch")]


def test_nothing_to_translate_is_an_error(tmp_path: Path) -> None:
    translator = DictionaryTranslator("en", "de", [_german(tmp_path)])
    with pytest.raises(InputError, match=r"en-de: no caption could be translated"):
        translate(_sentences(SOURCE[2]), translator, "dictionary")
    with pytest.raises(InputError, match=r"origin 'google'; found .*human"):
        translate(_sentences(SOURCE[0]), translator, "dictionary", source_origin="google")


def test_published_translations_are_chosen_by_pair_and_origin() -> None:
    captions = caption_table(
        [
            ("1", "train", "zh", "自己写的", "human", ""),
            ("1", "train", "zh", "一只狗。", "google", "en"),
            ("1", "train", "zh", "一条狗。", "baidu", "en"),
            ("1", "train", "ja", "犬。", "google", "en"),
        ]
    )
    assert list(published_translations(captions, "en", "zh", "google")["tokens"]) == ["一只 狗"]
    with pytest.raises(
        InputError, match=r"of origin 'human'; origins of this pair of languages: baidu, google"
    ):
        published_translations(captions, "en", "zh", "human")


def _run(*arguments: object) -> None:
    run(STAGES["translate"], list(map(str, arguments)))


def test_the_command_counts_only_training_captions(tmp_path: Path) -> None:
    write_sentences(_sentences(*SOURCE), tmp_path / "en.csv")
    target = caption_table(
        [("1", "train", "de", "Mann", "human", "")] + [("2", "test", "de", "Mensch", "human", "")] * 9
    )
    write_sentences(with_tokens(target, "de"), tmp_path / "de.csv")
    pair = ("--source", "en", "--target", "de", "--output", tmp_path / "en-de.csv")
    files = ("--dictionaries", _german(tmp_path), "--target-sentences", tmp_path / "de.csv")
    _run(*pair, "--settings", '{"provider": "dictionary"}', "--sentences", tmp_path / "en.csv", *files)
    assert list(read_sentences(tmp_path / "en-de.csv")["tokens"]) == ["mann", "die hund läuft"]


def test_published_translations_are_lent_to_the_images_of_another_split(tmp_path: Path) -> None:
    published = [("1", "train", "ja", "犬。", "google", "en"), ("2", "train", "ja", "猫。", "google", "en")]
    write_captions(caption_table(published), tmp_path / "captions.csv")
    (tmp_path / "split.csv").write_text("image,split\n2,test\n3,train\n")
    pair = ("--source", "en", "--target", "ja", "--output", tmp_path / "en-ja.csv")
    files = ("--captions", tmp_path / "captions.csv", "--images", tmp_path / "split.csv")
    _run(*pair, "--settings", FILES, *files)
    lent = read_sentences(tmp_path / "en-ja.csv")
    assert lent[["image", "split", "tokens"]].to_numpy().tolist() == [["2", "test", "猫"]]


def test_an_argument_that_a_provider_lacks_is_named(tmp_path: Path) -> None:
    pair = ("--source", "en", "--target", "de", "--output", tmp_path / "x.csv")
    with pytest.raises(InputError, match="--captions is missing"):
        _run(*pair, "--settings", '{"provider": "files", "origin": "google"}')
    with pytest.raises(InputError, match="--cache is missing"):
        _run(*pair, "--settings", '{"provider": "google"}', "--sentences", "en.csv")


@pytest.mark.skipif(DICTIONARIES is None, reason="MULTILINGUAL_DICTIONARIES is not set")
@pytest.mark.parametrize(
    ("language", "man"), [("de", "mann"), ("fr", "homme"), ("cs", "muž"), ("zh", "男人"), ("ja", "男性")]
)
def test_the_published_dictionaries_both_ways(language: str, man: str) -> None:
    assert DICTIONARIES is not None
    path = Path(DICTIONARIES, f"en-{language}.txt")
    assert man in read_dictionaries([path], "en", language)["man"]
    assert "man" in read_dictionaries([path], language, "en")[man]


class Parrot:
    """A translator that returns some captions unchanged, and some in another script."""

    source, target, version = "en", "de", ""

    def translate(self, sentences: Sequence[str]) -> list[str]:
        answers = {"A man.": "A man.", "NASA": "NASA", "A cat.": "猫", "Zebras.": ""}
        return [answers.get(sentence, f"{sentence} Ja.") for sentence in sentences]


def test_answers_that_are_not_translations_are_left_out_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    more = [("4", "A cat."), ("5", "NASA"), ("6", "A cat.")]
    rows = [*SOURCE, *((image, "train", "en", caption, "human", "") for image, caption in more)]
    with caplog.at_level(logging.WARNING, "pipeline"):
        found = translate(_sentences(*rows), Parrot(), "parrot")
    assert found[["image", "caption", "origin"]].to_numpy().tolist() == [
        ["3", "The dog runs! Ja.", "parrot"],
        ["5", "NASA", "parrot"],
    ]
    assert "'script': 2" in caplog.text
    assert "'same': 1" in caplog.text


def test_only_the_requested_splits_are_translated() -> None:
    found = translate(_sentences(*SOURCE), Parrot(), "parrot", splits=["test"])
    assert list(found["image"]) == ["3"]


def test_the_command_asks_a_service(tmp_path: Path) -> None:
    write_sentences(_sentences(*SOURCE), tmp_path / "en.csv")
    pair = ("--source", "en", "--target", "de", "--output", tmp_path / "en-de.csv")
    files = ("--sentences", tmp_path / "en.csv", "--cache", tmp_path / "cache.sqlite")
    with stand_in() as service:
        _run(
            *pair, *files, "--settings", json.dumps({"provider": "google", "url": service.url}),
            "--splits", "val", "test",
        )  # fmt: skip
        assert service.requests == [["Zebras.", "The dog runs!"]]
    table = read_sentences(tmp_path / "en-de.csv")
    assert table[["split", "caption", "origin", "source_language"]].to_numpy().tolist() == [
        ["val", "Zebras.en", "google", "en"],
        ["test", "Theen dogen runs!en", "google", "en"],
    ]
