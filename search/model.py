"""A bundle in use: sentences and photographs in, NumPy arrays out."""

import functools
import logging
import threading
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from pipeline.common.errors import InputError, raise_together
from pipeline.common.progress import Progress
from pipeline.evaluation.embed import CHUNK, embed_sentences
from pipeline.models.similarity import similarities
from pipeline.words.corpus import encode
from search.bundle import Bundle, read_bundle
from search.index import Index
from search.language_detection import Detection, detect_language, parse
from search.nearest import Compare, Neighbours, search_approximate, search_exact

if TYPE_CHECKING:
    from pipeline.images.backbone import Backbone
    from pipeline.images.settings import ExtractionSettings

log = logging.getLogger("pipeline")

BATCH = 8  # photographs in one pass
SEARCH_IN = ("images", "sentences")

Vectors = NDArray[np.float32]


def load(
    folder: Path, device: str = "cpu", weights: str | None = None, threads: int | None = None
) -> "SearchModel":
    """Load a bundle.

    Args:
        device: `cpu` or `cuda`.
        weights: file of the backbone's weights, if the bundle names a file and not a package or the hub.
        threads: threads on a CPU; by default all.

    Raises:
        InputError: the folder is not a whole bundle, or there is no such device.
    """
    if threads is not None:
        check_positive("--threads", threads)
        torch.set_num_threads(threads)
    if device != "cpu" and not torch.cuda.is_available():
        raise InputError(f"device {device!r}: no GPU is visible to this process. Use cpu.")
    return SearchModel(read_bundle(folder), torch.device(device), weights)


def load_for(
    index: Index, bundle: Path | None, device: str, weights: str | None, threads: int | None
) -> "SearchModel":
    """The model of an index, from another folder than the index names if `bundle` is given."""
    model = load(bundle or index.bundle, device, weights, threads)
    model.check_index(index)
    return model


def check_positive(option: str, number: int) -> None:
    """Raise `InputError` if the number of an option is below 1."""
    if number < 1:
        raise InputError(f"{option} {number}: expected a whole number, 1 or more.")


class SearchModel:
    """A trained model that embeds sentences and photographs, and searches an index of them.

    Attributes:
        languages: the languages it reads. network: the trained model. size: e, numbers of an embedding.
    """

    def __init__(self, bundle: Bundle, device: torch.device, weights: str | None = None):
        self.bundle, self.device, self.weights = bundle, device, weights
        self.network = bundle.model.to(device)
        self.languages = list(bundle.vocabularies)
        self._backbones: dict[int, Backbone] = {}
        self._lock = threading.RLock()  # tokenisers and backbones serve one thread at a time

    @functools.cached_property
    def size(self) -> int:
        """Numbers of an embedding."""
        return int(self.embed_features(np.zeros((1, self.bundle.backbone["dimension"]), np.float32)).shape[1])

    @property
    def reads_photographs(self) -> bool:
        """Whether its backbone is known; otherwise it embeds only features."""
        return "weights_sha256" in self.bundle.backbone

    def parse(self, sentence: str, language: str | None = None) -> Detection:
        """A sentence as words of a language, by default the language that knows the largest share of them."""
        with self._lock:
            if language is None:
                return detect_language(sentence, self.bundle.vocabularies)
            self._check_language(language)
            return Detection(parse(sentence, self.bundle.vocabularies[language]), [])

    def query(self, sentence: str, language: str | None = None) -> Detection:
        """A sentence to search with, as `parse`.

        Raises:
            InputError: the model knows none of its words, so it would find the neighbours of padding.
        """
        detection = self.parse(sentence, language)
        if not detection.sentence.known_words:
            scope = f"in {language}" if language else f"in any of {', '.join(self.languages)}"
            raise InputError(f"None of its words is known {scope}. Try other words.")
        return detection

    def embed_sentences(self, sentences: Sequence[str], language: str | None = None) -> Vectors:
        """Embed sentences of one language, or each in its detected language, which is logged.

        A sentence without any known word is encoded as padding, as in the evaluation.

        Returns:
            (B, e) float32, of length 1.
        """
        if isinstance(sentences, str):
            raise InputError("embed_sentences takes a list of sentences, found a string. Give [text].")
        parsed_sentences = [self.parse(sentence, language).sentence for sentence in sentences]
        if language is None:
            _log_languages([sentence.language for sentence in parsed_sentences])
        if unknown := sum(not sentence.known_words for sentence in parsed_sentences):
            log.warning(
                "%d of %d sentences have no word that the model knows", unknown, len(parsed_sentences)
            )
        vectors = np.zeros((len(parsed_sentences), self.size), np.float32)
        for code in dict.fromkeys(sentence.language for sentence in parsed_sentences):
            rows = [row for row, sentence in enumerate(parsed_sentences) if sentence.language == code]
            vectors[rows] = self._embed_tokens([parsed_sentences[row].tokens for row in rows], code)
        return vectors

    def embed_features(self, features: NDArray[np.floating], file: Path | str = "features") -> Vectors:
        """Embed features (n, D) of the model's backbone, from a file: (n, e) float32, of length 1."""
        expected = self.bundle.backbone["dimension"]
        if features.ndim != 2 or features.shape[1] != expected:
            raise InputError(f"{file}: found shape {features.shape}, expected (n, {expected}) as trained on.")
        tensor = torch.from_numpy(np.ascontiguousarray(features, dtype=np.float32))
        with torch.inference_mode():
            chunks = [self.network.embed_images(chunk.to(self.device)).cpu() for chunk in tensor.split(CHUNK)]
        return torch.cat(chunks).numpy() if len(tensor) else np.zeros((0, self.size), np.float32)

    def embed_images(self, paths: "Sequence[str | Path | BinaryIO]") -> Vectors:
        """Embed photographs: (n, e) float32, of length 1; progress is logged.

        Args:
            paths: files of photographs, by path or open for reading.

        Raises:
            InputError: photographs do not decode (all are named), or the backbone's weights are missing.
        """
        size = BATCH if len(paths) > 1 else 1
        features, progress = [], Progress("images", len(paths))
        for start in range(0, len(paths), size):
            batch = paths[start : start + size]
            features.append(self._features(batch, size))
            progress.advance(len(batch))
        dimension = self.bundle.backbone["dimension"]
        return self.embed_features(np.concatenate([np.zeros((0, dimension), np.float32), *features]))

    def search(
        self,
        index: Index,
        sentences: Sequence[str] | None = None,
        images: "Sequence[str | Path | BinaryIO] | None" = None,
        search_in: str = "images",
        top_k: int = 10,
        language: str | None = None,
    ) -> Neighbours:
        """The nearest neighbours in an index of each sentence, or of each image.

        Args:
            sentences: queries, for which images are searched.
            images: queries, for which `images` or `sentences` are searched, see `search_in`.
            language: of the sentences; by default it is detected.

        Raises:
            InputError: the model knows no word of a sentence; lists every such sentence.
        """
        if (sentences is None) == (images is None):
            raise InputError("search takes either sentences or images.")
        self.check_index(index)
        if sentences is not None:
            if search_in != "images":
                raise InputError("With sentences, only images can be searched.")
            if language:
                self._check_language(language)
            raise_together(self._errors(sentences, language), "Sentences that find nothing:")
            return self.images_of_sentences(index, self.embed_sentences(sentences, language), top_k)
        if search_in not in SEARCH_IN:
            raise InputError(f"search_in: found {search_in!r}, expected one of {', '.join(SEARCH_IN)}.")
        search = self.images_of_images if search_in == "images" else self.sentences_of_images
        return search(index, self.embed_images(images or []), top_k)

    def _errors(self, sentences: Sequence[str], language: str | None) -> Iterator[str]:
        for sentence in sentences:
            try:
                self.query(sentence, language)
            except InputError as error:
                yield f"{sentence[:100]!r}: {error}"

    def images_of_sentences(self, index: Index, vectors: Vectors, top_k: int) -> Neighbours:
        """The images nearest to each sentence (Q, e), by the model's similarity."""
        return self._nearest_images(
            index, vectors, top_k, partial(similarities, kind=self.network.similarity)
        )

    def images_of_images(self, index: Index, vectors: Vectors, top_k: int) -> Neighbours:
        """The images nearest to each image (Q, e), by their cosine, whatever the model's similarity."""
        return self._nearest_images(index, vectors, top_k, _cosine)

    def sentences_of_images(self, index: Index, vectors: Vectors, top_k: int) -> Neighbours:
        """The sentences nearest to each image (Q, e), by the model's similarity."""
        return search_exact(index.sentence_vectors, vectors, top_k, self._sentences_to_images)

    def _nearest_images(self, index: Index, vectors: Vectors, top_k: int, compare: Compare) -> Neighbours:
        if index.approximate is not None:
            return search_approximate(index.approximate, vectors, top_k)
        return search_exact(index.image_vectors, vectors, top_k, compare)

    def check_index(self, index: Index) -> None:
        """Raise `InputError` if an index was made by another model."""
        if index.bundle_digest != self.bundle.digest:
            raise InputError(
                f"{index.folder}: made by another model than {self.bundle.folder}. Give the model's own "
                "index, or build it again."
            )
        arrays = (index.image_vectors, index.sentence_vectors)
        if any(len(vectors) and vectors.shape[1:] != (self.size,) for vectors in arrays):
            raise InputError(f"{index.folder}: its vectors are not of {self.size} numbers. Index again.")

    def backbone(self, batch: int = BATCH) -> "tuple[Backbone, ExtractionSettings]":
        """The CNN with its weights, which must be the weights that the model was trained on.

        Raises:
            InputError: the weights are missing or differ.
        """
        from pipeline.images.backbone import load_backbone
        from pipeline.images.settings import ExtractionSettings

        attributes = dict(self.bundle.backbone)
        if not self.reads_photographs:
            raise InputError(
                f"{self.bundle.folder}: trained on imported features: it embeds features, not photographs. "
                "Extract features with the network used for its training data and pass them with --features."
            )
        if "crop_evaluation" not in attributes:
            log.warning(
                "%s: does not say how crops are evaluated; crop_evaluation exact is assumed. Bundle the "
                "model again.",
                self.bundle.folder,
            )
        if attributes["precision"] == "bfloat16":
            attributes["precision"] = "auto"  # float32 where the device has no instructions for it
        digest = attributes.pop("weights_sha256")
        weights = self.weights or _weights_source(attributes["weights"], attributes["backbone"])
        settings = ExtractionSettings(**{**attributes, "weights": weights})
        with self._lock:
            if batch not in self._backbones:
                backbone = load_backbone(settings, self.device, batch)
                if backbone.weights_sha256 != digest:
                    raise InputError(
                        f"{weights}: weights with sha256 {backbone.weights_sha256}, expected {digest} as in "
                        "training. Give their file with --weights."
                    )
                self._backbones[batch] = backbone
            return self._backbones[batch], settings

    def _sentences_to_images(self, images: Tensor, sentences: Tensor) -> Tensor:
        return similarities(sentences, images, self.network.similarity).T

    def _embed_tokens(self, tokens: Sequence[Sequence[str]], language: str) -> Vectors:
        rows = [str(row) for row in range(len(tokens))]
        table = pd.DataFrame({"image": rows, "tokens": [" ".join(words) for words in tokens]})
        longest = self.bundle.record.settings.max_caption_length
        captions = encode(table.assign(caption=""), self.bundle.vocabularies[language], rows, longest)
        return embed_sentences(self.network, language, captions.to(self.device)).cpu().numpy()

    def _features(self, paths: "Sequence[str | Path | BinaryIO]", size: int) -> Vectors:
        from pipeline.images.crops import UnreadableImage, read_image, resize_image

        backbone, settings = self.backbone(size)
        images, mistakes = [], []
        for path in paths:
            try:
                # Pillow opens files by name and open ones alike.
                image = read_image(Path(path) if isinstance(path, str) else path)
                images.append(resize_image(image, settings.resize, backbone.interpolation))
            except UnreadableImage as error:
                mistakes.append(f"{path if isinstance(path, str | Path) else 'image'}: {error}")
        raise_together(mistakes, "Photographs that cannot be decoded:")
        with self._lock:
            return backbone.features(images).cpu().numpy().copy()

    def _check_language(self, language: str) -> None:
        if language not in self.languages:
            raise InputError(f"language {language!r}: the model reads {', '.join(self.languages)}.")


def _cosine(queries: Tensor, images: Tensor) -> Tensor:
    return queries @ images.T


def _weights_source(weights: str, backbone: str) -> str:
    """Where `load_backbone` finds the weights that a feature store names."""
    if weights == "timm" or weights.startswith("package:"):
        return weights
    raise InputError(
        f"The weights of backbone {backbone!r} are the file {weights}, which a bundle does not hold. Give "
        "its path with --weights (in Python, load(folder, weights=...))."
    )


def _log_languages(languages: Sequence[str]) -> None:
    counts = {code: languages.count(code) for code in dict.fromkeys(languages)}
    log.info(
        "languages by their known words: %s", ", ".join(f"{code} {count}" for code, count in counts.items())
    )
