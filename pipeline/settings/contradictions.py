"""Contradictions between blocks of a configuration whose values are each valid."""

import re
from collections.abc import Iterator

from pipeline.common.block import all_contradictions, did_you_mean
from pipeline.datasets.languages import CODES
from pipeline.models.settings import Model
from pipeline.settings.configuration import Configuration
from pipeline.settings.experiment import SCHEDULE, Experiment
from pipeline.settings.experiments import OTHER_TABLES, one_for_each
from pipeline.tables.settings import Row, Table
from pipeline.translation.settings import FilesProvider, Provider

# Other names in results/ and in work/{scale}.
_OTHER_RESULTS = {"claims", "counts", "report", "translation-quality"}
_OTHER_RESULTS |= {"figure3", "figure4"}
# The values of `model` without which there is no hybrid embedding.
_OF_HYBRID = {
    "encoder": "embn",
    "word_vectors": "pretrained",
    "universal_mean": "words",
    "universal_layers": "separate",
}
_RESULT_FOLDERS = {"comparison", "compare", "demo", "flickr8k", "paper"}
_WORK_FOLDERS = {"checkpoints", "partial", "tensorboard", "text"}


def contradictions(settings: Configuration) -> Iterator[str]:
    """Every contradiction, as a line that names the keys and says what to do.

    The rows that a user adds to a table are still apart, so that a line says where they are written.
    """
    yield from all_contradictions("", settings)
    yield from _of_datasets(settings)
    yield from _captions_counted_twice(settings)
    for name, experiment in settings.experiments.items():
        yield from _of_experiment(settings, name, experiment)
    names = [*settings.tables, *OTHER_TABLES]
    for name in settings.report:
        if name not in names:
            yield f"report: no table {name!r}{did_you_mean(name, names)}"
    yield from _taken_names(settings)
    rows = RowChecks(settings)
    for name, table in settings.tables.items():
        yield from _unknown_columns(settings, name, table)
        for place, row in table.rows_by_place():
            yield from rows.mistakes(f"tables.{name}.{place}", table, row)


def _of_datasets(settings: Configuration) -> Iterator[str]:
    """One data set stands for each of a paper's; translations are borrowed from data sets that have them."""
    for name, data in settings.datasets.items():
        paper = settings.stands_for(name)
        if (other := settings.stand_ins[paper]) != name:
            yield f"datasets.{name}.stands_for: {other} stands for {paper} too; only one can"
        for code, loan in data.borrowed_translations.items():
            where, lender = f"datasets.{name}.borrowed_translations.{code}.dataset", loan.dataset
            if lender not in settings.datasets or lender == name:
                others = [dataset for dataset in settings.datasets if dataset != name]
                yield f"{where}: no other data set {lender!r}{did_you_mean(lender, others)}"
            elif code not in settings.datasets[lender].languages:
                yield f"{where}: {lender} has no captions in {code!r}"


def _captions_counted_twice(settings: Configuration) -> Iterator[str]:
    """Published translations are trained on together with a data set's own captions, so they must differ."""
    translation = settings.translation
    into = {f"pairs.{pair}": (pair[3:], provider) for pair, provider in translation.pairs.items()}
    codes = {pair[3:] for pair in translation.pairs if pair[:2] == "en"}
    for dataset, data in settings.datasets.items():
        others = [code for code in data.languages if code != "en" and code not in codes]
        providers: dict[str, tuple[str, Provider | None]] = {
            **into,
            **{f"default ({code})": (code, translation.default) for code in others},
        }
        for key, (target, provider) in providers.items():
            own = data.caption_origins.get(target, "human")
            if target not in data.languages or not isinstance(provider, FilesProvider):
                continue
            if provider.origin == own:
                yield (
                    f"translation.{key}.origin: found {own}, whose captions are {dataset}'s own in "
                    f"{target!r} already; name another origin or provider"
                )


def _of_experiment(settings: Configuration, name: str, experiment: Experiment) -> Iterator[str]:
    """An experiment fits the blocks of the configuration, after its overrides."""
    where, blocks, sets = f"experiments.{name}", settings.blocks_of(name, experiment), settings.images.sets
    if experiment.features is not None and experiment.features not in sets:
        suggestion = did_you_mean(experiment.features, list(sets))
        yield f"{where}.features: no set {experiment.features!r} in images.sets{suggestion}"
    for key in experiment.settings.changed_blocks():
        yield from all_contradictions(f"{where}.settings.{key}", getattr(blocks, key))
    yield from _of_steps(settings, where, blocks.model, experiment)
    yield from _of_vectors(where, blocks.model, experiment)
    yield from _of_encoder(where, blocks.model, experiment)
    if experiment.embedding == "hybrid":
        for key, value in _OF_HYBRID.items():
            if getattr(blocks.model, key) != value:
                setting = getattr(blocks.model, key)
                yield f"{where}: embedding hybrid needs model.{key}: {value}; found {setting!r}"
        best, entries = blocks.assignment.top_m, blocks.hybrid.latent_entries
        if best > entries:
            yield f"{where}: assignment.top_m is {best}, hybrid.latent_entries {entries}; take fewer"
    if experiment.selection:
        for key, choice in (("encoder", "vse"), ("word_vectors", "scratch")):
            if getattr(blocks.model, key) != choice:
                setting = getattr(blocks.model, key)
                yield f"{where}.settings.model.{key}: found {setting}; with a selection it is {choice}"


def _of_steps(settings: Configuration, where: str, model: Model, experiment: Experiment) -> Iterator[str]:
    """`steps_of` names an experiment with a single model whose training counts epochs."""
    name = experiment.steps_of
    if name is None:
        return
    if name not in settings.experiments:
        yield f"{where}.steps_of: no experiment {name!r}{did_you_mean(name, list(settings.experiments))}"
        return
    other = settings.experiments[name]
    if (
        other.one_for_each_language
        or other.selection
        or other.steps_of
        or _has_no_epochs(settings, name, other)
    ):
        yield (
            f"{where}.steps_of: found {name!r}, expected an experiment with one model for all its languages, "
            "without selection, encoder liwe and steps_of"
        )
    if experiment.selection or model.encoder == "liwe":
        yield f"{where}.steps_of: a training that validates every few steps has no epochs; leave it out"
    training = experiment.settings.training
    for key in sorted(set(SCHEDULE) & (training.model_fields_set if training else set())):
        yield f"{where}.settings.training.{key}: with steps_of it is that of {name}; leave it out"


def _has_no_epochs(settings: Configuration, name: str, experiment: Experiment) -> bool:
    return settings.blocks_of(name, experiment).model.encoder == "liwe"


def _of_vectors(where: str, model: Model, experiment: Experiment) -> Iterator[str]:
    """Sentence vectors need a branch that reads them; words are read as English by their mean."""
    if model.recurrent == "mlp" and experiment.vectors != "bert":
        yield f"{where}: recurrent mlp reads sentence vectors; set vectors: bert"
    if experiment.vectors == "bert" and model.recurrent not in ("mlp", "mean"):
        yield f"{where}: vectors bert has no words to read one by one; set settings.model.recurrent: mlp"
    if model.word_vectors == "scratch" and experiment.vectors != "fasttext":
        yield f"{where}.vectors: found {experiment.vectors!r}, which word_vectors scratch does not read"
    reduction = experiment.reduction or ""
    if reduction.startswith("dictionary") and model.universal_mean != "words":
        yield f"{where}: {reduction} needs settings.model.universal_mean: words"


def _of_encoder(where: str, model: Model, experiment: Experiment) -> Iterator[str]:
    """LIWE and VSE have no universal embedding; order embeddings need the ranking loss."""
    if model.similarity == "order" and not experiment.ranking:
        yield f"{where}: similarity order is for the ranking loss; set ranking: true"
    if (model.encoder == "liwe") != (experiment.vectors == "characters"):
        yield f"{where}: encoder liwe and vectors characters go together; set both or neither"
    if model.encoder == "liwe":
        yield from _of_liwe(where, model, experiment)
    elif model.encoder == "vse":
        if model.recurrent not in ("lstm", "gru"):
            yield f"{where}: encoder vse reads words one by one; set settings.model.recurrent: gru (or lstm)"
        for key in ("neighborhood", "classifier", "pretraining"):
            if getattr(experiment, key):
                yield f"{where}.{key}: not available with encoder vse, which has no universal embedding"


def _of_liwe(where: str, model: Model, experiment: Experiment) -> Iterator[str]:
    """LIWE has one branch for all languages and a loss of its own."""
    if experiment.branches != "shared":
        yield f"{where}.branches: found {experiment.branches!r}; encoder liwe has one for all languages"
    if model.similarity != "cosine":
        yield f"{where}: encoder liwe compares by cosine; set settings.model.similarity: cosine"
    for key in ("neighborhood", "classifier", "pretraining", "ranking"):
        if getattr(experiment, key):
            yield f"{where}.{key}: encoder liwe has a loss of its own (settings liwe); leave it out"


def _taken_names(settings: Configuration) -> Iterator[str]:
    """Names that belong to another result, to rows of a table, to a folder of work/ or to another model."""
    for name in settings.tables:
        if name in {*OTHER_TABLES, *_OTHER_RESULTS} or name.partition("/")[0] in _RESULT_FOLDERS:
            yield f"tables.{name}: the name of another result; give the table another"
        if re.search(r"-row\d+([+]\d+)*$", name):
            yield f"tables.{name}: a name with this ending stands for rows of a table; give the table another"
    for name in sorted(_WORK_FOLDERS & set(settings.datasets)):
        yield f"datasets.{name}: the name of a folder of work/{{scale}}; give the data set another"
    singles = one_for_each(settings)
    for name in settings.experiments:
        if "-vs-" in name:
            yield f"experiments.{name}: -vs- stands between the names of results/compare; give it another"
        base, _, code = name.rpartition("-")
        if base in singles and code in CODES:
            yield f"experiments.{name}: the model of {base} for {code!r} has this name; give it another"


def _unknown_columns(settings: Configuration, name: str, table: Table) -> Iterator[str]:
    columns = {"multi30k", "mscoco", *settings.stand_ins}
    for column, languages in table.columns.items():
        where = f"tables.{name}.columns"
        if column not in columns and column in settings.datasets:
            paper = settings.stands_for(column)
            yield f"{where}.{column}: stands for {paper}; call the column {paper}"
        elif column not in columns:
            yield f"{where}: no data set {column!r}{did_you_mean(column, sorted(columns))}"
        elif table.paper is None and column in settings.datasets:
            for code in sorted(set(languages) - set(settings.datasets[column].every_language)):
                yield f"{where}.{column}: the data set has no language {code!r}"


class RowChecks:
    """Checks of rows against the experiments of a configuration."""

    def __init__(self, settings: Configuration):
        self.experiments = settings.experiments
        self.on_column = {
            column: settings.experiments_on(dataset) for column, dataset in settings.stand_ins.items()
        }
        self.names = {*settings.experiments, *(name for of in self.on_column.values() for name in of)}

    def mistakes(self, where: str, table: Table, row: Row) -> Iterator[str]:
        """The mistakes of a row."""
        name = row.experiment
        if name not in self.names:
            yield f"{where}.experiment: no experiment {name!r}{did_you_mean(name, list(self.names))}"
        elif row.queries == "translated" and not self._of_one_language(name):
            yield f"{where}.experiment: translated queries need a model of one language, such as embn-en"
        if row.consistency and self._alone(table, name):
            yield (
                f"{where}.consistency: {name} has one language; a query and its translations need a model of "
                "two or more"
            )

    def _of_one_language(self, name: str) -> bool:
        """Whether it is the model of one language of an experiment that has one for each."""
        base, _, code = name.rpartition("-")
        of_each = base in self.experiments and self.experiments[base].one_per_language
        return of_each and code in CODES and name not in self.experiments

    def _alone(self, table: Table, name: str) -> bool:
        """Whether each model of an experiment has one language.

        In a paper's table it is no mistake that a data set has only one language of the paper's model.
        """
        single = name in self.experiments and self.experiments[name].one_per_language
        models = [self.on_column[column].get(name) for column in table.columns if column in self.on_column]
        one = table.paper is None and any(model and len(model.languages) < 2 for model in models)
        return single or one or self._of_one_language(name)
