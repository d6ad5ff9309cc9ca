"""LIWE, sentences from characters (Wehrmann et al. 2019), a baseline in SMALR's Tables 1 and 2.

Sizes in comments: N words of B sentences, c characters of a word, e embedding size, n images.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm

from pipeline.common.devices import to_device
from pipeline.models.branches import packed_states, unit
from pipeline.models.prefixes import prefix_tree
from pipeline.models.prefixes_gru import last_states
from pipeline.models.retrieval_model import Embedded, RetrievalModel
from pipeline.words.corpus import Sentences


class SpelledWords(nn.Module):
    """Words of every language from their characters, shared by all languages.

    A word's concatenated character vectors pass through layers that are 1x1 convolutions over the words of a
    sentence: weight-normalised, batch norm, LeakyReLU 0.1.

    Args:
        codes: for each language the code points of its words, (V + 1, c); 0 is no character.
        sizes: settings `liwe`: `characters`, size of a character's vector; `layers`, sizes of the layers.
    """

    alphabet: Tensor

    def __init__(self, codes: Mapping[str, Tensor], sizes: Mapping[str, Any]):
        super().__init__()
        self.languages = list(codes)
        points = torch.cat([table.flatten() for table in codes.values()]).long().unique()
        self.register_buffer("alphabet", torch.cat([points.new_zeros(1), points[points != 0]]))
        for language, table in codes.items():
            self.register_buffer(f"spelling_{language}", torch.searchsorted(self.alphabet, table.long()))
        self.characters = nn.Embedding(len(self.alphabet), sizes["character_dim"], padding_idx=0)
        size = sizes["character_dim"] * next(iter(codes.values())).shape[1]
        layers: list[nn.Module] = []
        for out in sizes["layers"]:
            layers += [weight_norm(nn.Linear(size, out)), nn.BatchNorm1d(out), nn.LeakyReLU(0.1)]
            size = out
        self.layers = nn.Sequential(*layers)

    def forward(self, sentences: Mapping[str, Sentences]) -> tuple[Tensor, Tensor]:
        """Vectors (N, d) of the words of all languages' sentences one after another, and word counts (B,)."""
        spelled = []
        for language, batch in sentences.items():
            real = torch.arange(batch.ids.shape[1]) < batch.lengths[:, None]
            # Indices, not a mask: indexing by a mask makes the CPU wait for the GPU to count the words.
            places = to_device(real.flatten().nonzero()[:, 0], batch.ids.device)
            ids = batch.ids.flatten().index_select(0, places)
            spelled.append(self.characters(self.get_buffer(f"spelling_{language}")[ids]).flatten(1))
        vectors: Tensor = self.layers(torch.cat(spelled))  # one batch norm over the words of all languages
        return vectors, torch.cat([batch.lengths for batch in sentences.values()])


class BothWays(nn.Module):
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
        last = words.index_select(0, to_device(lengths.cumsum(0) - 1, words.device))
        on_cpu = words.device.type == "cpu"
        forwards = self._by_tree(words, lengths) if on_cpu else packed_states(self.recurrent, words, lengths)
        return unit((forwards + self.backwards(last)) / 2)

    def _by_tree(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Forward states (B, hidden) after the last words; all words are treated as distinct."""
        real = torch.arange(int(lengths.max())) < lengths[:, None]
        ids = torch.zeros(real.shape, dtype=torch.long).masked_scatter(real, torch.arange(len(words)))
        return last_states(self.recurrent, words, prefix_tree(ids, lengths))


class LinearImages(nn.Module):
    """Image branch: one linear layer, L2."""

    def __init__(self, size: int, hidden: int):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(size, hidden))

    def forward(self, features: Tensor) -> Tensor:
        """CNN features (n, size) to unit vectors (n, hidden)."""
        return unit(self.layers(features))


class LiweModel(RetrievalModel):
    """Image-sentence retrieval in one or more languages, from characters.

    Args:
        codes: as `SpelledWords` takes them. feature_size: of the image features.
        model: settings `hidden`, e. sizes: settings `liwe`.
    """

    def __init__(
        self,
        codes: Mapping[str, Tensor],
        feature_size: int,
        model: Mapping[str, Any],
        sizes: Mapping[str, Any],
    ):
        nn.Module.__init__(self)
        self.spelled = SpelledWords(codes, sizes)
        self.similarity = "cosine"
        self.branches = nn.ModuleDict({"shared": BothWays(sizes["layers"][-1], model["hidden_size"])})
        self.image_branch = LinearImages(feature_size, model["hidden_size"])

    @property
    def languages(self) -> list[str]:
        """The languages, in the order of the experiment."""
        return self.spelled.languages

    def embed_sentences(self, sentences: Mapping[str, Sentences]) -> dict[str, Embedded]:
        """Sentences of each language to their embeddings; there is no universal embedding."""
        rows = self.branches["shared"](*self.spelled(sentences))
        parts = rows.split([len(batch.lengths) for batch in sentences.values()])
        return {language: Embedded(part, part) for language, part in zip(sentences, parts, strict=True)}


def begun(codes: Mapping[str, Tensor], features: int, settings: Mapping[str, Any]) -> LiweModel:
    """The model before its first step."""
    return LiweModel(codes, features, settings["model"], settings["liwe"])


def empty(weights: Mapping[str, Tensor], features: int, settings: Mapping[str, Any]) -> LiweModel:
    """A model of the shape of a saved one, whose weights are loaded afterwards."""
    return begun(codes_of(weights, settings["languages"]), features, settings)


def codes_of(weights: Mapping[str, Tensor], languages: list[str]) -> dict[str, Tensor]:
    """The code points of the characters of a saved model."""
    alphabet = weights["spelled.alphabet"]
    return {language: alphabet[weights[f"spelled.spelling_{language}"]] for language in languages}
