"""Captions, words and features (MULE, "Datasets" and "Leveraging Machine Translations")."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import h5py
import torch
from torch import Tensor

Row = dict[str, str]


@dataclass
class Split:
    """The images of a split, sorted by id, their features (n, D), and each language's sentences by image.

    sentences: (row of the image, word ids) of each, in the files' order within an image.
    """

    images: list[str]
    features: Tensor
    sentences: dict[str, list[tuple[int, list[int]]]]


def read_rows(paths: Iterable[Path]) -> list[Row]:
    """Rows of CSV files, one file after another."""
    rows: list[Row] = []
    for path in paths:
        with open(path, encoding="utf-8", newline="") as file:
            rows.extend(csv.DictReader(file))
    return rows


def original_captions(rows: Sequence[Row], language: str, origin: str) -> list[Row]:
    """A language's captions of an origin; translations only where nothing was written in the language."""
    of_origin = [row for row in rows if row["language"] == language and row["origin"] == origin]
    return [row for row in of_origin if not row["source_language"]] or of_origin


def training_captions(original: list[Row], translated: list[Row], captions: str) -> list[Row]:
    """MULE, Table 4, "Training Data Source": original captions, translations if there are any, or both.

    `augmented` is both, too: which translations there are was chosen before (`added_translations`).
    """
    if captions == "human" or not translated:
        return original
    return translated if captions == "mt" else original + translated


def added_translations(original: Sequence[Row], translated: Sequence[Row], wanted: int = 5) -> list[Row]:
    """SMALR, Section 4: the first translations that bring each training image to at least five sentences."""
    count: dict[str, int] = {}
    for row in original:
        count[row["image"]] = count.get(row["image"], 0) + 1
    added = []
    for row in translated:
        if row["split"] == "train" and count.get(row["image"], 0) < wanted:
            count[row["image"]] = count.get(row["image"], 0) + 1
            added.append(row)
    return added


def rows_with_markers(rows: Sequence[Row]) -> list[Row]:
    """*Lessons*, Section 4: <start> and <end> around each caption."""
    return [{**row, "tokens": " ".join(["<start>", *row["tokens"].split(), "<end>"])} for row in rows]


def read_vocabulary(path: Path) -> tuple[dict[str, int], Tensor]:
    """Word -> row of the table from 1, and the initial vectors; row 0 is padding."""
    with h5py.File(path) as file:
        words = file["words"].asstr()[:]
        return {word: row for row, word in enumerate(words) if row}, torch.tensor(file["vectors"][:]).double()


def read_features(path: Path) -> dict[str, list[float]]:
    """Features by image. Images that could not be decoded are marked 2 and left out."""
    with h5py.File(path) as file:
        stored = zip(file["image"].asstr()[:], file["features"][:], strict=True)
        return {image: vector.tolist() for image, vector in stored}


def word_ids(tokens: str, index: Mapping[str, int], longest: int) -> list[int]:
    """Known words, at most the first `longest` of them; a caption without any is one padding word."""
    return [index[word] for word in tokens.split() if word in index][:longest] or [0]


def split_of(
    captions: Mapping[str, Sequence[Row]],
    words: Mapping[str, Mapping[str, int]],
    features: Mapping[str, list[float]] | None,
    split: str,
    longest: int,
) -> Split:
    """One split. Images without features are left out with their captions; pretraining has no features.

    A caption without a known word is a query, but nothing to train on.
    """
    rows = {
        language: [
            row for row in rows if row["split"] == split and (features is None or row["image"] in features)
        ]
        for language, rows in captions.items()
    }
    images = sorted({row["image"] for of_language in rows.values() for row in of_language})
    sentences = {
        language: sorted(
            (
                (images.index(row["image"]), ids)
                for row in of_language
                if (ids := word_ids(row["tokens"], words[language], longest)) != [0] or split != "train"
            ),
            key=lambda sentence: sentence[0],
        )
        for language, of_language in rows.items()
    }
    vectors = [features[image] if features else [] for image in images]
    return Split(images, torch.tensor(vectors, dtype=torch.double), sentences)
