"""Weights of CNNs, BERT and Marian, downloaded as the jobs that use them would."""

from collections.abc import Sequence
from pathlib import Path

from pipeline.common.files import atomic_write


def prefetch_models(output: Path, models: Sequence[str] = ()) -> None:
    """Download models into the Hugging Face cache ($HF_HOME), from which jobs load them without a network.

    Args:
        output: list of the downloaded models to write, one per line.
        models: `timm NAME`, `bert NAME`, `marian NAME` or, for a commit or tag, `marian NAME@REVISION`.

    Raises:
        InputError: a model could not be downloaded.
    """
    from pipeline.images.backbone import hub_model
    from pipeline.translation.marian import model_folder
    from pipeline.words.sentence_vectors import load_bert

    for model in models:
        kind, name = model.split()
        if kind == "timm":
            hub_model(name)
        elif kind == "bert":
            load_bert(name, -1)
        else:
            name, _, revision = name.partition("@")
            model_folder(name, revision or None)
    with atomic_write(output) as temporary:
        temporary.write_text("".join(f"{model}\n" for model in models), encoding="utf-8")
