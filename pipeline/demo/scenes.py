"""Language-neutral scenes: the objects of a picture and their relations, sampled with a seed."""

from dataclasses import dataclass
from random import Random

from pipeline.demo.concepts import concepts


@dataclass(frozen=True)
class Group:
    """One to three objects of a kind that look alike; `colour`, `size` and `activity` may be empty."""

    kind: str
    count: int = 1
    colour: str = ""
    size: str = ""
    activity: str = ""

    @property
    def flies(self) -> bool:
        return concepts().objects[self.kind].flies


@dataclass(frozen=True)
class Scene:
    """A background and one to three groups; `relation` is from the first group to the second."""

    background: str
    groups: tuple[Group, ...]
    relation: str = ""

    @property
    def relation_holds_for_third(self) -> bool:
        """Whether the first group has the same relation to the third group as to the second."""
        return self.relation in ("left_of", "right_of", "above") and not self.groups[-1].flies


def draw_scene(random: Random) -> Scene:
    """Draw a scene of one to four objects."""
    background = random.choice(concepts().backgrounds)
    groups: list[Group] = []
    for _ in range(random.choices([1, 2, 3], [0.35, 0.45, 0.2])[0]):
        room = 4 - sum(group.count for group in groups)
        if room:
            groups.append(_draw_group(random, background, room, {group.kind for group in groups}))
    if len(groups) == 1:
        return Scene(background, tuple(groups))
    return Scene(background, tuple(groups), _draw_relation(random, *groups[:2]))


def _draw_group(random: Random, background: str, room: int, kinds_in_scene: set[str]) -> Group:
    kinds = [kind for kind in concepts().objects if kind not in kinds_in_scene]
    people = [kind for kind in kinds if concepts().objects[kind].phrase == "person"]
    kind = random.choice(people) if people and random.random() < 0.22 else random.choice(kinds)
    thing = concepts().objects[kind]
    count = random.choices([1, 2, 3], [0.72, 0.18, 0.10])[0]
    colour = random.choice(thing.colours) if thing.colours else ""
    if thing.phrase == "person":
        activities = [
            name for name, it in concepts().activities.items() if not it.only or background in it.only
        ]
        return Group(kind, 1, colour, activity=random.choice(activities))
    size = random.choices(["", "small", "big"], [0.55, 0.25, 0.2])[0]
    # three big things, or a big thing among many, would not look big
    return Group(kind, min(count, room), colour, "" if size == "big" and (count > 1 or room < 3) else size)


def _draw_relation(random: Random, first: Group, second: Group) -> str:
    if first.flies != second.flies:
        return "above" if first.flies else "below"
    sides = ["left_of", "right_of"]
    deep = first.count == second.count == 1 and not first.flies
    return random.choice([*sides, *sides, "in_front_of", "behind"] if deep else sides)
