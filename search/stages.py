"""The table of commands of `python -m search`, in the form of `pipeline.stages`."""

from pipeline.stages import Stage

_MODELS = "bundles and indexes"
_QUERIES = "searching"

_TABLE = (
    Stage(
        "write-bundle", "search.write_bundle:write_bundle",
        "write a trained model to a self-contained folder", _MODELS,
    ),
    Stage(
        "build-index", "search.build_index:build_index",
        "embed photographs and sentences for searching", _MODELS,
        idle_threads_sleep=True,
    ),
    Stage(
        "embed", "search.embed:embed",
        "embed sentences or photographs", _QUERIES, idle_threads_sleep=True,
    ),
    Stage(
        "search", "search.query:search",
        "search an index with sentences or photographs", _QUERIES, idle_threads_sleep=True,
    ),
    Stage(
        "serve", "search.serve:serve",
        "serve a page for searching indexes, on this machine", _QUERIES, idle_threads_sleep=True,
    ),
)  # fmt: skip

STAGES = {stage.name: stage for stage in _TABLE}
