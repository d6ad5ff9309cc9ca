"""The digest of the code that a job runs, which reruns the job after an edit."""

from pipeline import registry
from pipeline.datasets.sources import module_of
from pipeline.digest import digest
from pipeline.plan.plan import Plan
from pipeline.settings import stages as stage_settings
from pipeline.stages import Stage
from pipeline.training.settings import LessonsSettings, TrainSettings


def code_of(plan: Plan, stage: Stage, dataset: str, experiment: str) -> str:
    """The digest of a stage's code and of the modules that a job imports by name.

    Args:
        dataset, experiment: of the job; empty if it has none.
    """
    match stage.name:
        case "split" | "read-captions" | "read-caption-part":
            return digest(stage, module_of(plan.datasets[dataset].source))
        case "train":
            return digest(stage, *registry.of_training(_any_seed(plan, dataset, experiment)))
        case "pretrain" | "train-lessons" | "evaluate" | "evaluate-consistency" | "build-index":
            return digest(stage, *registry.of_model(_any_seed(plan, dataset, experiment)))
        case "draw-retrieved":
            return digest(stage, *registry.of_any_model())
        case "count-parameters" | "count-smalr-parameters":
            return digest(stage, *registry.of_any_training())
    return digest(stage)


def _any_seed(plan: Plan, dataset: str, experiment: str) -> TrainSettings | LessonsSettings:
    """An experiment's settings with seed 0: the modules that it uses do not depend on the seed."""
    return stage_settings.experiment_settings(plan.settings, dataset, experiment, 0)
