"""The configuration of *Lessons* against the paper: what each row reads, and how it is trained."""

from functools import reduce
from itertools import combinations
from typing import Any

import pytest

from pipeline.settings import reading
from pipeline.settings import stages as stage_settings
from pipeline.settings.configuration import Configuration
from pipeline.tables.settings import Row

# What is read of each language: one caption per image of the translation part, all five of the comparable
# part, a sample of one of the five, all five on one or the other half of the images, or both parts.
TRANSLATION, COMPARABLE, DRAWN = "translation", "comparable", "drawn"
FIRST, SECOND, BOTH = "first", "second", "both"
EN_DE, ALL = ("en", "de"), ("en", "de", "fr", "cs")
TRANSLATED = dict.fromkeys(("fr", "cs"), TRANSLATION)  # French and Czech have no other part

# (table, method, group): what is read, c2c, and whether the model has one language (M), all of what is read
# (J), or all and stops on its column's (S). Sections 5 and 6 of the paper.
ROWS: dict[tuple[str, str, str], tuple[dict[str, str], bool, str]] = {
    ("2", "Monolingual", ""): (dict.fromkeys(EN_DE, COMPARABLE), False, "M"),
    ("2", "Bilingual", ""): (dict.fromkeys(EN_DE, COMPARABLE), False, "J"),
    ("2", "+ c2c", "Bilingual"): (dict.fromkeys(EN_DE, COMPARABLE), True, "J"),
    # "a Monolingual model trained on 29K single-captioned images in the translation portion"
    ("4", "Monolingual", ""): (dict.fromkeys(ALL, TRANSLATION), False, "M"),
    ("4", "Bi-translation", ""): (dict.fromkeys(EN_DE, TRANSLATION), False, "J"),
    ("4", "+ c2c", "Bi-translation"): (dict.fromkeys(EN_DE, TRANSLATION), True, "J"),
    # "we randomly select an English and a German sentence for each image in the comparable portion"
    ("4", "Bi-comparable", ""): (dict.fromkeys(EN_DE, DRAWN), False, "J"),
    ("4", "+ c2c", "Bi-comparable"): (dict.fromkeys(EN_DE, DRAWN), True, "J"),
    ("5", "Full Monolingual", ""): (dict.fromkeys(EN_DE, COMPARABLE), False, "M"),
    ("5", "Half Monolingual", ""): (dict.fromkeys(EN_DE, FIRST), False, "M"),
    ("5", "Bi-overlap", ""): (dict.fromkeys(EN_DE, FIRST), False, "J"),
    ("5", "+ c2c", "Bi-overlap"): (dict.fromkeys(EN_DE, FIRST), True, "J"),
    ("5", "Bi-disjoint", ""): ({"en": FIRST, "de": SECOND}, False, "J"),
    ("6", "Monolingual", ""): (dict.fromkeys(ALL, TRANSLATION), False, "M"),
    ("6", "Multi-translation", ""): (dict.fromkeys(ALL, TRANSLATION), False, "J"),
    ("6", "+ c2c", "Multi-translation"): (dict.fromkeys(ALL, TRANSLATION), True, "J"),
    ("6", "Multi-comparable", ""): (dict.fromkeys(EN_DE, DRAWN) | TRANSLATED, False, "J"),
    ("6", "+ c2c", "Multi-comparable"): (dict.fromkeys(EN_DE, DRAWN) | TRANSLATED, True, "J"),
    ("7", "Monolingual", ""): (dict.fromkeys(ALL, TRANSLATION), False, "M"),
    ("7", "Multilingual", ""): (dict.fromkeys(ALL, TRANSLATION), False, "S"),
    ("7", "+ Comparable", "Multilingual"): (dict.fromkeys(EN_DE, BOTH) | TRANSLATED, False, "S"),
    ("7", "+ c2c", "Multilingual + Comparable"): (dict.fromkeys(EN_DE, BOTH) | TRANSLATED, True, "S"),
    # Section 6.3
    ("figure3", "Monolingual", ""): (dict.fromkeys(EN_DE, DRAWN), False, "M"),
    ("figure3", "Bilingual", ""): (dict.fromkeys(EN_DE, DRAWN), True, "J"),
    ("figure3", "Multilingual", ""): (dict.fromkeys(EN_DE, DRAWN) | TRANSLATED, True, "J"),
}  # fmt: skip
ROWS |= {("3", *key[1:]): row for key, row in ROWS.items() if key[0] == "2"}
NUMBERED = ("2", "3", "4", "5", "6", "7")
TABLES = {name: f"lessons/table{name}" for name in NUMBERED} | {"figure3": "lessons/figure3"}

# The public code trains "+ Comparable" on the comparable part instead of the translations.
INSTEAD = dict.fromkeys(EN_DE, COMPARABLE) | TRANSLATED
ROWS_AS_CODE = {
    ("7", "+ Comparable", "Multilingual"): (INSTEAD, False, "S"),
    ("7", "+ c2c", "Multilingual + Comparable"): (INSTEAD, True, "S"),
}
CAPTIONS = {TRANSLATION: 1, DRAWN: 1, COMPARABLE: 5, FIRST: 5, SECOND: 5, BOTH: 6}  # captions per image

RIGHT: dict[str, Any] = {"lengths_in_pairs": "correct", "validated_by_fives": []}
IN_TEXT = {"halves": "shared", "pairs_of": "selected", "divide_learning_rate_every": None}


@pytest.fixture(scope="module")
def paper() -> Configuration:
    """The configuration of scale paper."""
    return reading.load({"scale": "paper"})


def rows(paper: Configuration) -> list[tuple[str, Row]]:
    """Rows of the paper's own models, by their table."""
    every = [(name, row) for name, table in TABLES.items() for row in paper.tables[table].rows]
    return [(name, row) for name, row in every if "Gella" not in (row.group or "")]


def read(paper: Configuration, row: Row) -> tuple[dict[str, str], bool, str]:
    """What a row's experiment reads and is, in the words of ROWS."""
    made = paper.experiments[row.experiment]
    found = {}
    for language, chosen in made.selection.items():
        parts, each, images = chosen.parts, chosen.captions_per_image, chosen.images
        found[language] = (
            BOTH
            if len(parts) == 2
            else (images if images != "all" else "") or (DRAWN if each == 1 else parts[0])
        )
        assert len(parts) == 1 or set(parts) == {TRANSLATION, COMPARABLE}
        assert chosen.tested_on == (COMPARABLE if language in EN_DE else TRANSLATION)
        if found[language] not in (TRANSLATION, BOTH):
            assert parts == [COMPARABLE]
    one, stops = made.one_per_language, made.stop_on_each_language
    return found, bool(made.c2c), "M" if one else "S" if stops else "J"


def test_every_row_reads_what_the_paper_says(paper: Configuration) -> None:
    seen = set()
    for table, row in rows(paper):
        key = (table, row.method, row.group or "")
        as_code = ROWS_AS_CODE if row.section == "as published code" else {}
        assert read(paper, row) == as_code.get(key, ROWS[key]), (table, row)
        if not row.section:
            seen.add(key)
    assert seen == set(ROWS)


def tasks(paper: Configuration, name: str) -> dict[str, Any]:
    return paper.blocks_of(name, paper.experiments[name]).lessons.model_dump()


def test_rows_of_the_text_have_no_quirk_of_the_code(paper: Configuration) -> None:
    for _, row in rows(paper):
        if not row.section:
            assert tasks(paper, row.experiment).items() >= (RIGHT | IN_TEXT).items(), row


def test_rows_as_published_code_have_every_quirk_that_concerns_them(paper: Configuration) -> None:
    """Lengths if there are pairs; halves and their pairs; the learning rate of models of one language.

    If one caption of each image is sampled, English and German are validated by fives, and pairs come from
    another sample. The code names the translations en1 and de1, which it validates as French and Czech: by
    ones.
    """
    for table, row in rows(paper):
        if row.section != "as published code":
            continue
        found, pairs, kind = read(paper, row)
        drawn = [language for language, part in found.items() if part == DRAWN]
        halved = any(part in (FIRST, SECOND) for part in found.values())
        assert (
            tasks(paper, row.experiment).items()
            >= {
                "lengths_in_pairs": "reversed" if pairs else "correct",
                "validated_by_fives": drawn,
                "halves": "per_language" if halved else "shared",
                "pairs_of": (
                    "all_images" if halved and pairs else "sampled_again" if drawn and pairs else "selected"
                ),
                "divide_learning_rate_every": 15 if kind == "M" else None,
            }.items()
        ), (table, row)


def test_46_possible_caption_pairs_follow_from_the_public_code(paper: Configuration) -> None:
    """Section 6.2: "46 possible caption pairs" of an image; with the translations too they would be 61."""
    pairs = {}
    for row in paper.tables["lessons/table7"].rows:
        if row.method == "+ c2c":
            each = [CAPTIONS[part] for part in read(paper, row)[0].values()]
            pairs[row.section] = sum(one * other for one, other in combinations(each, 2))
    assert pairs == {None: 61, "as published code": 46}


# Key, value, and the place in the paper
SETTINGS: list[tuple[str, Any, str]] = [
    ("model.encoder", "vse", "Section 3"),
    ("model.word_vectors", "scratch", "Section 3"),
    ("model.recurrent", "gru", "Section 3"),
    ("model.hidden_size", 1024, "Section 3"),
    ("model.similarity", "cosine", "Section 3"),
    ("features.backbone", "resnet50.tv_in1k", "Section 3"),
    ("lessons.learning_rate", 2e-4, "Section 3"),
    ("lessons.hinge", "max", "Section 3: VSE++"),
    ("lessons.margin", 0.2, "VSE++"),
    ("lessons.batch_size", 128, "VSE++"),
    ("lessons.max_grad_norm", 2.0, "VSE++"),
    ("lessons.pair_step_probability", 0.5, "Section 3"),
    ("lessons.validate_every", 500, "Section 3"),
    ("lessons.patience", 10, "Section 3"),
    ("lessons.max_steps", 1_000_000, "never reached"),
    ("max_caption_length", None, "the paper cuts no caption"),
]


def test_there_are_38_experiments(paper: Configuration) -> None:
    assert len({row.experiment for _, row in rows(paper)}) == 38
    assert stage_settings.selection_settings(paper, "multi30k", "bilingual").dimension == 300  # Section 3
    assert {tasks(paper, row.experiment)["min_count"] for _, row in rows(paper)} == {4}  # Section 3


@pytest.fixture(scope="module")
def models(paper: Configuration) -> dict[str, Any]:
    """The settings of every model, by its name."""
    names = {row.experiment for _, row in rows(paper)}
    made = {key for key in paper.experiments_on("multi30k") if key in names or key[:-3] in names}
    return {name: stage_settings.experiment_settings(paper, "multi30k", name, 0) for name in made}


@pytest.mark.parametrize(("key", "expected", "place"), SETTINGS)
def test_settings_are_the_papers(models: dict[str, Any], key: str, expected: Any, place: str) -> None:
    for name, found in models.items():
        assert reduce(getattr, key.split("."), found) == expected, (name, place)


def test_training_stops_on_all_languages_or_on_the_one_of_the_column(
    paper: Configuration, models: dict[str, Any]
) -> None:
    for name, found in models.items():
        one = name not in paper.experiments
        assert found.stop_on == ([name[-2:]] if one else found.languages), name
    assert len(models) == 20 + 20 + 25  # of one language, stopped on one language, of all languages


def test_the_learning_rate_of_multilingual_models_is_never_divided() -> None:
    """Not even if the key is set for all experiments."""
    loaded = reading.load({"scale": "demo", "lessons": {"divide_learning_rate_every": 3}})
    expected = {"monolingual-en": 3, "bilingual": None, "multilingual-fr": None, "monolingual-as-code-de": 15}
    for name, divided in expected.items():
        found = stage_settings.experiment_settings(loaded, "multi30k", name, 0)
        assert found.lessons.divide_learning_rate_every == divided, name
