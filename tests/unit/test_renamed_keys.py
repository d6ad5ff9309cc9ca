"""Old configuration keys and values are refused with the new name; the change log lists the same names."""

from pathlib import Path
from typing import Any

import pytest

from pipeline import settings as configuration
from pipeline.common.errors import InputError
from pipeline.settings.renamed import KEYS, VALUES

ROOT = Path(__file__).parents[2]


def refused(**user: Any) -> list[str]:
    with pytest.raises(InputError) as caught:
        configuration.load({"scale": "demo", **user}, ROOT / "config")
    return str(caught.value).split("\n  - ")[1:]


def block(path: list[str], value: Any) -> dict[str, Any]:
    """The configuration that has a value at a path, `*` standing for a name that the demo has."""
    names = {"datasets": "multi30k", "sets": "vgg", "pairs": "en-de"}
    for place in reversed(range(len(path))):
        name = names[path[place - 1]] if path[place] == "*" else path[place]
        value = {name: value}
    return value


@pytest.mark.parametrize("old", KEYS)
def test_an_old_key_is_refused_with_its_new_name(old: str) -> None:
    user = block(old.split("."), 1)
    if old.startswith(("translation.default", "translation.pairs")):
        provider = user["translation"].get("default") or user["translation"]["pairs"]["en-de"]
        provider |= {"provider": "marian", "model": "folder"}
    key = old.rpartition(".")[2]
    (mistake,) = [line for line in refused(**user) if repr(key) in line]
    assert mistake.endswith(f"key {key!r} is now {KEYS[old]}")


@pytest.mark.parametrize(("key", "old"), [(key, old) for key, values in VALUES.items() for old in values])
def test_an_old_value_is_refused_with_its_new_name(key: str, old: str) -> None:
    assert refused(**block(key.split("."), old)) == [
        f"{key}: found {old!r}, which is now {VALUES[key][old]!r}"
    ]


def test_old_names_in_an_experiments_settings_are_refused_too() -> None:
    own = {"training": {"clip_gradient": 2.0, "images_in_batch": "different"}}
    assert refused(experiments={"embn": {"settings": own}}) == [
        "experiments.embn.settings.training: key 'clip_gradient' is now max_grad_norm",
        "experiments.embn.settings.training.images_in_batch: found 'different', which is now 'distinct'",
    ]


def test_an_old_name_in_another_block_is_only_unknown() -> None:
    (mistake,) = refused(pretraining={"decay": 0.5})
    assert mistake.startswith("pretraining: unknown key 'decay'")


def test_no_new_name_is_unknown_and_no_old_one_known() -> None:
    schema = configuration.read(ROOT / "config" / "schema.yaml")["properties"]
    for old, new in KEYS.items():
        *path, key = [part for part in old.split(".") if part != "*"]
        if path[0] == "translation" and path[1] != "limits":
            continue  # providers are described under $defs
        here = schema
        for part in path:
            inner = here[part]
            here = inner.get("properties") or inner["additionalProperties"]["properties"]
        assert new.split(" ")[0] in here
        assert key not in here


def test_the_change_log_has_every_rename() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith("|")]
    for old, new in KEYS.items():
        assert any(f"`{old}`" in line and f"`{new.split(' ')[0]}`" in line for line in lines), old
    for key, values in VALUES.items():
        for old, new in values.items():
            assert any(f"`{key}: {old}`" in line and f"`{new}`" in line for line in lines), key
