"""A trained model and its vocabularies, checked before it is evaluated."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pipeline.common.errors import raise_together
from pipeline.evaluation.inputs import read_vocabularies
from pipeline.models.model import ModelRecord, RetrievalModel, load_model
from pipeline.words.vocabulary import Vocabulary


def model_and_vocabularies(
    model: Path, words: Sequence[Path]
) -> tuple[RetrievalModel, ModelRecord, dict[str, Vocabulary]]:
    """A trained model, its record, and the vocabulary of each of its languages.

    Raises:
        InputError: the model was trained with other vocabularies.
    """
    network, record = load_model(model)
    vocabularies = read_vocabularies(words, record.settings.languages)
    check_vocabularies(record, vocabularies, model)
    return network, record, vocabularies


def check_vocabularies(record: ModelRecord, vocabularies: Mapping[str, Vocabulary], path: Path) -> None:
    """Raise an `InputError` if a model was trained with other words than it is evaluated with."""
    mistakes = [
        f"{language!r}: the --words file is not the one the model was trained with"
        for language, words in record.words.items()
        if words != vocabularies[language].words
    ]
    raise_together(mistakes, f"{path}: vocabularies do not fit; train again or give the right files:")
