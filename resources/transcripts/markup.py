"""Reads transcripts in XML whose elements have times, and the lines of HTML pages.

Sources: TTML 2 of the W3C (section 12 for times), YouTube's formats srv1 to srv3.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any, Final

import lxml.etree
import lxml.html

from resources.lines import PlacedError
from resources.transcripts import base
from resources.transcripts.base import Caption
from resources.transcripts.segments import NothingSaidError, Reading
from resources.transcripts.timed_lines import read_timed_lines
from resources.transcripts.times import seconds_of

_NO_TIMES: Final = "This is markup without the times of a transcript"
_TIMES: Final = (("begin", "end", "dur", 1.0), ("start", "end", "dur", 1.0), ("t", "", "d", 1e-3))
"""The attributes for start, end and length of an element, and their unit in seconds."""
_INLINE: Final = frozenset({"s", "span"})
_SPEAKERS: Final = ("agent", "speaker", "who", "voice")
_BLOCKS: Final = ("p", "div", "li", "cite", "time", "h1", "h2", "h3", "tr", "td", "dt", "dd")
_EXPRESSION = re.compile(r"(?:(\d+:\d\d:\d\d):)?(-?\d+(?:\.\d+)?)(h|ms|m|s|f|t)?")
_SECONDS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3}


def read_xml(text: str) -> Reading:
    """Read XML whose elements have times: TTML, and YouTube's srv1 to srv3."""
    body = re.sub(r"^\s*<\?xml.*?\?>", "", text, count=1).strip()
    if "<!ENTITY" in body:
        raise PlacedError(None, "This XML declares entities. Write the words out.")
    parser = lxml.etree.XMLParser(
        resolve_entities=False, no_network=True, remove_comments=True, collect_ids=False
    )
    try:
        root = lxml.etree.fromstring(body.encode(), parser)
    except lxml.etree.XMLSyntaxError as error:
        raise PlacedError(error.lineno, f"This is no XML: {error.msg}. Export it again.") from error
    _break_lines(root)
    if not "".join(root.itertext()).strip():
        raise NothingSaidError("No element of the file has words. Export it again.")
    captions = list(_Timed(root).captions(root))
    if not captions:
        raise base.unknown_format(_NO_TIMES)
    return Reading(captions, _attributes(root).get("lang"))


def _attributes(element: Any) -> dict[str, str]:
    return {str(key).rpartition("}")[2]: str(value) for key, value in element.attrib.items()}


def _name(element: Any) -> str:
    return str(element.tag).rpartition("}")[2]


class _Timed:
    """Finds the elements with times in a document."""

    def __init__(self, root: Any) -> None:
        self._rates = _attributes(root)
        self._names = {
            _attributes(each).get("id"): " ".join("".join(each.itertext()).split())
            for each in root.iter("{*}agent")
        }

    def captions(self, element: Any, shift: float = 0.0) -> Iterator[Caption]:
        """Yield the outermost elements with times, or those in them if they are no mere spans.

        Times in an element count from its start, although some tools write absolute ones.
        """
        start, end = self._times(element)
        inside = [each for each in element.iterdescendants("*") if _name(each) not in _INLINE]
        starts = [each for each in (self._times(one)[0] for one in inside) if each is not None]
        if start is not None and not starts:
            attributes = _attributes(element)
            label = next(filter(None, map(attributes.get, _SPEAKERS)), None)
            words = html.unescape("".join(element.itertext()))  # YouTube escapes twice
            ends = start if end is None else end
            name = self._names.get(label) or label
            yield Caption(words, max(0.0, start + shift), max(0.0, ends + shift), name)
            return
        if starts and start is not None and min(starts) < start:
            shift += start
        for child in element.iterchildren("*"):
            yield from self.captions(child, shift)

    def _times(self, element: Any) -> tuple[float | None, float | None]:
        given = _attributes(element)
        for *names, unit in _TIMES:
            start, end, lasts = (self._seconds(given.get(str(name)), unit) for name in names)
            if start is not None:
                return start, start + lasts if end is None and lasts is not None else end
        return None, None

    def _seconds(self, value: str | None, unit: float) -> float | None:
        match = _EXPRESSION.fullmatch((value or "").strip())
        if match is None:
            return seconds_of(value) if value else None
        clock, number = match[1], float(match[2])
        if clock or match[3] == "f":
            frames = number / float(self._rates.get("frameRate") or 30.0)
            return frames + (seconds_of(clock) or 0.0 if clock else 0.0)
        if match[3] == "t":
            return number / float(self._rates.get("tickRate") or 1)
        return number * _SECONDS.get(match[3], unit)


def _break_lines(root: Any) -> None:
    for element in root.iter("{*}br"):
        element.tail = f"\n{element.tail or ''}"


def read_html(text: str) -> Reading:
    """Read the lines of a page, and each block and cell of a table as a line."""
    parser = lxml.html.HTMLParser(encoding="utf-8", remove_comments=True)
    root = lxml.html.document_fromstring(text.encode(), parser=parser)
    for element in root.xpath("//script|//style|//head|//nav|//footer"):
        element.drop_tree()
    _break_lines(root)
    for element in root.iter(*_BLOCKS):
        element.tail, element.text = f"\n{element.tail or ''}", f"\n{element.text or ''}"
    if (reading := read_timed_lines(str(root.text_content()))) is None:
        raise base.unknown_format(_NO_TIMES)
    return reading
