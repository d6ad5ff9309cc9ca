"""The demo's translation part: one English caption of each picture in every language.

Like Multi30K's translation part, which has one of the five English captions in four languages.
"""

from pipeline.common.errors import raise_together
from pipeline.datasets.captions import Caption
from pipeline.demo.datasets import request_mistakes, scenes_of, splits_of, stream
from pipeline.demo.grammar import language as grammar
from pipeline.demo.plans import draw_plan

SOURCE = "en"


def translated_captions(dataset: str, language: str, seed: int, scenes: int) -> list[Caption]:
    """Captions in one language; English and always-translated languages repeat the demo's captions.

    Raises:
        InputError: the data set is not known, the scenes are too few, or there is no grammar of the language.
    """
    raise_together(request_mistakes(dataset, scenes), "The demo's captions cannot be written:")
    splits = splits_of(scenes)
    captions = []
    for index, (image, scene) in enumerate(scenes_of(dataset, seed, scenes).items()):
        plan = draw_plan(scene, stream(dataset, seed, index, SOURCE, "plan", 0))
        words = stream(dataset, seed, index, language)
        words.randint(1, 1)  # random numbers as for captions, which begin by drawing how many there are
        caption = grammar(language).caption(plan, words)
        source = "" if language == SOURCE else SOURCE
        captions.append(Caption(image, splits[index], language, caption, "human", source))
    return captions
