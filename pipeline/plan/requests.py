"""What the user must ask for or configure before jobs can run; refusals name all of it together."""

import os
from collections.abc import Iterable
from pathlib import Path

from pipeline import settings as configuration
from pipeline.common.errors import InputError
from pipeline.common.photographs import is_archive
from pipeline.plan.cells import cells_of_table, experiments_on, target_tables, translations_of
from pipeline.plan.plan import Plan
from pipeline.settings.translations import DatasetPair

FLICKR30K = "flickr30k"  # key of `sources` for photographs that are available only on request


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


def _path(plan: Plan, key: str) -> str:
    """The path at which data on request are, or should be."""
    return str(getattr(plan.settings.sources, key))


def how_to_ask(plan: Plan, key: str) -> str:
    """How to obtain data that are given on request."""
    row = plan.sources[_data_on_request(plan)[key]]
    return (
        f"{row['dataset']} is given on request ({row['licence']}): {row['url']} says how to ask. "
        f"Put the archive or folder at {_path(plan, key)}, or set sources.{key} to its path."
    )


def missing_on_request(plan: Plan) -> dict[str, list[str]]:
    """The data sets that need missing data on request, by the data's key of `sources`."""
    by_key: dict[str, list[str]] = {FLICKR30K: []}
    for name, data in plan.datasets.items():
        if data.images == FLICKR30K and needs_photographs(plan, name):
            by_key[FLICKR30K].append(name)
        if on_request := plan.source(name).on_request:
            by_key.setdefault(on_request.key, []).append(name)
    return {
        key: datasets for key, datasets in by_key.items() if datasets and not os.path.exists(_path(plan, key))
    }


def what_to_ask_for(plan: Plan) -> list[str]:
    """A message that lists all missing data on request; no lines if nothing is missing."""
    tables = target_tables(plan)
    only_tables = tables and len(tables) == len(plan.targets)
    cells = [cell for table in tables for cell in cells_of_table(plan, table)]
    of_tables = {cell.dataset for cell in cells} if only_tables else set(plan.datasets)
    lines = [
        f"  - for data set {' and '.join(datasets)}"
        f"{', which these tables do not need' if of_tables.isdisjoint(datasets) else ''}: "
        f"{how_to_ask(plan, key)}"
        for key, datasets in missing_on_request(plan).items()
    ]
    return lines and [
        "Some data of this scale must be requested from their owners:",
        *lines,
        "Meanwhile the target `downloads` fetches what is public, with this configuration.",
    ]


def requested_path(plan: Plan, key: str) -> str:
    """Path of data on request.

    Raises:
        InputError: they are missing; the message lists everything that must be requested or configured.
    """
    if key in missing_on_request(plan):
        translations = _translations_to_configure(plan, translations_of(plan, target_tables(plan)))
        raise InputError("\n".join([*what_to_ask_for(plan), *translations]))
    return _path(plan, key)


def require_providers(plan: Plan, pairs: Iterable[DatasetPair]) -> None:
    """Check that every pair of languages has a provider that translates it, as far as is known.

    Args:
        pairs: data set and pair (`SOURCE-TARGET`) of all translations that a job and its inputs need.

    Raises:
        InputError: some pair has none; the message lists everything that must be requested or configured.
    """
    pairs = list(pairs)
    if _translations_to_configure(plan, pairs):
        every = [*pairs, *translations_of(plan, target_tables(plan))]
        raise InputError("\n".join([*_translations_to_configure(plan, every), *what_to_ask_for(plan)]))


def _translations_to_configure(plan: Plan, pairs: Iterable[DatasetPair]) -> list[str]:
    """Messages of pairs without a provider, and of providers that do not translate a pair."""
    pairs = list(pairs)
    messages = (
        configuration.missing_providers(plan.settings, pairs),
        configuration.unlisted_languages(plan.settings, pairs),
    )
    return [message for message in messages if message]


def archives_at(path: str) -> list[str]:
    """The archive at a path, or the archives directly in a folder; empty for a folder of images."""
    archives = [path] if os.path.isfile(path) else sorted(map(str, Path(path).iterdir()))
    return [name for name in archives if is_archive(name) and os.path.isfile(name)]
