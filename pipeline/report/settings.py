"""Settings of the report and its figures."""

from pipeline.common.block import Block, Count, Seed
from pipeline.datasets.settings import Origins
from pipeline.tables.settings import Table


class ReportSettings(Block):
    """The part of the configuration that the report shows."""

    scale: str
    papers_data: list[str]
    seeds: list[Seed]
    tables: dict[str, Table]
    configured: dict[str, dict[str, str]]
    """blocks that are shown, with their values"""
    caption_origins: dict[str, Origins]
    stands_for: dict[str, str]
    left_out: dict[str, list[str]]
    """rows that are not filled, by table"""


class RetrievedSettings(Block):
    """What a figure of retrieved images depends on besides its model."""

    number: int
    seed: Seed
    threads: Count
