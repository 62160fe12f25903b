"""Reads PDFs in a process of their own, which is ended when its time is up.

What belongs here: starting the worker and bounding it. What does not: PDF itself (pdf_worker.py).

A thread would not do: pypdf is written in Python and would keep the event loop waiting, and a
thread that reads a hostile file for ever cannot be ended.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from datetime import date
from pathlib import Path

from resources.http import UnavailableError
from resources.scraping.extract import Extract, storable

_WORKER = Path(__file__).with_name("pdf_worker.py")
# What Python needs to start. Nothing else is handed on: the environment holds keys.
_ENVIRONMENT = ("PATH", "PYTHONPATH", "PYTHONHOME", "HOME", "LD_LIBRARY_PATH", "SYSTEMROOT", "TEMP")


class PdfError(UnavailableError):
    """A PDF that cannot be read. `reason` is a sentence that begins with what is the matter."""


async def read_pdf(data: bytes, *, seconds: float = 30.0) -> Extract:
    """Read text, title, author and date of creation of a PDF.

    At most the first 150 pages and a million characters are read (pdf_worker.py).

    Raises:
        PdfError: It is encrypted, broken, scanned or empty, or took longer than `seconds`.
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
        raise PdfError(f"too long: the PDF could not be read within {seconds:g} seconds") from error
    finally:
        if worker.returncode is None:
            worker.kill()
            await worker.wait()
    if worker.returncode != 0:
        raise PdfError("broken: the PDF cannot be read")
    answer: dict[str, str | None] = json.loads(output)
    if answer.get("failure"):
        raise PdfError(str(answer["failure"]))
    text, title, author = (storable(answer[name] or "") for name in ("text", "title", "author"))
    created = date.fromisoformat(answer["created"]) if answer["created"] else None
    return Extract(text.strip(), title or None, author or None, created)
