"""What the experiments of *Lessons* depend on: those with a `selection` of captions, trained task by task."""

from collections.abc import Iterator
from typing import Any

from pipeline.settings.experiments import Settings, expanded, experiment_named, overlaid

# Keys of `tasks` that decide what is read; the others are the training's.
_OF_SELECTION = ("minimum_count", "draw_seed", "halves", "pairs_of")

# Keys of `training` that count for an experiment with a selection; the others are in `tasks`.
_OF_TRAINING = ("threads", "deterministic", "precision")

# What a selection says of a language, unless it says otherwise.
_SELECTION: Settings = {"captions_per_image": None, "images": "all"}


def selecting(settings: Settings, dataset: str) -> list[str]:
    """Names of a data set's experiments that have a selection of captions."""
    return [name for name, made in expanded(settings, dataset).items() if "selection" in made]


def selection_of(settings: Settings, dataset: str, name: str) -> dict[str, Settings]:
    """What an experiment uses in each of its languages: parts, tested_on, captions_per_image, images."""
    experiment = experiment_named(settings, dataset, name)
    return {code: {**_SELECTION, **experiment["selection"][code]} for code in experiment["languages"]}


def selection_tasks(settings: Settings, dataset: str, name: str) -> Settings:
    """The keys of `tasks` that determine the captions of an experiment."""
    return {key: _tasks(settings, dataset, name)[key] for key in _OF_SELECTION}


def multitask_settings(
    settings: Settings, dataset: str, name: str, seed: int, features: Settings
) -> Settings:
    """What the training of an experiment with a selection depends on besides the files it reads.

    Args:
        features: what its features depend on (`feature_settings`).
    """
    experiment = experiment_named(settings, dataset, name)
    own = overlaid(settings, experiment.get("settings", {}))
    tasks = {key: value for key, value in own["tasks"].items() if key not in _OF_SELECTION}
    if len(experiment["languages"]) > 1:  # the public code leaves the learning rate of these
        tasks["divide_learning_rate_every"] = None
    return {
        "scale": settings["scale"],
        "dataset": dataset,
        "experiment": name,
        "seed": seed,
        "languages": experiment["languages"],
        "branches": "shared",
        "features": features,
        "model": own["model"],
        "c2c": bool(experiment.get("c2c")),
        "stop_on": experiment.get("stop_on", experiment["languages"]),
        "tasks": tasks,
        "training": {key: own["training"][key] for key in _OF_TRAINING},
        "caption_origins": {
            code: origin
            for code, origin in settings["datasets"][dataset]["caption_origins"].items()
            if code in experiment["languages"]
        },
        "max_caption_length": None,
    }


def selection_contradictions(settings: Settings) -> Iterator[str]:
    """Mistakes between the keys of experiments with a selection, each as a line."""
    for name, experiment in settings["experiments"].items():
        where = f"experiments.{name}"
        if "selection" not in experiment:
            for key in ("c2c", "stop_on_each_language"):
                if experiment.get(key):
                    yield f"{where}.{key}: is for experiments with a selection of captions; set `selection`"
            continue
        yield from _of_selection(where, experiment)
        for key in _idle(experiment.get("settings", {})):
            yield f"{where}.settings.{key}: has no effect with a selection (its key is `tasks`); leave it out"
        model = overlaid(settings, experiment.get("settings", {}))["model"]
        for key, wanted in (("encoder", "vse"), ("word_vectors", "scratch")):
            if model[key] != wanted:
                yield f"{where}.settings.model.{key}: found {model[key]}; with a selection it is {wanted}"


def _of_selection(where: str, experiment: Settings) -> Iterator[str]:
    selected = list(experiment["selection"])
    if experiment.get("languages") == "all":
        yield f"{where}.languages: found 'all'; with a selection leave it out, or name some of {selected}"
        return
    for code in experiment.get("languages", []):
        if code not in selected:
            yield f"{where}.selection: {code!r}, one of its languages, is missing"
    for key in ("ranking", "neighborhood", "classifier", "pretraining", "vectors"):
        if experiment.get(key):
            yield f"{where}.{key}: with a selection the losses are those of `tasks`; leave it out"
    for code, chosen in experiment["selection"].items():
        if chosen.get("captions_per_image") and len(chosen["parts"]) > 1:
            yield (
                f"{where}.selection.{code}.captions_per_image: captions are sampled in each part, so an "
                "image would have more; name one part, or leave the key out"
            )
    expected = {"branches": "shared", "captions": "human"}
    for key, value in expected.items():
        if experiment[key] != value:
            yield f"{where}.{key}: found {experiment[key]!r}; with a selection it is {value}"
    alone = bool(experiment.get("one_per_language")) or len(experiment.get("languages", selected)) < 2
    yield from _of_one_language(where, experiment) if alone else _of_several(where, experiment)


def _of_one_language(where: str, experiment: Settings) -> Iterator[str]:
    if experiment.get("c2c"):
        yield f"{where}.c2c: pairs of captions are of two languages; the experiment has one"
    if experiment.get("one_per_language") and experiment.get("stop_on_each_language"):
        yield f"{where}.stop_on_each_language: a model of one language stops on it; leave the key out"


def _of_several(where: str, experiment: Settings) -> Iterator[str]:
    key = "divide_learning_rate_every"
    if experiment.get("settings", {}).get("tasks", {}).get(key):
        yield f"{where}.settings.tasks.{key}: is for models of one language; leave it out"


def _idle(settings: Settings) -> list[str]:
    """Settings that an experiment with a selection does not read."""
    blocks = [block for block in settings if block not in ("model", "tasks", "training")]
    training = settings.get("training", {})
    return [*blocks, *(f"training.{key}" for key in training if key not in _OF_TRAINING)]


def _tasks(settings: Settings, dataset: str, name: str) -> dict[str, Any]:
    experiment = experiment_named(settings, dataset, name)
    tasks: dict[str, Any] = overlaid(settings, experiment.get("settings", {}))["tasks"]
    return tasks
