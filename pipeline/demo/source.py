"""The demo as a source of captions; its pictures have a stage of their own."""

from pipeline.datasets.captions import Caption
from pipeline.datasets.published import TRANSLATION
from pipeline.datasets.source import Inputs, Source, StageKeys
from pipeline.datasets.split import Split
from pipeline.demo.datasets import split_of
from pipeline.demo.sentences import demo_captions, translated_captions


def _scenes(keys: StageKeys) -> tuple[str, int, int]:
    """Data set, seed and number of the scenes."""
    assert keys.dataset and keys.seed is not None and keys.scenes, "as the plan gives"
    return keys.dataset, keys.seed, keys.scenes


def _read_split(keys: StageKeys, inputs: Inputs) -> Split:
    dataset, _, scenes = _scenes(keys)
    return split_of(dataset, scenes)


def _read_captions(keys: StageKeys, inputs: Inputs, language: str, split: Split) -> list[Caption]:
    dataset, seed, scenes = _scenes(keys)
    captions = demo_captions(dataset, language, seed, scenes)
    return [caption for caption in captions if caption.image in split]


def _read_part(keys: StageKeys, inputs: Inputs, part: str, language: str, split: Split) -> list[Caption]:
    dataset, seed, scenes = _scenes(keys)
    return translated_captions(dataset, language, seed, scenes)


_KEYS = (("dataset", "seed", "scenes"),)

SOURCE = Source(
    split_keys=_KEYS,
    caption_keys=_KEYS,
    parts=(TRANSLATION,),
    project_files=(
        "pipeline/demo/data/concepts.yaml",
        "pipeline/demo/data/datasets.yaml",
        "pipeline/demo/data/languages/{language}.yaml",
    ),
    human_translations=True,
    read_split=_read_split,
    read_captions=_read_captions,
    read_part=_read_part,
)
