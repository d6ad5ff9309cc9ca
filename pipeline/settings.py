"""The configuration: read, laid over one another, checked as a whole, and cut to what each stage needs.

Order: config/experiments.yaml and config/tables/*.yaml, then config/scales/{scale}.yaml, which may change an
experiment, then what the user gives (config/config.yaml, --configfile, --config). A stage gets only the
settings that it depends on, so a changed key reruns nothing else.
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

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml's is several times as fast

# What JSON takes for a number or a truth value; `no` stays the Norwegian language.
_PLAIN = re.compile(r"-?\d+(\.\d+)?([eE][-+]?\d+)?|true|false")

# What a data set need not say.
DATASET_DEFAULTS: Settings = {"own_origins": {}, "groups": [], "longest_caption": 40}

# Keys that only some sources of captions have, and need.
_OF_SOURCE = {
    "demo": (),
    "multi30k": ("images", "split"),
    "flickr8kcn": ("images",),
    "mscoco": ("images", "drawn", "draw_seed", "test_images", "val_images"),
    "own": ("captions", "images"),
}
_OPTIONAL = {"own": ("draw_seed", "split")}

# Tables beside those of config/tables; each is a file of results/ with a comparison.
OTHER_TABLES = ("table1", "parameters", "lessons/table1")

# Keys of `model` that make the universal embedding.
_OF_UNIVERSAL = ("encoder", "word_vectors", "universal", "universal_layers", "universal_mean")

# Experiment blocks that are None for an experiment that does not use them.
SWITCHED = ("ranking", "neighborhood", "classifier")


def load(user: Mapping[str, Any], folder: Path) -> Settings:
    """The whole configuration; raises `InputError` that lists every mistake of a kind.

    Unknown keys and wrong values are said first, then keys that contradict each other, then paths.

    Args:
        user: what the user gives; at least `scale`.
        folder: the folder config/.
    """
    schema = _read(folder / "schema.yaml")
    scale = user.get("scale")
    if scale not in schema["properties"]["scale"]["enum"]:
        raise InputError(f"configuration: scale: found {scale!r}, expected demo, pilot or paper")
    settings: Settings = {
        "experiments": _read(folder / "experiments.yaml"),
        "tables": _tables(folder / "tables"),
    }
    settings = overlaid(settings, _read(folder / "scales" / f"{scale}.yaml"))
    settings = overlaid(settings, _typed(user))
    mistakes = [_described(error) for error in Draft202012Validator(schema).iter_errors(settings)]
    raise_together(mistakes, "The configuration has mistakes:")
    named = settings["datasets"].items()
    settings["datasets"] = {name: {"stands_for": name, **DATASET_DEFAULTS, **data} for name, data in named}
    settings.setdefault("report", makeable_tables(settings))
    raise_together(_contradictions(settings), "The configuration has mistakes:")
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
    """Lay one configuration over another, block by block; lists and plain values are replaced whole.

    Neither is changed; the result shares with them what only one of them has.
    """
    merged = dict(below)
    for key, value in above.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = overlaid(merged[key], value) if both else value
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
    matched = not experiment.get("ranking")  # which stands in the place of the matching and its triplets
    chosen = {
        **_data_settings(settings, dataset, name, seed, experiment),
        "branches": experiment["branches"],
        "features": feature_settings(settings, experiment.get("features")),
        "model": own["model"],
        "triplets": own["triplets"] if matched or experiment.get("neighborhood") else None,
        "matching": own["matching"] if matched else None,
        "words": own["word_regularizer"],
        "training": own["training"],
    }
    return chosen | {key: own[key] if experiment.get(key) else None for key in SWITCHED}


def pretraining_settings(settings: Settings, dataset: str, name: str, seed: int) -> Settings:
    """What the pretraining of one experiment depends on, and nothing else."""
    experiment, own = _experiment(settings, dataset, name)
    kept = ("batch_images", "sentences_per_image", "repeat_captions", "images_in_batch")
    drawing = {key: own["training"][key] for key in (*kept, "threads", "deterministic")}
    return {
        **_data_settings(settings, dataset, name, seed, experiment),
        "model": {key: own["model"][key] for key in _OF_UNIVERSAL},
        "triplets": own["triplets"],
        "training": {**drawing, **own["pretraining"]},
    }


def bert_settings(settings: Settings, dataset: str) -> Settings:
    """What the pretraining of a small BERT depends on."""
    return {
        **settings["bert"]["pretraining"],
        "own_origins": settings["datasets"][dataset]["own_origins"],
        "longest": settings["bert"]["longest"],
        "threads": settings["training"]["threads"],
    }


def sentence_vector_settings(settings: Settings) -> Settings:
    """What frozen sentence vectors depend on besides their BERT."""
    chosen = {key: settings["bert"][key] for key in ("layer", "longest")}
    return {**chosen, "threads": settings["training"]["threads"]}


def feature_sets(settings: Settings) -> dict[str | None, Settings]:
    """Settings of every feature set at hand: `None` the main one, others by name, laid over it.

    Ready-made features are of the set that names them alone.
    """
    main = {key: value for key, value in settings["images"].items() if key != "sets"}
    named = {name: own for name, own in settings["images"]["sets"].items() if own is not None}
    return {None: main} | {name: {**main, "features": None, **own} for name, own in named.items()}


def feature_settings(settings: Settings, name: str | None = None) -> Settings:
    """What the features of an image depend on, in a feature set: little is known of ready-made ones."""
    images = feature_sets(settings)[name]
    made = ("backbone", "weights", "dimension", "resize", "crop", "crops", "precision", "windows")
    keys = ("backbone", "dimension") if images["features"] else made
    return {key: images[key] for key in keys}


def left_out(settings: Settings) -> dict[str, str]:
    """Why an experiment, by its name, is not trained: the configuration lacks its feature set."""
    every = {**settings["experiments"]}
    for dataset in settings["datasets"]:
        every |= expanded(settings, dataset)
    return {
        name: f"the configuration has no features {experiment['features']} (images.sets)"
        for name, experiment in every.items()
        if experiment.get("features") not in feature_sets(settings)
    }


def extraction_options(settings: Settings) -> str:
    """Arguments of `features` that its result does not depend on, but for the rounding of its numbers.

    The network's threads are as many as are configured, not as many as Snakemake has to give: with another
    number features differ in their last digits, and so do the weights trained on them.
    """
    images = settings["images"]
    options = [f"--{key.replace('_', '-')} {images[key]}" for key in ("batch", "workers", "failed_share")]
    options.append(f"--threads {images['workers']}")
    return " ".join([*options, *(["--compile"] if images["compile"] else [])])


def table_settings(settings: Settings, name: str) -> Settings:
    """What a table depends on: its rows and columns, and which data sets and experiments fill them."""
    made, lacking = settings["experiments"], left_out(settings)
    named = tuple(row["experiment"] for row in settings["tables"][name]["rows"])
    trained = {
        dataset: {
            key: experiment["languages"]
            for key, experiment in expanded(settings, dataset).items()
            if key.startswith(named) and key not in lacking
        }
        for dataset in settings["datasets"]
    }
    return {
        "scale": settings["scale"],
        "seeds": settings["seeds"],
        "table": settings["tables"][name],
        "datasets": stand_ins(settings),
        "languages": {dataset: data["languages"] for dataset, data in settings["datasets"].items()},
        "trained": trained,
        "left_out": [
            f"row {row['row']}, {row['method']}: {lacking[row['experiment']]}"
            for row in settings["tables"][name]["rows"]
            if row["experiment"] in lacking
        ],
        "own_origins": {dataset: data["own_origins"] for dataset, data in settings["datasets"].items()},
        "one_per_language": [key for key in made if made[key].get("one_per_language")],
    }


def parameter_settings(folder: Path) -> Settings:
    """What counting the parameters takes: the papers' sizes, whatever the scale that is run."""
    paper = load({"scale": "paper"}, folder)
    return {key: paper[key] for key in ("scale", "model")}


def claim_settings(settings: Settings) -> Settings:
    """What judging a paper's claims depends on besides the evaluations."""
    made = settings["experiments"]
    return {
        "scale": settings["scale"],
        "seeds": settings["seeds"],
        "datasets": stand_ins(settings),
        "experiments": sorted(made),
        "left_out": left_out(settings),
        "one_per_language": [key for key in made if made[key].get("one_per_language")],
    }


def makeable_tables(settings: Settings) -> list[str]:
    """Tables that this configuration has data for, at least for some of their columns and rows."""
    named, lacking = set(stand_ins(settings)), left_out(settings)
    found = [
        name
        for name, table in settings["tables"].items()
        if named & set(table["columns"]) and any(row["experiment"] not in lacking for row in table["rows"])
    ]
    return [*found, "table1", "parameters", *(["lessons/table1"] if "multi30k" in named else [])]


def report_settings(settings: Settings, folder: Path) -> Settings:
    """What the report tells of the configuration.

    Args:
        folder: the folder config/, of whose scales the report tells too.
    """
    chosen = ("scale", "seeds", "tables", "images", "model", "training")
    return {
        **{key: settings[key] for key in chosen},
        "own_origins": {dataset: data["own_origins"] for dataset, data in settings["datasets"].items()},
        "left_out": {name: table_settings(settings, name)["left_out"] for name in settings["tables"]},
        "missing": [name for name in makeable_tables(settings) if name not in settings["report"]],
        "scales": {
            name: _read(folder / "scales" / f"{name}.yaml")["datasets"] for name in ("demo", "pilot", "paper")
        }
        | {settings["scale"]: settings["datasets"]},
    }


def count_settings(settings: Settings) -> Settings:
    """What counting the captions takes."""
    datasets = {
        name: {"dataset": dataset, "own_origins": settings["datasets"][dataset]["own_origins"]}
        for name, dataset in stand_ins(settings).items()
    }
    return {"scale": settings["scale"], "datasets": datasets}


def stand_ins(settings: Settings) -> dict[str, str]:
    """For each data set of the papers, and each of the user's own, the one of this scale."""
    return {data["stands_for"]: dataset for dataset, data in settings["datasets"].items()}


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


def _tables(folder: Path) -> Settings:
    """Every table by its name: `table2` of MULE, `lessons/table2` of another paper's folder."""
    paths = sorted(folder.rglob("*.yaml"))
    return {path.relative_to(folder).with_suffix("").as_posix(): _read(path) for path in paths}


def _read(path: Path) -> Settings:
    with open(path, encoding="utf-8") as file:
        content: Settings = yaml.load(file, Loader=_LOADER)
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
        yield from _dataset_contradictions(f"datasets.{dataset}", data)
        if (other := stand_ins(settings)[data["stands_for"]]) != dataset:
            yield f"datasets.{dataset}.stands_for: {other} stands for {data['stands_for']} too; only one can"
    pairs = {f"pairs.{pair}": provider for pair, provider in settings["translation"]["pairs"].items()}
    for where, provider in {**pairs, "default": settings["translation"]["default"]}.items():
        if provider["provider"] == "files" and "origin" not in provider:
            yield f"translation.{where}: provider files needs `origin`, such as google"
        if provider["provider"] == "marian" and "model" not in provider:
            yield f"translation.{where}: provider marian needs `model`, a folder or a name on the hub"
    yield from _feature_contradictions(settings)
    for name, experiment in settings["experiments"].items():
        model = overlaid(settings, experiment.get("settings", {}))["model"]
        yield from _vector_contradictions(f"experiments.{name}", model, experiment)
        yield from _encoder_contradictions(f"experiments.{name}", model, experiment)
    for name in settings["report"]:
        if name not in (known := [*settings["tables"], *OTHER_TABLES]):
            yield f"report: no table {name!r}{_meant(name, known)}"
    yield from _unknown_columns(settings)
    yield from _unknown_experiments(settings)


def _feature_contradictions(settings: Settings) -> Iterator[str]:
    """Crops fit the image; the feature sets that experiments name are there, if only as null."""
    for set_name, images in feature_sets(settings).items():
        where = f"images.sets.{set_name}" if set_name else "images"
        if images["crop"] > images["resize"]:
            yield f"{where}.crop: larger than {where}.resize, so that crops do not fit the image"
    known = list(settings["images"]["sets"])
    for name, experiment in settings["experiments"].items():
        chosen = experiment.get("features")
        if chosen is not None and chosen not in known:
            yield f"experiments.{name}.features: no set {chosen!r} in images.sets{_meant(chosen, known)}"


def _encoder_contradictions(where: str, model: Settings, experiment: Settings) -> Iterator[str]:
    """VSE has no universal embedding; order embeddings are compared by the ranking loss alone."""
    if model["similarity"] == "order" and not experiment.get("ranking"):
        yield f"{where}: similarity order is for the ranking loss; set ranking: true"
    if model["word_vectors"] == "scratch" and experiment.get("vectors", "fasttext") != "fasttext":
        yield f"{where}.vectors: found {experiment['vectors']!r}, which word_vectors scratch does not read"
    if model["encoder"] == "embn":
        return
    if model["recurrent"] not in ("lstm", "gru"):
        yield f"{where}: encoder vse reads words one by one; set settings.model.recurrent: gru (or lstm)"
    for key in ("neighborhood", "classifier", "pretraining"):
        if experiment.get(key):
            yield f"{where}.{key}: encoder vse has no universal embedding to train by it"


def _vector_contradictions(where: str, model: Settings, experiment: Settings) -> Iterator[str]:
    """Sentence vectors need a branch that reads them, and there are none of translations."""
    if model["recurrent"] == "layers" and experiment.get("vectors") != "bert":
        yield f"{where}: recurrent layers reads sentence vectors; set vectors: bert"
    if experiment.get("vectors") != "bert":
        return
    if model["recurrent"] not in ("layers", "mean"):
        yield f"{where}: vectors bert has no words to read one by one; set settings.model.recurrent: layers"
    if experiment["captions"] != "human":
        yield f"{where}.captions: found {experiment['captions']!r}; vectors bert are of human captions alone"


def _dataset_contradictions(where: str, data: Settings) -> Iterator[str]:
    source, needed = data["source"], _OF_SOURCE[data["source"]]
    for key in needed:
        if key not in data:
            yield f"{where}: {key!r} is missing, which source {source} needs"
    if source == "multi30k" and data.get("split", "multi30k") not in ("multi30k", "flickr8k"):
        yield f"{where}.split: found {data['split']!r}, expected multi30k or flickr8k"
    if source == "own" and "{language}" in data.get("captions", "") and "split" not in data:
        yield f"{where}.captions: a file for each language needs `split`, a CSV file of columns image, split"
    others = {key for keys in _OF_SOURCE.values() for key in keys} - {*needed, *_OPTIONAL.get(source, ())}
    for key in sorted(others & set(data)):
        yield f"{where}.{key}: source {source} has no such key"
    grouped = {code for group in data["groups"] for code in group}
    for key, named in (("own_origins", data["own_origins"]), ("groups", grouped)):
        for code in sorted(set(named) - set(data["languages"])):
            yield f"{where}.{key}: {code!r} is not among its languages {data['languages']}"
    if (data.get("test_images") is None) != (data.get("val_images") is None):
        yield f"{where}: test_images and val_images are given both or neither"


def _unknown_columns(settings: Settings) -> Iterator[str]:
    known = {"multi30k", "mscoco", *settings["datasets"]}
    for name, table in settings["tables"].items():
        for column, languages in table["columns"].items():
            if column not in known:
                yield f"tables.{name}.columns: no data set {column!r}{_meant(column, sorted(known))}"
            elif "paper" not in table and column in settings["datasets"]:
                for code in sorted(set(languages) - set(settings["datasets"][column]["languages"])):
                    yield f"tables.{name}.columns.{column}: the data set has no language {code!r}"


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
    found = copy.deepcopy(settings)
    blocks = {
        "sources": (found["sources"], ["mirror", "flickr30k", "coco_cn"]),
        "images": (found["images"], ["features", "list"]),
        "translation": (found["translation"], ["dictionaries", "cache"]),
    }
    for name, own in found["images"]["sets"].items():
        blocks[f"images.sets.{name}"] = own or {}, ["features"]
    for name, data in found["datasets"].items():
        blocks[f"datasets.{name}"] = data, ["captions", "split", "images", "test_images", "val_images"]
    mistakes = []
    for where, (block, keys) in blocks.items():
        for key in keys:
            value = os.path.expanduser(os.path.expandvars(block.get(key) or ""))
            if "$" in value:
                mistakes.append(f"{where}.{key}: {value}: the environment variable is not set")
            if key in block:
                block[key] = value or None
    raise_together(mistakes, "The configuration has mistakes:")
    return found
