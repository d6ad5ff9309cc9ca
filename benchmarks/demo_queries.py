"""How well a model of the demo answers what people type: a single thing, or a single colour.

    python -m benchmarks.demo_queries work/demo/multi30k/experiments/mule-full/seed0/index

The query of a kind of thing is its shortest phrase ("a dog."), the query of a colour is the word for it. A
scene answers it if it shows such a thing, or a thing of that colour. Precision at five is the share of the
first five scenes that answer it, relative to the best possible share. Next to it is the precision of five
scenes drawn at random.
"""

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random

from pipeline.demo.concepts import concepts
from pipeline.demo.datasets import scenes_of
from pipeline.demo.grammar import Language, language
from pipeline.demo.plans import Mention, Plan
from pipeline.demo.scenes import Scene
from search import load, open_index

TOP = 5
Query = tuple[str, frozenset[str]]  # text, images that answer it


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("index", type=Path, help="of a demo data set, by build-index")
    folder = parser.parse_args().index
    index = open_index(folder)
    model = load(index.bundle)
    dataset, _, last = max(index.images).rpartition("-")
    every = scenes_of(dataset, 0, int(last))
    scenes = {image: every[image] for image in index.images}
    for code in model.languages:
        for kind, queries in (("things", thing_queries), ("colours", colour_queries)):
            single = [query for query in queries(language(code), scenes) if query[1]]
            precision = chance = 0.0
            for text, answers in single:
                possible = min(TOP, len(answers))
                chance += TOP * len(answers) / len(scenes) / possible
                if model.parse(text, code).sentence.known_words:  # a query of unknown words finds nothing
                    (rows,) = model.search(index, sentences=[text], top_k=TOP, language=code).rows
                    precision += sum(index.images[row] in answers for row in rows) / possible
            print(f"{code} {kind:8} {len(single):3} queries  P@{TOP} {100 * precision / len(single):5.1f}  "
                  f"at random {100 * chance / len(single):5.1f}", flush=True)  # fmt: skip


def thing_queries(grammar: Language, scenes: Mapping[str, Scene]) -> Iterator[Query]:
    """A phrase for each kind of thing, with the images that show one."""
    for kind in concepts().objects:
        plan = Plan("single", {"subject": Mention({"noun": kind, "number": "1"})})
        answers = (
            image for image, scene in scenes.items() if any(group.kind == kind for group in scene.groups)
        )
        yield min((grammar.caption(plan, Random(seed)) for seed in range(9)), key=len), frozenset(answers)


def colour_queries(grammar: Language, scenes: Mapping[str, Scene]) -> Iterator[Query]:
    """A word for each colour, with the images that show a thing of that colour."""
    for colour, words in grammar.lexicon["colour"].items():
        answers = (
            image for image, scene in scenes.items() if any(group.colour == colour for group in scene.groups)
        )
        yield next(iter(words[0].forms.values())), frozenset(answers)


if __name__ == "__main__":
    main()
