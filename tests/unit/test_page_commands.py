"""The commands, options, targets and files that the pages name exist."""

import re
from pathlib import Path

import pytest

from pipeline import cli
from pipeline.stages import STAGES

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("[!.]*/*.md")])
FOLDERS = "pipeline|search|workflow|config|tests|benchmarks|profiles|envs|docs|results/published"
EXAMPLES = {"profiles/mine/profile.yaml", "workflow/sources.lock"}  # files that the reader or a run writes

each_page = pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])


def prose_and_commands(page: Path) -> str:
    """A page with every command on one line."""
    return re.sub(r"\\\n\s*", "", page.read_text(encoding="utf-8"))


def options(arguments: str) -> set[str]:
    """Options of a command, without quoted text."""
    return set(re.findall(r"(?<=\s)--[a-z][a-z-]*", re.sub(r"'[^']*'|\"[^\"]*\"", "", arguments)))


@each_page
def test_stages_and_their_options_exist(page: Path) -> None:
    text = prose_and_commands(page)
    for name, arguments in re.findall(r"python -m pipeline ([a-z][a-z-]*)([^`\n]*)", text):
        if f'+        "{name}",' in text:  # the page adds it to the table of stages
            continue
        known = set(re.findall(r"--[a-z-]+", cli.parser_of(STAGES[name], "pipeline").format_usage()))
        assert options(arguments) <= known | {"--help"}, (name, arguments)


@each_page
def test_benchmarks_and_their_options_exist(page: Path) -> None:
    """But for the runs, whose scripts are in the commits that they cite."""
    if page.name == "runs.md":
        return
    for name, arguments in re.findall(
        r"python (?:-m benchmarks\.|benchmarks/)(\w+)([^`\n]*)", prose_and_commands(page)
    ):
        source = (ROOT / "benchmarks" / f"{name}.py").read_text(encoding="utf-8")
        defined = set(re.findall(r'"(--[a-z-]+)"', source))
        switched_off = {option.replace("--", "--no-") for option in defined}
        assert options(arguments) <= defined | switched_off, (name, arguments)


@each_page
def test_tables_and_figures_are_configured(page: Path) -> None:
    """A name is a file of `config/tables`, or occurs in a configuration file, a rule or the page."""
    files = [
        *ROOT.glob("config/**/*.yaml"),
        *ROOT.glob("workflow/rules/*.smk"),
        *ROOT.glob("pipeline/plan/*.py"),
    ]
    names = "\n".join([*map(str, files), *(path.read_text(encoding="utf-8") for path in files)])
    text = prose_and_commands(page)
    names += "\n".join(re.findall(r"^  [\w-]+:", text, re.M))
    for target in re.findall(r"\bresults/(?!published/)([a-z\d/+-]+)\.(?:csv|html|svg)", text):
        for name in re.sub(r"-row[\d+]+$", "", target.split("/")[-1]).split("-vs-"):
            assert re.search(rf"\b{re.escape(name)}\b", names), target


@each_page
def test_files_and_folders_in_the_text_exist(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    named = re.findall(rf"(?<=[` ])(?:{FOLDERS})/[\w./-]+(?=[`\s])", text)
    assert [path for path in named if path not in EXAMPLES and not (ROOT / path).exists()] == []
