"""`factible doctor`: which parts are set up, which answer, and what to do about the others.

What belongs here: arguments of the command, the table. What does not: asking the services
(services/checkup.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from factible_assets.cli.output import AsJson, note, print_json, stdout
from factible_assets.errors import ExitCode
from factible_assets.wording import plain

if TYPE_CHECKING:
    from factible_assets.services.checkup import Finding


_FULL_TABLE = 110
"""How wide a screen must be for a column each."""


def doctor(
    *,
    network: Annotated[
        bool,
        typer.Option("--network", help="Ask YouTube and a domain registry too; they need no key."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Ask every service that is set up one cheap question, and say what to do about the others.

    Services that are not set up are not asked; none of them is needed. Exits with 1 if a service
    that is set up does not answer. Keys are never shown.

    Example: factible doctor
    """
    import asyncio
    from dataclasses import asdict

    from factible_assets.services.checkup import examine
    from factible_assets.settings import load_settings

    settings = load_settings()
    findings = asyncio.run(examine(settings, network=network))
    broken = [finding for finding in findings if finding.is_broken]
    if as_json:
        print_json([asdict(finding) for finding in findings])
    else:
        _print(findings)
    if broken:
        names = ", ".join(finding.service for finding in broken)
        note(f"Set up, and not working: {names}.")
        raise typer.Exit(ExitCode.FAILED)
    note("Everything that is set up works.")


def _print(findings: list[Finding]) -> None:
    from rich.table import Table

    console = stdout()
    is_narrow = console.width < _FULL_TABLE
    table = Table(show_lines=is_narrow)
    table.add_column("service", no_wrap=True)
    if is_narrow:
        table.add_column("state", no_wrap=True)
        table.add_column("finding, and what to do", overflow="fold")
    else:
        table.add_column("configured", no_wrap=True)
        table.add_column("answers", no_wrap=True)
        table.add_column("finding", ratio=3, overflow="fold")
        table.add_column("what to do", ratio=3, overflow="fold")
    for finding in findings:
        said, remedy = plain(finding.sentence), plain(finding.remedy)
        configured = "yes" if finding.configured else "no"
        answers = {True: "yes", False: "no", None: "–"}[finding.answers]
        if is_narrow:
            words = "\n".join(part for part in (said, remedy) if part)
            table.add_row(finding.service, _state(finding), words)
        else:
            table.add_row(finding.service, configured, answers, said, remedy)
    console.print(table)


def _state(finding: Finding) -> str:
    if not finding.configured:
        return "not set up"
    return {True: "answers", False: "fails", None: "set up"}[finding.answers]
