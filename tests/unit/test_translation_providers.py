"""Pairs of languages that are translated, and the message about pairs without a provider."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from plans import paper_plan

from pipeline.common.errors import InputError
from pipeline.common.yaml_files import read_yaml
from pipeline.plan import pages, tables, training, translation
from pipeline.plan.plan import Plan
from pipeline.settings import reading
from pipeline.settings.configuration import Configuration
from pipeline.settings.translations import PROVIDERS, evaluation_pairs, require_providers, training_pairs
from pipeline.translation.web import SERVICES


def load(**user: object) -> Configuration:
    return reading.load({"scale": "paper", **user})


@pytest.mark.parametrize(
    ("experiment", "pairs"),
    [
        ("mule-full", []),
        ("mule-full-mt", ["en-de", "en-fr", "en-cs"]),  # "En → Others, Machine Translations Only"
        ("mule-full-human+mt", ["de-en", "fr-en", "cs-en", "en-de", "en-fr", "en-cs"]),
        ("embn-human+mt-en", ["de-en", "fr-en", "cs-en"]),
        ("embn-human+mt-fr", ["en-fr"]),
    ],
)
def test_an_experiment_trains_on_the_papers_translations(experiment: str, pairs: list[str]) -> None:
    """MULE, Table 4: translations from and into English, but not between other languages."""
    assert training_pairs(load(), "multi30k", experiment) == pairs
    assert evaluation_pairs(load(), "multi30k", experiment, "original") == pairs


def test_translated_queries_need_every_other_language() -> None:
    assert evaluation_pairs(load(), "mscoco", "embn-en", "original") == []
    assert evaluation_pairs(load(), "mscoco", "embn-en", "translated") == ["zh-en", "ja-en"]
    asked = evaluation_pairs(load(), "mscoco", "embn-human+mt-en", "translated")
    assert asked == ["zh-en", "ja-en", "zh-en", "ja-en"]


@pytest.mark.parametrize(
    ("languages", "experiment", "refused"),
    [
        (["de", "fr"], "mule-full", False),
        (["de", "fr"], "mule-full-mt", True),
        (["de", "fr"], "mule-full-human+mt", True),
        (["de", "fr"], "embn-human+mt-fr", True),
        (["en"], "mule-full-human+mt", True),
        (["en", "de"], "mule-full-human+mt", False),
        (["en", "de"], "mule-full-mt", False),  # English keeps its own captions
        (["en"], "mule-ten", False),  # so does SMALR's English; the others are translated from it
    ],
)
def test_an_experiment_is_refused_without_the_translations_that_it_trains_on(
    languages: list[str], experiment: str, refused: bool
) -> None:
    """If it were trained on human captions instead, its row would still claim translations."""
    mine = {"source": "custom", "captions": "mine.csv", "images": "mine", "languages": languages}
    data = {"mine": {**mine, "translated_languages": ["zh"] if "en" in languages else []}}
    plan = Plan(load(datasets=data, translation={"default": {"provider": "google"}}))
    if refused:
        with pytest.raises(InputError, match="mine has no captions to translate"):
            training.translations(plan, "mine", experiment)
    else:
        training.translations(plan, "mine", experiment)


def refusal(*pair: str) -> str:
    """The message about a pair of a data set that has no provider."""
    with pytest.raises(InputError) as caught:
        require_providers(load(), [(pair[0], pair[1])])
    return str(caught.value)


def test_the_message_lists_every_provider_and_key() -> None:
    message = refusal("multi30k", "en-ja")
    named = [name for names in PROVIDERS for name in names.split(", ")]
    assert sorted(named) == sorted([*SERVICES, "marian", "trained", "files", "dictionary"])
    for service, described in SERVICES.items():
        line = re.search(rf"  - (?:\w+, )*{service}\b.*", message)
        assert line
        assert {described.key} - {""} <= set(re.findall(r"[A-Z]+_[A-Z_]+", line[0])), service
    keys = {described.key for described in SERVICES.values()} - {""}
    assert keys == set(re.findall(r"[A-Z]+_[A-Z_]+", message))
    assert len(message.splitlines()) <= 10
    assert "dictionary: MUSE's dictionaries" in message
    assert "WORD BY WORD: rows made with it are marked and cannot be compared" in message


def test_the_yaml_in_the_message_is_a_valid_configuration(tmp_path: Path) -> None:
    message = refusal("multi30k", "en-ja")
    lines = message.splitlines()
    (written,) = (line for line in lines if line.startswith("  translation:"))
    (tmp_path / "mine.yaml").write_text(written)
    mine = reading.load({"scale": "paper", **read_yaml(tmp_path / "mine.yaml")})
    assert mine.translation.default.as_values() == {"provider": "google"}
    require_providers(mine, [("multi30k", "en-ja")])


def test_a_mistake_in_the_default_is_still_named_by_its_key() -> None:
    with pytest.raises(InputError) as caught:
        load(translation={"default": {"provider": "gogle"}})
    assert "Input tag 'gogle'" in str(caught.value)
    with pytest.raises(InputError, match=r"translation\.default\.marian\.model: Field required"):
        load(translation={"default": {"provider": "marian"}})


def test_a_pair_cannot_be_null() -> None:
    with pytest.raises(InputError, match=r"translation\.pairs\.en-de: found None"):
        load(translation={"pairs": {"en-de": None}})


MULTI30K = [pair for code in ("de", "fr", "cs") for pair in (f"en-{code}", f"{code}-en")]
MSCOCO = [pair for code in ("zh", "ja") for pair in (f"en-{code}", f"{code}-en")]
TEN = ["en", "de", "fr", "cs", "zh", "ja", "ar", "af", "ko", "ru"]
# Cross-lingual consistency (SMALR, Section 3.4) asks queries in the six with human captions in every other.
EVERY = [f"{source}-{target}" for source in TEN[:6] for target in TEN if target != source]


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        (lambda plan: tables.table_evaluations(plan, "table4"), MULTI30K + MSCOCO),
        (lambda plan: tables.table_evaluations(plan, "table6"), MULTI30K),
        (pages.judged_files, EVERY),
        (translation.measured_pairs, MULTI30K),
        (lambda plan: translation.translation(plan, "mscoco", "", "zh", "ja").inputs, ["zh-ja"]),
    ],
)
def test_every_pair_that_a_job_needs_is_named(
    tmp_path: Path, job: Callable[[Plan], object], expected: list[str]
) -> None:
    with pytest.raises(InputError) as caught:
        job(paper_plan(tmp_path, translation={}))
    assert set(re.findall(r"\b[a-z]{2}-[a-z]{2}\b", str(caught.value))) == set(expected)


def test_no_pair_is_asked_for_if_none_is_needed_or_all_have_a_provider(tmp_path: Path) -> None:
    bare = paper_plan(tmp_path, translation={})
    assert tables.table_evaluations(bare, "table2")
    named = {pair: {"provider": "google"} for pair in MULTI30K}
    plan = paper_plan(tmp_path, translation={"pairs": named})
    # Multi30K has human translations to measure against, MSCOCO has none.
    assert len(translation.measured_pairs(plan)) == len(MULTI30K + MSCOCO)
