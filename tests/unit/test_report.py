"""The report on hand-written inputs: it shows what was measured."""

import base64
import hashlib
import io
import itertools
import re
from collections.abc import Mapping, Sequence
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from evaluations import Key, Translations, write_evaluations
from PIL import Image

from pipeline import settings as configuration
from pipeline.common.errors import InputError
from pipeline.report import charts
from pipeline.report.figures import SIDE, TestSentences, _images, _query, thumbnails
from pipeline.report.pages import difference, main_of, write_page
from pipeline.report.report import _curves, _in_order, natural, write_report
from pipeline.report.tables import _label, of_comparison
from pipeline.tables.claims import judge_claims
from pipeline.tables.tabulate import tabulate

ROOT = Path(__file__).parents[2]
PAPERS = ROOT / "config" / "papers" / "table2.csv"

PARALLEL = {"section": "(a)", "row": 2, "group": "FastText (Baseline)", "method": "PARALLEL-EmbN"}
FULL = {"section": "(d)", "row": 11, "group": "MULE (Ours)", "method": "Full <b>"}

# Two rows of Table 2 in two of its languages.
ROWS = [{**PARALLEL, "experiment": "parallel-embn"}, {**FULL, "experiment": "mule-full"}]
TABLE = {"paper": "mule", "table": 2, "columns": {"multi30k": ["de", "fr"]}, "rows": ROWS}
TEST: dict[Key, dict[str, float]] = {
    ("multi30k", "parallel-embn", "original", 0): {"de": 55.0, "fr": 30.0},
    ("multi30k", "mule-full", "original", 0): {"de": 50.0, "fr": 40.0},
}


def report(
    folder: Path,
    test: dict[Key, dict[str, float]] = TEST,
    trained_on: Mapping[Key, Translations] | None = None,
    with_claims: bool = True,
    claims_of: Sequence[str] = ("mule",),
    figures: Sequence[Path] = (),
    **user: Any,
) -> str:
    """The report's text, of one table; also a counted table, a figure, a curve, a benchmark and a source.

    claims_of: papers. figures: further ones.
    """
    loaded = configuration.load(
        {"scale": "demo", "tables": {"mine": TABLE}, "report": ["mine", "table1"], **user}, ROOT / "config"
    )
    folder.mkdir(exist_ok=True)
    paths = write_evaluations(folder, test, images=100, trained_on=trained_on)
    papers = folder / "papers.csv"  # as if the paper had a name that HTML has to escape
    papers.write_text(PAPERS.read_text().replace("EmbN+NC+LC+LP (Full)", str(FULL["method"])))
    of_mine = configuration.table_settings(loaded, "mine")
    numbers = [papers] if of_mine.table.table else []
    tabulate(of_mine, paths, folder / "mine.csv", folder / "c.csv", numbers)
    claims = folder / "claims.csv", folder / "claim-comparisons.csv"
    of_claims = configuration.claim_settings(loaded)
    judge_claims(of_claims, [ROOT / f"config/claims/{one}.yaml" for one in claims_of], *claims, paths)
    counted = {
        "table": 1,
        "dataset": "multi30k",
        "language": "de",
        "metric": "images",
        "measured": 600,
        "paper": "29K",
    }
    pd.DataFrame([counted]).to_csv(folder / "table1.csv", index=False)
    (folder / "figure3.html").write_text("<main><p>a figure</p></main>")
    curves = folder / "multi30k" / "experiments" / "mule-full" / "seed0" / "curves.csv"
    curves.parent.mkdir(parents=True)
    pd.DataFrame({"epoch": [1, 2, 3], "val_mR_de": [10, 30, 45.0], "val_mR_fr": [5, 20, 35.0]}).to_csv(curves)
    (folder / "logs" / "multi30k").mkdir(parents=True)
    (folder / "logs" / "multi30k" / "mule-full-0-train.tsv").write_text("s\tmax_rss\n90.5\t471.26\n")
    (folder / "logs" / "multi30k" / "another-0-train.tsv").write_text("s\tmax_rss\n60\t1\n")
    (folder / "logs" / "multi30k" / "extract-features-vgg-2-of-3.tsv").write_text("s\tmax_rss\n30\t1\n")
    (folder / "found").mkdir()
    (folder / "found" / "a.txt").write_text("a")
    listed = [
        ("texts", "a.txt", hashlib.sha256(b"a").hexdigest()),
        ("texts", "b.txt", "0" * 64),
        ("other", "c", ""),
    ]
    sources = pd.DataFrame(listed, columns=["dataset", "file", "sha256"]).assign(licence="free")
    sources.to_csv(folder / "sources.csv", index=False)
    told = configuration.report_settings(loaded, ROOT / "config")
    jobs = ["multi30k/mule-full-0-train", "multi30k/extract-features-vgg"]
    more = {"files": ["a.txt", "b.txt"], "jobs": jobs}
    write_report(
        told.model_copy(update=more),
        {"mine": folder / "c.csv", "table1": folder / "table1.csv"},
        folder / "logs",
        folder / "sources.csv",
        folder / "found",
        folder / "report.html",
        claims[0] if with_claims else None,
        claims[1] if with_claims else None,
        [folder / "figure3.html", *figures],
        [curves],
        {"multi30k": folder / "sources.csv"},
    )
    return (folder / "report.html").read_text(encoding="utf-8")


def plain(html: str) -> str:
    """The text that a reader sees."""
    return re.sub(r"\s+", " ", unescape(re.sub(r"<style>.*?</style>|<[^>]+>", " ", html, flags=re.DOTALL)))


def of_table(html: str, name: str) -> str:
    """The part of the report that contains a table."""
    start = html.index(f'<section id="{name}">')
    return html[start : html.index("</section>", start)]


def test_a_table_has_the_papers_number_next_to_ours_and_the_best_of_each_in_bold(tmp_path: Path) -> None:
    html = report(tmp_path)
    section = of_table(html, "mine")
    body = section[section.index("<tbody") : section.index("</tbody>")]
    cells = re.findall(
        r'<td role="cell" class="number[^"]*" data-label="[^"]*"><span>(.*?)</span></td>', body
    )
    assert cells == [
        "<b>55.0</b>", '<b>61.6</b>', "30.0", "52.0",
        "50.0", "61.4", "<b>40.0</b>", "<b>56.4</b>",
    ]  # fmt: skip
    assert "Candidates: Multi30K (demo) German, French: 100 images and 200 sentences." in plain(section)
    assert "Chance 7.0 7.0" in plain(section)
    heads = re.search(r"<thead.*?</thead>", section, re.DOTALL)
    assert heads
    named = plain(heads[0]).strip()
    assert named == "Model Multi30K (demo) German French ours paper ours paper"
    assert "Full &lt;b&gt;" in section and "Full <b>" not in section


def test_a_row_with_translations_word_by_word_is_marked(tmp_path: Path) -> None:
    full, parallel = ("multi30k", "mule-full", "original", 0), ("multi30k", "parallel-embn", "original", 0)
    by_google = {"en-de": {"google": 9}}
    html = report(tmp_path, trained_on={full: {**by_google, "en-fr": {"dictionary": 9}}, parallel: by_google})
    rows = re.findall(r'<tr role="row">(.*?)</tr>', of_table(html, "mine"), flags=re.DOTALL)
    heading, _, _, *below_it = [plain(row).strip() for row in rows]
    assert heading == "Model Translations Multi30K (demo)"
    assert below_it == [
        "PARALLEL-EmbN google 55.0 61.6 30.0 52.0",
        "Full <b> † en-de: google; en-fr: dictionary (word by word) 50.0 61.4 40.0 56.4",
    ]
    below = plain(of_table(html, "mine").partition("</table>")[2])
    assert "† with translations made word by word from a bilingual dictionary" in below


def test_a_table_without_translations_has_no_footnote(tmp_path: Path) -> None:
    text = plain(of_table(report(tmp_path), "mine"))
    assert "†" not in text
    assert "Translations" not in text


def test_numbers_that_are_printed_alike_are_best_together(tmp_path: Path) -> None:
    """55.04 and 54.96 are both printed as 55.0."""
    test: dict[Key, dict[str, float]] = {
        ("multi30k", "parallel-embn", "original", 0): {"de": 55.04, "fr": 30.0},
        ("multi30k", "mule-full", "original", 0): {"de": 54.96, "fr": 40.0},
    }
    assert of_table(report(tmp_path, test), "mine").count("<b>55.0</b>") == 2


def test_panels_of_a_data_set_have_the_same_vertical_axis(tmp_path: Path) -> None:
    """At most 20 and 45 percent, whose own axes would end at 20 and 50."""
    paths = []
    for name, highest in (("embn", 20), ("mule-full", 45)):
        path = tmp_path / "multi30k" / "experiments" / name / "seed0" / "curves.csv"
        path.parent.mkdir(parents=True)
        pd.DataFrame({"epoch": [1, 2], "val_mR_de": [10, highest], "val_mR_fr": [5, 9]}).to_csv(path)
        paths.append(path)
    loaded = configuration.load({"scale": "demo"}, ROOT / "config")
    (of_dataset,) = _curves(paths, configuration.report_settings(loaded, ROOT / "config"))
    levels = [re.findall(r'text-anchor="end">(\d+)<', panel["svg"]) for panel in of_dataset["panels"]]
    assert levels[0] == levels[1] == ["0", "20", "40"]


def test_the_report_and_the_table_round_alike(tmp_path: Path) -> None:
    """Six recalls whose mean is 23.15 on paper, and 23.150000000000002 in binary; 24.25 is in both."""
    mean = sum([0.5, 18.0, 39.0, 7.1, 30.2, 44.1]) / 6
    test: dict[Key, dict[str, float]] = {
        ("multi30k", "parallel-embn", "original", 0): {"de": 55.0, "fr": 24.25},
        ("multi30k", "mule-full", "original", 0): {"de": 50.0, "fr": mean},
    }
    text = plain(report(tmp_path, test))
    assert pd.read_csv(tmp_path / "mine.csv", dtype=str)["multi30k fr"].tolist() == ["24.3", "23.2"]
    assert "55.0 61.6 24.3 52.0" in text
    assert "50.0 61.4 23.2 56.4" in text
    assert "23.1" not in text


def test_the_report_says_how_far_its_numbers_can_be_trusted(tmp_path: Path) -> None:
    text = plain(report(tmp_path))
    assert "only the order of rows and the sign of differences can be compared" in text
    assert "61.6" in text  # the paper's number is shown all the same


def test_everything_requested_is_in_the_report(tmp_path: Path) -> None:
    text = plain(report(tmp_path))
    for words in (
        "a figure",
        "600 29K",  # a counted table, line by line
        "texts : 1 of 2 files there; free",
        "there, as listed",
        "not there",
        hashlib.sha256((tmp_path / "sources.csv").read_bytes()).hexdigest(),
        "mule-full-0-train 90.5 471",
        "snakemake results/table11.csv --cores all",
        "snakemake results/lessons/table1.csv --cores all",
        "numpy " + np.__version__,
        "M20",
    ):
        assert words in text, words
    assert "snakemake results/table1.csv" not in text


def test_a_claims_verdict_and_p_are_shown(tmp_path: Path) -> None:
    text = plain(report(tmp_path))
    interval = r"\(−\d+\.\d to [−+]\d\.\d\)"
    assert re.search(rf"M19 2 With NC, LC .*? does not hold −5.0 {interval}, p 0\.\d{{3}} ", text)
    assert "no experiment" in text or "in none of the tables" in text


def test_run_times_are_only_of_the_jobs_of_this_report(tmp_path: Path) -> None:
    text = plain(report(tmp_path))
    assert "extract-features-vgg-2-of-3 30.0 1" in text
    assert "another-0-train" not in text
    assert "2 minutes in all" in text  # 90.5 and 30 seconds


def test_a_report_of_own_data_mentions_no_paper(tmp_path: Path) -> None:
    table = {"columns": {"multi30k": ["de", "fr"]}, "rows": ROWS}
    html = report(tmp_path, with_claims=False, tables={"mine": table})
    assert "<h1>Image-sentence retrieval on multi30k, mscoco</h1>" in html
    shown = html[html.index("<body>") : html.index('<section id="figure3">')]
    for word in ("MULE paper", "claims", "grey", "Map of scales", ">paper<"):
        assert word not in shown, word
    assert 'id="claims"' not in html and 'id="scales"' not in html


def test_headings_are_in_order_and_every_table_has_a_caption(tmp_path: Path) -> None:
    html = report(tmp_path)
    levels = [int(level) for level in re.findall(r"<h([1-6])", html)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    tables = re.findall(r"<table.*?</table>", html, re.DOTALL)
    assert tables and all("<caption>" in table for table in tables)


def test_with_many_columns_the_papers_numbers_are_on_separate_lines(tmp_path: Path) -> None:
    html = report(tmp_path, tables={"mine": {**TABLE, "metrics": "all"}})
    section = of_table(html, "mine")
    (first, *_) = re.findall(r'<td role="cell" class="number" data-label="German mR">(.*?)</td>', section)
    assert first == '<span><b>55.0</b></span><span class="paper" data-label="paper"><b>61.6</b></span>'
    assert section.count('<span class="paper">paper</span>') == 2  # a row each


@pytest.mark.parametrize(
    ("value", "text"), [(0.04, "+0.04"), (-0.04, "−0.04"), (0.0, "+0.0"), (-1.25, "−1.3"), (None, "–")]
)
def test_a_small_difference_keeps_its_sign(value: float | None, text: str) -> None:
    assert difference(value) == text


@pytest.mark.parametrize(
    ("row", "label"),
    [
        ({"section": "(a)", "group": "MUSE", "method": "EmbN", "training_data": ""}, "(a) MUSE: EmbN"),
        ({"section": "(b)", "group": "", "method": "EmbN", "training_data": "Human"}, "(b) EmbN (Human)"),
        ({"section": "", "group": "", "method": "VSE", "training_data": ""}, "VSE"),
        (
            {"section": "as published code", "group": "Bilingual", "method": "+ c2c", "training_data": ""},
            "as published code: Bilingual + c2c",
        ),
    ],
)
def test_a_row_of_a_plot_has_its_whole_name(row: dict[str, str], label: str) -> None:
    assert _label(row) == label


def test_a_legend_lists_languages_as_the_papers_do() -> None:
    assert _in_order({"cs", "xx", "en", "ja", "de", "aa"}) == ["en", "de", "cs", "ja", "aa", "xx"]


def test_a_row_that_extends_the_row_above_is_shown_below_it(tmp_path: Path) -> None:
    """As in *Lessons*, Table 7; a group's name is shown above rows that extend no row of their table."""
    code = {"section": "as published code"}
    named = [
        {"method": "Multilingual"},
        {"group": "Multilingual", "method": "+ Comparable"},
        {"group": "Multilingual + Comparable", "method": "+ c2c"},
        {**code, "method": "Bilingual"},
        {**code, "group": "Bilingual", "method": "+ c2c"},
        {"section": "lengths alone", "group": "Bilingual", "method": "+ c2c"},
        {"section": "lengths alone", "group": "VSE", "method": "EmbN"},
    ]
    rows = [{**row, "row": number, "experiment": "mule-full"} for number, row in enumerate(named, 1)]
    section = of_table(report(tmp_path, tables={"mine": {**TABLE, "rows": rows}}), "mine")
    body = section[section.index("<tbody") : section.index("</tbody>")]
    headers = re.findall(r'<th role="rowheader" scope="(\w+)"( class="extends")?[^>]*>([^<]*)', body)
    assert headers == [
        ("row", "", "Multilingual"),
        ("row", ' class="extends"', "+ Comparable"),
        ("row", ' class="extends"', "+ c2c"),
        ("rowgroup", "", "as published code"),
        ("row", "", "Bilingual"),
        ("row", ' class="extends"', "+ c2c"),
        ("rowgroup", "", "lengths alone: Bilingual"),
        ("row", "", "+ c2c"),
        ("rowgroup", "", "lengths alone: VSE"),
        ("row", "", "EmbN"),
    ]


def test_a_mistyped_table_in_report_is_one_clear_message() -> None:
    with pytest.raises(InputError, match="report: no table 'tabel2', did you mean 'table2'"):
        configuration.load({"scale": "demo", "report": ["tabel2"]}, ROOT / "config")


def test_a_report_has_the_tables_that_there_are_data_for() -> None:
    every = configuration.load({"scale": "demo"}, ROOT / "config").report
    lessons = {f"lessons/table{number}" for number in range(1, 8)} | {"lessons/figure3"}
    smalr = {"smalr/table1", "smalr/table2", "smalr/parameters", "smalr/figure1b", "smalr/figure3"}
    mule = {*(f"table{number}" for number in range(1, 12)), "equal-steps", "parameters"}
    assert set(every) == mule | lessons | smalr
    loaded = configuration.load({"scale": "demo"}, ROOT / "config")
    without = loaded.model_copy(update={"datasets": {"mscoco": loaded.datasets["mscoco"]}})
    without_multi30k = {"table1", "table3", "table4", "table9", "table10", "table11"}
    without_multi30k |= {"equal-steps", "parameters"}
    without_multi30k |= {"smalr/table1", "smalr/parameters", "smalr/figure1b", "smalr/figure3"}
    assert set(configuration.makeable_tables(without)) == without_multi30k


def test_smalrs_tables_are_reported_with_its_parameters_and_its_figures_only_on_request() -> None:
    asked = ["smalr/table2", "smalr/figure3"]
    loaded = configuration.load({"scale": "demo", "report": asked}, ROOT / "config")
    assert loaded.report == asked
    missing = configuration.report_settings(loaded, ROOT / "config").missing
    assert {"smalr/table1", "smalr/parameters", "smalr/figure1b"} < set(missing)
    assert not set(asked) & set(missing)
    with pytest.raises(InputError, match="report: no table 'smalr/figure2', did you mean 'smalr/figure"):
        configuration.load({"scale": "demo", "report": ["smalr/figure2"]}, ROOT / "config")


def test_claims_of_each_paper_are_in_separate_sections(tmp_path: Path) -> None:
    html = report(tmp_path, claims_of=("mule", "lessons", "smalr"))
    text = plain(html)
    for count, name, paper in (
        ("61", "mule", "MULE"),
        ("63", "lessons", "Lessons"),
        ("40", "smalr", "SMALR"),
    ):
        assert f"Of the {count} claims of the {paper} paper" in text
        part = html[html.index(f'<section id="claims-{name}">') :]
        part = part[: part.index("</section>")]
        assert part.count('<th role="rowheader" scope="row">') == int(count)
        assert f"What the {paper} paper says" in part
    assert html.index("claims-mule") < html.index("claims-smalr") < html.index("claims-lessons")


def test_tables_are_in_the_papers_order() -> None:
    names = ["table10", "lessons/table1", "table2", "table1"]
    assert sorted(names, key=natural) == ["table1", "table2", "table10", "lessons/table1"]


def test_a_dot_is_at_its_number() -> None:
    (row,) = charts.intervals([{"measured": 30.0, "low": 20.0, "high": 45.0}], 10, 60)
    assert (row["from"], row["dot"], row["width"]) == (20, 40, 50)


def test_axes_and_ticks_are_round_and_hold_the_values() -> None:
    assert charts.axis(23.4, 71.2) == (20, 80)
    assert charts.axis(0, 44) == (0, 50)
    assert charts.axis(30, 30) == pytest.approx((30, 30.2))
    assert charts.axis(0, 1100) == (0, 1200)
    assert charts.ticks(20, 80, 5) == [20, 40, 60, 80]
    assert charts.ticks(0, 1, 5) == [0, 0.2, 0.4, 0.6, 0.8, 1]


def test_a_curve_begins_at_the_first_validation_and_ends_at_the_last() -> None:
    svg = charts.curves({"de": [pd.Series([0.0, 50.0], index=[1, 2])]}, 50, "curve")
    (points,) = re.findall(r'points="([^"]+)"', svg)
    first, last = (tuple(map(float, point.split(","))) for point in points.split())
    assert first == (charts.LEFT, charts.HEIGHT - charts.BOTTOM)
    assert last == (charts.WIDTH - 6, charts.TOP)


def sentences_of_languages() -> dict[str, TestSentences]:
    """Three images; English finds the first two, French only the first. Similarities (images, sentences)."""
    english = np.array([[0.9, 0.1, 0.2], [0.1, 0.8, 0.3], [0.5, 0.6, 0.4]], dtype=np.float32)
    french = np.array([[0.9, 0.1, 0.2], [0.7, 0.2, 0.1], [0.0, 0.9, 0.3]], dtype=np.float32)
    rows = np.arange(3)
    return {
        "en": TestSentences(english, rows, ["one", "two", "three"]),
        "fr": TestSentences(french, rows, ["un", "deux", "trois"]),
    }


def test_images_are_right_if_the_nearest_sentence_is_their_own() -> None:
    found = _images(sentences_of_languages(), ["a", "b", "c"], np.random.default_rng(0))
    texts = {
        one["image"]: [(sentence["text"], sentence["right"]) for sentence in one["sentences"]]
        for one in found
    }
    assert texts == {
        "a": [("one", True), ("un", True)],
        "b": [("two", True), ("un", False)],
        "c": [("two", False), ("deux", False)],
    }
    assert found[0]["image"] == "a"  # correct ones come first


def test_a_sentence_has_its_nearest_images_and_its_own_marked() -> None:
    generator = np.random.default_rng(0)
    wrong = _query(sentences_of_languages()["fr"], "fr", ["a", "b", "c"], 0, generator)
    assert wrong and wrong["text"] == "deux"
    nearest = [(near["image"], near["right"]) for near in wrong["nearest"]]
    assert nearest == [
        ("c", False),
        ("b", True),
        ("a", False),
    ]
    assert (wrong["rank"], wrong["own"]["image"]) == (2, "b")
    every = {"en": TestSentences(np.eye(3, dtype=np.float32), np.arange(3), ["x", "y", "z"])}
    assert _query(every["en"], "en", ["a", "b", "c"], 0, generator) is None


def test_an_image_without_a_caption_in_a_language_is_no_candidate_there() -> None:
    """French captions only the second and third image; the first is nearest to both of its sentences."""
    english = sentences_of_languages()["en"]
    similarity = np.array([[0.9, 0.9], [0.1, 0.2], [0.4, 0.3]], dtype=np.float32)
    french = TestSentences(similarity, np.array([1, 2]), ["deux", "trois"])
    wrong = _query(french, "fr", ["a", "b", "c"], 0, np.random.default_rng(0))
    assert wrong and (wrong["text"], wrong["rank"]) == ("deux", 2)
    assert [near["image"] for near in wrong["nearest"]] == ["c", "b"]
    right = _query(french, "fr", ["a", "b", "c"], 1, np.random.default_rng(0))
    assert right and (right["text"], right["rank"]) == ("trois", 1)
    found = _images({"en": english, "fr": french}, ["a", "b", "c"], np.random.default_rng(0))
    shown = {one["image"]: [sentence["language"] for sentence in one["sentences"]] for one in found}
    assert shown == {"a": ["en"], "b": ["en", "fr"], "c": ["en", "fr"]}


def test_thumbnails_are_small_pictures_inside_the_page(tmp_path: Path) -> None:
    Image.new("RGB", (900, 300), "red").save(tmp_path / "a.png")
    listed = tmp_path / "images.csv"
    listed.write_text(f"image,path\na,{tmp_path / 'a.png'}\n")
    uri = thumbnails(listed, ["a"])["a"]
    assert uri.startswith("data:image/jpeg;base64,")
    content = base64.b64decode(uri.partition(",")[2])
    assert len(content) < 3000
    assert Image.open(io.BytesIO(content)).size == (SIDE, SIDE // 3)
    assert thumbnails(None, ["a"]) == {}


def test_captions_are_escaped_and_languages_named(tmp_path: Path) -> None:
    sentence = {"language": "zh", "text": "<script>alert(1)</script>一只狗", "right": True}
    values = {
        "scale": "demo", "dataset": "d", "experiment": "e", "number": 4, "seed": 0, "chosen_by": 0,
        "test_images": 2, "examples": [{"image": "a", "sentences": [sentence]}], "queries": [],
        "pictures": {},
    }  # fmt: skip
    write_page(tmp_path / "figure.html", "figure.html.j2", values)
    text = (tmp_path / "figure.html").read_text(encoding="utf-8")
    assert '<span lang="zh-Hans">&lt;script&gt;alert(1)&lt;/script&gt;一只狗</span>' in text
    assert "<script" not in text
    assert "no picture available" in text
    assert "一只狗" in main_of(tmp_path / "figure.html")


def test_a_page_of_another_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other.html").write_text("<p>hello</p>")
    with pytest.raises(InputError, match="not a page of this project"):
        main_of(tmp_path / "other.html")
    demo = configuration.load({"scale": "demo"}, ROOT / "config")
    with pytest.raises(InputError, match=r"results/mine\.csv"):
        of_comparison("mine", tmp_path / "none.csv", configuration.report_settings(demo, ROOT / "config"))
