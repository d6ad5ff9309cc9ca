"""Claims that name a row with `consistency`, and all claims of SMALR judged by its printed numbers."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from evaluations import ROOT, Key, claims_of, write_evaluations, write_printed_evaluations

from pipeline import settings as configuration
from pipeline.common.errors import InputError
from pipeline.tables.claim_terms import comparisons, parts, read_claims, terms
from pipeline.tables.claims import judge_claims
from pipeline.tables.settings import ClaimSettings

CLAIMS = ROOT / "config" / "claims" / "smalr.yaml"

Test = dict[Key, dict[str, float]]


def settings(scale: str = "demo", **changed: Any) -> ClaimSettings:
    loaded = configuration.load({"scale": scale}, ROOT / "config")
    return configuration.claim_settings(loaded).model_copy(update=changed)


def judge(folder: Path, paths: list[Path], of: ClaimSettings, claims: Path = CLAIMS) -> pd.DataFrame:
    judge_claims(of, [claims], folder / "claims.csv", folder / "comparison.csv", paths)
    return pd.read_csv(folder / "claims.csv", index_col="id")


def claim_file(folder: Path, *compared: dict[str, Any]) -> Path:
    path = folder / "claims.yaml"
    path.write_text(yaml.safe_dump([{"id": "X", "tables": "2", "claim": "c", "compare": list(compared)}]))
    return path


def of_smalr(
    folder: Path, own: list[float], average: list[float], learned: list[float], images: int = 100
) -> list[Path]:
    """Evaluations of SMALR on Multi30K in its four languages with human captions, one seed."""
    test: Test = {
        ("multi30k", "smalr", queries, 0): dict(zip(("en", "de", "fr", "cs"), values, strict=True))
        for queries, values in (("original", own), ("average", average), ("learned", learned))
    }
    return write_evaluations(folder, test, images)


OWN, AVERAGE, LEARNED = [50.0, 40, 30, 20], [60.0, 45, 32, 21], [58.0, 47, 34, 26]


@pytest.mark.parametrize(
    ("greater", "than", "differences"),
    [
        ("smalr/average", "smalr", [10, 5, 2, 1]),
        ("smalr/learned", "smalr", [8, 7, 4, 6]),
        ("smalr/learned", "smalr/average", [-2, 2, 2, 5]),
    ],
)
def test_a_term_names_the_evaluation_of_its_row(
    tmp_path: Path, greater: str, than: str, differences: list[float]
) -> None:
    """If it used the row without consistency, every difference would be 0."""
    languages = {"multi30k": ["en", "de", "fr", "cs"]}
    claim = claim_file(tmp_path, {"greater": greater, "than": than, "in": languages})
    judge(tmp_path, of_smalr(tmp_path, OWN, AVERAGE, LEARNED), settings(), claim)
    lines = pd.read_csv(tmp_path / "comparison.csv")
    assert lines["difference"].tolist() == pytest.approx(differences)
    assert lines[["greater", "than"]].drop_duplicates().to_numpy().tolist() == [[greater, than]]


def test_a_mean_over_languages_and_a_gain_against_a_gain_are_of_the_named_rows(tmp_path: Path) -> None:
    """Means 35, 39.5 and 41.25; English gains 10, German 5."""
    claim = claim_file(
        tmp_path,
        {"greater": "smalr/learned@HA", "than": "smalr/average@HA", "in": "multi30k"},
        {"greater": "smalr/average@HA", "than": "smalr@HA", "in": ["multi30k"]},
        {"greater": "smalr/average@en - smalr@en", "than": "smalr/average@de - smalr@de", "in": "multi30k"},
    )
    found = judge(tmp_path, of_smalr(tmp_path, OWN, AVERAGE, LEARNED), settings(), claim).loc["X"]
    assert (found["as_claimed"], found["comparisons"]) == (3, 3)
    lines = pd.read_csv(tmp_path / "comparison.csv")
    assert lines["difference"].tolist() == pytest.approx([1.75, 4.5, 5])
    assert lines["measured_greater"].tolist() == pytest.approx([41.25, 39.5, 10])


def test_a_model_has_its_own_seeds_with_and_without_consistency(tmp_path: Path) -> None:
    """It gains 10 of 100 images in every seed: seeds as different as 20 and 70 do not widen the interval."""
    test: Test = {
        ("multi30k", "smalr", queries, seed): {"fr": value + gain}
        for queries, gain in (("original", 0.0), ("average", 10.0))
        for seed, value in enumerate((20.0, 45.0, 70.0))
    }
    claim = claim_file(tmp_path, {"greater": "smalr/average", "than": "smalr", "in": {"multi30k": ["fr"]}})
    judge(tmp_path, write_evaluations(tmp_path, test, 100), settings(seeds=[0, 1, 2]), claim)
    line = pd.read_csv(tmp_path / "comparison.csv").iloc[0]
    assert (line["measured_greater"], line["measured_than"]) == pytest.approx((55, 45))
    # Each seed's gain is of 10 other images of 100: 30 images have a third of 100 each.
    error = (100**2 * (0.3 / 9 - 0.1**2) / 99) ** 0.5
    half = 1.98422 * error  # of Student's t with 99 degrees of freedom
    assert (line["low"], line["high"]) == pytest.approx((10 - half, 10 + half), abs=1e-3)


def test_a_row_that_was_not_evaluated_is_named_with_its_consistency(tmp_path: Path) -> None:
    paths = of_smalr(tmp_path, OWN, AVERAGE, LEARNED)[:2]
    claim = claim_file(tmp_path, {"greater": "smalr/learned", "than": "smalr", "in": {"multi30k": ["en"]}})
    found = judge(tmp_path, paths, settings(), claim).loc["X"]
    assert found["verdict"] == "not testable"
    assert found["reason"].startswith("smalr with queries 'learned' on multi30k is in none of the tables")
    japanese = claim_file(tmp_path, {"greater": "smalr/average", "than": "smalr", "in": {"multi30k": ["ja"]}})
    assert judge(tmp_path, paths, settings(), japanese).loc["X", "verdict"] == "not testable"


def test_an_unknown_consistency_is_not_a_term(tmp_path: Path) -> None:
    claim = claim_file(tmp_path, {"greater": "smalr/averaged", "than": "smalr", "in": {"multi30k": ["en"]}})
    with pytest.raises(InputError, match=r"'smalr/averaged' is not a term like .*smalr/average"):
        read_claims(claim, ())


def test_a_claim_makes_as_many_comparisons_as_its_text() -> None:
    """Models, data sets and languages."""
    found = {claim["id"]: len(list(comparisons(claim))) for claim in claims_of("smalr") if "compare" in claim}
    assert found == {
        "S01": 2, "S04": 2 + 2, "S05": 2 * (2 + 2), "S06": 2, "S08": 2 * 3,
        "S13": 2, "S14": 2 * 10, "S15": 2 * 2, "S16": 2 * 10, "S17": 2, "S18": 2 * 10, "S19": 2,
        "S20": 2, "S21": 3, "S22": 2 * (3 + 4), "S23": 2,
        "S24": 2 * 2,  # two models and both LIWE
        "S25": (11 + 1) * 2,  # eleven smaller vocabularies and MULE, both LIWE
        "S26": 11 + 1 + 1 + 2, "S28": 11 + 1 + 1 + 2,  # LA and MULE too
        "S27": 3, "S29": 2 * 2, "S30": 4, "S33": 2 * 3,
    }  # fmt: skip


REDUCED = {
    f"mule-ten-{kind}-{size}"
    for kind, sizes in (
        ("frequency", (5, 10, 25, 50)),
        ("pca", (50, 100, 200)),
        ("dictionary", (5, 10, 25, 50)),
    )
    for size in sizes
}
LIWE = {"liwe-s-ten", "liwe-l-ten"}


# The other rows of Tables 1 and 2.
OTHERS = {"embn-human+mt", "parallel-embn-human+mt", "mule-full-human+mt", "mule-ten"}
COMPARED = {
    # State of the art: every other row of the tables.
    "S01": [("smalr/learned", {*OTHERS, *LIWE, "embn-en/translated"})],
    "S04": [("liwe-s", {"liwe-s-ten"})],  # one to ten languages
    "S05": [("liwe-s", {"liwe-s-two"}), ("liwe-s-two", {"liwe-s-ten"})],  # 1 -> 2 -> 10
    "S06": [("mule-ten", {"mule-full-human+mt"})],  # more languages
    "S08": [("smalr", {*LIWE, "mule-ten"})],
    "S13": [("smalr", {"liwe-s-ten"})],
    "S14": [("smalr", {"liwe-s-ten"})],
    "S15": [("smalr-la", LIWE)],
    "S16": [("smalr-hem", {"smalr-la"})],
    "S17": [("smalr-hem", {"smalr-la"})],
    "S18": [("smalr", {"smalr-hem"})],
    "S19": [("smalr-la", {"liwe-l-ten"})],
    "S20": [("smalr/average", {"smalr"})],
    "S21": [("smalr/average - smalr", {"smalr/average - smalr"})],  # a gain against gains
    "S22": [("smalr/average", {"smalr"}), ("smalr/learned", {"smalr"})],
    "S23": [("smalr/learned", {"smalr/average"})],
    "S29": [("smalr", {"mule-ten"})],
    "S33": [("smalr", {*LIWE, "mule-ten"})],  # prior work
}


def test_a_claim_compares_the_models_that_its_text_names() -> None:
    """Transcribed from the paper, alike on each data set; claims about Figure 3 are below."""
    found: dict[str, dict[str, dict[str, set[str]]]] = {}
    for claim in claims_of("smalr"):
        for compared in comparisons(claim):
            pairs = found.setdefault(claim["id"], {}).setdefault(compared.dataset, {})
            pairs.setdefault(models_of(compared.greater), set()).update(map(models_of, compared.than))
    assert found.keys() - COMPARED.keys() == {"S24", "S25", "S26", "S27", "S28", "S30"}
    for name, models in COMPARED.items():
        datasets = ["multi30k"] if name == "S21" else ["mscoco", "multi30k"]
        assert sorted(found[name]) == datasets, name
        assert [list(found[name][dataset].items()) for dataset in datasets] == [models] * len(datasets), name


def models_of(text: str) -> str:
    """The models of a term with their signs: `smalr` of a mean over languages, `a - b` of a gain."""
    signs = {
        f"{term['name']}{f'/{queries}' if (queries := term['queries']) else ''}": "" if sign > 0 else "- "
        for sign, term in terms(text)
    }
    return " ".join(sign + name for name, sign in signs.items())


def test_claims_about_figure_3_compare_its_models() -> None:
    """The paper prints no numbers for it, so they cannot distinguish the models."""
    of_figure: dict[str, tuple[set[str], set[str]]] = {
        "S24": ({"mule-ten-frequency-50", "smalr-la"}, LIWE),
        "S25": (REDUCED | {"mule-ten"}, LIWE),
        "S26": ({"smalr"}, REDUCED | LIWE | {"smalr-la", "mule-ten"}),
        "S28": ({"smalr"}, REDUCED | LIWE | {"smalr-la", "mule-ten"}),
        "S30": ({f"mule-ten-dictionary-{least}" for least in (5, 10, 25, 50)}, {"mule-ten"}),
    }
    claims = {claim["id"]: list(comparisons(claim)) for claim in claims_of("smalr")}
    for name, sides in of_figure.items():
        greater = {experiment_of(compared.greater) for compared in claims[name]}
        assert (
            greater,
            {experiment_of(than) for compared in claims[name] for than in compared.than},
        ) == sides, name
    assert [
        (experiment_of(one.greater), *map(experiment_of, one.than), one.within) for one in claims["S27"]
    ] == [
        ("mule-ten-frequency-50", "mule-ten-frequency-5", 2),  # about 1.5: decided
        ("mule-ten-pca-50", "mule-ten-pca-200", 2),
        ("mule-ten-dictionary-50", "mule-ten-dictionary-5", 2),
    ]


def experiment_of(text: str) -> str:
    """The one experiment of a mean over languages."""
    (name,) = {term["name"] for _, term in terms(text)}
    return str(name)


def test_the_required_difference_follows_the_words_of_the_text() -> None:
    claims = claims_of("smalr")
    needs = {claim["id"]: claim["needs"] for claim in claims if "needs" in claim}
    assert needs == {"S18": "nearly all", "S30": "some"}  # "simple baselines such as dictionary mapping"
    sized = {
        claim["id"]
        for claim in claims
        for stated in claim.get("compare", [])
        if {"within", "at_most", "not_below", "by"} & set(stated)
    }
    assert sized == {"S27"}


@pytest.fixture(scope="module")
def by_paper(tmp_path_factory: pytest.TempPathFactory) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Claims and their comparisons on the paper's own numbers."""
    folder = tmp_path_factory.mktemp("paper")
    paths = write_printed_evaluations(folder, ["smalr/table1", "smalr/table2"], ["mR"])
    with pytest.MonkeyPatch.context() as patch:
        # Printed numbers have no images: the signs of the differences decide.
        patch.setattr("pipeline.tables.claims.LEVEL", np.inf)
        claims = judge(folder, paths, settings("paper"))
    return claims, pd.read_csv(folder / "comparison.csv")


def test_the_papers_own_numbers_get_these_verdicts(
    by_paper: tuple[pd.DataFrame, pd.DataFrame],
) -> None:
    """Read by hand against the printed tables. The baselines of Figure 3 are printed nowhere."""
    claims, _ = by_paper
    untested = set(claims.index[claims["verdict"] == "not testable"])
    assert not untested & {"S01", "S20", "S21", "S22", "S23"}
    tested = claims[claims["verdict"] != "not testable"]
    assert set(tested.index[tested["verdict"] == "does not hold"]) == {
        "S06",  # MSCOCO, HA: 76.8 < 76.9
        "S14",  # Multi30K: En 69.6 < 75.2, De 64.7 < 65.2
        "S22",  # MSCOCO: CLC-A on Japanese 75.0 < 77.2
    }
    assert set(tested["verdict"]) == {"holds", "does not hold"}


def test_what_consistency_adds_in_the_papers_tables(by_paper: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    """HA as the tables print it: 77.7, 78.6, 79.7 and 65.0, 68.2, 68.7; the best before 76.9 and 64.3."""
    _, lines = by_paper
    found = {name: of["difference"].tolist() for name, of in lines.groupby("id")}
    assert found["S01"] == pytest.approx([79.7 - 76.9, 68.7 - 64.3], abs=0.11)
    assert found["S20"] == pytest.approx([78.6 - 77.7, 68.2 - 65.0], abs=0.11)
    assert found["S23"] == pytest.approx([79.7 - 78.6, 68.7 - 68.2], abs=0.11)
    (english,) = set(lines[lines["id"] == "S21"]["measured_greater"])
    assert english == pytest.approx(74.1 - 69.6, abs=0.01)


def test_every_comparison_of_consistency_is_in_languages_with_human_captions() -> None:
    people = {"mscoco": {"en", "zh", "ja"}, "multi30k": {"en", "de", "fr", "cs"}}
    asked = {"S01", "S20", "S21", "S22", "S23"}
    for claim in claims_of("smalr"):
        for compared in comparisons(claim):
            sides = (compared.greater, *compared.than)
            every = [part for side in sides for part in parts(side, compared.language, compared.dataset)]
            with_consistency = [part for part in every if part.queries in ("average", "learned")]
            assert bool(with_consistency) == (claim["id"] in asked)
            for part in with_consistency:
                assert part.language in people[compared.dataset]


def test_every_claim_of_the_paper_is_there_and_compares_what_its_tables_have() -> None:
    claims = claims_of("smalr")
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
    """HA is over the languages that have human captions in the paper, A over all ten."""
    found = parts("0.5 * smalr/average@HA - mule-ten@A", "", "mscoco")
    assert [part.language for part in found[:3]] == ["en", "zh", "ja"]
    assert {(part.name, part.queries, part.weight) for part in found[:3]} == {("smalr", "average", 0.5 / 3)}
    assert len(found) == 3 + 10
    assert {(part.name, part.queries, part.weight) for part in found[3:]} == {("mule-ten", "original", -0.1)}
