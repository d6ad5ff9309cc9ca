"""The configuration: read and checked as a whole, and cut to what each stage depends on."""

from pipeline.configuration.experiments import (
    expanded,
    feature_sets,
    left_out,
    makeable_tables,
    overlaid,
    stand_ins,
)
from pipeline.configuration.lessons import selecting, selection_of, selection_tasks
from pipeline.configuration.paths import check_paths
from pipeline.configuration.reading import check_keys, load, read
from pipeline.configuration.stages import (
    bert_settings,
    claim_settings,
    count_settings,
    experiment_settings,
    extraction_options,
    feature_settings,
    parameter_settings,
    pretraining_settings,
    report_settings,
    sentence_vector_settings,
    table_settings,
)
from pipeline.configuration.translations import (
    evaluation_pairs,
    missing_providers,
    provider_of,
    query_pairs,
    training_pairs,
    translation_sources,
)

__all__ = [
    "bert_settings",
    "check_keys",
    "check_paths",
    "claim_settings",
    "count_settings",
    "evaluation_pairs",
    "expanded",
    "experiment_settings",
    "extraction_options",
    "feature_sets",
    "feature_settings",
    "left_out",
    "load",
    "makeable_tables",
    "missing_providers",
    "overlaid",
    "parameter_settings",
    "pretraining_settings",
    "provider_of",
    "query_pairs",
    "read",
    "report_settings",
    "selecting",
    "selection_of",
    "selection_tasks",
    "sentence_vector_settings",
    "stand_ins",
    "table_settings",
    "training_pairs",
    "translation_sources",
]
