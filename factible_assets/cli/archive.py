"""`factible archive`: the stored pages and searches that claims are checked against offline.

What belongs here: arguments, progress, the report of an import. What does not: the archive itself
(resources/archive).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress as Bar

from factible_assets.cli.output import note, result, stderr, table, wishes
from factible_assets.errors import FactibleError
from factible_assets.files import digest, slug
from factible_assets.settings import Settings, load_settings
from factible_assets.stages.urls import canonical_url
from factible_assets.wording import plain
from resources.archive.store import Archive, ImportReport, Progress

app = typer.Typer()


@app.command("import")
def import_(
    sources: Annotated[
        list[Path],
        typer.Argument(help="JSONL files of pages or searches, or folders of saved pages."),
    ],
    collection: Annotated[str, typer.Option(help="The collection to import into.")] = "imported",
) -> None:
    """Import pages and recorded searches; importing the same again changes nothing.

    A JSONL line is a page {"url", "title", "text"} or a search {"query", "searched_on", "hits"}.
    Folders may hold .html, .txt, .md and .jsonl files. Each source is imported whole or not at all.

    Example: factible archive import pages.jsonl searches.jsonl

    Example: factible archive import saved-pages/ --collection mine
    """
    settings = load_settings()
    settings.ensure_home()
    archive = _open(settings)
    reports = {str(source): _import(archive, source, collection) for source in sources}
    result(reports, *(f"{name} → {collection}: {_words(each)}" for name, each in reports.items()))


@app.command("info")
def info() -> None:
    """List the archive's collections with their pages.

    Example: factible archive info
    """
    settings = load_settings()
    counts = _open(settings).collections() if settings.archive.exists() else {}
    if not counts and not wishes.json:
        note(f"The archive {settings.archive} is empty; fill it with: factible archive import")
        return
    headings = ("collection", "pages with text")
    rows = ((plain(name), f"{count:,}") for name, count in counts.items())
    result(
        {"archive": settings.archive, "collections": counts},
        table(headings, rows, title=f"{settings.archive}", numbers=headings[1:]),
    )


def _open(settings: Settings) -> Archive:
    return Archive(settings.archive, canonicalise=canonical_url)


def _import(archive: Archive, source: Path, collection: str) -> ImportReport:
    """Import one file or folder, with a progress bar on a terminal.

    Raises:
        FactibleError: There is no such file or folder.
        ArchiveError: The archive, the source or the collection's name cannot be used.
    """
    if not source.exists():
        raise FactibleError(f"There is no file or folder {source}.", "Check the path.")
    with _progress(f"importing {source.name}") as progress:
        read = archive.import_folder if source.is_dir() else archive.import_jsonl
        report = read(source, collection, progress=progress)
    for remark in report.remarks:
        note(f"  left out: {plain(remark)}")
    return report


def _words(report: ImportReport) -> str:
    """Say what an import did."""
    amounts = {
        "pages added" if report.added != 1 else "page added": report.added,
        "updated": report.updated,
        "unchanged": report.unchanged,
        "searches": report.searches,
        "hits": report.hits,
        "left out": report.unusable,
    }
    told = (f"{number:,} {words}" for words, number in amounts.items() if number)
    return ", ".join(told) or "nothing to import"


@contextmanager
def _progress(label: str) -> Iterator[Progress | None]:
    console = stderr()
    if not console.is_terminal:
        yield None
        return
    with Bar(console=console, transient=True) as bar:
        task = bar.add_task(plain(label), total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def import_pages(folder: Path, settings: Settings) -> str:
    """Import a folder of pages as a collection of its own and return the collection's name.

    The name follows the folder's path and content: what changed is imported into a new collection,
    so that a claim is checked against exactly the pages that are there now.
    """
    if not folder.is_dir():
        raise FactibleError(f"There is no folder {folder}.", "Give a folder of saved pages.")
    settings.ensure_home()
    listing = [str(folder.resolve())]
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        status = path.stat()
        listing.append(f"{path.relative_to(folder)}\t{status.st_size}\t{status.st_mtime_ns}")
    name = f"pages-{slug(folder.resolve().name)}-{digest(chr(10).join(listing).encode())}"
    archive = _open(settings)
    if name not in archive.collections():
        note(f"{folder}: {_words(_import(archive, folder, name))}")
    return name
