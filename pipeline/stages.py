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
        gpu: whether it can use a GPU; it then has the option `--gpus`.
        idle_threads_sleep: whether PyTorch's idle threads on a CPU sleep. If other threads are busy, a
            thread that spins takes time from the thread that it waits for.
    """

    name: str
    function: str
    gpu: bool = False
    idle_threads_sleep: bool = False

    @property
    def module(self) -> str:
        """The module of its function."""
        return self.function.partition(":")[0]

    @property
    def package(self) -> str:
        """The package of its module, under which the overview of commands lists it."""
        return self.module.split(".")[-2]

    @property
    def summary(self) -> str:
        """The first sentence of its function's docstring, read without importing the module."""
        module, _, function = self.function.partition(":")
        text = Path(__file__).parents[1].joinpath(*module.split(".")).with_suffix(".py").read_text("utf-8")
        found = re.search(rf'^def {function}\(.*?"""(.*?)[.](?=\n|""")', text, re.M | re.S)
        assert found, f"{self.function} has a docstring"
        return " ".join(found[1].split())


_TABLE = (
    Stage("draw-demo", "pipeline.demo.pictures:draw_demo"),
    Stage("download", "pipeline.datasets.download:download"),
    Stage("unpack", "pipeline.datasets.unpack:unpack"),
    Stage("split", "pipeline.datasets.read_source:split_images"),
    Stage("read-captions", "pipeline.datasets.read_source:read_source_captions"),
    Stage("tokenize", "pipeline.datasets.tokenize:tokenize_captions"),
    Stage("collect-text", "pipeline.datasets.text:collect_text"),
    Stage("read-caption-part", "pipeline.datasets.lessons_parts:read_caption_part"),
    Stage("find-images", "pipeline.images.find:find_images"),
    Stage("extract-features", "pipeline.images.extract:extract_features", gpu=True, idle_threads_sleep=True),
    Stage("import-features", "pipeline.images.imported:import_features"),
    Stage("train-translator", "pipeline.training.translator:train_translator", gpu=True),
    Stage("translate", "pipeline.translation.translate:translate_captions", gpu=True),
    Stage(
        "measure-translation-quality", "pipeline.translation.quality:measure_translation_quality", gpu=True
    ),
    Stage("tabulate-translation-quality", "pipeline.translation.quality:tabulate_translation_quality"),
    Stage("train-word-vectors", "pipeline.words.make:train_word_vectors"),
    Stage("build-vocabulary", "pipeline.words.make:build_vocabulary"),
    Stage("reduce-vocabulary", "pipeline.words.reduce:reduce_vocabulary"),
    Stage("align-vectors", "pipeline.words.align:align_vectors"),
    Stage("pretrain-bert", "pipeline.words.bert:pretrain_bert", gpu=True),
    Stage("embed-captions", "pipeline.words.sentence_vectors:embed_captions", gpu=True),
    Stage("select-captions", "pipeline.words.selection:select_captions"),
    Stage("pretrain", "pipeline.training.pretrain:pretrain", gpu=True),
    Stage("assign", "pipeline.training.assign:assign", gpu=True),
    Stage("train", "pipeline.training.train:train", gpu=True),
    Stage("train-lessons", "pipeline.training.lessons:train_lessons", gpu=True),
    Stage("evaluate", "pipeline.evaluation.evaluate:evaluate"),
    Stage("evaluate-consistency", "pipeline.evaluation.consistency:evaluate_consistency"),
    Stage("tabulate", "pipeline.tables.tabulate:tabulate"),
    Stage("compare", "pipeline.tables.compare:compare"),
    Stage("show-table", "pipeline.tables.show:show_table"),
    Stage("judge-claims", "pipeline.tables.claims:judge_claims"),
    Stage("count-captions", "pipeline.tables.data:count_captions"),
    Stage("measure-vocabulary-overlap", "pipeline.tables.overlap:measure_vocabulary_overlap"),
    Stage("count-parameters", "pipeline.tables.parameters:write_parameters"),
    Stage("count-smalr-parameters", "pipeline.tables.smalr_parameters:count_smalr_parameters"),
    Stage("draw-retrieved", "pipeline.report.figures:draw_retrieved"),
    Stage("draw-scaling", "pipeline.report.plots:draw_scaling"),
    Stage("draw-languages", "pipeline.report.plots:draw_languages"),
    Stage("write-report", "pipeline.report.report:write_report"),
    Stage("build-index", "search.build_index:build_index", idle_threads_sleep=True),
    Stage("search", "search.query:search", idle_threads_sleep=True),
    Stage("serve", "search.serve:serve", idle_threads_sleep=True),
    Stage("prefetch-models", "pipeline.prefetch:prefetch_models"),
    Stage("check-node", "pipeline.check_node:check_node"),
)

STAGES = {stage.name: stage for stage in _TABLE}
