"""How the desk asks the published copy.

What belongs here: the questions' names and the shape of an answer. What does not: connections.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from resources.statements import statements

Row: TypeAlias = dict[str, Any]
Ask: TypeAlias = Callable[..., list[Row]]
"""Answers a named question with rows, the values of its parameters given by name."""

_WRITTEN = statements("factible_assets.desk", "queries.sql")
QUESTIONS = {name: sql.replace("{listed}", _WRITTEN["listed"]) for name, sql in _WRITTEN.items()}
