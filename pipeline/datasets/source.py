"""What a source of captions is: its keys in the configuration, its published files, how it is read.

Each source is a module of `pipeline/datasets/sources` with an object `SOURCE`; the demo's is in
`pipeline/demo`. Snakemake imports these modules when it reads the workflow, so they import neither pandas nor
numpy.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.datasets.captions import Caption
from pipeline.datasets.split import Split


class Inputs(NamedTuple):
    """The files that a source is read from.

    published: folder of published files, laid out as HOST/PATH. requested: folder or archive of the data that
    their owners give on request. image_list: CSV file with a column `image`; the split has only these images.
    """

    published: Path = Path("work/sources")
    requested: Path | None = None
    image_list: Path | None = None


Data = Mapping[str, Any]  # a block of `datasets`
SplitReader = Callable[[Data, Inputs], Split]
CaptionReader = Callable[[Data, Inputs, str, Split], Sequence[Caption]]
PartReader = Callable[[Data, Inputs, str, str, Split], Sequence[Caption]]  # part, language


class Requested(NamedTuple):
    """Data that their owners give on request, which the split is read from.

    key: of `sources`, which has their path. name: in workflow/sources.csv. files: glob pattern of
    the files that are read. languages: those whose captions are read from these data as well.
    """

    key: str
    name: str
    files: str
    languages: tuple[str, ...]


class Keys(NamedTuple):
    """Keys of a block of `datasets` that belong together."""

    needed: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()

    def of(self, data: Data) -> dict[str, Any] | None:
        """Their values in a block, without those that are null; None if a needed one is."""
        values = {key: data[key] for key in (*self.needed, *self.optional) if data.get(key) is not None}
        return values if set(self.needed) <= set(values) else None


_NONE = Keys()


class Terms(NamedTuple):
    """What a data set is, and its licence, for the model card."""

    what: str
    licence: str


@dataclass(frozen=True)
class Source:
    """A source of captions.

    Patterns are regular expressions that are searched for in the names (HOST/PATH) of published files.

    Attributes:
        needs: keys of `datasets.*` that this source needs, besides those of every data set.
        accepts: keys that it has by choice.
        split_keys: those of its keys that the split depends on: the first of these whose needed keys are set.
        caption_keys: those that its captions depend on, besides the split.
        splits: values of its key `split`, each with the published data sets that only this split reads; empty
            if the key is a path or there is none.
        published: data sets of workflow/sources.csv (column `dataset`) that split and captions are read from.
        further: published data sets that other stages read (parts of *Lessons*, text for word vectors).
        split_files: pattern of the files of the split.
        caption_files: by language, pattern of the files of its captions.
        parts: parts of *Lessons* that `read_part` reads; other parts are taken from its captions.
        part_files: by part, pattern of its published files, with `{language}`.
        part_keys: settings of the stage that reads them.
        parts_are_tokenised: whether these are published as tokens.
        project_files: files of this project that it is made of, perhaps with `{language}`.
        parallel_files: pattern of the files with human translations to measure translators with, where they
            are not in the caption tables.
        human_translations: whether there are any, in these files or in the caption tables.
        requested: what its owners give on request; None if all is public.
        flickr_names: whether photographs are named as in Flickr8k and Multi30K.
        terms: for the model card, of what workflow/sources.csv does not list.
        read_split, read_captions: None if stages of its own write both. read_part: None if `parts` is empty.
    """

    needs: tuple[str, ...] = ()
    accepts: tuple[str, ...] = ()
    split_keys: tuple[Keys, ...] = (_NONE,)
    caption_keys: Keys = _NONE
    splits: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    published: tuple[str, ...] = ()
    further: tuple[str, ...] = ()
    split_files: str = ""
    caption_files: Mapping[str, str] = field(default_factory=dict)
    parts: tuple[str, ...] = ()
    part_files: Mapping[str, str] = field(default_factory=dict)
    part_keys: Keys = _NONE
    parts_are_tokenised: bool = False
    project_files: tuple[str, ...] = ()
    parallel_files: str = ""
    human_translations: bool = False
    requested: Requested | None = None
    flickr_names: bool = False
    terms: Terms | None = None
    read_split: SplitReader | None = None
    read_captions: CaptionReader | None = None
    read_part: PartReader | None = None

    def published_for(self, data: Data) -> tuple[str, ...]:
        """Published data sets that a data set's split and captions are read from."""
        return (*self.published, *self.splits.get(data.get("split", ""), ()))

    @property
    def licensed(self) -> tuple[str, ...]:
        """Data sets of workflow/sources.csv whose licences the model card lists."""
        return (*self.published, *([self.requested.name.rpartition("/")[2]] if self.requested else []))

    def split_settings(self, data: Data) -> dict[str, Any]:
        """The settings of the stage that reads the split, of a block of `datasets`."""
        return next((values for keys in self.split_keys if (values := keys.of(data)) is not None), {})

    def caption_settings(self, data: Data) -> dict[str, Any]:
        """The settings of the stage that reads captions, of a block of `datasets`."""
        return self.caption_keys.of(data) or {}

    def split_mistakes(self, settings: Data) -> list[str]:
        """What is wrong with settings that the stage was given."""
        if self.read_split is None:
            return ["it has a stage of its own for the split"]
        return _mistakes(settings, self.split_settings(settings), self.split_keys)

    def caption_mistakes(self, settings: Data) -> list[str]:
        """What is wrong with settings that the stage was given."""
        if self.read_captions is None:
            return ["it has a stage of its own for the captions"]
        return _mistakes(settings, self.caption_settings(settings), (self.caption_keys,))

    def part_mistakes(self, part: str, settings: Data, split: Path | None) -> list[str]:
        """What is wrong with what the stage that reads a part was given."""
        if part not in self.parts:
            return [f"it has no {part} part apart from its captions; give --sentences"]
        mistakes = _mistakes(settings, self.part_keys.of(settings) or {}, (self.part_keys,))
        return [*mistakes, *(["--split is missing"] if self.part_files and split is None else [])]


def _mistakes(settings: Data, used: Data, alternatives: Sequence[Keys]) -> list[str]:
    mistakes = []
    if all(keys.of(settings) is None for keys in alternatives):
        mistakes.append(f"settings: need {' or '.join(', '.join(keys.needed) for keys in alternatives)}")
        used = {key: None for keys in alternatives for key in (*keys.needed, *keys.optional)}
    return [*mistakes, *(f"settings: {key} is not used; leave it out" for key in settings if key not in used)]
