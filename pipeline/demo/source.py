"""The demo as a source of captions; its pictures and captions have stages of their own."""

from pipeline.datasets.captions import Caption
from pipeline.datasets.published import TRANSLATION
from pipeline.datasets.source import Data, Inputs, Keys, Source, Terms
from pipeline.datasets.split import Split
from pipeline.demo.caption_part import translated_captions


def _read_part(data: Data, inputs: Inputs, part: str, language: str, split: Split) -> list[Caption]:
    return translated_captions(data["dataset"], language, data["seed"], data["scenes"])


SOURCE = Source(
    parts=(TRANSLATION,),
    part_keys=Keys(("dataset", "seed", "scenes")),
    project_files=(
        "pipeline/demo/data/concepts.yaml",
        "pipeline/demo/data/datasets.yaml",
        "pipeline/demo/data/languages/{language}.yaml",
    ),
    human_translations=True,
    terms=Terms("scenes and captions made by this project of OpenMoji's drawings", "CC BY-SA 4.0"),
    read_part=_read_part,
)
