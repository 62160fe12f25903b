"""One published value, its recomputation, and the agreement of the two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Outcome = Literal["reproduced", "differs", "consistent", "not recomputable", "never filled in"]
"""The result for one published value.

`reproduced`: recomputed, and equal. `differs`: recomputed, and not equal. `consistent`: the
published data allow several values, this one among them. `not recomputable`: its inputs are
unpublished. `never filled in`: the evaluator left it empty.
"""

FULL_DIGITS: Final = 15
_ENOUGH_DIGITS: Final = 9


@dataclass(frozen=True, slots=True)
class Computed:
    """The expected value.

    Attributes:
        value: A number, or the number of items of a list; None if it cannot be computed.
        same_items: Whether a list has exactly the published items; None for numbers.
        reason: The reason that it cannot be computed, or the difference of the list.
        choice: Whether the value is one of several possible ones, or the list was only read.
    """

    value: float | None
    same_items: bool | None = None
    reason: str | None = None
    choice: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """One published value of one video at one setting.

    Attributes:
        setting: The requested number of claims.
        video_id: The video.
        metric: `section.name` as in the published file.
        published: The number, or the number of items of a list; None if it is empty.
        recomputed: The same, computed here; None if impossible.
        digits: Decimal places to which numbers agree, at most 15; None without a second number, or
            for a list.
        outcome: The result.
        reason: The reason for any other outcome than `reproduced`.
    """

    setting: int
    video_id: str
    metric: str
    published: float | None
    recomputed: float | None
    digits: int | None
    outcome: Outcome
    reason: str | None = None


def agreeing_digits(first: float, second: float) -> int:
    """Return the decimal places to which two numbers agree, from 0 to 15.

    It is the greatest d for which they differ by less than half a unit of place d.
    """
    gap = abs(first - second)
    agrees = (d for d in range(FULL_DIGITS, 0, -1) if gap < 0.5 * 10.0**-d)
    return next(agrees, 0)


def compare(
    setting: int, video_id: str, metric: str, published: float | None, computed: Computed
) -> Cell:
    """Compare a published value with its recomputation."""
    value = computed.value
    if published is None:
        return Cell(setting, video_id, metric, None, None, None, "never filled in", computed.reason)
    if value is None:
        reason = computed.reason
        return Cell(setting, video_id, metric, published, None, None, "not recomputable", reason)
    if computed.same_items is not None:
        same: Outcome = "consistent" if computed.choice else "reproduced"
        outcome: Outcome = same if computed.same_items else "differs"
        return Cell(setting, video_id, metric, published, value, None, outcome, computed.reason)
    digits = agreeing_digits(published, value)
    return Cell(
        setting,
        video_id,
        metric,
        published,
        value,
        digits,
        _outcome(digits, computed),
        computed.reason,
    )


def _outcome(digits: int, computed: Computed) -> Outcome:
    # Sums of floats in another order differ in their last places.
    if digits < _ENOUGH_DIGITS:
        return "differs"
    return "consistent" if computed.choice else "reproduced"
