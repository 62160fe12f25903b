"""The predecessor's published evaluation, recomputed from its published outputs.

What belongs here: its layout, the definitions behind its numbers, the comparison cell by cell. What
does not: how this project's own runs are evaluated (metrics), printing (cli).

Reproducing those numbers shows that this project's matching and metrics measure the same thing.
"""

from factible_assets.evaluation.published.cells import Cell, Outcome
from factible_assets.evaluation.published.layout import (
    PublishedFolder,
    PublishedLayoutError,
    read_published,
)
from factible_assets.evaluation.published.report import (
    PublishedReport,
    Row,
    SettingReport,
    VideoResult,
    recompute_published,
)

__all__ = [
    "Cell",
    "Outcome",
    "PublishedFolder",
    "PublishedLayoutError",
    "PublishedReport",
    "Row",
    "SettingReport",
    "VideoResult",
    "read_published",
    "recompute_published",
]
