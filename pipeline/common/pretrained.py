"""Published models, loaded by the transformers library."""

import hashlib
import json
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
_FOUND_AT = ("local_files_only", "is_local", "name_or_path")


def vectors_digest(model: Any, reader: Any) -> str:
    """Digest of all that decides a model's vectors: weights, configuration, and how the inputs are read.

    Args:
        reader: its tokeniser or processor.
    """
    import transformers

    with TemporaryDirectory() as folder:
        reader.save_pretrained(folder)
        files = [_content(path) for path in sorted(Path(folder).glob("**/*")) if path.is_file()]
    parts = [weights_digest(model), model.config.to_json_string(), transformers.__version__, *files]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _content(path: Path) -> str:
    """Digest of a saved file; whether the library found it on a disk or on the hub does not count."""
    if path.name != "tokenizer_config.json":
        return sha256(path)
    values = json.loads(path.read_bytes())
    return json.dumps({key: values[key] for key in sorted(values) if key not in _FOUND_AT}, sort_keys=True)
