"""Imports other formats into corpora and exports results; one module per format."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

ImportFormat = Literal["auto", "published", "corpus", "averitec", "fever", "claimreview", "csv"]
"""The importable formats. `auto` recognises a format by file name and first characters."""


class ExportFormat(StrEnum):
    PARQUET = "parquet"
    CSV = "csv"
    CLAIMREVIEW = "claimreview"
    AVERITEC = "averitec"
    MARKDOWN = "markdown"
