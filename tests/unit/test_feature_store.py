from pathlib import Path

import h5py
import numpy as np
import pytest

from pipeline.common.errors import InputError
from pipeline.images.imported import import_features
from pipeline.images.settings import FeatureSettings, expected_attributes
from pipeline.images.store import failed_images, read_features, write_features

FEATURES = np.arange(12, dtype=np.float32).reshape(3, 4) / 3  # numbers that need all digits of float32
ATTRIBUTES = {"backbone": "resnet50", "crops": 10, "mean": [0.5, 0.5, 0.25]}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "features.h5"
    write_features(path, ["a", "b", "ü"], FEATURES, ATTRIBUTES)
    return path


def imported(source: Path, images: list[str], settings: FeatureSettings, output: Path) -> None:
    """Import the features of some images, by the split that lists them."""
    split = output.with_suffix(".csv")
    split.write_text("".join(["image,split\n", *(f"{image},train\n" for image in images)]), encoding="utf-8")
    import_features(source, split, settings, output)


def test_rows_are_in_the_requested_order(store: Path) -> None:
    found = read_features(store, ["ü", "a", "ü"], ATTRIBUTES)
    assert found.dtype == np.float32
    assert np.array_equal(found, FEATURES[[2, 0, 2]])


def test_every_differing_attribute_is_named(store: Path) -> None:
    expected = {"backbone": "vgg19", "crops": 10, "mean": [0.5, 0.5, 0.5], "resize": 512}
    with pytest.raises(InputError) as caught:
        read_features(store, ["a"], expected)
    message = str(caught.value)
    assert "backbone: found 'resnet50', expected 'vgg19'" in message
    assert "mean: found [0.5, 0.5, 0.25], expected [0.5, 0.5, 0.5]" in message
    assert "resize: found 'nothing', expected 512" in message
    assert "crops" not in message


def test_missing_images_are_counted_and_named(store: Path) -> None:
    wanted = ["a", *(f"x{i}" for i in range(12))]
    with pytest.raises(InputError, match=r"12 images \(x0, .*, x9, \.\.\.\)"):
        read_features(store, wanted, {})


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_are_refused(tmp_path: Path, value: float) -> None:
    features = FEATURES.copy()
    features[1, 2] = value
    write_features(tmp_path / "f.h5", ["a", "b", "c"], features, {})
    with pytest.raises(InputError, match=r"NaN or infinite features for 1 images \(b\)"):
        read_features(tmp_path / "f.h5", ["a", "b"], {})
    assert np.array_equal(read_features(tmp_path / "f.h5", ["a", "c"], {}), features[[0, 2]])


def test_imported_features_are_read_back_with_their_origin(store: Path, tmp_path: Path) -> None:
    with h5py.File(store, "r+") as file:
        file.attrs["backbone"] = np.bytes_("resnet50")  # as MATLAB writes texts
    output = tmp_path / "imported.h5"
    imported(store, ["ü", "a"], FeatureSettings(backbone="resnet50", dimension=4), output)
    assert np.array_equal(
        read_features(output, ["a", "ü"], {"backbone": "resnet50", "dimension": 4}), FEATURES[[0, 2]]
    )
    with h5py.File(output) as file:
        assert file.attrs["source_backbone"] == "resnet50"
        assert file.attrs["imported_from"] == "features.h5"
        assert len(file.attrs["imported_sha256"]) == 64


def test_features_without_a_backbone_are_accepted_with_a_warning(
    store: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with h5py.File(store, "r+") as file:
        del file.attrs["backbone"]
    output = tmp_path / "imported.h5"
    imported(store, ["a"], FeatureSettings(backbone="vgg19", dimension=4), output)
    assert "no attribute `backbone`" in caplog.text and "'vgg19'" in caplog.text
    assert np.array_equal(read_features(output, ["a"], {"backbone": "vgg19"}), FEATURES[:1])
    with pytest.raises(InputError, match="dimension: found 4, expected 5"):
        imported(store, ["a"], FeatureSettings(backbone="vgg19", dimension=5), output)


def test_an_image_stored_twice_is_refused(tmp_path: Path) -> None:
    write_features(tmp_path / "f.h5", ["a", "b", "a"], FEATURES, {})
    with pytest.raises(InputError, match=r"1 images \(a\) are in it more than once"):
        imported(tmp_path / "f.h5", ["a"], FeatureSettings(), tmp_path / "out.h5")


def test_a_store_names_the_images_that_failed(store: Path, tmp_path: Path) -> None:
    assert failed_images(store) == set()
    write_features(tmp_path / "f.h5", ["a"], FEATURES[:1], {}, ["b", "ü"])
    assert failed_images(tmp_path / "f.h5") == {"b", "ü"}


GOOD = {"backbone": "resnet18", "weights": "some/where/w.pth", "resize": 64, "crop": 32, "crops": 10}


def test_expected_attributes_omit_speed_and_open_settings() -> None:
    expected = expected_attributes(FeatureSettings.model_validate({**GOOD, "precision": "auto"}))
    assert expected == {**GOOD, "weights": "w.pth"}
