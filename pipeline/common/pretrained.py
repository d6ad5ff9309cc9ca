"""Published models, loaded by the transformers library."""

import hashlib
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pipeline.common.files import sha256

# Keys of tokenizer_config.json that say how the library found the model, not what it is.
_FOUND_AT = ("local_files_only", "is_local", "name_or_path")


def vectors_digest(weights: str, config: Any, reader: Any) -> str:
    """Digest of all that decides a model's vectors.

    Args:
        weights: digest of its weights. config: its configuration. reader: its tokeniser or processor.
    """
    import transformers

    with TemporaryDirectory() as folder:
        reader.save_pretrained(folder)
        files = [_content(path) for path in sorted(Path(folder).glob("**/*")) if path.is_file()]
    parts = [weights, config.to_json_string(), transformers.__version__, *files]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _content(path: Path) -> str:
    """Content of a saved file, or its digest."""
    if path.name != "tokenizer_config.json":
        return sha256(path)
    values = json.loads(path.read_bytes())
    return json.dumps({key: value for key, value in values.items() if key not in _FOUND_AT}, sort_keys=True)
