"""Every relative link in the documents leads to a file, and to the heading or run that it names."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RUNS, BENCHMARKS = ROOT / "docs" / "runs.md", ROOT / "benchmarks"
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("[!.]*/*.md")])  # without .venv and .pytest_cache


def anchors(page: Path) -> set[str]:
    """What GitHub calls the headings of a page, and the anchors that the page sets itself."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    titles = re.findall(r"^#+ (.*)$", text, re.M)
    names = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
    return names | set(re.findall(r'<a id="([^"]+)">', text))


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        found = (page.parent / name) if name else page
        assert found.exists(), target
        assert not anchor or anchor in anchors(found), target


def test_each_run_has_a_number_and_is_cited_by_it() -> None:
    """A run keeps its number when others are removed, because published files have it, too."""
    text = RUNS.read_text(encoding="utf-8")
    rows = [tuple(map(int, row)) for row in re.findall(r'^\| <a id="r(\d+)"></a>R(\d+) \|', text, re.M)]
    assert rows == [(number, number) for number in sorted({shown for _, shown in rows})]
    for page in PAGES:
        for shown, target in re.findall(r"\[R(\d+)\]\([^)#]*#r(\d+)\)", page.read_text(encoding="utf-8")):
            assert shown == target, f"{page}: R{shown}"


def test_every_run_is_cited() -> None:
    """By a page, by a published file, or by another run (`as R6`)."""
    text = RUNS.read_text(encoding="utf-8")
    others = [page for page in PAGES if page != RUNS]
    published = [path for path in (ROOT / "results" / "published").rglob("*.*") if path.is_file()]
    cited = "\n".join(path.read_text(encoding="utf-8") for path in [*others, *published])
    cited += re.sub(r'<a id="r\d+"></a>R\d+', "", text)
    numbers = re.findall(r'<a id="r(\d+)">', text)
    uncited = [f"R{number}" for number in numbers if not re.search(rf"\bR{number}\b", cited)]
    assert not uncited, "no page cites these runs: remove their rows"


@pytest.mark.parametrize("page", [page for page in PAGES if page.parent in (RUNS.parent, BENCHMARKS)])
def test_commits_and_dates_are_only_in_the_table_of_runs(page: Path) -> None:
    if page.name != "runs.md":
        text = page.read_text(encoding="utf-8")
        assert not re.findall(r"\b20\d\d-\d\d-\d\d\b|\bcommit [0-9a-f]{7}\b|AMD EPYC|Intel Xeon", text)


def test_a_picture_or_document_is_small() -> None:
    sizes = {path.name: path.stat().st_size for path in (ROOT / "docs").iterdir() if path.is_file()}
    assert sizes.pop("example-report.html") < 1_000_000
    assert max(sizes.values()) < 300_000
