"""The demo as a source of captions; its pictures and captions have stages of their own."""

from pipeline.common.block import Block, Count, Seed, Text
from pipeline.datasets.captions import Caption
from pipeline.datasets.published import TRANSLATION
from pipeline.datasets.source import Inputs, NoKeys, Source
from pipeline.datasets.split import Split
from pipeline.demo.sentences import translated_captions


class PartKeys(Block):
    """A demo data set, as its pictures are drawn."""

    dataset: Text
    seed: Seed
    scenes: Count


def _read_part(settings: PartKeys, inputs: Inputs, part: str, language: str, split: Split) -> list[Caption]:
    return translated_captions(settings.dataset, language, settings.seed, settings.scenes)


SOURCE = Source(
    split_settings=(NoKeys,),
    caption_settings=NoKeys,
    part_settings=PartKeys,
    parts=(TRANSLATION,),
    project_files=(
        "pipeline/demo/data/concepts.yaml",
        "pipeline/demo/data/datasets.yaml",
        "pipeline/demo/data/languages/{language}.yaml",
    ),
    human_translations=True,
    read_part=_read_part,
)
