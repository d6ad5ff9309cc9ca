"""What a source of captions is: its keys in the configuration, its published files, how it is read.

Each source is a module of `pipeline/datasets/sources` with an object `SOURCE`; the demo's is in
`pipeline/demo`. Snakemake imports these modules when it reads the workflow, so they import neither pandas nor
numpy.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from pipeline.common.block import Block, Count, PathText, Seed, Text
from pipeline.common.errors import InputError
from pipeline.datasets.captions import Caption
from pipeline.datasets.split import Split

KeyGroups = tuple[tuple[str, ...], ...]


class Inputs(NamedTuple):
    """The files that a source is read from.

    downloads: folder of published files, laid out as HOST/PATH.
    on_request: folder or archive of the data that their owners give on request.
    image_list: CSV file with a column `image`; a split is sampled from these images only.
    """

    downloads: Path = Path("work/sources")
    on_request: Path | None = None
    image_list: Path | None = None


class DataOnRequest(NamedTuple):
    """Data available only on request, from which the split is read.

    key: of `sources`, which has their path. name: in workflow/sources.csv. files: glob pattern of
    the files that are read. languages: those whose captions are read from these data as well.
    """

    key: str
    name: str
    files: str
    languages: tuple[str, ...]


class SourceKeys(Block):
    """Keys of a data set that its source may read."""

    source: Text
    captions: PathText | None = None
    """for source custom: the path of a CSV file with columns image, language, caption, or of Karpathy's or
    COCO's JSON or Flickr's texts; with {language} in the path, one file per language"""
    images: PathText | None = None
    """flickr8k, flickr30k or mscoco (published photographs), or the path of a folder or archive with images
    """
    split: PathText | None = None
    """for source multi30k: multi30k (its own split), or flickr8k (only the images that are also in Flickr8k,
    in its split); for sources custom and mscoco: the path of a CSV file with columns image, split
    """
    sample_size: Count | None = None
    """for source mscoco: number of test images, and of validation images, sampled from those captioned in all
    languages
    """
    split_seed: Seed | None = None
    """seed of the sampled split (sources mscoco and custom)"""

    def only(self, groups: KeyGroups) -> "StageKeys":
        """The source, and the keys of the first group whose first key is set; a stage gets no other keys.

        Raises:
            InputError: no group's first key is set.
        """
        if not groups:
            return StageKeys(source=self.source)
        values = self.as_values()
        for keys in groups:
            if keys[0] in values:
                return StageKeys(**{key: values[key] for key in ("source", *keys) if key in values})
        raise InputError(f"source {self.source} needs {' or '.join(keys[0] for keys in groups)}.")


class StageKeys(SourceKeys):
    """Keys of a source in a stage's `--settings`: those of its data set, and of the demo also its scenes."""

    dataset: Text | None = None
    """for source demo: multi30k or mscoco"""
    seed: Seed | None = None
    """for source demo: seed of the scenes"""
    scenes: Count | None = None
    """for source demo: number of scenes"""


@dataclass(frozen=True)
class Source:
    """A source of captions.

    Patterns are regular expressions that are searched for in the names (HOST/PATH) of published files.

    Attributes:
        needs: keys of `datasets.*` that this source needs, besides those of every data set.
        split_keys: groups of keys of which the split depends on the first whose first key is set.
        caption_keys: such groups for the captions, which depend on the split, too.
        splits: values of its key `split`, each with the published data sets that only this split reads; empty
            if the key is a path or there is none.
        downloads: data sets of workflow/sources.csv (column `dataset`) that split and captions are read from.
        further: published data sets that other stages read (parts of *Lessons*, text for word vectors).
        split_files: pattern of the files of the split.
        caption_files: by language, pattern of the files of its captions.
        parts: parts of *Lessons* that `read_part` reads; other parts are taken from its captions.
        part_files: by part, pattern of its published files, with `{language}`.
        parts_are_tokenised: whether these are published as tokens.
        project_files: files of this project that it is made of, perhaps with `{language}`.
        parallel_files: pattern of the files with human translations to train and measure translators
            with, where they are not in the caption tables.
        human_translations: whether there are any, in these files or in the caption tables.
        on_request: data available only on request; None if all data are public.
        flickr_names: whether photographs are named as in Flickr8k and Multi30K.
        read_split, read_captions: how both are read. read_part: None if `parts` is empty. Of a part: its
            name, then its language.
    """

    read_split: Callable[[StageKeys, Inputs], Split]
    read_captions: Callable[[StageKeys, Inputs, str, Split], Sequence[Caption]]
    read_part: Callable[[StageKeys, Inputs, str, str, Split], Sequence[Caption]] | None = None
    needs: tuple[str, ...] = ()
    split_keys: KeyGroups = ()
    caption_keys: KeyGroups = ()
    splits: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    downloads: tuple[str, ...] = ()
    further: tuple[str, ...] = ()
    split_files: str = ""
    caption_files: Mapping[str, str] = field(default_factory=dict)
    parts: tuple[str, ...] = ()
    part_files: Mapping[str, str] = field(default_factory=dict)
    parts_are_tokenised: bool = False
    project_files: tuple[str, ...] = ()
    parallel_files: str = ""
    human_translations: bool = False
    on_request: DataOnRequest | None = None
    flickr_names: bool = False

    @property
    def keys(self) -> set[str]:
        """Keys of `datasets.*` that this source may have, besides the keys of every data set."""
        return {*self.needs, *(key for keys in (*self.split_keys, *self.caption_keys) for key in keys)}

    def downloads_for(self, data: SourceKeys) -> tuple[str, ...]:
        """Published data sets that the split and the captions of a data set are read from."""
        return (*self.downloads, *self.splits.get(data.split or "", ()))
