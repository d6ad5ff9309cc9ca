"""Paths of a configuration: variables are expanded, and every path must exist before anything runs."""

import copy
import difflib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from pipeline.common.errors import raise_together
from pipeline.settings.experiments import Settings

FILE, FOLDER, EITHER = "a file", "a folder", "a folder or an archive"
MIRROR = "a folder or an http(s) address"

# What each key that holds a path must name, by block; those of images are of every feature set too.
_KINDS = {
    "sources": {"mirror": MIRROR, "flickr30k": EITHER, "coco_cn": EITHER},
    "images": {"features": FILE, "list": FILE, "weights": FILE},
    "translation": {"dictionaries": FOLDER},
    "bert": {"model": FOLDER},
    "datasets": {
        "captions": FILE,
        "split": FILE,
        "images": EITHER,
        "test_images": FILE,
        "val_images": FILE,
    },
}
_NETRC = "write them into ~/.netrc (machine HOST login NAME password PASSWORD) and take them out of it"
_VARIABLE = re.compile(r"\$(?:(\w+)|\{([^}]*)\})", re.ASCII)  # as os.path.expandvars reads them
_SET = "set it, or write the path itself"
_WRITTEN = {"translation": ["cache"]}  # paths that the workflow writes

# Values of these keys that are names, not paths.
_NAMES = {
    "split": ("multi30k", "flickr8k"),
    "images": ("flickr8k", "flickr30k", "mscoco"),
    "weights": ("timm",),
    "model": ("pretrain",),
}

# Where rules put what they download or make, so that it may come later.
_MADE = ("work/sources", "work/photographs", "work/{scale}")


def with_paths_expanded(settings: Settings) -> Settings:
    """The settings with environment variables and ~ expanded in paths; an empty path becomes None.

    Raises:
        InputError: variables are not set or empty; every one is listed.
    """
    found = copy.deepcopy(settings)
    mistakes = []
    for where, block, kinds in _blocks(found):
        for key in [*kinds, *_WRITTEN.get(where, [])]:
            written = block.get(key) or ""
            value = os.path.expanduser(os.path.expandvars(written))
            mistakes += [f"{where}.{key}: {said}" for said in _without_value(written)]
            if "@" in urlsplit(value).netloc:
                mistakes.append(f"{where}.{key}: has a name or password in its address; {_NETRC}")
            if key in block:
                block[key] = value or None
    for place, model in enumerate(found["context"]):
        found["context"][place] = os.path.expanduser(os.path.expandvars(model))
        mistakes += [f"context.{place}: {said}" for said in _without_value(model)]
    for where, provider in _providers(found["translation"]):
        if "@" in urlsplit(provider.get("url") or "").netloc:
            mistakes.append(f"{where}.url: has a name or password in its address; {_NETRC}")
    raise_together(mistakes, "The configuration has mistakes:")
    return found


def _without_value(path: str) -> list[str]:
    """What is wrong with the environment variables of a path as it is written.

    An empty one would turn `$DATA/f.h5` into `/f.h5`, and `$FEATURES` into no features at all.
    """
    if "$" in os.path.expandvars(path):
        return [f"{path}: the environment variable is not set; {_SET}"]
    names = [plain or braced for plain, braced in _VARIABLE.findall(path)]
    empty = [name for name in names if not os.environ[name]]
    return [f"{path}: the environment variable {name} is empty; {_SET}" for name in empty]


def check_paths(settings: Settings, scale: Settings) -> None:
    """Check that every configured path exists, whether the target needs it or not.

    Snakemake itself takes a missing input for no reason to complain where an older result made of it exists.

    Args:
        settings: as `load` gives them; paths in them start from the working directory.
        scale: the file of config/scales. What must be asked for may be missing where that says it lies.

    Raises:
        InputError: paths are missing or name something else; every one is listed with its key.
    """
    mistakes = [
        f"{where}: {path}: has braces, which Snakemake takes for a wildcard; rename it or link to it"
        for where, path, _ in _configured(settings, scale["sources"])
        if {"{", "}"} & set(path)
    ]
    made = [name.format(scale=settings["scale"]) for name in _MADE]
    for where, path, kind in _configured(settings, scale["sources"]):
        if not os.path.exists(path) and any(_inside(path, name) for name in made):
            continue
        if found := _other_than(kind, path):
            mistakes.append(f"{where}: {_shown(path)}: {found}")
        elif where.startswith("context.") and not os.path.isfile(os.path.join(path, "config.json")):
            mistakes.append(f"{where}: {path}: has no config.json, expected a folder that transformers wrote")
    if os.path.isdir(cache := settings["translation"]["cache"] or ""):
        mistakes.append(f"translation.cache: {cache}: a folder, expected a file")
    raise_together(mistakes, f"Paths in the configuration that cannot be used (relative to {os.getcwd()}):")


def _other_than(kind: str, path: str) -> str:
    """What a path is that is not of its kind, and what was expected; empty where it is of its kind."""
    if not os.path.exists(path):
        if os.path.islink(path):
            return f"a link that leads nowhere, to {os.readlink(path)}; expected {kind}"
        return f"not there, expected {kind}{_resembling(path)}"
    is_file, is_folder = os.path.isfile(path), os.path.isdir(path)
    if not is_file and not is_folder:
        return f"neither a file nor a folder (a pipe or a device), expected {kind}"
    if is_folder and kind == FILE:
        return f"a folder, expected {kind}"
    return f"a file, expected {kind}" if is_file and kind in (FOLDER, MIRROR) else ""


def _shown(path: str) -> str:
    """A path, in quotation marks where blanks at its ends or other characters in it could not be seen."""
    return path if path.isprintable() and path == path.strip() else repr(path)


def _blocks(settings: Settings) -> Iterator[tuple[str, Settings, dict[str, str]]]:
    """Every block with paths, where it stands, and what its keys must name."""
    for where in ("sources", "images", "translation", "bert"):
        yield where, settings[where], _KINDS[where]
    for name, own in settings["images"]["sets"].items():
        kinds = {key: kind for key, kind in _KINDS["images"].items() if key != "list"}
        yield f"images.sets.{name}", own or {}, kinds
    for name, data in settings["datasets"].items():
        yield f"datasets.{name}", data, _KINDS["datasets"]


def _configured(settings: Settings, usual: Settings) -> Iterator[tuple[str, str, str]]:
    """Key, path and what it must name, of every path that must be there."""
    for where, block, kinds in _blocks(settings):
        for key, kind in kinds.items():
            value = block.get(key)
            on_request = where == "sources" and value == usual[key]
            if value is None or on_request or value in _NAMES.get(key, ()) or _elsewhere(key, value):
                continue
            for path in _of_languages(value, block) if key == "captions" else [value]:
                yield f"{where}.{key}", path, kind
    models = [(f"context.{place}", model) for place, model in enumerate(settings["context"])]
    for where, model in [*models, *_marian_models(settings["translation"])]:
        if not _elsewhere("model", model):
            yield where, model, FOLDER


def _providers(translation: Settings) -> Iterator[tuple[str, Settings]]:
    """Each configured provider and where it stands."""
    yield "translation.default", translation["default"] or {}
    yield from ((f"translation.pairs.{pair}", provider) for pair, provider in translation["pairs"].items())


def _marian_models(translation: Settings) -> Iterator[tuple[str, str]]:
    """Key and value of each provider's model; of `default` only one that is the same for all pairs."""
    for pair, provider in translation["pairs"].items():
        source, target = pair.split("-")
        if "model" in provider:
            model = provider["model"].replace("{source}", source).replace("{target}", target)
            yield f"translation.pairs.{pair}.model", model
    model = (translation["default"] or {}).get("model", "")
    if model and "{" not in model:
        yield "translation.default.model", model


def _elsewhere(key: str, value: str) -> bool:
    """Whether a value names what lies on a server, in a package or on the Hugging Face hub."""
    if key == "mirror":
        return value.startswith(("http://", "https://"))
    if key == "weights":
        return value.startswith("package:")
    return key == "model" and not _is_path(value)


def _is_path(model: str) -> bool:
    """Whether a model is meant as a folder: on the hub names are NAME or OWNER/NAME."""
    first, *more = model.split("/")
    return first in ("", ".", "..") or len(more) > 1 or (bool(more) and os.path.isdir(first))


def _of_languages(captions: str, data: Settings) -> list[str]:
    """The file of captions, or one of each language where its name says so."""
    if "{language}" not in captions:
        return [captions]
    return [captions.replace("{language}", language) for language in data["languages"]]


def _inside(path: str, folder: str) -> bool:
    return Path(os.path.abspath(path)).is_relative_to(os.path.abspath(folder))


def _resembling(path: str) -> str:
    """The name beside a path that it resembles, as a question; empty where there is none."""
    folder, name = os.path.split(path)
    try:
        close = difflib.get_close_matches(name, os.listdir(folder or "."), 1)
    except OSError:
        return ""
    return f"; did you mean {os.path.join(folder, close[0])}?" if close else ""
