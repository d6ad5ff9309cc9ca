"""A universal embedding that maps rare words of other languages to English words (SMALR, Section 4).

A mapped word has no row in its language's table; it uses the English word's vector and linear layer.

Sizes in comments: M words of each of L languages, d universal size.
"""

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from pipeline.models.embedding import Sizes, Vocabularies
from pipeline.models.settings import EmbeddingSettings
from pipeline.models.universal import UniversalEmbedding


class DictionaryEmbedding(UniversalEmbedding):
    """Words of every language in one space, some of them mapped to English words.

    For words without their own vector, a language has the rows of the English words; their ids come last.
    """

    def __init__(self, settings: EmbeddingSettings, sizes: Sizes):
        super().__init__(settings, sizes)
        for language in self.languages:
            english = torch.zeros(sizes.mapped_words.get(language, 0), dtype=torch.long)
            self.register_buffer(_english(language), english)

    def begin(self, vocabularies: Vocabularies, pretrained: Path | None) -> None:
        super().begin(vocabularies, pretrained)
        for language, vocabulary in vocabularies.items():
            if vocabulary.english is not None:
                self.get_buffer(_english(language)).copy_(torch.from_numpy(vocabulary.english))

    def words(self, ids: Mapping[str, Tensor]) -> Tensor:
        rows_of = {language: len(self[language].table.weight) for language in ids}
        is_mapped = {language: word_ids >= rows_of[language] for language, word_ids in ids.items()}
        vectors = super().words(
            {language: word_ids.masked_fill(is_mapped[language], 0) for language, word_ids in ids.items()}
        )
        universal = []
        for (language, word_ids), universal_vectors in zip(ids.items(), vectors, strict=True):
            rows = self.get_buffer(_english(language))
            if len(rows):
                by_english = self["en"](rows[(word_ids - rows_of[language]).clamp(min=0)])
                universal_vectors = torch.where(is_mapped[language][:, None], by_english, universal_vectors)
            universal.append(universal_vectors)
        return torch.stack(universal)


def _english(language: str) -> str:
    return f"english_{language}"
