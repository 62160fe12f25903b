"""Reads the body of an answer: which content types are read, by whom, and off the event loop.

What belongs here: choosing the reader of a body, bounding its time, and naming what keeps a body
from being read. What does not: fetching (pages.py), markup (extract.py), PDF (pdf.py).

Content types that are read: HTML, XHTML, plain text and PDF. Any other ends as unavailable with
the reason `unsupported content type: …`. A PDF is known by its first bytes, however it is declared.
"""

from __future__ import annotations

import asyncio
import codecs
import json
import os
import re
from collections.abc import Callable
from email.message import Message
from http import HTTPStatus
from typing import Literal

from resources.http import (
    HttpFailureError,
    OutageError,
    Response,
    UnavailableError,
    status_failure,
)
from resources.scraping.extract import Extract, decode, extract_html, extract_plain
from resources.scraping.notices import OBSTACLES, PASSING, Obstacle
from resources.scraping.pdf import PdfError, read_pdf

Kind = Literal["text", "pdf"]

# A wall for robots comes with one of these, and then the page itself says so.
_WALL_STATUSES = frozenset({401, 403, 429, 503})

_PDF_START = b"%PDF-"
_PDF_END = b"%%EOF"
_PDF_WINDOW = 1_024
"""Bytes in which a PDF begins (Adobe's PDF Reference 1.7, appendix H.3, note 13)."""


class ScriptedPageError(UnavailableError):
    """A page that its scripts draw; `response` is its answer without them."""

    def __init__(self, response: Response) -> None:
        super().__init__(
            OBSTACLES["needs a browser"], http_status=response.status, final_url=response.url
        )
        self.response = response


class PageReader:
    """Reads bodies, no more at once than there are cores.

    Args:
        seconds: How long reading one body may take before it is given up.
    """

    def __init__(self, *, seconds: float = 30.0) -> None:
        self._seconds = seconds
        self._slots = asyncio.Semaphore(os.cpu_count() or 1)

    @staticmethod
    def accepts(media_type: str) -> bool:
        """Tell whether bodies of a media type are read; empty stands for undeclared."""
        return media_type in _READERS

    async def read(self, response: Response) -> tuple[Extract, Kind]:
        """Read an answer, whatever its status.

        Raises:
            ScriptedPageError: The page has no text without its scripts.
            UnavailableError: There is nothing to read, or asking again will not help.
            OutageError: The status stands for a passing failure.
        """
        failure = status_failure(response)
        if failure is not None:
            if await self._is_wall(response):
                raise unavailable(OBSTACLES["blocked"], response)
            raise failure
        damage = _damage(response)
        if damage is not None:
            raise OutageError(damage, http_status=response.status, final_url=response.url)
        if _is_pdf(response.body):
            return await self._read_pdf(response), "pdf"
        reader = _READERS[response.media_type]
        extract = await self._in_thread(lambda: reader(response), response)
        if extract.obstacle == "needs a browser":
            raise ScriptedPageError(response)
        if extract.obstacle is not None:
            raise hindered(extract.obstacle, response)
        return extract, "text"

    async def read_html(self, html: str, response: Response) -> Extract:
        """Read a page as a browser drew it; `response` is the answer that it stands for."""
        return await self._in_thread(lambda: extract_html(html, response.url), response)

    async def _is_wall(self, response: Response) -> bool:
        if response.status not in _WALL_STATUSES or response.media_type not in MARKUP:
            return False
        reader = _READERS[response.media_type]
        return (await self._in_thread(lambda: reader(response), response)).obstacle == "blocked"

    async def _in_thread(self, work: Callable[[], Extract], response: Response) -> Extract:
        async with self._slots:
            try:
                async with asyncio.timeout(self._seconds):
                    return await asyncio.to_thread(work)
            except TimeoutError as error:
                raise unavailable(
                    f"the page could not be read within {self._seconds:g} seconds: its markup is "
                    "too tangled",
                    response,
                ) from error

    async def _read_pdf(self, response: Response) -> Extract:
        async with self._slots:
            try:
                return await read_pdf(response.body, seconds=self._seconds)
            except PdfError as error:
                raise unavailable(error.reason, response) from error


def unavailable(reason: str, response: Response) -> UnavailableError:
    """Name a failure that belongs to an answer."""
    return UnavailableError(reason, http_status=response.status, final_url=response.url)


def hindered(obstacle: Obstacle, response: Response) -> HttpFailureError:
    """Name the failure that an obstacle stands for."""
    kind = OutageError if obstacle in PASSING else UnavailableError
    return kind(OBSTACLES[obstacle], http_status=response.status, final_url=response.url)


def _damage(response: Response) -> str | None:
    """Say what happened to a body on its way, None if it is as it was sent, as far as one can tell.

    Where neither a length nor a last chunk says so, only the shape of a body shows that it ends
    before its end.
    """
    body, kind = response.body, response.media_type
    if response.status == HTTPStatus.PARTIAL_CONTENT:
        return "the site sent a part of the page, which was not asked for"
    if not body.strip():
        return "the site sent an empty body"
    if _is_pdf(body):
        is_whole = response.framed or _PDF_END in body[-_PDF_WINDOW:]
        return None if is_whole else "the PDF broke off before its end"
    if kind in _DECLARED_MARKUP and (_is_binary(body) or _is_data(body)):
        data = f"binary data as {kind}" if _is_binary(body) else "data instead of the page"
        return f"the site sent {data}"
    if kind in MARKUP and _is_cut(body, framed=response.framed):
        return "the page broke off before its end"
    return None


def _is_binary(body: bytes) -> bool:
    """Tell whether bytes are no text in any charset: signatures of files, or control characters."""
    start = body[:_BINARY_WINDOW]
    zeros = start.count(0) / len(start)
    is_wide = start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or any(
        abs(zeros - share) < _WIDE_TOLERANCE for share in _WIDE_ZEROS
    )
    controls = len(start.translate(None, _TEXT_BYTES)) / len(start)
    return start.startswith(_SIGNATURES) or (not is_wide and (zeros or controls > _CONTROLS) > 0)


def _is_cut(body: bytes, *, framed: bool) -> bool:
    """Tell whether a page ends inside a tag or, if nobody said where it ends, before its end."""
    text = body.lower().rstrip()
    if b"<" not in text[:_BINARY_WINDOW]:
        return not framed and not body.endswith(b"\n") and not text.endswith(_PROSE_ENDS)
    last = text.rfind(b"<")
    if last > text.rfind(b">") and _OPEN_TAG.match(text, last):
        return True
    if framed:
        return False
    if b"<html" in text or b"<body" in text:
        return b"</html" not in text and b"</body" not in text
    return not text.endswith(b">")


def _is_data(body: bytes) -> bool:
    """Tell whether bytes are JSON, alone or as the argument of a call, or XML that is no page."""
    start = body[:_BINARY_WINDOW].lstrip(codecs.BOM_UTF8 + b" \t\r\n").lower()
    if start.startswith((b"<?xml", b"<rss", b"<feed")):
        return b"<html" not in start
    if not start.startswith((b"{", b"[")):
        return _CALL.match(start) is not None
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True


def _is_pdf(body: bytes) -> bool:
    return body.startswith(_PDF_START) or (
        body.lstrip()[:1] != b"<" and _PDF_START in body[:_PDF_WINDOW]
    )


def _read_html(response: Response) -> Extract:
    return extract_html(_text_of(response), response.url)


def _read_undeclared(response: Response) -> Extract:
    is_markup = response.body[:512].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")
    return _read_html(response) if is_markup else extract_plain(_text_of(response))


def _read_no_pdf(response: Response) -> Extract:
    raise unavailable(f"unsupported content type: {response.media_type}, and no PDF", response)


def _text_of(response: Response) -> str:
    declared = Message()
    declared["Content-Type"] = response.headers.get("content-type", "")
    charset = declared.get_content_charset()
    if b"\0" in response.body[:1024] and not (charset or "").startswith(("utf-16", "utf-32")):
        starts_as_text = response.body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        if not starts_as_text:
            raise unavailable("unsupported content type: binary data, undeclared", response)
    return decode(response.body, charset)


_READERS: dict[str, Callable[[Response], Extract]] = {
    "text/html": _read_html,
    "application/xhtml+xml": _read_html,
    "text/plain": _read_undeclared,
    "": _read_undeclared,
    "application/pdf": _read_no_pdf,
    "application/x-pdf": _read_no_pdf,
    # Many servers send reports for saving.
    "application/octet-stream": _read_no_pdf,
    "binary/octet-stream": _read_no_pdf,
    "application/force-download": _read_no_pdf,
}
_DECLARED_MARKUP = frozenset({"text/html", "application/xhtml+xml"})
MARKUP = _DECLARED_MARKUP | {"text/plain", ""}

_BINARY_WINDOW = 65_536
_SIGNATURES = (
    b"\x89PNG",
    b"\xff\xd8\xff",
    b"GIF8",
    b"RIFF",
    b"PK\x03\x04",
    b"\x1f\x8b",
    b"\x28\xb5\x2f\xfd",
    b"BZh",
    b"\xfd7zXZ",
    b"7z\xbc\xaf",
    b"Rar!",
    b"\x7fELF",
    b"MZ\x90",
    b"wOF",
    b"OggS",
    b"ID3",
    b"\xd0\xcf\x11\xe0",
)
# What texts are written with in the charsets of the web: ISO-2022 uses the escape character.
_TEXT_BYTES = bytes([*b"\t\n\r\f\x1b", *range(0x20, 0x7F), *range(0x80, 0x100)])
_CONTROLS = 0.01
_WIDE_ZEROS = (0.5, 0.75)
_WIDE_TOLERANCE = 0.1
"""Of UTF-16 and UTF-32 in western languages."""
_PROSE_ENDS = (b".", b"!", b"?", b'"', b"'", b")", b"]", b":", b";")
_CALL = re.compile(rb"[\w.$]+\(\s*[\[{]\s*[\"'{\[]")
_OPEN_TAG = re.compile(rb"<[a-z/!][^<>]*$")
