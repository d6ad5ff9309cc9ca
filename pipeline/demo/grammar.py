"""Captions from content plans: one small engine, and one YAML file per language.

A language file (`data/languages/XX.yaml`, format in `data/README.md`) holds words with their inflected forms
and templates with slots. A form is keyed by features ("pl dat"); the engine looks up the form whose features
are all requested, the most specific form first. The meaning of a feature is defined only by the file, so a
language with other categories (a dual, an adjective after its noun) needs another file, but no code.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from pipeline.common.errors import raise_together
from pipeline.common.files import require_file
from pipeline.common.yaml_files import read_yaml
from pipeline.demo.concepts import DATA, concepts
from pipeline.demo.plans import FRAMES, Mention, Plan

Features = frozenset[str]

# {slot}  {slot.field}  {slot:feature,feature,@slot whose features it agrees with}
_SLOT = re.compile(r"\{(\w+)(?:\.(\w+))?(?::([\w@,]+))?\}")
_OPTIONAL = re.compile(r"\[([^\[\]]*)\]")
_KEYS: dict[str, type] = {
    **{"features": list, "forms": dict, "fields": dict, "frames": dict, "phrases": dict, "rewrites": list},
    **{"capital": bool, "end": str, "words": dict},
}


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


Sayable = TypeVar("Sayable", bound=Word | Phrase)
NamedWord = tuple[str, Word | Phrase]  # with its name in messages


@dataclass(frozen=True)
class Language:
    """A language file, checked: every concept has a word, every word the forms the templates ask for."""

    code: str
    frames: dict[str, list[str]]
    phrases: dict[str, list[str]]
    rewrites: list[tuple[str, str]]
    capital: bool
    end: str
    lexicon: dict[str, dict[str, list[Word]]]  # kind of word -> concept -> synonyms
    words: dict[str, Word]  # only used by this language's templates
    glossary: dict[str, list[str]]
    dictionary: list[str]  # kinds of word that enter bilingual dictionaries as they are

    def caption(self, plan: Plan, random: Random) -> str:
        """A caption of the whole plan, with random synonyms and a random template."""
        fillers: dict[str, Word | Phrase] = {**self.words}
        fillers |= {slot: self._phrase(mention, random) for slot, mention in plan.mentions.items()}
        fillers |= {slot: random.choice(self.lexicon[slot][key]) for slot, key in plan.words.items()}
        template = random.choice(_fitting_templates(self.frames[plan.frame], plan.slots, self.words))
        return self.finish(_render(template, fillers, frozenset()))

    def _phrase(self, mention: Mention, random: Random) -> Phrase:
        words = {kind: random.choice(self.lexicon[kind][key]) for kind, key in mention.words.items()}
        kind = concepts().objects[mention.words["noun"]].phrase
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
    """Read and check a language file; raises one `InputError` that lists everything wrong or missing."""
    require_file(path, "the demo's grammar of this language", "Write it as data/README.md tells.")
    raw = read_yaml(path)
    wrong = [
        f"key {key!r} is {raw.get(key)!r}, expected a {kind.__name__}"
        for key, kind in (_KEYS | dict.fromkeys(concepts().kinds, dict)).items()
        if not isinstance(raw.get(key), kind)
    ]
    raise_together(wrong, f"{path}: not a language file, see data/README.md:")
    reader = _Reader(raw)
    lexicon = {kind: reader.section(kind, raw[kind]) for kind in concepts().kinds}
    glossary = reader.glossary(raw.get("glossary", {}))
    words = {name: synonyms[0] for name, synonyms in reader.section("words", raw["words"]).items()}
    raise_together(reader.mistakes, f"{path}: words that cannot be read:")
    result = Language(
        code=path.stem,
        frames=raw["frames"],
        phrases=raw["phrases"],
        rewrites=[(pattern, replacement) for pattern, replacement in raw["rewrites"]],
        capital=raw["capital"],
        end=raw["end"],
        lexicon=lexicon,
        words=words,
        glossary=glossary,
        dictionary=raw.get("dictionary", list(concepts().kinds)),
    )
    raise_together(_mistakes(result), f"{path}: words, forms or templates are missing:")
    return result


class _Reader:
    """Words as a language file writes them, in groups that share features and fields."""

    def __init__(self, raw: dict[str, Any]):
        self.features = set(raw["features"])
        self.columns: dict[str, Any] = raw["forms"]
        self.fields: dict[str, str | None] = raw["fields"]
        self.mistakes: list[str] = []

    def section(self, kind: str, groups: dict[str, dict[str, list[Any]]]) -> dict[str, list[Word]]:
        result: dict[str, list[Word]] = {}
        for head, entries in groups.items():
            features, fields = self._head(kind, head)
            for concept, synonyms in entries.items():
                for entry in filter(partial(self._is_text, f"{kind} {concept!r}"), synonyms):
                    word = Word(self._forms(kind, concept, entry), features, fields)
                    result.setdefault(str(concept), []).append(word)
        return result

    def glossary(self, entries: dict[str, list[Any]]) -> dict[str, list[str]]:
        return {
            str(key): [word for word in words if self._is_text(f"glossary {key!r}", word)]
            for key, words in entries.items()
        }

    def _is_text(self, where: str, entry: Any) -> bool:
        forms = entry.values() if isinstance(entry, dict) else [entry]
        wrong = [form for form in forms if not isinstance(form, str)]
        if wrong:
            self.mistakes.append(
                f"{where}: {wrong[0]!r} is not text, because YAML reads on, yes and no as true or false: "
                f"put it in quotes"
            )
        return not wrong

    def _head(self, kind: str, head: str) -> tuple[Features, dict[str, str]]:
        fields = {name: value for name, value in self.fields.items() if value is not None}
        if "=" in head:  # the last item may hold spaces: "rest=auf dem Pferd"
            start, _, value = head.partition("=")
            head, _, name = start.rpartition(" ")
            fields[name] = value
            if name not in self.fields:
                self.mistakes.append(f"{kind}: field {name!r} is not among the file's `fields`")
        return self._key(kind, "" if head == "-" else head), fields

    def _key(self, where: str, text: str) -> Features:
        features = frozenset(text.split()) - {"any"}
        unknown = sorted(features - self.features)
        if unknown:
            self.mistakes.append(f"{where}: {', '.join(unknown)} not among the file's `features`")
        return features

    def _forms(self, kind: str, concept: str, entry: Any) -> dict[Features, str]:
        where, columns = f"{kind} {concept!r}", self.columns.get(kind, ["any"])
        if isinstance(entry, dict):
            own = {self._key(where, key): form for key, form in entry.items() if key != "stem"}
            return {**self._forms(kind, concept, entry["stem"]), **own} if "stem" in entry else own
        if isinstance(columns, dict):
            return {self._key(kind, key): ending.format(entry) for key, ending in columns.items()}
        forms = entry.split("/")
        if len(forms) != len(columns):
            self.mistakes.append(f"{where}: {entry!r} has {len(forms)} forms, expected {', '.join(columns)}")
        return {self._key(kind, key): form for key, form in zip(columns, forms, strict=False)}


def _mistakes(language: Language) -> Iterator[str]:
    missing = [
        f"{kind} {key!r} has no word"
        for kind, keys in concepts().kinds.items()
        for key in keys
        if not language.lexicon[kind].get(key)
    ]
    yield from missing or dict.fromkeys(_inflection_mistakes(language))
    for frame, combinations in FRAMES.items():
        for slots in combinations:
            if not _fitting_templates(language.frames.get(frame, []), slots, language.words):
                yield f"frame {frame!r} has no template for {', '.join(sorted(slots))}"


def _inflection_mistakes(language: Language) -> Iterator[str]:
    """Mistakes of every word in every slot of a template, next to every kind of neighbour."""
    lexicon, mentions = language.lexicon, list(_named_mentions(language))
    fillers: dict[str, Sequence[NamedWord]] = {
        **{name: [(f"word {name!r}", word)] for name, word in language.words.items()},
        **{kind: _named_words(kind, lexicon[kind]) for kind in ("relation", "pose")},
        **{kind: _named_words(kind, lexicon[kind]) for kind in ("activity", "background")},
        **{slot: mentions for slot in ("subject", "object", "third")},
    }
    templates = dict.fromkeys(template for frame in language.frames.values() for template in frame)
    slots = {slot[0]: slot for template in templates for slot in _SLOT.finditer(template)}
    for slot in slots.values():
        agreeing = [name[1:] for name in (slot[3] or "").split(",") if name.startswith("@")]
        unknown = [name for name in (slot[1], *agreeing) if name not in fillers]
        yield from (f"a template asks for slot {name!r}, which no plan fills" for name in unknown)
        if not unknown:
            for word_and_name, *others in product(
                fillers[slot[1]], *(_distinct_words(fillers[name]) for name in agreeing)
            ):
                beside = {name: word for name, (_, word) in zip(agreeing, others, strict=True)}
                yield from _missing_forms(word_and_name, slot, beside)


def _missing_forms(
    word_and_name: NamedWord, slot: re.Match[str], beside: Mapping[str, Word | Phrase]
) -> Iterator[str]:
    name, word = word_and_name
    try:
        word.say(_requested_features(slot[3], beside), slot[2] or "")
    except KeyError as error:
        yield f"{name} has no form or field for {error.args[0]!r}"


def _named_words(kind: str, entries: dict[str, list[Word]]) -> list[tuple[str, Word]]:
    return [(f"{kind} {key!r}", word) for key, synonyms in entries.items() for word in synonyms]


def _distinct_words(words: Sequence[tuple[str, Sayable]]) -> list[tuple[str, Sayable]]:
    """One word per set of features: words with equal features need the same forms of their neighbours."""
    return list({word.features: (name, word) for name, word in words}.values())


def _named_mentions(language: Language) -> Iterator[NamedWord]:
    """Every noun in every number, and every attribute with every kind of noun, in all patterns."""
    lexicon, things = language.lexicon, concepts().objects
    numbers = _named_words("number", lexicon["number"])
    for kind, synonyms in lexicon["noun"].items():
        patterns = language.phrases[things[kind].phrase] if kind in things else []
        for noun, (_, number), pattern in product(synonyms, numbers, patterns):
            yield f"noun {kind!r}", Phrase({**language.words, "noun": noun, "number": number}, pattern)
    patterns = [pattern for patterns in language.phrases.values() for pattern in patterns]
    pairs = product(_distinct_words(_named_words("noun", lexicon["noun"])), _distinct_words(numbers))
    for ((_, noun), (_, number)), attribute, pattern in product(pairs, ("colour", "size"), patterns):
        if attribute in _slots(pattern):
            for name, word in _named_words(attribute, lexicon[attribute]):
                words = {**language.words, "noun": noun, "number": number, attribute: word}
                yield name, Phrase(words, pattern)
