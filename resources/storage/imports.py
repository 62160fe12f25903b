"""Reads pages and recorded searches for the archive: JSONL files, and folders of saved pages.

A line of JSONL is one of:

- a page: `{"url", "title", "text"}`, optionally `author`, `published_on`, `retrieved_at`,
  `final_url`;
- a search: `{"query", "searched_on", "hits": [{"rank", "title", "url", "snippet"}]}`.

Memory holds one line, or one file of a folder, at a time.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Final, NamedTuple, TypeAlias
from urllib.parse import quote

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from resources.pages.base import UNDATED, FetchedPage
from resources.search.base import FoundHit
from resources.text_files import (
    NotTextError,
    PlacedError,
    decode_text,
    errors_naming,
    problem_words,
    read_json,
    readable,
)

MAX_FILE_BYTES: Final = 20 * 1024 * 1024
"""The import skips larger pages: HTML of that size is data, not text."""

HTML_SUFFIXES: Final = frozenset({".html", ".htm", ".xhtml"})
TEXT_SUFFIXES: Final = frozenset({".txt", ".md", ".markdown"})
JSONL_SUFFIX: Final = ".jsonl"

LOCAL_HOST: Final = "local-files.invalid"
"""The host in the address of a page from a folder without a known address."""

_SAVED_FROM = re.compile(
    r"<!--\s*(?:saved from url=\(\d+\)|Page saved with SingleFile\s+url:\s*)(https?://[^\s<>\"]+)"
)
_NOTE_WINDOW = 2_048
_ADDRESS = re.compile(r"https?://\S+", re.IGNORECASE)
_UNSTORABLE = re.compile("[\ud800-\udfff\u0000]")


class ArchiveError(Exception):
    """The archive cannot be used."""


class ArchiveImportError(ArchiveError):
    """A file or the name of a collection is wrong."""

    def __init__(self, sentence: str) -> None:
        super().__init__(f"{sentence} Nothing was imported.")


@dataclass(frozen=True, slots=True)
class NewSearch:
    """A recorded query with its hits."""

    query: str
    searched_on: date | None
    hits: tuple[FoundHit, ...]


Entry: TypeAlias = FetchedPage | NewSearch | str
"""A page or search to store, or a sentence on an unusable one."""


class ImportedEntry(NamedTuple):
    """One entry of a source, with the progress: `done` of `total` bytes or files."""

    entry: Entry
    done: int
    total: int
    place: str = ""
    """The file of the entry, with its line in JSONL."""


# --- JSONL --------------------------------------------------------------------------------------


def _text(value: object) -> str:
    """Replace the characters that no database holds; return "" for a value that is no string."""
    return _UNSTORABLE.sub("\ufffd", value).strip() if isinstance(value, str) else ""


def _address(value: object) -> str:
    """Return the address; "" for one with such characters, and for a value that is no string."""
    text = _text(value)
    return "" if "\ufffd" in text else text


def _moment(value: object) -> datetime | None:
    if value is None or value == "":
        return None
    try:
        moment = datetime.fromisoformat(value if isinstance(value, str) else "")
        moment.astimezone(UTC)  # overflows at the ends of the calendar
    except (ValueError, OverflowError):
        raise ValueError("write a date in quotes, such as 2026-01-31") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


_Text = Annotated[str, BeforeValidator(_text)]
_Address = Annotated[str, BeforeValidator(_address)]
_Moment = Annotated[datetime | None, BeforeValidator(_moment)]


class _HitLine(BaseModel):
    rank: int | None = Field(None, strict=True, ge=1, le=1_000_000)
    title: _Text = ""
    url: _Address = ""
    snippet: _Text = ""


class _SearchLine(BaseModel):
    query: _Text
    hits: list[_HitLine]
    searched_on: _Moment = None

    def entry(self) -> NewSearch:
        hits = (
            FoundHit(hit.rank or place, hit.title, hit.url, hit.snippet)
            for place, hit in enumerate(self.hits, start=1)
        )
        return NewSearch(self.query, self.searched_on and self.searched_on.date(), tuple(hits))


class _PageLine(BaseModel):
    url: _Address
    text: _Text
    title: _Text = ""
    final_url: _Address = ""
    author: _Text = ""
    published_on: _Moment = None
    retrieved_at: _Moment = None

    def entry(self) -> FetchedPage:
        return FetchedPage(
            self.url,
            "ok",
            self.retrieved_at or UNDATED,
            title=self.title,
            text=self.text,
            final_url=self.final_url if _ADDRESS.fullmatch(self.final_url) else None,
            author=self.author or None,
            published_on=self.published_on and self.published_on.date(),
        )


def read_jsonl(path: Path) -> Iterator[ImportedEntry]:
    """Yield the entries of a JSONL file. Raises ArchiveImportError at the first bad line."""
    with errors_naming(path, ArchiveImportError), readable(), path.open("rb") as file:
        total, done = path.stat().st_size, 0
        for number, line in enumerate(file, start=1):
            done += len(line)
            if line.strip():
                try:
                    entry = _read_line(line)
                except PlacedError as error:
                    error.line = number
                    raise
                yield ImportedEntry(entry, done, total, f"{path}:{number}")


def _read_line(line: bytes) -> Entry:
    try:
        # `_text` replaces lone surrogates later, like those in JSON escapes.
        document = read_json(line.decode("utf-8-sig", "surrogatepass"))
    except UnicodeDecodeError:
        problem = "This line is not UTF-8. Save the file as UTF-8."
        raise PlacedError(problem) from None
    is_search = isinstance(document, dict) and "hits" in document
    shape: type[_SearchLine | _PageLine] = _SearchLine if is_search else _PageLine
    try:
        return shape.model_validate(document).entry()
    except ValidationError as error:
        raise PlacedError(problem_words(error.errors()[0], shape)) from None


# --- Folders ------------------------------------------------------------------------------------


_DOCUMENTS = frozenset({".pdf", ".doc", ".docx", ".odt", ".rtf", ".epub", ".mhtml", ".mht"})
"""Documents that a user may expect to be read; they get a remark."""


def read_folder(folder: Path) -> Iterator[ImportedEntry]:
    """Yield the saved pages (HTML, text, Markdown, JSONL) of a folder and its subfolders.

    A page has the address that the browser noted when it saved the page ("saved from url", "Page
    saved with SingleFile url"). Without such a note, it gets an address under a host that cannot
    exist (RFC 2606, `.invalid`), because anyone can write an address into a page. Skips hidden
    files, links to folders and links out of the folder.

    Raises ArchiveImportError: The folder has no such file, or a malformed JSONL file.
    """
    page_suffixes = HTML_SUFFIXES | TEXT_SUFFIXES | {JSONL_SUFFIX}
    files: list[Path] = []
    # Path.resolve raises for a link that leads to itself.
    place = Path(os.path.realpath(folder))
    for root, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        visible = (Path(root, name) for name in names if not name.startswith("."))
        inside = (path for path in visible if Path(os.path.realpath(path)).is_relative_to(place))
        files += (path for path in inside if path.suffix.lower() in page_suffixes | _DOCUMENTS)
    if not any(path.suffix.lower() in page_suffixes for path in files):
        remedy = "Put .html, .txt, .md or .jsonl files into it."
        raise ArchiveImportError(f"{folder}: The folder holds no pages. {remedy}")
    # Two folders with the same name get different addresses.
    mark = hashlib.sha256(os.fsencode(place)).hexdigest()[:8]
    for done, path in enumerate(sorted(files), start=1):
        named = str(path).encode(errors="replace").decode()
        entry: Entry
        if path.suffix.lower() in _DOCUMENTS:
            words = "documents of this kind are not read from a folder; save it as .txt or .html."
            entry = f"{named}: {words}"
        elif not os.path.isfile(path):  # noqa: PTH113 - Path.is_file raises where a right lacks
            # To open a pipe would wait for a writer.
            entry = f"{named}: this is no file that can be read; put a copy of it there."
        elif path.suffix.lower() == JSONL_SUFFIX:
            for step in read_jsonl(path):
                yield step._replace(done=done, total=len(files))
            continue
        else:
            relative = os.fsencode(path.relative_to(folder))
            address = f"{quote(place.name, errors='replace')}-{mark}/{quote(relative)}"
            page = _saved_page(path, f"https://{LOCAL_HOST}/{address}")
            entry = f"{named}: {page}" if isinstance(page, str) else page
        yield ImportedEntry(entry, done, len(files), named)


def _saved_page(path: Path, address: str) -> FetchedPage | str:
    """Return a saved page, or the end of a sentence on why it has none."""
    # Imported late: JSONL needs no HTML parser.
    from resources.pages.extract import Extract, decode, extract_html  # noqa: PLC0415

    try:
        status = path.stat()
        if status.st_size > MAX_FILE_BYTES:
            return f"the file has {status.st_size / 1e6:.0f} MB, which is no page to read."
        data = path.read_bytes()
        if path.suffix.lower() in HTML_SUFFIXES:
            html = decode(data)
            noted = _SAVED_FROM.search(html[:_NOTE_WINDOW])
            address = noted[1] if noted else address
            extract = extract_html(html, address)
        else:
            text = _text(decode_text(data))
            heading = re.match("# (.*)", text)
            extract = Extract(text, heading[1].strip() if heading else None)
    except OSError as error:
        return f"the file cannot be read ({error.strerror})."
    except NotTextError as error:
        return f"this is no text ({error})."
    if not extract.text:
        return "there is no text to read in it."
    return FetchedPage(
        address,
        "ok",
        datetime.fromtimestamp(status.st_mtime, tz=UTC),
        title=extract.title or _text(path.stem.replace("_", " ").replace("-", " ")),
        author=extract.author,
        published_on=extract.published_on,
        text=extract.text,
        byte_count=len(data),
    )
