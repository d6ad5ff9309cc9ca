"""The models that read words: an image branch, a word embedding, shared or separate sentence branches.

| model         | languages | sentence branches |
|---------------|-----------|-------------------|
| EmbN          | one       | shared            |
| PARALLEL-EmbN | several   | separate          |
| MULE          | several   | shared            |

With the encoder `vse` the models are VSE and order embeddings, PARALLEL-SYM and -ASYM, and the models of
*Lessons*.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor, nn

from pipeline import registry
from pipeline.models.branches import RecurrentBranch, image_branch, sentence_branch, unit
from pipeline.models.protocols import Embedded, Sizes, Values, Vocabularies
from pipeline.models.retrieval_model import RetrievalModel, count_parameters, image_features
from pipeline.models.settings import ModelSettings
from pipeline.models.universal import TableEmbedding, linear, read_words
from pipeline.words.corpus import Sentences

PREFIX = "universal."  # prefix of the embedding's tensors


class WordModel(RetrievalModel):
    """Image-sentence retrieval in one or more languages, from words.

    The settings: branches, `shared`, one sentence branch for all languages, or `separate` (PARALLEL-EmbN);
    model; embedding and reduction, which select the embedding.
    """

    universal: TableEmbedding

    def __init__(self, settings: ModelSettings, sizes: Sizes):
        super().__init__()
        model = settings.model
        self.universal = _embedding(settings)(settings, sizes)
        self.similarity = model.similarity
        self.reads_means = model.recurrent in ("mean", "mlp")
        self.languages = self.universal.languages  # in the order of the classifier's outputs
        keys = ["shared"] if settings.branches == "shared" else self.languages
        self.branches = nn.ModuleDict({key: sentence_branch(sizes.vector, model) for key in keys})
        self.image_branch = image_branch(sizes.features, model)
        self.classifier = linear(model.universal_dim, len(self.languages))
        self.losses = nn.ModuleDict()

    @staticmethod
    def values(settings: ModelSettings, vocabularies: Vocabularies, pretrained: Path | None) -> Values:
        values = _embedding(settings).values(settings, vocabularies, pretrained)
        return {f"{PREFIX}{name}": value for name, value in values.items()}

    @staticmethod
    def sizes(settings: ModelSettings, state: Mapping[str, Tensor]) -> Sizes:
        sizes = _embedding(settings).sizes(settings, _of_embedding(state))
        return replace(sizes, features=image_features(state))

    def copy_values(self, values: Values) -> None:
        self.universal.copy_values(_of_embedding(values))

    def pad_to(self, longest: Mapping[str, int]) -> None:
        self.universal.pad_to(longest)

    def embed_images(self, features: Tensor) -> Tensor:
        return self._comparable(self.image_branch(features))

    def embed_sentences(self, sentences: Mapping[str, Sentences]) -> Embedded:
        # A shared branch sees the sentences of all languages in one call.
        if "shared" in self.branches:
            return self._embed(self.branches["shared"], sentences)
        embedded = [self._embed(self.branches[key], {key: batch}) for key, batch in sentences.items()]
        universal, multimodal = zip(
            *((language.universal, language.multimodal) for language in embedded), strict=True
        )
        return Embedded(torch.cat(universal), torch.cat(multimodal))

    def count(self) -> dict[str, int]:
        branches = {
            "sentences": count_parameters(self.branches),
            "images": count_parameters(self.image_branch),
            "classifier": count_parameters(self.classifier),
        }
        return self.universal.count() | branches

    def _comparable(self, vectors: Tensor) -> Tensor:
        """Vectors without negative numbers, as order embeddings need."""
        return vectors.abs() if self.similarity == "order" else vectors

    def _embed(self, branch: nn.Module, sentences: Mapping[str, Sentences]) -> Embedded:
        words = read_words(self.universal, sentences)
        means = self.universal.means(words)
        if self.reads_means:
            multimodal = branch(means)
        elif isinstance(branch, RecurrentBranch) and branch.reads_prefix_tree():
            multimodal = branch.from_prefix_tree(words)
        else:
            multimodal = branch(words.in_order(), words.lengths)
        return Embedded(unit(means), self._comparable(multimodal))


def _embedding(settings: ModelSettings) -> type[TableEmbedding]:
    embedding: type[TableEmbedding] = registry.load(registry.embedding(settings))
    return embedding


def _of_embedding(state: Mapping[str, Tensor]) -> Values:
    return {name.removeprefix(PREFIX): value for name, value in state.items() if name.startswith(PREFIX)}
