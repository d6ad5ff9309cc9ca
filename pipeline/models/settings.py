"""Settings of models and losses.

A loss that experiments switch on has its block here, a key of the same name in `Losses` and `ChosenLosses`,
and a switch in `LossSwitches`.
"""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from pipeline.common.block import Block, Count, Factor, Fraction, Number, Rate, Seed, Weight
from pipeline.datasets.settings import LanguageCode, Origins
from pipeline.images.settings import FeatureSettings

Hinge = Literal["sum", "max"]
Branches = Literal["shared", "separate"]
Embedding = Literal["universal", "hybrid"]
_AMOUNT = "[1-9][0-9]{0,8}"
Reduction = Annotated[
    str, Field(pattern=f"^((frequency|pca|dictionary)-{_AMOUNT}|frequency-{_AMOUNT}[+]pca-{_AMOUNT})$")
]


Encoder = Literal["embn", "vse", "liwe"]


class UniversalModel(Block):
    """The part of a model that pretraining trains: the universal embedding of words."""

    encoder: Encoder = "embn"
    """embn (MULE's), liwe (characters; with vectors: characters), or vse (a recurrent layer on word vectors,
    whose last state is the embedding; one linear layer for images)
    """
    word_vectors: Literal["pretrained", "scratch"] = "pretrained"
    """pretrained (those that the experiment names, fine-tuned), or scratch (initialised at random)"""
    universal_dim: Count = 512
    """size of the universal embedding of a word"""
    universal_layers: Literal["separate", "shared"] = "separate"
    """separate (a linear layer for each language) or shared (one for all)"""
    universal_mean: Literal["words", "padded"] = "words"
    """words, or padded (to the longest training sentence of the language, with a trained vector for padding)
    as in the authors' code
    """


class Model(UniversalModel):
    """Architecture and sizes of a model."""

    similarity: Literal["cosine", "order"] = "cosine"
    """cosine, or order (of order embeddings; only with ranking)"""
    multimodal_dim: Count = 512
    """size of the shared space of images and sentences"""
    recurrent: Literal["lstm", "gru", "gru_reset_before", "mean", "mlp"] = "lstm"
    """lstm, gru, gru_reset_before (TensorFlow's GRU, as in the authors' code), mlp (no recurrence: the mean
    of the words, and a hidden layer with ReLU), or mean (no recurrence, no hidden layer)
    """
    recurrent_init: Literal["pytorch", "tensorflow"] = "tensorflow"
    """initial weights of the recurrent layer: pytorch (uniform), or tensorflow (Glorot, forget gates open
    initially) as in the authors' code
    """
    hidden_size: Count = 1024
    """units of the recurrent layer, or of mlp's hidden layer"""
    image_hidden_size: Count = 2048
    """size of the hidden layer of the image branch"""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.5
    """fraction of the hidden units that a training step leaves out"""
    batch_norm_momentum: Factor = 0.1
    """PyTorch's momentum, the weight of a batch in the running mean and variance"""
    saved_precision: Literal["float16"] | None = None
    """float16: a model file of half the size; null: float32, as in training"""


class Triplets(Block):
    """How distances become a loss."""

    margin: Weight = 0.05
    """margin of the triplet loss"""
    num_hard_negatives: Count = 10
    """hardest negatives that each pair is compared with"""
    distance: Literal["euclidean", "cosine"] = "euclidean"
    """euclidean or cosine"""


class Matching(Block):
    """Weights of image-sentence matching (MULE, Equation 3)."""

    image: Weight = 1.5
    """weight of the image term: negative images of a sentence"""
    sentence: Weight = 1.0
    """weight of the sentence term: negative sentences of an image"""
    sentence_only: Weight = 0.05
    """weight of the sentence-only term: sentences of other images"""


class Ranking(Block):
    """The losses of VSE and related models, instead of `matching` in experiments with ranking: true."""

    margin: Weight = 0.2
    """margin of a hinge"""
    hinge: Hinge = "sum"
    """sum (over all negatives) or max (the hardest negative only)"""
    caption_caption: Weight = 0.0
    """weight of pairs of captions of one image (0: none)"""


class Neighborhood(Block):
    """Neighbourhood constraints (NC)."""

    weight: Weight = 1.0
    """weight of the constraints"""


class ClassifierWeight(Block):
    """The language classifier (LC), with its weight for one data set."""

    weight: Weight = 1.0e-6
    """weight of the language classifier's loss"""
    weight_applied: Literal["once", "twice"] = "once"
    """once, or twice as in the authors' code"""
    mean_over: Literal["sentences", "languages"] = "sentences"
    """sentences (a mean over all of a batch, in which a language with fewer of them weighs less), or
    languages (the mean of their means) as in the authors' code
    """


class Classifier(ClassifierWeight):
    """The language classifier (LC), for all data sets."""

    weights: dict[Literal["multi30k", "mscoco"], Weight] = Field(default={})
    """other weights for data sets, by the paper's data set that they stand for, such as {mscoco: 1.0e-5}"""


class Masking(Block):
    """Masked cross-language modelling (SMALR's MCLM), for experiments with masking: true."""

    mask_probability: Fraction = 0.2
    """fraction of the words that are masked"""
    weight: Weight = 1.0e-4
    """weight of the masked words' loss"""
    matching: Weight = 1.0
    """weight of the matching of masked sentences"""


class Losses(Block):
    """The losses that experiments switch on."""

    ranking: Ranking = Field(default_factory=Ranking)
    neighborhood: Neighborhood = Field(default_factory=Neighborhood)
    classifier: Classifier = Field(default_factory=Classifier)
    masking: Masking = Field(default_factory=Masking)


class LossSwitches(Block):
    """Which losses an experiment has."""

    ranking: bool = False
    """whether the losses of VSE and related models replace the matching loss of MULE's Equation 3"""
    neighborhood: bool = False
    """NC of the MULE paper"""
    classifier: bool = False
    """LC of the MULE paper"""
    masking: bool = False
    """SMALR's MCLM"""


class WordRegularizer(Block):
    """The penalty on word vectors that move."""

    weight: Weight = 5.0e-7
    """weight of the penalty"""
    regularize_toward: Literal["initial", "previous_epoch"] = "initial"
    """initial, or previous_epoch as in the authors' code"""


class Liwe(Block):
    """Sizes, loss and training schedule of LIWE (Wehrmann et al. 2019, from their public code)."""

    character_dim: Count = 24
    """size of a character's vector: 24 in S-LIWE, 120 in L-LIWE"""
    max_word_length: Count = 26
    """characters of a word that are read"""
    layers: Annotated[list[Count], Field(min_length=1)] = Field(default=[384, 448, 300])
    """sizes of the layers over a word's characters"""
    margin: Weight = 0.2
    """margin of a hinge"""
    image_base: Fraction = 0.991
    """b of k = 1 - b^step between captions and images"""
    caption_base: Fraction = 0.91
    """b of k = 1 - b^step between the captions of two languages"""
    learning_rate_decay_after: Count = 10_000
    """steps after which the learning rate drops"""
    learning_rate_decay: Factor = 0.1
    """factor by which the learning rate drops"""
    validate_every: Count = 500
    """steps between two validations"""


class Hybrid(Block):
    """The hybrid embedding of SMALR, for experiments with embedding: hybrid."""

    frequent_words: Number = 5000
    """most frequent words of a language that have vectors of their own, 0 for none"""
    frequent_dim: Count = 50
    """dimension of such a vector: principal components of the pretrained one"""
    latent_entries: Count = 40_000
    """entries of the latent vocabulary before unused ones are dropped"""


class Exploration(Block):
    """How a word chooses an entry of the latent vocabulary."""

    exploration: Fraction = 0.2
    """probability that a word is assigned a random one of its best entries"""
    top_m: Count = 20
    """M of the paper: entries of the latent vocabulary from which a word's is chosen"""
    gradient: Literal["straight_through", "softmax"] = "softmax"
    """how gradients pass the choice of an entry: straight_through or softmax (docs/smalr.md)"""
    pairs: Literal["all", "different"] = "all"
    """which sentences of an image are positives: all, or different (only those in different languages)"""


class Consistency(Block):
    """The network over the scores of a query and its translations (CLC)."""

    hidden: Count = 32
    """size of the hidden layer"""
    iterations: Count = 30
    """optimisation steps on the validation split"""
    learning_rate: Rate = 1.0e-2
    """learning rate of Adam; with 1e-3 the weights of the languages stay nearly equal"""
    initial_weight: Rate = 1.0
    """initial score where all languages score 1; 1 makes the initial score the mean"""


class ChosenLosses(Block):
    """The losses of one experiment, in the order in which their terms are added up; None for the others."""

    matching: Matching | None = None
    ranking: Ranking | None = None
    masking: Masking | None = None
    liwe: Liwe | None = None
    neighborhood: Neighborhood | None = None
    classifier: ClassifierWeight | None = None
    word_regularizer: WordRegularizer | None = None


class RunSettings(Block):
    """Which model is trained."""

    scale: str
    dataset: str
    experiment: str
    seed: Seed
    languages: list[LanguageCode]
    caption_origins: Origins
    max_caption_length: Count | None = None
    """tokens of a caption that are kept; null: all"""


class EmbeddingSettings(Block):
    """What an embedding of words is built from."""

    languages: list[LanguageCode]
    model: UniversalModel
    embedding: Embedding = "universal"
    reduction: Reduction | None = None
    hybrid: Hybrid | None = None
    masking: Masking | None = None


class ModelSettings(EmbeddingSettings, ChosenLosses):
    """What a model is built from, and its losses."""

    model: Model
    branches: Branches = "shared"
    triplets: Triplets | None = None


class SavedSettings(RunSettings, ModelSettings):
    """The settings of a training that a model file records: the keys that its readers need."""

    model_config = ConfigDict(extra="allow")

    features: FeatureSettings
