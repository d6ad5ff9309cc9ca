"""A step of SMALR beside the plain loop of the benchmark: equal losses and gradients in double precision."""

from typing import Any

import numpy as np
import pytest
import torch
from small import IMAGES, WORDS
from torch import Tensor

from benchmarks.plain_smalr import plain_smalr_terms
from benchmarks.smalr import plain_batch
from pipeline.models.hybrid import HybridEmbedding, Places
from pipeline.models.losses.classifier import reversal_strength
from pipeline.models.losses.masking import layers
from pipeline.models.retrieval_model import RetrievalModel
from pipeline.training.batches import Sampler
from pipeline.training.objective import training_terms
from pipeline.words.corpus import Corpus, LanguageCorpus

LANGUAGES = ["en", "de", "fr"]


def small_corpus() -> Corpus:
    """Two sentences of 1 to 7 words an image and language."""
    draw = np.random.default_rng(0)
    languages = {}
    for language in LANGUAGES:
        lengths = draw.integers(1, 8, IMAGES * 2)
        ids = draw.integers(1, WORDS + 1, (len(lengths), 8)) * (np.arange(8) < lengths[:, None])
        image = np.repeat(np.arange(IMAGES), 2)
        languages[language] = LanguageCorpus(torch.from_numpy(ids), torch.from_numpy(lengths), image)
    return Corpus(
        [str(image) for image in range(IMAGES)], torch.from_numpy(draw.normal(size=(IMAGES, 9))), languages
    )


def small_model(settings: dict[str, Any]) -> RetrievalModel:
    torch.manual_seed(0)
    rank = torch.arange(WORDS + 1)
    places = Places(torch.where(rank <= 5, rank, 0), torch.where(rank > 5, rank % 3 + 1, 0))
    embedding = HybridEmbedding(
        {language: torch.randn(5, 4) for language in LANGUAGES},
        dict.fromkeys(LANGUAGES, places),
        torch.randn(3, settings["model"]["universal"]),
        masks=True,
    )
    vectors = {language: torch.zeros(1, 5) for language in LANGUAGES}
    made = RetrievalModel(vectors, 9, "shared", settings["model"] | {"dropout": 0.0}, embedding)
    made.losses["masking"] = layers(settings)
    with torch.no_grad():
        made.universal["en"].table.weight.add_(0.1)  # away from where it began
    return made.double()


def test_losses_and_gradients_are_those_of_the_plain_loop(experiment: dict[str, Any]) -> None:
    experiment["model"] |= {"recurrent": "gru"}
    experiment["triplets"] = {"margin": 0.05, "num_hard_negatives": 10, "distance": "cosine"}
    experiment |= {"masking": {"share": 0.2, "weight": 1.0, "matching": 1.0}, "embedding": "hybrid"}
    corpus, model = small_corpus(), small_model(experiment)
    drawn = next(Sampler(corpus, [np.arange(IMAGES)], experiment["training"], 0).epoch(0))
    found: list[tuple[dict[str, Tensor], dict[str, Tensor]]] = []
    for plain in (False, True):
        torch.manual_seed(5)
        model.zero_grad()
        if plain:
            terms = plain_smalr_terms(model, plain_batch(corpus, drawn), experiment, reversal_strength(0.3))
        else:
            terms = training_terms(model, corpus, drawn, experiment, 0.3)
        torch.stack(list(terms.values())).sum().backward()
        grads = {
            name: weight.grad.clone() for name, weight in model.named_parameters() if weight.grad is not None
        }
        found.append((terms, grads))
    (terms, grads), (plain_terms, plain_grads) = found
    assert list(terms) == list(plain_terms)
    for name, term in terms.items():
        assert term.item() == pytest.approx(plain_terms[name].item(), rel=1e-9), name
    assert grads.keys() == plain_grads.keys()
    for name, grad in grads.items():
        assert torch.allclose(grad, plain_grads[name], rtol=1e-7, atol=1e-10), name
