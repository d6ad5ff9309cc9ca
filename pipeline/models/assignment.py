"""How words are assigned to entries of the latent vocabulary (SMALR, Section 3.1, pretraining).

A linear layer scores all entries for a word's FastText vector; the word is assigned the best one. During
training, a word takes a random one of its M best entries with probability p instead. Words are processed in
chunks, so no matrix of all words and all entries is ever in memory.

Sizes in comments: U words, E entries, M best ones, d universal size.
"""

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from pipeline.common.devices import to_device
from pipeline.models.embedding import linear, real_words
from pipeline.models.embedding import sentence_means as means_of_words
from pipeline.models.products import product
from pipeline.models.settings import Exploration
from pipeline.words.corpus import Sentences

CHUNK = 1024  # words whose scores of all entries are held at a time, 160 MB with 40,000


class Assignment(nn.Module):
    """Entries and the layer that scores them for the words of all languages.

    Args:
        features: dimension of a FastText vector. entries: E. size: d.
    """

    def __init__(self, features: int, entries: int, size: int):
        super().__init__()
        self.scores = linear(features, entries)
        self.entries = nn.Embedding(entries, size)
        nn.init.uniform_(self.entries.weight, -0.1, 0.1)

    @torch.no_grad()
    def best_entry(self, words: Tensor) -> Tensor:
        """The best entry (U,), from 0, for word vectors (U, features); the first one in case of ties."""
        return torch.cat([self._entry_scores(chunk).argmax(1) for chunk in words.split(CHUNK)])

    @torch.no_grad()
    def best_entries(self, words: Tensor, count: int) -> Tensor:
        """The `count` best entries (U, M) of words, best first."""
        return torch.cat([self._entry_scores(chunk).topk(count, 1).indices for chunk in words.split(CHUNK)])

    def _entry_scores(self, words: Tensor) -> Tensor:
        return product(words, self.scores.weight).add_(self.scores.bias)

    def vectors(self, words: Tensor, settings: Exploration) -> Tensor:
        """Latent vectors (U, d) for word vectors (U, features), each from the entry that it chooses.

        The choice is learned through, by `gradient`:

        - `straight_through`: the chosen entry forward, the softmax-weighted mean of the best backward;
        - `softmax`: the softmax-weighted mean of the best in both directions; exploration has no effect.
        """
        best = self.best_entries(words, min(settings.top_m, self.entries.num_embeddings))
        place = to_device(explored_ranks(len(words), best.shape[1], settings.exploration), words.device)
        chunks = zip(words.split(CHUNK), best.split(CHUNK), place.split(CHUNK), strict=True)
        # The (U, M, d) numbers that the gradient needs are recomputed for each chunk in the backward pass.
        return torch.cat(
            [checkpoint(self._chunk, *chunk, settings.gradient, use_reentrant=False) for chunk in chunks]
        )

    def _chunk(self, words: Tensor, best: Tensor, place: Tensor, gradient: str) -> Tensor:
        weights = self.scores.weight[best]  # (U, M, features)
        scores = (weights @ words[:, :, None])[:, :, 0] + self.scores.bias[best]
        mixtures: Tensor = (choice_weights(scores, place, gradient)[:, None] @ self.entries(best))[:, 0]
        return mixtures


def explored_ranks(words: int, best: int, probability: float) -> Tensor:
    """The rank (U,) of the entry that each word takes: 0, or with some probability a random rank."""
    explores = torch.rand(words) < probability
    return torch.where(explores, torch.randint(best, (words,)), 0)


def choice_weights(scores: Tensor, place: Tensor, gradient: str) -> Tensor:
    """Weight of each of a word's best entries, (U, M), with the gradient for its score.

    Args:
        scores: (U, M) of the best entries. place: (U,) rank of the chosen entry. gradient: see `Exploration`.
    """
    shares = scores.softmax(1)
    if gradient == "softmax":
        return shares
    return F.one_hot(place, scores.shape[1]).to(scores.dtype) + shares - shares.detach()


def sentence_means(
    assignment: Assignment,
    features: Mapping[str, Tensor],
    sentences: Mapping[str, Sentences],
    settings: Exploration,
) -> Tensor:
    """Mean latent vector of each sentence, (B, d), one language after another.

    A word chooses once for all sentences of the batch.

    Args:
        features: for each language its (V + 1, 300) FastText vectors.
    """
    distinct: dict[str, Tensor] = {}
    rows: list[Tensor] = []
    for language, batch in sentences.items():
        # Padding may be among the words, but no sentence refers to it.
        words, ids = batch.ids.unique(return_inverse=True)
        rows.append(ids[real_words(batch.lengths, ids.shape[1])] + sum(map(len, distinct.values())))
        distinct[language] = features[language][to_device(words, features[language].device)]
    latent = assignment.vectors(torch.cat(list(distinct.values())), settings)
    lengths = torch.cat([batch.lengths for batch in sentences.values()])
    return means_of_words(lengths, torch.cat(rows), latent)
