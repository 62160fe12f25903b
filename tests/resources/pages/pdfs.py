"""Builds small real PDFs: with text, with metadata, encrypted, scanned."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence

from pypdf import PdfWriter
from pypdf.generic import (
    ArrayObject,
    DecodedStreamObject,
    DictionaryObject,
    FloatObject,
    NameObject,
    NumberObject,
)


def pdf(
    *pages: Sequence[str],
    facts: Mapping[str, str] | None = None,
    password: str | None = None,
    owner_password: str | None = None,
) -> bytes:
    """A PDF of which each page shows its lines, from top to bottom; empty ones leave a gap."""
    writer = PdfWriter()
    for lines in pages:
        shown = "\n".join(
            f"1 0 0 1 72 {760 - 14 * number} Tm ({_escaped(line)}) Tj"
            for number, line in enumerate(lines)
            if line
        )
        _add(writer, f"BT /F1 11 Tf\n{shown}\nET", {"/Font": {"/F1": _font()}})
    if facts:
        writer.add_metadata({f"/{name}": value for name, value in facts.items()})
    if password is not None or owner_password is not None:
        writer.encrypt(password or "", owner_password, algorithm="RC4-128")
    return _written(writer)


def scanned_pdf() -> bytes:
    """A PDF whose one page is an image."""
    writer = PdfWriter()
    image = DecodedStreamObject()
    image.set_data(bytes(16))
    image.update(
        {
            NameObject("/Type"): NameObject("/XObject"),
            NameObject("/Subtype"): NameObject("/Image"),
            NameObject("/Width"): NumberObject(4),
            NameObject("/Height"): NumberObject(4),
            NameObject("/ColorSpace"): NameObject("/DeviceGray"),
            NameObject("/BitsPerComponent"): NumberObject(8),
        }
    )
    _add(writer, "q 595 0 0 842 0 0 cm /Scan Do Q", {"/XObject": {"/Scan": image}})
    return _written(writer)


def endless_pdf() -> bytes:
    """A PDF whose one page takes a long time to read: millions of operators, well compressed."""
    writer = PdfWriter()
    content = "BT /F1 11 Tf\n" + "(a) Tj 1 0 0 1 5 5 Tm\n" * 900_000 + "ET"
    _add(writer, content, {"/Font": {"/F1": _font()}})
    writer.pages[0].compress_content_streams()
    return _written(writer)


def _add(
    writer: PdfWriter, content: str, resources: Mapping[str, Mapping[str, DictionaryObject]]
) -> None:
    page = writer.add_blank_page(595, 842)
    stream = DecodedStreamObject()
    stream.set_data(content.encode("cp1252"))
    page[NameObject("/Contents")] = writer._add_object(stream)
    page[NameObject("/Resources")] = DictionaryObject(
        {
            NameObject(kind): DictionaryObject(
                {NameObject(name): writer._add_object(thing) for name, thing in things.items()}
            )
            for kind, things in resources.items()
        }
    )
    page[NameObject("/MediaBox")] = ArrayObject([FloatObject(n) for n in (0, 0, 595, 842)])


def _font() -> DictionaryObject:
    return DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
            NameObject("/Encoding"): NameObject("/WinAnsiEncoding"),
        }
    )


def _escaped(line: str) -> str:
    return line.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def _written(writer: PdfWriter) -> bytes:
    buffer = io.BytesIO()
    writer.write(buffer)
    return buffer.getvalue()
