"""One published value beside its recomputation, and how well they agree.

What belongs here: cells, digits, outcomes. What does not: where recomputed values come from
(recompute.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Outcome = Literal["reproduced", "differs", "consistent", "not recomputable", "never filled in"]
"""What became of one published value.

`reproduced`: recomputed, and equal. `differs`: recomputed, and not equal. `consistent`: not fully
determined by what was published, and the published value is among those that are possible.
`not recomputable`: what it was computed from was not published. `never filled in`: the evaluator
left the place empty.
"""

FULL_DIGITS: Final = 15
_ENOUGH_DIGITS: Final = 9


@dataclass(frozen=True, slots=True)
class Computed:
    """What a published value should be.

    Attributes:
        value: A number, or the number of items of a list; None if it cannot be computed.
        same_items: Whether a list has the very items that were published; None for numbers.
        reason: Why it cannot be computed, or how a list differs.
        choice: Whether the value is one of several that are possible, or the list was only read.
    """

    value: float | None
    same_items: bool | None = None
    reason: str | None = None
    choice: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """One published value of one video at one setting.

    Attributes:
        setting: The number of claims that were asked for.
        video_id: The video.
        metric: `section.name` as in the published file.
        published: The number, or the number of items of a list; None if it is empty.
        recomputed: The same, computed here; None if it cannot be.
        digits: Decimal places to which numbers agree, at most 15; None if there is no second
            number, or it is a list.
        outcome: What became of it.
        reason: Why it is not simply reproduced.
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

    The greatest d for which they differ by less than half a unit of place d, which is what
    rounding to d places could hide.
    """
    gap = abs(first - second)
    agrees = (d for d in range(FULL_DIGITS, 0, -1) if gap < 0.5 * 10.0**-d)
    return next(agrees, 0)


def compare(
    setting: int, video_id: str, metric: str, published: float | None, computed: Computed
) -> Cell:
    """Put a published value beside its recomputation."""
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
