"""Published weights with a known commit or digest, so that no others are accepted (SECURITY.md)."""

import re
from pathlib import Path

from pipeline.common.errors import InputError
from pipeline.common.files import sha256

# Commit of each model on the Hugging Face hub, by the model's name.
COMMITS = {
    "bert-base-multilingual-cased": "3f076fdb1ab68d5b2880cb87a0886f315b8146f8",
    "google-bert/bert-base-multilingual-cased": "3f076fdb1ab68d5b2880cb87a0886f315b8146f8",
    "timm/resnet50.tv_in1k": "78f3ecfdb38e06d9b8397f662e7ab8fee96026fa",
}
# Weights file in that commit, and its SHA-256.
WEIGHTS = {
    "timm/resnet50.tv_in1k": (
        "model.safetensors",
        "5d061a3c593d795bfe682d9b152bafbcf550579873492def3515b46db1189888",
    ),
}

# As torchvision and timm name their files: `resnet152-394f9c45.pth`. Digits without letters may be a date.
_DIGEST_IN_NAME = re.compile(r"-(?=\d*[a-f])([0-9a-f]{8,64})\.[a-z]+$")


def check_hub_weights(name: str) -> None:
    """Fetch a model's weights from the hub or its cache, and compare their digest if it is known.

    Raises:
        InputError: their digest is not the known one.
    """
    if name not in WEIGHTS:
        return
    from huggingface_hub import hf_hub_download

    file, expected = WEIGHTS[name]
    path = Path(hf_hub_download(name, file, revision=COMMITS[name]))
    if (digest := sha256(path)) != expected:
        raise InputError(
            f"{path}: not the published weights of {name}: found sha256 {digest}, expected {expected}. "
            "Delete the file and run the same command again, which downloads it."
        )


def check_digest_in_name(path: Path) -> None:
    """Raise `InputError` if the digest of a weights file does not begin as the file's name says."""
    match = _DIGEST_IN_NAME.search(path.name)
    if match and not (digest := sha256(path)).startswith(match[1]):
        raise InputError(
            f"{path}: its name promises a SHA-256 that begins with {match[1]}; found {digest}. It is cut "
            "short, damaged or another file: download it again, or rename it if it is yours."
        )
