"""Every file of a project, relative to the folder in which Snakemake runs. Each path is written once.

The plan fills names in; a rule fills wildcards in, such as `DatasetFiles("{scale}", "{dataset}")`.
"""

from dataclasses import dataclass

from pipeline.demo.source import SOURCE as DEMO

SOURCES_TABLE = "workflow/sources.csv"

# Published files, and photographs that are unpacked from archives.
SOURCES = "work/sources"
PHOTOGRAPHS = "work/photographs"

# Files that the demo's pictures, captions and dictionaries are made from.
DEMO_CONCEPTS, DEMO_DATASETS, DEMO_GRAMMAR = DEMO.project_files


def source_file(name: str) -> str:
    """A published file; `name` is HOST/PATH of its URL, as in workflow/sources.csv."""
    return f"{SOURCES}/{name}"


def unpacked_archive(archive: str) -> str:
    """The folder of an archive's photographs."""
    return f"{PHOTOGRAPHS}/{archive}"


def demo_grammar(language: str) -> str:
    """The grammar of the demo's captions in a language."""
    return DEMO_GRAMMAR.format(language=language)


def demo_word_list(language: str) -> str:
    """A dictionary of a language without a grammar: the demo's captions in it are translations."""
    return f"pipeline/demo/data/dictionaries/en-{language}.txt"


def demo_dictionary(language: str) -> str:
    """A dictionary that is written from the demo's grammars."""
    return f"work/demo/dictionaries/en-{language}.txt"


def claims(paper: str) -> str:
    """The claims of a paper."""
    return f"config/claims/{paper}.yaml"


@dataclass(frozen=True)
class ScaleFiles:
    """Files of a scale that belong to no single data set."""

    scale: str

    @property
    def folder(self) -> str:
        return f"work/{self.scale}"

    @property
    def benchmarks(self) -> str:
        """The folder of logs and run times."""
        return f"work/logs/{self.scale}"

    @property
    def prefetched_models(self) -> str:
        return f"{self.folder}/prefetched-models.txt"

    def text(self, language: str) -> str:
        """Multi30K's published captions in a language, for word vectors."""
        return f"{self.folder}/text/{language}.csv"

    def text_vectors(self, language: str) -> str:
        """FastText vectors that are trained on `text`."""
        return f"{self.folder}/text/{language}.bin"

    def partial(self, name: str) -> str:
        """The folder of a stage's finished parts, from which a killed job continues."""
        return f"{self.folder}/partial/{name}"

    def checkpoint(self, name: str) -> str:
        return f"{self.folder}/checkpoints/{name}.pt"


@dataclass(frozen=True)
class DatasetFiles:
    """Files of a data set."""

    scale: str
    dataset: str

    @property
    def folder(self) -> str:
        return f"work/{self.scale}/{self.dataset}"

    @property
    def split(self) -> str:
        return f"{self.folder}/split.csv"

    @property
    def demo_images(self) -> str:
        """The folder of the demo's drawings."""
        return f"{self.folder}/images"

    @property
    def images(self) -> str:
        """The file of each image."""
        return f"{self.folder}/images.csv"

    def captions(self, language: str) -> str:
        return f"{self.folder}/captions/{language}.csv"

    def tokens(self, language: str) -> str:
        """Tokenised captions."""
        return f"{self.folder}/tokens/{language}.csv"

    # Features. `suffix` is empty for the main set, `-vgg` for the set vgg.

    def features(self, suffix: str = "") -> str:
        return f"{self.folder}/features{suffix}.h5"

    def failed_images(self, suffix: str = "") -> str:
        return f"{self.folder}/failed{suffix}.csv"

    def shard(self, suffix: str, shard: str) -> str:
        """Failed images of a part of the list, such as `1-of-8`, whose features are in the cache."""
        return f"{self.folder}/shards{suffix}/{shard}.csv"

    # Translations of a pair of languages, `SOURCE-TARGET`.

    def translations(self, pair: str) -> str:
        return f"{self.folder}/translations/{pair}.csv"

    def queries(self, pair: str) -> str:
        """Translated validation and test captions, each with the caption it translates."""
        return f"{self.folder}/translations/queries/{pair}.csv"

    def augmentation(self, pair: str) -> str:
        """The translations that fill each image up to five captions."""
        return f"{self.folder}/augmented/{pair}.csv"

    def translation_quality(self, pair: str) -> str:
        return f"{self.folder}/translation-quality/{pair}.csv"

    # Word and sentence vectors. `captions` is what an experiment trains on: human, human+mt, mt, augmented.

    def caption_vectors(self, language: str) -> str:
        """FastText vectors that are trained on the data set's captions."""
        return f"{self.folder}/text/{language}.bin"

    def words(self, captions: str, language: str) -> str:
        """A vocabulary with its FastText vectors."""
        return f"{self.folder}/words/{captions}/{language}.h5"

    def aligned_words(self, captions: str, language: str) -> str:
        """A vocabulary with vectors that are aligned to English."""
        return f"{self.folder}/words/{captions}/muse/{language}.h5"

    def reduced_words(self, captions: str, reduction: str, language: str) -> str:
        """A smaller vocabulary, or one of smaller vectors."""
        return f"{self.folder}/words/{captions}/{reduction}/{language}.h5"

    def characters(self, captions: str, language: str) -> str:
        """A vocabulary's words as characters."""
        return f"{self.folder}/spelled/{captions}/{language}.h5"

    @property
    def bert(self) -> str:
        """The folder of the small BERT that is pretrained on the captions."""
        return f"{self.folder}/bert/model"

    def sentence_vectors(self, language: str) -> str:
        return f"{self.folder}/bert/{language}.h5"

    # Lessons.

    def part(self, part: str, language: str) -> str:
        return f"{self.folder}/parts/{part}/{language}.csv"

    def sampled_part(self, each: str, seed: str, part: str, language: str) -> str:
        """At most `each` captions of each image of a part."""
        return f"{self.folder}/parts/drawn/{each}-seed{seed}/{part}/{language}.csv"

    def halves(self, seed: str, suffix: str) -> str:
        """Halves of the training images; `suffix` is empty, or `-LANGUAGE` for halves of that language."""
        return f"{self.folder}/drawn/halves-seed{seed}{suffix}.csv"

    def selection_folder(self, experiment: str) -> str:
        """The folder of the captions, pairs and words of an experiment that selects its captions."""
        return f"{self.folder}/selected/{experiment}"


@dataclass(frozen=True)
class ModelFiles:
    """Files of an experiment's model with one seed."""

    scale: str
    dataset: str
    experiment: str
    seed: int | str

    @property
    def folder(self) -> str:
        return f"work/{self.scale}/{self.dataset}/experiments/{self.experiment}/seed{self.seed}"

    @property
    def model(self) -> str:
        return f"{self.folder}/model.pt"

    @property
    def curves(self) -> str:
        return f"{self.folder}/curves.csv"

    @property
    def pretrained(self) -> str:
        return f"{self.folder}/pretrained.pt"

    def evaluation(self, queries: str) -> str:
        return f"{self.folder}/test-{queries}.json"

    def ranks(self, queries: str) -> str:
        return f"{self.folder}/test-{queries}-ranks.csv.gz"

    @property
    def events(self) -> str:
        """The folder of TensorBoard's events."""
        return f"work/{self.scale}/tensorboard/{self.dataset}/{self.experiment}/seed{self.seed}"

    @property
    def index(self) -> str:
        """Its test images and captions, to search."""
        return f"{self.folder}/index.h5"


@dataclass(frozen=True)
class AssignmentFiles:
    """Files of an assignment of words to the latent vocabulary (SMALR), which experiments share.

    digest: digest of its settings without the seed (`assignment_settings`).
    """

    scale: str
    dataset: str
    digest: str
    seed: int | str

    @property
    def folder(self) -> str:
        return f"work/{self.scale}/{self.dataset}/assignments/{self.digest}/seed{self.seed}"

    @property
    def entries(self) -> str:
        """The entries of the latent vocabulary, and the entry of each word."""
        return f"{self.folder}/entries.pt"

    @property
    def table(self) -> str:
        """The assignment as a table: word, language, entry."""
        return f"{self.folder}/assignment.csv"
