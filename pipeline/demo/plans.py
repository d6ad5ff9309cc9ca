"""Language-neutral content plans: each caption mentions a random part of its scene."""

from dataclasses import dataclass, field
from random import Random

from pipeline.demo.concepts import concepts
from pipeline.demo.scenes import Group, Scene

# An object as mentioned: kind of word -> concept, for noun, number and perhaps colour and size.
Mention = dict[str, str]


@dataclass(frozen=True)
class Plan:
    """A caption's content: objects by their role (subject, object, third), and the other words by kind."""

    frame: str
    mentions: dict[str, Mention]
    words: dict[str, str] = field(default_factory=dict)

    @property
    def slots(self) -> frozenset[str]:
        return frozenset(self.mentions) | frozenset(self.words)


SHORT = 0.25  # captions as people type queries: one thing, perhaps its colour and size


def draw_plan(scene: Scene, random: Random) -> Plan:
    """Sample the content of one caption: a part of the scene, correct in everything it mentions."""
    if random.random() < SHORT:
        return Plan("single", _mentions([random.choice(scene.groups)], random))
    count = random.choices([1, 2, 3], [0.1, 0.5, 0.4])[0]
    groups = list(scene.groups[:count])
    if len(groups) == 1:
        groups = [random.choice(scene.groups)]
    background = {"background": scene.background} if random.random() < 1.1 - 0.18 * len(groups) else {}
    if len(groups) == 1:
        doing = _doing(groups[0], random) if background or groups[0].activity else {}
        return Plan("single", _mentions(groups, random), background | doing)
    relation, third_fits = scene.relation, scene.relation_holds_for_third
    if random.random() < 0.3:
        groups[:2] = groups[1::-1]
        relation, third_fits = concepts().relations[relation], False
    if random.random() < 0.15 or (len(groups) == 3 and not third_fits and random.random() < 0.5):
        return Plan("list", _mentions(groups, random), background)
    if len(groups) == 3 and not third_fits:
        groups.pop()
    if relation in ("left_of", "right_of") and random.random() < 0.4:
        relation = "beside"
    words = background | {"relation": relation} | _doing(groups[0], random)
    return Plan("relation", _mentions(groups, random), words)


def _mentions(groups: list[Group], random: Random) -> dict[str, Mention]:
    return {
        slot: _mention(group, random)
        for slot, group in zip(("subject", "object", "third"), groups, strict=False)
    }


def _mention(group: Group, random: Random) -> Mention:
    words = {"noun": group.kind, "number": str(group.count)}
    if group.colour and random.random() < 0.8:
        words["colour"] = group.colour
    if group.size and random.random() < 0.6:
        words["size"] = group.size
    return words


def _doing(group: Group, random: Random) -> dict[str, str]:
    if group.activity:
        return {"activity": group.activity} if random.random() < 0.8 else {}
    return {"pose": concepts().objects[group.kind].pose} if random.random() < 0.5 else {}
