"""Every command explains itself and each of its options."""

import pytest

from pipeline.cli import NOT_OPTIONS, explanations, parameters
from pipeline.stages import STAGES, Stage
from search.stages import STAGES as SEARCH_STAGES

ALL = STAGES | SEARCH_STAGES


@pytest.mark.parametrize("stage", ALL.values(), ids=list(ALL))
def test_every_option_is_explained(stage: Stage) -> None:
    texts = {each.name: each.help for each in parameters(stage.function) if each.name not in NOT_OPTIONS}
    assert [name for name, text in texts.items() if len(text) < 3 or text[-1] in ",;:"] == []
    assert stage.summary[-1].isalnum() or stage.summary[-1] == ")"


def test_a_text_loses_its_full_stop_and_keeps_an_ellipsis() -> None:
    docstring = """Act.

    Args:
        steps: how many
            there are. At least one.
        first, second: JSON: tokens, seed, ...

    Raises:
        ValueError: never.
    """
    expected = {"steps": "how many there are. At least one"}
    assert explanations(docstring.replace("\n    ", "\n")) == expected | dict.fromkeys(
        ["first", "second"], "JSON: tokens, seed, ..."
    )
