"""Captions from content plans: one small engine, and one YAML file per language.

A language file (`data/languages/XX.yaml`, format in `data/README.md`) holds words with their inflected forms
and templates with slots. A form is keyed by features ("pl dat"); the engine looks up the form whose features
are all requested, the most specific form first. The meaning of a feature is defined only by the file, so a
language with other categories (a dual, an adjective after its noun) needs another file, but no code.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from pipeline.common.files import reading, require_file
from pipeline.common.yaml_files import read_yaml
from pipeline.demo.concepts import DATA, concepts
from pipeline.demo.plans import Mention, Plan

Features = frozenset[str]

# {slot}  {slot.field}  {slot:feature,feature,@slot whose features it agrees with}
_SLOT = re.compile(r"\{(\w+)(?:\.(\w+))?(?::([\w@,]+))?\}")
_OPTIONAL = re.compile(r"\[([^\[\]]*)\]")


@dataclass(frozen=True)
class Word:
    """One synonym of a concept: its forms, the features it requires of its neighbours, further fields."""

    forms: dict[Features, str]
    features: Features
    fields: dict[str, str]

    def say(self, features: Features, field: str = "") -> str:
        """The most specific form whose features are all requested; KeyError if there is none."""
        if field:
            return self.fields[field]
        fitting = [key for key in self.forms if key <= features | self.features]
        if not fitting:
            raise KeyError(" ".join(sorted(features | self.features)))
        return self.forms[max(fitting, key=len)]


@dataclass(frozen=True)
class Phrase:
    """A noun phrase: its words inflect together, by requested features and those of its noun and number."""

    words: dict[str, Word]
    pattern: str

    @property
    def features(self) -> Features:
        return self.words["noun"].features | self.words["number"].features

    def say(self, features: Features, field: str = "") -> str:
        return _render(self.pattern, self.words, features | self.features)


@dataclass(frozen=True)
class Language:
    """The content of a language file."""

    code: str
    frames: dict[str, list[str]]
    phrases: dict[str, list[str]]
    rewrites: list[tuple[str, str]]
    capital: bool
    end: str
    lexicon: dict[str, dict[str, list[Word]]]  # kind of word -> concept -> synonyms
    words: dict[str, Word]  # only used by this language's templates

    def caption(self, plan: Plan, random: Random) -> str:
        """A caption of the whole plan, with random synonyms and a random template."""
        fillers: dict[str, Word | Phrase] = {**self.words}
        fillers |= {slot: self._phrase(mention, random) for slot, mention in plan.mentions.items()}
        fillers |= {slot: random.choice(self.lexicon[slot][key]) for slot, key in plan.words.items()}
        template = random.choice(_fitting_templates(self.frames[plan.frame], plan.slots, self.words))
        return self.finish(_render(template, fillers, frozenset()))

    def _phrase(self, mention: Mention, random: Random) -> Phrase:
        words = {kind: random.choice(self.lexicon[kind][key]) for kind, key in mention.items()}
        kind = concepts().objects[mention["noun"]].phrase
        return Phrase({**self.words, **words}, random.choice(self.phrases[kind]))

    def finish(self, text: str) -> str:
        """Apply the language's rewrites, spacing, capital and end."""
        text = re.sub(r"\s+", " ", text).strip()
        for pattern, replacement in self.rewrites:
            text = re.sub(pattern, replacement, text)
        return (text[:1].upper() + text[1:] if self.capital else text) + self.end


def _slots(template: str) -> set[str]:
    return {match[1] for match in _SLOT.finditer(template)}


def _fitting_templates(templates: list[str], slots: frozenset[str], words: dict[str, Word]) -> list[str]:
    """The templates that say exactly these slots."""

    def fits(template: str) -> bool:
        required_slots = _slots(_OPTIONAL.sub("", template)) - set(words)
        return required_slots <= slots <= _slots(template)

    return [template for template in templates if fits(template)]


def _render(template: str, fillers: Mapping[str, Word | Phrase], features: Features) -> str:
    template = _OPTIONAL.sub(lambda part: part[1] if _slots(part[1]) <= set(fillers) else "", template)

    def words_of(slot: re.Match[str]) -> str:
        return fillers[slot[1]].say(features | _requested_features(slot[3], fillers), slot[2] or "")

    return _SLOT.sub(words_of, template)


def _requested_features(features: str | None, fillers: Mapping[str, Word | Phrase]) -> Features:
    result: Features = frozenset()
    for feature in features.split(",") if features else ():
        if not feature.startswith("@"):
            result |= {feature}
        elif feature[1:] in fillers:
            result |= fillers[feature[1:]].features
    return result


@cache
def language(code: str) -> Language:
    """The demo's own grammar of a language; raises `InputError` if it has none."""
    return read_language(DATA / "languages" / f"{code}.yaml")


def read_language(path: Path) -> Language:
    """Read a language file; a test renders every word in every template (tests/unit/test_demo.py)."""
    require_file(path, "the demo's grammar of this language", "Write it as data/README.md tells.")
    with reading(path, "a language file", "See data/README.md."):
        raw = read_yaml(path)
        reader = _Reader(raw["forms"], raw["fields"])
        return Language(
            code=path.stem,
            frames=raw["frames"],
            phrases=raw["phrases"],
            rewrites=[(pattern, replacement) for pattern, replacement in raw["rewrites"]],
            capital=raw["capital"],
            end=raw["end"],
            lexicon={kind: reader.section(kind, raw[kind]) for kind in concepts().kinds},
            words={name: synonyms[0] for name, synonyms in reader.section("words", raw["words"]).items()},
        )


@dataclass(frozen=True)
class _Reader:
    """Words as a language file writes them, in groups that share features and fields."""

    columns: dict[str, Any]
    fields: dict[str, str | None]

    def section(self, kind: str, groups: dict[str, dict[str, list[Any]]]) -> dict[str, list[Word]]:
        result: dict[str, list[Word]] = {}
        for head, entries in groups.items():
            features, fields = self._head(head)
            for concept, synonyms in entries.items():
                words = [Word(self._forms(kind, entry), features, fields) for entry in synonyms]
                result.setdefault(concept, []).extend(words)
        return result

    def _head(self, head: str) -> tuple[Features, dict[str, str]]:
        fields = {name: value for name, value in self.fields.items() if value is not None}
        if "=" in head:  # the last item may hold spaces: "rest=auf dem Pferd"
            start, _, value = head.partition("=")
            head, _, name = start.rpartition(" ")
            fields[name] = value
        return _features("" if head == "-" else head), fields

    def _forms(self, kind: str, entry: Any) -> dict[Features, str]:
        columns = self.columns.get(kind, ["any"])
        if isinstance(entry, dict):
            own = {_features(key): form for key, form in entry.items() if key != "stem"}
            return {**self._forms(kind, entry["stem"]), **own} if "stem" in entry else own
        if isinstance(columns, dict):
            return {_features(key): ending.format(entry) for key, ending in columns.items()}
        return {_features(key): form for key, form in zip(columns, entry.split("/"), strict=True)}


def _features(text: str) -> Features:
    return frozenset(text.split()) - {"any"}
