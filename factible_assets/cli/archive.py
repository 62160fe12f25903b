"""`factible archive`: the stored pages and searches that claims are checked against offline.

What belongs here: arguments, progress, the report of an import. What does not: the archive itself
(resources/archive).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from factible_assets.cli.errors import EXIT_CODES, CliError
from factible_assets.cli.output import AsJson, note, print_json, print_table, stderr
from factible_assets.files import digest, slug
from factible_assets.wording import plain

if TYPE_CHECKING:
    from factible_assets.settings import Settings
    from resources.archive.store import Archive, ImportReport, Progress

app = typer.Typer(
    name="archive",
    no_args_is_help=True,
    help="Stored pages and searches, which claims can be checked against without a network.",
)


@app.command("import", epilog=EXIT_CODES)
def import_(
    sources: Annotated[
        list[Path],
        typer.Argument(help="JSONL files of pages or searches, or folders of saved pages."),
    ],
    collection: Annotated[
        str, typer.Option("--collection", help="The collection to import into.")
    ] = "imported",
    as_json: AsJson = False,
) -> None:
    """Import pages and recorded searches; importing the same again changes nothing.

    A JSONL line is a page {"url", "title", "text"} or a search {"query", "searched_on", "hits"}.
    Folders may hold .html, .txt, .md and .jsonl files. Each source is imported whole or not at all.

    Example: factible archive import pages.jsonl searches.jsonl

    Example: factible archive import saved-pages/ --collection mine
    """
    from factible_assets.settings import load_settings

    settings = load_settings()
    settings.ensure_home()
    archive = open_archive(settings)
    reports = {str(source): import_source(archive, source, collection) for source in sources}
    if as_json:
        print_json({source: asdict(report) for source, report in reports.items()})
        return
    for source, report in reports.items():
        typer.echo(f"{source} → {collection}: {in_words(report)}")


@app.command("info", epilog=EXIT_CODES)
def info(as_json: AsJson = False) -> None:
    """List the archive's collections with their pages.

    Example: factible archive info
    """
    from factible_assets.settings import load_settings

    settings = load_settings()
    counts = open_archive(settings).collections() if settings.archive.exists() else {}
    if as_json:
        print_json({"archive": str(settings.archive), "collections": counts})
        return
    if not counts:
        note(f"The archive {settings.archive} is empty; fill it with: factible archive import")
        return
    print_table(
        ("collection", "pages with text"),
        ((plain(name), f"{count:,}") for name, count in counts.items()),
        title=f"{settings.archive}",
        numbers=("pages with text",),
    )


def open_archive(settings: Settings) -> Archive:
    """Open the archive of a data folder."""
    from factible_assets.stages.urls import canonical_url
    from resources.archive.store import Archive

    return Archive(settings.archive, canonicalise=canonical_url)


def import_source(archive: Archive, source: Path, collection: str) -> ImportReport:
    """Import one file or folder, with a progress bar on a terminal.

    Raises:
        CliError: If there is no such file or folder.
        ArchiveError: If the archive, the source or the collection's name cannot be used.
    """
    if not source.exists():
        raise CliError(f"There is no file or folder {source}.", "Check the path.")
    with _progress(f"importing {source.name}") as progress:
        read = archive.import_folder if source.is_dir() else archive.import_jsonl
        report = read(source, collection, progress=progress)
    for remark in report.remarks:
        note(f"  left out: {plain(remark)}")
    return report


def in_words(report: ImportReport) -> str:
    """Say what an import did."""
    parts = [
        f"{number:,} {words}"
        for number, words in (
            (report.added, "pages added" if report.added != 1 else "page added"),
            (report.updated, "updated"),
            (report.unchanged, "unchanged"),
            (report.searches, "searches"),
            (report.hits, "hits"),
            (report.unusable, "left out"),
        )
        if number
    ]
    return ", ".join(parts) or "nothing to import"


@contextmanager
def _progress(label: str) -> Iterator[Progress | None]:
    console = stderr()
    if not console.is_terminal:
        yield None
        return
    from rich.progress import Progress as Bar

    with Bar(console=console, transient=True) as bar:
        task = bar.add_task(plain(label), total=None)

        def moved(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        yield moved


def import_pages(folder: Path, settings: Settings) -> str:
    """Import a folder of pages as a collection of its own and return the collection's name.

    The name follows the folder's path and content: what changed is imported into a new collection,
    so that a claim is checked against exactly the pages that are there now.
    """
    if not folder.is_dir():
        raise CliError(f"There is no folder {folder}.", "Give a folder of saved pages.")
    settings.ensure_home()
    listing = [str(folder.resolve())]
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        status = path.stat()
        listing.append(f"{path.relative_to(folder)}\t{status.st_size}\t{status.st_mtime_ns}")
    name = f"pages-{slug(folder.resolve().name)}-{digest(chr(10).join(listing).encode())}"
    archive = open_archive(settings)
    if name not in archive.collections():
        report = import_source(archive, folder, name)
        note(f"{folder}: {in_words(report)}")
    return name
