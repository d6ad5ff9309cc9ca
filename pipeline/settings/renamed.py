"""Configuration keys and values that were renamed: an old one is refused with the new one in the message.

A pattern is the path of a key from the top of the configuration, `*` for any one block. What an experiment
overrides (`experiments.*.settings`) is matched without that prefix. CHANGELOG.md lists the same names.
"""

from collections.abc import Sequence
from typing import Any

# Old key -> new key of the same block, with what became of its values where they changed too.
KEYS = {
    "datasets.*.longest_caption": "max_caption_length",
    "datasets.*.own_origins": "caption_origins",
    "datasets.*.drawn": "sample_size",
    "datasets.*.draw_seed": "split_seed",
    "images.windows": "crop_evaluation (convolutional is now dense)",
    "images.sets.*.windows": "crop_evaluation (convolutional is now dense)",
    "images.batch": "batch_size",
    "images.failed_share": "max_failed_fraction",
    "translation.default.batch": "batch_size",
    "translation.pairs.*.batch": "batch_size",
    "translation.limits.connections": "max_connections",
    "translation.limits.longest_pause": "max_pause",
    "translation.limits.patience": "max_wait",
    "bert.longest": "max_tokens",
    "bert.pretraining.hidden": "hidden_size",
    "bert.pretraining.vocabulary": "vocabulary_size",
    "bert.pretraining.batch": "batch_size",
    "triplets.hardest": "num_hard_negatives",
    "training.decay": "learning_rate_decay",
    "training.clip_gradient": "max_grad_norm",
}

# Key -> old value -> new value.
VALUES = {
    "model.word_vectors": {"given": "pretrained"},
    "model.recurrent": {"layers": "mlp"},
    "training.images_in_batch": {"different": "distinct", "drawn_by_sentence": "sampled_by_sentence"},
}


def renamed_key(block: Sequence[str | int], key: str) -> str | None:
    """What the key of a block is called now; `None` if it never had another name."""
    return next((new for old, new in KEYS.items() if _matches(old, [*block, key])), None)


def renamed_value(path: Sequence[str | int], value: Any) -> str | None:
    """What the value of the key at `path` is called now; `None` if it never had another name."""
    known = next((values for key, values in VALUES.items() if _matches(key, path)), {})
    return known.get(value) if isinstance(value, str) else None


def _matches(pattern: str, path: Sequence[str | int]) -> bool:
    inner = path[3:] if len(path) > 3 and path[0] == "experiments" and path[2] == "settings" else path
    expected = pattern.split(".")
    return len(expected) == len(inner) and all(
        part in ("*", str(found)) for part, found in zip(expected, inner, strict=True)
    )
