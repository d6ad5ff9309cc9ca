"""Photographs that each show four of twelve things, and captions that name some of them in three languages.

They vary as real data do: captions have 1 to 12 words, images 0 to 5 captions in a language, splits
different sizes; some words and whole captions are unknown, some images failed to decode, and tables hold
rows that must not be read. All files are written here, in the formats that the project documents.
"""

from pathlib import Path

import h5py
import numpy as np
import pandas as pd

IMAGES = {"train": 33, "val": 14, "test": 19}
THINGS = 12
LONGEST = 8  # words that are read of a caption
COUNTS = {"en": (0, 6), "de": (0, 4), "fr": (0, 2)}  # captions of an image; the last number is excluded


def write_files(folder: Path) -> None:
    """Write own-LANGUAGE.csv, translated-SOURCE-LANGUAGE.csv, LANGUAGE.h5 (words) and features.h5."""
    draw = np.random.default_rng(20)
    author = Author(draw, split_of_images(draw))
    for language in COUNTS:
        author.captions(language).to_csv(folder / f"own-{language}.csv", index=False)
        write_vocabulary(folder / f"{language}.h5", language, draw)
    for source, language in (("en", "de"), ("en", "fr"), ("de", "en")):
        author.translations(language, source).to_csv(
            folder / f"translated-{source}-{language}.csv", index=False
        )
    failed = [min(image for image, of in author.splits.items() if of == split) for split in IMAGES]
    write_features(folder / "features.h5", author.shown, failed, draw)


def split_of_images(draw: np.random.Generator) -> dict[str, str]:
    """A split that does not follow the order of the ids."""
    splits = draw.permutation([split for split, count in IMAGES.items() for _ in range(count)])
    return {f"photo{number:03d}": str(split) for number, split in enumerate(splits)}


class Author:
    """Writes captions: 1 to 12 tokens, a word perhaps twice, some unknown, and in one caption of a split all.

    No two captions of a language and split are equal, because rounding would decide which is nearer.
    """

    def __init__(self, draw: np.random.Generator, splits: dict[str, str]):
        self.draw, self.splits = draw, splits
        self.shown = {image: draw.choice(THINGS, 4, replace=False) for image in splits}
        self.read: set[tuple[str, ...]] = set()

    def caption(self, image: str, language: str) -> str:
        while True:
            things = self.draw.choice(self.shown[image], self.draw.integers(1, 13))
            unknown = self.draw.random(len(things)) < (1.0 if self.draw.random() < 0.125 else 0.15)
            words = [
                "unheard" if lost else f"{language}{thing}"
                for thing, lost in zip(things, unknown, strict=True)
            ]
            known = [word for word in words if word != "unheard"][:LONGEST]
            if (read := (language, self.splits[image], *known)) not in self.read:
                self.read.add(read)
                return " ".join(words)

    def row(self, image: str, language: str, origin: str, source: str) -> tuple[str, ...]:
        return image, self.splits[image], language, self.caption(image, language), origin, source

    def captions(self, language: str) -> pd.DataFrame:
        """One language's table, in no order of images; French has only machine translations.

        Captions of another origin and human translations into German must not be read.
        """
        origin, source = ("google", "en") if language == "fr" else ("human", "")
        rows = []
        for image in self.draw.permutation(list(self.splits)):
            count = self.draw.integers(*COUNTS[language])
            rows += [self.row(image, language, origin, source) for _ in range(count)]
            if self.draw.random() < 0.3:
                rows.append(self.row(image, language, "baidu", "de" if language == "en" else "en"))
            if language == "de" and self.draw.random() < 0.3:
                rows.append(self.row(image, language, "human", "en"))
        return table_of([rows[place] for place in self.draw.permutation(len(rows))])

    def translations(self, language: str, source: str) -> pd.DataFrame:
        """Translations of some captions, of every split."""
        images = [image for image in self.draw.permutation(list(self.splits)) for _ in range(2)]
        return table_of(
            [self.row(image, language, "dictionary", source) for image in images if self.draw.random() < 0.6]
        )


def table_of(rows: list[tuple[str, ...]]) -> pd.DataFrame:
    columns = ["image", "split", "language", "caption", "origin", "source_language"]
    table = pd.DataFrame(rows, columns=columns)
    number = table.groupby(["image", "language", "origin", "source_language"]).cumcount()
    return table.assign(number=number, tokens=table["caption"])


def write_vocabulary(path: Path, language: str, draw: np.random.Generator) -> None:
    words = ["", *(f"{language}{thing}" for thing in draw.permutation(THINGS))]
    vectors = np.vstack([np.zeros((1, 5)), draw.normal(size=(THINGS, 5))]).astype(np.float32)
    with h5py.File(path, "w") as file:
        file.create_dataset("words", data=words, dtype=h5py.string_dtype())
        file["vectors"] = vectors
        file.attrs.update({"language": language, "unit": "word"})


def write_features(
    path: Path, shown: dict[str, np.ndarray], failed: list[str], draw: np.random.Generator
) -> None:
    """Features of what images show, with noise, in another order than the captions; some images lack them."""
    images = [str(image) for image in draw.permutation(list(shown))]
    features = np.stack([np.isin(np.arange(THINGS), shown[image]) for image in images]).astype(np.float32)
    features += draw.normal(0, 0.1, features.shape).astype(np.float32)
    lost = np.isin(images, failed)
    with h5py.File(path, "w") as file:
        file["features"] = features[~lost]
        file.create_dataset("image", data=np.array(images)[~lost].tolist(), dtype=h5py.string_dtype())
        file.create_dataset("failed", data=np.array(images)[lost].tolist(), dtype=h5py.string_dtype())
        file.attrs["backbone"] = "twelve things"
