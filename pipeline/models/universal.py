"""The universal embedding: one word table and one linear layer per language (MULE, Figure 2, left half).

Multilingual vectors, which are already aligned, may share one linear layer.

Sizes in comments: B sentences, W words of the longest of them, d universal size.
"""

from abc import abstractmethod
from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pipeline.common.devices import to_device
from pipeline.models.embedding import (
    Embedding,
    Pretrained,
    Sizes,
    Vocabularies,
    Words,
    linear,
    real_words,
    sentence_means,
    table_parameters,
)
from pipeline.models.settings import EmbeddingSettings
from pipeline.words.corpus import Sentences


class LanguageWords(nn.Module):
    """One language's own word vectors, trained, and the layer that maps them into the universal embedding.

    Args:
        rows: of the table. vector: size of a word vector.
        size: d, size of the universal embedding; None: no layer, the word vectors themselves are used.
        padding: row of the table that is not trained; None if there is none.
        scratch: whether the vectors are initialised at random.
    """

    initial: Tensor

    def __init__(self, rows: int, vector: int, size: int | None, padding: int | None, scratch: bool = False):
        super().__init__()
        # No random numbers are drawn for a table whose values are copied in afterwards.
        table = _from_scratch(rows, vector) if scratch else torch.zeros(rows, vector)
        self.table = nn.Embedding.from_pretrained(table, freeze=False, padding_idx=padding)
        self.projection = linear(vector, size) if size else nn.Identity()
        self.register_buffer("initial", table.clone())

    def forward(self, ids: Tensor) -> Tensor:
        """Word ids (N,), also of another device, to universal word vectors (N, d); padding's is the bias."""
        projected: Tensor = self.projection(self.table(to_device(ids, self.table.weight.device)))
        return projected

    def drift(self) -> Tensor:
        """sum (E - E0)^2."""
        return F.mse_loss(self.table.weight, self.initial, reduction="sum")


class TableEmbedding(Embedding):
    """An embedding that has a table of vectors for each language."""

    def __getitem__(self, language: str) -> LanguageWords:
        words = self.get_submodule(language)
        assert isinstance(words, LanguageWords)
        return words

    def drift(self) -> Tensor:
        """Mean over languages of 1/2 sum (E - E0)^2 (MULE, "Implementation Details")."""
        return 0.5 * torch.stack([self[language].drift() for language in self.languages]).mean()

    @torch.no_grad()
    def forget_initial(self) -> None:
        """Make the current tables E0 (as the authors' code does after each epoch)."""
        for language in self.languages:
            self[language].initial.copy_(self[language].table.weight)

    @abstractmethod
    def words(self, ids: Mapping[str, Tensor]) -> Tensor:
        """Universal vectors (N, d) of words of each language, one language after another.

        Args:
            ids: on the CPU.
        """

    def read(self, sentences: Mapping[str, Sentences]) -> Words:
        """The words of sentences. A frozen sentence vector is the only word of its sentence.

        On a CPU, each distinct word of a language is computed once. A GPU computes every occurrence, since
        the CPU would wait for it to count the distinct words.
        """
        lengths = torch.cat([batch.lengths for batch in sentences.values()])
        if any(batch.vectors is not None for batch in sentences.values()):
            frozen = [self[language].projection(batch.vectors) for language, batch in sentences.items()]
            vectors = torch.cat(frozen)
            return Words(lengths, torch.arange(len(lengths)), vectors, vectors)
        device = next(self.parameters()).device
        ids: list[Tensor] = []
        rows: list[Tensor] = []
        for batch in sentences.values():
            words = batch.ids[real_words(batch.lengths, batch.ids.shape[1])]  # sentence by sentence
            places = torch.arange(len(words))
            if device.type == "cpu":
                words, places = words.unique(return_inverse=True)
            rows.append(places + sum(map(len, ids)))
            ids.append(words)
        vectors, places = self.words(dict(zip(sentences, ids, strict=True))), torch.cat(rows)
        means = sentence_means(lengths, places, vectors)
        return Words(lengths, places, vectors, self.means(sentences, means))

    def means(self, sentences: Mapping[str, Sentences], means: Tensor) -> Tensor:
        """The mean of each sentence (B, d), given that of its words."""
        return means

    def projections(self) -> list[nn.Parameter]:
        """Weights of the linear layers: what pretraining trains."""
        layers = nn.ModuleList([self[language].projection for language in self.languages])
        return list(layers.parameters())  # the weights of a shared layer only once

    def count(self) -> dict[str, int]:
        tables = {self[language].table for language in self.languages}  # a shared table only once
        layers = sum(weight.numel() for weight in self.projections())
        return {"words": sum(map(table_parameters, tables)), "layers": layers}


class UniversalEmbedding(TableEmbedding):
    """A separate vector for each word of every language.

    The `model` settings: universal_dim, d; universal_layers, `separate` or one `shared` by all languages;
    universal_mean, what a sentence's mean is taken over: its `words`, or as in the authors' code the row
    `padded` to the longest training sentence of its language (`pad_to`), where padding's vector is trained as
    well; encoder, where it is `vse` there are no linear layers; word_vectors, the `pretrained` ones, or
    initialised from `scratch`.
    """

    padded_to: Tensor

    def __init__(self, settings: EmbeddingSettings, sizes: Sizes):
        super().__init__(settings, sizes)
        model = settings.model
        self.padded = model.universal_mean == "padded"
        self.scratch = model.word_vectors == "scratch"
        if self.padded:
            self.register_buffer("padded_to", torch.ones(len(self.languages), dtype=torch.long))
        size = None if model.encoder == "vse" else model.universal_dim
        padding = None if self.padded else 0
        for language, words in sizes.words.items():
            rows = words - sizes.mapped_words.get(language, 0)
            self.add_module(language, LanguageWords(rows, sizes.vector, size, padding, self.scratch))
        if model.universal_layers == "shared":
            for language in self.languages[1:]:
                self[language].projection = self[self.languages[0]].projection

    @torch.no_grad()
    def begin(self, vocabularies: Vocabularies, pretrained: Pretrained) -> None:
        if not self.scratch:
            for language, vocabulary in vocabularies.items():
                table = self[language].table.weight
                table.copy_(torch.from_numpy(vocabulary.vectors[: len(table)]))
        self.load_state_dict(self.state_dict() | dict(pretrained))
        self.forget_initial()

    def share_table(self) -> None:
        """Make all languages read one word table."""
        for language in self.languages[1:]:
            self[language].table = self[self.languages[0]].table

    def pad_to(self, longest: Mapping[str, int]) -> None:
        """Pad a language's means to the words of its longest training sentence, if padding counts in them.

        A longer sentence, which does not occur in training, is not padded.
        """
        if self.padded:
            self.padded_to.copy_(torch.tensor([longest[language] for language in self.languages]))

    def words(self, ids: Mapping[str, Tensor]) -> Tensor:
        return torch.cat([self[language](word_ids) for language, word_ids in ids.items()])

    def means(self, sentences: Mapping[str, Sentences], means: Tensor) -> Tensor:
        if not self.padded:
            return means
        zero = torch.zeros(1, dtype=torch.long)
        padding = self.words(dict.fromkeys(self.languages, zero))  # (L, d)
        numbers = torch.tensor([self.languages.index(language) for language in sentences])
        lengths = [batch.lengths for batch in sentences.values()]
        counts = torch.tensor(list(map(len, lengths)))
        language = to_device(numbers.repeat_interleave(counts), means.device)  # (B,)
        count = to_device(torch.cat(lengths), means.device)
        # The share of a padded sentence that its words fill.
        share = count / torch.maximum(count, self.padded_to.index_select(0, language))
        return torch.lerp(padding.index_select(0, language), means, share[:, None].to(means.dtype))


def _from_scratch(rows: int, vector: int) -> Tensor:
    """Uniform between -0.1 and 0.1, as in the public code of VSE++; the padding's row is zeros."""
    table = torch.empty(rows, vector).uniform_(-0.1, 0.1)
    table[0] = 0
    return table
