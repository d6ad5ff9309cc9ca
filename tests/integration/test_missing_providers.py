"""Scale paper has no provider by default: the dry run reports that once, for all pairs of its targets."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from project import Project, copy_of_project

pytestmark = [pytest.mark.integration, pytest.mark.extended]

MULTI30K = [pair for code in ("de", "fr", "cs") for pair in (f"en-{code}", f"{code}-en")]
MSCOCO = [pair for code in ("zh", "ja") for pair in (f"en-{code}", f"{code}-en")]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with the data available on request, but without a provider of translations."""
    project = copy_of_project(tmp_path_factory.mktemp("project"))
    for name in ("flickr30k", "coco-cn"):
        (project.folder / "on-request" / name).mkdir(parents=True)
    return project


@pytest.fixture
def nothing_given(project: Project) -> Iterator[None]:
    """Remove the data available on request."""
    given, away = project.folder / "on-request", project.folder / "away"
    given.rename(away)
    yield
    away.rename(given)


def message(project: Project, *targets: str, **settings: Any) -> str:
    """The message of a dry run that fails."""
    project.configure(scale="paper", **settings)
    done = project.snakemake("-n", *targets)
    assert done.returncode == 1, done.stdout
    return done.stdout[done.stdout.index("Building DAG of jobs") :]


def pairs(text: str) -> Counter[str]:
    """Pairs of languages that a text names, and how often."""
    return Counter(re.findall(r"\b[a-z]{2}-[a-z]{2}\b", text))


TEN = ["en", "de", "fr", "cs", "zh", "ja", "ar", "af", "ko", "ru"]
# Cross-lingual consistency (SMALR, Section 3.4) asks each query in every other language.
EVERY = sorted(
    {
        f"{source}-{target}"
        for source in ("en", "de", "fr", "cs", "zh", "ja")  # languages with human captions
        for target in TEN
        if target != source
    }
)


@pytest.mark.parametrize(
    ("targets", "expected"),
    [
        (["results/table4.csv"], MULTI30K + MSCOCO),
        (["results/report.html"], EVERY),
        (["results/claims.csv"], EVERY),
        ([], EVERY),
        (["results/table6.csv"], MULTI30K),
        (["results/comparison/table6.csv"], MULTI30K),
        (["results/table2.csv", "results/table9.csv", "results/table7.csv"], MULTI30K + MSCOCO),
        (["results/translation-quality.csv"], MULTI30K),
        (
            ["work/paper/mscoco/experiments/mule-full-mt/seed0/model.pt"],
            ["en-zh", "en-ja"],
        ),
        (["work/paper/mscoco/translations/zh-ja.csv"], ["zh-ja"]),
    ],
)
def test_every_pair_is_named_once(project: Project, targets: list[str], expected: list[str]) -> None:
    text = message(project, *targets)
    assert pairs(text) == Counter(expected)
    for words in (
        "default: {provider: google}",
        "DEEPL_API_KEY",
        "BAIDU_APPID and BAIDU_APPKEY",
        "WORD BY WORD",
    ):
        assert text.count(words) == 1, words
    assert not list((project.folder / "results").glob("*"))
    assert not (project.folder / "work").exists()


def test_pairs_that_have_a_provider_are_not_named(project: Project) -> None:
    named = {pair: {"provider": "google"} for pair in [*MULTI30K, "en-ja"]}
    text = message(project, "results/table4.csv", translation={"pairs": named})
    assert pairs(text) == Counter(["zh-en", "ja-en", "en-zh"])


@pytest.mark.usefixtures("nothing_given")
@pytest.mark.parametrize("order", ["0", "2"])
def test_missing_data_on_request_are_reported_with_it(
    project: Project, monkeypatch: pytest.MonkeyPatch, order: str
) -> None:
    """Whichever table Snakemake reads first, because its targets are an unordered set."""
    monkeypatch.setenv("PYTHONHASHSEED", order)
    text = message(project, "results/table2.csv", "results/table4.csv")
    assert pairs(text.replace("coco-cn", "")) == Counter(MULTI30K + MSCOCO)
    assert text.count("is given on request") == 2


def test_translations_are_not_mentioned_if_none_are_needed(project: Project) -> None:
    project.configure(scale="paper")
    assert project.would_run("results/table2.csv")["train"] == 14
    assert "translate" not in project.would_run("results/table2.csv")


@pytest.mark.usefixtures("nothing_given")
def test_translations_are_not_mentioned_if_only_data_on_request_are_missing(project: Project) -> None:
    text = message(project, "results/table2.csv")
    assert "is given on request" in text
    assert "ranslat" not in text


def test_what_cannot_be_measured_needs_no_provider(project: Project) -> None:
    """Multi30K has human translations, MSCOCO has none."""
    project.configure(
        scale="paper", translation={"pairs": {pair: {"provider": "google"} for pair in MULTI30K}}
    )
    jobs = project.would_run("results/translation-quality.csv")
    assert jobs["measure_translation_quality"] == len(MULTI30K + MSCOCO)


@pytest.mark.parametrize("default", ["google", "dictionary"])
def test_a_named_provider_serves_every_pair(project: Project, default: str) -> None:
    project.configure(scale="paper", translation={"default": {"provider": default}})
    jobs = project.would_run("results/table4.csv")
    assert jobs["translate"] == len(MULTI30K + MSCOCO)
    # Dictionaries are downloaded only if something is translated with them.
    fetched = project.snakemake("-n", "downloads").stdout
    assert ("arrival/dictionaries/en-de.txt" in fetched) == (default == "dictionary")
