"""The universal embedding: one word table and one linear layer per language (MULE, Figure 2, left half).

Multilingual vectors, which are already aligned, may share one linear layer.

Sizes in comments: B sentences, W words of the longest of them, d universal size.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pipeline.common.devices import to_device
from pipeline.words.corpus import Sentences


class WordEmbedding(nn.Module):
    """One language's word table and its linear layer into the universal embedding.

    Args:
        vectors: (V + 1, 300) initial word vectors; row 0 is padding.
        size: d, size of the universal embedding; None: no linear layer, the word vectors themselves are used.
        padding: row of the table that is not trained, 0; None if padding is treated like a word.
    """

    initial: Tensor

    def __init__(self, vectors: Tensor, size: int | None, padding: int | None):
        super().__init__()
        self.table = nn.Embedding.from_pretrained(vectors.clone(), freeze=False, padding_idx=padding)
        self.projection = linear(vectors.shape[1], size) if size else nn.Identity()
        self.register_buffer("initial", vectors.clone())

    def forward(self, ids: Tensor) -> Tensor:
        """Word ids (N,) to universal word vectors (N, d). Padding gets the layer's bias."""
        projected: Tensor = self.projection(self.table(ids))
        return projected

    def drift(self) -> Tensor:
        """1/2 sum (E - E0)^2, the regulariser against forgetting (MULE, implementation details)."""
        return 0.5 * F.mse_loss(self.table.weight, self.initial, reduction="sum")


class UniversalEmbedding(nn.Module):
    """Words of every language in one d-dimensional space.

    Args:
        vectors: for each language its (V + 1, 300) initial word vectors; where frozen sentence vectors are
            read instead, padding alone, (1, D).
        model: settings: universal, d; universal_layers, `separate` for each language or one `shared` by all;
            universal_mean, what a sentence's mean is taken over: its `words`, or as in the authors' code the
            row `padded` to the longest training sentence (`pad_to`), where padding's vector is trained as
            well; encoder, where it is `vse` there are no linear layers; word_vectors, the `pretrained` ones,
            or initialised from `scratch`.
    """

    padded_to: Tensor

    def __init__(self, vectors: Mapping[str, Tensor], model: Mapping[str, Any]):
        super().__init__()
        self.languages = list(vectors)
        self.padded = model["universal_mean"] == "padded"
        if self.padded:
            self.register_buffer("padded_to", torch.tensor(1))
        size = None if model["encoder"] == "vse" else model["universal_dim"]
        for language, table in vectors.items():
            begun = table if model["word_vectors"] == "pretrained" else _from_scratch(table)
            self.add_module(language, WordEmbedding(begun, size, None if self.padded else 0))
        if model["universal_layers"] == "shared":
            for language in self.languages[1:]:
                self[language].projection = self[self.languages[0]].projection

    def __getitem__(self, language: str) -> WordEmbedding:
        embedding = self.get_submodule(language)
        assert isinstance(embedding, WordEmbedding)
        return embedding

    def pad_to(self, longest: int) -> None:
        """Pad means to `longest` words, those of the longest training sentence, if padding counts in them.

        A longer sentence, which training never saw, is its own row.
        """
        if self.padded:
            self.padded_to.fill_(longest)

    def words(self, language: str, ids: Tensor) -> Tensor:
        """Word ids (N,) of a language to universal word vectors (N, d)."""
        found: Tensor = self[language](ids)
        return found

    def means(self, language: str, sentences: Sentences) -> Tensor:
        """Mean universal word vector of each sentence, (B, d), or its sentence vector; its unit vector is u.

        The mean is taken before the linear layer, which gives the same result at a fraction of the cost.
        """
        mean = sentences.vectors
        if mean is None:
            table = self[language].table.weight
            mean = self._padded_mean(table, sentences) if self.padded else _mean(table, sentences)
        projected: Tensor = self[language].projection(mean)
        return projected

    def _padded_mean(self, table: Tensor, sentences: Sentences) -> Tensor:
        words = F.embedding_bag(sentences.ids, table, mode="sum", padding_idx=0)  # (B, 300)
        count = (sentences.ids != 0).sum(1, keepdim=True)
        row = torch.maximum(count, self.padded_to)
        mean: Tensor = (words + (row - count) * table[0]) / row
        return mean

    def unpadded(self, sentences: Mapping[str, Sentences]) -> tuple[Tensor, Tensor]:
        """The words of all sentences of all languages, concatenated without padding: vectors (N, d).

        And the word counts (B,) of the sentences, on the CPU.
        """
        words = []
        for language, batch in sentences.items():
            places = _real_words(batch.lengths, batch.ids.shape[1])
            words.append(self.words(language, batch.ids.flatten()[to_device(places, batch.ids.device)]))
        return torch.cat(words), torch.cat([batch.lengths for batch in sentences.values()])

    def distinct(self, sentences: Mapping[str, Sentences]) -> tuple[Tensor, Tensor, Tensor]:
        """The same, each word computed once: vectors (U, d) of the words that occur, ids (B, W), counts (B,).

        The ids are rows of the vectors. Padding is among the words.
        """
        vectors: list[Tensor] = []
        rows: list[Tensor] = []
        longest = max(batch.ids.shape[1] for batch in sentences.values())
        for language, batch in sentences.items():
            words, ids = batch.ids.unique(return_inverse=True)
            rows.append(F.pad(ids + sum(map(len, vectors)), (0, longest - ids.shape[1])))
            vectors.append(self.words(language, words))
        return torch.cat(vectors), torch.cat(rows), torch.cat([batch.lengths for batch in sentences.values()])

    def drift(self) -> Tensor:
        """Mean over languages of 1/2 sum (E - E0)^2."""
        return torch.stack([self[language].drift() for language in self.languages]).mean()

    @torch.no_grad()
    def forget_initial(self) -> None:
        """Make the current tables E0 (as the authors' code does after each epoch)."""
        for language in self.languages:
            self[language].initial.copy_(self[language].table.weight)

    def projections(self) -> list[nn.Parameter]:
        """Weights of the linear layers: what pretraining trains."""
        layers = nn.ModuleList([self[language].projection for language in self.languages])
        return list(layers.parameters())  # a shared layer's weights once


def _mean(table: Tensor, sentences: Sentences) -> Tensor:
    words = F.embedding_bag(sentences.ids, table, mode="sum", padding_idx=0)  # (B, 300)
    return words / to_device(sentences.lengths, table.device)[:, None]


def _real_words(lengths: Tensor, longest: int) -> Tensor:
    """Positions (N,) of words other than padding in flattened ids (B * longest,), sentence by sentence."""
    return torch.nonzero((torch.arange(longest) < lengths[:, None]).flatten())[:, 0]


def _from_scratch(vectors: Tensor) -> Tensor:
    """Uniform between -0.1 and 0.1, as in the public code of VSE++; the padding's row is zeros."""
    begun = torch.empty_like(vectors).uniform_(-0.1, 0.1)
    begun[0] = 0
    return begun


def linear(size: int, out: int) -> nn.Linear:
    """A linear layer with Glorot uniform weights and zero bias, as in the authors' framework."""
    layer = nn.Linear(size, out)
    nn.init.xavier_uniform_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer
