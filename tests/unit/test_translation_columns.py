"""The providers of a row's translations, as a table names them."""

from pipeline.tables.translations import provider_label, translation_columns, word_by_word


def test_a_single_provider_is_named_without_pairs() -> None:
    assert provider_label({}) == ""
    assert provider_label({"en-de": ["google"]}) == "google"
    assert provider_label({"en-de": ["google"], "de-en": ["google"]}) == "google"
    assert provider_label({"en-de": ["dictionary"], "de-en": ["dictionary"]}) == "dictionary (word by word)"


def test_pairs_are_named_if_their_providers_differ() -> None:
    few = {"zh-en": ["dictionary"], "en-zh": ["google"], "en-ja": ["dictionary"]}
    assert provider_label(few) == "en-zh: google; others: dictionary (word by word)"
    assert provider_label({"en-zh": ["google"], "en-de": ["marian"]}) == "en-de: marian; en-zh: google"
    three = {"en-cs": ["deepl"], "en-de": ["google"], "en-fr": ["google"], "en-ja": ["baidu"]}
    assert provider_label(three) == "en-cs: deepl; en-ja: baidu; others: google"
    even = {"en-cs": ["google"], "en-de": ["google"], "en-fr": ["marian"], "en-ja": ["marian"]}
    assert provider_label(even) == "en-cs, en-de: google; others: marian"


def test_all_who_made_the_translations_of_a_pair_are_named() -> None:
    assert provider_label({"en-zh": ["google", "baidu"]}) == "baidu and google"
    mixed = {"en-zh": ["google", "dictionary"], "en-ja": ["google"], "ja-en": ["google"]}
    assert provider_label(mixed) == "en-zh: dictionary (word by word) and google; others: google"


def test_one_pair_word_by_word_is_enough() -> None:
    assert not word_by_word({})
    assert not word_by_word({"en-de": ["google"]})
    assert word_by_word({"en-de": ["google"], "de-en": ["google", "dictionary"]})


def test_providers_are_those_of_the_row_but_word_by_word_marks_are_those_of_the_line() -> None:
    lines = [
        {"row": 1, "origins": {}},
        {"row": 2, "origins": {}},
        {"row": 2, "origins": {"de-en": {"google"}}},
        {"row": 2, "origins": {"fr-en": {"dictionary"}}},
        {"row": 3, "origins": {"de-en": {"google"}}},
    ]
    row = "de-en: google; fr-en: dictionary (word by word)"
    assert [tuple(line.values()) for line in translation_columns(lines)] == [
        ("", ""),
        ("", ""),
        (row, ""),
        (row, "yes"),
        ("google", ""),
    ]
