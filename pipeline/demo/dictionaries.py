"""Bilingual dictionaries in MUSE's format, from the words that two language files have for one concept."""

from collections.abc import Iterator
from pathlib import Path

from pipeline.common.files import atomic_write
from pipeline.demo.concepts import concepts
from pipeline.demo.grammar import Features, Language
from pipeline.demo.grammar import language as grammar

Pairs = list[tuple[str, str]]


def write_demo_dictionary(language: str, output: Path) -> None:
    """Write the dictionary of English and another language: one lower-cased pair of single words per line.

    Args:
        language: ISO 639-1 code of a language that has a grammar.
        output: en-XX.txt, in MUSE's format.
    """
    lines = [f"{first} {second}\n" for first, second in pairs(grammar("en"), grammar(language))]
    with atomic_write(output) as temporary:
        temporary.write_text("".join(lines), encoding="utf-8")


def pairs(source: Language, target: Language) -> Pairs:
    """Pairs of single words with a common meaning, without repeats, in the order of the concepts."""
    both = dict.fromkeys([*_inflected_pairs(source, target), *_glossary_pairs(source, target)])
    return [pair for pair in both if all(_is_word(word) for word in pair)]


def _is_word(word: str) -> bool:
    return " " not in word and any(map(str.isalnum, word))


def _inflected_pairs(source: Language, target: Language) -> Iterator[tuple[str, str]]:
    for kind in target.dictionary:
        for key in concepts().kinds[kind]:
            theirs = _forms(target, kind, key)
            for features, form in _forms(source, kind, key):
                closest = max((len(features & other) for other, _ in theirs), default=0)
                yield from (
                    (form, translation) for other, translation in theirs if len(features & other) == closest
                )


def _forms(language: Language, kind: str, key: str) -> list[tuple[Features, str]]:
    return [
        (features | word.features, form.lower())
        for word in language.lexicon[kind][key]
        for features, form in word.forms.items()
    ]


def _glossary_pairs(source: Language, target: Language) -> Iterator[tuple[str, str]]:
    for key, words in source.glossary.items():
        translations = target.glossary.get(key, [])
        yield from ((word.lower(), translation.lower()) for word in words for translation in translations)
