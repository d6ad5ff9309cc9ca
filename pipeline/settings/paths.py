"""Paths of a configuration: variables are expanded, and every path must exist before anything runs."""

import difflib
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from pipeline.common.addresses import address_mistake, credentials_mistake
from pipeline.common.block import Block
from pipeline.common.characters import printable_name
from pipeline.common.errors import raise_together
from pipeline.common.photographs import ARCHIVES, is_archive
from pipeline.datasets.settings import Dataset, Sources
from pipeline.settings.configuration import Configuration
from pipeline.translation.settings import MarianProvider, Translation

B = TypeVar("B", bound=Block)

FILE, FOLDER, EITHER = "a file", "a folder", f"a folder or an archive ({', '.join(ARCHIVES)})"
MIRROR = "a folder or an http(s) address"

# What each key that holds a path must name, by block; each feature set has the keys of images too.
_KINDS = {
    "sources": {"mirror": MIRROR, "flickr30k": EITHER, "coco_cn": EITHER},
    "images": {"features": FILE, "list": FILE, "weights": FILE},
    "translation": {"dictionaries": FOLDER},
    "bert": {"model": FOLDER},
    "datasets": {"captions": FILE, "split": FILE, "images": EITHER, "test_images": FILE, "val_images": FILE},
}
_FEATURE_KINDS = {key: kind for key, kind in _KINDS["images"].items() if key != "list"}
_VARIABLE = re.compile(r"\$(?:(\w+)|\{([^}]*)\})", re.ASCII)  # as os.path.expandvars reads them
_SET = "set it, or write the path itself"
_OUTPUT_KEYS = {"translation": ["cache"]}  # paths that the workflow writes

# Values of these keys that are names, not paths.
_NAMES = {
    "split": ("multi30k", "flickr8k"),
    "images": ("flickr8k", "flickr30k", "mscoco"),
    "weights": ("timm",),
    "model": ("pretrain",),
}

# Folders that rules write to, so that a path in them need not exist yet.
_OUTPUT_FOLDERS = ("work/sources", "work/photographs", "work/{scale}")


def with_paths_expanded(settings: Configuration) -> Configuration:
    """The settings with environment variables and ~ expanded in paths; an empty path becomes None.

    Raises:
        InputError: variables are not set or empty; every one is listed.
    """
    mistakes: list[str] = []
    for where, block, kinds in _blocks(settings):
        for key in [*kinds, *_OUTPUT_KEYS.get(where, [])]:
            text = getattr(block, key) or ""
            mistakes += [f"{where}.{key}: {problem}" for problem in _variable_mistakes(text)]
            if mistake := credentials_mistake(_expand(text)):
                mistakes.append(f"{where}.{key}: {mistake}")
            elif _is_web(key, _expand(text)) and (mistake := address_mistake(_expand(text))):
                shown = _expand(text).partition("?")[0].partition("#")[0]
                mistakes.append(f"{where}.{key}: found {shown!r}, expected an address of a server: {mistake}")
    raise_together(mistakes, "The configuration has mistakes:")
    images = settings.images
    sets = {name: own and _with_expanded(own, _FEATURE_KINDS) for name, own in images.sets.items()}
    return settings.model_copy(
        update={
            "sources": _with_expanded(settings.sources, _KINDS["sources"]),
            "images": _with_expanded(images.model_copy(update={"sets": sets}), _KINDS["images"]),
            "translation": _with_expanded(settings.translation, [*_KINDS["translation"], "cache"]),
            "bert": _with_expanded(settings.bert, _KINDS["bert"]),
            "datasets": {
                name: _with_expanded(data, _KINDS["datasets"]) for name, data in settings.datasets.items()
            },
        }
    )


def _with_expanded(block: B, keys: Iterable[str]) -> B:
    """A block with the variables in some of its paths expanded."""
    paths = {key: getattr(block, key) for key in keys}
    return block.model_copy(update={key: _expand(path) or None for key, path in paths.items() if path})


def _expand(path: str) -> str:
    return os.path.expanduser(os.path.expandvars(path))


def _variable_mistakes(path: str) -> list[str]:
    """The mistake in the environment variables of a path as it is written.

    An empty one would turn `$DATA/f.h5` into `/f.h5`, and `$FEATURES` into no features at all.
    """
    if "$" in os.path.expandvars(path):
        return [f"{path}: the environment variable is not set; {_SET}"]
    names = [plain or in_braces for plain, in_braces in _VARIABLE.findall(path)]
    empty = [name for name in names if not os.environ[name]]
    return [f"{path}: the environment variable {name} is empty; {_SET}" for name in empty]


def check_paths(settings: Configuration, usual: Sources) -> None:
    """Check that every configured path exists, whether the target needs it or not.

    Snakemake itself accepts a missing input if an older result that was made of it exists.

    Args:
        settings: as `load` gives them; paths in them start from the working directory.
        usual: the sources of the scale. Data on request may be missing at these paths.

    Raises:
        InputError: paths are missing or name something else; every one is listed with its key.
    """
    mistakes = [
        f"{where}: {path}: has braces, which Snakemake takes for a wildcard; rename it or link to it"
        for where, path, _ in _configured_paths(settings, usual)
        if {"{", "}"} & set(path)
    ]
    folders = [name.format(scale=settings.scale) for name in _OUTPUT_FOLDERS]
    for where, path, kind in _configured_paths(settings, usual):
        if not os.path.exists(path) and any(_inside(path, name) for name in folders):
            continue
        if problem := _type_mistake(kind, path):
            mistakes.append(f"{where}: {printable_name(path)}: {problem}")
    if os.path.isdir(cache := settings.translation.cache or ""):
        mistakes.append(f"translation.cache: {cache}: a folder, expected a file")
    raise_together(mistakes, f"Paths in the configuration that cannot be used (relative to {os.getcwd()}):")


def _type_mistake(kind: str, path: str) -> str:
    """The type of a path and the expected type; empty if the type is right."""
    if not os.path.exists(path):
        if os.path.islink(path):
            return f"a link that leads nowhere, to {os.readlink(path)}; expected {kind}"
        return f"not there, expected {kind}{_similar_name(path)}"
    is_file, is_folder = os.path.isfile(path), os.path.isdir(path)
    if not is_file and not is_folder:
        return f"neither a file nor a folder (a pipe or a device), expected {kind}"
    if is_folder and kind == FILE:
        return f"a folder, expected {kind}"
    if is_file and kind == EITHER and not is_archive(path):
        return f"a file of another kind, expected {kind}; rename it, or unpack it and name the folder"
    return f"a file, expected {kind}" if is_file and kind in (FOLDER, MIRROR) else ""


def _blocks(settings: Configuration) -> Iterator[tuple[str, Block, dict[str, str]]]:
    """Every block with paths, its place, and what its keys must name."""
    yield "sources", settings.sources, _KINDS["sources"]
    yield "images", settings.images, _KINDS["images"]
    yield "translation", settings.translation, _KINDS["translation"]
    yield "bert", settings.bert, _KINDS["bert"]
    for name, own in settings.images.sets.items():
        if own is not None:
            yield f"images.sets.{name}", own, _FEATURE_KINDS
    for name, data in settings.datasets.items():
        yield f"datasets.{name}", data, _KINDS["datasets"]


def _configured_paths(settings: Configuration, usual: Sources) -> Iterator[tuple[str, str, str]]:
    """Key, path and what it must name, of every path that must be there."""
    for where, block, kinds in _blocks(settings):
        for key, kind in kinds.items():
            value = getattr(block, key)
            on_request = where == "sources" and value == getattr(usual, key)
            if value is None or on_request or value in _NAMES.get(key, ()) or _is_remote(key, value):
                continue
            paths = (
                _of_languages(value, block) if isinstance(block, Dataset) and key == "captions" else [value]
            )
            for path in paths:
                yield f"{where}.{key}", path, kind
    for where, model in _marian_models(settings.translation):
        if not _is_remote("model", model):
            yield where, model, FOLDER


def _marian_models(translation: Translation) -> Iterator[tuple[str, str]]:
    """Key and value of each provider's model; of `default` only a model that serves all pairs."""
    for pair, provider in translation.pairs.items():
        source, target = pair.split("-")
        if isinstance(provider, MarianProvider):
            model = provider.model.replace("{source}", source).replace("{target}", target)
            yield f"translation.pairs.{pair}.model", model
    default = translation.default
    if isinstance(default, MarianProvider) and "{" not in default.model:
        yield "translation.default.model", default.model


def _is_remote(key: str, value: str) -> bool:
    """Whether a value names something on a server, in a package or on the Hugging Face hub."""
    if _is_web(key, value):
        return True
    if key == "weights":
        return value.startswith("package:")
    return key == "model" and not _is_path(value)


def _is_web(key: str, value: str) -> bool:
    return key == "mirror" and value.startswith(("http://", "https://"))


def _is_path(model: str) -> bool:
    """Whether a model is meant as a folder: on the hub names are NAME or OWNER/NAME."""
    first, *more = model.split("/")
    return first in ("", ".", "..") or len(more) > 1 or (bool(more) and os.path.isdir(first))


def _of_languages(captions: str, data: Dataset) -> list[str]:
    """The file of captions, or one of each language where its name says so."""
    if "{language}" not in captions:
        return [captions]
    return [captions.replace("{language}", language) for language in data.languages]


def _inside(path: str, folder: str) -> bool:
    return Path(os.path.abspath(path)).is_relative_to(os.path.abspath(folder))


def _similar_name(path: str) -> str:
    """A similar name in the same folder, as a question; empty if there is none."""
    folder, name = os.path.split(path)
    try:
        close = difflib.get_close_matches(name, os.listdir(folder or "."), 1)
    except OSError:
        return ""
    return f"; did you mean {os.path.join(folder, close[0])}?" if close else ""
