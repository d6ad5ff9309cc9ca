"""Embeddings of a whole split, in chunks, without gradients."""

import numpy as np
import torch
from torch import Tensor

from pipeline.common.devices import to_device
from pipeline.models.model import RetrievalModel
from pipeline.words.corpus import Corpus, LanguageCorpus

CHUNK = 512


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
