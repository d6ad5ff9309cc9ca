"""The part of the configuration that each stage depends on, so that a changed key reruns nothing else."""

from pathlib import Path

from pipeline.settings.experiments import (
    Settings,
    expanded,
    experiment_named,
    feature_sets,
    human_languages,
    left_out,
    makeable_tables,
    one_for_each,
    overlaid,
    stand_ins,
    table_named,
)
from pipeline.settings.lessons import multitask_settings, selection_of, selection_tasks
from pipeline.settings.reading import load, read
from pipeline.settings.translations import translated_origins

# Keys of `model` that make the universal embedding.
_OF_UNIVERSAL = ("encoder", "word_vectors", "universal", "universal_layers", "universal_mean")

# Blocks of the parts that only some experiments have: there where they are used, and nowhere else, so that
# one part more changes the settings of no other experiment.
_PARTS = ("masking",)

# Experiment blocks that are None for an experiment that does not use them.
_SWITCHED = ("ranking", "neighborhood", "classifier")


def experiment_settings(settings: Settings, dataset: str, name: str, seed: int) -> Settings:
    """What the training of one experiment depends on, and nothing else."""
    experiment, own = _experiment(settings, dataset, name)
    if "selection" in experiment:
        features = feature_settings(settings, experiment.get("features"))
        return multitask_settings(settings, dataset, name, seed, features)
    liwe = own["model"]["encoder"] == "liwe"
    matched = not (liwe or experiment.get("ranking"))  # which stand in the place of matching and its triplets
    own["classifier"] = _classifier_settings(own["classifier"], settings["datasets"][dataset]["stands_for"])
    chosen = {
        **_data_settings(settings, dataset, name, seed, experiment, own),
        **({"liwe": own["liwe"]} if liwe else {}),
        "branches": experiment["branches"],
        "features": feature_settings(settings, experiment.get("features")),
        "model": own["model"],
        "triplets": own["triplets"] if matched or experiment.get("neighborhood") else None,
        "matching": own["matching"] if matched else None,
        "words": own["word_regularizer"],
        "training": {key: value for key, value in own["training"].items() if key != "image_groups"},
    }
    chosen |= {key: own[key] if experiment.get(key) else None for key in _SWITCHED}
    chosen |= {key: own[key] for key in _PARTS if experiment.get(key)}
    name = experiment.get("embedding", "universal")
    return chosen if name == "universal" else chosen | {"embedding": name, name: own[name]}


def pretraining_settings(settings: Settings, dataset: str, name: str, seed: int) -> Settings:
    """What the pretraining of one experiment depends on, and nothing else."""
    experiment, own = _experiment(settings, dataset, name)
    return {
        **_data_settings(settings, dataset, name, seed, experiment, own),
        "model": {key: own["model"][key] for key in _OF_UNIVERSAL},
        "triplets": own["triplets"],
        "training": {**_drawing(own), **own["pretraining"]},
    }


def assignment_settings(settings: Settings, dataset: str, name: str, seed: int) -> Settings:
    """What the assignment of words to the latent vocabulary depends on, and nothing else."""
    experiment, own = _experiment(settings, dataset, name)
    learned = {key: own["assignment"][key] for key in ("epochs", "learning_rate")}
    return {
        **_data_settings(settings, dataset, name, seed, experiment, own),
        "universal": own["model"]["universal"],
        "hybrid": {key: own["hybrid"][key] for key in ("own_words", "entries")},
        "assignment": {key: value for key, value in own["assignment"].items() if key not in learned},
        "triplets": own["triplets"],
        "training": {**_drawing(own), **learned},
    }


def evaluation_settings(settings: Settings, dataset: str, name: str, seed: int) -> Settings:
    """What an evaluation depends on besides its model: what it records of the training's beginnings."""
    experiment = experiment_named(settings, dataset, name)
    begun = {}
    if "selection" in experiment:
        begun["selection"] = selection_of(settings, dataset, name) | selection_tasks(settings, dataset, name)
    if experiment.get("pretraining"):
        begun["pretraining"] = pretraining_settings(settings, dataset, name, seed)
    if experiment.get("embedding") == "hybrid":
        begun["assignment"] = assignment_settings(settings, dataset, name, seed)
    return {"threads": 1, **({"begun": begun} if begun else {})}


def consistency_settings(settings: Settings, dataset: str, name: str, seed: int, kind: str) -> Settings:
    """The same of an evaluation with queries and their translations."""
    learned = settings["consistency"] if kind == "learned" else {}
    return {**evaluation_settings(settings, dataset, name, seed), "kind": kind, **learned}


def bert_settings(settings: Settings, dataset: str) -> Settings:
    """What the pretraining of a small BERT depends on."""
    return {
        **settings["bert"]["pretraining"],
        "caption_origins": settings["datasets"][dataset]["caption_origins"],
        "max_tokens": settings["bert"]["max_tokens"],
        "threads": settings["training"]["threads"],
    }


def sentence_vector_settings(settings: Settings) -> Settings:
    """What frozen sentence vectors depend on besides their BERT."""
    chosen = {key: settings["bert"][key] for key in ("layer", "max_tokens")}
    return {**chosen, "threads": settings["training"]["threads"]}


def feature_settings(settings: Settings, name: str | None = None) -> Settings:
    """What the features of a feature set depend on; of precomputed ones little is known."""
    images = feature_sets(settings)[name]
    made = ("backbone", "weights", "dimension", "resize", "crop", "crops", "precision", "crop_evaluation")
    keys = ("backbone", "dimension") if images["features"] else made
    return {key: images[key] for key in keys}


def extraction_options(settings: Settings) -> str:
    """Arguments of `features` that do not affect its result, except for rounding.

    The network's threads on a CPU are as many as are configured, not as many as Snakemake has to give: with
    another number features differ in their last digits, and so do the weights trained on them.
    """
    images = settings["images"]
    options = [
        f"--{key.replace('_', '-')} {images[key]}" for key in ("batch_size", "workers", "max_failed_fraction")
    ]
    options.append(f"--threads {images['workers']}")
    return " ".join([*options, *(["--compile"] if images["compile"] else [])])


def table_settings(settings: Settings, name: str) -> Settings:
    """What a table depends on: its rows and columns, and which data sets and experiments fill them."""
    lacking, table = left_out(settings), table_named(settings, name)
    named = tuple(row["experiment"] for row in table["rows"])
    trained = {
        dataset: {
            key: experiment["languages"]
            for key, experiment in expanded(settings, dataset).items()
            if key.startswith(named) and key not in lacking
        }
        for dataset in settings["datasets"]
    }
    return {
        **({"human": human_languages(settings)} if table.get("averages") else {}),
        "scale": settings["scale"],
        "papers_data": settings["papers_data"],
        "seeds": settings["seeds"],
        "table": table,
        "datasets": stand_ins(settings),
        "languages": {dataset: data["languages"] for dataset, data in settings["datasets"].items()},
        "trained": trained,
        "left_out": [
            f"row {row['row']}, {row['method']}: {lacking[row['experiment']]}"
            for row in table["rows"]
            if row["experiment"] in lacking
        ],
        "caption_origins": {
            dataset: data["caption_origins"] | _translated_columns(settings, dataset, table)
            for dataset, data in settings["datasets"].items()
        },
        "one_per_language": one_for_each(settings),
    }


def _translated_columns(settings: Settings, dataset: str, table: Settings) -> dict[str, str]:
    """Who made the captions of a table's columns of languages that are all translated."""
    named = table["columns"].get(settings["datasets"][dataset]["stands_for"], [])
    return {code: origin for code, origin in translated_origins(settings, dataset).items() if code in named}


def parameter_settings(folder: Path) -> Settings:
    """What counting parameters depends on: the papers' sizes, whatever scale is run."""
    paper = load({"scale": "paper"}, folder)
    return {key: paper[key] for key in ("scale", "model")}


def ten_language_settings(settings: Settings, dataset: str, folder: Path) -> Settings:
    """What counting the parameters for ten languages depends on: the papers' sizes and the data set."""
    paper = load({"scale": "paper"}, folder)
    sizes = {key: paper[key] for key in ("model", "liwe", "consistency")}
    hybrid = {
        name: experiment_settings(paper, "multi30k", name, 0) for name in ("smalr-la", "smalr-hem", "smalr")
    }
    return {"scale": settings["scale"], "dataset": dataset, **sizes, "hybrid": hybrid}


def claim_settings(settings: Settings) -> Settings:
    """What judging a paper's claims depends on besides the evaluations."""
    made = settings["experiments"]
    return {
        "scale": settings["scale"],
        "papers_data": settings["papers_data"],
        "seeds": settings["seeds"],
        "datasets": stand_ins(settings),
        "experiments": sorted(made),
        "left_out": left_out(settings),
        "one_per_language": one_for_each(settings),
        "human": human_languages(settings),
        "languages": {dataset: data["languages"] for dataset, data in settings["datasets"].items()},
    }


def report_settings(settings: Settings, folder: Path) -> Settings:
    """The part of the configuration that the report shows.

    Args:
        folder: the folder config/, of whose scales the report tells too.
    """
    chosen = ("scale", "papers_data", "seeds", "tables", "images", "model", "training")
    return {
        **{key: settings[key] for key in chosen},
        "caption_origins": {
            dataset: data["caption_origins"] | translated_origins(settings, dataset)
            for dataset, data in settings["datasets"].items()
        },
        "stands_for": {dataset: data["stands_for"] for dataset, data in settings["datasets"].items()},
        "left_out": {name: table_settings(settings, name)["left_out"] for name in settings["tables"]},
        "missing": [name for name in makeable_tables(settings) if name not in settings["report"]],
        "scales": {
            name: read(folder / "scales" / f"{name}.yaml")["datasets"]
            for name in ("demo", "flickr8k", "paper")
        }
        | {settings["scale"]: settings["datasets"]},
    }


def count_settings(settings: Settings) -> Settings:
    """What counting the captions depends on."""
    datasets = {
        name: {"dataset": dataset, "caption_origins": settings["datasets"][dataset]["caption_origins"]}
        for name, dataset in stand_ins(settings).items()
    }
    return {"scale": settings["scale"], "datasets": datasets}


def context_settings(settings: Settings, dataset: str) -> Settings:
    """What the recalls of a frozen CLIP on a data set depend on: its own captions in its own languages."""
    data = settings["datasets"][dataset]
    kept = {key: data[key] for key in ("languages", "caption_origins")}
    threads = settings["training"]["threads"]
    return {"scale": settings["scale"], "dataset": dataset, **kept, "threads": threads}


def _experiment(settings: Settings, dataset: str, name: str) -> tuple[Settings, Settings]:
    experiment = experiment_named(settings, dataset, name)
    return experiment, overlaid(settings, experiment.get("settings", {}))


def _classifier_settings(classifier: Settings, stands_for: str) -> Settings:
    """The weight that a data set of the paper has, in the place of all data sets' weights."""
    weight = classifier["weights"].get(stands_for, classifier["weight"])
    return {"weight": weight, "weight_applied": classifier["weight_applied"]}


def _drawing(own: Settings) -> Settings:
    """Settings of how batches are drawn and computed, in pretraining as in training."""
    kept = ("epoch_unit", "batch_images", "sentences_per_image", "repeat_captions", "images_in_batch")
    return {key: own["training"][key] for key in (*kept, "threads", "deterministic")}


def _data_settings(
    settings: Settings, dataset: str, name: str, seed: int, experiment: Settings, own: Settings
) -> Settings:
    data = settings["datasets"][dataset]
    translated = {
        code: origin
        for code, origin in translated_origins(settings, dataset).items()
        if code in experiment["languages"]
    }
    return {
        **({"translated": sorted(translated)} if translated else {}),
        **({"reduction": experiment["reduction"]} if "reduction" in experiment else {}),
        "scale": settings["scale"],
        "dataset": dataset,
        "experiment": name,
        "seed": seed,
        "languages": experiment["languages"],
        "captions": experiment["captions"],
        "caption_origins": data["caption_origins"] | translated,
        "groups": data["groups"] if own["training"]["image_groups"] else [],
        "max_caption_length": data["max_caption_length"],
    }
