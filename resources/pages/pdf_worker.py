"""Reads one PDF in a separate process: bytes on standard input, one JSON object on output.

The answer is `{"text": …, "title": …, "author": …, "created": "YYYY-MM-DD" or null}`, or
`{"failure": sentence}`. It imports only pypdf and the standard library, so that it starts fast.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import statistics
import sys
from datetime import UTC, date, datetime

import pypdf
import pypdf.errors

MAX_PAGES = 150
MAX_CHARACTERS = 1_000_000
"""Characters after which it reads no further page."""
_MEMORY_BYTES = 2_000_000_000
_FIRST_DAY = date(1993, 1, 1)
_FULL_LINE = 0.7
"""A line below this share of the usual length ends its paragraph if it ends a sentence."""
_SENTENCE_END = re.compile(r"[.!?:…。؟।\uff01\uff1f\uff1a][\"'”’)\]」』]*$")
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3001-\u9fff\uff00-\uffef]")
"""Letters and marks of scripts without spaces, as in resources/words.py."""
_BROKEN_WORD = re.compile(r"(?<=[a-zà-ÿ])[-\u00ad\u2010]$")
_PROGRAM_TITLE = re.compile(r"^(?:Microsoft (?:Word|PowerPoint|Excel)) - |\.(?:docx?|pptx?|indd)$")
# Errors of pypdf on a damaged page among sound ones.
_PAGE_ERRORS = (
    ArithmeticError,
    AttributeError,
    LookupError,
    NotImplementedError,
    TypeError,
    ValueError,
    pypdf.errors.PyPdfError,
)


def read(data: bytes) -> dict[str, str | None]:
    pages: list[str] = []
    room = MAX_CHARACTERS
    try:
        reader = pypdf.PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            return {"failure": "encrypted: the PDF opens only with a password"}
        for number in range(min(len(reader.pages), MAX_PAGES)):
            with contextlib.suppress(*_PAGE_ERRORS):
                text = reflow(reader.pages[number].extract_text())
                pages.append(text[:room])
                room -= len(text)
                if room <= 0:
                    break
    except pypdf.errors.DependencyError:
        return {"failure": "encrypted: the PDF opens only with a password"}
    except pypdf.errors.PyPdfError as error:
        return {"failure": f"broken: the PDF cannot be read ({type(error).__name__})"}
    text = "\n\n".join(page for page in pages if page)
    if not text:
        return {"failure": "empty: the PDF holds no readable text, like a scan"}
    return {"text": text, **_facts(reader)}


def reflow(text: str) -> str:
    """Join the printed lines of a page to paragraphs, one per line, and rejoin hyphenated words.

    A paragraph ends at an empty line, and at a line that ends a sentence and is clearly shorter
    than the page's usual line.
    """
    lines = [" ".join(line.split()) for line in text.splitlines()]
    lengths = [len(line) for line in lines if line]
    usual = statistics.median(lengths) if lengths else 0
    paragraphs: list[str] = []
    current = ""
    for line in lines:
        if line and _BROKEN_WORD.search(current) and line[:1].islower():
            current = current[:-1] + line
        elif line:
            is_unspaced = _UNSPACED.match(line) and _UNSPACED.match(current[-1:])
            current = current + line if is_unspaced else f"{current} {line}".lstrip()
        ends = bool(_SENTENCE_END.search(line)) and len(line) < _FULL_LINE * usual
        if (not line or ends) and current:
            paragraphs.append(current)
            current = ""
    return "\n".join([*paragraphs, current] if current else paragraphs)


def _facts(reader: pypdf.PdfReader) -> dict[str, str | None]:
    facts: dict[str, str | None] = {"title": None, "author": None, "created": None}
    with contextlib.suppress(*_PAGE_ERRORS):
        metadata = reader.metadata
        if metadata is not None:
            facts["title"] = _PROGRAM_TITLE.sub("", _line(metadata.title)) or None
            facts["author"] = _line(metadata.author) or None
            day = metadata.creation_date.date() if metadata.creation_date else date.min
            # PDF exists since 1993.
            if _FIRST_DAY <= day <= datetime.now(UTC).date():
                facts["created"] = day.isoformat()
    return facts


def _line(text: str | None) -> str:
    return " ".join(str(text or "").split())[:500]


def main() -> None:
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource  # noqa: PLC0415 - absent outside Unix

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    sys.stdout.write(json.dumps(read(sys.stdin.buffer.read())))


if __name__ == "__main__":
    main()
