"""Parameters with ten languages at the paper's sizes, counted by hand."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pipeline import settings as configuration
from pipeline.tables.claim_terms import comparisons, read_claims, terms
from pipeline.tables.smalr_parameters import count_smalr_parameters, hybrid
from pipeline.training.settings import SmalrParameterSettings
from pipeline.words.spelled import spellings
from pipeline.words.vocabulary import vocabulary, write_vocabulary

ROOT = Path(__file__).parents[2]
TEN = ["en", "de", "fr", "cs", "zh", "ja", "ar", "af", "ko", "ru"]


@pytest.fixture
def papers_settings() -> SmalrParameterSettings:
    """What the counts at the demo depend on: the paper's sizes."""
    demo = configuration.load({"scale": "demo"}, ROOT / "config")
    return configuration.ten_language_settings(demo, "multi30k", ROOT / "config")


@pytest.fixture
def table(papers_settings: SmalrParameterSettings, tmp_path: Path) -> pd.DataFrame:
    """Ten vocabularies of 10, 20, ..., 100 words."""
    return comparison(papers_settings, TEN, tmp_path)


def comparison(settings: SmalrParameterSettings, languages: list[str], tmp_path: Path) -> pd.DataFrame:
    words, spelled = [], []
    for number, code in enumerate(languages, 1):
        names = [f"{code}{n:03d}" for n in range(10 * number)]
        words.append(tmp_path / f"{code}.h5")
        write_vocabulary(vocabulary(code, names, dict.fromkeys(names, np.ones(2))), {}, words[-1])
        spelled.append(tmp_path / f"{code}-spelled.h5")
        write_vocabulary(vocabulary(code, names, spellings(names, set("".join(names)), 26)), {}, spelled[-1])
    papers = ROOT / "config" / "papers" / "smalr" / "parameters.csv"
    output = tmp_path / "table.csv", tmp_path / "lines.csv"
    count_smalr_parameters(settings, words, spelled, papers, *output)
    return pd.read_csv(tmp_path / "table.csv").set_index("model")


def test_parameters_are_those_worked_out_by_hand(table: pd.DataFrame) -> None:
    tables, layer = sum(10 * n for n in range(1, 11)) * 300, 300 * 512 + 512
    branch = 4 * 1024 * (512 + 1024 + 2) + 1024 * 512 + 512
    images = 2048 * 2048 + 2048 + 2 * 2048 + 2048 * 512 + 512
    ten = tables + 10 * layer + branch + images + (512 * 10 + 10)
    one = 10 * 300 + layer + branch + images
    values = table["value"]
    assert values["MULE, one language"] == round(one / 1e6, 2)
    assert values["MULE, ten languages"] == round(ten / 1e6, 2)
    assert values["MULE, ten languages: word tables"] == round(tables / 1e6, 2)
    assert values["MULE, ten languages: share of the languages"] == round(
        100 * (tables + 10 * layer) / ten, 2
    )
    assert values["MULE, ten languages to one"] == round(ten / one, 2)
    assert values["MULE, ten languages: at test time"] == round((branch + images) / 1e6, 2)
    letters = len(set("".join(TEN) + "0123456789"))
    for name, size in (("S-LIWE", 24), ("L-LIWE", 120)):
        layers = sum(a * b + 4 * b for a, b in ((26 * size, 384), (384, 448), (448, 300)))
        recurrent = 2 * 3 * 1024 * (300 + 1024 + 2)
        whole = (letters + 1) * size + layers + recurrent + 2048 * 1024 + 1024
        assert values[f"{name}, ten languages"] == round(whole / 1e6, 2)
    assert table["paper"]["Image-sentence model at test time"] == "7.1M"


def test_hybrid_models_are_those_worked_out_by_hand(table: pd.DataFrame) -> None:
    """550 words: all are latent in LA, and with 5,000 frequent words per language none is."""
    gru, images = 3 * (2 * 512 * 512 + 2 * 512) + 512 * 512 + 512, 2048 * 2048 + 3 * 2048 + 2048 * 512 + 512
    classifier, masking = 512 * 10 + 10, 2 * (1024 * 1024 + 1024)
    own = 550 * 50 + 10 * (50 * 512 + 512)
    values = table["value"]
    without = {
        "LA": gru + images + classifier,
        "HEM": own + gru + images + classifier,
        "SMALR": own + gru + images + classifier + masking + 512,
    }
    for name, expected in without.items():
        assert values[f"{name}, ten languages: without entries"] == round(expected / 1e6, 2)
    assert values["LA, ten languages"] == round((without["LA"] + 550 * 512) / 1e6, 2)
    assert values["SMALR, ten languages"] == values["SMALR, ten languages: without entries"]
    tables, layer = 550 * 300, 300 * 512 + 512
    lstm = 4 * 1024 * (512 + 1024 + 2) + 1024 * 512 + 512
    mule = tables + 10 * layer + lstm + images + classifier
    assert values["MULE to LA, ten languages"] == round(mule / (without["LA"] + 550 * 512), 2)
    for name in ("HEM", "SMALR"):
        assert values[f"MULE to {name}, ten languages"] == round(mule / without[name], 2)
    fifth = (mule / 5 - without["SMALR"]) // 512
    assert values["SMALR: entries that make a fifth of MULE's parameters"] == fifth
    room = (20_000_000 - without["SMALR"]) // 512
    assert values["SMALR: entries that make 20 million parameters"] == room
    assert values["CLC-C"] == 352
    assert values["Image-sentence model at test time"] == 7.09


def test_numbers_are_next_to_the_papers(table: pd.DataFrame, tmp_path: Path) -> None:
    lines = pd.read_csv(tmp_path / "lines.csv", dtype=str, keep_default_na=False).set_index("method")
    assert list(lines.index) == list(table.index)
    assert lines["measured"].astype(float).tolist() == table["value"].tolist()
    printed = lines[lines["paper"] != ""]["paper"].to_dict()
    assert printed == {
        "MULE, ten languages: share of the languages": "93",
        "MULE, ten languages to one": "6",
        "Image-sentence model at test time": "7.1",
    }


def test_no_more_entries_are_counted_than_the_settings_allow(papers_settings: SmalrParameterSettings) -> None:
    """Ten languages of 9,000 words: 90,000 are latent in LA, and 4,000 of each, 40,000 together, in SMALR."""
    sizes = dict.fromkeys(TEN, 9000)
    for most, expected in ((40_000, (40_000, 40_000)), (60_000, (60_000, 40_000))):
        settings = {
            name: made.model_copy(
                update={"hybrid": made.hybrid and made.hybrid.model_copy(update={"latent_entries": most})}
            )
            for name, made in papers_settings.hybrid.items()
        }
        of = papers_settings.model_copy(update={"hybrid": settings})
        found = {row["model"]: row["value"] for row in hybrid(of, sizes, 10**8)}
        for name, entries in zip(("LA", "SMALR"), expected, strict=True):
            less = found[f"{name}, ten languages: without entries"]
            assert found[f"{name}, ten languages"] - less == pytest.approx(entries * 512 / 1e6, abs=0.011)


def test_six_languages_are_not_called_ten(papers_settings: SmalrParameterSettings, tmp_path: Path) -> None:
    found = comparison(papers_settings, TEN[:6], tmp_path)
    assert not found.index.str.contains(r"\bten\b").any()
    assert found.loc["MULE, 6 languages", "counted"].startswith("6 tables and linear layers")
    assert found.loc["MULE, 6 languages to one", "paper"] != found.loc["MULE, 6 languages to one", "paper"]


def test_a_row_names_the_counted_vocabularies(table: pd.DataFrame) -> None:
    assert set(table["vocabulary"]) == {"multi30k at scale demo, 550 words"}


def test_every_claim_of_the_paper_is_there_and_compares_what_its_tables_have() -> None:
    claims = read_claims(ROOT / "config" / "claims" / "smalr.yaml")
    assert [claim["id"] for claim in claims] == [f"S{number:02d}" for number in range(1, 41)]
    settings = configuration.load({"scale": "paper"}, ROOT / "config")
    trained = {name for data in ("multi30k", "mscoco") for name in settings.experiments_on(data)}
    others = {"smalr", "smalr-la", "smalr-hem", "liwe-s", "embn-human+mt"}
    for claim in claims:
        for compared in comparisons(claim):
            for side in (compared.greater, *compared.than):
                for _, term in terms(side):
                    assert term["name"] in trained | others, claim["id"]


def test_a_mean_over_languages_weighs_each_equally() -> None:
    """And every language once, on both sides: all ten (A), or those with human captions (HA)."""
    people = {"mscoco": {"en", "zh", "ja"}, "multi30k": {"en", "de", "fr", "cs"}}
    for claim in read_claims(ROOT / "config" / "claims" / "smalr.yaml"):
        for compared in comparisons(claim):
            sides = [terms(side) for side in (compared.greater, *compared.than)]
            if not sides[0][0][1]["weight"]:
                continue
            for side in sides:
                weights = [sign * float(Fraction(term["weight"])) for sign, term in side]
                assert sum(weights) == pytest.approx(1, abs=1e-5) and len(set(weights)) == 1
                assert len({(term["name"], term["queries"]) for _, term in side}) == 1
                codes = {term["language"] for _, term in side}
                assert len(codes) == len(side) and codes in (set(TEN), people[compared.dataset])
                assert codes == {term["language"] for _, term in sides[0]}, claim["id"]
