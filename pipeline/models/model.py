"""The model of image-sentence retrieval: how it is built, starts, and is saved and loaded.

| model         | languages | sentence branches |
|---------------|-----------|-------------------|
| EmbN          | one       | shared            |
| PARALLEL-EmbN | several   | separate          |
| MULE          | several   | shared            |

With the encoder `vse` the models are VSE and order embeddings, PARALLEL-SYM and -ASYM, and the models of
*Lessons*; with `liwe` it is LIWE.

Sizes in comments: B sentences, n images, d universal size, e multimodal size, D numbers of an image's
features.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from pipeline.common.files import reading, require_file
from pipeline.common.torch_files import read_torch, write_torch
from pipeline.models.branches import image_branch, sentence_branch, unit
from pipeline.models.embedding import Sizes, Vocabularies, embedding_class, linear
from pipeline.models.settings import ModelSettings, SavedSettings
from pipeline.words.corpus import Sentences


@dataclass
class Embedded:
    """Embeddings of sentences, of one language after another.

    universal: u, (B, d) unit vectors, the mean of a sentence's universal word vectors.
    multimodal: s, (B, e) unit vectors, comparable with images.
    """

    universal: Tensor
    multimodal: Tensor


class RetrievalModel(nn.Module):
    """Image-sentence retrieval in one or more languages.

    The settings: branches, `shared`, one sentence branch for all languages, or `separate` (PARALLEL-EmbN);
    model; embedding and reduction, which select the embedding. `losses` are layers of losses, only for
    training.
    """

    def __init__(self, settings: ModelSettings, sizes: Sizes):
        super().__init__()
        model = settings.model
        self.sizes = sizes
        self.similarity = model.similarity
        self.universal = embedding_class(settings)(settings, sizes)
        self.languages = self.universal.languages  # in the order of the classifier's outputs
        keys = ["shared"] if settings.branches == "shared" else self.languages
        self.branches = nn.ModuleDict({key: sentence_branch(sizes.vector, settings) for key in keys})
        self.image_branch = image_branch(sizes.features, model)
        outputs = model.universal_dim, len(self.languages)
        self.classifier = linear(*outputs) if settings.classifier else None
        self.losses = nn.ModuleDict()

    def embed_images(self, features: Tensor) -> Tensor:
        """Image features (n, D) to unit vectors (n, e)."""
        return self._comparable(self.image_branch(features))

    def embed_sentences(self, sentences: Mapping[str, Sentences]) -> Embedded:
        """Sentences of each language to their embeddings, one language after another."""
        # A shared branch sees the sentences of all languages in one call.
        if "shared" in self.branches:
            return self._embed(self.branches["shared"], sentences)
        embedded = [self._embed(self.branches[key], {key: batch}) for key, batch in sentences.items()]
        return Embedded(
            torch.cat([language.universal for language in embedded]),
            torch.cat([language.multimodal for language in embedded]),
        )

    def count(self) -> dict[str, int]:
        """Numbers of trainable parameters by part.

        words: word vectors of single languages. entries: the latent vocabulary, with MASK. layers: from word
        vectors into the universal embedding. sentences, images: the branches that embed them. classifier: of
        languages. losses: layers of losses, which no saved model has.
        """
        counts = dict.fromkeys(("words", "entries", "layers", "sentences"), 0) | self.universal.count()
        counts["sentences"] += count_parameters(self.branches)
        parts = {"images": self.image_branch, "classifier": self.classifier, "losses": self.losses}
        return counts | {name: count_parameters(part) if part else 0 for name, part in parts.items()}

    def _comparable(self, vectors: Tensor) -> Tensor:
        """Vectors without negative numbers, as order embeddings need."""
        return vectors.abs() if self.similarity == "order" else vectors

    def _embed(self, branch: nn.Module, sentences: Mapping[str, Sentences]) -> Embedded:
        words = self.universal.read(sentences)
        return Embedded(unit(words.means), self._comparable(branch(words)))


def count_parameters(module: nn.Module) -> int:
    """Number of trainable parameters in a module."""
    return sum(parameter.numel() for parameter in module.parameters())


def new_model(
    settings: ModelSettings, vocabularies: Vocabularies, pretrained: Path | None, features: int
) -> RetrievalModel:
    """A model before its first step.

    Args:
        pretrained: output of the embedding's own pretraining, if it has any. features: D.
    """
    content = {}
    if pretrained:
        content = read_torch(pretrained, "a pretrained embedding", "Delete it and pretrain again.")
    shared = embedding_class(settings).shared_vectors(vocabularies, content)
    model = RetrievalModel(settings, Sizes.of(vocabularies, features, shared))
    model.universal.begin(vocabularies, content)
    return model


@dataclass
class ModelRecord:
    """Contents of a model file besides the weights and their sizes.

    settings: of the training. words: the words of each language whose vocabulary has words, not whole
    captions. features: attributes of the feature store, which say how photographs become features.
    tokenizers: versions of the packages that split each language's captions into words.
    epoch: the best epoch, from 1. validation: mR of each language on the validation split at that epoch.
    training_captions: number of its training images' captions, for each language by origin; the few without a
    known word, which training leaves out, count.
    training_translations: how many of them are added translations, for each pair of languages (`en-de`) by
    origin.
    training_steps: batches of the whole training, without pretraining. training_groups: images of each group
    that a batch draws from equally; a single group where images are not grouped.
    parameters: that were trained, layers of losses too. parameters_at_test: those left if the universal
    vectors of all words are precomputed (SMALR, Section 5).
    """

    settings: SavedSettings
    words: dict[str, list[str]]
    features: dict[str, Any]
    tokenizers: dict[str, dict[str, str]]
    epoch: int
    validation: dict[str, float]
    training_captions: dict[str, dict[str, int]]
    training_translations: dict[str, dict[str, int]]
    training_steps: int
    training_groups: list[int]
    parameters: int
    parameters_at_test: int


def save_model(path: Path, model: RetrievalModel, record: ModelRecord) -> None:
    """Write a model, completely or not at all."""
    weights = {name: value.cpu() for name, value in model.state_dict().items() if not _of_training(name)}
    if record.settings.model.saved_precision:
        weights = {
            name: value.half() if value.is_floating_point() else value for name, value in weights.items()
        }
    values = {**vars(record), "settings": record.settings.as_values(), "sizes": asdict(model.sizes)}
    # Through JSON: a pickle records which equal strings are one object, which a resumed run changes.
    write_torch({"weights": weights, **json.loads(json.dumps(values))}, path)


def load_model(path: Path) -> tuple[RetrievalModel, ModelRecord]:
    """Load a model on the CPU; raises `InputError` if the file is missing or damaged."""
    require_file(path, "the trained model", "Run its training.")
    what, hint = "a model of this project", "Delete it and train again."
    values = read_torch(path, what, hint)
    with reading(path, what, hint):
        weights, sizes = values.pop("weights"), Sizes(**values.pop("sizes"))
        settings = SavedSettings.model_validate(values.pop("settings"))
        model = RetrievalModel(settings, sizes)
        model.load_state_dict(model.state_dict() | weights)
        return model, ModelRecord(settings, **values)


def _of_training(name: str) -> bool:
    """Whether a tensor is needed only for training: initial word tables, weights of losses."""
    return name.endswith(".initial") or name.startswith("losses.")
