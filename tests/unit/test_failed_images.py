"""Images that failed leave training and evaluation with their captions, which is logged."""

from pathlib import Path

import numpy as np
import pytest
import torch

from pipeline.common.errors import InputError
from pipeline.evaluation.inputs import add_features
from pipeline.images.settings import FeatureSettings
from pipeline.images.store import write_features
from pipeline.words.corpus import Corpus, LanguageCorpus


def corpus() -> Corpus:
    """Three images; two English captions each, one German one of the first and the last."""

    def part(image: list[int]) -> LanguageCorpus:
        count = len(image)
        ids = torch.arange(count)[:, None]
        return LanguageCorpus(ids, torch.ones(count, dtype=torch.long), np.array(image))

    languages = {"en": part([0, 0, 1, 1, 2, 2]), "de": part([0, 2])}
    return Corpus(["a", "b", "c"], torch.empty(3, 0), languages)


def test_a_failed_image_leaves_with_its_captions(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    output = tmp_path / "features.h5"
    write_features(output, ["c", "a"], np.array([[3, 4], [5, 6]]), {}, failed=["b"])
    found = corpus()
    add_features(found, output, FeatureSettings())
    assert found.images == ["a", "c"]
    assert found.features.tolist() == [[5, 6], [3, 4]]
    english, german = found.languages["en"], found.languages["de"]
    assert english.image.tolist() == [0, 0, 1, 1] and english.ids.flatten().tolist() == [0, 1, 4, 5]
    assert german.image.tolist() == [0, 1] and german.ids.flatten().tolist() == [0, 1]
    assert "1 images of this split failed there and are left out, with 2 captions" in caplog.text


def test_an_image_that_is_missing_without_having_failed_stops_the_stage(tmp_path: Path) -> None:
    write_features(tmp_path / "features.h5", ["a", "b"], np.ones((2, 2)), {})
    with pytest.raises(InputError, match=r"but not 1 images \(c\)"):
        add_features(corpus(), tmp_path / "features.h5", FeatureSettings())


def test_sentence_vectors_leave_with_their_captions() -> None:
    part = LanguageCorpus(
        torch.tensor([[1], [2], [3]]), torch.ones(3, dtype=torch.long), np.array([0, 1, 2]), torch.eye(3)
    )
    kept = part.of_images(np.array([False, True, True]))
    assert kept.image.tolist() == [0, 1]
    assert kept.vectors is not None
    assert kept.vectors.tolist() == [[0, 1, 0], [0, 0, 1]]
