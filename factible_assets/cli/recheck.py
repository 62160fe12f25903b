"""`factible recheck`: check videos again, now or as planned for the night."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any

from typer import Argument, Exit, Option

from factible_assets.cli import arguments
from factible_assets.cli.check import outcome_document
from factible_assets.cli.output import (
    Columns,
    note,
    output_mode,
    print_error,
    result,
    show_rows,
    table_of,
)
from factible_assets.cli.progress import watching
from factible_assets.errors import gravest
from factible_assets.runs.result import Checked
from factible_assets.settings import load_settings
from factible_assets.wording import counted, plain
from resources.transcripts.youtube_ids import bare_id
from warehouse.rechecks import PlanEntry

_WHY_WAITING = {
    "too_fresh": "fresh enough",
    "backing_off": "failed before, retried later",
    "too_expensive": "too expensive for one night",
    "over_limit": "beyond the number of videos per night",
    "over_cost": "beyond the cost per night",
    "in_flight": "being checked now, or without a partition",
}


@arguments.without_claim_options
def recheck(
    videos: Annotated[
        list[str] | None,
        Argument(help="Ids or YouTube URLs of checked videos; without any, the due ones."),
    ] = None,
    *,
    plan: Annotated[bool, Option("--plan", help="Show the next night's list and why.")] = False,
    limit: Annotated[
        int | None,
        Option(min=0, max=10**6, help="The maximum number of videos; overrides the setting."),
    ] = None,
    **options: Any,
) -> None:
    """Check videos again: incomplete ones first, then low confidence, then the oldest.

    The check reuses the claims, queries and options of the previous one, except the options given
    here, and renews searches, pages, evidence and verdicts. Without ids it takes the videos of the
    nightly schedule, within its limits.

    Example: factible recheck --plan

    Example: factible recheck everyday-beliefs-talk
    """
    from factible_assets.runs.rechecks import chosen_videos, next_plan, recheck_videos

    arguments.checked_config(options)
    overrides = {name: value for name, value in options.items() if value is not None}
    settings = load_settings()
    named = [bare_id(video) for video in videos or ()]
    if plan:
        _show_plan(next_plan(settings, limit, named))
        return
    rows = chosen_videos(settings, named, limit)
    runs = recheck_videos(settings, rows, overrides, remember=not named, watch=watching, say=note)
    checked = []
    for place, row in enumerate(rows, start=1):
        why = "requested" if named else plain(row.reason)
        note(f"[{place}/{len(rows)}] {plain(row.video_id)}: {why}")
        checked.append(next(runs))
        for failure in checked[-1].failures:
            print_error(failure)
    columns: Columns = (
        ("video", lambda each: each.data.video.video_id),
        ("outcome", _outcome),
        (
            "verdicts that flipped",
            lambda each: "; ".join(
                plain(f"{flip.words}: {flip.claim}", 100) for flip in each.flips
            ),
        ),
        "report",
    )
    nothing = "No video is due; factible recheck --plan says why."
    shown = table_of(checked, columns, title="Checked again") if checked else nothing
    result([_rechecked(video) for video in checked], shown)
    raise Exit(gravest(video.code for video in checked))


def _rechecked(checked: Checked) -> dict[str, Any]:
    names = ("claim_id", "claim", "previous_stance", "stance")
    flips = [{name: getattr(flip, name) for name in names} for flip in checked.flips]
    return {
        **outcome_document(checked),
        "incomplete_verdicts": len(checked.incomplete),
        "flips": flips,
    }


def _outcome(checked: Checked) -> str:
    if checked.failures:
        return "failed"
    incomplete = len(checked.incomplete)
    return f"{counted(incomplete, 'verdict')} incomplete" if incomplete else "complete"


def _show_plan(rows: Sequence[PlanEntry]) -> None:
    if output_mode.json or not rows:
        result(rows, "No video has claims to check again.")
        return
    when = f"{rows[0].planned_for:%Y-%m-%d at %H:%M} UTC"
    columns: Columns = (
        *(": position", "video: video_id", "why: reason"),
        ("expected cost", lambda row: f"${row.estimated_cost_usd:.4f}"),
    )
    planned = [row for row in rows if row.is_planned]
    title, nothing = f"To be checked again on {when}", f"Nothing is due on {when}."
    show_rows(planned, columns, title=title, nothing=nothing)
    waiting = Counter(row.decision for row in rows if not row.is_planned)
    for decision, number in waiting.most_common():
        note(f"{counted(number, 'video waits', 'videos wait')}: {_WHY_WAITING[decision]}")
