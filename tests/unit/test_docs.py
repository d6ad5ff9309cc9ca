"""The pages of the project: their links, commands and files exist, and every run is cited."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from pipeline import cli
from pipeline.stages import STAGES

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("[!.]*/*.md")])  # without .venv and .pytest_cache
RUNS = ROOT / "docs" / "runs.md"
FOLDERS = "pipeline|search|workflow|config|tests|benchmarks|profiles|envs|docs|results/published"
EXAMPLES = {"profiles/mine/profile.yaml", "workflow/sources.lock"}  # files that the reader or a run writes

each_page = pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def prose(page: Path) -> str:
    """A page without its code blocks."""
    return re.sub(r"^```.*?^```", "", text_of(page), flags=re.M | re.S)


def commands(page: Path, program: str) -> list[tuple[str, set[str]]]:
    """The name that follows `program` and the options, without quoted text, of each command of a page."""
    text = re.sub(r"\\\n\s*", "", text_of(page))
    found = re.findall(rf"python {program}(\w[\w-]*)([^`\n]*)", text)
    unquoted = [(name, re.sub(r"'[^']*'|\"[^\"]*\"", "", arguments)) for name, arguments in found]
    return [(name, set(re.findall(r"(?<=\s)--[a-z][a-z-]*", arguments))) for name, arguments in unquoted]


def anchors(page: Path) -> set[str]:
    """What GitHub calls the headings of a page, and the anchors that the page sets itself."""
    titles = re.findall(r"^#+ (.*)$", prose(page), re.M)
    names = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
    return names | set(re.findall(r'<a id="([^"]+)">', text_of(page)))


@each_page
def test_links_lead_to_a_file_and_a_heading(page: Path) -> None:
    for target in re.findall(r"\]\((?![a-z]+:)([^)\s]+)\)", prose(page)):
        name, _, anchor = target.partition("#")
        found = page.parent / name if name else page
        assert found.exists(), target
        assert not anchor or anchor in anchors(found), target


@each_page
def test_stages_benchmarks_and_their_options_exist(page: Path) -> None:
    """Except scripts of runs, which are in the commits they cite."""
    for name, options in commands(page, "-m pipeline "):
        usage = cli.parser_of(STAGES[name]).format_usage()
        assert options <= {*re.findall(r"--[a-z-]+", usage), "--help"}, (name, options)
    for name, options in commands(page, r"(?:-m benchmarks\.|benchmarks/)") if page != RUNS else []:
        source = text_of(ROOT / "benchmarks" / f"{name}.py")
        defined = set(re.findall(r'"(--[a-z-]+)"', source))
        assert options <= defined | {each.replace("--", "--no-") for each in defined}, (name, options)


@each_page
def test_results_that_are_named_can_be_made(page: Path) -> None:
    """Each part of a name is a file of config/tables, or occurs in a configuration, a rule or the plan."""
    files = [
        path
        for pattern in ("config/**/*.yaml", "workflow/rules/*.smk", "pipeline/plan/*.py")
        for path in ROOT.glob(pattern)
    ]
    names = "\n".join(
        [*map(str, files), *map(text_of, files), *re.findall(r"^  [\w-]+:", text_of(page), re.M)]
    )
    for target in re.findall(r"\bresults/(?!published/)([a-z\d/+-]+)\.(?:csv|html|svg)", text_of(page)):
        for name in re.sub(r"-row[\d+]+$", "", target.split("/")[-1]).split("-vs-"):
            assert re.search(rf"\b{re.escape(name)}\b", names), target


@each_page
def test_files_that_are_named_exist(page: Path) -> None:
    named = re.findall(rf"(?<=[` ])(?:{FOLDERS})/[\w./-]+(?=[`\s])", prose(page))
    assert [path for path in named if path not in EXAMPLES and not (ROOT / path).exists()] == []


def test_the_changes_that_recipes_show_apply() -> None:
    for change in re.findall(r"^```diff\n(.*?)^```", text_of(ROOT / "docs/extending.md"), re.M | re.S):
        command = ["git", "apply", "--check", "--recount", "-C1", "-"]
        subprocess.run(command, cwd=ROOT, input=change, text=True, check=True)


def test_make_targets_in_the_readme_exist() -> None:
    named = set(re.findall(r"\bmake ([a-z-]+)", text_of(ROOT / "README.md")))
    targets = re.findall(r"^([a-z-]+):", text_of(ROOT / "Makefile"), re.M)
    assert {"demo", "search", "test"} <= named <= set(targets)


def test_runs_are_cited_by_their_numbers() -> None:
    """By a page, a published file, or another run (`as R6`)."""
    numbers = [shown for shown in re.findall(r'^\| <a id="r(\d+)"></a>R\1 \|', text_of(RUNS), re.M)]
    assert numbers == re.findall(r'<a id="r(\d+)">', text_of(RUNS)) == sorted(set(numbers), key=int)
    others = [page for page in PAGES if page != RUNS]
    published = [path for path in (ROOT / "results/published").rglob("*.*") if path.is_file()]
    cited = "\n".join(map(text_of, [*others, *published])) + re.sub(r"</a>R\d+", "", text_of(RUNS))
    assert set(numbers) <= set(re.findall(r"\bR(\d+)\b", cited)), "remove the rows of runs that no page cites"
    for shown, target in re.findall(r"\[R(\d+)\]\([^)#]*#r(\d+)\)", cited):
        assert shown == target


@each_page
def test_commits_dates_and_machines_are_only_in_the_table_of_runs(page: Path) -> None:
    if page != RUNS:
        found = r"\b20\d\d-\d\d-\d\d\b|\bcommit [0-9a-f]{7}\b|AMD EPYC|Intel Xeon"
        assert not re.findall(found, text_of(page))


def test_the_version_is_the_same_everywhere() -> None:
    version = tomllib.loads(text_of(ROOT / "pyproject.toml"))["project"]["version"]
    newest = re.search(r"^## (\S+)", text_of(ROOT / "CHANGELOG.md"), re.M)
    assert newest and newest[1] == version
    assert yaml.safe_load(text_of(ROOT / "CITATION.cff"))["version"] == version
