"""`factible recheck`: check videos again, those that are due or those that are named.

What belongs here: arguments, the plan as a table, the outcome as a table. What does not: running
(running/recheck.py), the rule of the plan (warehouse/views/40_rechecks.sql).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated

import typer

from factible_assets.cli.knobs import RecheckCommand, checked_config, given_knobs
from factible_assets.cli.output import complain, note, result, table, wishes
from factible_assets.corpora.adding import bare_id
from factible_assets.errors import ExitCode
from factible_assets.settings import load_settings
from factible_assets.wording import plain
from warehouse.rechecks import PlannedVideo

_WAITING = {
    "too_fresh": "fresh enough",
    "backing_off": "failed before and tried again later",
    "too_expensive": "too expensive for one night",
    "over_limit": "more than the night checks",
    "over_cost": "more than the night may cost",
    "in_flight": "being checked now, or without a partition",
}


def recheck(
    context: typer.Context,
    videos: Annotated[
        list[str] | None,
        typer.Argument(help="Ids or YouTube URLs of checked videos; else those that are due."),
    ] = None,
    *,
    plan: Annotated[
        bool, typer.Option("--plan", help="Show the next night's list and why; check nothing.")
    ] = False,
    limit: Annotated[
        int | None, typer.Option(min=0, help="The most videos, instead of the setting.")
    ] = None,
) -> None:
    """Check videos again: what is incomplete first, then low confidence, then the oldest.

    Claims and queries stay; searches, pages, evidence and verdicts are renewed. Without ids, what
    the nightly schedule would check now is checked, within its limits.

    Example: factible recheck --plan

    Example: factible recheck everyday-beliefs-talk

    An id that begins with a dash follows two dashes: factible recheck -- -LDjqcvSbP4
    """
    from factible_assets.cli.progress import watching
    from factible_assets.running.recheck import chosen_videos, next_plan, recheck_videos

    config = checked_config(given_knobs(context), "recheck")
    settings = load_settings()
    named = [bare_id(each) for each in videos or ()]
    if plan:
        _show_plan(next_plan(settings, limit, named))
        return
    rows = chosen_videos(settings, named, limit)
    runs = recheck_videos(settings, rows, config, remember=not named, watch=watching)
    done = []
    for place, row in enumerate(rows, start=1):
        why = "as you asked" if named else plain(row.reason)
        note(f"[{place}/{len(rows)}] {plain(row.video_id)}: {why}")
        done.append(next(runs))
        for failure in done[-1].failures:
            complain(failure)
    cells = [
        (
            plain(each.video_id),
            each.words,
            "; ".join(plain(f"{flip.words}: {flip.claim}", 100) for flip in each.flips) or "–",
            each.report or "–",
        )
        for each in done
    ]
    headings = ("video", "outcome", "verdicts that turned", "report")
    nothing = "No video is due; factible recheck --plan says why."
    result(
        [each.as_document() for each in done],
        table(headings, cells, title="Checked again") if done else nothing,
    )
    gravity = (ExitCode.DONE, ExitCode.INCOMPLETE, ExitCode.FAILED)
    raise typer.Exit(max((each.code for each in done), key=gravity.index, default=ExitCode.DONE))


recheck.command_class = RecheckCommand  # type: ignore[attr-defined] # main.py makes it of this


def _show_plan(rows: Sequence[PlannedVideo]) -> None:
    if wishes.json or not rows:
        result(rows, "No video has claims to check again.")
        return
    when = f"{rows[0].planned_for:%Y-%m-%d at %H:%M} UTC"
    cells = [
        (
            str(row.position),
            plain(row.video_id),
            plain(row.reason),
            f"${row.estimated_cost_usd:.4f}",
        )
        for row in rows
        if row.is_planned
    ]
    headings = ("", "video", "why", "expected cost")
    planned = table(headings, cells, title=f"To be checked again on {when}")
    result(rows, planned if cells else f"Nothing is due on {when}.")
    waiting = Counter(row.decision for row in rows if not row.is_planned)
    for decision, number in waiting.most_common():
        note(f"{number} wait: {_WAITING[decision]}")
