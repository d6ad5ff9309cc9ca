"""MULE, Figures 3 and 4: for test images the nearest sentences, and for sentences the nearest images."""

import base64
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from pipeline.evaluation.embed import embed_images, embed_sentences, model_and_vocabularies
from pipeline.evaluation.inputs import add_features, evaluation_corpus, original_sentences
from pipeline.evaluation.ranks import gallery
from pipeline.images.crops import jpeg_of
from pipeline.images.lists import read_image_list
from pipeline.models.similarity import similarities
from pipeline.report.pages import write_page

log = logging.getLogger("pipeline")

OF_EACH = 3  # images that most languages rank first, and as many other images
NEAREST = 4  # images shown for a sentence
SIDE = 192  # pixels of a thumbnail's longer side: two figures and the report stay below 1 MB
QUALITY = 75  # quality of a thumbnail's JPEG

Numbers = NDArray[np.int64]


def draw_retrieved(
    number: int,
    model: Path,
    features: Path,
    words: Sequence[Path],
    sentences: Sequence[Path],
    output: Path,
    images: Path | None = None,
    seed: int = 0,
) -> None:
    """Write a page of examples from the test split, chosen by seed: some right, some wrong.

    Args:
        number: of the figure in the paper.
        model: a trained model of several languages.
        features: image features.
        words: one vocabulary per language.
        sentences: own captions, tokenised.
        output: HTML to write.
        images: output of `find-images`; without it, no pictures are shown.
        seed: of the choice.
    """
    torch.set_num_threads(1)
    network, record, vocabularies = model_and_vocabularies(model, words)
    originals = original_sentences(sentences, record.settings.languages, record.settings.caption_origins)
    corpus = evaluation_corpus(originals, vocabularies, record.settings, "test")
    add_features(corpus, features, record.settings.features)
    vectors = embed_images(network, corpus)
    sentences_of = {}
    for language, part in corpus.languages.items():
        scores = similarities(embed_sentences(network, language, part), vectors, network.similarity)
        sentences_of[language] = RankedSentences(
            scores.T.numpy(), part.image, _texts(originals[language], corpus.images)
        )
    generator = np.random.default_rng(seed)
    examples = _images(sentences_of, corpus.images, generator)
    queries = [
        _query(one, code, corpus.images, right, generator)
        for code, one in sentences_of.items()
        for right in (1, 0)
    ]
    names = {one["image"] for one in examples}
    names |= {near["image"] for query in queries if query for near in [*query["nearest"], query["own"]]}
    values = {
        **record.settings.model_dump(include={"scale", "dataset", "experiment"}),
        "number": number,
        "seed": record.settings.seed,
        "chosen_by": seed,
        "test_images": len(corpus.images),
        "examples": examples,
        "queries": [query for query in queries if query],
        "pictures": thumbnails(images, sorted(names)),
    }
    write_page(output, "figure.html.j2", values)


class RankedSentences:
    """One language's test sentences: similarities (images, sentences), rows of their images, texts.

    Some images may be captioned only in other languages; `gallery` gives a language's own.
    """

    def __init__(self, similarity: NDArray[np.float32], image_of: Numbers, texts: list[str]):
        self.similarity, self.image_of, self.texts = similarity, image_of, texts
        self.gallery, _ = gallery(image_of)
        self.nearest: Numbers = similarity.argmax(axis=1)  # sentence nearest to each image
        # image nearest to each sentence
        self.nearest_image: Numbers = self.gallery[similarity[self.gallery].argmax(axis=0)]


def thumbnails(images: Path | None, names: list[str]) -> dict[str, str]:
    """Small pictures as data URIs, by image; none without a list of the images' files."""
    if images is None:
        return {}
    paths = read_image_list(images)
    contents = {name: base64.b64encode(jpeg_of(paths[name], SIDE, QUALITY)).decode() for name in names}
    return {name: f"data:image/jpeg;base64,{content}" for name, content in contents.items()}


def _texts(originals: pd.DataFrame, images: Sequence[str]) -> list[str]:
    """Test captions of some images in the order of the corpus: by image, in the order of their table."""
    test = originals[(originals["split"] == "test") & originals["image"].isin(images)].sort_values(
        "image", kind="stable"
    )
    return list(test["caption"])


def _images(
    sentences_of: Mapping[str, RankedSentences], images: list[str], generator: np.random.Generator
) -> list[dict[str, Any]]:
    """Test images with each language's nearest sentence: some right in most languages, then others."""
    rows = np.arange(len(images))
    languages = sum((one.image_of[one.nearest] == rows).astype(int) for one in sentences_of.values())
    right = languages == max(1, languages.max())
    rows_shown = [row for of in (rows[right], rows[~right]) for row in _sample(of, OF_EACH, generator)]
    return [
        {
            "image": images[row],
            "sentences": [
                {
                    "language": language,
                    "text": one.texts[one.nearest[row]],
                    "right": bool(one.image_of[one.nearest[row]] == row),
                }
                for language, one in sentences_of.items()
                if row in one.gallery
            ],
        }
        for row in rows_shown
    ]


def _query(
    sentences: RankedSentences, language: str, images: list[str], right: int, generator: np.random.Generator
) -> dict[str, Any] | None:
    """A sentence whose nearest image is (or is not) its own; None if there is none."""
    rows = _sample(
        np.flatnonzero((sentences.nearest_image == sentences.image_of) == bool(right)), 1, generator
    )
    if not rows:
        return None
    (row,) = rows
    order = sentences.gallery[np.argsort(-sentences.similarity[sentences.gallery, row], kind="stable")]
    originals = sentences.image_of[row]
    return {
        "language": language,
        "text": sentences.texts[row],
        "nearest": [{"image": images[near], "right": bool(near == originals)} for near in order[:NEAREST]],
        "own": {"image": images[originals], "right": True},
        "rank": int(np.flatnonzero(order == originals)[0]) + 1,
    }


def _sample(rows: Numbers, most: int, generator: np.random.Generator) -> list[int]:
    return sorted(generator.choice(rows, min(most, len(rows)), replace=False).tolist())
