"""A trained model, and its embeddings of a whole split."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from pipeline.common.devices import to_device
from pipeline.common.errors import raise_together
from pipeline.evaluation.inputs import read_vocabularies
from pipeline.models.model import ModelRecord, RetrievalModel, load_model
from pipeline.words.corpus import Corpus, LanguageCorpus
from pipeline.words.vocabulary import Vocabulary

CHUNK = 512


def model_and_vocabularies(
    path: Path, words: Sequence[Path]
) -> tuple[RetrievalModel, ModelRecord, dict[str, Vocabulary]]:
    """A trained model, its record, and the vocabulary of each of its languages.

    Raises:
        InputError: the model was trained with other words.
    """
    model, record = load_model(path)
    vocabularies = read_vocabularies(words, record.settings.languages)
    mistakes = [
        f"{language!r}: the --words file is not the one the model was trained with"
        for language, of_training in record.words.items()
        if of_training != vocabularies[language].words
    ]
    raise_together(mistakes, f"{path}: vocabularies do not fit; train again or give the right files:")
    return model, record, vocabularies


@torch.inference_mode()
def embed_images(model: RetrievalModel, corpus: Corpus) -> Tensor:
    """(n, e) unit vectors of the split's images; sets the model to evaluation mode."""
    model.eval()
    return torch.cat([model.embed_images(chunk) for chunk in corpus.features.split(CHUNK)])


@torch.inference_mode()
def embed_sentences(model: RetrievalModel, language: str, captions: LanguageCorpus) -> Tensor:
    """(B, e) unit vectors of one language's sentences; sets the model to evaluation mode."""
    model.eval()
    # Sentences of similar length share a chunk, so that little padding is computed.
    order = np.argsort(captions.lengths.cpu().numpy(), kind="stable")
    vectors = torch.empty(0)
    for start in range(0, len(order), CHUNK):
        rows = order[start : start + CHUNK]
        chunk = model.embed_sentences({language: captions.take(rows)}).multimodal
        if not start:  # Written in place: joining and reordering chunks would hold all sentences three times.
            vectors = chunk.new_empty(len(order), chunk.shape[1])
        vectors[to_device(torch.from_numpy(rows), vectors.device)] = chunk
    return vectors
