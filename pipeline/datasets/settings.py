"""Settings of the data: data sets, and where their files are."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from pipeline.common.block import (
    LARGEST,
    Block,
    Count,
    Fraction,
    PathText,
    Seed,
    Text,
    Unique,
    text_check,
)
from pipeline.datasets.languages import unknown_code, without_tokenizer
from pipeline.datasets.source import SourceKeys
from pipeline.datasets.sources import names, source_named

LanguageCode = Annotated[str, Field(pattern="^[a-z]{2}$"), text_check(unknown_code)]
Languages = Annotated[list[LanguageCode], Unique]
Origin = Text
Origins = dict[LanguageCode, Origin]
Scale = Literal["demo", "flickr8k", "paper"]


def _unknown_source(name: str) -> str:
    return "" if name in names() else f"found {name!r}, expected {' or '.join(names())}"


class BorrowedCaptions(Block):
    """Translations of a language that another data set of the same images has among its captions."""

    dataset: Text
    """name of a data set whose captions include translations of these images' English captions"""
    origin: Text
    """who made them, such as google"""


class Dataset(SourceKeys):
    """A data set: where its captions and images come from, and its languages."""

    source: Annotated[str, text_check(_unknown_source)]
    """where its captions come from: demo, multi30k, flickr8kcn, mscoco, or custom (a CSV file of yours,
    docs/own-data.md)
    """
    stands_for: Literal["multi30k", "mscoco"] | None = None
    """which data set of the papers it stands for in their tables: multi30k or mscoco; by default none"""
    languages: Annotated[Languages, Field(min_length=1)]
    """languages of its own captions"""
    translated_languages: Languages = Field(default=[])
    """further languages, all of whose captions are translations from English; used by experiments with
    languages: all
    """
    borrowed_translations: dict[LanguageCode, BorrowedCaptions] = Field(default={})
    """for a translated language, the data set of the same images whose captions are its translations"""
    caption_origins: Origins = Field(default={})
    """for a language without human captions, the origin of its captions, such as {ja: google}"""
    captioned_images: dict[LanguageCode, Fraction] = Field(default={})
    """for a language, the fraction of the training images whose own captions are read, such as {zh: 0.15};
    other training images have only the translations that came with the data (*Lessons* reads all captions)
    """
    groups: list[list[LanguageCode]] = Field(default=[])
    """sets of languages whose images are sampled equally often, such as [[en], [en, ja]]; [] samples all
    images alike
    """
    max_caption_length: Count = 40
    """tokens of a caption that are kept; the rest is left out"""

    @property
    def every_language(self) -> list[str]:
        """Its own languages, followed by those whose captions are all translated from English."""
        return [*self.languages, *self.translated_languages]

    @property
    def human_languages(self) -> list[str]:
        """The languages in which it has human captions."""
        return [code for code in self.languages if self.caption_origins.get(code, "human") == "human"]

    def contradictions(self) -> Iterator[str]:
        yield from self._of_source()
        codes_of_keys: dict[str, set[str]] = {
            "caption_origins": set(self.caption_origins),
            "captioned_images": set(self.captioned_images),
            "groups": {code for group in self.groups for code in group},
        }
        for key, codes in codes_of_keys.items():
            for code in sorted(codes - set(self.languages)):
                yield f".{key}: {code!r} is not among its languages {self.languages}"
        for key in ("languages", "translated_languages"):
            for mistake in filter(None, map(without_tokenizer, sorted(getattr(self, key)))):
                yield f".{key}: {mistake}; leave it out"
        yield from self._of_translations()

    def _of_source(self) -> Iterator[str]:
        """A source has keys that it needs, and keys that it may have."""
        source = source_named(self.source)
        for key in source.needs:
            if key not in self.model_fields_set:
                yield f": {key!r} is missing, which source {self.source} needs"
        others = set(SourceKeys.model_fields) - {"source", *source.keys}
        for key in sorted(others & self.model_fields_set):
            yield f".{key}: source {self.source} has no such key"
        if source.splits and self.split is not None and self.split not in source.splits:
            yield f".split: found {self.split!r}, expected {' or '.join(source.splits)}"
        if "{language}" in (self.captions or "") and self.split is None:
            yield ".captions: a file for each language needs `split`, a CSV file of columns image, split"

    def _of_translations(self) -> Iterator[str]:
        """Translated languages have no original captions, and need original English captions."""
        codes = self.translated_languages
        for code in sorted(set(codes) & set(self.languages)):
            yield f".translated_languages: {code!r} is among its languages too; name it in one of them"
        if codes and "en" not in self.languages:
            yield ".translated_languages: translations are from English, which its languages lack"
        for code in sorted(set(self.borrowed_translations) - set(codes)):
            yield f".borrowed_translations: {code!r} is not among its translated_languages {codes}"


class Sources(Block):
    """Where published files are downloaded from, where data on request are, and how large the demo is."""

    mirror: PathText | None = None
    """a folder or an http(s) address laid out as HOST/PATH, or null: the publishers' own servers"""
    flickr30k: PathText = "on-request/flickr30k"
    """where Flickr30K's photographs are: a folder or an archive"""
    coco_cn: PathText = "on-request/coco-cn"
    """where COCO-CN is: a folder or an archive"""
    scenes: Annotated[int, Field(ge=20, le=LARGEST)] = 900
    """scenes generated for each demo data set"""
    seed: Seed = 0
    """seed of the demo's scenes"""


class CountSettings(Block):
    """What counting the captions depends on, by the name of a data set in the papers."""

    scale: str
    datasets: "dict[str, CountedDataset]"


class CountedDataset(Block):
    """The data set that stands for one of the papers."""

    dataset: str
    caption_origins: Origins
