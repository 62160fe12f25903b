"""`factible status`, `runs` and `said`: show the data folder, its newest runs, similar claims."""

from __future__ import annotations

from typing import Annotated, Any

from rich.text import Text
from typer import Argument, Option

from factible_assets.cli.output import Columns, grid, note, result, show_rows
from factible_assets.errors import ExitCode, FactibleError, UsageError
from factible_assets.runs.state import list_runs, state_of
from factible_assets.runs.targets import open_store
from factible_assets.settings import load_settings
from factible_assets.wording import counted, dollars, in_bytes, plain
from resources.transcripts.youtube_ids import bare_id

_STATUSES = ("queued", "starting", "started", "success", "failure", "canceling", "canceled")
_RUN_STYLES = {"success": "green", "failure": "red", "canceled": "yellow", "started": "cyan"}


def said(text: Annotated[str, Argument(help="A sentence, such as a claim.")]) -> None:
    """Find the claims of checked videos that say the same as a text, or the contrary.

    The relation `similar` means that the rules cannot tell whether they agree. In SQL, the view
    said_before has such pairs of claims.

    Example: factible said "Mount Everest is 8,849 metres tall"
    """
    # It loads the rules that compare sentences, which `status` does not need.
    from factible_assets.runs.said_before import said_before

    rows = said_before(open_store(load_settings()), text)
    origin = ("speaker", "channel", "video_title")
    columns: Columns = (
        *("relation", "verdict", "claim"),
        ("said by, in", lambda row: ", ".join(filter(None, map(row.get, origin)))),
        "published: published_on",
        ("link", lambda row: row["link"] or row["video_id"]),
    )
    show_rows(rows, columns, nothing="No claim of a checked video speaks of that.")


def status() -> None:
    """Show what is checked, incomplete, due and running, and the contents of the data folder.

    If the warehouse is damaged, the exit code is 5 and the numbers come from the published copy.

    Example: factible status
    """
    state = state_of(load_settings())
    result(state, grid((name, plain(words)) for name, words in _lines(state)))
    for problem in state["listed"]["problems"]:
        note(f"A corpus is not readable: {plain(problem)}")
    if state["running_unknown"]:
        note(f"The running checks are unknown: {plain(state['running_unknown'])}")
    if state["damage"] is not None:
        raise FactibleError(state["damage"], code=ExitCode.ENVIRONMENT)
    if state["videos"] is None:
        note("Nothing is checked yet. Start with: factible demo")


def _lines(state: dict[str, Any]) -> list[tuple[str, str]]:
    rows = [("home", state["home"])]
    if ":" in state["warehouse"]:
        rows.append(("warehouse", state["warehouse"]))
    rows += [
        ("web", state["web"]),
        ("reasoner", state["reasoner"]),
        ("listed", counted(state["listed"]["videos"], "video")),
    ]
    if state["videos"] is not None:
        videos, claims, cost = state["videos"], state["claims"], state["cost"]
        unpriced = f" ({cost['unpriced']:,} without a listed price)" if cost["unpriced"] else ""
        last, calls = claims["last_checked_at"], counted(cost["calls"], "model call")
        checked = (
            f"{videos['checked']:,} checked, {videos['incomplete']:,} incomplete, "
            f"{videos['without_verdicts']:,} without verdicts"
        )
        judged = (
            f"{claims['claims']:,}, of which {claims['verdicts']:,} have a verdict and "
            f"{claims['incomplete']:,} are incomplete because services failed"
        )
        rows += [
            ("videos", checked),
            ("claims", judged),
            ("last check", f"{last:%Y-%m-%d %H:%M} UTC" if last else "–"),
            ("cost", f"{dollars(cost['usd'])} for {calls}{unpriced}, all runs"),
            ("due", f"{counted(state['due'], 'video')} tonight: factible recheck --plan"),
        ]
    running_words = (
        f"{run['video'] or '–'} ({run['status']}, {run['id']})" for run in state["running"] or ()
    )
    running = "not known" if state["running_unknown"] else ", ".join(running_words) or "nothing"
    sizes = (f"{name} {in_bytes(size)}" for name, size in state["sizes_bytes"].items() if size)
    return [*rows, ("running", running), ("on disk", ", ".join(sizes) or "nothing")]


def runs(
    *,
    video: Annotated[str | None, Option(help="Only runs of this video.")] = None,
    job: Annotated[str | None, Option(help="Only runs of this job.")] = None,
    status: Annotated[
        list[str] | None, Option(help=f"Only runs with this status: {', '.join(_STATUSES)}.")
    ] = None,
    limit: Annotated[
        int, Option("--limit", "-n", min=1, max=1000, help="The maximum number of runs.")
    ] = 20,
) -> None:
    """List the newest runs of the command line, the UI and the schedules.

    Example: factible runs --status failure --limit 5
    """
    for named in status or ():
        if named not in _STATUSES:
            raise UsageError(f"There is no status {named!r}.", f"Use {', '.join(_STATUSES)}.")
    video_id = bare_id(video) if video else None
    rows = list_runs(load_settings(), video=video_id, job=job, statuses=status or (), limit=limit)
    if not rows:
        result(rows)
        note("There are no such runs." if video or job or status else "There are no runs yet.")
        return
    columns: Columns = (
        "run: id",
        ("started (UTC)", lambda row: f"{row['started_at'] or row['created_at']:%m-%d %H:%M}"),
        "job",
        ("status", lambda row: Text(row["status"], style=_RUN_STYLES.get(row["status"], ""))),
        ("took", lambda row: None if row["seconds"] is None else f"{row['seconds']:.0f} s"),
        ("cost", lambda row: None if row["cost_usd"] is None else dollars(row["cost_usd"])),
        "video",
    )
    # Below the table, because a column of sentences is too wide.
    failures = (
        Text(f"{row['id']}  {plain(failure)}", style="red")
        for row in rows
        for failure in row["failures"]
    )
    show_rows(rows, columns, *failures, bare=True)
