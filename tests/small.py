"""A corpus of few sentences and models for it, in double precision."""

from typing import Any

import numpy as np
import torch
from torch import nn

from pipeline.models.hybrid import HybridEmbedding, Places
from pipeline.models.losses.masking import layers
from pipeline.models.retrieval_model import RetrievalModel
from pipeline.words.corpus import Corpus, LanguageCorpus

IMAGES, WORDS, EACH = 20, 12, {"en": 3, "de": 2, "fr": 1}


def corpus() -> Corpus:
    """Sentences of few words, so that many share a prefix, in double precision."""
    draw = np.random.default_rng(0)
    languages = {}
    for language, each in EACH.items():
        lengths = draw.integers(1, 8, IMAGES * each)
        ids = draw.integers(1, WORDS + 1, (len(lengths), 8)) * (np.arange(8) < lengths[:, None])
        image = np.repeat(np.arange(IMAGES), each)
        languages[language] = LanguageCorpus(torch.from_numpy(ids), torch.from_numpy(lengths), image)
    features = torch.from_numpy(draw.normal(size=(IMAGES, 9)))
    return Corpus([str(image) for image in range(IMAGES)], features, languages)


def model(branches: str, settings: dict[str, Any]) -> RetrievalModel:
    """A model without dropout whose word tables have left their initial vectors."""
    torch.manual_seed(0)
    vectors = {language: nn.functional.pad(torch.randn(WORDS, 5), (0, 0, 1, 0)) for language in EACH}
    result = RetrievalModel(vectors, 9, branches, settings).double()
    with torch.no_grad():
        for language in EACH:
            result.universal[language].table.weight[1:] += 0.1
            projection = result.universal[language].projection
            if isinstance(projection, nn.Linear):  # VSE has none
                nn.init.normal_(projection.bias)
    return result


def smalr_model(settings: dict[str, Any]) -> RetrievalModel:
    """SMALR: half of each language's words have vectors of their own, the others share three entries."""
    torch.manual_seed(0)
    number, half = torch.arange(WORDS + 1), WORDS // 2
    places = Places(torch.where(number <= half, number, 0), torch.where(number > half, number % 3 + 1, 0))
    embedding = HybridEmbedding(
        {language: torch.randn(half, 4) for language in EACH},
        dict.fromkeys(EACH, places),
        torch.randn(3, settings["model"]["universal_dim"]),
        masks=True,
    )
    vectors = {language: torch.zeros(1, 5) for language in EACH}
    result = RetrievalModel(vectors, 9, "shared", settings["model"], embedding)
    result.losses["masking"] = layers(settings)
    with torch.no_grad():
        result.universal["en"].table.weight.add_(0.1)  # away from the initial vectors
    return result.double()
