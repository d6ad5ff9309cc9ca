"""Frozen sentence vectors of a multilingual BERT (MULE, supplement, "Multilingual BERT").

The paper names the service bert-as-service and its mean pooling; all else is that service's default: the
second-to-last layer, the mean over all real tokens with [CLS] and [SEP], 25 tokens at most.
"""

import hashlib
import logging
import shutil
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from numpy.typing import NDArray
from transformers import AutoTokenizer, BertModel, PreTrainedModel, PreTrainedTokenizerBase

from pipeline.common.errors import InputError, disk_trouble
from pipeline.common.files import atomic_write, verify_digest
from pipeline.common.progress import Progress
from pipeline.common.published_weights import COMMITS
from pipeline.datasets.table import read_sentences
from pipeline.words.vocabulary import PADDING, Vocabulary, write_vocabulary

transformers.logging.disable_progress_bar()
log = logging.getLogger("pipeline")

SHARD = 4096  # captions that are saved at a time
CHUNK = 64  # captions that are computed at a time
# What a damaged ZIP archive of an array may raise.
DAMAGED = (
    InputError,
    OSError,
    ValueError,
    EOFError,
    LookupError,
    TypeError,
    SyntaxError,
    NotImplementedError,
    zipfile.BadZipFile,
    zlib.error,
)


def sentence_vectors(
    sentences: Path, language: str, model: str, settings: Mapping[str, Any], partial: Path, output: Path
) -> None:
    """Write the vector of each caption of a language in all splits, as a vocabulary of whole captions.

    Args:
        sentences: sentence table. model: folder or name on the Hugging Face hub.
        settings: layer, max_tokens, threads.
        partial: folder from which a killed run resumes.

    Raises:
        InputError: there is no such model, or it has fewer layers.
    """
    torch.set_num_threads(settings["threads"])
    tokenizer, encoder = load_bert(model, settings["layer"])
    table = read_sentences(sentences)
    texts = set(table[table["language"] == language]["caption"])
    if not texts:
        raise InputError(f"{sentences}: no captions in {language!r}.")
    captions = sorted(texts, key=lambda text: (len(text), text))  # like lengths together: little padding
    weights = weights_digest(encoder)
    folder = partial / _fingerprint(captions, settings, weights)
    progress = Progress("captions", len(captions))
    vectors = np.zeros((len(captions) + 1, encoder.config.hidden_size), np.float32)  # row 0 is padding
    for first in range(0, len(captions), SHARD):
        part = captions[first : first + SHARD]
        rows = _shard(folder / f"{first}.npz", part, tokenizer, encoder, settings)
        vectors[1 + first : 1 + first + len(part)] = rows
        progress.advance(len(part))
    whole = Vocabulary(language, [PADDING, *captions], vectors, "caption")
    write_vocabulary(whole, {"vectors": model, "layer": settings["layer"], "weights": weights}, output)
    shutil.rmtree(partial)


def load_bert(model: str, layer: int) -> tuple[PreTrainedTokenizerBase, PreTrainedModel]:
    """Tokeniser and encoder, on a GPU if there is one; `layer` must be one of its layers.

    Of a model on the hub, the known commit is taken.
    """
    revision = COMMITS.get(model, "main")
    try:
        tokenizer = AutoTokenizer.from_pretrained(model, revision=revision)
        encoder = BertModel.from_pretrained(
            model, revision=revision, dtype=torch.float32, add_pooling_layer=False
        )
    except (OSError, ValueError) as error:
        raise InputError(
            f"bert.model: {model!r} is neither a folder with a BERT nor a name on the Hugging Face hub that "
            f"can be fetched ({str(error).splitlines()[0]}). Give the folder of a downloaded model."
        ) from None
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
    settings: Mapping[str, Any],
) -> NDArray[np.float32]:
    """Mean (B, D) of one layer's outputs over the tokens of each caption, including [CLS] and [SEP]."""
    batch = tokenizer(
        list(captions), truncation=True, max_length=settings["max_tokens"], padding=True, return_tensors="pt"
    ).to(encoder.device)
    outputs = encoder(**batch, output_hidden_states=True).hidden_states[settings["layer"]]  # (B, W, D)
    mask = batch["attention_mask"][..., None]
    means: NDArray[np.float32] = ((outputs * mask).sum(1) / mask.sum(1)).cpu().numpy()
    return means


def weights_digest(encoder: PreTrainedModel) -> str:
    """Digest of an encoder's weights, which identifies the model whatever its name."""
    digest = hashlib.sha256()
    for name, value in sorted(encoder.state_dict().items()):
        digest.update(name.encode())
        digest.update(value.cpu().numpy().tobytes())
    return digest.hexdigest()


def _shard(
    path: Path,
    captions: Sequence[str],
    tokenizer: PreTrainedTokenizerBase,
    encoder: PreTrainedModel,
    settings: Mapping[str, Any],
) -> NDArray[np.float32]:
    """Vectors of some captions, from their file where a killed run left it whole."""
    if (saved := saved_part(path, (len(captions), encoder.config.hidden_size))) is not None:
        return saved
    chunks = [captions[first : first + CHUNK] for first in range(0, len(captions), CHUNK)]
    vectors = np.concatenate([mean_pooled(chunk, tokenizer, encoder, settings) for chunk in chunks])
    save_part(path, vectors)
    return vectors


def save_part(path: Path, vectors: NDArray[np.float32]) -> None:
    """Write vectors (B, D) of some captions, for a run that resumes."""
    with atomic_write(path) as temporary, open(temporary, "wb") as file:
        np.savez(
            file, vectors=vectors
        )  # a ZIP archive: its checksums tell of damage where there are no seals


def saved_part(path: Path, shape: tuple[int, int]) -> NDArray[np.float32] | None:
    """Vectors of this shape that `save_part` wrote; None where they are not there or are damaged."""
    if not path.exists():
        return None
    try:
        with np.load(verify_digest(path), allow_pickle=False) as file:
            found: NDArray[np.float32] = file["vectors"]
        if found.dtype == np.float32 and found.shape == shape:
            return found
        log.warning("%s: computed anew, found %s %s", path, found.dtype, found.shape)
    except DAMAGED as error:
        if disk_trouble(error):
            raise
        log.warning("%s: damaged, computed again: %s", path, error)
    return None


def _fingerprint(captions: Sequence[str], settings: Mapping[str, Any], weights: str) -> str:
    """Digest of all that the vectors depend on."""
    parts = [weights, str(settings["layer"]), str(settings["max_tokens"]), *captions]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
