"""The retrieval model: an image branch, a word embedding per language, shared or separate sentence branches.

| model         | languages | sentence branches |
|---------------|-----------|-------------------|
| EmbN          | one       | shared            |
| PARALLEL-EmbN | several   | separate          |
| MULE          | several   | shared            |

With the encoder `vse` they are VSE and order embeddings, PARALLEL-SYM and -ASYM, and the models of *Lessons*.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from pipeline.models.branches import RecurrentBranch, image_branch, sentence_branch, unit
from pipeline.models.universal import UniversalEmbedding, linear
from pipeline.words.corpus import Sentences


@dataclass
class Embedded:
    """Embeddings of one language's sentences.

    universal: u, (B, d) unit vectors, the mean of a sentence's universal word vectors.
    multimodal: s, (B, e) unit vectors, comparable with images.
    """

    universal: Tensor
    multimodal: Tensor


class RetrievalModel(nn.Module):
    """Image-sentence retrieval in one or more languages.

    Args:
        vectors: for each language its (V + 1, 300) initial word vectors, or (1, D) for sentence vectors.
        feature_size: D, size of the image features.
        branches: `shared`, one sentence branch for all languages, or `separate` (PARALLEL-EmbN).
        model: settings: encoder, word_vectors, universal, universal_layers, universal_mean, multimodal,
            recurrent, hidden, image_hidden, dropout, batch_norm_momentum; similarity, how a sentence and an
            image are compared: `cosine`, or `order`, for which no number of an embedding is negative.
        embedding: replaces the universal embedding of `vectors`, if given.
    """

    def __init__(
        self,
        vectors: Mapping[str, Tensor],
        feature_size: int,
        branches: str,
        model: Mapping[str, Any],
        embedding: UniversalEmbedding | None = None,
    ):
        super().__init__()
        self.universal = embedding or UniversalEmbedding(vectors, model)
        self.similarity: str = model["similarity"]
        self.reads_means = model["recurrent"] in ("mean", "mlp")
        keys = ["shared"] if branches == "shared" else self.languages
        word = next(iter(vectors.values())).shape[1]
        self.branches = nn.ModuleDict({key: sentence_branch(word, model) for key in keys})
        self.image_branch = image_branch(feature_size, model)
        self.classifier = linear(model["universal_dim"], len(self.languages))
        self.losses = nn.ModuleDict()  # weights of losses that have any; for training alone

    @property
    def languages(self) -> list[str]:
        """The languages, in the order of the classifier's outputs."""
        return self.universal.languages

    def embed_images(self, features: Tensor) -> Tensor:
        """Image features (n, D) to unit vectors (n, e)."""
        return self._comparable(self.image_branch(features))

    def embed_sentences(self, sentences: Mapping[str, Sentences]) -> dict[str, Embedded]:
        """Sentences of each language to their universal and multimodal embeddings.

        A shared branch sees the sentences of all languages in one call.
        """
        means = {language: self.universal.means(language, batch) for language, batch in sentences.items()}
        multimodal = self._read_means(means) if self.reads_means else self._read_words(sentences)
        return {
            language: Embedded(unit(means[language]), self._comparable(multimodal[language]))
            for language in sentences
        }

    def _comparable(self, vectors: Tensor) -> Tensor:
        return vectors.abs() if self.similarity == "order" else vectors

    def _read_means(self, means: Mapping[str, Tensor]) -> dict[str, Tensor]:
        if "shared" not in self.branches:
            return {language: self.branches[language](part) for language, part in means.items()}
        return _split(self.branches["shared"](torch.cat(list(means.values()))), means)

    def _read_words(self, sentences: Mapping[str, Sentences]) -> dict[str, Tensor]:
        if "shared" in self.branches:
            lengths = {language: batch.lengths for language, batch in sentences.items()}
            return _split(self._read_by("shared", sentences), lengths)
        return {language: self._read_by(language, {language: batch}) for language, batch in sentences.items()}

    def _read_by(self, key: str, sentences: Mapping[str, Sentences]) -> Tensor:
        """Unit vectors (B, e) of the sentences of all languages under one another, from one branch."""
        branch = self.branches[key]
        if isinstance(branch, RecurrentBranch) and branch.reads_prefix_tree():
            return branch.from_prefix_tree(*self.universal.distinct(sentences))
        embedded: Tensor = branch(*self.universal.unpadded(sentences))
        return embedded


def _split(rows: Tensor, parts: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Cut rows of all languages (all, e) into each language's, as many as its part has."""
    return dict(zip(parts, rows.split([len(part) for part in parts.values()]), strict=True))


def count_parameters(module: nn.Module) -> int:
    """Number of trainable numbers in a module."""
    return sum(parameter.numel() for parameter in module.parameters())
