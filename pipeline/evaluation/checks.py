"""Checks before a trained model is evaluated."""

from collections.abc import Mapping
from pathlib import Path

from pipeline.common.errors import raise_together
from pipeline.models.saved import ModelRecord, vocabulary_digest
from pipeline.words.vocabulary import Vocabulary


def check_vocabularies(record: ModelRecord, vocabularies: Mapping[str, Vocabulary], path: Path) -> None:
    """Raise an `InputError` if a model was trained with another vocabulary than it is evaluated with."""
    mistakes = [
        f"{language!r}: the --words file is not the one the model was trained with"
        for language, vocabulary in vocabularies.items()
        if vocabulary_digest(vocabulary.words) != record.vocabularies[language]
    ]
    raise_together(mistakes, f"{path}: vocabularies do not fit; train again or give the right files:")
