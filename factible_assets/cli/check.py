"""`factible check` and `factible demo`: fact-check one video or one transcript.

What belongs here: arguments, the order of the steps, the verdicts as they are printed. What does
not: which video is meant (running/targets.py), running and reporting (running/check.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from factible_assets.cli.completion import video_ids
from factible_assets.cli.errors import CliError
from factible_assets.cli.output import AsJson, complain, note, print_json, print_verdicts
from factible_assets.errors import ExitCode
from factible_assets.wording import counted, dollars, plain

if TYPE_CHECKING:
    from factible_assets.config import FactCheckConfig
    from factible_assets.running.result import Checked
    from factible_assets.settings import Settings

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
        typer.Option(
            "--pages", help="Check against the pages in this folder (HTML, text, JSONL) alone."
        ),
    ] = None,
    pages_rating: Annotated[
        Literal["high", "medium", "low", "unknown"] | None,
        typer.Option(
            "--pages-rating",
            help="How reliable the pages of --pages are that no rating set lists. Default: medium, "
            "because you chose them; with unknown they weigh as an unlisted site would.",
        ),
    ] = None,
    title: Annotated[
        str | None, typer.Option("--title", help="The title of a transcript file's video.")
    ] = None,
    web: Annotated[
        str | None,
        typer.Option(
            "--web",
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
    as_json: AsJson = False,
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
    from factible_assets.cli.knobs import checked_config, given_knobs
    from factible_assets.running.result import stored_result
    from factible_assets.running.targets import enlist, resolve
    from factible_assets.settings import load_settings

    if pages is not None and web is not None:
        raise CliError(
            "--pages and --web both say where to look.", "Give one of them.", ExitCode.USAGE
        )
    if pages_rating is not None and pages is None:
        raise CliError(
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
        show(stored, as_json=as_json)
        return
    if pages is not None:
        web = f"archive:{import_pages(pages, settings)}"
        knobs["web"] = web
    file = enlist(meant, settings, web, pages_rating)
    if file is not None:
        note(f"{meant.transcript} is listed as the video {meant.video_id} in {file}")
    config = checked_config(knobs)
    if not as_json:
        from factible_assets.services.remarks import default_remarks

        words = default_remarks(meant.video_id, settings=settings, config=config)
        if words:
            note(words)
    _check(meant.video_id, settings, config, fresh=force, takes_over=is_plain, as_json=as_json)


def demo(as_json: AsJson = False) -> None:
    """Fact-check the demo video end to end; needs no key and no network.

    A talk on everyday beliefs is checked against the miniature web that comes with the project.

    Example: factible demo
    """
    from factible_assets.config import ClaimsConfig, FactCheckConfig, SearchConfig
    from factible_assets.corpora import load_corpora
    from factible_assets.settings import load_settings

    settings = load_settings()
    if load_corpora(settings.corpus_folders).find(_DEMO) is None:
        raise CliError(
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
    _check(_DEMO, settings, config, fresh=True, takes_over=False, as_json=as_json)


def _check(
    video_id: str,
    settings: Settings,
    config: FactCheckConfig,
    *,
    fresh: bool,
    takes_over: bool,
    as_json: bool,
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
    show(checked, as_json=as_json)
    raise typer.Exit(checked.code)


def show(checked: Checked, *, as_json: bool) -> None:
    """Print the verdicts and where the report lies."""
    if as_json:
        print_json(as_document(checked))
        return
    print_verdicts(checked.data.video.title, checked.claims, checked.verdicts)
    if any(verdict.basis == "embedded" for verdict in checked.data.verdicts):
        note("These are automatic leanings of the embedded engine; the report shows the quotes.")
    if checked.code is ExitCode.INCOMPLETE:
        note("Some verdicts are incomplete because services failed; check the video again.")
    print(f"cost: {_cost_words(checked)}")
    print(f"report: {checked.report.absolute().as_uri()}")


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
    verdicts, rulings = checked.verdicts, checked.data.rulings
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
        "claims": [
            {
                **claim.model_dump(mode="json", exclude={"video_id"}),
                "verdict": verdict.model_dump(mode="json", exclude={"video_id", "claim_id"})
                if (verdict := verdicts.get(claim.claim_id))
                else None,
                "ruling": ruling.model_dump(mode="json", exclude={"video_id", "claim_id"})
                if (ruling := rulings.get(claim.claim_id))
                else None,
            }
            for claim in checked.claims
        ],
    }
