"""The embedding of LIWE: words from their characters (Wehrmann et al. 2019).

Sizes in comments: N words of B sentences, d size of a word's vector.
"""

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm

from pipeline.common.devices import to_device
from pipeline.models.embedding import (
    Embedding,
    Pretrained,
    Sizes,
    Vocabularies,
    Words,
    real_words,
    sentence_means,
    table_parameters,
)
from pipeline.models.settings import EmbeddingSettings, ModelSettings
from pipeline.words.corpus import Sentences


class SpelledWords(Embedding):
    """Words of every language from their characters, shared by all languages.

    A word's concatenated character vectors pass through layers that are 1x1 convolutions over the words of a
    sentence: weight-normalised, batch norm, LeakyReLU 0.1. Characters include 0, which is padding.
    """

    alphabet: Tensor

    def __init__(self, settings: EmbeddingSettings, sizes: Sizes):
        super().__init__(settings, sizes)
        assert isinstance(settings, ModelSettings) and settings.liwe
        liwe = settings.liwe
        self.register_buffer("alphabet", torch.zeros(sizes.shared, dtype=torch.long))
        for language, words in sizes.words.items():
            self.register_buffer(
                _spelling(language), torch.zeros(words, liwe.max_word_length, dtype=torch.long)
            )
        self.characters = nn.Embedding(sizes.shared, liwe.character_dim, padding_idx=0)
        width, modules = liwe.character_dim * liwe.max_word_length, list[nn.Module]()
        for out in liwe.layers:
            modules += [weight_norm(nn.Linear(width, out)), nn.BatchNorm1d(out), nn.LeakyReLU(0.1)]
            width = out
        self.layers = nn.Sequential(*modules)

    @staticmethod
    def shared_vectors(vocabularies: Vocabularies, pretrained: Pretrained) -> int:
        return len(_alphabet(vocabularies))

    def begin(self, vocabularies: Vocabularies, pretrained: Pretrained) -> None:
        self.alphabet.copy_(_alphabet(vocabularies))
        for language, vocabulary in vocabularies.items():
            codes = torch.from_numpy(vocabulary.vectors).long()
            self.get_buffer(_spelling(language)).copy_(torch.searchsorted(self.alphabet, codes))

    def read(self, sentences: Mapping[str, Sentences]) -> Words:
        characters = []
        for language, batch in sentences.items():
            ids = to_device(batch.ids[real_words(batch.lengths, batch.ids.shape[1])], self.alphabet.device)
            characters.append(self.characters(self.get_buffer(_spelling(language))[ids]).flatten(1))
        vectors = self.layers(torch.cat(characters))  # one batch norm over the words of all languages
        lengths, rows = torch.cat([batch.lengths for batch in sentences.values()]), torch.arange(len(vectors))
        return Words(lengths, rows, vectors, sentence_means(lengths, rows, vectors))

    def count(self) -> dict[str, int]:
        layers = sum(weight.numel() for weight in self.layers.parameters())
        return {"sentences": table_parameters(self.characters) + layers}


def _alphabet(vocabularies: Vocabularies) -> Tensor:
    """Code points of all characters, ascending; the first is 0, which is padding."""
    codes = torch.cat([torch.from_numpy(part.vectors).long().flatten() for part in vocabularies.values()])
    return torch.cat([codes.new_zeros(1), codes[codes != 0].unique()])


def _spelling(language: str) -> str:
    return f"spelling_{language}"
