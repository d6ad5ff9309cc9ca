"""A text of digits stays a text wherever a text belongs, and a number may be written as one elsewhere."""

from pathlib import Path
from typing import Any

import pytest

from pipeline import settings as configuration
from pipeline.common.errors import InputError
from pipeline.tables.result_files import read_result

CONFIG = Path(__file__).parents[2] / "config"


def load(**user: Any) -> configuration.Configuration:
    return configuration.load({"scale": "demo", **user}, CONFIG)


@pytest.mark.parametrize("text", ["007", "1.10", "true", "1e5", "0012345678", "null", "no"])
def test_a_text_stays_one_where_a_text_belongs(text: str) -> None:
    row = {"row": "1", "method": text, "experiment": "embn"}
    own = {"columns": {"multi30k": ["en"]}, "rows": [row]}
    marian = {"provider": "marian", "model": f"{text}/{{target}}", "revision": text}
    settings = load(tables={"own": own}, translation={"default": marian})
    assert settings.tables["own"].rows[0].method == text and settings.tables["own"].rows[0].row == 1
    assert settings.translation.default is not None
    assert settings.translation.default.model_dump(exclude_unset=True) == marian


def test_a_number_written_as_a_text_is_read_where_a_number_belongs() -> None:
    training = {"epochs": "3", "learning_rate": "1e-4"}
    settings = load(seeds=["1", "22"], training=training, tensorboard="true", gpu="0", images={"crops": "1"})
    assert (settings.seeds, settings.tensorboard, settings.gpu, settings.images.crops) == (
        [1, 22],
        True,
        0,
        1,
    )
    assert (settings.training.epochs, settings.training.learning_rate) == (3, 0.0001)


@pytest.mark.parametrize("text", ["007", "1.5", "yes", "0x10", "1_000", "١", "9" * 5000])
def test_a_wrong_number_is_shown_as_it_was_written(text: str) -> None:
    with pytest.raises(InputError, match=r"seeds.0: found '?(007|1.5|yes|0x10|1_000|١|999)"):
        load(seeds=[text])


def test_texts_of_results_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("section,method,training_data,measured\n,007,1.10,1.5\nNA,null,true,\n")
    read = read_result(path, "the table", "")
    assert read["method"].tolist() == ["007", "null"] and read["training_data"].tolist() == ["1.10", "true"]
    assert read["section"].isna().tolist() == [True, False] and read["measured"].isna().tolist() == [
        False,
        True,
    ]
