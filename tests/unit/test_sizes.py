"""Parameters at the paper's size, by hand."""

from pathlib import Path

from pipeline.models.sizes import at_test_time, count, count_combiner
from pipeline.settings import load, train_settings
from pipeline.training.settings import TrainSettings

CONFIG = Path(__file__).parents[2] / "config"
TEN = ("en", "de", "fr", "cs", "zh", "ja", "ar", "af", "ko", "ru")
WORDS = {language: 20_000 + 100 * number for number, language in enumerate(TEN)}


def of(name: str) -> TrainSettings:
    return train_settings(load({"scale": "paper"}, CONFIG), "multi30k", name, 0)


def test_mule_is_mostly_word_vectors() -> None:
    found = count(of("mule-ten"), WORDS)
    assert found["words"] == 204_500 * 300
    assert found["entries"] == found["losses"] == 0
    assert found["layers"] == 10 * (300 * 512 + 512)
    assert found["sentences"] == 4 * (512 * 1024 + 1024 * 1024 + 2 * 1024) + 1024 * 512 + 512
    assert found["images"] == 2048 * 2048 + 2048 + 2 * 2048 + 2048 * 512 + 512
    assert found["classifier"] == 512 * 10 + 10


def test_smalr_has_own_vectors_entries_and_what_masking_learns() -> None:
    found = count(of("smalr"), WORDS, shared=12_000)
    assert found["words"] == 10 * 5000 * 50
    assert found["entries"] == (12_000 + 1) * 512  # and MASK
    assert found["layers"] == 10 * (50 * 512 + 512)
    assert found["sentences"] == 3 * (2 * 512 * 512 + 2 * 512) + 512 * 512 + 512
    assert found["losses"] == 2 * (1024 * 1024 + 1024)
    assert sum(found.values()) < 20_000_000


def test_a_language_agnostic_model_has_only_entries() -> None:
    found = count(of("smalr-la"), WORDS, shared=12_000)
    assert (found["words"], found["layers"], found["losses"]) == (0, 0, 0)
    assert found["entries"] == 12_000 * 512


def test_without_nc_and_lc_there_is_no_classifier_and_parallel_models_have_a_branch_per_language() -> None:
    one, four = ({code: 100 for code in TEN[:number]} for number in (1, 4))
    alone, parallel = count(of("embn-en"), one), count(of("parallel-embn"), four)
    assert alone["classifier"] == parallel["classifier"] == 0
    assert parallel["sentences"] == 4 * alone["sentences"]


def test_two_languages_have_fewer_scores_to_combine() -> None:
    assert count_combiner(2, 32) == 2 * 32 + 32
    assert count_combiner(10, 32) == 352


def test_at_test_time_there_are_7_1_million() -> None:
    found = at_test_time(count(of("smalr"), WORDS))
    assert found == {"sentences": 1_838_592, "images": 5_249_536}
    assert round((sum(found.values()) + 352) / 1e6, 1) == 7.1


def test_padding_counts_if_its_vector_is_trained() -> None:
    settings = of("mule-ten")
    padded = settings.model.model_copy(update={"universal_mean": "padded"})
    more = sum(count(settings.model_copy(update={"model": padded}), WORDS).values())
    assert more - sum(count(settings, WORDS).values()) == 10 * 300
