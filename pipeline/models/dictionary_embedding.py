"""A universal embedding that maps rare words of other languages to English words (SMALR, Section 4).

Such a word has no row in its language's table: it is read with the English word's vector and linear layer.

Sizes in comments: N words of B sentences, d universal size.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from pipeline.common.devices import to_device
from pipeline.models.protocols import Sizes, Values, Vocabularies
from pipeline.models.settings import EmbeddingSettings
from pipeline.models.universal import UniversalEmbedding, english_rows, own_vectors, pretrained_layers
from pipeline.words.corpus import Sentences


class DictionaryEmbedding(UniversalEmbedding):
    """Words of every language in one space, some of them mapped to English words.

    A language has the English rows of its words without a vector of their own, whose ids follow those of the
    others.
    """

    def __init__(self, settings: EmbeddingSettings, sizes: Sizes):
        super().__init__(settings, sizes)
        for language in self.languages:
            mapped = torch.zeros(sizes.mapped.get(language, 0), dtype=torch.long)
            self.register_buffer(_english(language), mapped)

    @staticmethod
    def values(settings: EmbeddingSettings, vocabularies: Vocabularies, pretrained: Path | None) -> Values:
        tables = own_vectors(vocabularies)
        english = {_english(language): english_rows(part) for language, part in vocabularies.items()}
        return tables | english | pretrained_layers(settings, tables, pretrained)

    @staticmethod
    def sizes(settings: EmbeddingSettings, state: Mapping[str, Tensor]) -> Sizes:
        own = UniversalEmbedding.sizes(settings, state)
        mapped = {language: len(state[_english(language)]) for language in own.words}
        words = {language: count + mapped[language] for language, count in own.words.items()}
        return replace(own, words=words, mapped=mapped)

    def words(self, language: str, ids: Tensor) -> Tensor:
        rows, own = self.get_buffer(_english(language)), len(self[language].table.weight)
        if not len(rows):
            return super().words(language, ids)
        mapped = ids >= own
        vectors = self[language](ids.masked_fill(mapped, 0))
        by_english = self["en"](rows[(ids - own).clamp(min=0)])
        return torch.where(mapped[:, None], by_english, vectors)

    def means(self, language: str, sentences: Sentences) -> Tensor:
        if not len(self.get_buffer(_english(language))):
            return super().means(language, sentences)
        device = sentences.ids.device
        real = torch.arange(sentences.ids.shape[1]) < sentences.lengths[:, None]
        vectors = self.words(language, sentences.ids[to_device(real, device)])
        of_sentence = to_device(torch.arange(len(real)).repeat_interleave(sentences.lengths), device)
        sums = vectors.new_zeros(len(real), vectors.shape[1]).index_add(0, of_sentence, vectors)
        return sums / to_device(sentences.lengths, device)[:, None]


def _english(language: str) -> str:
    return f"english_{language}"
