"""LIWE, sentences from characters (Wehrmann et al. 2019), a baseline in SMALR's Tables 1 and 2.

Sizes in comments: N words of B sentences, c characters of a word, e embedding size, n images.
"""

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm

from pipeline.common.devices import to_device
from pipeline.common.errors import raise_together
from pipeline.models import prefixes_gru
from pipeline.models.branches import LinearImageBranch, last_states, unit
from pipeline.models.prefixes import prefix_tree
from pipeline.models.protocols import Embedded, Sizes, Values, Vocabularies
from pipeline.models.retrieval_model import RetrievalModel, count_parameters, image_features
from pipeline.models.settings import Liwe, ModelSettings
from pipeline.models.universal import real_words
from pipeline.words.corpus import Sentences


class SpelledWords(nn.Module):
    """Words of every language from their characters, shared by all languages.

    A word's concatenated character vectors pass through layers that are 1x1 convolutions over the words of a
    sentence: weight-normalised, batch norm, LeakyReLU 0.1.

    Args:
        sizes: `words` of each language; `shared`, the number of characters, including 0, which is padding.
    """

    alphabet: Tensor

    def __init__(self, sizes: Sizes, liwe: Liwe):
        super().__init__()
        self.languages = list(sizes.words)
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

    def forward(self, sentences: Mapping[str, Sentences]) -> tuple[Tensor, Tensor]:
        """Vectors (N, d) of the words of all languages' sentences one after another, and word counts (B,)."""
        characters = []
        for language, batch in sentences.items():
            ids = to_device(batch.ids[real_words(batch.lengths, batch.ids.shape[1])], self.alphabet.device)
            characters.append(self.characters(self.get_buffer(_spelling(language))[ids]).flatten(1))
        vectors: Tensor = self.layers(torch.cat(characters))  # one batch norm over the words of all languages
        return vectors, torch.cat([batch.lengths for batch in sentences.values()])


class BidirectionalBranch(nn.Module):
    """Sentence branch: a bidirectional GRU whose two states at the last word are averaged, L2.

    The backward direction starts at the last word: its state there is a single step from zeros, so no other
    state is computed.
    """

    def __init__(self, size: int, hidden: int):
        super().__init__()
        self.recurrent = nn.GRU(size, hidden)
        self.backwards = nn.GRUCell(size, hidden)

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Vectors (N, d) of the words of B sentences, one after another, to unit vectors (B, hidden)."""
        last_words = words.index_select(0, to_device(lengths.cumsum(0) - 1, words.device))
        on_cpu = words.device.type == "cpu"
        forwards = self._by_tree(words, lengths) if on_cpu else last_states(self.recurrent, words, lengths)
        return unit((forwards + self.backwards(last_words)) / 2)

    def _by_tree(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Forward states (B, hidden) after the last words; all words are treated as distinct."""
        return prefixes_gru.last_states(self.recurrent, words, prefix_tree(torch.arange(len(words)), lengths))


class LiweModel(RetrievalModel):
    """Image-sentence retrieval in one or more languages, from characters."""

    def __init__(self, settings: ModelSettings, sizes: Sizes):
        super().__init__()
        liwe, hidden = _liwe(settings), settings.model.hidden_size
        self.spelled = SpelledWords(sizes, liwe)
        self.languages = self.spelled.languages
        self.similarity = "cosine"
        self.branches = nn.ModuleDict({"shared": BidirectionalBranch(liwe.layers[-1], hidden)})
        self.image_branch = LinearImageBranch(nn.Linear(sizes.features, hidden), unit_features=False)
        self.losses = nn.ModuleDict()

    @staticmethod
    def values(settings: ModelSettings, vocabularies: Vocabularies, pretrained: Path | None) -> Values:
        width = _liwe(settings).max_word_length
        raise_together(
            [
                f"{language}: words of {vocabulary.vectors.shape[1]} characters"
                for language, vocabulary in vocabularies.items()
                if vocabulary.vectors.shape[1] != width
            ],
            f"liwe.max_word_length is {width}. Encode the characters again:",
        )
        codes = {
            code: torch.from_numpy(vocabulary.vectors).long() for code, vocabulary in vocabularies.items()
        }
        points = torch.cat([table.flatten() for table in codes.values()]).unique()
        alphabet = torch.cat([points.new_zeros(1), points[points != 0]])
        spelling = {_spelling(code): torch.searchsorted(alphabet, table) for code, table in codes.items()}
        return {"spelled.alphabet": alphabet, **{f"spelled.{key}": value for key, value in spelling.items()}}

    @staticmethod
    def sizes(settings: ModelSettings, state: Mapping[str, Tensor]) -> Sizes:
        words = {code: len(state[f"spelled.{_spelling(code)}"]) for code in settings.languages}
        characters = len(state["spelled.alphabet"])
        return Sizes(words, _liwe(settings).max_word_length, image_features(state), characters)

    def copy_values(self, values: Values) -> None:
        self.load_state_dict(values, strict=False)

    def embed_images(self, features: Tensor) -> Tensor:
        vectors: Tensor = self.image_branch(features)
        return vectors

    def embed_sentences(self, sentences: Mapping[str, Sentences]) -> Embedded:
        vectors = self.branches["shared"](*self.spelled(sentences))
        return Embedded(vectors, vectors)

    def count(self) -> dict[str, int]:
        padding = self.spelled.characters.weight[0].numel()
        return {
            "sentences": count_parameters(self.spelled) - padding + count_parameters(self.branches),
            "images": count_parameters(self.image_branch),
        }


def _liwe(settings: ModelSettings) -> Liwe:
    assert settings.liwe, "the encoder is LIWE's"
    return settings.liwe


def _spelling(language: str) -> str:
    return f"spelling_{language}"
