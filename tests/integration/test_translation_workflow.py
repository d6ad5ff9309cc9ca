"""Translation by a service through Snakemake: a stand-in on this machine gets each request only once."""

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest
from project import FINISHED, Project, copy_of, finished
from stand_in_service import Service, stand_in

from pipeline.settings.merge import merge

pytestmark = pytest.mark.integration

TABLE = "work/demo/multi30k/translations/en-de.csv"


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with stand_in() as service:
        yield service


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, service: Service) -> Project:
    """A project whose English captions have been translated into German by the stand-in."""
    project = copy_of(finished(tmp_path_factory), tmp_path_factory.mktemp("translated") / "project")
    configure(project, service)
    project.make(TABLE)
    return project


def configure(project: Project, service: Service, pair: dict[str, Any] | None = None, **others: Any) -> None:
    pairs = {"en-de": {"provider": "google", "url": service.url, **(pair or {})}}
    translation = {"pairs": pairs, "requests_per_second": 100, **others}
    project.configure(**merge(FINISHED, {"translation": translation}))


def test_every_caption_is_requested_and_translated_once(project: Project, service: Service) -> None:
    table = pd.read_csv(project.folder / TABLE)
    english = pd.read_csv(project.folder / "work/demo/multi30k/captions/en.csv")
    assert len(table) == len(english)
    assert sorted(service.lines) == sorted(english["caption"].unique())
    assert set(table["origin"]) == {"google"}


def test_another_version_reruns_the_translation_and_another_rate_or_cache_does_not(
    project: Project, service: Service
) -> None:
    configure(project, service, requests_per_second=5, cache="elsewhere.sqlite")
    assert project.would_run(TABLE) == {}
    configure(project, service, {"version": "2027"})
    assert project.would_run(TABLE) == {"translate": 1}


def test_a_lost_table_is_made_again_without_the_service(project: Project, service: Service) -> None:
    asked, before = len(service.requests), (project.folder / TABLE).read_bytes()
    (project.folder / TABLE).unlink()
    configure(project, service)
    project.make(TABLE)
    assert (project.folder / TABLE).read_bytes() == before
    assert len(service.requests) == asked


def test_a_service_that_refuses_ends_the_run_with_a_message(project: Project, service: Service) -> None:
    service.behaviour = lambda number, lines: "403"
    configure(project, service, {"version": "2028"})
    done = project.snakemake("--cores", "1", TABLE)
    assert done.returncode == 1
    assert "Run the same command again to resume" in done.stdout
