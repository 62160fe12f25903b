"""`factible check`: fact-check one video or one transcript.

What belongs here: arguments of the command, and the order of its steps. What does not: which video
is meant (targets.py), running and reporting (checking.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from factible_assets.cli.completion import video_ids
from factible_assets.cli.errors import CliError
from factible_assets.cli.knobs import (
    Country,
    EnoughOrigins,
    ExcludeDomains,
    ExcludeFileTypes,
    Language,
    MaxClaims,
    MaxQueries,
    MaxResults,
    MinimumRating,
    PublishedAfter,
    PublishedBefore,
    Reasoner,
    Web,
    config_of,
)
from factible_assets.cli.output import AsJson, note
from factible_assets.errors import ExitCode


def check(
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
    max_claims: MaxClaims = None,
    max_queries: MaxQueries = None,
    max_results: MaxResults = None,
    web: Web = None,
    minimum_rating: MinimumRating = None,
    published_before: PublishedBefore = None,
    published_after: PublishedAfter = None,
    exclude_domains: ExcludeDomains = None,
    exclude_file_types: ExcludeFileTypes = None,
    language: Language = None,
    country: Country = None,
    enough_origins: EnoughOrigins = None,
    reasoner: Reasoner = None,
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
    from factible_assets.cli.checking import (
        check_and_report,
        note_defaults,
        show,
        stored_result,
    )
    from factible_assets.cli.targets import enlist, import_pages, resolve
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
    knobs: dict[str, int | str | None] = {
        "max_claims": max_claims,
        "max_queries": max_queries,
        "max_results": max_results,
        "web": web,
        "pages_rating": pages_rating,
        "minimum_rating": minimum_rating,
        "published_before": published_before,
        "published_after": published_after,
        "exclude_domains": exclude_domains,
        "exclude_file_types": exclude_file_types,
        "language": language,
        "country": country,
        "enough_origins": enough_origins,
        "reasoner": reasoner,
    }
    config_of(knobs)  # A wrong option is refused before anything is written.
    settings = load_settings()
    meant = resolve(target, title, settings)
    is_plain = pages is None and all(value is None for value in knobs.values())
    stored = stored_result(meant.video_id, settings=settings) if is_plain and not force else None
    if stored is not None and stored.is_finished:
        when = f"{stored.data.checked_at:%Y-%m-%d %H:%M} UTC"
        note(f"Checked before, on {when}; --force checks it again.")
        show(stored, as_json=as_json)
        return
    if pages is not None:
        web = knobs["web"] = f"archive:{import_pages(pages, settings)}"
    video_id = enlist(meant, settings, web, pages_rating)
    if not as_json:
        note_defaults(video_id, settings=settings, config=config_of(knobs))
    checked = check_and_report(
        video_id,
        settings=settings,
        config=config_of(knobs),
        fresh=force,
        takes_over=is_plain and not force,
    )
    show(checked, as_json=as_json)
    raise typer.Exit(checked.code)
