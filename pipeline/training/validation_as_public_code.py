"""Validation as in the public code of *Lessons*: five consecutive captions count as one image's.

With five captions per image, they are. With one, only every fifth image is a query, and four of five captions
are matched to an image that is not their own.
"""

import torch

from pipeline.evaluation.embed import embed_images, embed_sentences
from pipeline.evaluation.ranks import both_ranks
from pipeline.evaluation.recall import recalls
from pipeline.models.retrieval_model import RetrievalModel
from pipeline.words.corpus import Corpus

CAPTIONS = 5


def mean_recall_by_fives(model: RetrievalModel, corpus: Corpus, language: str) -> float:
    """mR of a language in percent, as that code computes it; up to four captions at the end are dropped.

    Captions and images are in the order of the images, each caption with its image: the image of the first of
    five consecutive captions is assumed to be that of all five.
    """
    part = corpus.languages[language]
    whole = len(part.image) // CAPTIONS
    images = embed_images(model, corpus)
    sentences = embed_sentences(model, language, part)[: whole * CAPTIONS]
    shown = images[torch.from_numpy(part.image[: whole * CAPTIONS : CAPTIONS]).to(images.device)]
    taken_for = torch.arange(whole, device=images.device).repeat_interleave(CAPTIONS)
    return recalls(both_ranks(shown, sentences, taken_for))["mR"]
