"""Published files, and the folders that hold a data set's photographs."""

import hashlib
import os
from functools import cache
from pathlib import Path

from pipeline.common.errors import InputError
from pipeline.common.photographs import is_archive, photographs_below
from pipeline.datasets.settings import Dataset
from pipeline.datasets.sources import source_named
from pipeline.plan import paths
from pipeline.plan.cells import experiments_on, translations_of
from pipeline.plan.plan import Plan
from pipeline.settings.experiments import makeable_tables
from pipeline.translation.settings import MarianProvider

# Names in workflow/sources.csv.
FASTTEXT = "dl.fbaipublicfiles.com/fasttext/vectors-crawl/cc.{language}.300.vec.gz"
MUSE = "dl.fbaipublicfiles.com/arrival/vectors/wiki.multi.{language}.vec"
DICTIONARIES = "dl.fbaipublicfiles.com/arrival/dictionaries/en-{language}.txt"
COCO = "images.cocodataset.org/zips/{archive}.zip"

FLICKR30K = "flickr30k"  # key of `sources` for photographs that are available only on request
# Published photographs: the archives that are unpacked, each into a folder of its own.
PHOTOGRAPHS = {"flickr8k": ["flickr8k"], "mscoco": ["train2014", "val2014"]}


def public_files_of(plan: Plan, *names: str) -> list[str]:
    """Public files of some rows of workflow/sources.csv, by their column `dataset`."""
    return [
        paths.SOURCE_FILE.format(file=file)
        for file, row in plan.sources.items()
        if row["dataset"] in names and row["access"] == "public"
    ]


def published_texts(plan: Plan, data: Dataset) -> list[str]:
    """Published files that a data set's captions and split are read from."""
    return public_files_of(plan, *source_named(data.source).downloads_for(data))


def download_megabytes(plan: Plan, file: str) -> int:
    """Disk space of a published file; 2 GB if workflow/sources.csv does not list its size."""
    return int(plan.sources[file]["bytes"] or 2e9) // 10**6 + 1


def public_files(plan: Plan) -> list[str]:
    """Every public file that the configured data sets need."""
    settings, translation = plan.settings, plan.settings.translation
    files = []
    for name, data in plan.datasets.items():
        files += published_texts(plan, data)
        files += public_files_of(plan, *plan.source(name).further)
        if data.images in ("flickr8k", "mscoco") and needs_photographs(plan, name):
            files += public_files_of(plan, f"{data.images}-photographs")
    own_dictionaries = settings.scale == "demo" or translation.dictionaries
    patterns = {
        FASTTEXT: settings.words.vectors == "file",
        MUSE: settings.muse == "file",
        DICTIONARIES: not own_dictionaries,  # rows of smaller vocabularies need them whatever translates
    }
    languages = {code for data in plan.datasets.values() for code in data.every_language}
    for pattern in (pattern for pattern, needed in patterns.items() if needed):
        names = {pattern.format(language=code) for code in languages}
        files += [paths.SOURCE_FILE.format(file=name) for name in names & plan.sources.keys()]
    return sorted(set(files))


def prefetched_models(plan: Plan) -> list[str]:
    """Models of the Hugging Face hub that some table uses, as the stage names them."""
    sets, bert = plan.settings.images.feature_sets().values(), plan.settings.bert.model
    models = {f"timm {one.backbone}" for one in sets if one.weights == "timm" and not one.features}
    if bert != "pretrain" and not os.path.isdir(bert):
        models.add(f"bert {bert}")
    tables = [name for name in makeable_tables(plan.settings) if name in plan.settings.tables]
    for _, pair in translations_of(plan, tables):
        provider = plan.settings.translation.provider_of(pair)
        if isinstance(provider, MarianProvider):
            name = provider.model_of(*pair.split("-"))
            if not os.path.isdir(name):
                models.add(f"marian {name}@{provider.revision}" if provider.revision else f"marian {name}")
    return sorted(models)


def archives(plan: Plan, archive: str) -> list[str]:
    """The archives that a folder of photographs is unpacked from."""
    if archive == "flickr8k":
        return public_files_of(plan, "flickr8k-photographs")
    if archive in PHOTOGRAPHS["mscoco"]:
        return [paths.SOURCE_FILE.format(file=COCO.format(archive=archive))]
    return archives_at(_own_photographs(plan, archive.removeprefix("own-")))


def unpacked_folders(plan: Plan, dataset: str) -> list[str]:
    """The folders of a data set's photographs that are unpacked from archives.

    Raises:
        InputError: photographs must be requested.
    """
    data = plan.datasets[dataset]
    if data.images in PHOTOGRAPHS:
        return [paths.PHOTOGRAPHS.format(archive=archive) for archive in PHOTOGRAPHS[data.images]]
    if data.source == "demo" or not os.path.exists(images := _own_photographs(plan, dataset)):
        return []
    # Photographs next to archives are used as they are: they may have been changed since.
    if not archives_at(images) or photographs_below(Path(images)):
        return []
    return [paths.PHOTOGRAPHS.format(archive=f"own-{dataset}")]


def _own_photographs(plan: Plan, dataset: str) -> str:
    """The path of photographs that the user has, some of them on request."""
    images = str(plan.datasets[dataset].images)
    return requested_path(plan, images) if images == FLICKR30K else images


def own_folders(plan: Plan, dataset: str) -> list[str]:
    """The folders of a data set's photographs that are not unpacked: the user's, or the demo's drawings."""
    data = plan.datasets[dataset]
    if data.source == "demo":
        return [plan.path(paths.DEMO_IMAGES, dataset=dataset)]
    if unpacked_folders(plan, dataset):
        return []
    return [_own_photographs(plan, dataset)]


@cache
def photographs_in_own_folders(plan: Plan, dataset: str) -> str:
    """Digest of the names of the user's photographs, which changes when one is added or removed."""
    if plan.datasets[dataset].source == "demo":
        return ""
    names = [photographs_below(Path(folder)) for folder in own_folders(plan, dataset)]
    return hashlib.sha256(repr(names).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def missing_hint(plan: Plan, dataset: str) -> str:
    """How to obtain images that are given only on request; empty for others."""
    return how_to_ask(plan, FLICKR30K) if plan.datasets[dataset].images == FLICKR30K else ""


# Data that are given on request.


def _data_on_request(plan: Plan) -> dict[str, str]:
    """Data available only on request: their names in workflow/sources.csv, by their key of `sources`."""
    data_on_request = (plan.source(name).on_request for name in plan.datasets)
    return {FLICKR30K: "on-request/flickr30k", **{data.key: data.name for data in data_on_request if data}}


def needs_photographs(plan: Plan, dataset: str) -> bool:
    """Whether a table's features are extracted from a data set's photographs."""
    experiments = plan.settings.experiments_on(dataset)
    names = {experiments[name].features for name in experiments_on(plan, dataset)}
    sets = plan.settings.images.feature_sets()
    return not all(sets[name].features for name in {None, *names})


def how_to_ask(plan: Plan, key: str) -> str:
    """How to obtain data that are given on request."""
    row, path = plan.sources[_data_on_request(plan)[key]], getattr(plan.settings.sources, key)
    return (
        f"{row['dataset']} is given on request ({row['licence']}): {row['url']} says how to ask. "
        f"Put the archive or folder at {path}, or set sources.{key} to its path."
    )


def requested_path(plan: Plan, key: str) -> str:
    """Path of data on request; raises InputError if they are missing."""
    path = str(getattr(plan.settings.sources, key))
    if not os.path.exists(path):
        public = "Meanwhile the target `downloads` fetches what is public, with this configuration."
        raise InputError(f"{how_to_ask(plan, key)} {public}")
    return path


def archives_at(path: str) -> list[str]:
    """The archive at a path, or the archives directly in a folder; empty for a folder of images."""
    archives = [path] if os.path.isfile(path) else sorted(map(str, Path(path).iterdir()))
    return [name for name in archives if is_archive(name) and os.path.isfile(name)]
