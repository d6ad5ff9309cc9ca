"""Local translation with Marian models (opus-mt), through transformers."""

import hashlib
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from pipeline.common.errors import InputError, raise_together
from pipeline.common.files import reading, sha256
from pipeline.translation.cache import Model
from pipeline.translation.cached_translator import StoreAnswers
from pipeline.translation.settings import MarianProvider

log = logging.getLogger("pipeline")

_REQUIRED_FILES = ("config.json", "source.spm", "target.spm", "vocab.json")
_WEIGHTS = ("model.safetensors", "pytorch_model.bin")
_OPTIONAL_FILES = ("generation_config.json", "tokenizer_config.json", "special_tokens_map.json")
_FILES = (*_REQUIRED_FILES, *_WEIGHTS, *_OPTIONAL_FILES)
_MAX_TOKENS = 256  # tokens of a translation, and of a caption


class MarianEngine:
    """An `Engine` (cached_translator.py) over one Marian model.

    Answers are stored under a digest of the model's files and of its options, so that a model on the hub
    and its copy in a folder share them.

    Raises:
        InputError: transformers or sentencepiece is not installed, or the model is not there.
    """

    def __init__(self, source: str, target: str, settings: MarianProvider):
        transformers = _transformers()
        name = settings.model.format(source=source, target=target)
        folder = model_folder(name, settings.revision)
        self.prefix, self.beams, self.batch_size = settings.prefix, settings.beams, settings.batch_size
        self.model = Model("marian", _version(folder, self.prefix, self.beams), source, target)
        cuda = settings.device == "cuda" or (settings.device == "auto" and torch.cuda.is_available())
        self.device = "cuda" if cuda else "cpu"
        transformers.logging.set_verbosity_error()
        transformers.logging.disable_progress_bar()
        with reading(folder, "a whole Marian model", "Fetch or copy it again."):
            self._tokenizer = transformers.MarianTokenizer.from_pretrained(folder)
            self._network = transformers.MarianMTModel.from_pretrained(folder, dtype=torch.float32)
        self._network.eval().to(self.device)
        self._max_tokens = min(_MAX_TOKENS, self._network.config.max_position_embeddings)
        log.info("marian: %s, version %s, on %s", name, self.model.version, self.device)

    def translate(self, texts: Sequence[str], store: StoreAnswers) -> None:
        """Pass the translations to `store`, batch by batch, longest captions first."""
        # Captions of similar length waste no padding; with the longest first, exhausted memory shows early.
        by_length = sorted(texts, key=lambda text: (-len(text), text))
        for start in range(0, len(by_length), self.batch_size):
            batch = by_length[start : start + self.batch_size]
            store(dict(zip(batch, self._generate(batch), strict=True)))

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


def _transformers() -> Any:
    try:
        import sentencepiece  # noqa: F401
        import transformers
    except ImportError as error:
        raise InputError(
            f"provider marian: the package {error.name} is not installed. Install it "
            "(pip install transformers sentencepiece), or choose another provider."
        ) from None
    return transformers


def model_folder(name: str, revision: str | None) -> Path:
    """The folder of a model, downloaded from the hub if the name is not a local folder."""
    folder = Path(name)
    if not folder.is_dir():
        folder = _download(name, revision)
    missing = [f"{file} is missing" for file in _REQUIRED_FILES if not (folder / file).exists()]
    if not any((folder / file).exists() for file in _WEIGHTS):
        missing.append(f"{' or '.join(_WEIGHTS)} is missing")
    raise_together(missing, f"{folder}: not a Marian model:")
    return folder


def _download(name: str, revision: str | None) -> Path:
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, revision=revision, allow_patterns=list(_FILES)))
    except Exception as error:  # errors of the hub or the network, or an invalid name
        raise InputError(
            f"provider marian: model {name!r} is not a folder here and could not be fetched from the hub "
            f"({type(error).__name__}). Give a folder with the model (translation.pairs.S-T.model)."
        ) from None


def _version(folder: Path, prefix: str, beams: int) -> str:
    weights = next(file for file in _WEIGHTS if (folder / file).exists())  # the file that is loaded
    files = [file for file in _FILES if file not in _WEIGHTS or file == weights]
    parts = [f"{file} {sha256(folder / file)}" for file in sorted(files) if (folder / file).exists()]
    text = "\n".join([*parts, f"prefix {prefix}", f"beams {beams}", f"longest {_MAX_TOKENS}"])
    return hashlib.sha256(text.encode()).hexdigest()[:16]
