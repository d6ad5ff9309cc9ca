"""Published models, loaded by the transformers library."""

import hashlib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from huggingface_hub.errors import StrictDataclassError
from safetensors import SafetensorError

from pipeline.common.files import sha256
from pipeline.common.torch_files import weights_digest

# Errors in loading: files of a model are missing, damaged or unexpected.
UNLOADABLE = (
    OSError, ValueError, LookupError, ImportError, RuntimeError, AttributeError, TypeError, SafetensorError,
    StrictDataclassError,
)  # fmt: skip


def vectors_digest(model: Any, reader: Any) -> str:
    """Digest of all that decides a model's vectors: weights, configuration, and how the inputs are read.

    Args:
        reader: its tokeniser or processor.
    """
    import transformers

    with TemporaryDirectory() as folder:
        reader.save_pretrained(folder)
        files = [sha256(path) for path in sorted(Path(folder).glob("**/*")) if path.is_file()]
    parts = [weights_digest(model), model.config.to_json_string(), transformers.__version__, *files]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
