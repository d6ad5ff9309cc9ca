"""The hybrid embedding: frequent words have their own vectors, all others share latent entries.

SMALR, Section 3.1 (HEM; LA where no word has a vector of its own). A language's K most frequent words each
have a 50-dimensional vector, FastText's reduced by PCA, and one linear layer maps it to the universal
embedding. Every other word is represented by one entry of a latent vocabulary that all languages share;
pretraining decides which (`pipeline.training.assign`). The assignment is then fixed, while own vectors and
entries are trained.

Sizes in comments: N words, M of each of L languages; d universal size; K own words and V words of a language;
E entries.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from pipeline.common.devices import to_device
from pipeline.common.errors import InputError
from pipeline.models.embedding import Pretrained, Sizes, Vocabularies, real_words, table_parameters
from pipeline.models.settings import EmbeddingSettings
from pipeline.models.universal import LanguageWords, TableEmbedding
from pipeline.words.components import principal_components


@dataclass(frozen=True)
class WordRows:
    """Row of each word of one language, by word id: its own vector or an entry; padding, id 0, has none.

    own: (V + 1,) 1 to K, the more frequent the smaller, or 0. entry: (V + 1,) 1 to E, or 0.
    """

    own: Tensor
    entry: Tensor


class HybridWords(LanguageWords):
    """One language's own vectors, their linear layer, and the rows of its words.

    Args:
        words: V + 1. own: K, may be 0. vector: numbers of an own vector. size: d.
    """

    own: Tensor
    entry: Tensor

    def __init__(self, words: int, own_words: int, vector: int, size: int):
        super().__init__(own_words, vector, size if own_words else None, None)
        for name in ("own", "entry"):
            self.register_buffer(name, torch.zeros(words + 1, dtype=torch.long))  # one more id, for MASK


class HybridEmbedding(TableEmbedding):
    """Words of every language in one d-dimensional space, most of them through shared entries.

    The settings: `hybrid.frequent_dim`, dimension of a word's own vector; `masking`, which adds a MASK
    (`pipeline.models.losses.masking`), one vector for all languages.
    """

    def __init__(self, settings: EmbeddingSettings, sizes: Sizes):
        super().__init__(settings, sizes)
        hybrid = settings.hybrid
        assert hybrid, "the embedding is hybrid"
        self.masks, size = int(bool(settings.masking)), settings.model.universal_dim  # 0 or 1 MASK
        table = torch.zeros(sizes.shared + self.masks, size)  # padding, the entries, MASK
        if self.masks:
            nn.init.uniform_(table[-1], -0.1, 0.1)
        self.entries = nn.Embedding.from_pretrained(table, freeze=False, padding_idx=0)
        for language, words in sizes.words.items():
            own_words = min(hybrid.frequent_words, words - 1)
            self.add_module(language, HybridWords(words, own_words, hybrid.frequent_dim, size))

    def __getitem__(self, language: str) -> HybridWords:
        words = self.get_submodule(language)
        assert isinstance(words, HybridWords)
        return words

    @staticmethod
    def shared_vectors(vocabularies: Vocabularies, pretrained: Pretrained) -> int:
        if not pretrained:
            raise InputError("The hybrid embedding needs its assignment; run `assign` and give --pretrained.")
        return len(pretrained["entries"]) + 1

    @torch.no_grad()
    def begin(self, vocabularies: Vocabularies, pretrained: Pretrained) -> None:
        entries = pretrained["entries"]
        rows = {language: WordRows(**part) for language, part in pretrained["places"].items()}
        self.entries.weight[1 : len(entries) + 1] = entries  # MASK's vector stays random
        for language, vocabulary in vocabularies.items():
            words, places = self[language], rows[language]
            vectors = _own_vectors(torch.from_numpy(vocabulary.vectors), places, words.table.embedding_dim)
            words.table.weight.copy_(vectors)
            words.own[:-1] = places.own
            words.entry[:-1] = places.entry
            words.entry[-1] = self.masks * (len(entries) + 1)  # MASK's entry is the last one
        self.forget_initial()

    def mask_id(self, language: str) -> int:
        """The word id of MASK."""
        return len(self[language].own) - 1

    def words(self, ids: Mapping[str, Tensor]) -> Tensor:
        # Padded to the same number M of words, all languages share a few operators. Language by language, a
        # GPU would take longer to launch the operators than to compute them.
        languages, device = [self[language] for language in ids], self.entries.weight.device
        padded = pad_sequence(list(ids.values()), batch_first=True)  # (L, M)
        places = to_device(padded + _firsts([len(words.own) for words in languages]), device)
        own_row, entry_row = (
            torch.cat([words.get_buffer(kind) for words in languages])[places] for kind in ("own", "entry")
        )
        vectors = F.embedding(entry_row, self.entries.weight, padding_idx=0)  # (L, M, d)
        tables = [words.table.weight for words in languages]
        if sum(map(len, tables)):
            rows = (own_row - 1).clamp(min=0) + to_device(_firsts(list(map(len, tables))), device)
            weight, bias = (
                torch.stack([getattr(words.projection, name) for words in languages])
                for name in ("weight", "bias")
            )
            own = torch.baddbmm(bias[:, None], F.embedding(rows, torch.cat(tables)), weight.mT)
            vectors = torch.where(own_row[..., None] > 0, own, vectors)
        real = real_words(torch.tensor([len(words) for words in ids.values()]), padded.shape[1]).flatten()
        return vectors.flatten(0, 1).index_select(0, to_device(real.nonzero()[:, 0], device))

    def count(self) -> dict[str, int]:
        return super().count() | {"entries": table_parameters(self.entries)}


def _firsts(sizes: list[int]) -> Tensor:
    """Start (L, 1) of each of L consecutive blocks, from their sizes."""
    return (torch.tensor(sizes).cumsum(0) - torch.tensor(sizes))[:, None]


def _own_vectors(vectors: Tensor, rows: WordRows, size: int) -> Tensor:
    """(K, size) reduced vectors of the words that have their own, in the order of their rows."""
    ids = rows.own.nonzero()[:, 0]
    if not len(ids):
        return vectors.new_zeros(0, size)
    return principal_components(vectors[1:], size)[ids[rows.own[ids].argsort()] - 1]


def assignment(entries: Tensor, rows: Mapping[str, WordRows]) -> Pretrained:
    """What pretraining writes: the entries, and the rows of each language's words."""
    return {"entries": entries, "places": {language: vars(of_words) for language, of_words in rows.items()}}
