"""Reads transcripts in XML whose elements have times, and in HTML pages whose lines have times.

Sources: TTML 2 of the W3C (section 12 for times), YouTube's formats srv1 to srv3.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import lxml.etree
import lxml.html

from resources.text_files import PlacedError
from resources.transcripts import base
from resources.transcripts.base import Caption
from resources.transcripts.cleaning import CaptionFile, NothingSaidError
from resources.transcripts.timed_lines import read_timed_lines
from resources.transcripts.times import seconds_of

_NO_TIMES: Final = "This is markup without the times of a transcript"
_TIMES: Final = (("begin", "end", "dur", 1.0), ("start", "end", "dur", 1.0), ("t", "", "d", 1e-3))
"""The attributes for start, end and length of an element, and their unit in seconds."""
_INLINE: Final = frozenset({"s", "span"})
_SPEAKERS: Final = ("agent", "speaker", "who", "voice")
_BLOCKS: Final = ("p", "div", "li", "cite", "time", "h1", "h2", "h3", "tr", "td", "dt", "dd")
_TIME_EXPRESSION = re.compile(r"(?:(\d+:\d\d:\d\d):)?(-?\d+(?:\.\d+)?)(h|ms|m|s|f|t)?")
"""A clock and frames (0:01:02:12), or a number with or without a unit; f is frames, t ticks."""
_SECONDS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3}


def read_xml(text: str) -> CaptionFile:
    """Read XML whose elements have times: TTML, and YouTube's srv1 to srv3."""
    body = re.sub(r"^\s*<\?xml.*?\?>", "", text, count=1).strip()
    if "<!ENTITY" in body:
        raise PlacedError("This XML declares entities. Write the words out.")
    parser = lxml.etree.XMLParser(
        resolve_entities=False, no_network=True, remove_comments=True, collect_ids=False
    )
    try:
        root = lxml.etree.fromstring(body.encode(), parser)
    except lxml.etree.XMLSyntaxError as error:
        raise PlacedError(f"This is no XML: {error.msg}. Export it again.", error.lineno) from error
    lxml.etree.strip_elements(root, "{*}desc", with_tail=False)  # describes, and is not shown
    for element in root.iter("{*}br"):
        element.tail = f"\n{element.tail or ''}"
    if not "".join(root.itertext()).strip():
        raise NothingSaidError("No element of the file has words. Export it again.")
    try:
        captions = list(_captions(root))
    except (ValueError, ZeroDivisionError) as error:
        raise base.unknown_format("Its rate of frames or ticks is no number") from error
    if not captions:
        raise base.unknown_format(_NO_TIMES)
    return CaptionFile(captions, _attributes(root).get("lang"))


def _attributes(element: Any) -> dict[str, str]:
    return {str(key).rpartition("}")[2]: str(value) for key, value in element.attrib.items()}


def _name(element: Any) -> str:
    return str(element.tag).rpartition("}")[2]


def _captions(root: Any) -> Iterator[Caption]:
    """Yield the innermost blocks with times, each with the words of its spans.

    Times in an element count from its start. But if none is earlier than that start, they are
    absolute, as some tools write them.
    """
    of_root = _attributes(root)
    agents = {
        _attributes(agent).get("id"): "".join(agent.itertext()) for agent in root.iter("{*}agent")
    }
    all_times = ((element, _times(element, of_root)) for element in root.iter("*"))
    times = {element: span for element, span in all_times if span is not None}
    first_inside = _first_block_inside(times)
    for element, (start, end) in times.items():
        outer = [ancestor for ancestor in element.iterancestors() if ancestor in times]
        if element not in first_inside and all(ancestor in first_inside for ancestor in outer):
            shift = sum(times[block][0] for block in outer if first_inside[block] < times[block][0])
            label = next(filter(None, map(_attributes(element).get, _SPEAKERS)), None)
            begins, ends = max(0.0, start + shift), max(0.0, end + shift)
            yield Caption(_words(element), begins, ends, agents.get(label) or label)


def _first_block_inside(times: Mapping[Any, tuple[float, float]]) -> dict[Any, float]:
    """Return, for each element around blocks with times, the earliest start of these blocks."""
    earliest = dict[Any, float]()
    for element, (start, _) in times.items():
        if _name(element) not in _INLINE:
            for ancestor in element.iterancestors():
                if earliest.get(ancestor, math.inf) <= start:
                    break
                earliest[ancestor] = start
    return earliest


def _words(element: Any) -> str:
    parts = list(element.itertext())
    words = "".join(parts)
    if len(parts) > 1 and words.isascii() and not any(map(str.isspace, words)):
        words = " ".join(parts)  # podcasts have a span for each word, and no spaces
    return html.unescape(words)  # YouTube escapes twice


def _times(element: Any, of_root: Mapping[str, str]) -> tuple[float, float] | None:
    """Return start and end in seconds; `of_root` are the root's attributes, with its rates."""
    values = _attributes(element)
    for *names, unit in _TIMES:
        start, end, length = (_seconds(values.get(str(name)), unit, of_root) for name in names)
        if start is not None:
            return start, start + (length or 0.0) if end is None else end
    return None


def _seconds(value: str | None, unit: float, of_root: Mapping[str, str]) -> float | None:
    match = _TIME_EXPRESSION.fullmatch((value or "").strip())
    if match is None:
        return seconds_of(value) if value else None
    clock, number = match[1], float(match[2])
    if clock or match[3] == "f":
        return (seconds_of(clock or "") or 0.0) + number / float(of_root.get("frameRate") or 30.0)
    if match[3] == "t":
        return number / float(of_root.get("tickRate") or 1)
    return number * _SECONDS.get(match[3], unit)


def read_html(text: str) -> CaptionFile:
    """Read the lines of a page, and each block and cell of a table as a line."""
    parser = lxml.html.HTMLParser(encoding="utf-8", remove_comments=True)
    root = lxml.html.document_fromstring(text.encode(), parser=parser)
    for element in root.xpath("//script|//style|//head|//nav|//footer"):
        element.drop_tree()
    for element in root.iter("br", *_BLOCKS):
        element.tail, element.text = f"\n{element.tail or ''}", f"\n{element.text or ''}"
    if (reading := read_timed_lines(str(root.text_content()))) is None:
        raise base.unknown_format(_NO_TIMES)
    return reading
