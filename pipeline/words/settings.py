"""Settings of the word vectors."""

import dataclasses
import json
from dataclasses import dataclass

from pipeline.common.errors import InputError, raise_together

_CHOICES = {"vectors": ("train", "multi30k", "file"), "casing": ("lowercase", "last")}


@dataclass(frozen=True)
class WordSettings:
    """The source of the word vectors.

    Attributes:
        vectors: "train": FastText's skipgram model on the language's own training captions; "multi30k": the
            same on all that Multi30K publishes in the language, but for captions of held-out images; "file":
            published ones.
        dimension: of a vector.
        casing: with a file that has a word in several casings: "lowercase": the exact lower-case row, else
            the first, which is the most frequent; "last": the last, rarest one (the MULE authors' code).
        tokens: how many tokens FastText is trained on, the captions being passed over again and again. A
            small corpus needs many passes: after 10 over the 4,627 Czech captions of Flickr8k, all vectors
            are nearly parallel (mean cosine of two words 1.00); after 50 they are not (0.41).
        minimum_passes: over the captions, however many tokens that takes: after 4 over the 145,755 English
            captions of Multi30K the mean cosine is 0.57.
        seed: of the training.
        minimum_subword, maximum_subword: characters of FastText's subwords.
        subword_buckets: rows that the subwords share; FastText's own 2,000,000 take 2.4 GB of memory.
    """

    vectors: str = "train"
    dimension: int = 300
    casing: str = "lowercase"
    tokens: int = 8_000_000
    seed: int = 0
    minimum_passes: int = 20
    minimum_subword: int = 3
    maximum_subword: int = 6
    subword_buckets: int = 200_000

    @classmethod
    def parse(cls, text: str) -> "WordSettings":
        """Settings from the command line."""
        return read_settings(text)


def read_settings(text: str) -> WordSettings:
    """Settings from JSON; raises `InputError` that lists every unknown key and wrong value."""
    try:
        given = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"--settings: not JSON: {error}.") from None
    if not isinstance(given, dict):
        raise InputError(f"--settings: found {text}; expected a JSON object.")
    known = {field.name for field in dataclasses.fields(WordSettings)}
    mistakes = [f"{key}: unknown; known are {', '.join(sorted(known))}" for key in given if key not in known]
    mistakes += [mistake for key in given if key in known for mistake in _mistakes(key, given[key])]
    raise_together(mistakes, "--settings: cannot be used:")
    return WordSettings(**given)


def _mistakes(key: str, value: object) -> list[str]:
    if key in _CHOICES:
        right, expected = value in _CHOICES[key], " or ".join(_CHOICES[key])
    else:
        least = 0 if key == "seed" else 1
        right = isinstance(value, int) and not isinstance(value, bool) and value >= least
        expected = f"an integer of at least {least}"
    return [] if right else [f"{key}: found {value!r}; expected {expected}"]
