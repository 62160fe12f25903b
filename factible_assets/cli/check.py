"""`factible check` and `factible demo`: fact-check one video or one transcript.

What belongs here: arguments, the order of the steps, the verdicts as they are printed. What does
not: which video is meant (running/targets.py), running and reporting (running/check.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.table import Table
from rich.text import Text

from factible_assets.cli.completion import video_ids
from factible_assets.cli.knobs import KnobCommand, checked_config, given_knobs
from factible_assets.cli.output import NARROW, complain, note, outcome_text, result, stdout, wishes
from factible_assets.config import ClaimsConfig, FactCheckConfig, SearchConfig
from factible_assets.corpora import load_corpora
from factible_assets.errors import ExitCode, FactibleError
from factible_assets.records import Verdict
from factible_assets.running.targets import enlist, resolve
from factible_assets.settings import Settings, load_settings
from factible_assets.wording import clock, counted, dollars, plain

if TYPE_CHECKING:  # help, and a shell that completes the id of a video, need no report
    from factible_assets.running.result import Checked

_DEMO = "everyday-beliefs-talk"
_DEMO_CLAIMS = 12
"""Enough that true, false, mixed and unsettled claims of the talk are among them."""


def check(
    context: typer.Context,
    target: Annotated[
        str,
        typer.Argument(
            help="A YouTube URL or id, the id of a video in a corpus, or a transcript file.",
            autocompletion=video_ids,
        ),
    ],
    *,
    pages: Annotated[
        Path | None,
        typer.Option(help="Check against the pages in this folder (HTML, text, JSONL) alone."),
    ] = None,
    pages_rating: Annotated[
        Literal["high", "medium", "low", "unknown"] | None,
        typer.Option(
            help="How reliable the pages of --pages are that no rating set lists. Default: medium, "
            "because you chose them; with unknown they weigh as an unlisted site would.",
        ),
    ] = None,
    title: Annotated[
        str | None, typer.Option(help="The title of a transcript file's video.")
    ] = None,
    web: Annotated[
        str | None,
        typer.Option(
            help="Where to look: auto, live, miniature, archive, or archive:NAME for one "
            "collection.",
        ),
    ] = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Check again what was checked with the same settings, from the transcript on.",
        ),
    ] = False,
) -> None:
    """Fact-check a video: its claims, what sources say about each, and how sure that is.

    A video that was completely checked before is shown as it was found; --force, or any option
    that changes the outcome, checks it again.

    Ctrl-C stops cleanly, and the same command goes on: with the transcript and the claims that
    are stored, unless what they come from has changed, and with every answer that was paid for.

    Example: factible check everyday-beliefs-talk

    Example: factible check talk.vtt --title "What everybody knows" --pages my-pages/

    An id that begins with a dash follows two dashes: factible check --json -- -LDjqcvSbP4
    """
    from factible_assets.cli.archive import import_pages
    from factible_assets.running.result import stored_result

    if pages is not None and web is not None:
        raise FactibleError(
            "--pages and --web both say where to look.", "Give one of them.", ExitCode.USAGE
        )
    if pages_rating is not None and pages is None:
        raise FactibleError(
            "--pages-rating says how reliable the pages of --pages are.",
            "Add --pages FOLDER, or leave it out.",
            ExitCode.USAGE,
        )
    if pages is not None:
        pages_rating = pages_rating or "medium"
    knobs = given_knobs(context, web=web, pages_rating=pages_rating)
    checked_config(knobs)  # A wrong option is refused before anything is written.
    settings = load_settings()
    meant = resolve(target, title, settings)
    if meant.remark:
        note(meant.remark)
    is_plain = pages is None and not knobs and not force
    stored = stored_result(meant.video_id, settings=settings) if is_plain else None
    if stored is not None and stored.is_finished:
        when = f"{stored.data.checked_at:%Y-%m-%d %H:%M} UTC"
        note(f"Checked before, on {when}; --force checks it again.")
        _show(stored)
        return
    if pages is not None:
        knobs["web"] = web = f"archive:{import_pages(pages, settings)}"
    file = enlist(meant, settings, web, pages_rating)
    if file is not None:
        note(f"{meant.transcript} is listed as the video {meant.video_id} in {file}")
    config = checked_config(knobs)
    if not wishes.json:
        from factible_assets.services.remarks import default_remarks

        words = default_remarks(meant.video_id, settings=settings, config=config)
        if words:
            note(words)
    _check(meant.video_id, settings, config, fresh=force, takes_over=is_plain)


check.command_class = KnobCommand  # type: ignore[attr-defined] # main.py makes the command of it


def demo() -> None:
    """Fact-check the demo video end to end; needs no key and no network.

    A talk on everyday beliefs is checked against the miniature web that comes with the project.

    Example: factible demo
    """
    settings = load_settings()
    if load_corpora(settings.corpus_folders).find(_DEMO) is None:
        raise FactibleError(
            f"The demo's video is not listed in {settings.project_corpora}.",
            "Install factible-assets again.",
            ExitCode.ENVIRONMENT,
        )
    config = FactCheckConfig(
        claims=ClaimsConfig(max_claims=_DEMO_CLAIMS),
        search=SearchConfig(web="miniature"),
        reasoner="embedded",
    )
    note("The demo reads a miniature web that comes with the project; no request leaves here.")
    _check(_DEMO, settings, config, fresh=True, takes_over=False)


def _check(
    video_id: str, settings: Settings, config: FactCheckConfig, *, fresh: bool, takes_over: bool
) -> None:
    """Check a video, show what was found, and exit as the check ended."""
    settings.ensure_home()
    note(f"Checking {plain(video_id)} …")
    # After the note, for loading Dagster takes seconds.
    from factible_assets.cli.progress import watching
    from factible_assets.running.check import check_and_report

    checked = check_and_report(
        video_id,
        settings=settings,
        config=config,
        watch=watching,
        say=note,
        fresh=fresh,
        takes_over=takes_over,
    )
    for failure in checked.failures:
        complain(failure)
    _show(checked)
    raise typer.Exit(checked.code)


def _show(checked: Checked) -> None:
    """Print the verdicts and where the report lies."""
    if wishes.json:
        result(as_document(checked))
        return
    result(None, _verdicts_table(checked))
    if any(verdict.basis == "embedded" for verdict in checked.data.verdicts):
        note("These are automatic leanings of the embedded engine; the report shows the quotes.")
    if checked.code is ExitCode.INCOMPLETE:
        note("Some verdicts are incomplete because services failed; check the video again.")
    result(None, f"cost: {_cost_words(checked)}", f"report: {checked.report.absolute().as_uri()}")


def _verdicts_table(checked: Checked) -> Table:
    """Return the claims in order of time, with their verdicts; in one cell where room is scarce."""
    narrow = stdout().width < NARROW
    drawn = Table(title=plain(checked.data.video.title), title_justify="left", show_lines=narrow)
    drawn.add_column("at", justify="right", no_wrap=True)
    drawn.add_column("claim", ratio=3, overflow="fold")
    drawn.add_column("verdict", no_wrap=True)
    if not narrow:
        drawn.add_column("confidence", no_wrap=True)
        drawn.add_column("for : against", justify="center", no_wrap=True)
        drawn.add_column("origins", justify="right", no_wrap=True)
    for claim in checked.claims:
        verdict = checked.verdicts.get(claim.claim_id)
        cells: list[str | Text] = ["not judged", "–", "–", "–"]
        if verdict is not None:
            words, balance = outcome_text(verdict), f"{verdict.supporting} : {verdict.refuting}"
            cells = [words, _confidence(verdict), balance, str(verdict.independent_origins)]
            if narrow:
                words.append(f"\n{_confidence(verdict)}, {balance}", style="default")
        cells = cells[:1] if narrow else cells
        drawn.add_row(clock(claim.start_seconds), plain(claim.text), *cells)
    return drawn


def _confidence(verdict: Verdict) -> str:
    score = verdict.confidence_score
    shown = verdict.confidence or "–"
    return shown if score is None or not verdict.confidence else f"{shown} {score:.2f}"


def _cost_words(checked: Checked) -> str:
    calls = checked.data.llm_calls
    ever = f"; all checks of this video: {dollars(checked.cost_ever)}" if checked.cost_ever else ""
    if not calls:
        return f"nothing, no model was asked{ever}"
    kept = sum(call.cache_hit for call in calls)
    unpriced = sum(not call.price_known for call in calls)
    parts = [
        counted(len(calls), "model call"),
        *([f"{kept:,} answered from the cache"] if kept else []),
        *([f"{unpriced:,} without a listed price"] if unpriced else []),
    ]
    return f"{dollars(checked.cost)} for {', '.join(parts)}{ever}"


def as_document(checked: Checked) -> dict[str, Any]:
    """Return a check as a JSON document."""
    whose = {"video_id", "claim_id"}
    rows = (checked.verdicts, checked.data.rulings)
    claims = []
    for claim in checked.claims:
        found = (each.get(claim.claim_id) for each in rows)
        verdict, ruling = (row and row.model_dump(mode="json", exclude=whose) for row in found)
        mine = claim.model_dump(mode="json", exclude={"video_id"})
        claims.append({**mine, "verdict": verdict, "ruling": ruling})
    return {
        "video_id": checked.data.video.video_id,
        "title": checked.data.video.title,
        "run_id": checked.run_id,
        "checked_at": checked.data.checked_at,
        "success": not checked.failures,
        "failures": list(checked.failures),
        "exit_code": int(checked.code),
        "report": str(checked.report),
        "cost_usd": checked.cost,
        "cost_usd_all_runs": checked.cost_ever,
        "model_calls": len(checked.data.llm_calls),
        "claims": claims,
    }
