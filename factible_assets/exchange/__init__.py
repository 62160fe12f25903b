"""Data that others wrote, read into corpora; and what is known here, written for others.

What belongs here: one module per format, of pure functions from text to entries and back. What
does not: which file is meant and where it goes (importing.py, cli/), the corpus format (corpora/).
"""

from __future__ import annotations

from enum import StrEnum


class ImportFormat(StrEnum):
    """What can be imported; auto tells the others apart by name and beginning."""

    auto = "auto"
    published = "published"
    corpus = "corpus"
    averitec = "averitec"
    fever = "fever"
    claimreview = "claimreview"
    csv = "csv"
