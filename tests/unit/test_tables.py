"""Tables from evaluations: rows and columns as the paper prints them, and one number per line."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from evaluations import PAPERS, Key, write_evaluations

from pipeline.common.errors import InputError
from pipeline.settings import reading
from pipeline.settings import stages as stage_settings
from pipeline.tables.averages import ALL_OF_PAPER
from pipeline.tables.cells import cells
from pipeline.tables.settings import TableSettings
from pipeline.tables.statistics import METRICS
from pipeline.tables.tabulate import tabulate


def settings(table: str, **user: Any) -> TableSettings:
    return stage_settings.table_settings(reading.load({"scale": "demo", **user}), table)


def evaluations(folder: Path, of: TableSettings, shift: float = 0.0) -> list[Path]:
    """An evaluation for every cell and seed; recalls say which seed and language they are of."""
    content: dict[tuple[str, str, str, int], dict[str, float]] = {}
    for cell in cells(of):
        for seed in of.seeds:
            key = (cell.dataset, cell.experiment, cell.queries, seed)
            content.setdefault(key, {})[cell.language] = 10.0 * seed + len(content) + shift
    return write_evaluations(folder, content)


def papers_of(of: TableSettings) -> list[Path]:
    """The file of the paper's numbers, as the plan gives it."""
    folder = "" if of.table.paper == "mule" else f"{of.table.paper}/"
    return [PAPERS / f"{folder}table{of.table.table}.csv"] if of.table.table else []


def make_table(folder: Path, of: TableSettings, paths: list[Path]) -> tuple[pd.DataFrame, pd.DataFrame]:
    tabulate(of, paths, folder / "table.csv", folder / "comparison.csv", papers_of(of))
    table = pd.read_csv(folder / "table.csv")
    assert not table.columns[0].startswith("Unnamed")  # no column without a name, such as a frame's index
    return table, pd.read_csv(folder / "comparison.csv")


def test_table_2_has_the_papers_rows(tmp_path: Path) -> None:
    of = settings("table2")
    table, comparison = make_table(tmp_path, of, evaluations(tmp_path, of))
    assert table["method"].tolist() == [
        "EmbN", "PARALLEL-EmbN", "EmbN", "PARALLEL-EmbN", "EmbN", "PARALLEL-EmbN", "EmbN+NC+LC+LP",
        "EmbN", "EmbN+NC", "EmbN+NC+LC", "EmbN+NC+LC+LP (Full)",
    ]  # fmt: skip
    assert [name for name in table if name.startswith("multi30k")] == [
        "multi30k en", "multi30k de", "multi30k fr", "multi30k cs",
    ]  # fmt: skip
    assert set(table["scale"]) == {"demo"}
    assert list(comparison.columns) == [
        "table", "section", "row", "group", "method", "training_data", "single_model", "scale", "dataset",
        "language", "metric", "measured", "low", "high", "std", "seeds", "images", "sentences", "chance",
        "paper", "difference", "experiment", "trained_languages", "parameters", "parameters_at_test",
    ]  # fmt: skip
    assert len(comparison) == 11 * 4 * len(METRICS)
    full = comparison[(comparison["row"] == 11) & (comparison["metric"] == "mR")]
    assert full["paper"].tolist() == [68.0, 61.4, 56.4, 50.3]
    first = comparison[(comparison["row"] == 1) & (comparison["metric"] == "mR")]
    assert first["experiment"].tolist() == ["embn-en", "embn-de", "embn-fr", "embn-cs"]


def test_flickr8ks_second_data_set_fills_mscocos_columns(tmp_path: Path) -> None:
    of = settings("table4", scale="flickr8k")
    table, comparison = make_table(tmp_path, of, evaluations(tmp_path, of))
    assert "flickr8kcn zh" in table
    assert "flickr8kcn ja (google)" in table  # its captions are machine translations, and the table says so
    chinese = comparison[(comparison["dataset"] == "flickr8kcn") & (comparison["language"] == "zh")]
    assert chinese[(chinese["row"] == 7) & (chinese["metric"] == "mR")]["paper"].tolist() == [74.8]
    consistent = [cell for cell in cells(settings("smalr/table1", scale="flickr8k")) if cell.row.consistency]
    assert {cell.language for cell in consistent} == {"en", "zh"}  # Japanese has no human captions


def test_seeds_give_mean_and_sample_standard_deviation(tmp_path: Path) -> None:
    of = settings("table2", seeds=[0, 1, 2])
    table, comparison = make_table(tmp_path, of, evaluations(tmp_path, of))
    evaluated = [json.loads(path.read_text()) for path in tmp_path.glob("*.json")]
    values = [one["test"]["cs"]["mR"] for one in evaluated if one["experiment"] == "mule-full"]
    row = comparison[
        (comparison["row"] == 11) & (comparison["language"] == "cs") & (comparison["metric"] == "mR")
    ]
    assert row["measured"].item() == pytest.approx(sum(values) / 3, abs=1e-3)
    assert row["std"].item() == pytest.approx(pd.Series(values).std(), abs=1e-3)
    assert row["seeds"].item() == 3
    assert table["seeds"].unique().tolist() == ["0 1 2"]


def test_averages_are_means_over_languages_and_seeds(tmp_path: Path) -> None:
    """HA: means of 80, 60, 40 and 20, and of ten more each in the second seed: 50, 60. A: with six of 10, 20.

    Of twenty images four are found in all four languages and both seeds, two in 7/8 of these, and so on.
    """
    of = settings("smalr/table2-row12", seeds=[0, 1])
    first = {"en": 80.0, "de": 60.0, "fr": 40.0, "cs": 20.0}
    first |= dict.fromkeys(("zh", "ja", "ar", "af", "ko", "ru"), 10.0)
    test: dict[Key, dict[str, float]] = {
        ("multi30k", "smalr", "original", seed): {code: value + 10 * seed for code, value in first.items()}
        for seed in (0, 1)
    }
    table, comparison = make_table(tmp_path, of, write_evaluations(tmp_path, test))
    assert (table["multi30k HA"].item(), table["multi30k A"].item()) == (55.0, 31.0)
    means = comparison[comparison["metric"] == "mR"].set_index("language")
    assert means.loc[["HA", "A"], "measured"].tolist() == [55, 31]
    assert means.loc[["HA", "A"], "std"].tolist() == pytest.approx([50**0.5] * 2)
    assert means.loc[["HA", "A"], "paper"].tolist() == [65.0, 65.4]
    assert (means["seeds"] == 2).all() and (means["experiment"] == "smalr").all()
    squares = (4 + 2 * sum((eighths / 8) ** 2 for eighths in range(1, 8))) / 20
    error = 100 * ((squares - 0.55**2) / 20) ** 0.5
    assert means.loc["HA", "low"] == pytest.approx(55 - 1.96 * error, abs=1)
    assert means.loc["HA", "high"] == pytest.approx(55 + 1.96 * error, abs=1)


def test_a_number_has_the_size_of_its_model_the_mean_over_models_and_seeds(tmp_path: Path) -> None:
    """SMALR, Figure 1b: MULE of one language has a model for each, whose mR and sizes are averaged."""
    of = settings("smalr/figure1b", seeds=[0, 1])
    test: dict[Key, dict[str, float]] = {}
    sizes = {}
    for cell in cells(of):
        for seed in (0, 1):
            key = (cell.dataset, cell.experiment, cell.queries, seed)
            test.setdefault(key, {})[cell.language] = {"en": 20.0, "de": 60.0, "ja": 40.0}[cell.language]
            sizes[key] = {"en": 1_000_000, "de": 3_000_000, "ja": 4_000_000}[cell.language] + 1000 * seed
    paths = write_evaluations(tmp_path, test, parameters=sizes)
    _, comparison = make_table(tmp_path, of, paths)
    means = comparison[(comparison["metric"] == "mR") & (comparison["language"] == "A")]
    one = means[(means["row"] == 1) & (means["dataset"] == "multi30k")].iloc[0]
    assert (one["measured"], one["averaged"], one["trained_languages"]) == (40.0, "en de", 1)
    assert (one["parameters"], one["parameters_at_test"]) == (2_000_500, 1_000_250)
    assert set(means["row"]) == set(range(1, 9)) and set(means["dataset"]) == {"multi30k", "mscoco"}


def test_an_interval_covers_its_number_and_differences_are_to_the_papers_data(tmp_path: Path) -> None:
    rows = [
        {"row": 1, "group": "FastText (Baseline)", "method": "EmbN", "experiment": "embn"},
        {"row": 2, "group": "FastText (Baseline)", "method": "PARALLEL-EmbN", "experiment": "parallel-embn"},
        {"row": 11, "group": "MULE (Ours)", "method": "EmbN+NC+LC+LP (Full)", "experiment": "mule-full"},
    ]
    table = {"paper": "mule", "table": 2, "columns": {"multi30k": ["de"]}, "rows": rows}
    of = settings("mine", tables={"mine": table})
    test: dict[tuple[str, str, str, int], dict[str, float]] = {
        ("multi30k", "embn-de", "original", 0): {"de": 40.0},
        ("multi30k", "parallel-embn", "original", 0): {"de": 50.0},
        ("multi30k", "mule-full", "original", 0): {"de": 60.0},
    }
    _, comparison = make_table(tmp_path, of, write_evaluations(tmp_path, test))
    means = comparison[comparison["metric"] == "mR"]
    assert ((means["low"] < means["measured"]) & (means["measured"] < means["high"])).all()
    assert means["paper"].tolist() == [57.9, 61.6, 61.4]
    assert means["difference"].isna().all()
    _, comparison = make_table(
        tmp_path,
        of.model_copy(update={"scale": "paper", "papers_data": ["multi30k"]}),
        write_evaluations(tmp_path, test),
    )
    assert comparison["difference"][comparison["metric"] == "mR"].tolist() == [-17.9, -11.6, -1.4]


def test_a_mean_over_other_languages_has_no_paper_number(tmp_path: Path) -> None:
    """Without Japanese, HA on MSCOCO is over two languages; without Russian, A over nine."""
    test: dict[Key, dict[str, float]] = {
        (data, "smalr", "original", 0): dict.fromkeys(ALL_OF_PAPER, 50.0) for data in ("multi30k", "mscoco")
    }
    of = settings("smalr/table1-row12")
    every = write_evaluations(tmp_path, test)
    _, whole = make_table(tmp_path, of, every)
    table = of.table.model_copy(update={"columns": {"mscoco": ALL_OF_PAPER[:-1]}})
    fewer = of.model_copy(update={"human": {**of.human, "mscoco": ["en", "zh"]}, "table": table})
    _, other = make_table(tmp_path, fewer, every)
    means = [found[found["metric"] == "mR"].set_index("language") for found in (whole, other)]
    assert means[0].loc["HA", "averaged"] == "en zh ja"
    assert means[1].loc[["HA", "A"], "averaged"].tolist() == ["en zh", " ".join(ALL_OF_PAPER[:-1])]
    assert means[0].loc[["HA", "A", "en"], "paper"].notna().all()
    assert means[1].loc[["HA", "A"], "paper"].isna().all() and pd.notna(means[1].loc["en", "paper"])


# Three rows: a model of human captions, one asked with translated queries, one trained on translations too.
TRANSLATED = {
    "columns": {"multi30k": ["en", "de", "fr"]},
    "rows": [
        {"row": 1, "method": "human", "experiment": "mule-full"},
        {"row": 2, "method": "asked", "experiment": "embn-en", "queries": "translated"},
        {"row": 3, "method": "augmented", "experiment": "mule-full-human+mt"},
    ],
}
QUERIES = ("multi30k", "embn-en", "translated", 0)
AUGMENTED = ("multi30k", "mule-full-human+mt", "original", 0)


def table_with_translations(
    folder: Path, seeds: list[int], **counted: Any
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The table from evaluations whose translations were made by the providers in `counted`."""
    of = settings("mine", tables={"mine": TRANSLATED}, seeds=seeds)
    every = {language: 50.0 for language in ("en", "de", "fr", "cs")}
    keys = {(cell.dataset, cell.experiment, cell.queries) for cell in cells(of)}
    test = {(*key, seed): every for key in sorted(keys) for seed in seeds}
    return make_table(folder, of, write_evaluations(folder, test, **counted))


def test_a_table_names_the_providers_of_its_translations(tmp_path: Path) -> None:
    table, comparison = table_with_translations(
        tmp_path,
        [0],
        trained_on={
            AUGMENTED: {"en-de": {"google": 6}, "en-fr": {"dictionary": 5}, "fr-en": {"dictionary": 2}}
        },
        asked_with={QUERIES: {"de-en": {"google": 3}, "fr-en": {"dictionary": 3}, "cs-en": {"marian": 3}}},
    )
    both = "dictionary (word by word), google"  # not Marian's cs-en: the table has no Czech
    assert table["translations"].fillna("").tolist() == ["", both, both]
    means = comparison[comparison["metric"] == "mR"].set_index(["row", "language"])
    assert means["translations"].fillna("").tolist() == [*[""] * 4, *[both] * 5]
    assert means.index[means["word_by_word"] == "yes"].tolist() == [
        (2, "fr"),
        (3, "en"),
        (3, "de"),
        (3, "fr"),
    ]
    assert list(comparison.columns[-2:]) == ["translations", "word_by_word"]


def test_missing_evaluations_are_named_and_nothing_is_written(tmp_path: Path) -> None:
    of = settings("table2")
    paths = evaluations(tmp_path, of)
    left = [path for path in paths if '"mule-nc"' not in path.read_text()]
    with pytest.raises(InputError, match="multi30k mule-nc original en, seed 0"):
        tabulate(of, left, tmp_path / "table.csv", tmp_path / "comparison.csv")
    assert not (tmp_path / "table.csv").exists()


ONE = {"columns": {"multi30k": ["de"]}, "rows": [
    {"row": 1, "method": "EmbN", "experiment": "embn"},
    {"row": 2, "method": "MULE", "experiment": "mule-full"},
]}  # fmt: skip


def of_two(folder: Path, images: int = 20, sentences: int = 2) -> list[Path]:
    """An evaluation of EmbN among 20 images and 40 sentences, and one of MULE with other candidates."""
    paths = []
    for name, among in (("embn-de", (20, 2)), ("mule-full", (images, sentences))):
        (folder / name).mkdir(parents=True)
        test: dict[Key, dict[str, float]] = {("multi30k", name, "original", 0): {"de": 40.0}}
        paths += write_evaluations(folder / name, test, *among)
    return paths


def test_the_candidates_and_the_chance_level_are_next_to_each_number(tmp_path: Path) -> None:
    _, comparison = make_table(tmp_path, settings("mine", tables={"mine": ONE}), of_two(tmp_path))
    assert set(comparison["images"]) == {20}
    assert set(comparison["sentences"]) == {40}
    assert comparison["chance"].tolist() == [1, 2, 3, 4, 5, 6, 7] * 2
    assert comparison["metric"].tolist() == [*METRICS, *METRICS]


def test_an_average_names_the_most_candidates_of_its_languages_and_their_mean_chance(tmp_path: Path) -> None:
    """Czech has half the images, more sentences and a chance of 5 percent; that of the other three is 1."""
    of = settings("smalr/table2-row12")
    test: dict[Key, dict[str, float]] = {}
    for cell in cells(of):
        test.setdefault((cell.dataset, cell.experiment, cell.queries, 0), {})[cell.language] = 50.0
    (path,) = write_evaluations(tmp_path, test)
    content = json.loads(path.read_text())
    content["test"]["cs"] |= {"images": 10, "sentences": 50, "chance": dict.fromkeys(METRICS, 5.0)}
    path.write_text(json.dumps(content))
    _, comparison = make_table(tmp_path, of, [path])
    lines = comparison[comparison["metric"] == METRICS[0]].set_index("language")
    found = lines[["images", "sentences", "chance"]]
    assert found.loc["cs"].tolist() == [10, 50, 5]
    assert found.loc["HA"].tolist() == [20, 50, (1 + 1 + 1 + 5) / 4]


def test_other_candidates_of_the_same_number_are_refused_too(tmp_path: Path) -> None:
    of, paths = settings("mine", tables={"mine": ONE}), of_two(tmp_path)
    ranks = paths[1].with_name("0-ranks.csv.gz")
    table = pd.read_csv(ranks)
    table.replace({"image": {"image00019": "image00020"}}).to_csv(ranks, index=False)
    with pytest.raises(InputError, match="have other images in 'de'"):
        make_table(tmp_path, of, paths)
    assert not list(tmp_path.glob("*.csv"))


OWN_DATA: dict[str, dict[str, Any]] = {
    "another split and photographs": {"datasets": {"multi30k": {"split": "flickr8k", "images": "flickr8k"}}},
    "fewer languages": {"datasets": {"multi30k": {"languages": ["en", "de"]}}},
    "few captions": {"datasets": {"multi30k": {"captioned_images": {"de": 0.1}}}},
    "listed images": {"images": {"list": "some.csv"}},
    "captions of one's own": {
        "datasets": {"multi30k": {"source": "custom", "captions": "c.csv", "images": "i", "split": "s.csv"}}
    },
}


@pytest.mark.parametrize("what", OWN_DATA)
def test_other_data_at_scale_paper_have_no_difference_to_the_papers_numbers(
    tmp_path: Path, what: str
) -> None:
    of = settings("table2", scale="paper", **OWN_DATA[what])
    _, comparison = make_table(tmp_path, of, evaluations(tmp_path, of))
    assert comparison["difference"].isna().all()
    assert comparison.loc[comparison["metric"] == "mR", "paper"].notna().all()


def test_the_papers_numbers_are_only_next_to_its_own_rows(tmp_path: Path) -> None:
    """Row 2 of Table 2 is PARALLEL-EmbN in the paper, row 1 EmbN with 71.1 in English."""
    rows = [
        {"row": 1, "group": "FastText (Baseline)", "method": "EmbN", "experiment": "embn"},
        {"row": 2, "method": "MULE full", "experiment": "mule-full"},
    ]
    of = settings("table2", tables={"table2": {"rows": rows}})
    _, comparison = make_table(tmp_path, of, evaluations(tmp_path, of))
    english = comparison[(comparison["metric"] == "mR") & (comparison["language"] == "en")]
    assert english["paper"].tolist()[0] == 71.1
    assert english["paper"].isna().tolist() == [False, True]
