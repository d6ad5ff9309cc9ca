"""Weights of CNNs, BERT and Marian, downloaded as the jobs that use them would."""

import logging
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from pipeline.common.errors import InputError, raise_together
from pipeline.common.files import atomic_write
from pipeline.prefetch.settings import HubModels

log = logging.getLogger("pipeline")

Download = tuple[str, Callable[[], object]]  # name of a model, and the function that downloads it


def prefetch_models(models: HubModels, output: Path) -> None:
    """Download models into the Hugging Face cache ($HF_HOME), from which jobs load them without a network.

    Args:
        models: JSON: `backbones`, names of timm; `bert`, a name on the hub; `marian`, objects with `name` and
            perhaps `revision`.
        output: list of the downloaded models to write, one per line.

    Raises:
        InputError: some models could not be downloaded; all of them are listed.
    """
    names, mistakes = [], []
    for name, download in _downloads(models):
        try:
            download()
            log.info("%s: in the cache", name)
            names.append(name)
        except InputError as error:
            mistakes.append(str(error))
    raise_together(mistakes, "Models could not be fetched:")
    with atomic_write(output) as temporary:
        temporary.write_text("".join(f"{name}\n" for name in names), encoding="utf-8")


def _downloads(models: HubModels) -> Iterator[Download]:
    """Each model with the function that downloads it in the stage that uses it."""
    for name in models.backbones:
        from pipeline.images.backbone import hub_model

        yield f"timm {name}", partial(hub_model, name)
    if models.bert:
        from pipeline.words.sentence_vectors import load_bert

        yield f"bert {models.bert}", partial(load_bert, models.bert, -1)
    for marian in models.marian:
        from pipeline.translation.marian import model_folder

        yield f"marian {marian.name}", partial(model_folder, marian.name, marian.revision)
