"""`factible archive`: stored pages and recorded searches, for checks without the web."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option, Typer

from factible_assets.cli.output import counting, note, result, table
from factible_assets.errors import FactibleError
from factible_assets.settings import Settings, load_settings
from factible_assets.stages.urls import canonical_url
from factible_assets.wording import counted, plain
from resources.files import digest, slug
from resources.storage.archive import Archive, ImportReport

app = Typer()


@app.command("import")
def import_(
    sources: Annotated[
        list[Path], Argument(help="JSONL files of pages or searches, or folders of saved pages.")
    ],
    collection: Annotated[str, Option(help="The collection to import into.")] = "imported",
) -> None:
    """Import pages and recorded searches; a second import of the same changes nothing.

    A JSONL line is a page {"url", "title", "text"} or a search {"query", "searched_on", "hits"}.
    Folders may hold .html, .txt, .md and .jsonl files. The command imports a source whole or not at
    all.

    Example: factible archive import pages.jsonl searches.jsonl

    Example: factible archive import saved-pages/ --collection mine
    """
    settings = load_settings()
    settings.ensure_home()
    archive = _open_archive(settings.archive)
    reports = {str(source): _import(archive, source, collection) for source in sources}
    words = (f"{name} → {collection}: {_import_words(report)}" for name, report in reports.items())
    result(reports, *words)


@app.command("info")
def info() -> None:
    """List the archive's collections with their numbers of pages.

    Example: factible archive info
    """
    place = load_settings().archive
    counts = _open_archive(place).collections() if place.exists() else {}
    shown = table(("collection", "pages with text"), counts.items(), title=str(place))
    result({"archive": place, "collections": counts}, *([shown] if counts else []))
    if not counts:
        note("The archive is empty; fill it with: factible archive import")


def _open_archive(place: Path) -> Archive:
    return Archive(place, canonicalise=canonical_url)


def _import(archive: Archive, source: Path, collection: str) -> ImportReport:
    if not source.exists():
        raise FactibleError(f"There is no file or folder {source}.", "Check the path.")
    with counting(f"importing {source.name}") as progress:
        report = archive.import_from(source, collection, progress=progress)
    for remark in report.remarks:
        note(f"  left out: {plain(remark)}")
    return report


def _import_words(report: ImportReport) -> str:
    amounts = (
        (report.added, "page added", "pages added"),
        (report.updated, "updated", "updated"),
        (report.unchanged, "unchanged", "unchanged"),
        (report.searches, "search", "searches"),
        (report.hits, "hit", "hits"),
        (report.unusable, "left out", "left out"),
    )
    return ", ".join(counted(*amount) for amount in amounts if amount[0]) or "nothing to import"


def import_pages(folder: Path, settings: Settings) -> str:
    """Import a folder of pages into a collection of its own, and return the collection's name.

    The name depends on the folder's path and content. A changed folder gets a new collection, so
    that a check uses exactly the pages that are there now.
    """
    if not folder.is_dir():
        raise FactibleError(f"There is no folder {folder}.", "Give a folder of saved pages.")
    settings.ensure_home()
    listing = [str(folder.resolve())]
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        status = path.stat()
        listing.append(f"{path.relative_to(folder)}\t{status.st_size}\t{status.st_mtime_ns}")
    content = chr(10).join(listing).encode("utf-8", "surrogatepass")  # a file name may not be UTF-8
    name = f"pages-{slug(folder.resolve().name)}-{digest(content)}"
    archive = _open_archive(settings.archive)
    if name not in archive.collections():
        note(f"{folder}: {_import_words(_import(archive, folder, name))}")
    return name
