"""Names of the benchmark files of all jobs behind the report."""

import os
import re

from pipeline.plan import contents
from pipeline.plan.cells import Evaluation
from pipeline.plan.plan import Plan
from pipeline.plan.training import (
    evaluated_sentences,
    features,
    initial_weights,
    queries_in_every_language,
    translated_queries,
    translations,
)
from pipeline.plan.words import vocabularies

# Jobs that train a language's FastText vectors: on a data set's own captions, or on Multi30K's.
WORD_VECTORS = ("train-caption-vectors-{1}", "../train-word-vectors-{1}")

# The benchmark files of the jobs that made a file below work/{scale}/{dataset}, by what the file is called.
JOBS_OF = (
    (r"words/([^/]+)/([a-z]{2})[.]h5", ["build-vocabulary-{0}-{1}", *WORD_VECTORS]),
    (
        r"words/([^/]+)/muse/([a-z]{2})[.]h5",
        ["build-vocabulary-{0}-{1}", "align-vectors-{0}-{1}", "build-muse-vocabulary-{0}-{1}", *WORD_VECTORS],
    ),
    (r"bert/([a-z]{2})[.]h5", ["embed-captions-{0}", "pretrain-bert"]),
    (r"translations/([a-z]{2}-[a-z]{2})[.]csv", ["translate-{0}"]),
    (r"(features.*)[.]h5", ["extract-{0}", "import-{0}"]),
    (r"tokens/([a-z]{2})[.]csv", ["tokenize-{0}", "read-captions-{0}", "write-demo-captions-{0}"]),
    (r"augmented/en-([a-z]{2})[.]csv", ["augment-{0}", "translate-en-{0}"]),
    (r"spelled/([^/]+)/([a-z]{2})[.]h5", ["encode-characters-{0}-{1}"]),
    (
        r"words/([^/]+)/([^/]+)/([a-z]{2})[.]h5",
        [
            "reduce-vocabulary-{0}-{1}-{2}",
            "build-vocabulary-{0}-{2}",
            "train-caption-vectors-{2}",
            "../train-word-vectors-{2}",
        ],
    ),
    (r"translations/queries/([a-z]{2}-[a-z]{2})[.]csv", ["translate-queries-{0}"]),
    (r"assignments/([0-9a-f]+)/seed(\d+)/entries[.]pt", ["assign-{0}-{1}"]),
    (
        r"experiments/([^/]+)/seed(\d+)/test-([a-z]+)[.]json",
        ["{0}-{1}-pretrain", "{0}-{1}-train", "{0}-{1}-evaluate-original", "{0}-{1}-evaluate-{2}"],
    ),
)


def _jobs_of(plan: Plan, path: str) -> set[str]:
    """Benchmark files, below work/logs/{scale} and without ending, of the jobs that made a file."""
    dataset, _, rest = path.removeprefix(f"{plan.files.folder}/").partition("/")
    matches = [
        (match.groups(), names) for pattern, names in JOBS_OF if (match := re.fullmatch(pattern, rest))
    ]
    return {
        os.path.normpath(f"{dataset}/{name.format(*parts)}") for parts, names in matches for name in names
    }


def _files_behind(plan: Plan, evaluation: Evaluation) -> list[str]:
    """An evaluation and the files that it and its model's training read."""
    model = plan, evaluation.model.dataset, evaluation.model.experiment
    queries = evaluation.queries
    read = [*vocabularies(*model), *evaluated_sentences(*model, queries), *translations(*model)]
    if queries in ("average", "learned"):
        read += queries_in_every_language(*model)
    else:
        read += translated_queries(*model, queries)
    initial = initial_weights(*model, int(evaluation.model.seed))
    return [evaluation.path, features(*model), *initial, *read]


def job_names(plan: Plan) -> list[str]:
    """Benchmark files of all jobs behind the report."""
    jobs = {
        f"{dataset}/{name}"
        for dataset in contents.datasets(plan)
        for name in ("split", "draw-demo", "find-images")
    }
    for evaluation in contents.evaluations(plan):
        for path in _files_behind(plan, evaluation):
            jobs |= _jobs_of(plan, path)
    return sorted(jobs)
