"""What a source of captions is: its keys in the configuration, its published files, how it is read.

Each source is a module of `pipeline/datasets/sources` with an object `SOURCE`; the demo's is in
`pipeline/demo`. Snakemake imports these modules when it reads the workflow, so they import neither pandas nor
numpy.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from pipeline.common.block import Block
from pipeline.datasets.captions import Caption
from pipeline.datasets.split import Split


class Inputs(NamedTuple):
    """The files that a source is read from.

    downloads: folder of published files, laid out as HOST/PATH.
    on_request: folder or archive of the data that their owners give on request.
    image_list: CSV file with a column `image`; the split has only these images.
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


class NoKeys(Block):
    """Settings of a stage that reads nothing but the source's files."""


S = TypeVar("S", bound=Block)  # settings of the split
C = TypeVar("C", bound=Block)  # settings of the captions
P = TypeVar("P", bound=Block)  # settings of a part of *Lessons*


@dataclass(frozen=True)
class Source(Generic[S, C, P]):
    """A source of captions.

    Patterns are regular expressions that are searched for in the names (HOST/PATH) of published files.

    Attributes:
        needs: keys of `datasets.*` that this source needs, besides those of every data set.
        split_settings: keys that the split depends on: the first of these classes whose needed keys are set.
        caption_settings: keys that the captions depend on, besides the split.
        part_settings: settings of the stage that reads parts of *Lessons*.
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
        parallel_files: pattern of the files with human translations to measure translators with, where they
            are not in the caption tables.
        human_translations: whether there are any, in these files or in the caption tables.
        on_request: data available only on request; None if all data are public.
        flickr_names: whether photographs are named as in Flickr8k and Multi30K.
        terms: for the model card, the terms of data that workflow/sources.csv does not list.
        read_split, read_captions: None if stages of its own write both. read_part: None if `parts` is empty.
            Of a part: its name, then its language.
    """

    split_settings: tuple[type[S], ...]
    caption_settings: type[C]
    part_settings: type[P]
    needs: tuple[str, ...] = ()
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
    read_split: Callable[[S, Inputs], Split] | None = None
    read_captions: Callable[[C, Inputs, str, Split], Sequence[Caption]] | None = None
    read_part: Callable[[P, Inputs, str, str, Split], Sequence[Caption]] | None = None

    @property
    def keys(self) -> set[str]:
        """Keys of `datasets.*` that this source may have, besides the keys of every data set."""
        classes = (*self.split_settings, self.caption_settings)
        return {*self.needs, *(key for each in classes for key in each.model_fields)}

    def downloads_for(self, data: Block) -> tuple[str, ...]:
        """Published data sets that the split and the captions of a data set are read from."""
        return (*self.downloads, *self.splits.get(getattr(data, "split", None) or "", ()))


def fitting(classes: Sequence[type[S]], values: Mapping[str, object]) -> type[S]:
    """The first class whose needed keys all have a value, or the last."""
    for each in classes:
        keys = [key for key, field in each.model_fields.items() if field.is_required()]
        if all(values.get(key) is not None for key in keys):
            return each
    return classes[-1]
