"""`factible check`, `demo` and `media`: check one video, and show the result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Exit, Option

from factible_assets.cli import arguments
from factible_assets.cli.output import (
    NARROW,
    Columns,
    note,
    outcome_text,
    print_error,
    result,
    stdout,
    table,
    table_of,
)
from factible_assets.cli.progress import watching
from factible_assets.config import DEMO_VIDEO, FactCheckConfig, demo_config
from factible_assets.errors import ExitCode, FactibleError, UsageError
from factible_assets.runs.targets import Target, resolve, unchecked
from factible_assets.settings import Settings, load_settings
from factible_assets.wording import balance_words, clock, confidence_words, counted, dollars, plain
from resources.errors import SetupError

# Help should come at once, so what loads DuckDB or Dagster is imported where it is needed.
if TYPE_CHECKING:
    from rich.table import Table

    from factible_assets.runs.result import Checked
    from factible_assets.runs.reusable import Reuse
    from factible_assets.services.reasoning import Choices

_SHOWN_REASONS, _SHOWN_CHARACTERS = 3, 400
"""Limits on the reasons for incomplete verdicts; the report shows them all."""

VideoArgument = Annotated[
    str, Argument(help="A video's id, YouTube URL or file.", autocompletion=arguments.video_ids)
]


@arguments.with_run_options
def check(
    target: VideoArgument,
    *,
    pages: Annotated[
        Path | None,
        Option(
            help="Use only the pages in this folder (HTML, text, JSONL). Unrated ones count as "
            "medium, because you chose them; --pages-rating changes that."
        ),
    ] = None,
    title: Annotated[str | None, Option(help="The title of a file's video.")] = None,
    force: Annotated[
        bool, Option("--force", help="Repeat the whole check, from the transcript on.")
    ] = False,
    **options: Any,
) -> None:
    """Fact-check a video: find its claims, read sources, and reach a verdict on each claim.

    The target is a YouTube URL or id, a video of a corpus, a transcript file or a recording. After
    a complete check the command shows the stored verdicts. --force, or an option that changes the
    outcome, checks again.

    Ctrl-C stops cleanly. The same command continues: it reuses the stored transcript and claims,
    if their sources have not changed, and every answer that you paid for.

    Example: factible check everyday-beliefs-talk

    Example: factible check talk.vtt --title "What everybody knows" --pages sources/

    Example: factible check talk.mp3
    """
    if pages is not None and options["web"]:
        raise UsageError("--pages and --web both name the sources.", "Give one of them.")
    if pages is None and options["pages_rating"]:
        raise UsageError("--pages-rating rates the pages of --pages.", "Add --pages FOLDER.")
    config = arguments.checked_config(options)  # before anything is written
    settings = load_settings()
    named = resolve(target, title, settings)
    is_usual = pages is None and all(value is None for value in options.values())
    if pages is not None:
        from factible_assets.cli.archive import import_pages

        options["web"] = f"archive:{import_pages(pages, settings)}"
        options["pages_rating"] = options["pages_rating"] or "medium"
        config = arguments.checked_config(options)
    _check(named, settings, config, "nothing" if force else "verdicts" if is_usual else "claims")


def demo() -> None:
    """Fact-check a talk on everyday beliefs against the miniature web of the project.

    It needs no key and no network.

    Example: factible demo
    """
    note("The demo reads the project's miniature web and sends no request.")
    _check(Target(DEMO_VIDEO), load_settings(), demo_config(), "nothing")


def _check(target: Target, settings: Settings, config: FactCheckConfig, reuse: Reuse) -> None:
    """Check a video, show the result, and exit with its code."""
    from factible_assets.runs.check import fact_check
    from factible_assets.services.reasoning import choose_reasoners

    checked = fact_check(
        target, settings=settings, config=config, reuse=reuse, watch=watching, say=note
    )
    choices = None
    if checked.is_new:
        with suppress(SetupError):  # the run has reported it
            choices = choose_reasoners(config, settings)
    for failure in checked.failures:
        print_error(failure)
    _show(checked, choices)
    raise Exit(checked.code)


def _show(checked: Checked, choices: Choices | None = None) -> None:
    """Print the result of a check. `choices` are the reasoners of the run that just ended."""
    verdicts, claims = checked.data.verdicts, checked.data.claims
    none = "The transcript has no claim that can be checked."
    if "claims" not in checked.data.sets:
        none = "Its claims are not known yet."
    result(
        as_document(checked),
        _verdicts_table(checked) if claims else none,
        *([] if choices is None else [f"by: {choices.words}"]),
        f"cost: {_cost_words(checked, may_cost=choices is not None and bool(choices.asks_llm))}",
        f"report: {checked.report.absolute().as_uri()}",
    )
    if any(verdict.basis != "llm" for verdict in verdicts):
        note("These verdicts are automatic leanings; the report shows the quotes.")
    if checked.failures and verdicts:
        note("The check failed. These are the stored verdicts.")
    unread = sum(verdict.stance == "unclear" and bool(verdict.unclear) for verdict in verdicts)
    if choices is not None and choices.evidence == "plain" and unread:
        note(
            f"{counted(unread, 'claim is', 'claims are')} unclear because the plain reader misses "
            "other wordings. A small language model reads far more: factible models pull reader"
        )
    if checked.code is ExitCode.INCOMPLETE:
        note("Some verdicts are incomplete because services failed. Check the video again.")
    elif any(verdict.recheck_due for verdict in verdicts):
        note("Some verdicts lack sources because services failed. Check the video again.")
    reasons = Counter(
        verdict.reason.removesuffix(" Check the claim again.")
        for verdict in verdicts
        if verdict.reason and (verdict.recheck_due or verdict.stance in {None, "unclear"})
    )
    for reason, times in reasons.most_common(_SHOWN_REASONS):
        note(f"  {counted(times, 'verdict')}: {plain(reason, _SHOWN_CHARACTERS)}")


def _verdicts_table(checked: Checked) -> Table:
    """Return the claims in the video's order with their verdicts, in fewer columns if narrow."""
    narrow = stdout().width < NARROW
    headings: Sequence[str] = ("at", "claim", "verdict")
    if not narrow:
        headings = (*headings, "confidence", "for : against", "origins")
    rows, verdict_of = [], checked.data.verdict_of
    for claim in checked.data.claims_by_time:
        verdict = verdict_of.get(claim.claim_id)
        cells: list[object] = ["not judged", None, None, None]
        if verdict is not None:
            words, balance = outcome_text(verdict), balance_words(verdict)
            sure = confidence_words(verdict)
            cells = [words, sure, balance, verdict.independent_origins]
            if narrow:
                words.append(f"\n{sure}, {balance}", style="default")
        rows.append([clock(claim.start_seconds), claim.text, *cells][: len(headings)])
    return table(headings, rows, title=checked.data.video.title, lines=narrow)


def _cost_words(checked: Checked, *, may_cost: bool) -> str:
    calls = checked.data.llm_calls
    from_cache = sum(call.cache_hit for call in calls)
    unpriced = sum(not call.price_known for call in calls)
    parts = [counted(len(calls), "model call")]
    parts += [f"{from_cache:,} answered from the cache"] if from_cache else []
    parts += [f"{unpriced:,} without a listed price"] if unpriced else []
    words = f"{dollars(checked.data.cost_usd)} for {', '.join(parts)}"
    if not calls and checked.failures and may_cost:
        words = "unknown after the failure; see factible sql 'from costs'"
    elif not calls:
        words = "nothing, no model was asked"
    ever = f"; all checks of this video: {dollars(checked.cost_ever)}" if checked.cost_ever else ""
    return f"{words}{ever}"


def outcome_document(checked: Checked) -> dict[str, Any]:
    """Return how a check ended, for JSON."""
    return {
        "video_id": checked.data.video.video_id,
        "run_id": checked.run_id,
        "success": not checked.failures,
        "failures": list(checked.failures),
        "exit_code": int(checked.code),
        "report": str(checked.report),
    }


def as_document(checked: Checked) -> dict[str, Any]:
    ids = {"video_id", "claim_id"}
    rows = (checked.data.verdict_of, checked.data.rulings)
    claims = []
    for claim in checked.data.claims_by_time:
        stored = (by_claim.get(claim.claim_id) for by_claim in rows)
        verdict, ruling = (row and row.model_dump(mode="json", exclude=ids) for row in stored)
        document = claim.model_dump(mode="json", exclude={"video_id"})
        claims.append({**document, "verdict": verdict, "ruling": ruling})
    return {
        **outcome_document(checked),
        "title": checked.data.video.title,
        "checked_at": checked.data.checked_at,
        "cost_usd": checked.data.cost_usd,
        "cost_usd_all_runs": checked.cost_ever,
        "model_calls": len(checked.data.llm_calls),
        "claims": claims,
    }


def media(target: VideoArgument) -> None:
    """Look at the pictures of a checked video: other places on the web, and traces of editing.

    The pictures are YouTube's thumbnail and the file that the corpus names under `media`. The
    report shows the findings as hints; only the strategy agentic uses them.

    Example: factible media everyday-beliefs-talk
    """
    from factible_assets.runs.result import StoredVideo

    settings = load_settings()
    video = StoredVideo(resolve(target, None, settings).video_id, settings)
    if video.data() is None:
        raise unchecked(video.video_id, settings)
    note(f"Looking at the pictures of {plain(video.video_id)} …")
    from factible_assets.runs.launch import run_video

    checked = run_video(
        video,
        config=FactCheckConfig(),
        assets=["media"],
        job_name="pictures",
        remedy="The same command starts over.",
    )
    if checked.failures:
        raise FactibleError(" ".join(checked.failures), code=checked.code)
    findings = [row.model_dump(mode="json", exclude={"video_id"}) for row in checked.data.media]
    columns: Columns = (
        *("picture", "kind", "match_class", "status", "score", "published_on"),
        ("found", lambda row: plain(row["title"] or row["reason"] or "–", 100)),
    )
    shown = table_of(findings, columns, title=checked.data.video.title)
    report = f"report: {checked.report.absolute().as_uri()}"
    document = {"video_id": video.video_id, "report": checked.report, "findings": findings}
    result(document, *([shown, report] if findings else []))
    if not findings:
        note(
            "There is no picture: the video is not on YouTube, and its corpus file names none "
            "under media."
        )
    is_open = any(row["status"] == "infra_error" for row in findings)
    raise Exit(ExitCode.INCOMPLETE if is_open else ExitCode.DONE)
