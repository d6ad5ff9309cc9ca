"""Claims: every one of the paper's is written down, and the paper's own numbers are judged as it is known."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from evaluated import Key, write_evaluations

from pipeline import settings as configuration
from pipeline.common.errors import InputError
from pipeline.tables.cells import cells
from pipeline.tables.claim_terms import read_claims
from pipeline.tables.claims import ONE_SEED, judge_claims
from pipeline.tables.settings import ClaimSettings

ROOT = Path(__file__).parents[2]
CLAIMS = ROOT / "config" / "claims" / "mule.yaml"
PAPERS = ROOT / "pipeline" / "tables" / "papers.csv"

# Experiments of the paper's rows of ML BERT and MUSE in Tables 2 (b), (c) and 3 (b), whether built or not.
OTHERS = {
    ("2", "3"): "bert-embn", ("2", "4"): "bert-parallel-embn", ("2", "5"): "muse-embn",
    ("2", "6"): "muse-parallel-embn", ("2", "7"): "muse-full", ("3", "3"): "bert-embn",
    ("3", "4"): "bert-parallel-embn", ("5", "5"): "embn-vgg",
}  # fmt: skip

FRENCH = {"greater": "mule-full", "than": "parallel-embn", "in": {"multi30k": ["fr"]}}


def settings(scale: str = "demo", *more: str) -> ClaimSettings:
    loaded = configuration.load({"scale": scale}, ROOT / "config")
    chosen = configuration.claim_settings(loaded)
    return chosen.model_copy(update={"experiments": sorted({*chosen.experiments, *more})})


def judged(
    folder: Path, of: ClaimSettings, paths: list[Path], claims: Path = CLAIMS, counts: Path | None = None
) -> pd.DataFrame:
    judge_claims(of, [claims], folder / "claims.csv", folder / "comparison.csv", paths, counts)
    return pd.read_csv(folder / "claims.csv", index_col="id")


def one(folder: Path, **claim: Any) -> Path:
    path = folder / "claims.yaml"
    path.write_text(yaml.safe_dump([{"id": "X", "tables": "2", "claim": "c", **claim}]))
    return path


def of_three(folder: Path, images: int = 200) -> list[Path]:
    """mule-full 40 in French and 60 in German, parallel-embn 30 and 55, embn 20 in French."""
    test: dict[Key, dict[str, float]] = {
        ("multi30k", "mule-full", "original", 0): {"fr": 40.0, "de": 60.0},
        ("multi30k", "parallel-embn", "original", 0): {"fr": 30.0, "de": 55.0},
        ("multi30k", "embn-fr", "original", 0): {"fr": 20.0},
    }
    return write_evaluations(folder, test, images)


def test_every_claim_of_the_paper_is_there_once() -> None:
    claims = read_claims(CLAIMS)
    assert [claim["id"] for claim in claims] == [f"M{number:02d}" for number in range(1, 62)]


def papers_evaluations(folder: Path) -> list[Path]:
    """Evaluations whose mR are those that the paper prints."""
    loaded = configuration.load({"scale": "demo"}, ROOT / "config")
    every = pd.read_csv(PAPERS, dtype=str, keep_default_na=False).query("paper == 'mule' and metric == 'mR'")
    places = ["table", "row", "dataset", "language"]
    printed = {tuple(row[key] for key in places): float(row["value"]) for row in every.to_dict("records")}
    test: dict[Key, dict[str, float]] = {}
    for name in loaded["tables"]:
        if loaded["tables"][name].get("paper") != "mule":
            continue
        for cell in cells(configuration.table_settings(loaded, name)):
            place = (name.removeprefix("table"), str(cell.row["row"]), cell.dataset, cell.language)
            key = (cell.dataset, cell.experiment, cell.queries, 0)
            test.setdefault(key, {})[cell.language] = printed[place]
    for (table, row, dataset, language), value in printed.items():
        if experiment := OTHERS.get((table, row)):
            test.setdefault((dataset, experiment, "original", 0), {})[language] = value
    return write_evaluations(folder, test, images=1000, sentences=1)


@pytest.mark.extended
def test_the_papers_own_numbers_contradict_the_claims_that_they_are_known_to(tmp_path: Path) -> None:
    """Read by hand against the printed tables; every claim about recalls that is not named here holds."""
    paths = papers_evaluations(tmp_path)
    found = judged(tmp_path, settings("paper", *OTHERS.values()), paths)
    contradicted = {
        "M11",  # English: 69.6 < 71.1
        "M13",  # MUSE on Czech and French: 41.8, 40.7 < 43.2 and 51.6 < 52.0 of PARALLEL-EmbN
        "M16", "M24",  # MUSE on English: 69.0 and 69.5 > 68.0
        "M17",  # English: NC -0.3, LC -0.1
        "M19", "M21", "M44",  # German: 61.4 < 61.6
        "M25",  # the gap of English: 19.9 becomes 13.2, less than half goes
        "M31",  # Chinese: 72.2 > 58.8
        "M33",  # French: 46.7 < 52.0
        "M34",  # English on Multi30K: 70.3 < 72.0
        "M35", "M57",  # PARALLEL-EmbN on English, Multi30K: 69.0 < 69.6
        "M55",  # English on MSCOCO without augmentation: 72.0 < 75.6
        "M59", "M60", "M61",  # single exceptions
    }  # fmt: skip
    tested = found[found["verdict"] != "not testable"]
    assert set(tested.index[tested["verdict"] == "does not hold"]) == contradicted
    assert set(tested["verdict"]) == {"holds", "does not hold"}
    assert set(found.index[found["verdict"] == "not testable"]) == {
        "M03", "M04", "M05", "M06", "M07", "M08", "M09", "M39", "M40", "M41", "M42",
    }  # fmt: skip
    compared = pd.read_csv(tmp_path / "comparison.csv")
    shown = compared[compared["paper_difference"].notna()]
    assert len(shown) == 12
    assert shown["difference"].to_numpy() == pytest.approx(shown["paper_difference"].to_numpy(), abs=0.051)


def test_what_is_not_built_is_said_and_becomes_testable_without_an_edit(tmp_path: Path) -> None:
    built = write_evaluations(
        tmp_path,
        {
            ("multi30k", "mule-full", "original", 0): dict.fromkeys(("en", "de", "fr", "cs"), 50.0),
            ("multi30k", "muse-full", "original", 0): dict.fromkeys(("en", "de", "fr", "cs"), 40.0),
        },
    )
    of = settings()
    without = of.model_copy(
        update={"experiments": [name for name in of.experiments if not name.startswith("muse")]}
    )
    before = judged(tmp_path, without, built[:1]).loc["M16"]
    assert before["verdict"] == "not testable"
    assert before["reason"] == "no experiment muse-full in config/experiments.yaml"
    of = of.model_copy(update={"experiments": sorted({*without.experiments, "muse-full"})})
    waiting = judged(tmp_path, of, built[:1]).loc["M16"]
    assert waiting["reason"] == "muse-full on multi30k is in none of the tables that `report` names"
    after = judged(tmp_path, of, built).loc["M16"]
    assert (after["verdict"], after["comparisons"]) == ("holds", 4)


def test_below_scale_paper_sizes_are_not_judged_and_the_papers_are_not_shown(tmp_path: Path) -> None:
    paths = of_three(tmp_path)
    alike = one(tmp_path, compare=[{**FRENCH, "within": 4}])
    found = judged(tmp_path, settings(), paths, alike)
    assert found["verdict"].tolist() == ["not testable at this scale"]
    assert judged(tmp_path, settings("paper"), paths, alike)["verdict"].tolist() == ["does not hold"]
    by = one(tmp_path, compare=[{**FRENCH, "by": {"fr": 4.4}}])
    assert judged(tmp_path, settings(), paths, by)["verdict"].tolist() == ["holds"]
    assert pd.read_csv(tmp_path / "comparison.csv")["paper_difference"].isna().all()
    judged(tmp_path, settings("paper"), paths, by)
    assert pd.read_csv(tmp_path / "comparison.csv")["paper_difference"].tolist() == [4.4]


def test_a_gain_is_compared_with_a_gain(tmp_path: Path) -> None:
    """French gains 10, German 5: the difference is 5, and of half the first 0."""
    terms = "mule-full@{0} - parallel-embn@{0}"
    gains = one(
        tmp_path, compare=[{"greater": terms.format("fr"), "than": terms.format("de"), "in": "multi30k"}]
    )
    found = judged(tmp_path, settings(), of_three(tmp_path), gains)
    assert found["verdict"].tolist() == ["holds"]
    assert found["smallest_difference"].tolist() == [5]
    half = "0.5 * mule-full@fr - 0.5 * parallel-embn@fr"
    halved = one(tmp_path, compare=[{"greater": half, "than": terms.format("de"), "in": "multi30k"}])
    found = judged(tmp_path, settings(), of_three(tmp_path), halved)
    assert found["verdict"].tolist() == ["does not hold"]
    assert found["smallest_difference"].tolist() == [0]


@pytest.mark.parametrize(
    ("needs", "verdict"), [("all", "does not hold"), ("most", "does not hold"), ("some", "holds")]
)
def test_all_most_or_some_comparisons_are_needed(tmp_path: Path, needs: str, verdict: str) -> None:
    """parallel-embn is above embn and below mule-full: one of two."""
    compared = {"greater": "parallel-embn", "than": ["embn", "mule-full"], "in": {"multi30k": ["fr"]}}
    claims = one(tmp_path, needs=needs, compare=[compared])
    found = judged(tmp_path, settings(), of_three(tmp_path), claims).iloc[0]
    assert (found["verdict"], found["comparisons"], found["as_claimed"]) == (verdict, 2, 1)
    assert found["reason"] == f"1 of 2 comparisons are not as claimed; {ONE_SEED}"


@pytest.mark.parametrize(("below", "verdict"), [(2, "holds"), (3, "does not hold")])
def test_nearly_all_are_nine_of_ten(tmp_path: Path, below: int, verdict: str) -> None:
    """SMALR improves "nearly all" of 20 columns: 18 by its tables. More than half would be most of them."""
    values = {f"l{chr(ord('a') + n)}": 40.0 - 10 * (n < below) for n in range(20)}
    test: dict[Key, dict[str, float]] = {
        ("multi30k", "mule-full", "original", 0): values,
        ("multi30k", "parallel-embn", "original", 0): dict.fromkeys(values, 35.0),
    }
    compared = {"greater": "mule-full", "than": "parallel-embn", "in": {"multi30k": list(values)}}
    paths = write_evaluations(tmp_path, test, images=20)
    found = judged(tmp_path, settings(), paths, one(tmp_path, needs="nearly all", compare=[compared]))
    assert (found["verdict"].iloc[0], found["as_claimed"].iloc[0]) == (verdict, 20 - below)


@pytest.mark.parametrize(("limit", "verdict"), [(9, "does not hold"), (10, "holds")])
def test_not_below_allows_any_gain_and_so_large_a_loss(tmp_path: Path, limit: int, verdict: str) -> None:
    """Mule-full is 10 above parallel-embn in French, which no limit forbids; turned round it is 10 below."""
    paths, paper = (
        of_three(tmp_path, images=20),
        settings().model_copy(update={"scale": "paper", "papers_data": ["multi30k", "mscoco"]}),
    )
    gain = {**FRENCH, "not_below": limit}
    loss = {**gain, "greater": FRENCH["than"], "than": FRENCH["greater"]}
    for compared, expected in ((gain, "holds"), (loss, verdict)):
        found = judged(tmp_path, paper, paths, one(tmp_path, compare=[compared]))
        assert found["verdict"].tolist() == [expected]
        assert pd.read_csv(tmp_path / "comparison.csv")["p"].isna().all()
    here = judged(
        tmp_path, paper.model_copy(update={"papers_data": []}), paths, one(tmp_path, compare=[gain])
    )
    assert here["verdict"].tolist() == ["not testable at this scale"]


def test_a_significant_gain_needs_p_below_the_level(tmp_path: Path) -> None:
    strict = one(tmp_path, significant=True, compare=[FRENCH])
    assert judged(tmp_path, settings(), of_three(tmp_path), strict)["verdict"].tolist() == ["holds"]
    few = judged(tmp_path, settings(), of_three(tmp_path, images=20), strict).iloc[0]  # 8 found against 6
    assert few["verdict"] == "does not hold"
    assert few["largest_p"] > 0.05
    assert "1 of 1 are as claimed with p of 0.05 or more" in few["reason"]
    plain = one(tmp_path, compare=[FRENCH])
    assert judged(tmp_path, settings(), of_three(tmp_path, images=20), plain)["verdict"].tolist() == ["holds"]


def of_seeds(folder: Path, full: list[float], parallel: list[float]) -> list[Path]:
    """mR in French of each seed of mule-full and parallel-embn, among 200 images."""
    test: dict[Key, dict[str, float]] = {
        ("multi30k", name, "original", seed): {"fr": value}
        for name, values in (("mule-full", full), ("parallel-embn", parallel))
        for seed, value in enumerate(values)
    }
    return write_evaluations(folder, test, images=200)


def test_a_claim_is_judged_over_all_seeds_and_images(tmp_path: Path) -> None:
    """The first seed has 20 against 40, the mean 60 against 40; which seed is drawn decides the sign.

    The differences of the seeds, -20, 40 and 40, have the standard error 20, and images add 2: t = 1 with
    two degrees of freedom.
    """
    of, apart = (
        settings().model_copy(update={"seeds": [0, 1, 2]}),
        of_seeds(tmp_path, [20, 80, 80], [40, 40, 40]),
    )
    assert judged(tmp_path, of, apart, one(tmp_path, compare=[FRENCH])).loc["X", "verdict"] == "holds"
    line = pd.read_csv(tmp_path / "comparison.csv").iloc[0]
    assert (line["measured_greater"], line["measured_than"], line["difference"]) == (60, 40, 20)
    assert line["p"] == pytest.approx(0.4226, abs=0.005)
    assert (line["low"], line["high"]) == pytest.approx((20 - 4.30 * 20, 20 + 4.30 * 20), abs=3)
    strict = one(tmp_path, significant=True, compare=[FRENCH])
    assert judged(tmp_path, of, apart, strict).loc["X", "verdict"] == "does not hold"
    first = of.model_copy(update={"seeds": [0]})
    assert (
        judged(tmp_path, first, apart, one(tmp_path, compare=[FRENCH])).loc["X", "verdict"] == "does not hold"
    )


def test_seeds_that_agree_leave_images_to_decide(tmp_path: Path) -> None:
    of, alike = (
        settings().model_copy(update={"seeds": [0, 1, 2]}),
        of_seeds(tmp_path, [60, 60, 60], [40, 40, 40]),
    )
    strict = one(tmp_path, significant=True, compare=[FRENCH])
    assert judged(tmp_path, of, alike, strict).loc["X", "verdict"] == "holds"
    line = pd.read_csv(tmp_path / "comparison.csv").iloc[0]
    error = 100 * (0.2 * 0.8 / 200) ** 0.5  # of the 40 of 200 images that are found by one alone
    assert line["low"] == pytest.approx(20 - 1.96 * error, abs=0.6)
    assert line["high"] == pytest.approx(20 + 1.96 * error, abs=0.6)


def test_rows_of_a_language_among_other_images_are_not_compared(tmp_path: Path) -> None:
    (tmp_path / "fewer").mkdir()
    fewer = write_evaluations(
        tmp_path / "fewer", {("multi30k", "mule-full", "original", 0): {"fr": 50.0}}, 30
    )
    others = of_three(tmp_path)[1:]
    with pytest.raises(InputError, match=r"fr: 30 images and 60 sentences in .*; 200 images and 400 sent"):
        judged(tmp_path, settings(), [*fewer, *others], one(tmp_path, compare=[FRENCH]))
    assert not (tmp_path / "claims.csv").exists()


@pytest.mark.parametrize(
    ("english", "verdict"),
    [
        (57.0, "holds"),
        (56.0, "holds"),
        (55.0, "does not hold"),
        (60.0, "does not hold"),
        (61.0, "does not hold"),
    ],
)
def test_m27_a_slight_decrease_is_neither_a_large_one_nor_a_gain(
    tmp_path: Path, english: float, verdict: str
) -> None:
    """EmbN has 60; 4 is the paper's own decrease, rounded up."""
    test: dict[Key, dict[str, float]] = {
        ("mscoco", "embn-en", "original", 0): {"en": 60.0},
        ("mscoco", "mule-full", "original", 0): {"en": english},
    }
    paths = write_evaluations(tmp_path, test, images=100)
    assert judged(tmp_path, settings("paper"), paths).loc["M27", "verdict"] == verdict
    assert judged(tmp_path, settings(), paths).loc["M27", "verdict"] == "not testable at this scale"


@pytest.mark.parametrize(("better", "verdict"), [(4, "holds"), (3, "does not hold")])
def test_m58_counts_the_best_row_of_each_column(tmp_path: Path, better: int, verdict: str) -> None:
    """MULE full has 50, the best of the others 40 in some of the seven columns, else 60, and the rest 10."""
    columns = [("multi30k", code) for code in ("en", "de", "fr", "cs")]
    columns += [("mscoco", code) for code in ("en", "zh", "ja")]
    test: dict[Key, dict[str, float]] = {}
    for number, (dataset, code) in enumerate(columns):
        values = {"mule-full": 50.0, "bert-embn": 10.0}
        values |= {"bert-parallel-embn": 40.0 if number < better else 60.0}
        if dataset == "multi30k":
            values |= {"muse-embn": 10.0, "muse-parallel-embn": 10.0, "muse-full": 10.0}
        for name, value in values.items():
            test.setdefault((dataset, name, "original", 0), {})[code] = value
    found = judged(
        tmp_path, settings("demo", *OTHERS.values()), write_evaluations(tmp_path, test, images=100)
    )
    assert (found.loc["M58", "verdict"], found.loc["M58", "comparisons"]) == (verdict, 7)
    assert found.loc["M58", "as_claimed"] == better
    lines = pd.read_csv(tmp_path / "comparison.csv").query("id == 'M58'")
    assert set(lines["than"]) == {"bert-parallel-embn"}


# Split, languages that caption some images, one of these, its images and descriptions; like the published.
MSCOCO = [
    ("train", "en", "en", 80_000, 400_000),
    ("train", "en ja", "en", 21_900, 109_500), ("train", "en ja", "ja", 21_900, 109_500),
    ("train", "en zh", "en", 16_000, 80_000), ("train", "en zh", "zh", 16_000, 17_600),
    ("train", "en ja zh", "en", 2_341, 11_705), ("train", "en ja zh", "ja", 2_341, 11_705),
    ("train", "en ja zh", "zh", 2_341, 2_418),
    *[(split, "en ja zh", code, 1_000, each) for split in ("test", "val")
      for code, each in (("en", 5_000), ("ja", 5_000), ("zh", 1_100))],
]  # fmt: skip
MULTI30K = [("train", "en", "en", 29_000, 0), ("test", "en", "en", 1_000, 0), ("val", "en", "en", 1_014, 0)]


def counts(folder: Path, **changed: tuple[Any, ...]) -> Path:
    """counts.csv of both data sets; `changed`: other rows in the place of `MSCOCO`'s, `rowN`."""
    rows = [changed.get(f"row{number}", row) for number, row in enumerate(MSCOCO)]
    every = [("mscoco", *row) for row in rows] + [("multi30k", *row) for row in MULTI30K]
    columns = ["dataset", "split", "captioned_in", "language", "images", "descriptions"]
    pd.DataFrame(every, columns=columns).to_csv(folder / "counts.csv", index=False)
    return folder / "counts.csv"


def test_m07_the_sizes_of_the_data_are_counted(tmp_path: Path) -> None:
    """In Chinese 16,000 + 2,341 + 2,000 images and 17,600 + 2,418 + 2,200 captions: 20,341 and 22,218."""
    found = judged(tmp_path, settings("paper"), [], counts=counts(tmp_path)).loc["M07"]
    assert (found["verdict"], found["comparisons"], found["as_claimed"]) == ("holds", 10, 10)
    assert "31,783" in found["reason"]
    lines = pd.read_csv(tmp_path / "comparison.csv").query("id == 'M07'").set_index("greater")
    assert lines.loc["images ja", "measured_greater"] == 21_900 + 2_341 + 2_000
    assert list(lines.loc["descriptions zh", ["measured_greater", "measured_than"]]) == [22_218, 22_218]
    assert lines.loc["images_in_all_languages", "measured_greater"] == 4_341
    fewer = counts(tmp_path, row4=("train", "en zh", "zh", 15_999, 17_600))
    found = judged(tmp_path, settings("paper"), [], counts=fewer).loc["M07"]
    assert (found["verdict"], found["as_claimed"]) == ("does not hold", 9)


@pytest.mark.parametrize(
    ("alone", "verdict"), [(120_724, "holds"), (120_723, "does not hold"), (80_000, "does not hold")]
)
def test_m08_three_quarters_of_the_images_have_english_captions_only(
    tmp_path: Path, alone: int, verdict: str
) -> None:
    """40,241 training images have others too, a quarter of 160,964."""
    path = counts(tmp_path, row0=("train", "en", "en", alone, 5 * alone))
    found = judged(tmp_path, settings("paper"), [], counts=path).loc["M08"]
    assert found["verdict"] == verdict
    assert found["smallest_difference"] == pytest.approx(100 * alone / (alone + 40_241) - 75, abs=1e-5)


@pytest.mark.parametrize(("chinese", "verdict"), [(29_200, "holds"), (29_300, "does not hold")])
def test_m09_human_chinese_captions_are_few_once_english_ones_are_translated(
    tmp_path: Path, chinese: int, verdict: str
) -> None:
    """31,642 beside the translations of 601,205 are five percent; 2,418 of them are of other images."""
    path = counts(tmp_path, row4=("train", "en zh", "zh", 16_000, chinese))
    found = judged(tmp_path, settings("paper"), [], counts=path).loc["M09"]
    assert found["verdict"] == verdict
    share = 100 * (chinese + 2_418) / (chinese + 2_418 + 601_205)
    assert found["smallest_difference"] == pytest.approx(5 - share, abs=1e-5)


def test_counts_are_judged_at_scale_paper_alone_and_where_they_were_made(tmp_path: Path) -> None:
    for name in ("M07", "M08", "M09"):
        here = judged(tmp_path, settings(), [], counts=counts(tmp_path)).loc[name]
        assert here["verdict"] == "not testable at this scale"
        assert here["reason"] == "a count of the published data; results/counts.csv has this configuration's"
        without = judged(tmp_path, settings("paper"), []).loc[name]
        assert without["verdict"] == "not testable"
        assert "table1 is among the tables" in without["reason"]


def test_a_data_set_that_this_scale_lacks_is_left_out(tmp_path: Path) -> None:
    both = [{"greater": "mule-full", "than": "parallel-embn", "in": {"multi30k": ["fr"], "mscoco": ["zh"]}}]
    of = settings().model_copy(update={"datasets": {"multi30k": "multi30k"}})
    found = judged(tmp_path, of, of_three(tmp_path), one(tmp_path, compare=both)).iloc[0]
    assert (found["verdict"], found["comparisons"]) == ("holds", 1)
    missing = "left out: no data set of this configuration stands for mscoco"
    assert found["reason"] == f"{missing}; {ONE_SEED}"
    chinese = [{"greater": "mule-full", "than": "parallel-embn", "in": {"mscoco": ["zh"]}}]
    found = judged(tmp_path, of, of_three(tmp_path), one(tmp_path, compare=chinese)).iloc[0]
    assert found["verdict"] == "not testable at this scale"


@pytest.mark.parametrize("queries", ["", "/average", "/learned"])
def test_means_over_human_captions_are_not_judged_on_translated_ones(tmp_path: Path, queries: str) -> None:
    """The Japanese captions are Google's; SMALR's HA on MSCOCO is over En, Zh and Ja."""

    def mean(name: str) -> str:
        return " + ".join(f"0.333333 * {name}@{code}" for code in ("en", "zh", "ja"))

    of = settings().model_copy(
        update={
            "datasets": {"mscoco": "flickr8kcn"},
            "human": {"flickr8kcn": ["en", "zh"]},
            "languages": {"flickr8kcn": ["en", "zh", "ja"]},
        }
    )
    ha = [{"greater": mean(f"smalr{queries}"), "than": mean("mule-ten"), "in": "mscoco"}]
    found = judged(tmp_path, of, [], one(tmp_path, compare=ha)).iloc[0]
    assert found["verdict"] == "not testable at this scale"
    assert found["reason"] == "flickr8kcn has no human captions in ja"
    one_language = [{"greater": f"smalr{queries}", "than": "mule-ten", "in": {"mscoco": ["ja"]}}]
    found = judged(tmp_path, of, [], one(tmp_path, compare=one_language)).iloc[0]
    assert found["verdict"] == ("not testable at this scale" if queries else "not testable")


def test_a_claim_on_models_of_other_languages_is_not_judged(tmp_path: Path) -> None:
    """MULE of two languages is not the paper's of four."""
    compared = [{"greater": "mule-full", "than": "parallel-embn", "in": {"multi30k": ["de"]}}]
    judged_here = judged(tmp_path, settings(), of_three(tmp_path), one(tmp_path, compare=compared)).iloc[0]
    assert judged_here["verdict"] in ("holds", "does not hold")
    of = settings().model_copy(update={"languages": {**settings().languages, "multi30k": ["en", "de"]}})
    found = judged(tmp_path, of, of_three(tmp_path), one(tmp_path, compare=compared)).iloc[0]
    assert found["verdict"] == "not testable at this scale"
    own, of_paper = "multi30k has its own captions in en, de", "multi30k has them in en, de, fr, cs"
    assert found["reason"] == f"{own}; in the paper {of_paper}"


def test_a_claim_on_features_that_are_not_at_hand_is_not_testable_here(tmp_path: Path) -> None:
    compared = [{"greater": "mule-full", "than": "on-vgg", "in": {"multi30k": ["fr"]}}]
    of = settings().model_copy(update={"left_out": {"on-vgg": "no features vgg"}})
    found = judged(tmp_path, of, of_three(tmp_path), one(tmp_path, compare=compared)).iloc[0]
    assert (found["verdict"], found["reason"]) == ("not testable at this scale", "on-vgg: no features vgg")


def test_mistakes_in_claims_are_told_together(tmp_path: Path) -> None:
    path = one(
        tmp_path,
        significnt=True,
        compare=[
            {"greater": "embn", "than": "mule full", "in": {"multi30k": ["en"]}},
            {"greater": "embn", "than": "mule-full@en", "in": "multi30k", "metrics": ["R@1"]},
            {"greater": "embn", "than": "vse", "in": {"multi30k": ["en"]}, "within": 1, "at_most": 1},
        ],
        counts=[
            {"count": "imags", "in": "mscoco", "above": 3},
            {"count": "images", "in": "mscoco", "about": 3},
            {"count": "images", "below": 3},
        ],
    )
    with pytest.raises(InputError) as error:
        read_claims(path)
    assert "X: expected one of compare, counts, paper_scale_only, untestable" in str(error.value)
    assert "X.compare.2: expected one of within, at_most, not_below" in str(error.value)
    assert "X.counts.0.count: found 'imags', expected one of images" in str(error.value)
    assert "X.counts.1: expected about and within, above, or below" in str(error.value)
    assert "X.counts.2: keys unknown or missing: in" in str(error.value)
    for mistake in ("'significnt'", "'mule full' is not a term", "'embn' needs a language", "found 'R@1'"):
        assert mistake in str(error.value)


def test_a_verdict_says_what_rests_on_translations(tmp_path: Path) -> None:
    """Multi30K's French is human in the paper and here, Japanese in the paper alone; Arabic nowhere."""
    full: dict[Key, dict[str, float]] = {
        ("multi30k", name, "original", 0): {"fr": 40.0, "de": 60.0} for name in ("mule-full", "parallel-embn")
    }
    trained_on = {("multi30k", "mule-full", "original", 0): {"en-fr": {"dictionary": 5}}}
    own = settings("demo")
    for human, said in ((["en", "de", "fr"], ""), (["en", "de"], "; captions in fr are translations here")):
        paths = write_evaluations(tmp_path, full, trained_on=trained_on)
        of = own.model_copy(update={"human": {**own.human, "multi30k": human}})
        found = judged(tmp_path, of, paths, one(tmp_path, compare=[FRENCH])).loc["X"]
        assert found["reason"].endswith(f"1 of 1 rest on word-by-word translations{said}; {ONE_SEED}")
        line = pd.read_csv(tmp_path / "comparison.csv", keep_default_na=False).iloc[0]
        assert line["translations"] == "dictionary (word by word)" and line["word_by_word"] == "yes"
        assert line["not_human"] == ("fr" if said else "")
    bare = judged(tmp_path, own, write_evaluations(tmp_path, full), one(tmp_path, compare=[FRENCH])).loc["X"]
    assert "translations" not in bare["reason"]
