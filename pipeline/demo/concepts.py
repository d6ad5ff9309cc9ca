"""What a scene can hold, read from `data/concepts.yaml`: no word of any language."""

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from pipeline.common.yaml_files import read_yaml

DATA = Path(__file__).parent / "data"

Colour = tuple[int, int, int]


@dataclass(frozen=True)
class Object:
    """A kind of thing. See `data/concepts.yaml` for the meaning of each field."""

    glyph: str = ""
    pose: str = ""
    colours: tuple[str, ...] = ()
    native: str = ""
    phrase: str = "thing"
    flies: bool = False
    height: float = 1.0
    hair: Colour = (0, 0, 0)
    long_hair: bool = False


@dataclass(frozen=True)
class Activity:
    """What a person can do, with the glyph that shows it."""

    glyph: str
    head: tuple[float, float]
    only: tuple[str, ...] = ()


@dataclass(frozen=True)
class Concepts:
    """All concepts; `kinds` lists, per kind of word, the concepts that every language must be able to say."""

    objects: dict[str, Object]
    activities: dict[str, Activity]
    backgrounds: tuple[str, ...]
    colours: dict[str, Colour]
    sizes: dict[str, float]
    relations: dict[str, str]
    kinds: dict[str, list[str]] = field(default_factory=dict)


@cache
def concepts() -> Concepts:
    """The concepts of the demo."""
    raw = read_yaml(DATA / "concepts.yaml")
    objects = {name: Object(**_tuples(record)) for name, record in raw["objects"].items()}
    poses = sorted({thing.pose for thing in objects.values() if thing.pose})
    return Concepts(
        objects=objects,
        activities={name: Activity(**_tuples(record)) for name, record in raw["activities"].items()},
        backgrounds=tuple(raw["backgrounds"]),
        colours={name: tuple(paint) for name, paint in raw["colours"].items()},
        sizes=raw["sizes"],
        relations=raw["relations"],
        kinds={
            "noun": list(objects),
            "colour": list(raw["colours"]),
            "size": list(raw["sizes"]),
            "number": ["1", "2", "3"],
            "relation": list(raw["relations"]),
            "pose": poses,
            "activity": list(raw["activities"]),
            "background": list(raw["backgrounds"]),
        },
    )


def _tuples(record: dict[str, object]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in record.items()}
