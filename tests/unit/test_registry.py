"""Every part that the registry names follows a protocol of `protocols` or `losses.loss`."""

import inspect
from typing import Any

import pytest

from pipeline import registry
from pipeline.models.embedding import Embedding
from pipeline.models.losses.loss import Loss
from pipeline.models.settings import ChosenLosses

LOSSES = [name for name in ChosenLosses.model_fields if (registry.LOSSES / f"{name}.py").exists()]


def parts() -> dict[str, Any]:
    """The protocol of each part, by the part's name."""
    embeddings = [*registry.EMBEDDINGS.values(), *registry.REDUCTIONS.values(), *registry.SPELLED.values()]
    return {**dict.fromkeys(embeddings, Embedding), **dict.fromkeys(map(registry.loss, LOSSES), Loss)}


@pytest.mark.parametrize(("name", "protocol"), parts().items(), ids=list(parts()))
def test_a_part_has_the_methods_of_its_protocol_with_their_parameters(name: str, protocol: Any) -> None:
    part = registry.load(name)
    assert protocol in part.__mro__ and not inspect.isabstract(part)
    for method in getattr(protocol, "__abstractmethods__", ()):
        asked, found = (
            list(inspect.signature(getattr(kind, method)).parameters) for kind in (protocol, part)
        )
        assert found == asked, method


def test_every_file_of_a_loss_belongs_to_a_block_of_settings() -> None:
    """A file without a block would never be trained."""
    shared = {"__init__", "loss", "triplets"}
    assert {path.stem for path in registry.LOSSES.glob("*.py")} - shared == set(LOSSES)
