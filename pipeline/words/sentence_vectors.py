"""Frozen sentence vectors of a multilingual BERT (MULE, supplement, "Multilingual BERT").

The paper names the service bert-as-service and its mean pooling; all else is that service's default: the
second-to-last layer, the mean over all real tokens with [CLS] and [SEP], 25 tokens at most.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
import transformers
from numpy.typing import NDArray
from transformers import AutoTokenizer, BertModel, PreTrainedModel, PreTrainedTokenizerBase

from pipeline.common.errors import InputError
from pipeline.common.files import reading
from pipeline.common.progress import with_progress
from pipeline.common.published_weights import COMMITS
from pipeline.common.torch_files import weights_digest
from pipeline.datasets.table import read_sentences
from pipeline.words.settings import SentenceVectorSettings
from pipeline.words.vocabulary import PADDING, Vocabulary, write_vocabulary

transformers.logging.disable_progress_bar()

CHUNK = 64  # captions that are computed at a time


def embed_captions(
    sentences: Path,
    language: str,
    model: str,
    settings: SentenceVectorSettings,
    output: Path,
) -> None:
    """Write the vector of each caption of a language in all splits, as a vocabulary of whole captions.

    Args:
        sentences: sentence table.
        language: ISO 639-1 code.
        model: folder of a BERT, or a name on the Hugging Face hub.
        settings: JSON: layer, max_tokens, threads.
        output: vocabulary to write, of whole captions (HDF5).

    Raises:
        InputError: there is no such model, or it has fewer layers.
    """
    torch.set_num_threads(settings.threads)
    tokenizer, encoder = load_bert(model, settings.layer)
    table = read_sentences(sentences)
    texts = set(table[table["language"] == language]["caption"])
    if not texts:
        raise InputError(f"{sentences}: no captions in {language!r}.")
    captions = sorted(texts, key=lambda text: (len(text), text))  # similar lengths need little padding
    chunks = [captions[first : first + CHUNK] for first in range(0, len(captions), CHUNK)]
    vectors = [
        mean_pooled(chunk, tokenizer, encoder, settings)
        for chunk in with_progress(chunks, "batches of captions", len(chunks))
    ]
    padding = np.zeros((1, encoder.config.hidden_size), np.float32)
    whole = Vocabulary(language, [PADDING, *captions], np.concatenate([padding, *vectors]), "caption")
    attributes: dict[str, str | int] = {"vectors": model, "layer": settings.layer}
    attributes["weights"] = weights_digest(encoder)
    write_vocabulary(whole, attributes, output)


def load_bert(model: str, layer: int) -> tuple[PreTrainedTokenizerBase, PreTrainedModel]:
    """Tokeniser and encoder, on a GPU if there is one; `layer` must be one of its layers.

    A model from the hub is loaded at its known commit.
    """
    revision = COMMITS.get(model, "main")
    hint = "Give the folder of a downloaded model (bert.model)."
    with reading(Path(model), "a folder with a BERT or a name on the Hugging Face hub", hint):
        tokenizer = AutoTokenizer.from_pretrained(model, revision=revision)
        encoder = BertModel.from_pretrained(
            model, revision=revision, dtype=torch.float32, add_pooling_layer=False
        )
    layers = encoder.config.num_hidden_layers
    if not -layers <= layer <= -1:
        raise InputError(f"bert.layer: found {layer}; the {layers} layers of {model!r} are -1 to {-layers}.")
    encoder.to("cuda" if torch.cuda.is_available() else "cpu")  # type: ignore[arg-type]
    return tokenizer, encoder.eval()


@torch.inference_mode()
def mean_pooled(
    captions: Sequence[str],
    tokenizer: PreTrainedTokenizerBase,
    encoder: PreTrainedModel,
    settings: SentenceVectorSettings,
) -> NDArray[np.float32]:
    """Mean (B, D) of one layer's outputs over the tokens of each caption, including [CLS] and [SEP]."""
    batch = tokenizer(
        list(captions), truncation=True, max_length=settings.max_tokens, padding=True, return_tensors="pt"
    ).to(encoder.device)
    outputs = encoder(**batch, output_hidden_states=True).hidden_states[settings.layer]  # (B, W, D)
    mask = batch["attention_mask"][..., None]
    means: NDArray[np.float32] = ((outputs * mask).sum(1) / mask.sum(1)).cpu().numpy()
    return means
