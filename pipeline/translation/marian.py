"""Local translation with Marian models (opus-mt), through transformers."""

import logging
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from pipeline.common.errors import InputError
from pipeline.common.files import reading, sha256
from pipeline.translation.cache import CachedTranslator, Model
from pipeline.translation.settings import MarianProvider

log = logging.getLogger("pipeline")

_FILES = ("*.json", "*.spm", "model.safetensors", "pytorch_model.bin")
_MAX_TOKENS = 256  # tokens of a translation, and of a caption


class MarianTranslator(CachedTranslator):
    """A translator (cache.py) over one Marian model.

    Its version is the model's commit on the hub or a digest of the folder's weights, with prefix and beams.

    Raises:
        InputError: the model is not there.
    """

    def __init__(self, source: str, target: str, settings: MarianProvider, cache: Path):
        transformers: Any = import_module("transformers")
        name = settings.model_of(source, target)
        folder = model_folder(name, settings.revision)
        self.prefix, self.beams, self.batch_size = settings.prefix, settings.beams, settings.batch_size
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        transformers.logging.set_verbosity_error()
        transformers.logging.disable_progress_bar()
        with reading(folder, "a Marian model", "Fetch or copy it again."):
            self._tokenizer = transformers.MarianTokenizer.from_pretrained(folder)
            self._network = transformers.MarianMTModel.from_pretrained(folder, dtype=torch.float32)
        self._network.eval().to(self.device)
        self._max_tokens = min(_MAX_TOKENS, self._network.config.max_position_embeddings)
        model = _weights_digest(folder) if Path(name).is_dir() else f"{name}@{folder.name}"
        if trained_on := getattr(self._network.config, "trained_on", ""):
            model = f"{model} trained on {trained_on}"  # the digest of its captions
        version = " ".join(filter(None, (model, self.prefix, f"beams {self.beams}")))
        super().__init__(Model("marian", version, source, target), cache)
        log.info("marian: %s, version %s, on %s", name, version, self.device)

    def ask(self, texts: Sequence[str]) -> Iterator[dict[str, str]]:
        """Yield the translations batch by batch, longest captions first."""
        # Captions of similar length waste no padding; with the longest first, exhausted memory shows early.
        by_length = sorted(texts, key=lambda text: (-len(text), text))
        for start in range(0, len(by_length), self.batch_size):
            batch = by_length[start : start + self.batch_size]
            yield dict(zip(batch, self._generate(batch), strict=True))

    @torch.inference_mode()
    def _generate(self, texts: Sequence[str]) -> list[str]:
        lines = [f"{self.prefix} {' '.join(text.split())}".strip() for text in texts]
        inputs = self._tokenizer(
            lines, return_tensors="pt", padding=True, truncation=True, max_length=self._max_tokens
        ).to(self.device)
        outputs = self._network.generate(
            **inputs, num_beams=self.beams, do_sample=False, max_length=self._max_tokens
        )
        answers: list[str] = self._tokenizer.batch_decode(outputs, skip_special_tokens=True)
        return answers


def model_folder(name: str, revision: str | None) -> Path:
    """The folder of a model, downloaded from the hub if the name is not a local folder."""
    if Path(name).is_dir():
        return Path(name)
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, revision=revision, allow_patterns=list(_FILES)))
    except Exception as error:  # errors of the hub or the network, or an invalid name
        raise InputError(
            f"provider marian: model {name!r} is not a folder here and could not be fetched from the hub "
            f"({type(error).__name__}). Give a folder with the model (translation.pairs.S-T.model)."
        ) from None


def _weights_digest(folder: Path) -> str:
    """Digest of the weights in a folder."""
    files = sorted(folder.glob("*.safetensors")) or sorted(folder.glob("*.bin"))
    return "+".join(sha256(file)[:16] for file in files)
