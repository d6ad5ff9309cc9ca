"""The best epoch of a training: how it is selected, and how its model is written."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from pipeline.common.errors import raise_together
from pipeline.common.files import atomic_write
from pipeline.datasets.languages import tokenizer_versions
from pipeline.datasets.origins import Origins
from pipeline.evaluation.evaluate import mean_recalls
from pipeline.models.model import ModelRecord, RetrievalModel, save_model
from pipeline.models.settings import SavedSettings
from pipeline.training.loop import Run, Validation
from pipeline.training.precision import exact_products
from pipeline.training.settings import LessonsSettings, TrainSettings
from pipeline.words.corpus import Corpus
from pipeline.words.vocabulary import Vocabulary

log = logging.getLogger("pipeline")

OTHER_DEVICE = 1.0  # points of mR by which two devices may differ; rounding changes far less


def validate(model: RetrievalModel, validation: Corpus) -> Validation:
    """The mR of each language, whose mean selects the best epoch."""
    with exact_products():
        recalls = mean_recalls(model, validation)
    mean = sum(recalls.values()) / len(recalls)
    return Validation(row(mean, recalls), mean, recalls)


def row(mean: float, recalls: Mapping[str, float]) -> dict[str, float]:
    """The columns of the curves that validation fills."""
    return {"val_mR": mean, **{f"val_mR_{language}": value for language, value in recalls.items()}}


@dataclass
class BestModel:
    """The best model of a run, and what its files record.

    features: attributes of the feature store. captions, translations, groups: as `ModelRecord` has them.
    """

    settings: TrainSettings | LessonsSettings
    vocabularies: Mapping[str, Vocabulary]
    features: dict[str, Any]
    validation: Corpus
    captions: dict[str, Origins]
    translations: dict[str, Origins]
    groups: list[int]

    def write(self, run: Run[Any], curves: Path, output: Path) -> None:
        """Write the model of the best epoch, and the curves of all."""
        model, best = run.model, run.best
        assert isinstance(model, RetrievalModel)
        model.load_state_dict(best.weights)
        recalls = recalls_on_cpu(model, self.validation, best.recalls)
        with atomic_write(curves) as temporary:
            pd.DataFrame(run.curves).to_csv(temporary, index=False)
        run.monitor.remove_partial_curves()
        words = {
            language: vocabulary.words
            for language, vocabulary in self.vocabularies.items()
            if vocabulary.unit == "word"
        }
        record = ModelRecord(
            settings=SavedSettings.model_validate(self.settings.as_values()),
            words=words,
            features=self.features,
            tokenizers={language: tokenizer_versions(language) for language in words},
            epoch=best.epoch,
            validation=recalls,
            training_captions=self.captions,
            training_translations=self.translations,
            training_steps=len(run.curves) * run.batches.steps,
            training_groups=self.groups,
        )
        save_model(output, model, record)


def recalls_on_cpu(
    model: RetrievalModel, validation: Corpus, while_training: Mapping[str, float]
) -> dict[str, float]:
    """Validation mR of the best epoch on the CPU, where evaluation will compute it again.

    The model stays there. A GPU rounds differently, which can move a query by a rank.

    Raises:
        InputError: the two differ by more than rounding explains.
    """
    cpu = torch.device("cpu")
    recalls = mean_recalls(model.to(cpu), validation.to(cpu))
    smallest_gallery = min(len(set(captions.image)) for captions in validation.languages.values())
    step = 100 / 6 / smallest_gallery  # change of mR if one image counts in one of the six recalls
    tolerance = max(OTHER_DEVICE, 3 * step)
    for language, value in recalls.items():
        log.info("%s: validation mR %.2f (while training %.2f)", language, value, while_training[language])
    raise_together(
        (
            f"{language}: {while_training[language]:.2f} while training, {value:.2f} on the CPU"
            for language, value in recalls.items()
            if abs(value - while_training[language]) > tolerance
        ),
        "The GPU and the CPU disagree about the validation mR of the best epoch, so one of them computes "
        "wrongly. Train with gpu: 0, or with other versions of PyTorch and the driver, and report it:",
    )
    return recalls
