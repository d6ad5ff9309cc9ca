"""A universal embedding that maps rare words of other languages to English words (SMALR, Section 4).

Such a word has no row in its language's table: it is read with the English word's vector and linear layer.

Sizes in comments: N words of B sentences, d universal size.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from pipeline.common.devices import to_device
from pipeline.models.universal import UniversalEmbedding
from pipeline.words.corpus import Sentences


class MappedEmbedding(UniversalEmbedding):
    """Words of every language in one space, some of them mapped to English words.

    Args:
        vectors: as `UniversalEmbedding` takes them, of the words that have their own.
        english: for each language the English rows of its other words, whose ids follow those of its own.
        model: settings, as of `UniversalEmbedding`.
    """

    def __init__(
        self, vectors: Mapping[str, Tensor], english: Mapping[str, Tensor], model: Mapping[str, Any]
    ):
        super().__init__(vectors, model)
        for language in self.languages:
            self.register_buffer(f"english_{language}", english[language].long())

    def words(self, language: str, ids: Tensor) -> Tensor:
        """Word ids (N,) of a language to universal word vectors (N, d)."""
        rows, own = self.get_buffer(f"english_{language}"), len(self[language].table.weight)
        if not len(rows):
            return super().words(language, ids)
        mapped = ids >= own
        vectors = self[language](ids.masked_fill(mapped, 0))
        by_english = self["en"](rows[(ids - own).clamp(min=0)])
        return torch.where(mapped[:, None], by_english, vectors)

    def means(self, language: str, sentences: Sentences) -> Tensor:
        """Mean universal word vector of each sentence, (B, d)."""
        if not len(self.get_buffer(f"english_{language}")):
            return super().means(language, sentences)
        device = sentences.ids.device
        real = torch.arange(sentences.ids.shape[1]) < sentences.lengths[:, None]
        vectors = self.words(language, sentences.ids[to_device(real, device)])
        of_sentence = to_device(torch.arange(len(real)).repeat_interleave(sentences.lengths), device)
        sums = vectors.new_zeros(len(real), vectors.shape[1]).index_add(0, of_sentence, vectors)
        return sums / to_device(sentences.lengths, device)[:, None]


def universal_embedding(
    vectors: Mapping[str, Tensor], english: Mapping[str, Tensor], model: Mapping[str, Any]
) -> UniversalEmbedding:
    """The universal embedding of some vocabularies; `english` is empty if no word is mapped to English."""
    return MappedEmbedding(vectors, english, model) if english else UniversalEmbedding(vectors, model)
