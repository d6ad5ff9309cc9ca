"""Parameters at the paper's size, by hand."""

from pathlib import Path

import pytest

from pipeline.models.embedding import Sizes
from pipeline.models.model import RetrievalModel
from pipeline.models.settings import ClassifierWeight, Liwe, Masking, Model, ModelSettings
from pipeline.models.sizes import at_test_time, count, count_model
from pipeline.settings import load, train_settings
from pipeline.tables.smalr_parameters import count_combiner
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


def small(
    *languages: str, classifier: ClassifierWeight | None = None, masking: Masking | None = None
) -> ModelSettings:
    model = Model(
        universal_dim=5, multimodal_dim=4, recurrent="gru", recurrent_init="pytorch", hidden_size=3,
        image_hidden_size=6,
    )  # fmt: skip
    return ModelSettings(languages=list(languages), model=model, classifier=classifier, masking=masking)


# EmbN of 10 words, with word vectors and image features of 2 and 7 numbers, worked out by hand.
OWN = 10 * 2 + (2 * 5 + 5)  # a language's table and linear layer
SENTENCES = 3 * (5 * 3 + 3 * 3 + 2 * 3) + 3 * 4 + 4
IMAGES = (7 * 6 + 6) + 2 * 6 + (6 * 4 + 4)


@pytest.mark.parametrize(
    ("settings", "whole"),
    [
        (small("en"), OWN),
        (small("en", "de"), 2 * OWN),
        (small("en", "de", classifier=ClassifierWeight()), 2 * OWN + (5 * 2 + 2)),
        # One layer for pairs of universal embeddings (5 numbers), one for multimodal embeddings (4).
        (small("en", "de", masking=Masking()), 2 * OWN + (10 * 10 + 10) + (8 * 8 + 8)),
    ],
)
def test_parameters_of_a_model_are_those_worked_out_by_hand(settings: ModelSettings, whole: int) -> None:
    sizes = Sizes(dict.fromkeys(settings.languages, 11), 2, 7)
    counts = count_model(RetrievalModel(settings, sizes), settings)
    assert sum(counts.values()) == whole + SENTENCES + IMAGES
    assert sum(at_test_time(counts).values()) == SENTENCES + IMAGES


def test_a_model_that_reads_characters_needs_all_of_itself_at_test_time() -> None:
    """Two characters besides padding; a layer with its lengths and batch norm; a GRU in both directions."""
    liwe = Liwe(character_dim=2, max_word_length=2, layers=[5])
    settings = ModelSettings(languages=["en", "de"], model=Model(encoder="liwe", hidden_size=3), liwe=liwe)
    counts = count_model(RetrievalModel(settings, Sizes({"en": 2, "de": 2}, 2, 7, shared=3)), settings)
    words, recurrent = 2 * 2 + (4 * 5 + 5 + 5) + 2 * 5, 2 * 3 * (5 * 3 + 3 * 3 + 2 * 3)
    assert sum(counts.values()) == sum(at_test_time(counts).values()) == words + recurrent + 7 * 3 + 3
