"""The table of stages: all that `python -m pipeline` runs.

A new stage is its function, a line here and a rule. The function's signature and docstring are the stage's
command line (`pipeline.cli`), the modules that it imports are the stage's code (`pipeline.digest`).
"""

from typing import NamedTuple


class Stage(NamedTuple):
    """One command.

    Attributes:
        name: the command.
        function: as MODULE:FUNCTION. Its parameters are the options.
        summary: its line in the overview.
        group: its heading in the overview.
        gpu: whether it can use a GPU; it then has the option `--gpus`.
        idle_threads_sleep: whether PyTorch's idle threads on a CPU sleep. If other threads are busy, a
            thread that spins takes time from the thread that it waits for.
    """

    name: str
    function: str
    summary: str
    group: str
    gpu: bool = False
    idle_threads_sleep: bool = False

    @property
    def module(self) -> str:
        """The module of its function."""
        return self.function.partition(":")[0]


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
_NODES = "nodes without a network"

_TABLE = (
    Stage("draw-demo", "pipeline.demo.pictures:draw_demo", "draw the scenes of a demo data set", _DEMO),
    Stage(
        "write-demo-captions", "pipeline.demo.sentences:write_demo_captions",
        "write a demo data set's captions in one language", _DEMO,
    ),
    Stage(
        "write-demo-dictionary", "pipeline.demo.dictionaries:write_demo_dictionary",
        "write a bilingual dictionary of the demo's words, between English and another language", _DEMO,
    ),
    Stage(
        "download", "pipeline.datasets.download:download",
        "download a published file and verify it", _DATA,
    ),
    Stage("unpack", "pipeline.datasets.unpack:unpack", "unpack archives of photographs into a folder", _DATA),
    Stage(
        "split", "pipeline.datasets.read_source:split_images",
        "assign the images of a data set to train, val and test", _DATA,
    ),
    Stage(
        "read-captions", "pipeline.datasets.read_source:read_source_captions",
        "read a data set's captions in one language", _DATA,
    ),
    Stage(
        "tokenize", "pipeline.datasets.tokenize:tokenize_captions",
        "tokenise the captions of one language", _DATA,
    ),
    Stage(
        "collect-text", "pipeline.datasets.text:collect_text",
        "collect Multi30K's captions of images that are not held out", _DATA,
    ),
    Stage(
        "augment", "pipeline.datasets.augment:augment",
        "select the translations that give each image five sentences", _DATA,
    ),
    Stage(
        "read-caption-part", "pipeline.datasets.lessons_parts:read_caption_part",
        "extract the translation or comparable part in one language", _DATA,
    ),
    Stage(
        "sample-captions", "pipeline.datasets.sampling:sample_captions",
        "sample some captions of each image", _DATA,
    ),
    Stage(
        "sample-halves", "pipeline.datasets.sampling:sample_halves",
        "sample halves of the training images", _DATA,
    ),
    Stage("find-images", "pipeline.images.find:find_images", "find the file of each image", _IMAGES),
    Stage(
        "extract-features", "pipeline.images.extract:extract_features",
        "extract image features with a frozen CNN", _IMAGES, gpu=True, idle_threads_sleep=True,
    ),
    Stage(
        "import-features", "pipeline.images.imported:import_features",
        "check precomputed image features and import them", _IMAGES,
    ),
    Stage(
        "translate", "pipeline.translation.translate:translate_captions",
        "translate the captions of one language into another", _TRANSLATION, gpu=True,
    ),
    Stage(
        "measure-translation-quality", "pipeline.translation.quality:measure_translation_quality",
        "measure BLEU and chrF of a language pair against human translations", _TRANSLATION,
        gpu=True,
    ),
    Stage(
        "tabulate-translation-quality", "pipeline.translation.quality:tabulate_translation_quality",
        "combine the outputs of `measure-translation-quality` into one table", _TRANSLATION,
    ),
    Stage(
        "train-word-vectors", "pipeline.words.vectors:train_word_vectors",
        "train FastText on text", _WORDS,
    ),
    Stage(
        "train-caption-vectors", "pipeline.words.make:train_caption_vectors",
        "train FastText on a language's own training captions", _WORDS,
    ),
    Stage(
        "build-vocabulary", "pipeline.words.make:build_vocabulary",
        "build the vocabulary and word vectors of one language", _WORDS,
    ),
    Stage(
        "reduce-vocabulary", "pipeline.words.reduce:reduce_vocabulary",
        "reduce a vocabulary (SMALR, Figure 3)", _WORDS,
    ),
    Stage(
        "encode-characters", "pipeline.words.spelled:encode_characters",
        "encode a language's words as characters (LIWE)", _WORDS,
    ),
    Stage(
        "align-vectors", "pipeline.words.align:align_vectors",
        "align word vectors to the English space (MUSE)", _WORDS,
    ),
    Stage(
        "pretrain-bert", "pipeline.words.bert:pretrain_bert",
        "pretrain a small multilingual BERT on the training captions", _WORDS, gpu=True,
    ),
    Stage(
        "embed-captions", "pipeline.words.sentence_vectors:embed_captions",
        "compute frozen BERT vectors of a language's captions", _WORDS, gpu=True,
    ),
    Stage(
        "select-captions", "pipeline.words.selection:select_captions",
        "select the captions and words of an experiment of Lessons", _WORDS,
    ),
    Stage(
        "pretrain", "pipeline.training.pretrain:pretrain",
        "pretrain the universal embedding (LP)", _TRAINING, gpu=True,
    ),
    Stage(
        "assign", "pipeline.training.assign:assign",
        "assign words to entries of the latent vocabulary (HEM, LA)", _TRAINING, gpu=True,
    ),
    Stage(
        "train", "pipeline.training.train:train",
        "train one experiment and keep its best epoch", _TRAINING, gpu=True,
    ),
    Stage(
        "train-lessons", "pipeline.training.lessons:train_lessons",
        "train one experiment of Lessons", _TRAINING, gpu=True,
    ),
    Stage(
        "evaluate", "pipeline.evaluation.evaluate:evaluate",
        "compute a trained model's recalls on the test split", _EVALUATION,
    ),
    Stage(
        "evaluate-consistency", "pipeline.evaluation.consistency:evaluate_consistency",
        "compute the recalls of queries combined with their translations (CLC)", _EVALUATION,
    ),
    Stage(
        "tabulate", "pipeline.tables.tabulate:tabulate",
        "make one table of a paper, and compare its numbers with the paper's", _TABLES,
    ),
    Stage(
        "compare", "pipeline.tables.compare:compare",
        "compare two systems on the same images, over all seeds", _TABLES,
    ),
    Stage(
        "show-table", "pipeline.tables.show:show_table",
        "print a table's mean recalls next to the paper's", _TABLES,
    ),
    Stage(
        "judge-claims", "pipeline.tables.claims:judge_claims",
        "judge the papers' claims by this project's numbers", _TABLES,
    ),
    Stage(
        "count-captions", "pipeline.tables.data:count_captions",
        "count images and descriptions (MULE, Table 1)", _TABLES,
    ),
    Stage(
        "measure-vocabulary-overlap", "pipeline.tables.overlap:measure_vocabulary_overlap",
        "compute the languages' vocabulary overlap (Lessons, Table 1)", _TABLES,
    ),
    Stage(
        "count-parameters", "pipeline.tables.parameters:write_parameters",
        "count the models' parameters at the papers' sizes", _TABLES,
    ),
    Stage(
        "count-smalr-parameters", "pipeline.tables.smalr_parameters:count_smalr_parameters",
        "count the parameters of models of ten languages (SMALR)", _TABLES,
    ),
    Stage(
        "draw-retrieved", "pipeline.report.figures:draw_retrieved",
        "make a page of retrieved test examples (MULE, Figures 3 and 4)", _REPORT,
    ),
    Stage(
        "draw-scaling", "pipeline.report.plots:draw_scaling",
        "plot recall against model size (SMALR, Figures 1b and 3)", _REPORT,
    ),
    Stage(
        "draw-languages", "pipeline.report.plots:draw_languages",
        "plot one, two and four languages (Lessons, Figure 3)", _REPORT,
    ),
    Stage(
        "write-report", "pipeline.report.report:write_report",
        "write all results to one self-contained page", _REPORT,
    ),
    Stage(
        "build-index", "search.build_index:build_index",
        "embed photographs and captions for searching", _SEARCH, idle_threads_sleep=True,
    ),
    Stage(
        "search", "search.query:search",
        "search an index with sentences or photographs", _SEARCH, idle_threads_sleep=True,
    ),
    Stage(
        "serve", "search.serve:serve",
        "serve a page for searching an index, on this machine", _SEARCH, idle_threads_sleep=True,
    ),
    Stage(
        "prefetch-models", "pipeline.prefetch:prefetch_models",
        "download weights to the Hugging Face cache, for nodes without a network", _NODES,
    ),
)  # fmt: skip

STAGES = {stage.name: stage for stage in _TABLE}
