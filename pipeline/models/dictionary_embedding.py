"""A universal embedding that maps rare words of other languages to English words (SMALR, Section 4).

A mapped word has no row in its language's table; it uses the English word's vector and linear layer.

Sizes in comments: M words of each of L languages, d universal size.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from pipeline.common.devices import to_device
from pipeline.models.embedding import Pretrained, Sizes, Vocabularies
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

    def begin(self, vocabularies: Vocabularies, pretrained: Pretrained) -> None:
        super().begin(vocabularies, pretrained)
        for language, vocabulary in vocabularies.items():
            if vocabulary.english is not None:
                self.get_buffer(_english(language)).copy_(torch.from_numpy(vocabulary.english))

    def words(self, ids: Mapping[str, Tensor]) -> Tensor:
        universal = []
        for language, word_ids in ids.items():
            rows, english = len(self[language].table.weight), self.get_buffer(_english(language))
            is_mapped = word_ids >= rows
            vectors = self[language](word_ids.masked_fill(is_mapped, 0))
            if len(english):
                by_english = self["en"](english[to_device((word_ids - rows).clamp(min=0), english.device)])
                vectors = torch.where(to_device(is_mapped, vectors.device)[:, None], by_english, vectors)
            universal.append(vectors)
        return torch.cat(universal)


def _english(language: str) -> str:
    return f"english_{language}"
