"""Reads the body of an answer: which content types are read, by whom, and off the event loop.

What belongs here: choosing the reader of a body, bounding its time, and naming what keeps a body
from being read. What does not: fetching (pages.py), markup (extract.py), PDF (pdf.py).

Content types that are read: HTML, XHTML, plain text and PDF. Any other ends as unavailable with
the reason `unsupported content type: …`. A PDF is known by its first bytes, however it is declared.
"""

from __future__ import annotations

import asyncio
import codecs
import os
from collections.abc import Callable
from email.message import Message
from http import HTTPStatus
from typing import Literal

from resources.http import Response, UnavailableError, status_failure
from resources.scraping.extract import Extract, Obstacle, decode, extract_html, extract_plain
from resources.scraping.pdf import PdfError, read_pdf

Kind = Literal["text", "pdf"]

# A wall for robots comes with one of these, and then the page itself says so.
_WALL_STATUSES = frozenset(
    {
        HTTPStatus.UNAUTHORIZED,
        HTTPStatus.FORBIDDEN,
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.SERVICE_UNAVAILABLE,
    }
)

OBSTACLES: dict[Obstacle, str] = {
    "blocked": "blocked: the site shows a wall for robots instead of the page",
    "needs a browser": "needs a browser: the page has no text without its scripts",
    "empty": "empty: the page holds no readable text",
}
"""The reason that each obstacle is given as."""

_PDF_START = b"%PDF-"
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
        if _is_pdf(response.body):
            return await self._read_pdf(response), "pdf"
        reader = _READERS[response.media_type]
        extract = await self._in_thread(lambda: reader(response), response)
        if extract.obstacle == "needs a browser":
            raise ScriptedPageError(response)
        if extract.obstacle is not None:
            raise unavailable(OBSTACLES[extract.obstacle], response)
        return extract, "text"

    async def read_html(self, html: str, response: Response) -> Extract:
        """Read a page as a browser drew it; `response` is the answer that it stands for."""
        return await self._in_thread(lambda: extract_html(html, response.url), response)

    async def _is_wall(self, response: Response) -> bool:
        if response.status not in _WALL_STATUSES or response.media_type not in _MARKUP:
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


def _is_pdf(body: bytes) -> bool:
    return body.startswith(_PDF_START) or (
        body.lstrip()[:1] != b"<" and _PDF_START in body[:_PDF_WINDOW]
    )


def _read_html(response: Response) -> Extract:
    return extract_html(_text_of(response), response.url)


def _read_plain(response: Response) -> Extract:
    return extract_plain(_text_of(response))


def _read_undeclared(response: Response) -> Extract:
    looks_like_markup = response.body[:512].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")
    return _read_html(response) if looks_like_markup else _read_plain(response)


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
    "text/plain": _read_plain,
    "": _read_undeclared,
    "application/pdf": _read_no_pdf,
    "application/x-pdf": _read_no_pdf,
    # Many servers send reports for saving.
    "application/octet-stream": _read_no_pdf,
    "binary/octet-stream": _read_no_pdf,
    "application/force-download": _read_no_pdf,
}
_MARKUP = frozenset({"text/html", "application/xhtml+xml", "text/plain", ""})
