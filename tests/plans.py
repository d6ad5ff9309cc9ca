"""Plans of the project's own configuration with some changes, for tests that ask what a job reads."""

from pathlib import Path
from typing import Any

from pipeline.plan.plan import Plan
from pipeline.settings import reading

ROOT = Path(__file__).parents[1]
FACEBOOK = "work/sources/dl.fbaipublicfiles.com"
MULTI30K = ["en", "de", "fr", "cs"]
MSCOCO = ["en", "zh", "ja"]
ADDED = ["ar", "af", "ko", "ru"]  # SMALR's languages in which no data set has captions
TEN = [*MULTI30K, "zh", "ja", *ADDED]


def plan_of(**user: Any) -> Plan:
    """The plan of a configuration."""
    settings = reading.load({"scale": "demo", **user})
    return Plan(settings)


def paper_plan(on_request: Path, **user: Any) -> Plan:
    """A plan of scale paper for a user who has the data on request, in folders of `on_request`."""
    for name in ("flickr30k", "coco-cn"):
        (on_request / name).mkdir(parents=True, exist_ok=True)
    (on_request / "coco-cn/imageid.human-written-caption.txt").touch()
    return plan_of(
        **{
            "scale": "paper",
            "seeds": [3, 4],
            "sources": {
                "flickr30k": str(on_request / "flickr30k"),
                "coco_cn": str(on_request / "coco-cn"),
            },
            "translation": {"default": {"provider": "dictionary"}},
            **user,
        }
    )


def flickr8k_plan() -> Plan:
    """A plan of scale flickr8k, with Google for one pair."""
    return plan_of(scale="flickr8k", seeds=[3], translation={"pairs": {"de-en": {"provider": "google"}}})


def each(pattern: str, languages: list[str]) -> list[str]:
    """Paths in which a language replaces *."""
    return [pattern.replace("*", language) for language in languages]
