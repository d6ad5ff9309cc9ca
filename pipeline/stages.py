"""The table of stages: all that `python -m pipeline` runs.

A new stage is its function, a line here and a rule. The function's signature and docstring are the stage's
command line (`pipeline.cli`), the modules that it imports are the stage's code (`pipeline.digest`).
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

# Training asks the recall code only which epoch to keep. Evaluation asks again and refuses a model whose
# choice was made by other recall code, so an edit there reruns evaluation and no training.
CHOICE_OF_EPOCH = frozenset(
    {"pipeline.evaluation.ranks", "pipeline.evaluation.recall", "pipeline.evaluation.evaluate"}
)


def no_parts(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """The parts of a stage that imports all its code itself."""
    return ()


class Stage(NamedTuple):
    """One command.

    Attributes:
        name: the command; two words are a command and its action.
        function: as MODULE:FUNCTION. Its parameters are the options.
        summary: its line in the overview.
        group: its heading in the overview.
        torch: whether it imports PyTorch.
        gpu: whether it can use a GPU; it then has the option `--gpus`.
        idle_threads_sleep: whether PyTorch's idle threads on a CPU sleep. Beside other busy threads, one that
            spins takes the time of the one that it waits for.
        parts: the modules that it imports by name for some arguments only (`pipeline.registry`).
        outside: modules that it imports, but that do not count for whether it is to run again.
    """

    name: str
    function: str
    summary: str
    group: str
    torch: bool = False
    gpu: bool = False
    idle_threads_sleep: bool = False
    parts: Callable[[Mapping[str, Any]], tuple[str, ...]] = no_parts
    outside: frozenset[str] = frozenset()

    @property
    def module(self) -> str:
        """The module of its function."""
        return self.function.partition(":")[0]


_IMAGES = "image features"
_WORDS = "words and their vectors"

_TABLE = (
    Stage("find-images", "pipeline.images.find:find_images", "find the file of each image", _IMAGES),
    Stage(
        "extract-features",
        "pipeline.images.extract:extract_features",
        "extract image features with a frozen CNN",
        _IMAGES,
        torch=True,
        gpu=True,
        idle_threads_sleep=True,
    ),
    Stage(
        "merge-features",
        "pipeline.images.merge:merge_features",
        "merge the feature stores of all shards",
        _IMAGES,
    ),
    Stage(
        "import-features",
        "pipeline.images.imported:import_features",
        "check precomputed image features and import them",
        _IMAGES,
    ),
    Stage(
        "train-word-vectors",
        "pipeline.words.vectors:train_word_vectors",
        "train FastText on text",
        _WORDS,
    ),
    Stage(
        "train-caption-vectors",
        "pipeline.words.make:train_caption_vectors",
        "train FastText on a language's own training captions",
        _WORDS,
    ),
    Stage(
        "build-vocabulary",
        "pipeline.words.make:build_vocabulary",
        "build the vocabulary and word vectors of one language",
        _WORDS,
    ),
    Stage(
        "reduce-vocabulary",
        "pipeline.words.reduce:reduce_vocabulary",
        "reduce a vocabulary (SMALR, Figure 3)",
        _WORDS,
    ),
    Stage(
        "encode-characters",
        "pipeline.words.spelled:encode_characters",
        "encode a language's words as characters (LIWE)",
        _WORDS,
    ),
    Stage(
        "align-vectors",
        "pipeline.words.align:align_vectors",
        "align word vectors to the English space (MUSE)",
        _WORDS,
    ),
    Stage(
        "pretrain-bert",
        "pipeline.words.bert:pretrain_bert",
        "pretrain a small multilingual BERT on the training captions",
        _WORDS,
        torch=True,
        gpu=True,
    ),
    Stage(
        "embed-captions",
        "pipeline.words.sentence_vectors:embed_captions",
        "compute frozen BERT vectors of a language's captions",
        _WORDS,
        torch=True,
        gpu=True,
    ),
    Stage(
        "select-captions",
        "pipeline.words.selection:select_captions",
        "select the captions and words of an experiment of Lessons",
        _WORDS,
    ),
)

STAGES = {stage.name: stage for stage in _TABLE}
