"""The picture of the README: one test scene described in six languages, and the scenes that are retrieved.

    snakemake work/demo/multi30k/experiments/mule-full/seed0/model.pt --configfile config/six-languages.yaml
    python -m docs.picture

The scene is drawn by a seed among all test scenes, not chosen. Fonts: DejaVu Sans and Noto Sans CJK.
"""

import argparse
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageDraw, ImageFont

from pipeline.evaluation.embed import embed_images, embed_sentences
from pipeline.evaluation.inputs import add_features, evaluation_corpus, original_sentences, read_vocabularies
from pipeline.evaluation.similarity import similarity
from pipeline.images.lists import read_image_list
from pipeline.models.saved import load_model

WORK = Path("work/demo/multi30k")
NAMES = {"en": "English", "de": "German", "fr": "French", "cs": "Czech", "zh": "Chinese", "ja": "Japanese"}
SHOWN = 5  # scenes retrieved by each sentence
SIDE = 92  # pixels of a scene's shorter side
GAP, TEXT, WIDTH = 8, 32, 640  # pixels
RIGHT, INK, PAPER = "#0969da", "#1f2328", "#ffffff"
LATIN, CJK = "DejaVuSans.ttf", "NotoSansCJK-Regular.ttc"


def main() -> None:
    """Draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path("docs/retrieved.png"))
    arguments = parser.parse_args()
    query, rows = _retrieved(arguments.seed)
    paths = read_image_list(WORK / "images.csv")
    picture = Image.new("RGB", (WIDTH, len(rows) * (SIDE + TEXT) + GAP), PAPER)
    for place, (language, text, images) in enumerate(rows):
        _draw_row(picture, place * (SIDE + TEXT) + GAP, f"{NAMES[language]}: {text}", images, query, paths)
    picture.quantize(192, dither=Image.Dither.NONE).save(arguments.output, optimize=True)
    print(f"{arguments.output}: {arguments.output.stat().st_size / 1000:.0f} kB, query {query}")


def _retrieved(seed: int) -> tuple[str, list[tuple[str, str, list[str]]]]:
    """A test image, and for each language its first caption with the images nearest to that."""
    torch.set_num_threads(1)
    file = WORK / "experiments" / "mule-full" / "seed0" / "model.pt"
    model, saved = load_model(file)
    languages = saved.settings.languages
    vocabularies = read_vocabularies(
        [WORK / "words" / "human" / f"{code}.h5" for code in languages], languages
    )
    own = original_sentences([WORK / "tokens" / f"{code}.csv" for code in languages], saved.settings)
    corpus = evaluation_corpus(own, vocabularies, saved.settings, "test")
    add_features(corpus, WORK / "features.h5", saved.settings.features)
    seen = embed_images(model, corpus)
    query = int(np.random.default_rng(seed).integers(len(corpus.images)))
    rows = []
    for code, part in corpus.languages.items():
        first = int(np.flatnonzero(part.image == query)[0])
        table = own[code][own[code]["image"] == corpus.images[query]]
        compared = similarity(embed_sentences(model, code, part), seen, model.similarity)[first]
        nearest = compared.argsort(descending=True, stable=True)[:SHOWN].tolist()
        rows.append((code, str(table["caption"].iloc[0]), [corpus.images[image] for image in nearest]))
    return corpus.images[query], rows


def _draw_row(
    picture: Image.Image, top: int, text: str, images: list[str], query: str, paths: dict[str, Path]
) -> None:
    draw = ImageDraw.Draw(picture)
    wide = any(ord(letter) > 0x2E7F for letter in text)
    draw.text((GAP, top), text, fill=INK, font=ImageFont.truetype(CJK if wide else LATIN, 15))
    for place, image in enumerate(images):
        scene = Image.open(paths[image]).convert("RGB")
        scene.thumbnail((SIDE * 2, SIDE))
        left = GAP + place * (WIDTH - GAP) // SHOWN
        picture.paste(scene, (left, top + TEXT - GAP))
        if image == query:
            box = (left, top + TEXT - GAP, left + scene.width - 1, top + TEXT - GAP + scene.height - 1)
            draw.rectangle(box, outline=RIGHT, width=5)


if __name__ == "__main__":
    main()
