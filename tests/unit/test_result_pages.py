"""Pages show the numbers in results/published, and runs are copied with a record of what made them."""

import json
from pathlib import Path

import pytest
from project import ROOT

from pipeline.common.errors import InputError
from pipeline.common.yaml_files import read_yaml
from workflow import published

COMPARISON = """\
table,section,row,group,method,training_data,dataset,language,metric,measured,std,paper,experiment
table2,(a),1,,EmbN,,multi30k,en,mR,50.750000,0.700000,66.5,embn
table2,(a),1,,EmbN,,multi30k,fr,mR,31.550000,,66.0,embn
table2,(a),1,,EmbN,,multi30k,fr,i2s_R@1,20.000000,,,embn
table2,(d),2,,MULE EmbN - Full,,multi30k,fr,mR,37.849999,0.300000,72.5,mule-full
table2,(d),2,,MULE EmbN - Full,,mscoco,en,mR,99.000000,0.300000,72.5,mule-full
"""
COMPARED = """\
dataset,language,metric,seeds,first_name,second_name,difference,low,high,p_holm
multi30k,en,mR,0 1 2,mule-full original,embn-en original,-0.250000,-1.200000,0.700000,0.800000
multi30k,de,mR,0 1 2,mule-full original,embn-de original,1.300000,0.100000,2.500000,0.060000
multi30k,fr,mR,0 1 2,mule-full original,embn-fr original,6.300000,4.700000,7.900000,0.001000
"""
CLAIMS = """\
id,claim,verdict,paper_numbers,comparisons
M1,Joint training helps,holds,support,2
M2,It costs nothing,does not hold,contradict,1
L1,No more data,not testable,,0
L1-as-code,No more data (as published code),holds,,1
"""
PAGE = """\
# Page

<!-- recalls small/table2 multi30k -->
<!-- end -->
Text in between.
<!-- differences small multi30k mule-full-vs-embn -->
old
<!-- end -->
<!-- verdicts small -->
<!-- end -->
"""
FILLED = """\
# Page

<!-- recalls small/table2 multi30k -->
|  | En | Fr |
| --- | --- | --- |
| (a) EmbN | 50.8 ± 0.7 | 31.6 |
| (d) MULE EmbN - Full | - | 37.8 ± 0.3 |
<!-- end -->
Text in between.
<!-- differences small multi30k mule-full-vs-embn -->
|  | En | De | Fr |
| --- | --- | --- | --- |
| mule-full - embn | -0.3 (-1.2 to 0.7) | **+1.3**° (0.1 to 2.5) | **+6.3** (4.7 to 7.9) |
<!-- end -->
<!-- verdicts small -->
| paper | holds | does not hold | not testable |
| --- | --- | --- | --- |
| MULE | 1 | 1 | 0 |
| *Lessons* | 0 | 0 | 1 |
| *Lessons*, again as published code | 1 | 0 | 0 |
| MULE, contradicted by its own numbers | 0 | 1 | 0 |
<!-- end -->
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a published run `small` and a page."""
    files = {
        "comparison/table2.csv": COMPARISON,
        "compare/multi30k/mule-full-vs-embn.csv": COMPARED,
        "claims.csv": CLAIMS,
    }
    for name, text in files.items():
        path = tmp_path / published.FOLDER / "small" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "README.md").write_text(PAGE)
    return tmp_path


def test_models_of_single_languages_share_a_row_and_rows_keep_their_order(repository: Path) -> None:
    folder = repository / published.FOLDER / "small/compare/multi30k"
    head, *_, french = COMPARED.splitlines()
    czech = french.replace(",fr,", ",cs,").replace("-fr ", "-cs ").replace("6.3", "2.0")
    for code, line in (("fr", french), ("cs", czech)):
        (folder / f"mule-full-vs-embn-{code}.csv").write_text(f"{head}\n{line}\n")
    (folder / "z-vs-a.csv").write_text(
        f"{head}\n{french.replace('mule-full', 'z').replace('embn-fr', 'a')}\n"
    )
    pairs = ("z-vs-a", "mule-full-vs-embn-fr", "mule-full-vs-embn-cs")
    assert published.differences(repository / published.FOLDER, "small", "multi30k", *pairs)[2:] == [
        "| z - a | **+6.3** (4.7 to 7.9) | - |",
        "| mule-full - embn | **+6.3** (4.7 to 7.9) | **+2.0** (4.7 to 7.9) |",
    ]


def test_tables_are_filled_and_the_rest_of_a_page_stays(repository: Path) -> None:
    assert published.fill_pages(repository) == [repository / "README.md"]
    assert (repository / "README.md").read_text() == FILLED
    assert published.fill_pages(repository) == []


def test_a_missing_run_is_named(repository: Path) -> None:
    with pytest.raises(InputError, match=r"results/published/large/claims\.csv"):
        published.filled_page("<!-- verdicts large -->\n<!-- end -->\n", repository)


def test_the_pages_of_this_repository_agree_with_their_files() -> None:
    differing = [
        path.relative_to(ROOT)
        for path in published.pages(ROOT)
        if published.filled_page(text := path.read_text(encoding="utf-8"), ROOT) != text
    ]
    assert not differing, "run make results-pages"
    for path, content in read_yaml(ROOT / published.FOLDER / "pictures.yaml").items():
        drawn = published.picture(ROOT / published.FOLDER, **content)
        assert (ROOT / path).read_text(encoding="utf-8") == drawn, "run make results-pages"


def test_a_published_run_records_what_made_it_and_is_small() -> None:
    for path in (ROOT / published.FOLDER).glob("*/run.json"):
        run = json.loads(path.read_text(encoding="utf-8"))
        expected = {"command", "commit", "date", "machine", "versions", "trained_on", "seeds", "hours_of_cpu"}
        assert set(run) == expected
        files = [file for file in path.parent.rglob("*") if file.is_file()]
        assert {file.suffix for file in files} <= {".csv", ".json", ".md"}
        assert sum(file.stat().st_size for file in files) < 2**20
