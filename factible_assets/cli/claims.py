"""`factible claims check`: fact-check a list of claims."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Exit, Option, Typer

from factible_assets.cli import arguments
from factible_assets.cli.main import Command
from factible_assets.cli.output import note, print_error, result, table_of
from factible_assets.cli.progress import PlainObserver, breaking_silence
from factible_assets.corpora.reading import load_corpus
from factible_assets.errors import FactibleError, UsageError, gravest
from factible_assets.exchange.tables import csv_of
from factible_assets.settings import load_settings
from factible_assets.wording import counted, plain
from resources.files import digest, slug, write_whole

app = Typer()


@app.command("check", cls=Command)
@arguments.without_claim_options
def check_list(
    file: Annotated[
        Path,
        Argument(help="A CSV table with a column claim; optional: date, label, speaker, language."),
    ],
    *,
    output: arguments.Output = None,
    jobs: Annotated[int, Option("--jobs", "-j", min=1, max=16, help="Claims at once.")] = 3,
    limit: Annotated[int | None, Option(min=1, help="Only the first claims.")] = None,
    force: Annotated[bool, Option("--force", help="Check complete ones again too.")] = False,
    **options: Any,
) -> None:
    """Fact-check a list of claims, several at once.

    If a claim has a date, the check uses only older sources. The list becomes a corpus, claims-…,
    so `factible evaluate` can compare the verdicts with the labels. Ctrl-C stops cleanly, and the
    same command continues.

    Example: factible claims check claims.csv -o checked.csv
    """
    if not file.is_file():
        raise FactibleError(f"There is no file {file}.", "Check the path.")
    if output is not None and output.exists() and output.samefile(file):
        raise UsageError(f"--output {output} is the list itself.", "Name another file.")
    config = arguments.checked_config(options)
    from factible_assets.exchange.importing import import_corpus
    from factible_assets.runs.claim_lists import check_claim_list

    settings = load_settings()
    settings.ensure_home()
    # The path's digest distinguishes lists with the same file name.
    path = str(file.resolve()).encode("utf-8", "surrogateescape")
    name = f"claims-{slug(file.stem)}-{digest(path)}"
    imported = import_corpus(
        file, settings.home_corpora, form="csv", name=name, limit=limit, replace=True
    )
    for sentence in imported.left_out:
        print_error(f"left out: {plain(sentence)}")
    (corpus,) = load_corpus(imported.file).corpora
    inputs = {
        entry.video.video_id: {"claim": claim.text, "date": claim.said_on, "label": claim.label}
        for entry in corpus.videos
        for claim in entry.claims or ()
    }
    note(f"{counted(len(inputs), 'claim')} → {imported.file}; {jobs} at once")
    with breaking_silence(PlainObserver(listed=len(inputs))) as lines:
        checks = check_claim_list(
            tuple(inputs),
            settings=settings,
            config=config,
            watch=lambda _: nullcontext(lines),
            jobs=jobs,
            fresh=force,
        )
        results = {row["video_id"]: (row, code) for row, code in checks}
    rows = [columns | results[video_id][0] for video_id, columns in inputs.items()]
    for failure in dict.fromkeys(row["failure"] for row in rows if row["failure"]):
        print_error(plain(failure))
    if output is not None:
        names = list(dict.fromkeys(name for row in rows for name in row))
        write_whole(output, csv_of(names, ([row.get(name) for name in names] for row in rows)))
    columns_shown = ("claim", "date", "label", "stance", "confidence", "supporting", "refuting")
    shown = table_of(rows, columns_shown, title=imported.name)
    result({"corpus": imported.name, "claims": rows, "left_out": imported.left_out}, shown)
    raise Exit(gravest(code for _, code in results.values()))
