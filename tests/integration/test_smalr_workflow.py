"""SMALR's targets as Snakemake plans them: the files of ten languages and their inputs."""

import pytest
from project import Project, copy_of_project

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    made = copy_of_project(tmp_path_factory.mktemp("ten"))
    made.configure()
    return made


def test_a_model_of_ten_languages_uses_translations_where_there_are_no_captions(project: Project) -> None:
    """Multi30K: nine translations from English; three of them are added to human captions."""
    planned = project.would_run("work/demo/multi30k/experiments/mule-ten/seed0/test-original.json")
    assert (planned["translate"], planned["augment"], planned["build_vocabulary"]) == (9, 3, 10)
    assert planned["tokenize"] == planned["write_demo_captions"] == 4
    assert planned["write_demo_dictionary"] == 5  # de fr cs zh ja; the four others have word lists


def test_a_smaller_vocabulary_is_made_from_the_whole_one(project: Project) -> None:
    """English stays whole if rare words become English."""
    planned = project.would_run("work/demo/mscoco/experiments/mule-ten-dictionary-5/seed0/test-original.json")
    assert (planned["build_vocabulary"], planned["reduce_vocabulary"]) == (10, 9)
    planned = project.would_run("work/demo/mscoco/experiments/mule-ten-pca-50/seed0/test-original.json")
    assert (planned["build_vocabulary"], planned["reduce_vocabulary"]) == (10, 10)


def test_a_character_model_needs_no_word_vectors(project: Project) -> None:
    planned = project.would_run("work/demo/mscoco/experiments/liwe-s-ten/seed0/test-original.json")
    assert planned["encode_characters"] == 10 and "build_vocabulary" not in planned


def test_a_table_of_four_languages_needs_no_translated_language(project: Project) -> None:
    """MULE's models read nothing of a translated language."""
    planned = project.would_run("work/demo/multi30k/experiments/mule-full-human+mt/seed0/test-original.json")
    assert planned["translate"] == 6 and "augment" not in planned


def test_without_a_provider_every_pair_is_reported(project: Project) -> None:
    output = project.snakemake("-n", "results/smalr/table2.csv", "--config", "scale=paper").stdout
    assert "Translations are needed between these languages" in output
    for pair in ("en-zh", "en-ja", "en-ar", "en-af", "en-ko", "en-ru"):
        assert pair in output


def test_a_report_trains_models_that_only_a_figure_needs_if_it_names_the_figure(project: Project) -> None:
    """For each data set, MULE with its own languages and with each of two (1b); eleven baselines (3)."""
    jobs = {}
    for name in ("smalr/parameters", "smalr/figure1b", "smalr/figure3"):
        asked = f'report=["smalr/table1","smalr/table2","{name}"]'
        jobs[name] = project.would_run("results/report.html", "--config", asked)
    tables = jobs["smalr/parameters"]
    assert tables["count_smalr_parameters"] == 1 and "draw_scaling" not in tables
    assert jobs["smalr/figure1b"]["train"] == tables["train"] + 10
    assert jobs["smalr/figure1b"]["draw_scaling"] == 1
    assert jobs["smalr/figure3"]["train"] == tables["train"] + 22
    assert all(planned["judge_claims"] == 1 for planned in jobs.values())
