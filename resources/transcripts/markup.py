"""Reads transcripts in XML, HTML and tables: writes them as JSON would, for `records`."""

from __future__ import annotations

import csv
import html
import io
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

import lxml.etree
import lxml.html

from resources.lines import PlacedError
from resources.transcripts import base
from resources.transcripts.records import read_records, role_of
from resources.transcripts.segments import NothingSaidError
from resources.transcripts.times import seconds_of

_MAX_DEPTH, _PAIR, _NEARLY = 40, 2, 0.9
_INLINE: Final = frozenset(
    ["a", "b", "br", "c", "em", "font", "i", "rt", "ruby", "s", "span", "strong", "sub", "sup", "u"]
)
_BLOCKS: Final = ("p", "div", "li", "cite", "time", "h1", "h2", "h3", "tr", "dt", "dd")
_EXPRESSION = re.compile(r"(?:(\d+:\d\d:\d\d):)?(\d+(?:\.\d+)?)(h|ms|m|s|f|t)?")
_EXPRESSED: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, None: 1.0}


def read_xml(text: str) -> base.TimedText:
    """Read XML whose elements have times: TTML, YouTube's srv1 to srv3, and the like."""
    body = re.sub(r"^\s*<\?xml.*?\?>", "", text, count=1).strip()
    last = re.search(r"</([\w:.-]{1,60})>\Z", body[-100:])
    # A complete file may have small faults; a truncated one must not pass for complete.
    is_whole = last is not None and f"<{last[1]}" in body[:1_000]
    parser = lxml.etree.XMLParser(
        resolve_entities=False, no_network=True, recover=is_whole, remove_comments=True
    )
    try:
        if "<!ENTITY" in body:
            raise PlacedError(None, "This XML declares entities. Write the words out.")
        root = lxml.etree.fromstring(body.encode(), parser)
        _break_lines(root)
    except lxml.etree.XMLSyntaxError as error:
        raise PlacedError(error.lineno, f"This is no XML: {error.msg}. Export it again.") from error
    if not "".join(root.itertext()).strip():
        raise NothingSaidError("No element of the file has words. Export it again.")
    rates = {_local(key): value for key, value in root.attrib.items()}
    return _read_timed(_mapping(root, rates))


def _read_timed(document: Any) -> base.TimedText:
    read = read_records(document)
    if not any(cue.start_seconds is not None for cue in read.cues):
        raise base.unknown_format("This is markup without the times of a transcript")
    return read


def _local(name: Any) -> str:
    return str(name).rpartition("}")[2]


def _mapping(element: Any, rates: Mapping[str, str], shift: float = 0.0, depth: int = 0) -> Any:
    """Return an element as JSON would write it: attributes, words, and lists of other elements."""
    begins = _expressed(element.get("begin"), rates)
    found: dict[str, Any] = {_local(key): value for key, value in element.attrib.items()}
    found.pop("class", None)
    if begins is not None:
        for key, moved in (("begin", shift), ("end", shift), ("dur", 0.0)):
            if (time := _expressed(found.get(key), rates)) is not None:
                found[key] = time + moved
    children = [each for each in element if isinstance(each.tag, str)]
    inside = [_expressed(child.get("begin"), rates) for child in children]
    # Times inside a container count from its start, although some tools write absolute ones.
    is_absolute = any(inside) and min(each for each in inside if each is not None) >= (begins or 0)
    shift += 0.0 if is_absolute else begins or 0.0
    is_timed = "start" in map(role_of, found)
    has_timed = not is_timed and any(one.attrib for each in children for one in each.iter("*"))
    words = [element.text or ""]
    for child in children:
        name = _name_of(child)
        if name in _INLINE and not has_timed:
            words += [*child.itertext(), child.tail or ""]
        elif depth < _MAX_DEPTH:
            if not len(child) and not child.text and "start" in map(role_of, child.attrib):
                child.text, child.tail = child.tail, ""  # a milestone before its words
            found.setdefault(name, []).append(_mapping(child, rates, shift, depth + 1))
            words.append(child.tail or "")
    text = html.unescape("".join(words))  # YouTube escapes twice
    if not found:
        return text
    single = {
        name: value[0]
        for name, value in found.items()
        if isinstance(value, list) and [*map(type, value)] == [str]
    }
    return {**found, **single, **({"text": text} if text.strip() else {})}


def _name_of(element: Any) -> str:
    """Return the tag of an element, or a class that tells a speaker or a start."""
    classes = str(element.get("class") or "").split()
    return next((e for e in classes if role_of(e) in {"speaker", "start"}), _local(element.tag))


def _expressed(value: str | None, rates: Mapping[str, str]) -> float | None:
    """Return the seconds of a time expression of TTML."""
    match = _EXPRESSION.fullmatch((value or "").strip())
    if match is None:
        return seconds_of(value) if value else None
    clock, number, unit = match[1], float(match[2]), match[3]
    if clock or unit == "f":
        frames = number / float(rates.get("frameRate") or 30.0)
        return frames + (seconds_of(clock) or 0.0 if clock else 0.0)
    return number / float(rates.get("tickRate") or 1) if unit == "t" else number * _EXPRESSED[unit]


def parse_html(text: str) -> Any:
    """Return the body of a page without its scripts and styles."""
    parser = lxml.html.HTMLParser(encoding="utf-8", remove_comments=True)
    root = lxml.html.document_fromstring(text.encode(), parser=parser)
    for element in root.xpath("//script|//style|//head|//nav|//footer"):
        element.drop_tree()
    _break_lines(root)
    return root


def _break_lines(root: Any) -> None:
    for element in root.iter("{*}br"):
        element.tail = f"\n{element.tail or ''}"


def read_html(root: Any) -> base.TimedText | None:
    """Read a page with a table, or with elements whose attributes are times; None without any."""
    rows = [[cell.text_content().strip() for cell in row] for row in root.iter("tr")]
    if (read := _read_rows(rows)) is not None:
        return read
    with suppress(PlacedError):
        read = _read_timed(_mapping(root, {}))
        said = sum(len(cue.text) for cue in read.cues)
        if said > len(" ".join(root.text_content().split())) / 2:
            return read
    return None


def lines_of_html(root: Any) -> str:
    """Return the words of a page, one block a line, and the cells of a table with bars."""
    for element in root.iter(*_BLOCKS):
        element.tail, element.text = f"\n{element.tail or ''}", f"\n{element.text or ''}"
    return str(root.text_content())


def read_table(text: str) -> base.TimedText | None:
    """Read a table with a column of words and one of times or speakers; None for other text.

    A table has delimiters, or bars as in Markdown, or each line is one value with its name.
    """
    text = text.strip()
    barred = [line.strip() for line in text.split("\n") if line.lstrip().startswith("|")]
    if 2 * len(barred) > text.count("\n"):
        cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in barred]
        return _read_rows([row for row in cells if not set("".join(row)) <= set("-: ")])
    if (named := _named_values(text)) is not None:
        return named
    head = text.split("\n", 1)[0]
    mark = max("\t;,|", key=head.count)
    with suppress(csv.Error):
        return _read_rows([row for row in csv.reader(io.StringIO(text), delimiter=mark) if row])
    return None


def _named_values(text: str) -> base.TimedText | None:
    records: list[dict[str, str]] = [{}]
    for line in filter(str.strip, text.split("\n")):
        match = re.match(r"[-\s]*[\"']?(\w{1,20})[\"']?\s?[:=]\s*(.*)", line)
        if match is None:
            return None
        if match[1] in records[-1]:
            records.append({})
        records[-1][match[1]] = match[2].strip().strip("\"'")
    return _read_rows([list(records[0]), *(list(each.values()) for each in records)], timed=True)


def _read_rows(rows: list[list[str]], *, timed: bool = False) -> base.TimedText | None:
    width = len(rows[0]) if rows else 0
    if width < _PAIR or sum(len(row) == width for row in rows) < max(_PAIR, _NEARLY * len(rows)):
        return None
    head = rows[0]
    if any(seconds_of(cell) is not None or cell.strip().isdigit() for cell in head):
        head = [f"column{at}" for at in range(width)]
    else:
        rows = rows[1:]
    with suppress(PlacedError):
        read = read_records([dict(zip(head, row, strict=False)) for row in rows])
        if read.cues and not (timed and read.cues[0].start_seconds is None):
            return read
    return None
