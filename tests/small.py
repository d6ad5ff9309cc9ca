"""A corpus of few sentences, models for it in double precision, and the terms of a step."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from run_stages import block_of
from torch import Tensor, nn
from torch.nn import functional as F

from pipeline.models.embedding import Sizes
from pipeline.models.hybrid import HybridEmbedding, WordRows
from pipeline.models.losses.loss import add_layers
from pipeline.models.losses.triplets import Segment
from pipeline.models.model import ModelRecord, RetrievalModel
from pipeline.models.settings import ModelSettings, SavedSettings
from pipeline.models.universal import UniversalEmbedding
from pipeline.training.batches import Batch, Sampler
from pipeline.training.objective import training_terms
from pipeline.training.settings import Batches, TrainSettings
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


def word_model(
    settings: Mapping[str, Any], vectors: Mapping[str, Tensor], features: int = 9
) -> RetrievalModel:
    """A model of some languages that is initialised with their word vectors, (V + 1, size)."""
    chosen = block_of(ModelSettings, {**settings, "languages": list(vectors)})
    sizes = {language: len(table) for language, table in vectors.items()}
    result = RetrievalModel(chosen, Sizes(sizes, next(iter(vectors.values())).shape[1], features))
    embedding = universal(result)
    if not embedding.scratch:
        embedding.load_state_dict({f"{code}.table.weight": of for code, of in vectors.items()}, strict=False)
    embedding.forget_initial()
    return result


def model(branches: str, settings: Mapping[str, Any]) -> RetrievalModel:
    """A model without dropout whose word tables have moved from their initial vectors."""
    torch.manual_seed(0)
    vectors = {language: F.pad(torch.randn(WORDS, 5), (0, 0, 1, 0)) for language in EACH}
    result = word_model({"branches": branches, "model": settings, "classifier": {}}, vectors).double()
    with torch.no_grad():
        for language in EACH:
            universal(result)[language].table.weight[1:] += 0.1
            projection = universal(result)[language].projection
            if isinstance(projection, nn.Linear):  # VSE has none
                nn.init.normal_(projection.bias)
    return result


def universal(model: RetrievalModel) -> UniversalEmbedding:
    assert isinstance(model.universal, UniversalEmbedding)
    return model.universal


def hybrid_values(
    own: Mapping[str, Tensor], rows: Mapping[str, WordRows], entries: Tensor, masks: bool
) -> dict[str, Tensor]:
    """Initial values of a hybrid embedding: vectors (K, size), the rows of words, entries (E, d)."""
    values = {"entries.weight": F.pad(entries, (0, 0, 1, int(masks)))}
    for language, part in rows.items():
        values[f"{language}.table.weight"] = own[language]
        values[f"{language}.own"] = F.pad(part.own, (0, 1))
        values[f"{language}.entry"] = F.pad(part.entry, (0, 1), value=len(entries) + 1 if masks else 0)
    return values


def fill(embedding: HybridEmbedding, values: Mapping[str, Tensor]) -> None:
    """Copy initial values into a hybrid embedding whose MASK, if any, keeps its random vector."""
    mask = embedding.entries.weight[-1].detach().clone()
    embedding.load_state_dict(values, strict=False)
    if embedding.masks:
        embedding.entries.weight.data[-1] = mask
    embedding.forget_initial()


def smalr_model(settings: Mapping[str, Any]) -> RetrievalModel:
    """SMALR: half of each language's words have vectors of their own, the others share three entries."""
    torch.manual_seed(0)
    number, half = torch.arange(WORDS + 1), WORDS // 2
    rows = WordRows(torch.where(number <= half, number, 0), torch.where(number > half, number % 3 + 1, 0))
    own = {language: torch.randn(half, 4) for language in EACH}
    entries = torch.randn(3, settings["model"]["universal_dim"])
    values = hybrid_values(own, dict.fromkeys(EACH, rows), entries, masks=True)
    hybrid = {"frequent_words": half, "frequent_dim": 4, "latent_entries": 3}
    chosen = block_of(ModelSettings, {**settings, "hybrid": hybrid, "languages": list(EACH)})
    result = RetrievalModel(chosen, Sizes(dict.fromkeys(EACH, WORDS + 1), 5, 9, shared=4))
    embedding = result.universal
    assert isinstance(embedding, HybridEmbedding)
    fill(embedding, values)
    add_layers(result, chosen)
    with torch.no_grad():
        embedding["en"].table.weight.add_(0.1)  # away from the initial vectors
    return result.double()


def saved_settings(settings: ModelSettings, **changes: Any) -> SavedSettings:
    """The settings that a model file of the demo records."""
    run = {"scale": "demo", "dataset": "multi30k", "experiment": "x", "seed": 0}
    values = {**run, "caption_origins": {}, "features": {}, **settings.model_dump(), **changes}
    return SavedSettings.from_values(values, "tests")


def record(settings: ModelSettings, **changes: Any) -> ModelRecord:
    """The record of a model without data behind it."""
    empty = ("words", "features", "tokenizers", "validation", "training_captions", "training_translations")
    numbers = dict.fromkeys(("epoch", "training_steps", "parameters", "parameters_at_test"), 1)
    nothing = {**{key: {} for key in empty}, **numbers, "training_groups": [1]}
    saved = settings if isinstance(settings, SavedSettings) else saved_settings(settings)
    return ModelRecord(**{**nothing, "settings": saved, **changes})


def segments_at(slots: Sequence[Sequence[int]], each: Sequence[int]) -> tuple[Segment, ...]:
    """The rows of languages whose sentences belong to images at some places, language by language."""
    firsts = np.cumsum([0, *map(len, slots)])
    return tuple(
        Segment(first + np.arange(len(places)), np.array(places), number)
        for first, places, number in zip(firsts, slots, each, strict=False)
    )


def batch_of(settings: Mapping[str, Any], number: int = 0) -> Batch:
    """The first batch of an epoch."""
    sampler = Sampler(corpus(), [np.arange(IMAGES)], block_of(Batches, settings["training"]), 0)
    return sampler.batch(number * sampler.steps)


def terms_of(
    model: RetrievalModel,
    corpus: Corpus,
    batch: Batch,
    settings: Mapping[str, Any],
    done: float = 0.1,
    step: int = 0,
) -> dict[str, Tensor]:
    """The loss terms of a batch."""
    return training_terms(model, corpus, batch, block_of(TrainSettings, settings), step, done)
