"""Settings of the stages that read a source: its name, and the keys of its data set that a stage needs."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from pipeline.common.block import Block
from pipeline.common.errors import InputError
from pipeline.datasets.source import fitting
from pipeline.datasets.sources import AnySource, source_named


@dataclass(frozen=True)
class SourceSettings:
    """A source, and what a stage needs to know of its data set; in JSON one object, with the key `source`."""

    source: str
    keys: Block

    @staticmethod
    def classes(source: AnySource) -> Sequence[type[Block]]:
        """The blocks that may hold the keys."""
        raise NotImplementedError

    @classmethod
    def parse(cls, text: str) -> Self:
        """The settings of a command line's JSON.

        Raises:
            InputError: not a JSON object, or keys are missing, unknown or wrong; all mistakes are listed.
        """
        try:
            values = json.loads(text)
        except ValueError as error:
            raise InputError(f"not JSON: {error}; expected an object.") from None
        if not isinstance(values, dict) or not isinstance(name := values.pop("source", None), str):
            raise InputError(f'found {text[:60]}; expected an object with a "source".')
        block = fitting(cls.classes(source_named(name)), values)
        return cls(name, block.from_values(values, f"cannot be used, source {name}:"))

    @classmethod
    def of(cls, source: str, values: Mapping[str, object]) -> Self:
        """The settings of a data set with a source, from all values of its block of `datasets`."""
        block = fitting(cls.classes(source_named(source)), values)
        own_values = {key: values[key] for key in block.model_fields if values.get(key) is not None}
        return cls(source, block.from_values(own_values, f"datasets, source {source}:"))

    def as_json(self) -> str:
        """The JSON that `parse` reads."""
        return json.dumps({"source": self.source, **self.keys.as_values()}, ensure_ascii=False)


class SplitSettings(SourceSettings):
    """What a split depends on."""

    @staticmethod
    def classes(source: AnySource) -> Sequence[type[Block]]:
        return source.split_settings


class CaptionSettings(SourceSettings):
    """Settings that captions depend on, besides the split."""

    @staticmethod
    def classes(source: AnySource) -> Sequence[type[Block]]:
        return (source.caption_settings,)


class PartSettings(SourceSettings):
    """Settings that a part of *Lessons* depends on, besides the split."""

    @staticmethod
    def classes(source: AnySource) -> Sequence[type[Block]]:
        return (source.part_settings,)
