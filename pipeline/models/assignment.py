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
from pipeline.models.products import product
from pipeline.models.settings import Exploration
from pipeline.models.universal import linear
from pipeline.words.corpus import Sentences

CHUNK = 1024  # words whose scores of all entries are held at a time, 160 MB with 40,000


class Assignment(nn.Module):
    """Entries and the layer that scores them.

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
        return torch.cat([self._scored(part).argmax(1) for part in words.split(CHUNK)])

    @torch.no_grad()
    def best_entries(self, words: Tensor, count: int) -> Tensor:
        """The `count` best entries (U, M) of words, best first."""
        return torch.cat([self._scored(part).topk(count, 1).indices for part in words.split(CHUNK)])

    def _scored(self, words: Tensor) -> Tensor:
        return product(words, self.scores.weight).add_(self.scores.bias)

    def vectors(self, words: Tensor, how: Exploration) -> Tensor:
        """Latent vectors (U, d) for word vectors (U, features), each from the entry that it chooses.

        The choice is learned through, by `gradient`:

        - `straight_through`: the chosen entry forward, the softmax-weighted mean of the best backward;
        - `gated`: the chosen entry, with a gradient to the logarithm of its share of the softmax;
        - `softmax`: the softmax-weighted mean of the best in both directions; exploration has no effect;
        - `none`: scores stay as initialised, only entries are learned.
        """
        best = self.best_entries(words, min(how.top_m, self.entries.num_embeddings))
        place = to_device(explored_ranks(len(words), best.shape[1], how.exploration), words.device)
        chunks = zip(words.split(CHUNK), best.split(CHUNK), place.split(CHUNK), strict=True)
        # The (U, M, d) numbers that the gradient needs are made again for each chunk, backward.
        return torch.cat(
            [checkpoint(self._chunk, *chunk, how.gradient, use_reentrant=False) for chunk in chunks]
        )

    def _chunk(self, words: Tensor, best: Tensor, place: Tensor, gradient: str) -> Tensor:
        if gradient == "none":
            chosen: Tensor = self.entries(best.gather(1, place[:, None])[:, 0])
            return chosen
        weights = self.scores.weight[best]  # (U, M, features)
        scores = (weights @ words[:, :, None])[:, :, 0] + self.scores.bias[best]
        shares = choice_weights(scores, place, gradient)
        mixed: Tensor = (shares[:, None] @ self.entries(best))[:, 0]
        return mixed


def explored_ranks(words: int, best: int, probability: float) -> Tensor:
    """Which of its best entries each word takes, (U,): 0, or with some probability a random one."""
    explores = torch.rand(words) < probability
    return torch.where(explores, torch.randint(best, (words,)), 0)


def choice_weights(scores: Tensor, place: Tensor, gradient: str) -> Tensor:
    """Weight of each of a word's best entries, (U, M), with the gradient for its score.

    Args:
        scores: (U, M) of the best entries. place: (U,) of the one that is taken. gradient: see `Exploration`.
    """
    shares = scores.softmax(1)
    taken = F.one_hot(place, scores.shape[1]).to(scores.dtype)
    if gradient == "softmax":
        return shares
    if gradient == "gated":
        return taken * (shares / shares.detach())
    return taken + shares - shares.detach()


def sentence_means(
    assignment: Assignment,
    features: Mapping[str, Tensor],
    sentences: Mapping[str, Sentences],
    how: Exploration,
) -> dict[str, Tensor]:
    """Mean latent vector (B, d) of each sentence; a word chooses once for all sentences of the batch.

    Args:
        features: for each language its (V + 1, 300) FastText vectors.
    """
    distinct: list[Tensor] = []
    rows: dict[str, Tensor] = {}
    for language, batch in sentences.items():
        words, ids = batch.ids.unique(return_inverse=True)
        # Padding may be among the words; it counts in no mean.
        rows[language] = torch.where(batch.ids == 0, 0, ids + 1 + sum(map(len, distinct)))
        distinct.append(features[language][words])
    vectors = F.pad(assignment.vectors(torch.cat(distinct), how), (0, 0, 1, 0))
    means = {}
    for language, batch in sentences.items():
        total = F.embedding_bag(rows[language], vectors, mode="sum", padding_idx=0)
        means[language] = total / to_device(batch.lengths, total.device)[:, None]
    return means
