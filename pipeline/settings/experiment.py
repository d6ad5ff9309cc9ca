"""The settings of an experiment: what is trained, and in which settings it differs from the others."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field

from pipeline.common.block import Text
from pipeline.datasets.settings import LanguageCode
from pipeline.models.settings import (
    Branches,
    Embedding,
    Hybrid,
    Liwe,
    Losses,
    LossSwitches,
    Matching,
    Model,
    Reduction,
    Triplets,
    WordRegularizer,
)
from pipeline.training.settings import Assignment, Lessons, Pretraining, Resources, Training
from pipeline.words.settings import Captions, CaptionSelection


class LearningBlocks(Losses):
    """The blocks of the configuration that an experiment may override."""

    model: Model = Field(default_factory=Model)
    triplets: Triplets = Field(default_factory=Triplets)
    matching: Matching = Field(default_factory=Matching)
    liwe: Liwe = Field(default_factory=Liwe)
    word_regularizer: WordRegularizer = Field(default_factory=WordRegularizer)
    pretraining: Pretraining = Field(default_factory=Pretraining)
    hybrid: Hybrid = Field(default_factory=Hybrid)
    assignment: Assignment = Field(default_factory=Assignment)
    training: Training = Field(default_factory=Training)
    lessons: Lessons = Field(default_factory=Lessons)


# Keys of `training` that an experiment with `steps_of` takes from the other experiment.
SCHEDULE = ("epochs", "learning_rate", "learning_rate_decay")


class ExperimentKeys(LossSwitches):
    """What an experiment is, whatever its languages."""

    one_per_language: bool = False
    """whether there is one model per language, named `{experiment}-{language}`"""
    branches: Branches
    """shared or separate: one sentence branch for all languages, or one each"""
    vectors: Literal["fasttext", "muse", "bert", "characters"] = "fasttext"
    """fasttext (the default), muse (aligned across languages), bert (frozen sentence vectors) or characters
    (with encoder liwe)
    """
    captions: Captions
    """human (the data set's own), human+mt (and all translations between English and the others), mt (own
    captions in English, only translations from English in the others) or augmented (the data set's own, and
    translations from English until an image has five in each language)
    """
    reduction: Reduction | None = None
    """a smaller vocabulary (frequency-5+pca-50: both, in this order); default: the whole one"""
    selection: Annotated[dict[LanguageCode, CaptionSelection], Field(min_length=1)] | None = Field(
        default=None, title="the captions that an experiment of *Lessons* uses, by language"
    )
    c2c: bool = False
    """whether some steps use pairs of captions in two languages"""
    stop_on_each_language: bool = False
    """whether there is one model per language, trained on all languages and stopped on the recalls of its own
    """
    features: Text | None = None
    """a key of images.sets; default: the features of images itself"""
    pretraining: bool = False
    """LP of the MULE paper"""
    embedding: Embedding = "universal"
    """universal (the default), or hybrid (SMALR's HEM and LA, instead of one vector per word)"""
    steps_of: Text | None = None
    """an experiment whose number of steps and learning rates this one is trained with, whatever its own
    captions; default: its own
    """
    settings: dict[str, dict[str, Any]] = Field(default={})
    """blocks of the configuration in which this experiment differs, such as {training: {epochs: 3}}"""

    @property
    def one_for_each_language(self) -> bool:
        """Whether it has a model for each language, trained on that language or stopped on it."""
        return self.one_per_language or self.stop_on_each_language


LanguageList = Annotated[list[LanguageCode], Field(min_length=1)]


class Experiment(ExperimentKeys):
    """An experiment of the configuration."""

    languages: Literal["all"] | LanguageList | None = None
    """a list of some of the data set's languages, or all (including its translated_languages); default: its
    languages
    """
    not_comparable: Text | None = None
    """why claims about it cannot be tested by this configuration, such as its size; default: they can"""

    def contradictions(self) -> Iterator[str]:
        if "max_word_length" in self.settings.get("liwe", {}):
            yield (
                ".settings.liwe.max_word_length: words are spelled once for all experiments; set "
                "liwe.max_word_length instead"
            )
        if self.reduction and self.reduction.startswith("dictionary"):
            without_english = isinstance(self.languages, list) and "en" not in self.languages
            if self.one_per_language or without_english:
                yield f".reduction: {self.reduction} reads words as English, which the model has to have"
        if self.selection is not None:
            yield from self._of_selection(self.selection)

    def _of_selection(self, selection: dict[str, CaptionSelection]) -> Iterator[str]:
        """An experiment of *Lessons* reads the block `lessons` and little else."""
        languages = list(selection) if self.languages in (None, "all") else self.languages or []
        for code in languages:
            if code not in selection:
                yield f".selection: {code!r}, one of its languages, is missing"
        for code, captions in selection.items():
            if captions.captions_per_image and len(captions.parts) > 1:
                yield (
                    f".selection.{code}.captions_per_image: captions are sampled in each part, so an image "
                    "would have more; name one part, or leave the key out"
                )
        single = self.one_per_language or len(languages) < 2
        if single and self.c2c:
            yield ".c2c: pairs of captions are of two languages; the experiment has one"
        if not single and self.settings.get("lessons", {}).get("divide_learning_rate_every"):
            yield ".settings.lessons.divide_learning_rate_every: is for models of one language; leave it out"
        blocks = [block for block in self.settings if block not in ("model", "lessons", "training")]
        schedule = self.settings.get("training", {}).keys() - Resources.model_fields.keys()
        for key in (*blocks, *(f"training.{key}" for key in sorted(schedule))):
            yield f".settings.{key}: has no effect with a selection (its key is `lessons`); leave it out"


class DatasetExperiment(ExperimentKeys):
    """An experiment on a data set, with its languages in the data set's order."""

    languages: list[LanguageCode]
    stop_on: list[LanguageCode] | None = None
    """languages whose validation recalls end the training; default: all"""


def on_languages(
    experiment: Experiment, languages: list[str], stop_on: list[str] | None = None
) -> DatasetExperiment:
    """An experiment with the languages that it has on a data set."""
    keys = {key: getattr(experiment, key) for key in ExperimentKeys.model_fields}
    changed_keys = experiment.model_fields_set - {"languages"}
    return DatasetExperiment.model_construct(
        changed_keys | {"languages"}, **keys, languages=languages, stop_on=stop_on
    )
