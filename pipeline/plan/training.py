"""Inputs and settings of an experiment's training, evaluation and index."""

from pipeline.common.errors import InputError
from pipeline.plan import paths
from pipeline.plan.captions import tokens
from pipeline.plan.images import suffix_of
from pipeline.plan.plan import Plan
from pipeline.plan.translation import query_tables, translation_tables
from pipeline.plan.words import selected_files, vocabularies
from pipeline.settings import stages as stage_settings
from pipeline.settings.experiments import left_out
from pipeline.settings.translations import (
    consistency_pairs,
    query_pairs,
    require_providers,
    training_pairs,
    via_english,
)
from pipeline.training.settings import AssignSettings


def features(plan: Plan, dataset: str, experiment: str) -> str:
    """The feature store that an experiment is trained and evaluated with.

    Raises:
        InputError: the configuration lacks the feature set.
    """
    name = plan.experiment(dataset, experiment).features
    if name not in plan.settings.images.feature_sets():
        reason = left_out(plan.settings)[experiment]
        raise InputError(f"experiment {experiment} cannot be trained: {reason}")
    return plan.path(paths.FEATURES, dataset=dataset, suffix=suffix_of(name))


def sentences(plan: Plan, dataset: str, experiment: str) -> list[str]:
    """Tokenised captions of an experiment's languages."""
    settings = plan.experiment(dataset, experiment)
    if settings.selection:
        return selected_files(plan, dataset, experiment, "{}.csv")
    return tokens(plan, dataset, settings.languages)


def translations(plan: Plan, dataset: str, experiment: str) -> list[str]:
    """Translations that an experiment trains on besides a language's own captions.

    Raises:
        InputError: the data set has no captions to translate.
    """
    settings, data = plan.experiment(dataset, experiment), plan.datasets[dataset]
    pairs = training_pairs(plan.settings, dataset, experiment)
    own = [code for code in settings.languages if code in data.languages]
    needs_pairs = settings.captions == "human+mt" or (settings.captions != "human" and own != ["en"])
    if needs_pairs and not pairs:
        raise InputError(
            f"experiment {experiment} trains on translations, and {dataset} has no captions to translate: "
            "translations are from English, or into English from other languages, found "
            f"datasets.{dataset}.languages {data.languages}. Add captions in English, or ask for rows "
            "without translations (results/TABLE-row1+2.csv)"
        )
    return translation_tables(plan, dataset, pairs)


def initial_weights(plan: Plan, dataset: str, experiment: str, seed: int) -> list[str]:
    """The pretrained weights or assignment that training starts from; empty if there are none."""
    settings = plan.experiment(dataset, experiment)
    if settings.embedding == "hybrid":
        digest = stage_settings.assignment_settings(plan.settings, dataset, experiment, seed).experiment
        return [plan.path(paths.ENTRIES, dataset=dataset, digest=digest, seed=seed)]
    pretrained = plan.path(paths.PRETRAINED, dataset=dataset, experiment=experiment, seed=seed)
    return [pretrained] if settings.pretraining else []


def steps_of(plan: Plan, dataset: str, experiment: str, seed: int) -> list[str]:
    """The model whose number of steps a training takes; empty if it has its own."""
    other = plan.experiment(dataset, experiment).steps_of
    return [plan.path(paths.MODEL, dataset=dataset, experiment=other, seed=seed)] if other else []


def events(plan: Plan, dataset: str, experiment: str, seed: int) -> str:
    """The folder of a training's TensorBoard events; empty for none."""
    folder = plan.path(paths.EVENTS, dataset=dataset, experiment=experiment, seed=seed)
    return folder if plan.settings.tensorboard else ""


def _first_with_assignment(plan: Plan, dataset: str, digest: str) -> str:
    """The first of the experiments that share an assignment."""
    settings = plan.settings
    hybrid = [name for name, one in settings.experiments_on(dataset).items() if one.embedding == "hybrid"]
    for name in hybrid:
        if stage_settings.assignment_settings(settings, dataset, name, 0).experiment == digest:
            return name
    raise InputError(
        f"no experiment on {dataset} has the assignment {digest}: it belongs to other settings. "
        "Request a model of smalr, which requests its assignment"
    )


def assignment_inputs(plan: Plan, dataset: str, digest: str) -> dict[str, list[str]]:
    """Files that an assignment is learned from, by name."""
    experiment = _first_with_assignment(plan, dataset, digest)
    return {
        "sentences": sentences(plan, dataset, experiment),
        "translations": translations(plan, dataset, experiment),
        "words": vocabularies(plan, dataset, experiment),
    }


def assignment_settings(plan: Plan, dataset: str, digest: str, seed: int) -> AssignSettings:
    experiment = _first_with_assignment(plan, dataset, digest)
    return stage_settings.assignment_settings(plan.settings, dataset, experiment, seed)


def evaluated_sentences(plan: Plan, dataset: str, experiment: str, queries: str) -> list[str]:
    """Tokenised captions of an experiment's languages, or of all if queries are translated."""
    if queries != "translated":
        return sentences(plan, dataset, experiment)
    return tokens(plan, dataset, plan.datasets[dataset].languages)


def evaluated_files(plan: Plan, dataset: str, experiment: str, queries: str) -> list[str]:
    """Sentences and vocabularies of an evaluation; selected ones are in a folder."""
    if plan.experiment(dataset, experiment).selection:
        return [plan.path(paths.SELECTION, dataset=dataset, experiment=experiment)]
    sentences = evaluated_sentences(plan, dataset, experiment, queries)
    return [*sentences, *vocabularies(plan, dataset, experiment)]


def translated_queries(plan: Plan, dataset: str, experiment: str, queries: str) -> list[str]:
    """Test captions of the other languages, translated into a model's only language."""
    if queries != "translated":
        return []
    return translation_tables(plan, dataset, query_pairs(plan.settings, dataset, experiment))


def queries_in_every_language(plan: Plan, dataset: str, experiment: str) -> list[str]:
    """Own queries translated into the model's other languages."""
    pairs = consistency_pairs(plan.settings, dataset, experiment)
    direct = [pair for pair in pairs if not via_english(plan.settings, dataset, pair)]
    require_providers(plan.settings, [(dataset, pair) for pair in direct])
    return query_tables(plan, dataset, pairs)


# An index of a trained model.


def searchable_model(plan: Plan, dataset: str, experiment: str, seed: int) -> str:
    """The model of an index.

    Raises:
        InputError: it does not read words by their vectors, so no sentence can be typed for it.
    """
    settings = plan.experiment(dataset, experiment)
    if settings.vectors not in ("fasttext", "muse") or settings.selection:
        raise InputError(
            f"experiment {experiment} cannot be searched with: only models that read word vectors (fasttext, "
            "muse) can."
        )
    return plan.path(paths.MODEL, dataset=dataset, experiment=experiment, seed=seed)


def indexed_split(plan: Plan, dataset: str) -> str:
    """The images of an index: the user's own are all searched; of published ones only test images.

    Among images that it was trained on, a model looks better than it is.
    """
    return "all" if plan.datasets[dataset].source == "custom" else "test"
