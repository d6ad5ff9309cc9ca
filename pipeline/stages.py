"""The table of stages: all that `python -m pipeline` runs.

A new stage is its function, a line here and a rule. The function's signature and docstring are the stage's
command line (`pipeline.cli`), the modules that it imports are the stage's code (`pipeline.digest`).
"""

import re
from pathlib import Path
from typing import NamedTuple


class Stage(NamedTuple):
    """One command.

    Attributes:
        name: the command.
        function: as MODULE:FUNCTION. Its parameters are the options.
        group: its heading in the overview.
        gpu: whether it can use a GPU; it then has the option `--gpus`.
        idle_threads_sleep: whether PyTorch's idle threads on a CPU sleep. If other threads are busy, a
            thread that spins takes time from the thread that it waits for.
    """

    name: str
    function: str
    group: str
    gpu: bool = False
    idle_threads_sleep: bool = False

    @property
    def module(self) -> str:
        """The module of its function."""
        return self.function.partition(":")[0]

    @property
    def summary(self) -> str:
        """The first sentence of its function's docstring, read without importing the module."""
        module, _, function = self.function.partition(":")
        text = Path(__file__).parents[1].joinpath(*module.split(".")).with_suffix(".py").read_text("utf-8")
        found = re.search(rf'^def {function}\(.*?"""(.*?)[.](?=\n|""")', text, re.M | re.S)
        assert found, f"{self.function} has a docstring"
        return " ".join(found[1].split())


_DEMO = "demo"
_DATA = "data sets"
_IMAGES = "image features"
_TRANSLATION = "translation"
_WORDS = "words and their vectors"
_TRAINING = "training"
_EVALUATION = "evaluation"
_TABLES = "tables and claims"
_REPORT = "figures and report"
_SEARCH = "search"
_NODES = "nodes of a cluster"

_TABLE = (
    Stage("draw-demo", "pipeline.demo.pictures:draw_demo", _DEMO),
    Stage("write-demo-dictionary", "pipeline.demo.dictionaries:write_demo_dictionary", _DEMO),
    Stage("download", "pipeline.datasets.download:download", _DATA),
    Stage("unpack", "pipeline.datasets.unpack:unpack", _DATA),
    Stage("split", "pipeline.datasets.read_source:split_images", _DATA),
    Stage("read-captions", "pipeline.datasets.read_source:read_source_captions", _DATA),
    Stage("tokenize", "pipeline.datasets.tokenize:tokenize_captions", _DATA),
    Stage("collect-text", "pipeline.datasets.text:collect_text", _DATA),
    Stage("read-caption-part", "pipeline.datasets.lessons_parts:read_caption_part", _DATA),
    Stage("find-images", "pipeline.images.find:find_images", _IMAGES),
    Stage(
        "extract-features",
        "pipeline.images.extract:extract_features",
        _IMAGES,
        gpu=True,
        idle_threads_sleep=True,
    ),
    Stage("import-features", "pipeline.images.imported:import_features", _IMAGES),
    Stage("train-translator", "pipeline.training.translator:train_translator", _TRANSLATION, gpu=True),
    Stage("translate", "pipeline.translation.translate:translate_captions", _TRANSLATION, gpu=True),
    Stage(
        "measure-translation-quality",
        "pipeline.translation.quality:measure_translation_quality",
        _TRANSLATION,
        gpu=True,
    ),
    Stage(
        "tabulate-translation-quality",
        "pipeline.translation.quality:tabulate_translation_quality",
        _TRANSLATION,
    ),
    Stage("train-word-vectors", "pipeline.words.make:train_word_vectors", _WORDS),
    Stage("build-vocabulary", "pipeline.words.make:build_vocabulary", _WORDS),
    Stage("reduce-vocabulary", "pipeline.words.reduce:reduce_vocabulary", _WORDS),
    Stage("encode-characters", "pipeline.words.spelled:encode_characters", _WORDS),
    Stage("align-vectors", "pipeline.words.align:align_vectors", _WORDS),
    Stage("pretrain-bert", "pipeline.words.bert:pretrain_bert", _WORDS, gpu=True),
    Stage("embed-captions", "pipeline.words.sentence_vectors:embed_captions", _WORDS, gpu=True),
    Stage("select-captions", "pipeline.words.selection:select_captions", _WORDS),
    Stage("pretrain", "pipeline.training.pretrain:pretrain", _TRAINING, gpu=True),
    Stage("assign", "pipeline.training.assign:assign", _TRAINING, gpu=True),
    Stage("train", "pipeline.training.train:train", _TRAINING, gpu=True),
    Stage("train-lessons", "pipeline.training.lessons:train_lessons", _TRAINING, gpu=True),
    Stage("evaluate", "pipeline.evaluation.evaluate:evaluate", _EVALUATION),
    Stage("evaluate-consistency", "pipeline.evaluation.consistency:evaluate_consistency", _EVALUATION),
    Stage("tabulate", "pipeline.tables.tabulate:tabulate", _TABLES),
    Stage("compare", "pipeline.tables.compare:compare", _TABLES),
    Stage("show-table", "pipeline.tables.show:show_table", _TABLES),
    Stage("judge-claims", "pipeline.tables.claims:judge_claims", _TABLES),
    Stage("count-captions", "pipeline.tables.data:count_captions", _TABLES),
    Stage("measure-vocabulary-overlap", "pipeline.tables.overlap:measure_vocabulary_overlap", _TABLES),
    Stage("count-parameters", "pipeline.tables.parameters:write_parameters", _TABLES),
    Stage("count-smalr-parameters", "pipeline.tables.smalr_parameters:count_smalr_parameters", _TABLES),
    Stage("draw-retrieved", "pipeline.report.figures:draw_retrieved", _REPORT),
    Stage("draw-scaling", "pipeline.report.plots:draw_scaling", _REPORT),
    Stage("draw-languages", "pipeline.report.plots:draw_languages", _REPORT),
    Stage("write-report", "pipeline.report.report:write_report", _REPORT),
    Stage("build-index", "search.build_index:build_index", _SEARCH, idle_threads_sleep=True),
    Stage("search", "search.query:search", _SEARCH, idle_threads_sleep=True),
    Stage("serve", "search.serve:serve", _SEARCH, idle_threads_sleep=True),
    Stage("prefetch-models", "pipeline.prefetch:prefetch_models", _NODES),
    Stage("check-node", "pipeline.check_node:check_node", _NODES),
)

STAGES = {stage.name: stage for stage in _TABLE}
