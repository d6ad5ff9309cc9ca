"""The report and the figures of a small real run, opened in a real browser at desktop and phone width."""

import os
import re
from pathlib import Path

import pandas as pd
import pytest
from browser import CHROMIUM, measure, photograph
from project import DEMO, Project, ready

pytestmark = pytest.mark.integration

COLUMNS = {"multi30k": ["en", "de", "fr", "cs"], "mscoco": ["en", "zh", "ja"]}
ROWS = [
    {"row": 1, "method": "PARALLEL-EmbN", "experiment": "parallel-embn"},
    {"row": 2, "method": "MULE EmbN - Full", "experiment": "mule-full"},
]
PAGES = ("report", "figure3", "figure4")

needs_chromium = pytest.mark.skipif(not CHROMIUM, reason="no Chromium here: apt-get install chromium")


@pytest.fixture(scope="module")
def shared_project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with a report of one small table."""
    project = ready(tmp_path_factory.mktemp("pages"), tmp_path_factory)
    table = {"paper": "mule", "table": 4, "columns": COLUMNS, "rows": ROWS}
    project.configure(**DEMO, seeds=[0, 1], tables={"mine": table}, report=["mine"])
    project.make("results/report.html")
    return project


def page(project: Project, name: str) -> Path:
    return project.folder / "results" / f"{name}.html"


def test_the_report_trains_only_what_its_tables_name(shared_project: Project) -> None:
    assert shared_project.would_run("results/report.html") == {}
    experiments = (shared_project.folder / "work/demo/multi30k/experiments").iterdir()
    assert sorted(path.name for path in experiments) == ["mule-full", "parallel-embn"]
    text = page(shared_project, "report").read_text(encoding="utf-8")
    for section in ("claims", "mine", "figure3", "figure4", "curves", "versions", "times"):
        assert f'id="{section}"' in text


def test_claims_are_judged_by_what_was_measured(shared_project: Project) -> None:
    claims = pd.read_csv(shared_project.folder / "results/claims.csv", index_col="id")
    assert claims.index.str[0].value_counts().to_dict() == {"M": 61}
    # mule-full against parallel-embn
    assert claims.loc["M28", "verdict"] in ("holds", "does not hold", "undecided")
    assert claims.loc[
        "M11", "reason"
    ] == "embn-en on multi30k is in none of the tables that `report` names; " + (
        "; ".join(
            f"embn-{code} on multi30k is in none of the tables that `report` names"
            for code in ("de", "fr", "cs")
        )
    )
    lines = pd.read_csv(shared_project.folder / "results/comparison/claims.csv").query("id == 'M28'")
    table = pd.read_csv(shared_project.folder / "results/comparison/mine.csv").query(
        "metric == 'mR' and row == 2"
    )
    means = table.set_index(["dataset", "language"])["measured"]
    for line in lines.to_dict("records"):
        assert line["measured_greater"] == pytest.approx(means["mscoco", line["language"]], abs=0.06)


def test_pages_need_nothing_else(shared_project: Project) -> None:
    for name in PAGES:
        text = page(shared_project, name).read_text(encoding="utf-8")
        assert "<script" not in text
        assert not re.findall(r'(?:src|href)="(?!data:|#)[^"]*"', text)
        assert 'lang="en-GB"' in text
    assert 'lang="zh-Hans"' in page(shared_project, "figure4").read_text(encoding="utf-8")
    assert 'lang="ja"' in page(shared_project, "figure4").read_text(encoding="utf-8")


def test_a_figure_is_drawn_the_same_again(shared_project: Project) -> None:
    before = page(shared_project, "figure3").read_bytes()
    shared_project.make("results/figure3.html", "--forcerun", "draw_retrieved")
    assert page(shared_project, "figure3").read_bytes() == before


@needs_chromium
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_its_window_and_shows_every_picture(
    shared_project: Project, tmp_path: Path, name: str, width: int
) -> None:
    found = measure(page(shared_project, name), width, tmp_path)
    assert found["width"] == width
    assert found["page_width"] == width
    assert found["pictures"] > 6
    assert found["broken"] == 0
    assert found["fonts"] == "loaded"
    assert found["elsewhere"] == []
    folder = Path(os.environ.get("MULTILINGUAL_SCREENSHOTS", tmp_path))
    folder.mkdir(parents=True, exist_ok=True)
    picture = photograph(
        page(shared_project, name), width, min(found["page_height"], 12000), folder / f"{name}-{width}.png"
    )
    assert picture.stat().st_size > 20_000


@needs_chromium
def test_a_page_that_is_too_wide_or_lacks_a_picture_is_noticed(tmp_path: Path) -> None:
    bad = tmp_path / "bad.html"
    bad.write_text('<!doctype html><body><p style="width:700px">wide</p><img src="none.png">')
    found = measure(bad, 390, tmp_path)
    assert found["page_width"] > 390
    assert found["broken"] == 1
    assert found["outside"]
