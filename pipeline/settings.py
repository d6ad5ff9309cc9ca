"""The configuration: read, laid over one another, checked as a whole, and cut to what each stage needs.

Order: config/scales/{scale}.yaml and config/experiments.yaml and config/tables/*.yaml, then what the user
gives (config/config.yaml, --configfile, --config). A stage gets only the settings that it depends on, so a
changed key reruns nothing else.
"""

import copy
import difflib
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from pipeline.errors import InputError, raise_together

Settings = dict[str, Any]

# What JSON takes for a number or a truth value; `no` stays the Norwegian language.
_PLAIN = re.compile(r"-?\d+(\.\d+)?([eE][-+]?\d+)?|true|false")

# Experiment blocks that are None for an experiment that does not use them.
SWITCHED = ("neighborhood", "classifier")


def load(user: Mapping[str, Any], folder: Path) -> Settings:
    """The whole configuration; raises `InputError` that lists every mistake.

    Args:
        user: what the user gives; at least `scale`.
        folder: the folder config/.
    """
    schema = _read(folder / "schema.yaml")
    scale = user.get("scale")
    if scale not in schema["properties"]["scale"]["enum"]:
        raise InputError(f"configuration: scale: found {scale!r}, expected demo, pilot or paper")
    settings = {
        **_read(folder / "scales" / f"{scale}.yaml"),
        "experiments": _read(folder / "experiments.yaml"),
        "tables": {path.stem: _read(path) for path in sorted((folder / "tables").glob("*.yaml"))},
    }
    settings = overlaid(settings, _typed(user))
    mistakes = [_described(error) for error in Draft202012Validator(schema).iter_errors(settings)]
    if not mistakes:
        mistakes = list(_contradictions(settings))
    raise_together(mistakes, "The configuration has mistakes:")
    return _with_paths_expanded(settings)


def _typed(value: Any) -> Any:
    """Numbers and truth values in lists and blocks, which Snakemake's --config hands over as text."""
    if isinstance(value, Mapping):
        return {key: _typed(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_typed(inner) for inner in value]
    if isinstance(value, str) and _PLAIN.fullmatch(value):
        return json.loads(value)
    return value


def overlaid(below: Mapping[str, Any], above: Mapping[str, Any]) -> Settings:
    """Lay one configuration over another, block by block; lists and plain values are replaced whole."""
    merged = dict(copy.deepcopy(below))
    for key, value in above.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = overlaid(merged[key], value) if both else copy.deepcopy(value)
    return merged


def expanded(settings: Settings, dataset: str) -> dict[str, Settings]:
    """Every experiment of a data set by its name; one_per_language ones become one entry a language."""
    languages = settings["datasets"][dataset]["languages"]
    found: dict[str, Settings] = {}
    for name, experiment in settings["experiments"].items():
        chosen = [code for code in languages if code in experiment.get("languages", languages)]
        if experiment.get("one_per_language"):
            found |= {f"{name}-{code}": {**experiment, "languages": [code]} for code in chosen}
        else:
            found[name] = {**experiment, "languages": chosen}
    return found


def experiment_settings(settings: Settings, dataset: str, name: str, seed: int) -> Settings:
    """What the training of one experiment depends on, and nothing else."""
    experiment, own = _experiment(settings, dataset, name)
    chosen = {
        **_data_settings(settings, dataset, name, seed, experiment),
        "branches": experiment["branches"],
        "features": feature_settings(settings),
        "model": own["model"],
        "triplets": own["triplets"],
        "matching": own["matching"],
        "words": own["word_regularizer"],
        "training": own["training"],
    }
    return chosen | {key: own[key] if experiment.get(key) else None for key in SWITCHED}


def pretraining_settings(settings: Settings, dataset: str, name: str, seed: int) -> Settings:
    """What the pretraining of one experiment depends on, and nothing else."""
    experiment, own = _experiment(settings, dataset, name)
    drawing = {
        key: own["training"][key]
        for key in ("batch_images", "sentences_per_image", "repeat_captions", "images_in_batch", "threads")
    }
    return {
        **_data_settings(settings, dataset, name, seed, experiment),
        "model": {key: own["model"][key] for key in ("universal", "universal_mean")},
        "triplets": own["triplets"],
        "training": {**drawing, **own["pretraining"]},
    }


def feature_settings(settings: Settings) -> Settings:
    """What the features of an image depend on: little is known of ready-made ones."""
    made = ("backbone", "weights", "dimension", "resize", "crop", "crops")
    keys = ("backbone", "dimension") if settings["images"]["features"] else made
    return {key: settings["images"][key] for key in keys}


def extraction_settings(settings: Settings) -> Settings:
    """What the extraction of features takes."""
    return {**feature_settings(settings), "batch": settings["images"]["batch"]}


def table_settings(settings: Settings, name: str) -> Settings:
    """What a table depends on: its rows and columns, and which data sets and experiments fill them."""
    made = settings["experiments"]
    return {
        "scale": settings["scale"],
        "seeds": settings["seeds"],
        "table": settings["tables"][name],
        "datasets": {data["stands_for"]: dataset for dataset, data in settings["datasets"].items()},
        "own_origins": {dataset: data["own_origins"] for dataset, data in settings["datasets"].items()},
        "one_per_language": [key for key in made if made[key].get("one_per_language")],
    }


def _experiment(settings: Settings, dataset: str, name: str) -> tuple[Settings, Settings]:
    experiment = expanded(settings, dataset)[name]
    return experiment, overlaid(settings, experiment.get("settings", {}))


def _data_settings(settings: Settings, dataset: str, name: str, seed: int, experiment: Settings) -> Settings:
    data = settings["datasets"][dataset]
    return {
        "scale": settings["scale"],
        "dataset": dataset,
        "experiment": name,
        "seed": seed,
        "languages": experiment["languages"],
        "captions": experiment["captions"],
        **{key: data[key] for key in ("own_origins", "groups", "longest_caption")},
    }


def _read(path: Path) -> Settings:
    with open(path, encoding="utf-8") as file:
        content: Settings = yaml.safe_load(file)
    return content


def _described(error: ValidationError) -> str:
    where = ".".join(map(str, error.absolute_path)) or "top level"
    if error.validator == "additionalProperties":
        known = list(error.schema.get("properties", {}))
        unknown = [key for key in error.instance if key not in known]
        return "; ".join(f"{where}: unknown key {key!r}{_meant(key, known)}" for key in unknown)
    if error.validator == "required":
        return f"{where}: {error.message}"
    expected = error.schema.get("description", error.message) if isinstance(error.schema, Mapping) else ""
    return f"{where}: found {error.instance!r}, expected {expected}"


def _meant(key: str, known: list[str]) -> str:
    close = difflib.get_close_matches(str(key), known, 1)
    return f", did you mean {close[0]!r}?" if close else f"; known are {', '.join(known)}"


def _contradictions(settings: Settings) -> Iterator[str]:
    """Mistakes between keys that each look right."""
    for dataset, data in settings["datasets"].items():
        for key in ("own_origins", "groups"):
            named = data[key] if key == "own_origins" else {code for group in data[key] for code in group}
            for code in sorted(set(named) - set(data["languages"])):
                yield f"datasets.{dataset}.{key}: {code!r} is not among its languages {data['languages']}"
    for pair, provider in settings["translation"]["pairs"].items():
        if provider["provider"] == "files" and "origin" not in provider:
            yield f"translation.pairs.{pair}: provider files needs `origin`, such as google"
    if settings["images"]["crop"] > settings["images"]["resize"]:
        yield "images.crop: larger than images.resize, so that crops do not fit the image"
    yield from _unknown_experiments(settings)


def _unknown_experiments(settings: Settings) -> Iterator[str]:
    singles = [name for name, made in settings["experiments"].items() if made.get("one_per_language")]
    known = {
        *settings["experiments"],
        *(name for data in settings["datasets"] for name in expanded(settings, data)),
    }
    for name, table in settings["tables"].items():
        for number, row in enumerate(table["rows"]):
            where = f"tables.{name}.rows.{number}.experiment"
            if row["experiment"] not in known:
                yield f"{where}: no experiment {row['experiment']!r}{_meant(row['experiment'], list(known))}"
            elif row.get("queries") == "translated" and row["experiment"].rsplit("-", 1)[0] not in singles:
                yield f"{where}: translated queries need a model of one language, such as embn-en"


def _with_paths_expanded(settings: Settings) -> Settings:
    paths = {"sources": ["mirror"], "images": ["folder", "features", "list"], "translation": ["dictionaries"]}
    found = overlaid(settings, {})
    mistakes = []
    for block, keys in paths.items():
        for key in keys:
            value = os.path.expanduser(os.path.expandvars(found[block][key] or ""))
            if "$" in value:
                mistakes.append(f"{block}.{key}: {value}: the environment variable is not set")
            found[block][key] = value or None
    raise_together(mistakes, "The configuration has mistakes:")
    return found
