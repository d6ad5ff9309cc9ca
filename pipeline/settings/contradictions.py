"""Contradictions between blocks of a configuration whose values are each valid."""

from collections.abc import Iterator
from typing import Any

from pipeline.common.block import did_you_mean
from pipeline.datasets.languages import CODES
from pipeline.settings.configuration import Configuration
from pipeline.settings.experiment import SCHEDULE, Experiment
from pipeline.settings.experiments import OTHER_TABLES
from pipeline.tables.settings import Row, Table

NO = [False]
# What an experiment needs: a key (of the experiment, or of `model`) with a value needs other keys to have one
# of some values. A key with `?` is whether the experiment has it.
NEEDS: list[tuple[str, object, dict[str, list[Any]]]] = [
    # The hybrid embedding has its own pretraining; MASK is one of its entries.
    ("embedding", "hybrid", {"model.encoder": ["embn"], "model.word_vectors": ["pretrained"]}),
    ("embedding", "hybrid", {"model.universal_mean": ["words"], "model.universal_layers": ["separate"]}),
    ("embedding", "hybrid", {"pretraining": NO, "vectors": ["fasttext", "muse"]}),
    ("masking", True, {"embedding": ["hybrid"], "ranking": NO}),
    # Sentence vectors exist for human captions, and have no words to read one by one.
    ("vectors", "bert", {"captions": ["human"], "model.recurrent": ["mlp", "mean"]}),
    ("model.word_vectors", "scratch", {"vectors": ["fasttext"]}),
    ("reduction?", True, {"vectors": ["fasttext"]}),
    ("reduction", "dictionary", {"embedding": ["universal"], "model.universal_mean": ["words"]}),
    # LIWE and VSE have no universal embedding; LIWE has one branch and a loss of its own.
    ("vectors", "characters", {"model.encoder": ["liwe"]}),
    ("model.encoder", "liwe", {"vectors": ["characters"], "branches": ["shared"], "ranking": NO}),
    ("model.encoder", "liwe", {"model.similarity": ["cosine"], "steps_of?": NO}),
    ("model.encoder", "liwe", {"neighborhood": NO, "classifier": NO, "pretraining": NO}),
    ("model.encoder", "vse", {"model.recurrent": ["lstm", "gru"]}),
    ("model.encoder", "vse", {"neighborhood": NO, "classifier": NO, "pretraining": NO}),
    ("model.similarity", "order", {"ranking": [True]}),
    # *Lessons*: a selection of captions, whose losses are those of `lessons`.
    ("c2c", True, {"selection?": [True]}),
    ("stop_on_each_language", True, {"selection?": [True], "one_per_language": NO}),
    ("selection?", True, {"model.encoder": ["vse"], "model.word_vectors": ["scratch"]}),
    ("selection?", True, {"branches": ["shared"], "captions": ["human"], "vectors": ["fasttext"]}),
    ("selection?", True, {"ranking": NO, "neighborhood": NO, "classifier": NO, "pretraining": NO}),
    ("selection?", True, {"steps_of?": NO, "reduction?": NO}),
]


def contradictions(settings: Configuration) -> Iterator[str]:
    """Every contradiction, as a line that names the keys and says what to do."""
    yield from _of_datasets(settings)
    for name, experiment in settings.experiments.items():
        yield from _of_experiment(settings, name, experiment)
    names = [*settings.tables, *OTHER_TABLES]
    for name in settings.report:
        if name not in names:
            yield f"report: no table {name!r}{did_you_mean(name, names)}"
    for name, table in settings.tables.items():
        yield from _unknown_columns(settings, name, table)
        for place, row in enumerate(table.rows):
            yield from _of_row(settings, f"tables.{name}.rows.{place}.experiment", row)


def _of_datasets(settings: Configuration) -> Iterator[str]:
    """One data set stands for each of a paper's; translations are borrowed from another data set."""
    for name, data in settings.datasets.items():
        paper = settings.stands_for(name)
        if (other := settings.stand_ins[paper]) != name:
            yield f"datasets.{name}.stands_for: {other} stands for {paper} too; only one can"
        for code, loan in data.borrowed_translations.items():
            if loan.dataset not in settings.datasets:
                suggestion = did_you_mean(loan.dataset, list(settings.datasets))
                yield (
                    f"datasets.{name}.borrowed_translations.{code}.dataset: no data set "
                    f"{loan.dataset!r}{suggestion}"
                )


def _of_experiment(settings: Configuration, name: str, experiment: Experiment) -> Iterator[str]:
    """An experiment fits the blocks of the configuration, after its overrides."""
    where, blocks, sets = f"experiments.{name}", settings.blocks_of(name, experiment), settings.images.sets
    if experiment.features is not None and experiment.features not in sets:
        suggestion = did_you_mean(experiment.features, list(sets))
        yield f"{where}.features: no set {experiment.features!r} in images.sets{suggestion}"
    yield from _needs(where, {"model": blocks.model, "": experiment})
    if experiment.embedding == "hybrid" and blocks.assignment.top_m > blocks.hybrid.latent_entries:
        best, entries = blocks.assignment.top_m, blocks.hybrid.latent_entries
        yield f"{where}: assignment.top_m is {best}, hybrid.latent_entries {entries}; take fewer"
    base, _, code = name.rpartition("-")
    if base in settings.experiments and settings.experiments[base].one_for_each_language and code in CODES:
        yield f"{where}: the name of {base}'s model for {code}; take another name"
    if experiment.steps_of is not None:
        yield from _of_steps(settings, where, experiment.steps_of, experiment)


def _needs(where: str, blocks: dict[str, Any]) -> Iterator[str]:
    """What an experiment needs and does not have, by the table `NEEDS`."""

    def value(path: str) -> Any:
        block, _, key = path.rpartition(".")
        found = getattr(blocks[block], key.rstrip("?"))
        if key == "reduction":
            return (found or "").partition("-")[0]
        return found is not None if key.endswith("?") else found

    def text(path: str, value: object) -> str:
        """A value as YAML has it."""
        if path.endswith("?"):
            return "given" if value else "left out"
        return str(value).lower() if isinstance(value, bool) else str(value)

    for key, cause, needs in NEEDS:
        for other, allowed in needs.items() if value(key) == cause else ():
            if value(other) not in allowed:
                expected = " or ".join(text(other, each) for each in allowed)
                yield (
                    f"{where}: {key.rstrip('?')}: {text(key, cause)} needs {other.rstrip('?')}: {expected}; "
                    f"found {text(other, value(other))}"
                )


def _of_steps(settings: Configuration, where: str, name: str, experiment: Experiment) -> Iterator[str]:
    """`steps_of` names an experiment with a single model whose training counts epochs."""
    if name not in settings.experiments:
        yield f"{where}.steps_of: no experiment {name!r}{did_you_mean(name, list(settings.experiments))}"
        return
    other = settings.experiments[name]
    counts_epochs = settings.blocks_of(name, other).model.encoder != "liwe" and not other.selection
    if other.one_for_each_language or other.steps_of or not counts_epochs:
        yield (
            f"{where}.steps_of: found {name!r}, expected an experiment with one model for all its languages, "
            "without selection, encoder liwe and steps_of"
        )
    for key in sorted(set(SCHEDULE) & experiment.settings.get("training", {}).keys()):
        yield f"{where}.settings.training.{key}: with steps_of it is that of {name}; leave it out"


def _unknown_columns(settings: Configuration, name: str, table: Table) -> Iterator[str]:
    columns = {"multi30k", "mscoco", *settings.stand_ins}
    for column, languages in table.columns.items():
        if column not in columns:
            yield f"tables.{name}.columns: no data set {column!r}{did_you_mean(column, sorted(columns))}"
        elif table.paper is None and column in settings.datasets:
            for code in sorted(set(languages) - set(settings.datasets[column].every_language)):
                yield f"tables.{name}.columns.{column}: the data set has no language {code!r}"


def _of_row(settings: Configuration, where: str, row: Row) -> Iterator[str]:
    """A row shows an experiment, or the model of one language of an experiment that has one for each."""
    name, experiments = row.experiment, settings.experiments
    base, _, code = name.rpartition("-")
    of_a_language = code in CODES and base in experiments and experiments[base].one_for_each_language
    experiment = experiments[base] if of_a_language else experiments.get(name)
    if experiment is None:
        yield f"{where}: no experiment {name!r}{did_you_mean(name, list(experiments))}"
    elif (row.consistency or row.queries == "translated") and (
        experiment.selection or experiment.vectors == "bert"
    ):
        yield f"{where}: {name} reads captions that are prepared for it; queries are not translated for it"
    elif row.queries == "translated" and not (of_a_language and experiment.one_per_language):
        yield f"{where}: translated queries need a model of one language, such as embn-en"
    elif row.consistency and experiment.one_per_language:
        yield f"{where}: {name} has one language; consistency needs two or more"
