"""The report and the figures of the finished project."""

import re

import pandas as pd
import pytest
from project import Project, finished

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return finished(tmp_path_factory)


def page(project: Project, name: str) -> str:
    return (project.folder / "results" / f"{name}.html").read_text(encoding="utf-8")


def test_the_report_has_its_table_with_the_measured_numbers(project: Project) -> None:
    text = page(project, "report")
    for section in ("claims", "small", "figure3", "curves", "versions", "times"):
        assert f'id="{section}"' in text
    for printed in pd.read_csv(project.folder / "results/small.csv")["multi30k de"].dropna():
        assert re.search(rf'id="small".*{printed:.1f}', text, re.DOTALL)


def test_claims_are_judged_by_what_was_measured(project: Project) -> None:
    claims = pd.read_csv(project.folder / "results/claims.csv", index_col="id")
    assert claims.index.str[0].value_counts().to_dict() == {"M": 61}
    assert "in the paper multi30k has them in en, de, fr, cs" in claims.loc["M11", "reason"]


def test_pages_need_nothing_else(project: Project) -> None:
    for name in ("report", "figure3"):
        assert "<script" not in page(project, name)
        assert not re.findall(r'(?:src|href)="(?!data:|#)[^"]*"', page(project, name))
        assert 'lang="en-GB"' in page(project, name)
