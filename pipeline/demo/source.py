"""The demo as a source of captions; its pictures and captions have stages of their own."""

from pipeline.common.errors import InputError
from pipeline.datasets.captions import Caption
from pipeline.datasets.published import TRANSLATION
from pipeline.datasets.source import Inputs, PartKeys, Source
from pipeline.datasets.split import Split
from pipeline.demo.sentences import translated_captions


def _read_part(keys: PartKeys, inputs: Inputs, part: str, language: str, split: Split) -> list[Caption]:
    if keys.dataset is None or keys.seed is None or keys.scenes is None:
        raise InputError("read-caption-part: source demo needs dataset, seed and scenes.")
    return translated_captions(keys.dataset, language, keys.seed, keys.scenes)


SOURCE = Source(
    parts=(TRANSLATION,),
    project_files=(
        "pipeline/demo/data/concepts.yaml",
        "pipeline/demo/data/datasets.yaml",
        "pipeline/demo/data/languages/{language}.yaml",
    ),
    human_translations=True,
    read_part=_read_part,
)
