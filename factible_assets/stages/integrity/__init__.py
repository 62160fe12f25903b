"""Structural integrity: whether the rows of a video are what their tables promise.

What belongs here: rules over the rows of one video, each with a name, and their judgement. What
does not: rules of one row alone (records.py), quality (evaluation), Dagster (checks/).
"""

from factible_assets.stages.integrity.judged_rows import JudgedRows, Limits, Violation
from factible_assets.stages.integrity.rules import (
    ALL_RULES,
    Finding,
    Rule,
    judge,
    rules_of,
)

__all__ = ["ALL_RULES", "Finding", "JudgedRows", "Limits", "Rule", "Violation", "judge", "rules_of"]
