"""The universal embedding: one word table and one linear layer per language (MULE, Figure 2, left half).

Multilingual vectors, which are already aligned, may share one linear layer.

Sizes in comments: B sentences, W words of the longest of them, d universal size.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from pipeline.common.devices import to_device
from pipeline.common.errors import InputError, raise_together
from pipeline.common.torch_files import read_torch
from pipeline.models.protocols import Embedding, Sizes, Values, Vocabularies, Words
from pipeline.models.settings import EmbeddingSettings
from pipeline.words.corpus import Sentences
from pipeline.words.vocabulary import Vocabulary


class LanguageWords(nn.Module):
    """One language's own word vectors, trained, and the layer that maps them into the universal embedding.

    Args:
        rows: of the table. vector: numbers of a word vector.
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
        """Word ids (N,) to universal word vectors (N, d). Padding gets the layer's bias."""
        projected: Tensor = self.projection(self.table(ids))
        return projected

    def drift(self) -> Tensor:
        """sum (E - E0)^2."""
        return F.mse_loss(self.table.weight, self.initial, reduction="sum")


class TableEmbedding(nn.Module, Embedding):
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

    def means(self, words: Words) -> Tensor:
        return words.means()

    def project(self, languages: Sequence[str], vectors: Tensor) -> Tensor:
        """Word vectors (L, M, 300) of L languages through their linear layers, in one product: (L, M, d)."""
        layers = [self[language].projection for language in languages]
        separate = [layer for layer in layers if isinstance(layer, nn.Linear) and layer is not layers[0]]
        if not separate:  # one language, one layer for all languages, or no layer
            projected: Tensor = layers[0](vectors)
            return projected
        weight = torch.stack([layer.get_parameter("weight") for layer in layers])
        bias = torch.stack([layer.get_parameter("bias") for layer in layers])
        return torch.baddbmm(bias[:, None], vectors, weight.mT)

    def projections(self) -> list[nn.Parameter]:
        """Weights of the linear layers: what pretraining trains."""
        layers = nn.ModuleList([self[language].projection for language in self.languages])
        return list(layers.parameters())  # the weights of a shared layer only once


class UniversalEmbedding(TableEmbedding):
    """A separate vector for each word of every language.

    The `model` settings: universal, d; universal_layers, `separate` for each language or one `shared` by all;
    universal_mean, what a sentence's mean is taken over: its `words`, or as in the authors' code the row
    `padded` to the longest training sentence of its language (`pad_to`), where padding's vector is trained as
    well; encoder, where it is `vse` there are no linear layers; word_vectors, the `pretrained` ones, or
    initialised from `scratch`.
    """

    padded_to: Tensor

    def __init__(self, settings: EmbeddingSettings, sizes: Sizes):
        super().__init__()
        model = settings.model
        self.languages = list(sizes.words)
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

    @staticmethod
    def values(settings: EmbeddingSettings, vocabularies: Vocabularies, pretrained: Path | None) -> Values:
        raise_together(
            [
                f"{language}: {len(vocabulary.english)} words"
                for language, vocabulary in vocabularies.items()
                if vocabulary.english is not None and len(vocabulary.english)
            ],
            "The vocabularies have words that are read as English, and the settings no `reduction`:",
        )
        tables = own_vectors(vocabularies)
        return tables | pretrained_layers(settings, tables, pretrained)

    @staticmethod
    def sizes(settings: EmbeddingSettings, state: Mapping[str, Tensor]) -> Sizes:
        tables = {language: state[f"{language}.table.weight"] for language in settings.languages}
        vector = tables[settings.languages[0]].shape[1]
        return Sizes({language: len(table) for language, table in tables.items()}, vector)

    def copy_values(self, values: Values) -> None:
        to_copy = {name: value for name, value in values.items() if not (self.scratch and ".table." in name)}
        self.load_state_dict(to_copy, strict=False)
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
        vectors = torch.stack([self[language].table(word_ids) for language, word_ids in ids.items()])
        return self.project(list(ids), vectors)

    def means(self, words: Words) -> Tensor:
        means = super().means(words)
        if not self.padded:
            return means
        zero = torch.zeros(1, dtype=torch.long, device=means.device)
        padding = as_float32(self.words(dict.fromkeys(self.languages, zero)))
        numbers = torch.tensor([self.languages.index(language) for language in words.sentences])
        counts = torch.tensor(list(words.sentences.values()))
        language = to_device(numbers.repeat_interleave(counts), means.device)  # (B,)
        count = to_device(words.lengths, means.device)
        # The share of a padded sentence that its words fill.
        share = count / torch.maximum(count, self.padded_to.index_select(0, language))
        return torch.lerp(padding[:, 0].index_select(0, language), means, share[:, None].to(means.dtype))

    def count(self) -> dict[str, int]:
        first = 0 if self.padded else 1  # padding's vector counts if it is trained
        tables = [self[language].table.weight[first:] for language in self.languages]
        layers = sum(weight.numel() for weight in self.projections())
        return {"words": sum(table.numel() for table in tables), "entries": 0, "layers": layers}


def read_words(embedding: TableEmbedding, sentences: Mapping[str, Sentences]) -> Words:
    """The words of sentences. A frozen sentence vector is the only word of its sentence.

    On a CPU, each distinct word of a language is computed once. A GPU computes every occurrence, since the
    CPU would wait for it to count the distinct words.
    """
    counts = {language: len(batch.lengths) for language, batch in sentences.items()}
    lengths = torch.cat([batch.lengths for batch in sentences.values()])
    if any(batch.vectors is not None for batch in sentences.values()):
        frozen = [embedding[language].projection(batch.vectors) for language, batch in sentences.items()]
        return Words(counts, lengths, torch.arange(len(lengths)), torch.cat(frozen))
    device = next(embedding.parameters()).device
    ids: list[Tensor] = []
    rows: list[Tensor] = []
    for batch in sentences.values():
        words = batch.ids[real_words(batch.lengths, batch.ids.shape[1])]  # sentence by sentence
        places = torch.arange(len(words))
        if device.type == "cpu":
            words, places = words.unique(return_inverse=True)
        rows.append(places + sum(map(len, ids)))
        ids.append(words)
    padded_ids = pad_sequence(ids, batch_first=True)  # (L, M)
    on_device = dict(zip(sentences, to_device(padded_ids, device), strict=True))
    vectors = embedding.words(on_device).flatten(0, 1)
    is_word = real_words(torch.tensor([len(words) for words in ids]), padded_ids.shape[1])
    if not is_word.all():
        vectors = vectors.index_select(0, to_device(is_word.flatten().nonzero()[:, 0], device))
    return Words(counts, lengths, torch.cat(rows), as_float32(vectors))


def real_words(lengths: Tensor, longest: int) -> Tensor:
    """Whether a place (B, longest) holds a word, not padding, from word counts (B,)."""
    return torch.arange(longest) < lengths[:, None]


def own_vectors(vocabularies: Vocabularies) -> Values:
    """Each language's table: the vectors of words that have their own; for sentence vectors padding's row."""
    rows = {
        language: 1 if vocabulary.unit != "word" else len(vocabulary.vectors) - len(english_rows(vocabulary))
        for language, vocabulary in vocabularies.items()
    }
    return {
        f"{language}.table.weight": torch.from_numpy(vocabulary.vectors[: rows[language]])
        for language, vocabulary in vocabularies.items()
    }


def english_rows(vocabulary: Vocabulary) -> Tensor:
    """The English rows of a language's last words, which have no vector of their own."""
    english = vocabulary.english
    return torch.empty(0, dtype=torch.long) if english is None else torch.from_numpy(english)


def pretrained_layers(settings: EmbeddingSettings, tables: Values, path: Path | None) -> Values:
    """Weights of the linear layers that read the tables, if they were pretrained.

    Raises:
        InputError: they have other languages or sizes.
    """
    if path is None:
        return {}
    layers = read_torch(path, "a pretrained embedding", "Delete it, then pretrain.")
    size = settings.model.universal_dim
    expected_shapes = {
        name.replace("table.weight", f"projection.{kind}"): shape
        for name, table in tables.items()
        for kind, shape in (("weight", (size, table.shape[1])), ("bias", (size,)))
    }
    found_shapes = {name: tuple(value.shape) for name, value in layers.items()}
    if found_shapes != expected_shapes:
        raise InputError(
            f"{path}: pretrained layers {found_shapes} do not fit the model's {expected_shapes}. "
            "Pretrain with the same languages and sizes."
        )
    return layers


def _from_scratch(rows: int, vector: int) -> Tensor:
    """Uniform between -0.1 and 0.1, as in the public code of VSE++; the padding's row is zeros."""
    table = torch.empty(rows, vector).uniform_(-0.1, 0.1)
    table[0] = 0
    return table


def linear(size: int, out: int) -> nn.Linear:
    """A linear layer with Glorot uniform weights and zero bias, as in the authors' framework."""
    layer = nn.Linear(size, out)
    nn.init.xavier_uniform_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer


def as_float32(vectors: Tensor) -> Tensor:
    """The same numbers, converted to float32 if they were bfloat16."""
    return vectors.float() if vectors.dtype == torch.bfloat16 else vectors
