"""Turns the bytes of a text file into text, whatever program wrote them.

What belongs here: encodings, and telling text from binary. What does not: what the text means.

HTML declares its own encoding and is decoded by the extractor; this is for files that do not.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from contextlib import suppress

_BOMS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    # The UTF-32 marks begin with the UTF-16 ones, so they come first.
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_BINARY = re.compile(
    rb"%PDF-|PK\x03\x04|\x1f\x8b|\x89PNG|\xff\xd8\xff|ID3|RIFF|\x1a\x45\xdf\xa3|OggS"
    rb"|SQLite format 3"
)

_SAMPLE_BYTES = 65_536
_MAX_CONTROL_SHARE = 0.01
_MIN_UTF16_ZERO_SHARE = 0.3
_TEXT_CONTROLS = frozenset(b"\t\n\r\f\x1b\x08")


class NotTextError(ValueError):
    """The bytes are no text in any encoding that is tried here."""


def decode_text(data: bytes) -> str:
    """Decode a text file: byte order mark, UTF-8, UTF-16 without a mark, then Windows-1252.

    A UTF-8 file with a few damaged bytes stays UTF-8 (they become U+FFFD): one broken character
    must not turn every other accent into two wrong ones. Raises NotTextError for a binary file.
    """
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return data.decode(encoding, "replace").removeprefix("\ufeff")
    sample = data[:_SAMPLE_BYTES]
    if _BINARY.match(data):
        raise NotTextError("the file begins like a binary format")
    if b"\x00" in sample:
        # UTF-16 of a mostly Latin text without a mark: every other byte is zero.
        pairs = len(sample) // 2
        little, big = sample[1::2].count(0), sample[0::2].count(0)
        if min(little, big) or max(little, big) < max(1, _MIN_UTF16_ZERO_SHARE * pairs):
            raise NotTextError("the file contains zero bytes")
        text = data.decode("utf-16-le" if little > big else "utf-16-be", "replace")
        _refuse_controls([ord(character) for character in text[:_SAMPLE_BYTES]])
        return text
    _refuse_controls(sample)
    with suppress(UnicodeDecodeError):
        return data.decode("utf-8")
    lenient = data.decode("utf-8", "replace")
    if sum(character > "\x7f" for character in lenient) > 2 * lenient.count("\ufffd"):
        return lenient
    with suppress(UnicodeDecodeError):
        return data.decode("cp1252")
    return data.decode("latin-1")


def _refuse_controls(codes: Sequence[int]) -> None:
    controls = sum(code < ord(" ") and code not in _TEXT_CONTROLS for code in codes)
    if controls > _MAX_CONTROL_SHARE * len(codes):
        raise NotTextError("the file is full of control characters")
