"""What the user must ask for or configure before jobs can run."""

import os
from pathlib import Path

from pipeline.common.errors import InputError
from pipeline.common.photographs import is_archive
from pipeline.plan.cells import experiments_on
from pipeline.plan.plan import Plan

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


def requested_path(plan: Plan, key: str) -> str:
    """Path of data on request; raises InputError if they are missing."""
    path = _path(plan, key)
    if not os.path.exists(path):
        public = "Meanwhile the target `downloads` fetches what is public, with this configuration."
        raise InputError(f"{how_to_ask(plan, key)} {public}")
    return path


def archives_at(path: str) -> list[str]:
    """The archive at a path, or the archives directly in a folder; empty for a folder of images."""
    archives = [path] if os.path.isfile(path) else sorted(map(str, Path(path).iterdir()))
    return [name for name in archives if is_archive(name) and os.path.isfile(name)]
