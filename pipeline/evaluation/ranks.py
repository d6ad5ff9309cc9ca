"""Ranks of the correct answers, in both directions, and the mR of a model.

Nearer means a larger similarity. Ties must not improve ranks: rank = 1 + number of strictly nearer
candidates + number of equally near candidates with smaller indices.
"""

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pipeline.common.errors import InputError
from pipeline.evaluation.embed import embed_images, embed_sentences
from pipeline.evaluation.recall import recalls
from pipeline.models.model import RetrievalModel
from pipeline.models.similarity import similarities
from pipeline.words.corpus import Corpus, LanguageCorpus

PAIRS = 2**21  # of a query and a candidate, compared at a time: 8 MB of similarities


def gallery(image: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The images that are queries and candidates of a language's sentences: those with a caption in it.

    The corpus of a multilingual model also has images that are captioned only in its other languages. The
    corpus of a monolingual model does not, so they are candidates for neither.

    Args:
        image: (B,) for each sentence of the language, the row of its image among the corpus' images.

    Returns:
        (n,) rows of these images among the corpus' images, ascending; (B,) place of each sentence's image
        among the n.
    """
    rows, image_of = np.unique(image, return_inverse=True)
    return rows, image_of


def both_ranks(
    images: Tensor, sentences: Tensor, image_of: Tensor, kind: str = "cosine"
) -> dict[str, Tensor]:
    """Ranks of the correct answers: `i2s` for each image with sentences, `s2i` for each sentence.

    Args:
        images: (n, e). sentences: (B, e). image_of: (B,) row of each sentence's image.
        kind: the similarity, `cosine` or `order`.

    Returns:
        `i2s` (images with sentences,), the best rank of any of an image's sentences among all sentences, in
        order of the images' rows; `s2i` (B,), the rank of each sentence's image among all images. From 1.

    Raises:
        InputError: the embeddings hold values that are not finite.
    """
    if not torch.isfinite(images.sum() + sentences.sum()):
        raise InputError("Embeddings are not finite numbers: the training diverged. Lower its learning rate.")
    row = torch.arange(len(images), device=image_of.device)

    def of_sentences(queries: Tensor) -> tuple[Tensor, Tensor]:
        return similarities(sentences[queries], images, kind), image_of[queries, None] == row

    def of_images(queries: Tensor) -> tuple[Tensor, Tensor]:
        return similarities(sentences, images[queries], kind).T, queries[:, None] == image_of

    return {
        "i2s": _ranks(image_of.unique(), len(sentences), of_images),
        "s2i": _ranks(torch.arange(len(sentences), device=image_of.device), len(images), of_sentences),
    }


def _ranks(queries: Tensor, candidates: int, compare: Callable[[Tensor], tuple[Tensor, Tensor]]) -> Tensor:
    """Rank of each query's best answer, from blocks of queries and all candidates.

    Args:
        queries: (Q,) rows of the queries.
        compare: (b,) queries to their similarities to all candidates, and whether a candidate is an answer
            of the query, both (b, candidates).
    """
    place = torch.arange(candidates, device=queries.device)
    ranks = torch.empty_like(queries)
    size = max(1, PAIRS // candidates)
    for block, ranks_of_block in zip(queries.split(size), ranks.split(size), strict=True):
        scores, is_answer = compare(block)
        best, first = scores.masked_fill(~is_answer, -torch.inf).max(1, keepdim=True)
        is_nearer = (scores > best) | ((scores == best) & (place < first))
        torch.sum(is_nearer, 1, out=ranks_of_block)
    return ranks + 1


def query_ranks(
    model: RetrievalModel, captions: LanguageCorpus, read_as: str, images: Tensor
) -> dict[str, Tensor]:
    """Ranks (`both_ranks`) of sentences, read as some language of the model, and of their images.

    Args:
        images: (N, e) all images of the corpus, embedded once for all of its languages.
    """
    rows, image_of = (torch.from_numpy(numbers).to(images.device) for numbers in gallery(captions.image))
    sentences = embed_sentences(model, read_as, captions)
    return both_ranks(images[rows], sentences, image_of, model.similarity)


def mean_recalls(model: RetrievalModel, corpus: Corpus) -> dict[str, float]:
    """mR of each language, in percent; the candidates are the images captioned in it."""
    images = embed_images(model, corpus)
    return {
        language: recalls(query_ranks(model, captions, language, images))["mR"]
        for language, captions in corpus.languages.items()
    }
