"""Parameters with the words of real captions, which another tool has counted too."""

import os
from pathlib import Path

import pytest

from benchmarks.vocabularies import multi30k_words, report, with_translations

MIRROR = os.environ.get("MULTILINGUAL_MIRROR")


@pytest.mark.skipif(MIRROR is None, reason="MULTILINGUAL_MIRROR is not set")
def test_multi30ks_words_and_the_parameters_that_they_make() -> None:
    """Words as `tr ' ' '\\n' | LC_ALL=C sort -u` counts them."""
    counts = {language: len(words) for language, words in multi30k_words(Path(str(MIRROR))).items()}
    assert counts == {"en": 19_585, "de": 41_713, "fr": 11_219, "cs": 22_396}
    images, classifier = 2048 * 2048 + 2048 + 2 * 2048 + 2048 * 512 + 512, 512 * 4 + 4
    branch = 4 * (512 * 1024 + 1024 * 1024 + 2 * 1024) + 1024 * 512 + 512
    mule = 94_913 * 300 + 4 * (300 * 512 + 512) + branch + images + classifier
    gru, masking = 3 * (2 * 512 * 512 + 2 * 512) + 512 * 512 + 512, 2 * (1024 * 1024 + 1024)
    own = 4 * 5000 * 50 + 4 * (50 * 512 + 512)
    without = own + gru + images + classifier + masking + 512  # MASK
    first, second, third, last = report(counts)
    assert first.startswith(f"MULE {mule:,}, ")
    assert (
        f"SMALR {without + 40_000 * 512:,} with 40,000 entries for 74,913 words, {without:,} with" in second
    )
    assert f"{mule / (without + 40_000 * 512):.2f}, without entries {mule / without:.2f}" in second
    assert third == f"SMALR has 20 million with {(20_000_000 - without) // 512:,} entries"
    # Four languages: 4 x 32 + 32 weights.
    assert last == f"at test time {gru + images + 160:,}, of which CLC-C 160"


def test_words_are_mapped_by_their_first_translation(tmp_path: Path) -> None:
    for language in ("fr", "cs", "ar", "af", "ko", "ru"):
        (tmp_path / f"en-{language}.txt").write_text("dog Chien\ndog toutou\ncar voiture de sport\nbus bus\n")
    found = with_translations({"en": {"dog", "car"}, "fr": {"chat", "de"}, "cs": {"pes"}}, tmp_path)
    assert found["fr"] == {"chat", "chien", "voiture", "de", "sport"}
    assert found["ko"] == {"chien", "voiture", "de", "sport"}
    assert found["en"] == {"dog", "car"}
