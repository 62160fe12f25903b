"""`factible claims`: claims without a video.

What belongs here: arguments, lines of progress, the table. What does not: reading the list
(exchange/claim_list.py), checking it (running/claim_list.py).
"""

from __future__ import annotations

import re
from contextlib import nullcontext
from itertools import count
from pathlib import Path
from typing import Annotated

import typer

from factible_assets.cli.knobs import RecheckCommand, checked_config, given_knobs
from factible_assets.cli.output import note, result, table
from factible_assets.cli.progress import SilentWatcher
from factible_assets.corpora import load_corpus
from factible_assets.errors import ExitCode, FactibleError
from factible_assets.exchange import ImportFormat
from factible_assets.exchange.claim_list import table_of
from factible_assets.exchange.importing import import_corpus
from factible_assets.files import write_whole
from factible_assets.records import Claim, Verdict
from factible_assets.settings import load_settings
from factible_assets.wording import counted, plain, verdict_words

app = typer.Typer()


class _Lines(SilentWatcher):
    """Says every verdict of a list in a line."""

    def __init__(self, total: int) -> None:
        self._total, self._reached = total, count(1)

    def verdict_reached(self, claim: Claim, verdict: Verdict) -> None:
        sure = f" ({verdict.confidence})" if verdict.confidence else ""
        done = f"{next(self._reached)}/{self._total}"
        note(f"  {done} {verdict_words(verdict)}{sure} – {plain(claim.text)}")


@app.command("check", cls=RecheckCommand)
def check(
    context: typer.Context,
    file: Annotated[
        Path,
        typer.Argument(
            help="A table (CSV) with a column claim; date, label, speaker and language if known."
        ),
    ],
    *,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the table as CSV into this file.")
    ] = None,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", min=1, max=16, help="Claims checked at once.")
    ] = 3,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many claims.")] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Check again what is complete already.")
    ] = False,
) -> None:
    """Fact-check a list of claims, several at once.

    Each claim is checked as it is worded, with sources from before its date if it has one. The list
    is kept as the corpus claims-NAME of the file's name, so that `factible evaluate` compares the
    verdicts with the labels. Ctrl-C stops cleanly, and the same command goes on.

    Example: factible claims check claims.csv -o checked.csv
    """
    if not file.is_file():
        raise FactibleError(f"There is no file {file}.", "Check the path.")
    config = checked_config(given_knobs(context))
    settings = load_settings()
    settings.ensure_home()
    done = import_corpus(
        file,
        settings.home_corpora,
        form=ImportFormat.csv,
        # A name of its own: a corpus that somebody keeps is never overwritten.
        name=f"claims-{re.sub(r'[^A-Za-z0-9_-]+', '-', file.stem)[:50].strip('-')}",
        limit=limit,
        replace=True,
    )
    for sentence in done.left_out:
        note(f"  left out: {plain(sentence)}")
    (corpus,) = load_corpus(done.file).corpora
    given = {
        entry.video.video_id: {"claim": claim.text, "date": claim.said_on, "label": claim.label}
        for entry in corpus.videos
        for claim in entry.claims or ()
    }
    note(f"{counted(len(given), 'claim')} → {done.file}; {jobs} at once")
    from factible_assets.running.claim_list import check_claim_list

    lines = _Lines(len(given))
    checks = check_claim_list(
        tuple(given),
        settings=settings,
        config=config,
        watch=lambda _: nullcontext(lines),
        say=note,
        jobs=jobs,
        fresh=force,
    )
    found = {each.video_id: each for each in checks}
    rows = [found[each].as_row(told) for each, told in given.items()]
    if output is not None:
        write_whole(output, table_of(iter(rows)).encode())
    shown = ("claim", "date", "label", "stance", "confidence", "supporting", "refuting")
    cells = (
        [plain("–" if row[name] is None else str(row[name])) for name in shown] for row in rows
    )
    result(
        {"corpus": done.name, "claims": rows},
        table(shown, cells, title=done.name, numbers=shown[-2:]),
    )
    codes = {each.code for each in found.values()}
    raise typer.Exit(max(codes & {ExitCode.FAILED, ExitCode.INCOMPLETE}, default=ExitCode.DONE))
