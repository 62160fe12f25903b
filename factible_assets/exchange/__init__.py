"""Data that others wrote, read into corpora; and what is known here, written for others.

What belongs here: one module per format, of pure functions from text to entries and back. What
does not: which file is meant and where it goes (importing.py, cli/), the corpus format (corpora/).
"""

from __future__ import annotations

from typing import Literal

ImportFormat = Literal["auto", "published", "corpus", "averitec", "fever", "claimreview", "csv"]
"""What can be imported; auto tells the others apart by name and beginning."""
