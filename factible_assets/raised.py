"""What a group of tasks raised.

What belongs here: finding the failure in an ExceptionGroup. What does not: deciding what it means.
"""

from __future__ import annotations


def first_of(group: ExceptionGroup[Exception]) -> Exception:
    """Return what a task raised, without the groups around it: the rest was cancelled for it."""
    first = group.exceptions[0]
    return first_of(first) if isinstance(first, ExceptionGroup) else first
