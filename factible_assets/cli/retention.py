"""`factible retention`: remove what is old.

What belongs here: arguments and the summary. What does not: the policy (automation/retention.py).
"""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated

import typer

from factible_assets.cli.output import AsJson, print_json


def retention(
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count the texts that would go; remove nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Remove old page texts that nothing current rests on, and kept answers nobody asks for.

    Verdicts, evidence and quotes stay. FACTIBLE_RETENTION_TEXT_DAYS and
    FACTIBLE_RETENTION_CACHE_DAYS say how old is old.

    Example: factible retention --dry-run
    """
    from factible_assets.automation.retention import apply_retention, retention_policy
    from factible_assets.settings import load_settings

    settings = load_settings()
    removed = apply_retention(
        settings, retention_policy(settings), now=datetime.now(UTC), dry_run=dry_run
    )
    if as_json:
        print_json(asdict(removed))
        return
    what = "would be removed" if dry_run else "removed"
    typer.echo(f"page texts {what}: {removed.texts:,} ({removed.characters:,} characters)")
    if not dry_run:
        typer.echo(f"kept answers removed: {sum(removed.answers.values()):,}")
        typer.echo(f"the warehouse is {removed.bytes_freed:,} bytes shorter")
