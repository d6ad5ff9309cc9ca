# Published files, data on request, and folders of images.

from pipeline.datasets.source_settings import (
    CaptionSettings,
    PartSettings,
    SplitSettings,
)
from pipeline.datasets.sources import module_of, source_named
from pipeline.images.find import ENDINGS
from pipeline.stages import language_row


def source_of(dataset):
    """The source of a data set's captions."""
    return source_named(DATASETS[dataset]["source"])


# Names in workflow/sources.csv.
FASTTEXT = "dl.fbaipublicfiles.com/fasttext/vectors-crawl/cc.{language}.300.vec.gz"
MUSE = "dl.fbaipublicfiles.com/arrival/vectors/wiki.multi.{language}.vec"
DICTIONARIES = "dl.fbaipublicfiles.com/arrival/dictionaries/en-{language}.txt"


def source_files(*datasets):
    """Paths of the public files of some data sets."""
    return [
        f"work/sources/{name}"
        for name, row in SOURCES.items()
        if row["dataset"] in datasets and row["access"] == "public"
    ]


def downloaded_megabytes(wildcards):
    """Disk space of a published file, from workflow/sources.csv; 2 GB if its size is not listed."""
    return int(SOURCES[wildcards.file]["bytes"] or 2e9) // 10**6 + 1


# Published photographs, each archive unpacked into a folder of its own.
PHOTOGRAPHS = {
    "flickr8k": ["flickr8k"],
    "flickr30k": ["flickr30k"],
    "mscoco": ["train2014", "val2014"],
}


# What is given on request only: name in workflow/sources.csv, by key of `sources`.
REQUESTED = {
    "flickr30k": "on-request/flickr30k",
    **{
        asked.key: asked.name
        for asked in (source_of(name).requested for name in DATASETS)
        if asked
    },
}


def published_texts(data):
    """Published files that a data set's captions and split are read from."""
    return source_files(*source_named(data["source"]).published_for(data))


def how_to_ask(key):
    """How to obtain data that are given on request."""
    row = SOURCES[REQUESTED[key]]
    return (
        f"{row['dataset']} is given on request ({row['licence']}): {row['url']} says how to ask. Put the archive or "
        f"folder at {SETTINGS['sources'][key]}, or set sources.{key} to its path."
    )


def missing_on_request():
    """The data sets that need data on request which are missing, by the data's key of `sources`."""
    needed = {
        "flickr30k": [
            name
            for name, data in DATASETS.items()
            if data.get("images") == "flickr30k" and needs_photographs(name)
        ],
    }
    for name in DATASETS:
        if asked := source_of(name).requested:
            needed.setdefault(asked.key, []).append(name)
    return {
        key: datasets
        for key, datasets in needed.items()
        if datasets and not os.path.exists(SETTINGS["sources"][key])
    }


def what_to_ask_for():
    """A message that lists all missing data that must be requested; no lines if there are none."""
    tables = asked_tables()
    alone = tables and len(tables) == len(workflow.dag_settings.targets)
    of_tables = {cell.dataset for cell in cells_of(tables)} if alone else set(DATASETS)
    lines = [
        f"  - for data set {' and '.join(datasets)}"
        f"{', which these tables do not have' if of_tables.isdisjoint(datasets) else ''}: {how_to_ask(key)}"
        for key, datasets in missing_on_request().items()
    ]
    return lines and [
        "Some data of this scale must be requested from their owners:",
        *lines,
        "Meanwhile the target `downloads` fetches what is public, with this configuration.",
    ]


def requested(key):
    """Path of data on request; if they are missing, stop with everything that must be requested."""
    if key in missing_on_request():
        missing = configuration.missing_providers(
            SETTINGS, translations_of(asked_tables())
        )
        refuse("\n".join([*what_to_ask_for(), *given(missing)]))
    return SETTINGS["sources"][key]


def ask_for_images(wildcards):
    """Argument that says how to obtain a data set's images if they are given on request."""
    on_request = DATASETS[wildcards.dataset].get("images") == "flickr30k"
    return [f"--missing-hint={how_to_ask('flickr30k')}"] if on_request else []


def archives_at(path):
    """The archive at a path, or those at the top of a folder; none for a folder of images."""
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
    """The folders that contain a data set's images, at any depth."""
    data = DATASETS[wildcards.dataset]
    if data["source"] == "demo":
        return f"work/{SCALE}/{wildcards.dataset}/images"
    named = data["images"]
    if named == "flickr30k" and not archives_at(requested("flickr30k")):
        return requested("flickr30k")
    if named in PHOTOGRAPHS:
        return expand("work/photographs/{archive}", archive=PHOTOGRAPHS[named])
    if os.path.exists(named) and (found := archives_at(named)):
        check_archives_alone(wildcards.dataset, named, found)
        return f"work/photographs/own-{wildcards.dataset}"
    return named


def check_archives_alone(dataset, named, found):
    """Stop if photographs lie beside the archives of a folder: it would not be clear which of them are meant."""
    below = os.walk(named) if os.path.isdir(named) else ()
    files = (os.path.join(folder, name) for folder, _, names in below for name in names)
    loose = next(
        (name for name in files if os.path.splitext(name)[1].lower() in ENDINGS), None
    )
    if loose:
        refuse(
            f"datasets.{dataset}.images: {named} has archives, such as {found[0]}, and photographs beside them, "
            f"such as {loose}. Move either out of the folder, or name the archive or the photographs' folder"
        )


def in_every_language(pattern, languages):
    """Published files for some languages, as far as they exist."""
    names = [pattern.format(language=language) for language in languages]
    return [f"work/sources/{name}" for name in names if name in SOURCES]


def needs_dictionaries():
    """Whether MUSE's dictionaries are downloaded: to align word vectors or to translate, unless they are given."""
    translation = SETTINGS["translation"]
    named = [translation["default"], *translation["pairs"].values()]
    asked = any(one and one.provider == "dictionary" for one in named)
    used = SETTINGS["muse"] == "align" or asked
    return used and SCALE != "demo" and not translation["dictionaries"]


def public_files():
    """Every public file that the configured data sets need."""
    languages = sorted(
        {code for name in DATASETS for code in DATASETS[name].every_language}
    )
    files = []
    for name, data in DATASETS.items():
        files += published_texts(data)
        files += source_files(*source_of(name).further)
        if needs_photographs(name):
            files += {
                "flickr8k": source_files("flickr8k-photographs"),
                "mscoco": source_files("mscoco-photographs"),
            }.get(data.get("images"), [])
    if SETTINGS["words"]["vectors"] == "file":
        files += in_every_language(FASTTEXT, languages)
    if SETTINGS["muse"] == "file":
        files += in_every_language(MUSE, languages)
    if needs_dictionaries():
        files += in_every_language(DICTIONARIES, languages)
    return sorted(set(files))


def fetched_models():
    """Models of the Hugging Face hub that some table of this configuration uses."""
    translated = translations_of([name for name in makeable() if name in TABLES])
    return configuration.hub_models(SETTINGS, sorted({pair for _, pair in translated}))


def makeable():
    """Tables that this configuration has data for."""
    return configuration.makeable_tables(SETTINGS)


# What the demo's pictures, its captions and its dictionaries are made of.
DEMO_CONCEPTS, DEMO_DATASETS, DEMO_GRAMMAR = source_named("demo").project_files
# Word lists of languages that the demo has no grammar of: its captions in them are translations.
DEMO_WORDS = "pipeline/demo/data/dictionaries/en-{language}.txt"
