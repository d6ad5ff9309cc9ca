"""Validation as in the public code of *Lessons*: five captions in a row are assumed to belong to one image.

With five captions per image, they do. With one caption per image, only every fifth image is a query, and
four of five captions are matched to a wrong image.
"""

import torch

from pipeline.evaluation.embed import embed_images, embed_sentences
from pipeline.evaluation.ranks import both_ranks
from pipeline.evaluation.recall import recalls
from pipeline.models.model import RetrievalModel
from pipeline.words.corpus import Corpus

CAPTIONS = 5


def mean_recall_by_fives(model: RetrievalModel, corpus: Corpus, language: str) -> float:
    """mR of a language in percent, as the public code computes it; up to four captions at the end are
    dropped.

    Captions and images are in the order of the images, each caption with its image: the image of the first of
    five consecutive captions is assumed to be the image of all five.
    """
    captions = corpus.languages[language]
    groups = len(captions.image) // CAPTIONS
    images = embed_images(model, corpus)
    sentences = embed_sentences(model, language, captions)[: groups * CAPTIONS]
    images_of_groups = images[
        torch.from_numpy(captions.image[: groups * CAPTIONS : CAPTIONS]).to(images.device)
    ]
    image_of = torch.arange(groups, device=images.device).repeat_interleave(CAPTIONS)
    return recalls(both_ranks(images_of_groups, sentences, image_of))["mR"]
