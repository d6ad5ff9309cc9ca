"""A trained model in use: sentences and photographs in, NumPy arrays out."""

import functools
import logging
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from pipeline.common.errors import InputError, raise_together
from pipeline.common.files import sha256
from pipeline.datasets.languages import tokenizer_versions
from pipeline.datasets.tokenize import tokenizer
from pipeline.evaluation.embed import CHUNK, embed_sentences
from pipeline.models.model import load_model
from pipeline.models.similarity import similarities
from pipeline.words.corpus import encode
from pipeline.words.vocabulary import Vocabulary
from search.index import Index, Neighbours, nearest

if TYPE_CHECKING:
    from pipeline.images.backbone import Backbone

log = logging.getLogger("pipeline")

Searched = Literal["images", "captions"]
Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class ParsedSentence:
    """A sentence as words of a language; `unknown` are the words that the model does not know."""

    language: str
    words: list[str]
    unknown: list[str]

    @property
    def share_known(self) -> float:
        """The share of its words that the model knows."""
        return 1 - len(self.unknown) / len(self.words) if self.words else 0.0


def load(path: str | Path, device: str = "cpu", weights: str | Path | None = None) -> "SearchModel":
    """Load a trained model.

    Args:
        path: a `model.pt`. device: `cpu` or `cuda`.
        weights: file of the backbone's weights, if they are not where the configuration of its training says.

    Raises:
        InputError: the file is no whole model, or the model cannot be used for searching.
    """
    return SearchModel(Path(path), torch.device(device), weights)


class SearchModel:
    """A trained model that embeds sentences and photographs, and searches an index of them.

    Attributes:
        network: the trained model. record: how it was trained. languages: the languages that it reads.
        reads_photographs: whether its backbone is known; otherwise it embeds only features. size: e, numbers
        of an embedding. path, digest: its file and the SHA-256 of the file.
    """

    def __init__(self, path: Path, device: torch.device, weights: str | Path | None = None):
        network, self.record = load_model(path)
        settings, words = self.record.settings, self.record.words
        has_words = settings.model.encoder != "liwe" and words.keys() >= set(settings.languages)
        if not has_words or hasattr(settings, "lessons"):
            raise InputError(
                f"{path}: cannot be searched with. Give a model that reads word vectors (not BERT, LIWE or "
                "*Lessons*)."
            )
        self.path, self.digest, self.device, self.weights = path, sha256(path), device, weights
        self.network = network.to(device).eval().requires_grad_(False)
        self.size = int(network.embed_images(torch.zeros(0, network.sizes.features, device=device)).shape[1])
        self.languages, self.reads_photographs = settings.languages, "weights_sha256" in self.record.features
        self._vocabularies = {
            code: Vocabulary(code, words[code], np.zeros((len(words[code]), 0), np.float32))
            for code in self.languages
        }
        self._lock = threading.RLock()  # tokenisers and backbones serve one thread at a time
        for code, trained_with in self.record.tokenizers.items():
            if (here := tokenizer_versions(code)) != trained_with:
                log.warning("%s: tokenised by %s in training, here by %s", code, trained_with, here)

    def parse(self, sentence: str, language: str | None = None) -> ParsedSentence:
        """A sentence as words of a language, by default the language that knows the largest share of them.

        In a tie it is the first of the model's languages. Each language has its own tokeniser.

        Raises:
            InputError: the model does not read the language.
        """
        if language is not None and language not in self.languages:
            raise InputError(f"language {language!r}: the model reads {', '.join(self.languages)}.")
        parsed = []
        for code in self.languages if language is None else [language]:
            with self._lock:
                words = tokenizer(code)(sentence)
            unknown = [word for word in words if word not in self._vocabularies[code].index]
            parsed.append(ParsedSentence(code, words, unknown))
        return max(parsed, key=lambda each: each.share_known)

    def query(self, sentence: str, language: str | None = None) -> ParsedSentence:
        """A sentence to search with, as `parse`.

        Raises:
            InputError: the model knows none of its words, so it would find the neighbours of padding.
        """
        parsed = self.parse(sentence, language)
        if not parsed.share_known:
            scope = ", ".join([language] if language else self.languages)
            raise InputError(f"{sentence[:100]!r}: none of its words is known in {scope}. Try other words.")
        return parsed

    def embed_sentences(self, sentences: Sequence[str], language: str | None = None) -> Vectors:
        """Embed sentences of one language, or each in its detected language, which is logged.

        A sentence without any known word is encoded as padding, as in the evaluation.

        Returns:
            (B, e) float32, of length 1.
        """
        if isinstance(sentences, str):
            raise InputError("embed_sentences takes a list of sentences, found a string. Give [text].")
        parsed = [self.parse(sentence, language) for sentence in sentences]
        vectors = np.zeros((len(parsed), self.size), np.float32)
        for code, count in Counter(sentence.language for sentence in parsed).items():
            if language is None:
                log.info("%d of %d sentences read as %s, by their known words", count, len(parsed), code)
            rows = [row for row, sentence in enumerate(parsed) if sentence.language == code]
            images, tokens = list(map(str, rows)), [" ".join(parsed[row].words) for row in rows]
            table = pd.DataFrame({"image": images, "caption": "", "tokens": tokens})
            longest = self.record.settings.max_caption_length
            captions = encode(table, self._vocabularies[code], images, longest).to(self.device)
            vectors[rows] = embed_sentences(self.network, code, captions).cpu().numpy()
        return vectors

    @torch.inference_mode()
    def embed_features(self, features: NDArray[np.floating]) -> Vectors:
        """Embed image features (n, D) of the model's backbone: (n, e) float32, of length 1."""
        tensor = torch.from_numpy(np.ascontiguousarray(features, dtype=np.float32))
        chunks = [self.network.embed_images(chunk.to(self.device)).cpu() for chunk in tensor.split(CHUNK)]
        return torch.cat(chunks).numpy()

    def embed_images(self, photographs: Sequence[str | Path | BinaryIO]) -> Vectors:
        """Embed photographs, given by their paths or as open files: (n, e) float32, of length 1.

        Raises:
            InputError: photographs do not decode (all are named), or the backbone's weights are missing.
        """
        from pipeline.images.crops import UnreadableImage

        features, mistakes = [np.zeros((0, self.network.sizes.features), np.float32)], []
        with self._lock:
            backbone = self._query_backbone
        for photograph in photographs:
            try:
                pixels = backbone.resized(photograph)
            except UnreadableImage as error:
                name = photograph if isinstance(photograph, str | Path) else "the picture"
                mistakes.append(f"{name}: {error}")
                continue
            with self._lock:
                features.append(backbone.features([pixels]).cpu().numpy().copy())
        raise_together(mistakes, "Photographs that cannot be decoded:")
        return self.embed_features(np.concatenate(features))

    @functools.cached_property
    def _query_backbone(self) -> "Backbone":
        return self.backbone()

    def backbone(self, crops: int = 1) -> "Backbone":
        """The CNN, with the weights that the model was trained on.

        Args:
            crops: in one pass, or those of one photograph if these are more.

        Raises:
            InputError: there is none, or the weights are missing or different.
        """
        from pipeline.images.backbone import load_backbone
        from pipeline.images.settings import ExtractionSettings

        if not self.reads_photographs:
            raise InputError(f"{self.path}: trained on imported features, so it embeds no photographs.")
        values = self.record.settings.features.model_dump(exclude_none=True)
        values["weights"] = str(self.weights or values["weights"])
        settings = ExtractionSettings(**values)
        backbone = load_backbone(settings, self.device, max(1, crops // settings.crops))
        if backbone.weights_sha256 != (expected := self.record.features["weights_sha256"]):
            raise InputError(
                f"{values['weights']}: other weights than in training, whose SHA-256 is {expected}."
            )
        return backbone

    def search(
        self,
        index: Index,
        sentences: Sequence[str] | None = None,
        images: Sequence[str | Path] | None = None,
        search_in: Searched = "images",
        top_k: int = 10,
        language: str | None = None,
    ) -> Neighbours:
        """The nearest neighbours in an index of each sentence, or of each image.

        Args:
            sentences: queries. images: queries, in place of sentences.
            language: of the sentences; by default it is detected.

        Raises:
            InputError: another model made the index, or the model knows no word of a sentence.
        """
        if (sentences is None) == (images is None):
            raise InputError("search takes either sentences or images.")
        if images is not None:
            return self.neighbours(index, self.embed_images(images), "images", search_in, top_k)
        for sentence in sentences or []:
            self.query(sentence, language)
        vectors = self.embed_sentences(sentences or [], language)
        return self.neighbours(index, vectors, "captions", search_in, top_k)

    def require_own(self, index: Index) -> None:
        """Raise InputError if another model made the index."""
        if index.model_digest != self.digest:
            raise InputError(f"The index was built with another model than {self.path}. Build it again.")

    def neighbours(
        self, index: Index, queries: Vectors, are: Searched, search_in: Searched, top_k: int
    ) -> Neighbours:
        """The nearest neighbours of queries (Q, e), which are embeddings of images or of captions.

        A caption and an image are compared by the model's similarity, two captions or two images by cosine.

        Raises:
            InputError: another model made the index.
        """
        self.require_own(index)
        kind = self.network.similarity if are != search_in else "cosine"

        def compare(query: Tensor, vectors: Tensor) -> Tensor:
            if are == "images":
                return similarities(vectors, query, kind).T
            return similarities(query, vectors, kind)

        searched = index.image_vectors if search_in == "images" else index.caption_vectors
        return nearest(queries, searched, top_k, compare)
