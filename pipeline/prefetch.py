"""Weights of CNNs, BERT and Marian, downloaded as the jobs that use them would."""

from pathlib import Path

from pipeline.common.files import atomic_write
from pipeline.settings.hub import HubModels


def prefetch_models(models: HubModels, output: Path) -> None:
    """Download models into the Hugging Face cache ($HF_HOME), from which jobs load them without a network.

    Args:
        models: JSON: `backbones`, names of timm; `bert`, a name on the hub; `marian`, revisions by name.
        output: list of the downloaded models to write, one per line.

    Raises:
        InputError: a model could not be downloaded.
    """
    from pipeline.images.backbone import hub_model
    from pipeline.translation.marian import model_folder
    from pipeline.words.sentence_vectors import load_bert

    for name in models.backbones:
        hub_model(name)
    if models.bert:
        load_bert(models.bert, -1)
    for name, revision in models.marian.items():
        model_folder(name, revision)
    berts = [models.bert] if models.bert else []
    kinds = {"timm": models.backbones, "bert": berts, "marian": models.marian}
    with atomic_write(output) as temporary:
        lines = [f"{kind} {name}\n" for kind, names in kinds.items() for name in names]
        temporary.write_text("".join(lines), encoding="utf-8")
