"""Translation by a service through Snakemake: a stand-in on this machine gets each request only once."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from project import DEMO, Project, ready
from stand_in_service import Service, stand_in

TABLE = "work/demo/multi30k/translations/en-de.csv"

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with stand_in() as service:
        yield service


@pytest.fixture(scope="module")
def shared_project(tmp_path_factory: pytest.TempPathFactory, service: Service) -> Project:
    """A project whose English captions have been translated into German by the stand-in."""
    project = ready(tmp_path_factory.mktemp("project"), tmp_path_factory)
    project.configure(**DEMO, translation=_translation(service))
    project.make(TABLE)
    return project


def _translation(service: Service, **changes: Any) -> dict[str, Any]:
    pair = {"provider": "google", "url": service.url, **changes}
    return {"pairs": {"en-de": pair}, "requests_per_second": 100}


def test_every_caption_is_requested_and_translated_once(shared_project: Project, service: Service) -> None:
    table = pd.read_csv(shared_project.folder / TABLE)
    english = pd.read_csv(shared_project.folder / "work/demo/multi30k/captions/en.csv")
    assert len(table) == len(english)
    assert sorted(service.lines) == sorted(english["caption"].unique())
    assert set(table["origin"]) == {"google"}
    assert (shared_project.folder / "work/translations.sqlite").exists()


def test_the_rate_and_the_path_of_the_cache_rerun_nothing(shared_project: Project, service: Service) -> None:
    changes = {"requests_per_second": 5, "cache": "elsewhere.sqlite"}
    shared_project.configure(**DEMO, translation={**_translation(service), **changes})
    assert shared_project.would_run(TABLE) == {}


def test_another_provider_or_version_reruns_the_translation(
    shared_project: Project, service: Service
) -> None:
    shared_project.configure(**DEMO, translation=_translation(service, version="2027"))
    assert shared_project.would_run(TABLE) == {"translate": 1}
    shared_project.configure(**DEMO)
    assert shared_project.would_run(TABLE)["translate"] == 1


def test_a_lost_table_is_made_again_without_the_service(shared_project: Project, service: Service) -> None:
    asked, before = len(service.requests), (shared_project.folder / TABLE).read_bytes()
    (shared_project.folder / TABLE).unlink()
    shared_project.configure(**DEMO, translation=_translation(service))
    shared_project.make(TABLE)
    assert (shared_project.folder / TABLE).read_bytes() == before
    assert len(service.requests) == asked


def test_a_service_that_refuses_ends_the_run_with_a_message(
    shared_project: Project, service: Service
) -> None:
    service.behaviour = lambda number, lines: "403"
    shared_project.configure(**DEMO, translation=_translation(service, version="2028"))
    done = shared_project.snakemake("--cores", "2", TABLE)
    assert done.returncode == 1
    assert "Run the same command again to resume" in (done.stdout + done.stderr)


def test_a_pair_without_english_has_no_dictionary(shared_project: Project) -> None:
    shared_project.configure(**DEMO)
    done = shared_project.snakemake("-n", "work/demo/multi30k/translations/fr-de.csv")
    output = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == 1
    assert "fr-de: the bilingual dictionaries have English on one side" in output
    assert "ValueError" not in output


def test_a_providers_mistakes_are_reported_together(shared_project: Project, tmp_path: Path) -> None:
    shared_project.configure(**DEMO, translation={"pairs": {
        "en-de": {"provider": "google", "model": "x"},
        "en-fr": {"provider": "marian"},
        "en-cs": {"provider": "gogle"},
    }})  # fmt: skip
    done = shared_project.snakemake("-n", TABLE)
    output = " ".join((done.stdout + done.stderr).split())
    assert "translation.pairs.en-de: unknown key 'model'" in output
    assert "translation.pairs.en-cs.provider: found 'gogle', expected dictionary, files, marian" in output
