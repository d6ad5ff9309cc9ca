"""The best epoch of a training: how it is selected, and how its model is written."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.datasets.languages import tokenizer_versions
from pipeline.evaluation.ranks import mean_recalls
from pipeline.images.store import store_attributes
from pipeline.models.model import ModelRecord, RetrievalModel, save_model
from pipeline.models.settings import SavedSettings
from pipeline.models.sizes import at_test_time
from pipeline.training.loop import State
from pipeline.training.precision import exact_products
from pipeline.training.settings import LessonsSettings, TrainSettings
from pipeline.words.corpus import Corpus
from pipeline.words.vocabulary import Vocabulary


def validate(model: RetrievalModel, validation: Corpus) -> dict[str, float]:
    """The columns of the curves: the mR of each language, and their mean, which selects the best epoch."""
    with exact_products():
        return validation_row(mean_recalls(model, validation))


def validation_row(recalls: Mapping[str, float]) -> dict[str, float]:
    """The columns of the curves that the mR of each language fills."""
    mean = sum(recalls.values()) / len(recalls)
    return {"val_mR": mean, **{f"val_mR_{language}": value for language, value in recalls.items()}}


def write_best(
    output: Path,
    model: RetrievalModel,
    state: State,
    settings: TrainSettings | LessonsSettings,
    features: Path,
    vocabularies: Mapping[str, Vocabulary],
    **counts: Any,
) -> None:
    """Write the model of the best epoch.

    Args:
        features: the image features. counts: of training captions, translations and groups, as `ModelRecord`
            has them.
    """
    model.load_state_dict(state.best_weights)
    row = state.curves[state.best_row - 1]
    sizes = model.count()
    words = {code: vocabulary.words for code, vocabulary in vocabularies.items() if vocabulary.unit == "word"}
    record = ModelRecord(
        settings=SavedSettings.model_validate(settings.as_values()),
        words=words,
        features=store_attributes(features),
        tokenizers={language: tokenizer_versions(language) for language in words},
        epoch=state.best_row,
        validation={language: row[f"val_mR_{language}"] for language in settings.languages},
        training_steps=state.step,
        **counts,
        parameters=sum(sizes.values()),
        parameters_at_test=sum(at_test_time(sizes).values()),
    )
    save_model(output, model, record)
