"""Reads the body of an answer within a time limit: HTML, XHTML, plain text or PDF.

Any other content type is unavailable. The first bytes identify a PDF, whatever type it declares.
"""

from __future__ import annotations

import asyncio
import codecs
import json
import os
import re
import sys
from collections.abc import Callable
from datetime import date
from email.message import Message
from http import HTTPStatus
from pathlib import Path

from resources import http
from resources.pages import extract
from resources.pages.base import Via
from resources.pages.extract import Obstacle
from resources.text_files import NotTextError, decode_text

_SECONDS = 30.0
_NEEDS_BROWSER = "needs a browser: the page has no text without its scripts"

_FAILURES: dict[Obstacle, tuple[type[http.HttpFailureError], str]] = {
    "empty": (http.UnavailableError, "empty: the page holds no readable text"),
    "needs a browser": (http.UnavailableError, _NEEDS_BROWSER),
    "locked": (http.UnavailableError, "locked: the site gave only the beginning of the page"),
    "garbled": (http.OutageError, "the characters of the page were lost on its way here"),
    "textless": (http.OutageError, "out of order: the page came without any text"),
}
_PDF_START = b"%PDF-"
_PDF_END = b"%%EOF"
_PDF_WINDOW = 1_024
"""Bytes within which a PDF begins (Adobe's PDF Reference 1.7, appendix H.3, note 13)."""
_MARKUP_TYPES = frozenset({"text/html", "application/xhtml+xml"})
_TEXT_TYPES = _MARKUP_TYPES | {"text/plain", ""}
"""The media types of markup and plain text; the empty one is undeclared."""
_PERHAPS_PDF = frozenset(
    {
        "application/pdf",
        "application/x-pdf",
        # Many servers send reports as downloads.
        "application/octet-stream",
        "binary/octet-stream",
        "application/force-download",
    }
)
_BINARY_WINDOW = 65_536
"""Bytes at the start of a body that show whether it is text, and of which kind."""
_PROSE_ENDS = (b".", b"!", b"?", b'"', b"'", b")", b"]", b":", b";")
_LAST_WORDS = 60  # Bytes of text after all tags, such as a note about the last change.
_JSONP = re.compile(rb"[\w.$]+\(\s*[\[{]\s*[\"'{\[]")
_OPEN_TAG = re.compile(rb"<[a-z/!][^<>]*$")


class ScriptedPageError(http.UnavailableError):
    """A page that needs a browser to draw it; `response` is its answer without scripts."""

    def __init__(self, response: http.Response) -> None:
        super().__init__(_NEEDS_BROWSER)
        self.response = response


class BodyReader:
    """Reads bodies, as many at once as there are cores, each for at most 30 seconds."""

    def __init__(self) -> None:
        self._slots = asyncio.Semaphore(os.cpu_count() or 1)

    @staticmethod
    def accepts(media_type: str) -> bool:
        """Tell whether a media type is readable; an empty one is undeclared."""
        return media_type in _TEXT_TYPES or media_type in _PERHAPS_PDF

    async def read(self, response: http.Response) -> tuple[extract.Extract, Via]:
        """Read an answer of any status.

        Raises OutageError if a later attempt may succeed, ScriptedPageError if the page needs a
        browser, and UnavailableError if it cannot be read.
        """
        with http.attributed_to(response):
            response.raise_for_status()
            damage = _damage(response)
            if damage is not None:
                raise http.OutageError(damage)
            if _is_pdf(response.body):
                async with self._slots:
                    return await read_pdf(response.body, seconds=_SECONDS), "pdf"
            page = await self._in_thread(lambda: _read(response))
            if page.obstacle == "needs a browser":
                raise ScriptedPageError(response)
            if page.obstacle is not None:
                raise obstacle_error(page.obstacle)
        return page, "scraped"

    async def read_html(self, html: str, url: str) -> extract.Extract:
        """Read a page as drawn by a browser.

        Raises UnavailableError if that takes too long or the markup is broken.
        """
        return await self._in_thread(lambda: extract.extract_html(html, url))

    async def _in_thread(self, work: Callable[[], extract.Extract]) -> extract.Extract:
        async with self._slots:
            try:
                async with asyncio.timeout(_SECONDS):
                    return await asyncio.to_thread(work)
            except TimeoutError as error:
                raise http.UnavailableError(
                    f"the markup is too tangled to be read within {_SECONDS:g} seconds"
                ) from error
            except extract.READER_ERRORS as error:
                raise http.UnavailableError(f"broken markup: {type(error).__name__}") from error


def obstacle_error(obstacle: Obstacle) -> http.HttpFailureError:
    kind, reason = _FAILURES[obstacle]
    return kind(reason)


def _read(response: http.Response) -> extract.Extract:
    kind, body = response.media_type, response.body
    if kind not in _TEXT_TYPES:
        more = ", and no PDF" if kind in _PERHAPS_PDF else ""
        raise http.UnavailableError(f"unsupported content type: {kind}{more}")
    declared = Message()
    declared["Content-Type"] = response.headers.get("content-type", "")
    if _is_binary(body):
        raise http.UnavailableError("unsupported content type: binary data, undeclared")
    text = extract.decode(body, declared.get_content_charset())
    is_markup = body[:512].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")
    if kind in _MARKUP_TYPES or is_markup:
        return extract.extract_html(text, response.url)
    return extract.extract_plain(text)


def _damage(response: http.Response) -> str | None:
    """Return the damage of a body in transit, None if there is no sign of any.

    Without a length or a last chunk, only the shape of a body shows that it is incomplete.
    """
    body, kind = response.body, response.media_type
    if response.status == HTTPStatus.PARTIAL_CONTENT:
        return "the site sent a part of the page without a request for one"
    if not body.strip():
        return "the site sent an empty body"
    if _is_pdf(body):
        is_whole = response.framed or _PDF_END in body[-_PDF_WINDOW:]
        return None if is_whole else "the PDF broke off before its end"
    if kind in _MARKUP_TYPES and (_is_binary(body) or _is_data(body)):
        data = f"binary data as {kind}" if _is_binary(body) else "data instead of the page"
        return f"the site sent {data}"
    if kind in _TEXT_TYPES and _is_cut(body, framed=response.framed):
        return "the page broke off before its end"
    return None


def _is_binary(body: bytes) -> bool:
    try:
        decode_text(body[:_BINARY_WINDOW])
    except NotTextError:
        return True
    return False


def _is_cut(body: bytes, *, framed: bool) -> bool:
    """Tell whether a page lacks its end; `framed`: the answer stated its end (http.Response).

    Plain text without a stated end must end with a line or a sentence. No markup may end inside a
    tag. A document needs its last tag, or a stated end and no more than few words or a sentence
    after the other tags. Other markup without a stated end must end with a tag.
    """
    text = body.lower().rstrip()
    if b"<" not in text[:_BINARY_WINDOW]:
        return not framed and not body.endswith(b"\n") and not text.endswith(_PROSE_ENDS)
    last = text.rfind(b"<")
    if last > text.rfind(b">") and _OPEN_TAG.match(text, last):
        return True
    if b"<html" in text or b"<body" in text:
        # HTML may omit the last tags. But even a page of known length may come from a cut source.
        tail = text[text.rfind(b">") + 1 :]
        is_ended = framed and (len(tail) < _LAST_WORDS or tail.endswith(_PROSE_ENDS))
        return not is_ended and b"</html" not in text and b"</body" not in text
    return not framed and not text.endswith(b">")


def _is_data(body: bytes) -> bool:
    """Tell whether a body is JSON, JSONP (a call with JSON), or XML other than a page."""
    start = body[:_BINARY_WINDOW].lstrip(codecs.BOM_UTF8 + b" \t\r\n").lower()
    if start.startswith((b"<?xml", b"<rss", b"<feed")):
        return b"<html" not in start
    if not start.startswith((b"{", b"[")):
        return _JSONP.match(start) is not None
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True


def _is_pdf(body: bytes) -> bool:
    return body.startswith(_PDF_START) or (
        body.lstrip()[:1] != b"<" and _PDF_START in body[:_PDF_WINDOW]
    )


# --- PDF, in a separate process -----------------------------------------------------------------
#
# In a thread pypdf, written in Python, would block the event loop, and nothing can end a thread
# that reads a hostile file for ever.

_WORKER = Path(__file__).with_name("pdf_worker.py")
# What Python needs to start. The rest of the environment may hold keys.
_ENVIRONMENT = ("PATH", "PYTHONPATH", "PYTHONHOME", "HOME", "LD_LIBRARY_PATH", "SYSTEMROOT", "TEMP")


async def read_pdf(data: bytes, *, seconds: float) -> extract.Extract:
    """Read text, title, author and date of creation of a PDF within the limits of pdf_worker.py.

    Raises UnavailableError if it is encrypted, broken, scanned or empty, or takes too long.
    """
    worker = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        str(_WORKER),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
    )
    try:
        async with asyncio.timeout(seconds):
            output, _ = await worker.communicate(data)
    except TimeoutError as error:
        raise http.UnavailableError(
            f"too long: the PDF could not be read within {seconds:g} seconds"
        ) from error
    finally:
        if worker.returncode is None:
            worker.kill()
            await worker.wait()
    if worker.returncode != 0:
        raise http.UnavailableError("broken: the PDF cannot be read")
    answer: dict[str, str | None] = json.loads(output)
    if answer.get("failure"):
        raise http.UnavailableError(str(answer["failure"]))
    text, title, author = (
        extract.storable(answer[name] or "") for name in ("text", "title", "author")
    )
    created = date.fromisoformat(answer["created"]) if answer["created"] else None
    return extract.Extract(text.strip(), title or None, author or None, created)
