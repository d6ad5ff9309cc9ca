"""Errors of the transformers library when it loads a folder of a published model."""

from huggingface_hub.errors import StrictDataclassError
from safetensors import SafetensorError

# Files of a model are missing, damaged or unexpected.
UNLOADABLE = (
    OSError, ValueError, LookupError, ImportError, RuntimeError, AttributeError, TypeError, SafetensorError,
    StrictDataclassError,
)  # fmt: skip
