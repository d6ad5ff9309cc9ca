"""The part of the configuration that each stage depends on, so that a changed key reruns nothing else."""

import hashlib
from functools import cache
from typing import Any, Literal, TypeVar, get_args

from pipeline.common.block import Block
from pipeline.datasets.settings import CountedDataset, CountSettings, Dataset
from pipeline.evaluation.settings import ConsistencySettings, Preparation
from pipeline.models.settings import Classifier, ClassifierWeight, Exploration, LossSwitches, UniversalModel
from pipeline.report.settings import ReportSettings
from pipeline.settings.configuration import Configuration
from pipeline.settings.experiment import SCHEDULE, DatasetExperiment, LearningBlocks
from pipeline.settings.experiments import left_out, table_named
from pipeline.settings.reading import load
from pipeline.settings.translations import translated_origins
from pipeline.tables.settings import ClaimSettings, Paper, Table, TableSettings
from pipeline.training.settings import (
    Assignment,
    AssignSettings,
    Batches,
    FrequentWords,
    LessonsSettings,
    ParameterSettings,
    Pretraining,
    PretrainSchedule,
    PretrainSettings,
    Resources,
    SmalrParameterSettings,
    TaskTraining,
    TrainingSchedule,
    TrainSettings,
    TranslatorSettings,
)
from pipeline.words.settings import (
    BertSettings,
    SelectionRecord,
    SelectionRules,
    SelectionSettings,
    SentenceVectorSettings,
    WordSettings,
)

B = TypeVar("B", bound=Block)

ASSIGNMENT_DIGITS = 10  # characters of the digest in the name of a word assignment


def experiment_settings(
    settings: Configuration, dataset: str, experiment: str, seed: int
) -> TrainSettings | LessonsSettings:
    """What the training of one experiment depends on, and nothing else."""
    if settings.experiments_on(dataset)[experiment].selection:
        return lessons_settings(settings, dataset, experiment, seed)
    return train_settings(settings, dataset, experiment, seed)


def train_settings(settings: Configuration, dataset: str, name: str, seed: int) -> TrainSettings:
    """What the training of an experiment without a selection depends on, and nothing else."""
    experiment, blocks = _experiment(settings, dataset, name)
    training = _part(TrainingSchedule, blocks.training)
    if experiment.steps_of:
        _, others = _experiment(settings, dataset, experiment.steps_of)
        schedule = {key: getattr(others.training, key) for key in SCHEDULE}
        training = training.model_copy(update=schedule)
    liwe = blocks.model.encoder == "liwe"
    matches = not (liwe or experiment.ranking)  # losses that replace matching and its triplets
    losses = {key: getattr(blocks, key) for key in LossSwitches.model_fields if getattr(experiment, key)}
    if experiment.classifier:
        losses["classifier"] = _classifier_weight(blocks.classifier, settings.stands_for(dataset))
    return TrainSettings(
        **_data_values(settings, dataset, name, seed),
        **losses,
        branches=experiment.branches,
        features=settings.images.feature_settings(experiment.features),
        model=blocks.model,
        triplets=blocks.triplets if matches or experiment.neighborhood else None,
        matching=blocks.matching if matches else None,
        word_regularizer=None if liwe else blocks.word_regularizer,
        training=training,
        liwe=blocks.liwe if liwe else None,
        embedding=experiment.embedding,
        hybrid=blocks.hybrid if experiment.embedding == "hybrid" else None,
    )


def lessons_settings(settings: Configuration, dataset: str, name: str, seed: int) -> LessonsSettings:
    """What the training of an experiment with a selection depends on besides the files it reads."""
    experiment, blocks = _experiment(settings, dataset, name)
    lessons = _part(TaskTraining, blocks.lessons)
    if len(experiment.languages) > 1:  # the public code keeps the learning rate of these models constant
        lessons = lessons.model_copy(update={"divide_learning_rate_every": None})
    origins = settings.datasets[dataset].caption_origins
    return LessonsSettings(
        scale=settings.run,
        dataset=dataset,
        experiment=name,
        seed=seed,
        languages=experiment.languages,
        features=settings.images.feature_settings(experiment.features),
        model=blocks.model,
        c2c=experiment.c2c,
        stop_on=experiment.stop_on or experiment.languages,
        lessons=lessons,
        training=_part(Resources, blocks.training),
        caption_origins={code: origin for code, origin in origins.items() if code in experiment.languages},
    )


def pretraining_settings(
    settings: Configuration, dataset: str, experiment: str, seed: int
) -> PretrainSettings:
    """What the pretraining of one experiment depends on, and nothing else."""
    _, blocks = _experiment(settings, dataset, experiment)
    return PretrainSettings(
        **_data_values(settings, dataset, experiment, seed),
        model=_part(UniversalModel, blocks.model),
        triplets=blocks.triplets,
        training=_schedule(blocks.training, blocks.pretraining),
    )


def assignment_settings(settings: Configuration, dataset: str, name: str, seed: int) -> AssignSettings:
    """What the assignment of words to the latent vocabulary depends on, and nothing else.

    Its `experiment` is a digest of all settings that determine the assignment, without the seed, so that
    experiments with the same assignment share it.
    """
    experiment, blocks = _experiment(settings, dataset, name)
    values = {
        **_data_values(settings, dataset, name, seed),
        "universal_dim": blocks.model.universal_dim,
        "hybrid": _part(FrequentWords, blocks.hybrid),
        "assignment": _part(Exploration, blocks.assignment),
        "triplets": blocks.triplets,
        "training": _schedule(blocks.training, blocks.assignment),
    }
    content = AssignSettings(**{**values, "experiment": experiment.vectors, "seed": 0}).as_json()
    digest = hashlib.sha256(content.encode()).hexdigest()[:ASSIGNMENT_DIGITS]
    return AssignSettings(**{**values, "experiment": digest})


def selection_record(settings: Configuration, dataset: str, name: str) -> SelectionRecord:
    """The captions that an experiment of *Lessons* uses in each of its languages, and how they are chosen."""
    experiment, blocks = _experiment(settings, dataset, name)
    rules = _part(SelectionRules, blocks.lessons)
    selection = experiment.selection or {}
    return SelectionRecord(**dict(rules), languages={code: selection[code] for code in experiment.languages})


def selection_settings(settings: Configuration, dataset: str, experiment: str) -> SelectionSettings:
    """What the selection of an experiment's captions depends on."""
    record = selection_record(settings, dataset, experiment)
    return SelectionSettings(**dict(record), dimension=settings.words.dimension)


def evaluation_settings(settings: Configuration, dataset: str, experiment: str, seed: int) -> Preparation:
    """What an evaluation depends on besides its model: settings of earlier stages, which it records."""
    keys, arguments = settings.experiments_on(dataset)[experiment], (settings, dataset, experiment)
    return Preparation(
        selection=selection_record(*arguments) if keys.selection else None,
        pretraining=pretraining_settings(*arguments, seed) if keys.pretraining else None,
        assignment=assignment_settings(*arguments, seed) if keys.embedding == "hybrid" else None,
    )


def consistency_settings(
    settings: Configuration,
    dataset: str,
    experiment: str,
    seed: int,
    consistency: Literal["average", "learned"],
) -> ConsistencySettings:
    """What an evaluation with queries and their translations depends on besides its model."""
    return ConsistencySettings(
        **dict(evaluation_settings(settings, dataset, experiment, seed)),
        kind=consistency,
        network=settings.consistency if consistency == "learned" else None,
    )


def word_settings(
    settings: Configuration, vectors: Literal["train", "multi30k", "file"] | None = None
) -> WordSettings:
    """What word vectors depend on.

    Args:
        vectors: instead of the configured kind.
    """
    return WordSettings(**dict(settings.words) | ({"vectors": vectors} if vectors else {}))


def bert_settings(settings: Configuration, dataset: str) -> BertSettings:
    """What the pretraining of a small BERT depends on."""
    return BertSettings(
        **dict(settings.bert.pretraining),
        caption_origins=settings.datasets[dataset].caption_origins,
        max_tokens=settings.bert.max_tokens,
        threads=settings.training.threads,
    )


def translator_settings(settings: Configuration) -> TranslatorSettings:
    """What the training of a translator depends on besides its captions."""
    return TranslatorSettings(
        **dict(settings.translation.translator), **dict(_part(Resources, settings.training))
    )


def sentence_vector_settings(settings: Configuration) -> SentenceVectorSettings:
    """What frozen sentence vectors depend on besides their BERT."""
    return SentenceVectorSettings(
        layer=settings.bert.layer, max_tokens=settings.bert.max_tokens, threads=settings.training.threads
    )


def table_settings(settings: Configuration, table: str) -> TableSettings:
    """What a table depends on: its rows and columns, and which data sets and experiments fill them."""
    lacking, content = left_out(settings), table_named(settings, table)
    experiments = tuple(row.experiment for row in content.rows)
    return TableSettings(
        **_of_results(settings),
        table=content,
        trained={
            dataset: {
                key: experiment.languages
                for key, experiment in settings.experiments_on(dataset).items()
                if key.startswith(experiments) and key not in lacking
            }
            for dataset in settings.datasets
        },
        left_out=[
            f"row {row.row}, {row.method}: {lacking[row.experiment]}"
            for row in content.rows
            if row.experiment in lacking
        ],
        caption_origins={
            dataset: data.caption_origins | _translated_columns(settings, dataset, content)
            for dataset, data in settings.datasets.items()
        },
    )


def _of_results(settings: Configuration) -> dict[str, Any]:
    """What tables and claims have in common."""
    experiments = settings.experiments.items()
    return {
        "scale": settings.run,
        "papers_data": _papers_data(settings),
        "seeds": settings.seeds,
        "datasets": settings.stand_ins,
        "languages": {dataset: data.languages for dataset, data in settings.datasets.items()},
        "human": {dataset: data.human_languages for dataset, data in settings.datasets.items()},
        "one_per_language": [name for name, one in experiments if one.one_for_each_language],
    }


def _translated_columns(settings: Configuration, dataset: str, table: Table) -> dict[str, str]:
    """Who made the captions in a table's columns whose languages are all translated."""
    columns = table.columns.get(settings.stands_for(dataset), [])
    return {code: origin for code, origin in translated_origins(settings, dataset).items() if code in columns}


@cache
def _paper() -> Configuration:
    """The papers' own configuration, whatever scale is run."""
    return load({"scale": "paper"})


# Keys that make a data set the paper's own, besides its languages. The place of its photographs does not
# matter, nor, for MSCOCO, whose sample is lost, which images of that number are sampled.
_OF_THE_DATA = {"source", "captions", "captioned_images", "split", "sample_size", "stands_for"}


def _papers_data(settings: Configuration) -> list[str]:
    """The data sets that are the paper's own: source, split and languages as in config/scales/paper.yaml."""

    def identity(data: Dataset) -> dict[str, object]:
        return {**data.model_dump(include=_OF_THE_DATA), "languages": set(data.languages)}

    if settings.scale != "paper" or settings.images.list:
        return []
    papers = _paper().datasets
    return [
        name
        for name, data in settings.datasets.items()
        if name in papers and identity(data) == identity(papers[name])
    ]


def parameter_settings() -> ParameterSettings:
    """What counting parameters depends on: the papers' sizes, whatever scale is run."""
    return ParameterSettings(scale="paper", model=_paper().model)


def ten_language_settings(settings: Configuration, dataset: str) -> SmalrParameterSettings:
    """What counting the parameters for ten languages depends on: the papers' sizes and the data set."""
    paper = _paper()
    return SmalrParameterSettings(
        scale=settings.run,
        dataset=dataset,
        model=paper.model,
        liwe=paper.liwe,
        consistency=paper.consistency,
        hybrid={
            name: train_settings(paper, "multi30k", name, 0) for name in ("smalr-la", "smalr-hem", "smalr")
        },
    )


def claim_settings(settings: Configuration) -> ClaimSettings:
    """What judging a paper's claims depends on besides the evaluations."""
    return ClaimSettings(
        **_of_results(settings),
        experiments=sorted(settings.experiments),
        recurrent=settings.model.recurrent,
        left_out=left_out(settings)
        | {name: one.not_comparable for name, one in settings.experiments.items() if one.not_comparable},
        rows={
            paper: {
                name: {f"{row.row} {row.method}": row.term for row in table.rows}
                for name, table in settings.tables.items()
                if table.paper == paper and name.endswith(f"table{table.table}")
            }
            for paper in get_args(Paper)
        },
    )


def report_settings(settings: Configuration) -> ReportSettings:
    """The part of the configuration that the report shows."""
    return ReportSettings(
        scale=settings.run,
        papers_data=_papers_data(settings),
        seeds=settings.seeds,
        tables=settings.tables,
        configured=settings.model_dump(include={"images", "model", "training"}, exclude_none=True),
        caption_origins={
            dataset: data.caption_origins | translated_origins(settings, dataset)
            for dataset, data in settings.datasets.items()
        },
        stands_for={dataset: settings.stands_for(dataset) for dataset in settings.datasets},
        left_out={name: table_settings(settings, name).left_out for name in settings.tables},
    )


def count_settings(settings: Configuration) -> CountSettings:
    """What counting the captions depends on."""
    datasets = {
        name: CountedDataset(dataset=dataset, caption_origins=settings.datasets[dataset].caption_origins)
        for name, dataset in settings.stand_ins.items()
    }
    return CountSettings(scale=settings.run, datasets=datasets)


def _experiment(settings: Configuration, dataset: str, name: str) -> tuple[DatasetExperiment, LearningBlocks]:
    experiment = settings.experiments_on(dataset)[name]
    return experiment, settings.blocks_of(name, experiment)


def _classifier_weight(classifier: Classifier, stands_for: str) -> ClassifierWeight:
    """The weight for one data set of the paper, instead of the weights of all."""
    weights = {str(dataset): weight for dataset, weight in classifier.weights.items()}
    weight = weights.get(stands_for, classifier.weight)
    return _part(ClassifierWeight, classifier.model_copy(update={"weight": weight}))


def _part(kind: type[B], block: Block) -> B:
    """The keys of a block that another class has too."""
    return kind(**{key: getattr(block, key) for key in kind.model_fields})


def _schedule(training: Batches, before: Pretraining | Assignment) -> PretrainSchedule:
    """The schedule of a pretraining: its own keys, and the training's for what these leave open."""
    batches = {key: getattr(training, key) for key in Batches.model_fields}
    own = {key: value for key, value in before if key in PretrainSchedule.model_fields and value is not None}
    return PretrainSchedule(**{**batches, **own})


def _data_values(settings: Configuration, dataset: str, name: str, seed: int) -> dict[str, Any]:
    """Values of the keys of `DataSettings`."""
    experiment, blocks = _experiment(settings, dataset, name)
    data = settings.datasets[dataset]
    origins = {
        code: origin
        for code, origin in translated_origins(settings, dataset).items()
        if code in experiment.languages
    }
    return {
        "scale": settings.run,
        "dataset": dataset,
        "experiment": name,
        "seed": seed,
        "languages": experiment.languages,
        "captions": experiment.captions,
        "caption_origins": data.caption_origins | origins,
        "groups": data.groups if blocks.training.image_groups else [],
        "max_caption_length": data.max_caption_length,
        "translated": sorted(origins) if origins else None,
        "reduction": experiment.reduction,
    }
