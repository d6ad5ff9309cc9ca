"""Settings of the report."""

from typing import Any

from pipeline.common.block import Block, Seed
from pipeline.datasets.settings import Origins
from pipeline.tables.settings import Table


class ReportSettings(Block):
    """The part of the configuration that the report shows."""

    scale: str
    papers_data: list[str]
    seeds: list[Seed]
    tables: dict[str, Table]
    configured: dict[str, dict[str, Any]]
    """blocks that are shown, with their values"""
    caption_origins: dict[str, Origins]
    stands_for: dict[str, str]
    left_out: dict[str, list[str]]
    """rows that are not filled, by table"""
