"""The parameter comparison, counted from models and by hand."""

from pathlib import Path

import pandas as pd
import pytest

from pipeline import settings as configuration
from pipeline.models.sizes import count_bert
from pipeline.tables.parameters import write_parameters
from pipeline.tables.tabulate import COMPARISON_COLUMNS

ROOT = Path(__file__).parents[2]


@pytest.fixture
def tables(tmp_path: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    settings = configuration.parameter_settings(ROOT / "config")
    papers = ROOT / "config" / "papers" / "parameters.csv"
    write_parameters(settings, papers, tmp_path / "table.csv", tmp_path / "comparison.csv")
    return pd.read_csv(tmp_path / "table.csv"), pd.read_csv(tmp_path / "comparison.csv")


def test_parameters_are_those_worked_out_by_hand(tables: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    table, comparison = tables
    branch = 4 * 1024 * (512 + 1024 + 2) + 1024 * 512 + 512  # LSTM with two biases, linear layer
    layer = 300 * 512 + 512
    # Multilingual BERT: 119,547 word pieces, 512 places and 2 segments; a layer has 12 x 768 squared weights,
    # 9 x 768 biases and 4 x 768 of its two norms; norm of the embeddings; pooler.
    bert = (119_547 + 512 + 2 + 2) * 768 + 12 * (12 * 768**2 + 13 * 768) + 768**2 + 768
    assert table["parameters"].tolist() == [branch, 4 * branch, layer, branch + 4 * layer, bert]
    assert table["paper"].tolist() == ["6.8M", "27.2M", "1.7M", "13.6M", "110M"]
    assert comparison.columns.tolist() == COMPARISON_COLUMNS
    assert comparison["paper"].tolist() == [6.8, 27.2, 1.7, 13.6, 110]
    assert comparison["measured"].tolist() == [6.82, 27.3, 0.15, 7.44, 177.85]


def test_bert_base_has_the_papers_110_million_with_an_english_vocabulary() -> None:
    hidden, layers = 768, 12
    one = 4 * (hidden * hidden + hidden) + 2 * 4 * hidden * hidden + 5 * hidden + 4 * hidden
    embeddings = (512 + 2) * hidden + 2 * hidden
    pooler = hidden * hidden + hidden
    for pieces in (30_522, 119_547):
        assert count_bert(pieces) == pieces * hidden + embeddings + layers * one + pooler
    assert round(count_bert(30_522) / 1e6) == 109
