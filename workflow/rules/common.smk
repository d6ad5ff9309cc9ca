# What the rules ask of the configuration. The science is in pipeline/.

import csv
import json
import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace

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
STAND_INS = configuration.stand_ins(SETTINGS)

with open(Path(workflow.basedir, "workflow", "sources.csv"), encoding="utf-8") as file:
    SOURCES = {row["file"]: row for row in csv.DictReader(file)}


# Names in workflow/sources.csv.
FASTTEXT = "dl.fbaipublicfiles.com/fasttext/vectors-crawl/cc.{language}.300.vec.gz"
MUSE = "dl.fbaipublicfiles.com/arrival/vectors/wiki.multi.{language}.vec"
DICTIONARIES = "dl.fbaipublicfiles.com/arrival/dictionaries/en-{language}.txt"
TRANSLATION_CACHE = SETTINGS["translation"]["cache"]
TRANSLATION_LIMITS = json.dumps(SETTINGS["translation"]["limits"])


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
    """Paths of the public files of some data sets."""
    return [
        f"work/sources/{name}"
        for name, row in SOURCES.items()
        if row["dataset"] in datasets and row["access"] == "public"
    ]


# Published text that a data set's captions are read from, by its source: `dataset` of workflow/sources.csv.
TEXTS = {
    "demo": [],
    "own": [],
    "multi30k": ["multi30k"],
    "flickr8kcn": ["flickr8kcn", "flickr8k"],
    "mscoco": ["mscoco", "yjcaptions"],
}

# Published photographs, each archive unpacked into a folder of its own.
PHOTOGRAPHS = {
    "flickr8k": ["flickr8k"],
    "flickr30k": ["flickr30k"],
    "mscoco": ["train2014", "val2014"],
}

# What is given on request only: name in workflow/sources.csv, by key of `sources`.
REQUESTED = {
    "flickr30k": "on-request/flickr30k",
    "coco_cn": "on-request/coco-cn",
}


def published_texts(data):
    """Published files that a data set's captions and split are read from."""
    split = ["flickr8k"] if data.get("split") == "flickr8k" else []
    return source_files(*TEXTS[data["source"]], *split)


def published_captions(wildcards):
    """Text files that a data set's captions are read from."""
    return published_texts(DATASETS[wildcards.dataset])


def how_to_ask(key):
    """What to do to get data that are given on request only."""
    row = SOURCES[REQUESTED[key]]
    return (
        f"{row['dataset']} is given on request ({row['licence']}): {row['url']} says how to ask. Put the archive or "
        f"folder at {SETTINGS['sources'][key]}, or set sources.{key} to where it lies."
    )


def requested(key):
    """Where data on request lie; a message that tells all that must be asked for where they do not."""
    needed = {
        "flickr30k": [data.get("images") == "flickr30k" for data in DATASETS.values()],
        "coco_cn": [data["source"] == "mscoco" for data in DATASETS.values()],
    }
    missing = [
        other
        for other, needs in needed.items()
        if any(needs) and not os.path.exists(SETTINGS["sources"][other])
    ]
    if key in missing:
        raise WorkflowError(
            "\n".join(
                ["Some data of this scale cannot be downloaded:"]
                + [f"  - {how_to_ask(other)}" for other in missing]
                + ["`snakemake downloads` fetches meanwhile what is public."]
            )
        )
    return SETTINGS["sources"][key]


def ask_for_images(wildcards):
    """Argument that says how to get a data set's images, where they are given on request."""
    on_request = DATASETS[wildcards.dataset].get("images") == "flickr30k"
    return [f"--ask={how_to_ask('flickr30k')}"] if on_request else []


def archives_at(path):
    """The archives that a path is or holds at its top; none where it is a folder of images."""
    found = [path] if os.path.isfile(path) else sorted(map(str, Path(path).iterdir()))
    return [
        name
        for name in found
        if re.search(r"\.(zip|tar|tgz|tar\.(gz|bz2|xz))$", name)
        and os.path.isfile(name)
    ]


def archives(wildcards):
    """The archives that a folder of photographs is unpacked from."""
    name = wildcards.archive
    if name == "flickr8k":
        return source_files("flickr8k-photographs")
    if name == "flickr30k":
        return archives_at(requested("flickr30k"))
    if name in PHOTOGRAPHS["mscoco"]:
        return f"work/sources/images.cocodataset.org/zips/{name}.zip"
    return archives_at(DATASETS[name.removeprefix("own-")]["images"])


def image_folder(wildcards):
    """The folders that hold a data set's images, at any depth."""
    data = DATASETS[wildcards.dataset]
    if data["source"] == "demo":
        return f"work/{SCALE}/{wildcards.dataset}/images"
    named = data["images"]
    if named == "flickr30k" and not archives_at(requested("flickr30k")):
        return requested("flickr30k")
    if named in PHOTOGRAPHS:
        return expand("work/photographs/{archive}", archive=PHOTOGRAPHS[named])
    if os.path.exists(named) and archives_at(named):
        return f"work/photographs/own-{wildcards.dataset}"
    return named


def caption_options(wildcards):
    """Arguments of `captions` that belong to a data set's source."""
    data = DATASETS[wildcards.dataset]
    listed = data.get("test_images") is not None  # then nothing is drawn
    options = {
        "multi30k": {"sources": "work/sources", "split": data.get("split")},
        "flickr8kcn": {"sources": "work/sources"},
        "mscoco": {
            "sources": "work/sources",
            "drawn": None if listed else data.get("drawn"),
            "seed": None if listed else data.get("draw_seed"),
            "test-images": data.get("test_images"),
            "val-images": data.get("val_images"),
        },
        "own": {"table": data.get("captions"), "seed": data.get("draw_seed", 0)},
    }[data["source"]]
    options["image-list"] = SETTINGS["images"]["list"]
    return [f"--{name}={value}" for name, value in options.items() if value is not None]


def coco_cn(wildcards):
    """COCO-CN as it was given: its archive, alone or alone in a folder, or its folder."""
    path = requested("coco_cn")
    found = archives_at(path)
    return found[0] if len(found) == 1 else path


def caption_code(wildcards):
    """Digest of the code that reads a data set's captions."""
    return code.digest(f"captions-{DATASETS[wildcards.dataset]['source']}")


def caption_lists(wildcards):
    """Files beside the published ones that decide a data set's captions and splits."""
    data = DATASETS[wildcards.dataset]
    paths = [data.get(key) for key in ("captions", "test_images", "val_images")]
    return [path for path in [*paths, SETTINGS["images"]["list"]] if path]


def in_every_language(pattern, languages):
    """Published files of some languages, of those that there are."""
    names = [pattern.format(language=language) for language in languages]
    return [f"work/sources/{name}" for name in names if name in SOURCES]


def public_files():
    """Every public file that the configured data sets need."""
    languages = sorted(
        {code for data in DATASETS.values() for code in data["languages"]}
    )
    files = []
    for data in DATASETS.values():
        files += published_texts(data)
        files += {
            "flickr8k": source_files("flickr8k-photographs"),
            "mscoco": source_files("mscoco-photographs"),
        }.get(data.get("images"), [])
    if SETTINGS["words"]["vectors"] == "file":
        files += in_every_language(FASTTEXT, languages)
    if SETTINGS["muse"] == "file":
        files += in_every_language(MUSE, languages)
    if SCALE != "demo" and not SETTINGS["translation"]["dictionaries"]:
        files += in_every_language(DICTIONARIES, languages)
    return sorted(set(files))


def given(path):
    """A file of the configuration as an input list: empty where it is null."""
    return [path] if path else []


def as_json(values):
    """Settings as the stages take them."""
    return json.dumps(values, ensure_ascii=False)


FEATURE_SETTINGS = as_json(configuration.feature_settings(SETTINGS))


def feature_shards(wildcards):
    """Stores of the shards of a data set's features; where they are made already, as many as that took."""
    folder = f"work/{wildcards.scale}/{wildcards.dataset}"
    count = SETTINGS["images"]["shards"]
    made = Path(folder, "shards.txt")
    if made.exists() and Path(folder, "features.h5").exists():
        settings, digest, *paths = made.read_text(encoding="utf-8").splitlines()
        if [settings, digest] == [FEATURE_SETTINGS, code.digest("features")]:
            return paths
    return [f"{folder}/shards/{n}-of-{count}.h5" for n in range(1, count + 1)]


def own_origin(wildcards):
    """Who wrote a language's own captions of a data set."""
    return DATASETS[wildcards.dataset]["own_origins"].get(wildcards.language, "human")


def provider(wildcards):
    """Settings of the provider that translates a pair of languages."""
    pair = f"{wildcards.source}-{wildcards.target}"
    return SETTINGS["translation"]["pairs"].get(
        pair, SETTINGS["translation"]["default"]
    )


def translated_by(wildcards):
    """What kind of provider translates a pair: dictionary, files, marian or web."""
    name = provider(wildcards)["provider"]
    return name if name in ("dictionary", "files", "marian") else "web"


def dictionary(wildcards):
    """The bilingual dictionary of a pair, which has English on one side."""
    if "en" not in (wildcards.source, wildcards.target):
        pair = f"{wildcards.source}-{wildcards.target}"
        raise WorkflowError(
            f"translation: {pair}: the bilingual dictionaries have English on one side. "
            f"Choose another provider for this pair: translation.pairs.{pair}"
        )
    (other,) = {wildcards.source, wildcards.target} - {"en"}
    if SETTINGS["translation"]["dictionaries"]:
        return os.path.join(SETTINGS["translation"]["dictionaries"], f"en-{other}.txt")
    if SCALE == "demo":
        return f"work/demo/dictionaries/en-{other}.txt"
    return f"work/sources/dl.fbaipublicfiles.com/arrival/dictionaries/en-{other}.txt"


def translator_inputs(wildcards):
    """Files that a pair's translator itself reads, by name."""
    kind = translated_by(wildcards)
    if kind == "dictionary":
        target = "work/{scale}/{dataset}/tokens/{target}.csv".format(**wildcards)
        return {"target": target, "dictionary": dictionary(wildcards)}
    if kind == "marian":
        folder = Path(provider(wildcards)["model"].format(**wildcards))
        return {"model": sorted(str(path) for path in folder.glob("*.*"))}
    return {}


def translator_settings(wildcards):
    """Arguments with the settings of a pair's machine translation; none for other providers."""
    if translated_by(wildcards) in ("dictionary", "files"):
        return []
    settings = {
        key: value for key, value in provider(wildcards).items() if key != "provider"
    }
    return [f"--settings={as_json(settings)}"]


INPUT_OPTIONS = {
    "captions": "--captions",
    "sentences": "--sentences",
    "target": "--target-sentences",
    "dictionary": "--dictionaries",
}


def input_options(wildcards, input):
    """Arguments that name the files a pair is translated with.

    Apart from all others: Snakemake does not rerun for a param that is made of the input.
    """
    return [
        f"{option}={input[name]}"
        for name, option in INPUT_OPTIONS.items()
        if name in input.keys()
    ]


def translation_inputs(wildcards):
    """Files that the translation of a data set's captions reads, by name."""
    folder = f"work/{wildcards.scale}/{wildcards.dataset}"
    if translated_by(wildcards) == "files":
        return {"captions": f"{folder}/captions.csv"}
    sentences = f"{folder}/tokens/{wildcards.source}.csv"
    return {"sentences": sentences, **translator_inputs(wildcards)}


def translation_options(wildcards):
    """Arguments of `translate` that belong to the provider of a pair."""
    if translated_by(wildcards) == "files":
        return [f"--origin={provider(wildcards)['origin']}"]
    origin = DATASETS[wildcards.dataset]["own_origins"].get(wildcards.source, "human")
    return [f"--source-origin={origin}", *translator_settings(wildcards)]


def translation_code(wildcards):
    """Digest of the code that translates a pair."""
    kind = translated_by(wildcards)
    stages = {"marian": "translate-marian", "web": "translate-web"}
    return code.digest(stages.get(kind, "translate"))


def translation_minutes(wildcards):
    """Time that a pair's translation may take: a service's rates make it long."""
    return 60 if translated_by(wildcards) in ("dictionary", "files") else 1440


def translation_services(wildcards):
    """Web services that a pair's translation asks."""
    return 1 if translated_by(wildcards) == "web" else 0


def translation_gpu(wildcards):
    """GPUs that a pair's translation asks for."""
    device = provider(wildcards).get("device", "auto")
    on_gpu = translated_by(wildcards) == "marian" and device != "cpu"
    return SETTINGS["gpu"] if on_gpu else 0


# Published sentences with their translations by people; the other data sets' stand in their caption tables.
TASK_1 = [
    f"work/sources/{name}"
    for name in SOURCES
    if re.search(r"task1/raw/test_2016_flickr\.\w\w\.gz$", name)
]


def human_translations(wildcards):
    """Files with sentences that people translated, by name; none where a data set has none."""
    source = DATASETS[wildcards.dataset]["source"]
    if source == "multi30k":
        return {"task1": TASK_1}
    if source in ("demo", "flickr8kcn"):
        return {"captions": f"work/{wildcards.scale}/{wildcards.dataset}/captions.csv"}
    return {}


def quality_inputs(wildcards):
    """Files that a pair's translation quality is measured with, by name."""
    people = human_translations(wildcards)
    return {**people, **translator_inputs(wildcards)} if people else {}


def quality_provider(wildcards):
    """The provider that is measured: none but the published where a data set has nothing to measure with."""
    people = human_translations(wildcards)
    return provider(wildcards)["provider"] if people else "files"


def quality_options(wildcards):
    """Arguments of `translation-quality` that belong to a data set and to a pair's translator."""
    if not human_translations(wildcards):
        return []
    task1 = "task1" in human_translations(wildcards)
    sources = ["--multi30k=work/sources"] if task1 else []
    return [*sources, *translator_settings(wildcards)]


def measured_pairs():
    """Measurements of all pairs between English and another language of a data set."""
    return [
        f"work/{SCALE}/{dataset}/translation-quality/{pair}.csv"
        for dataset, data in DATASETS.items()
        for language in data["languages"]
        if language != "en" and "en" in data["languages"]
        for pair in (f"en-{language}", f"{language}-en")
    ]


def fasttext_vectors(wildcards):
    """The published vectors of a language; a list that is empty where vectors are trained."""
    if SETTINGS["words"]["vectors"] == "train":
        return []
    name = FASTTEXT.format(language=wildcards.language)
    return published_vectors(name, "set words.vectors to train")


def muse_vectors(wildcards):
    """The published aligned vectors of a language."""
    return published_vectors(
        MUSE.format(language=wildcards.language), "set muse to align"
    )


def published_vectors(name, otherwise):
    """A file of published vectors as an input list, if there is one."""
    if name not in SOURCES:
        raise WorkflowError(
            f"workflow/sources.csv has no published vectors {name}. Add them to it, or {otherwise}."
        )
    return [f"work/sources/{name}"]


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


# Files of word or sentence vectors, by the kind that an experiment names.
VECTORS = {
    "fasttext": "work/{scale}/{dataset}/words/{captions}/{language}.h5",
    "muse": "work/{scale}/{dataset}/words/{captions}/muse/{language}.h5",
    "bert": "work/{scale}/{dataset}/bert/{language}.h5",
}


def vocabularies(wildcards):
    """Vocabularies of an experiment's languages; of MUSE's, English is what the others are aligned to."""
    chosen = experiment(wildcards)
    kind = chosen.get("vectors", "fasttext")
    aligned = kind == "muse" and SETTINGS["muse"] == "align"
    return [
        VECTORS["fasttext" if aligned and language == "en" else kind].format(
            scale=wildcards.scale,
            dataset=wildcards.dataset,
            captions=chosen["captions"],
            language=language,
        )
        for language in chosen["languages"]
    ]


def english_dictionary(wildcards):
    """The bilingual dictionary of a language and English."""
    return dictionary(SimpleNamespace(source="en", target=wildcards.language))


def bert_folder(wildcards):
    """The folder of the BERT as an input list; empty where it is named as on the Hugging Face hub."""
    model = SETTINGS["bert"]["model"]
    if model == "pretrain":
        return [f"work/{wildcards.scale}/{wildcards.dataset}/bert/model"]
    return given(model if os.path.isdir(model) else None)


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


def counted_captions(wildcards):
    """Caption tables that MULE's Table 1 counts."""
    return expand(
        "work/{scale}/{dataset}/captions.csv", scale=SCALE, dataset=STAND_INS.values()
    )


def overlapping_text(wildcards):
    """Text whose vocabularies *Lessons* compares: published tokens, or those of the demo's captions."""
    dataset = STAND_INS.get("multi30k")
    if dataset is None:
        raise WorkflowError(
            "results/lessons/table1.csv: no data set of the configuration stands for multi30k."
        )
    if DATASETS[dataset]["source"] == "demo":
        path = f"work/{SCALE}/{dataset}/tokens/{{language}}.csv"
        return {
            "translation": expand(path, language=["en", "de", "fr", "cs"]),
            "comparable": expand(path, language=["en", "de"]),
        }
    translated, independent = (
        [path for path in source_files("multi30k-text") if f"/{task}/tok/train" in path]
        for task in ("task1", "task2")
    )
    return {"translation": translated, "comparable": independent}


def by_language(paths):
    """`LANGUAGE=PATH` of files that are named by their language: `train.lc.norm.tok.en`, `en.csv`."""
    return [
        f"{re.search(r'([a-z]{2})([.]csv)?$', path)[1]}={path}"
        for path in map(str, paths)
    ]


def ranks_beside(paths):
    """The ranks that lie beside evaluations."""
    return [path.replace(".json", "-ranks.csv.gz") for path in paths]


def reported_evaluations(wildcards=None):
    """Evaluations of all tables that the report is made of."""
    return sorted(
        {
            f"work/{SCALE}/{cell.dataset}/experiments/{cell.experiment}/seed{seed}/test-{cell.queries}.json"
            for name in SETTINGS["report"]
            if name in TABLES
            for cell in cells(configuration.table_settings(SETTINGS, name))
            for seed in SETTINGS["seeds"]
        }
    )


def reported_curves(wildcards=None):
    """Training curves of the models that the report's tables evaluate."""
    return sorted(
        {str(Path(path).with_name("curves.csv")) for path in reported_evaluations()}
    )


def reported_datasets():
    """Data sets that the report's tables evaluate on."""
    return [
        name
        for name in DATASETS
        if any(f"/{name}/experiments/" in path for path in reported_evaluations())
    ]


# The data set whose test images each figure of the MULE paper shows.
FIGURES = {"3": "multi30k", "4": "mscoco"}


def reported_figures(wildcards=None):
    """Figures whose model the report's tables evaluate; a report trains nothing for a figure alone."""
    return [
        f"results/figure{number}.html"
        for number, named in FIGURES.items()
        if any(
            f"/{STAND_INS.get(named)}/experiments/mule-full/" in path
            for path in reported_evaluations()
        )
    ]


def figure_model(wildcards):
    """The model whose examples a figure shows, as the wildcards of its training."""
    dataset = STAND_INS.get(FIGURES[wildcards.number])
    if dataset is None:
        raise WorkflowError(
            f"results/figure{wildcards.number}.html: no data set of the configuration stands for "
            f"{FIGURES[wildcards.number]}."
        )
    return SimpleNamespace(
        scale=SCALE,
        dataset=dataset,
        experiment="mule-full",
        seed=SETTINGS["seeds"][0],
    )


def figure_inputs(wildcards):
    """Model, features, words, sentences and images of a figure; no images where features are brought.

    The list of images names their files: they are there, whole, when it is.
    """
    made = figure_model(wildcards)
    return {
        "model": f"work/{made.scale}/{made.dataset}/experiments/{made.experiment}/seed{made.seed}/model.pt",
        "features": f"work/{made.scale}/{made.dataset}/features.h5",
        "words": vocabularies(made),
        "sentences": own_sentences(made),
        "images": given(
            None
            if SETTINGS["images"]["features"]
            else f"work/{made.scale}/{made.dataset}/images.csv"
        ),
    }


def report_options():
    """What the report tells of the configuration and of the published files."""
    told = configuration.report_settings(SETTINGS, Path(workflow.basedir, "config"))
    files = [path.removeprefix("work/sources/") for path in public_files()]
    return as_json({**told, "files": files})
