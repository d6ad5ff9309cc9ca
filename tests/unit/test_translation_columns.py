"""The columns of a table that say who made the translations behind its numbers."""

from pipeline.tables.translations import provider_label, translation_columns


def test_providers_are_named_once_in_order() -> None:
    assert provider_label(set()) == ""
    assert provider_label({"google", "baidu", "dictionary"}) == "baidu, dictionary (word by word), google"


def test_a_line_names_all_providers_of_its_row_but_only_if_it_rests_on_translations() -> None:
    lines = [
        {"row": 1, "providers": {"google"}},
        {"row": 1, "providers": {"dictionary"}},
        {"row": 1, "providers": set()},
        {"row": 2, "providers": {"google"}},
    ]
    both = "dictionary (word by word), google"
    assert [tuple(columns.values()) for columns in translation_columns(lines)] == [
        (both, ""), (both, "yes"), ("", ""), ("google", ""),
    ]  # fmt: skip
