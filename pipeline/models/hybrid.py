"""The hybrid embedding: frequent words have their own vectors, all others share latent entries.

SMALR, Section 3.1 (HEM; LA where no word has a vector of its own). A language's K most frequent words each
have a 50-dimensional vector, FastText's reduced by PCA, and one linear layer maps it to the universal
embedding. Every other word is represented by one entry of a latent vocabulary that all languages share;
pretraining decides which (`pipeline.training.assign`). The assignment is then fixed, while own vectors and
entries are trained.

A word's universal vector is looked up as a sum, own vector + entry, one of which is zero, so the device need
not distinguish the two kinds of words. Sizes in comments: B sentences, W words of the longest of them, d
universal size, K own words and V words of a language, E entries.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pipeline.common.devices import to_device
from pipeline.common.errors import InputError, raise_together
from pipeline.common.files import require_file
from pipeline.common.torch_files import read_torch, short_reason
from pipeline.models.universal import UniversalEmbedding, linear
from pipeline.words.corpus import Sentences


@dataclass(frozen=True)
class Places:
    """Row of each word of one language, by word id: its own vector or an entry; padding, id 0, has none.

    own: (V + 1,) 1 to K, the more frequent the smaller, or 0. entry: (V + 1,) 1 to E, or 0.
    """

    own: Tensor
    entry: Tensor


class HybridWords(nn.Module):
    """One language's own vectors, their linear layer, and the rows of its words.

    Args:
        vectors: (K, own size) initial own vectors, in the order of `places.own`; K may be 0.
        size: d.
    """

    own: Tensor
    entry: Tensor
    initial: Tensor

    def __init__(self, vectors: Tensor, places: Places, size: int):
        super().__init__()
        self.table = nn.Embedding.from_pretrained(vectors.clone(), freeze=False)
        self.projection = linear(vectors.shape[1], size) if len(vectors) else None
        self.register_buffer("initial", vectors.clone())
        self.register_buffer("own", places.own)
        self.register_buffer("entry", places.entry)

    def own_vectors(self) -> Tensor | None:
        """Universal vectors (K + 1, d) of words with their own vectors, after a row of zeros; None for LA."""
        if self.projection is None:
            return None
        return F.pad(self.projection(self.table.weight), (0, 0, 1, 0))

    def drift(self) -> Tensor:
        """1/2 sum (E - E0)^2 of the words' own vectors; entries have no initial vectors to stay close to."""
        return 0.5 * F.mse_loss(self.table.weight, self.initial, reduction="sum")


class HybridEmbedding(UniversalEmbedding):
    """Words of every language in one d-dimensional space, most of them through shared entries.

    Args:
        own: for each language its (K, own size) initial own vectors. places: of each language's words.
        entries: (E, d) initial entries.
        masks: whether there is a MASK (`pipeline.models.masking`), one vector for all languages.
    """

    def __init__(self, own: Mapping[str, Tensor], places: Mapping[str, Places], entries: Tensor, masks: bool):
        nn.Module.__init__(self)
        self.languages = list(own)
        self.padded = False
        size = entries.shape[1]
        # Padding, the entries, MASK.
        table = F.pad(entries, (0, 0, 1, int(masks)))
        if masks:
            nn.init.uniform_(table[-1], -0.1, 0.1)
        self.entries = nn.Embedding.from_pretrained(table, freeze=False, padding_idx=0)
        for language in self.languages:
            # A word id more, MASK's: the last row of the entries, or nothing.
            at_mask = len(table) - 1 if masks else 0
            reached = Places(
                F.pad(places[language].own, (0, 1)), F.pad(places[language].entry, (0, 1), value=at_mask)
            )
            self.add_module(language, HybridWords(own[language], reached, size))

    def __getitem__(self, language: str) -> HybridWords:  # type: ignore[override]
        words = self.get_submodule(language)
        assert isinstance(words, HybridWords)
        return words

    def mask_id(self, language: str) -> int:
        """The word id of MASK."""
        return len(self[language].own) - 1

    def words(self, language: str, ids: Tensor) -> Tensor:
        """Word ids (N,) of a language to universal word vectors (N, d)."""
        words = self[language]
        shared = F.embedding(words.entry[ids], self.entries.weight, padding_idx=0)
        own = words.own_vectors()
        return shared if own is None else shared + F.embedding(words.own[ids], own, padding_idx=0)

    def means(self, language: str, sentences: Sentences) -> Tensor:
        """Mean universal word vector of each sentence, (B, d); its unit vector is u."""
        words, ids = self[language], sentences.ids
        total = F.embedding_bag(words.entry[ids], self.entries.weight, mode="sum", padding_idx=0)
        own = words.own_vectors()
        if own is not None:
            total = total + F.embedding_bag(words.own[ids], own, mode="sum", padding_idx=0)
        return total / to_device(sentences.lengths, total.device)[:, None]

    def projections(self) -> list[nn.Parameter]:
        """Weights of the linear layers."""
        return [weight for language in self.languages for weight in _weights(self[language].projection)]


def _weights(layer: nn.Linear | None) -> list[nn.Parameter]:
    return list(layer.parameters()) if layer else []


def begun(
    vectors: Mapping[str, Tensor], pretrained: Path | None, settings: Mapping[str, Any]
) -> HybridEmbedding:
    """The embedding at the start of training.

    Args:
        vectors: for each language its (V + 1, 300) FastText vectors.
        pretrained: output of `assign`: entries, and the places of each language's words.
        settings: `hybrid.own_size`; `masking`, where there is any.

    Raises:
        InputError: the pretraining is missing, damaged, or used other words.
    """
    if pretrained is None:
        raise InputError("The hybrid embedding needs its assignment; run `assign` and give --pretrained.")
    entries, places = _read(pretrained)
    raise_together(
        [
            f"{language!r}: assigned {len(places[language].own) if language in places else 0} words, "
            f"the vocabulary has {len(table)}"
            for language, table in vectors.items()
            if language not in places or len(places[language].own) != len(table)
        ],
        f"{pretrained}: not of these vocabularies. Run `assign` again:",
    )
    own = {
        language: _own_vectors(table, places[language], settings["hybrid"]["frequent_dim"])
        for language, table in vectors.items()
    }
    return HybridEmbedding(own, places, entries, bool(settings.get("masking")))


def _own_vectors(vectors: Tensor, places: Places, size: int) -> Tensor:
    """(K, size) reduced vectors of the words that have their own, in the order of their places."""
    ids = places.own.nonzero()[:, 0]
    if not len(ids):
        return vectors.new_zeros(0, size)
    return reduced(vectors[1:], size)[ids[places.own[ids].argsort()] - 1]


def empty(weights: Mapping[str, Tensor], settings: Mapping[str, Any]) -> HybridEmbedding:
    """An embedding of the shape of a saved model, whose weights are loaded afterwards."""
    masks = bool(settings.get("masking"))
    own, places = {}, {}
    for language in settings["languages"]:
        name = f"universal.{language}"
        own[language] = torch.zeros_like(weights[f"{name}.table.weight"])
        places[language] = Places(*(weights[f"{name}.{kind}"][:-1].clone() for kind in ("own", "entry")))
    rows = weights["universal.entries.weight"][1:]
    return HybridEmbedding(own, places, torch.zeros_like(rows[: len(rows) - masks]), masks)


def reduced(vectors: Tensor, size: int) -> Tensor:
    """Project vectors (V, 300) on their principal components, (V, size), after centring.

    A component's sign makes its largest weight positive, so that equal vectors give equal numbers.

    Raises:
        InputError: the vectors have fewer dimensions than `size`.
    """
    if vectors.shape[1] < size:
        raise InputError(
            f"hybrid.own_size: {size} principal components of vectors of {vectors.shape[1]} numbers"
        )
    centred = vectors.double() - vectors.double().mean(0)
    _, directions = torch.linalg.eigh(centred.T @ centred)  # columns, by rising variance
    chosen = directions.flip(1)[:, :size]
    largest = chosen.gather(0, chosen.abs().argmax(0, keepdim=True))
    return (centred @ (chosen * largest.sign())).to(vectors.dtype)


def write_places(entries: Tensor, places: Mapping[str, Places]) -> dict[str, Any]:
    """Write what `begun` reads."""
    kept = {language: {"own": part.own, "entry": part.entry} for language, part in places.items()}
    return {"entries": entries, "places": kept}


def _read(path: Path) -> tuple[Tensor, dict[str, Places]]:
    require_file(path, "the assignment of words", "Run `python -m pipeline assign`.")
    mend = "Delete it, then run `assign` again."
    found = read_torch(path, "an assignment of words", mend)
    try:
        return found["entries"], {language: Places(**part) for language, part in found["places"].items()}
    except (LookupError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: not an assignment of words ({short_reason(error)}). {mend}") from None
