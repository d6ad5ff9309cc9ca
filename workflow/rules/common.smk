# What the rules ask of the configuration. The science is in pipeline/.

import csv
import json
import os
import sys
from pathlib import Path

sys.path.insert(0, workflow.basedir)

from pipeline import code, settings as configuration
from pipeline.errors import InputError
from pipeline.tables.cells import cells

try:
    SETTINGS = configuration.load(config, Path(workflow.basedir, "config"))
except InputError as error:
    sys.exit(f"error: {error}")

SCALE = SETTINGS["scale"]
DATASETS = SETTINGS["datasets"]
TABLES = SETTINGS["tables"]

with open(Path(workflow.basedir, "workflow", "sources.csv"), encoding="utf-8") as file:
    SOURCES = {row["file"]: row for row in csv.DictReader(file)}


wildcard_constraints:
    scale=SCALE,
    dataset="|".join(DATASETS),
    language="[a-z]{2}",
    source="[a-z]{2}",
    target="[a-z]{2}",
    seed=r"\d+",
    captions="human|human[+]mt|mt",
    experiment="[a-z0-9+-]+",
    queries="own|translated",


def datasets_from(*sources):
    """Pattern of the data sets that have one of the sources; one that matches nothing if none has."""
    return (
        "|".join(name for name, data in DATASETS.items() if data["source"] in sources)
        or "(?!)"
    )


def source_files(*datasets):
    """Paths of the published files of some data sets."""
    return [
        f"work/sources/{name}"
        for name, row in SOURCES.items()
        if row["dataset"] in datasets
    ]


def published_captions(wildcards):
    """Text files that a data set's captions are read from."""
    files = {
        "multi30k": ["multi30k", "flickr8k"],
        "flickr8kcn": ["flickr8kcn", "flickr8k"],
    }
    source = DATASETS[wildcards.dataset]["source"]
    if source not in files:
        raise WorkflowError(
            f"datasets.{wildcards.dataset}.source: {source} cannot be read yet; its captions have no parser here. "
            "Take the data set out of the configuration, or run the scales demo or pilot."
        )
    return source_files(*files[source])


def image_folder(wildcards):
    """The folder with a data set's images, one file `{image}.jpg` or with another ending each."""
    if SETTINGS["images"]["folder"]:
        return SETTINGS["images"]["folder"].format(dataset=wildcards.dataset)
    if DATASETS[wildcards.dataset]["source"] == "demo":
        return f"work/{SCALE}/{wildcards.dataset}/images"
    if SCALE == "pilot":
        return "work/photographs/flickr8k"
    raise WorkflowError(
        f"The images of {wildcards.dataset} cannot be downloaded here: Flickr30K's are given on request by the "
        "University of Illinois (the Multi30K repository links the form). Put them into a folder and set "
        "images.folder to it; {dataset} in the path stands for the data set."
    )


def given(path):
    """A file of the configuration as an input list: empty where it is null."""
    return [path] if path else []


def as_json(values):
    """Settings as the stages take them."""
    return json.dumps(values, ensure_ascii=False)


def own_origin(wildcards):
    """Who wrote a language's own captions of a data set."""
    return DATASETS[wildcards.dataset]["own_origins"].get(wildcards.language, "human")


def provider(wildcards):
    """Settings of the provider that translates a pair of languages."""
    pair = f"{wildcards.source}-{wildcards.target}"
    return SETTINGS["translation"]["pairs"].get(
        pair, SETTINGS["translation"]["default"]
    )


def dictionary(wildcards):
    """The bilingual dictionary of a pair, which has English on one side."""
    (other,) = {wildcards.source, wildcards.target} - {"en"}
    if SETTINGS["translation"]["dictionaries"]:
        return os.path.join(SETTINGS["translation"]["dictionaries"], f"en-{other}.txt")
    if SCALE == "demo":
        return f"work/demo/dictionaries/en-{other}.txt"
    return f"work/sources/dl.fbaipublicfiles.com/arrival/dictionaries/en-{other}.txt"


def translation_inputs(wildcards):
    """Files that the provider of a pair reads, by name."""
    folder = f"work/{wildcards.scale}/{wildcards.dataset}"
    if provider(wildcards)["provider"] == "files":
        return {"captions": f"{folder}/captions.csv"}
    return {
        "sentences": f"{folder}/tokens/{wildcards.source}.csv",
        "target": f"{folder}/tokens/{wildcards.target}.csv",
        "dictionary": dictionary(wildcards),
    }


def translation_options(wildcards, input):
    """Arguments of `translate` that belong to the provider of a pair."""
    chosen = provider(wildcards)
    if chosen["provider"] == "files":
        return [f"--captions={input.captions}", f"--origin={chosen['origin']}"]
    origin = DATASETS[wildcards.dataset]["own_origins"].get(wildcards.source, "human")
    return [
        f"--sentences={input.sentences}",
        f"--target-sentences={input.target}",
        f"--dictionaries={input.dictionary}",
        f"--source-origin={origin}",
    ]


def fasttext_vectors(wildcards):
    """The published vectors of a language; a list that is empty where vectors are trained."""
    name = f"dl.fbaipublicfiles.com/fasttext/vectors-crawl/cc.{wildcards.language}.300.vec.gz"
    return [f"work/sources/{name}"] if SETTINGS["words"]["vectors"] == "file" else []


def settings_for(chosen):
    """The `params` function that gives an experiment's settings as a stage takes them."""
    return lambda wildcards: as_json(
        chosen(SETTINGS, wildcards.dataset, wildcards.experiment, int(wildcards.seed))
    )


def translations_into(scale, dataset, language, captions):
    """Translation tables that a language's training captions take in."""
    others = [code for code in DATASETS[dataset]["languages"] if code != language]
    sources = {
        "human": [],
        "mt": ["en"],
        "human+mt": others if language == "en" else ["en"],
    }[captions]
    return [
        f"work/{scale}/{dataset}/translations/{source}-{language}.csv"
        for source in sources
        if source in others
    ]


def experiment(wildcards):
    """An experiment's entry in config/experiments.yaml, with its languages."""
    return configuration.expanded(SETTINGS, wildcards.dataset)[wildcards.experiment]


def tokenised(wildcards, languages):
    """Tokenised captions of some languages of a data set."""
    return expand(
        "work/{scale}/{dataset}/tokens/{language}.csv",
        scale=wildcards.scale,
        dataset=wildcards.dataset,
        language=languages,
    )


def own_sentences(wildcards):
    """Tokenised captions of an experiment's languages."""
    return tokenised(wildcards, experiment(wildcards)["languages"])


def training_translations(wildcards):
    """Translations that an experiment trains on."""
    chosen = experiment(wildcards)
    return [
        path
        for language in chosen["languages"]
        for path in translations_into(
            wildcards.scale, wildcards.dataset, language, chosen["captions"]
        )
    ]


def vocabularies(wildcards):
    """Vocabularies of an experiment's languages."""
    chosen = experiment(wildcards)
    return expand(
        "work/{scale}/{dataset}/words/{captions}/{language}.h5",
        scale=wildcards.scale,
        dataset=wildcards.dataset,
        captions=chosen["captions"],
        language=chosen["languages"],
    )


def pretrained(wildcards):
    """What an experiment's training begins from: a list that is empty without LP."""
    path = "work/{scale}/{dataset}/experiments/{experiment}/seed{seed}/pretrained.pt"
    return given(experiment(wildcards).get("pretraining") and path.format(**wildcards))


def translated_queries(wildcards):
    """Test captions of the other languages, translated into a model's only language."""
    if wildcards.queries == "own":
        return []
    (target,) = experiment(wildcards)["languages"]
    sources = [
        code for code in DATASETS[wildcards.dataset]["languages"] if code != target
    ]
    return expand(
        "work/{scale}/{dataset}/translations/{source}-{target}.csv",
        scale=wildcards.scale,
        dataset=wildcards.dataset,
        source=sources,
        target=target,
    )


def evaluated_sentences(wildcards):
    """Tokenised captions of an experiment's languages, or of all where queries are translated."""
    if wildcards.queries == "own":
        return own_sentences(wildcards)
    return tokenised(wildcards, DATASETS[wildcards.dataset]["languages"])


def table_settings(wildcards):
    """What a table depends on."""
    return configuration.table_settings(SETTINGS, wildcards.table)


def evaluations(wildcards):
    """Evaluations that a table's cells need."""
    return sorted(
        {
            f"work/{SCALE}/{cell.dataset}/experiments/{cell.experiment}/seed{seed}/test-{cell.queries}.json"
            for cell in cells(table_settings(wildcards))
            for seed in SETTINGS["seeds"]
        }
    )
