"""Settings of pretraining, training, assignment and *Lessons*' tasks, and of the stages that run them."""

from typing import Annotated, Literal

from pydantic import Field

from pipeline.common.block import LARGEST, Block, Count, Factor, Rate, Unique, Weight
from pipeline.datasets.settings import LanguageCode, Languages
from pipeline.images.settings import FeatureSettings
from pipeline.models.settings import (
    Consistency,
    EmbeddingSettings,
    Exploration,
    Hinge,
    Liwe,
    Model,
    ModelSettings,
    Reduction,
    RunSettings,
    Triplets,
)
from pipeline.translation.settings import TranslatorTraining
from pipeline.words.settings import Captions, SelectionRules


class Resources(Block):
    """What a training runs with."""

    threads: Count = 4
    """CPU threads of PyTorch, and CPU cores of the job"""
    deterministic: bool = False
    """whether only deterministic algorithms are used, also on a GPU (docs/architecture.md)"""
    precision: Literal["float32", "tf32"] = "float32"
    """float32, or on a GPU tf32"""


class Batches(Resources):
    """How batches are drawn and computed, in pretraining as in training."""

    epoch_unit: Literal["sentences", "images"] = "sentences"
    """what an epoch is a pass over: sentences (of the language with the most, as in the authors' code) or
    images
    """
    batch_images: Annotated[int, Field(ge=2, le=LARGEST)] = 450
    """images in a batch"""
    sentences_per_image: Count = 2
    """sentences of each image in a batch, for each language"""
    repeat_captions: bool = False
    """whether an image with fewer captions repeats them to reach sentences_per_image"""
    images_in_batch: Literal["distinct", "sampled_by_sentence"] = "distinct"
    """distinct, or sampled_by_sentence as in the authors' code"""


class TrainingSchedule(Batches):
    """How a model is trained."""

    epochs: Count = 20
    """passes over the training data, as training.epoch_unit counts them"""
    learning_rate: Rate = 1.0e-4
    """learning rate of Adam"""
    learning_rate_decay: Factor = 1.0
    """factor by which the learning rate is multiplied after each epoch"""
    max_grad_norm: Annotated[float | None, Field(gt=0)] = None
    """norm to which gradients are clipped, or null: no clipping"""


class Training(TrainingSchedule):
    """How models are trained."""

    image_groups: bool = True
    """whether images are sampled equally from the groups of a data set, if it has any"""


class TranslatorSettings(TranslatorTraining, Resources):
    """What the training of a translator depends on besides its captions."""


class Pretraining(Block):
    """Pretraining of the linear layers into the universal embedding (LP of the MULE paper)."""

    epochs: Count = 5
    """passes over the training data, as training.epoch_unit counts them"""
    learning_rate: Rate = 1.0e-4
    """learning rate of Adam"""
    sentences_per_image: Count | None = None
    """sentences of each image in a batch, for each language; null: as training.sentences_per_image"""


class Assignment(Exploration):
    """The assignment of words to entries, which is the hybrid embedding's pretraining."""

    epochs: Count = 5
    """passes over the training data, as training.epoch_unit counts them"""
    learning_rate: Rate = 1.0e-3
    """learning rate of Adam"""


class TaskTraining(Block):
    """The training of *Lessons*' experiments, task by task (Section 3)."""

    margin: Weight = 0.2
    """margin of a hinge"""
    hinge: Hinge = "max"
    """sum (over all negatives) or max (the hardest negative only, as in the paper)"""
    batch_size: Annotated[int, Field(ge=2, le=LARGEST)] = 128
    """captions, or pairs of captions, in a batch"""
    pair_step_probability: Factor = 0.5
    """probability of a step on caption pairs in experiments with c2c"""
    validate_every: Count = 500
    """steps between two validations of a multilingual model; a monolingual one is validated after each pass
    """
    patience: Count = 10
    """validations without improvement after which training ends"""
    max_steps: Count = 1_000_000
    """maximum number of steps; training lasts at least until the first validation"""
    learning_rate: Rate = 2.0e-4
    """learning rate of Adam"""
    divide_learning_rate_every: Annotated[int | None, Field(ge=1, le=LARGEST)] = None
    """passes after which the learning rate of a model of one language is divided by ten (15 in the public
    code), or null: constant; models of several languages have a constant learning rate
    """
    max_grad_norm: Annotated[float, Field(gt=0)] = 2.0
    """norm to which gradients are clipped"""
    lengths_in_pairs: Literal["correct", "reversed"] = "correct"
    """correct, or reversed (in a batch of pairs, the shortest caption is read as if it were as long as the
    longest) as in the public code
    """
    validated_by_fives: Annotated[list[LanguageCode], Unique] = Field(default=[])
    """languages whose validation assumes that five consecutive captions belong to one image, as the public
    code does for the languages that it calls en and de
    """


class Lessons(TaskTraining, SelectionRules):
    """Captions and training of the experiments with a `selection` of captions (*Lessons*, Section 3)."""


class DataSettings(RunSettings):
    """What pretraining, assignment and training all depend on."""

    captions: Captions
    groups: list[list[LanguageCode]]
    translated: Languages | None = None
    """languages whose captions are all translations"""
    reduction: Reduction | None = None


class PretrainSchedule(Batches):
    """How batches are drawn and computed in a pretraining, how long, and with which learning rate."""

    epochs: Count
    learning_rate: Rate


class PretrainSettings(DataSettings, EmbeddingSettings):
    """What the pretraining of one experiment depends on, and nothing else."""

    triplets: Triplets
    training: PretrainSchedule


class FrequentWords(Block):
    """The sizes of a hybrid embedding that its assignment depends on, as in `Hybrid`."""

    frequent_words: int
    latent_entries: Count


class AssignSettings(DataSettings):
    """What the assignment of words to the latent vocabulary depends on, and nothing else."""

    universal_dim: Count
    hybrid: FrequentWords
    assignment: Exploration
    triplets: Triplets
    training: PretrainSchedule


class TrainSettings(DataSettings, ModelSettings):
    """What the training of one experiment depends on, and nothing else; a model file records it."""

    features: FeatureSettings
    training: TrainingSchedule


class LessonsSettings(RunSettings, ModelSettings):
    """What the training of an experiment with a selection depends on; a model file records it."""

    features: FeatureSettings
    c2c: bool
    stop_on: list[LanguageCode]
    lessons: TaskTraining
    training: Resources


class ParameterSettings(Block):
    """What counting parameters depends on: the papers' sizes, whatever scale is run."""

    scale: str
    model: Model


class SmalrParameterSettings(Block):
    """What counting the parameters for ten languages depends on: the papers' sizes and the data set."""

    scale: str
    dataset: str
    model: Model
    liwe: Liwe
    consistency: Consistency
    hybrid: dict[str, TrainSettings]
