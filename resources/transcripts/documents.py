"""Reads transcripts in JSON, XML, HTML and tables, by their structure.

An entry is an object, an element or a row with words, a start, and perhaps an end, a duration and a
speaker, under any of the usual names. One reader therefore serves YouTube's json3 and srv1 to srv3,
TTML, Whisper, whisper.cpp, WhisperX, Hugging Face, Deepgram, AssemblyAI, AWS, Azure, Google,
Rev.ai, the podcast namespace, and lists of other tools.
"""

from __future__ import annotations

import csv
import html
import io
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import lxml.etree
import lxml.html

from resources.lines import PlacedError, read_json, shown
from resources.transcripts import base
from resources.transcripts.captions import seconds_of
from resources.transcripts.tracks import (
    INVISIBLE,
    Caption,
    NothingSaidError,
    captions_of,
    one_line,
    timed_text,
)

_OBJECT_START = re.compile(r'\s*\{\s*"')
_MAX_DEPTH, _MAX_TIME, _PAIR = 40, 1e16, 2

# The usual names of keys, reduced to small letters and digits.
_UNIT = r"(?:in)?(?P<unit>ms|msec|millis|milliseconds|ticks|s|secs?|seconds)?"
_WHEN = rf"(?:time|offset|ts|at)?{_UNIT}"
_ROLES: Final = {
    "start": re.compile(rf"t?(?:start|begin|from|offset|timestamp|timecode|time|ts){_WHEN}"),
    "end": re.compile(rf"t?(?:end|to|stop|until){_WHEN}"),
    "length": re.compile(rf"d?(?:duration|dur){_UNIT}"),
}
_UNITS: Final = {"m": 1e-3, "t": 1e-7, "s": 1.0}
_WORDS: Final = (
    "punctuatedword", "text", "body", "transcript", "transcription", "displaytext", "display",
    "caption", "sentence", "content", "utf8", "value", "word", "line",
)  # fmt: skip
_NESTED: Final = ("segs", "alternatives", "nbest", "snippet", "runs")
_SPEAKER = re.compile(r"(?:speaker(?:name|label|id|tag)?|voice|agent|who)")
_LANGUAGE = re.compile(r"(?:detected)?lang(?:uage)?(?:code)?")
_LANGUAGE_TAG = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*")
_RECOGNISED = re.compile(r"(?:acasr)?conf(?:idence)?|avglogprob|nospeechprob|toffsetms")
_OF_WORDS = re.compile(r"word|items|elements|tokens")
_EVEN_RATE = 0.05
"""Characters a second. People speak 5 to 30; misread milliseconds give less than a thirtieth."""
_FEW_WORDS, _MANY, _LONG_SECONDS, _COVERS = 2.2, 20, 20.0, 0.6
_WORDS_IN_CUE, _PAUSE_SECONDS = 40, 2.0
_STOPS: Final = (".", "!", "?", "…", "。", "\uff01", "\uff1f")


@dataclass(slots=True)
class _Entry:
    """Words with their times, in seconds if `known`, else in a unit to be found."""

    text: str
    start: float | None
    end: float | None = None
    known: bool = False
    speaker: str | None = None
    words: int = 1


@dataclass(slots=True)
class _Found:
    """All entries of a document, by the path of their keys, and its language and origin."""

    groups: dict[tuple[str, ...], list[_Entry]] = field(default_factory=lambda: defaultdict(list))
    language: str | None = None
    recognised: bool = False


def load_json(text: str, extension: str) -> Any:
    """Load JSON; None if it is invalid and nothing suggests that it should be JSON."""
    try:
        return read_json(text)
    except PlacedError:
        # Prose may begin with a bracket or a brace, but not with a brace and a key.
        if extension not in {".json", ".json3"} and not _OBJECT_START.match(text):
            return None
        raise


def read_document(document: Any) -> base.TimedText:
    """Read parsed JSON. PlacedError if it has no transcript or an invalid time."""
    found = _Found()
    _search(document, (), None, found)
    found.groups = {
        path: group
        for path, group in found.groups.items()
        if any(each.text.strip() for each in group)
    }
    groups = list(found.groups.values())
    entries = _best(
        {path: each for path, each in found.groups.items() if each[0].start is not None}
    )
    untimed = max(groups, key=lambda group: sum(len(each.text) for each in group), default=[])
    if entries or any(each.speaker for each in untimed):
        read = timed_text(_captions(entries or untimed))
    elif untimed:
        words = "\n".join(INVISIBLE.sub("", each.text).strip() for each in untimed)
        read = base.TimedText(plain_text=words.strip())
    else:
        raise base.unknown_format("The JSON holds no transcript: no segment in it has words")
    kind: base.TranscriptKind = "generated" if found.recognised else "unknown"
    return replace(read, language=found.language, kind=kind)


def _keys(node: Mapping[str, Any]) -> dict[str, str]:
    return {re.sub(r"[^a-z0-9]", "", str(key).lower()): key for key in node}


def _search(node: Any, path: tuple[str, ...], speaker: str | None, found: _Found) -> None:
    """Collect the entries at and below a node; its speaker applies to all of them."""
    if isinstance(node, list):
        for each in node:
            _search(each, path, speaker, found)
    if not isinstance(node, Mapping) or len(path) > _MAX_DEPTH:
        return
    keys = _keys(node)
    speaker = _speaker(node, keys) or speaker
    text = _text(node, keys)
    if text is not None:
        start, end, known = _times(node, keys, len(found.groups[path]) + 1)
        group = found.groups[path]
        if start is not None or not group or group[-1].start is None:
            group.append(_Entry(text, start, end, known, speaker, len(text.split())))
        elif text.strip():  # untimed: a full stop or a number
            group[-1].text += f"{' ' if any(map(str.isalnum, text)) else ''}{text.strip()}"
    for short, key in keys.items():
        value = node[key]
        found.recognised = found.recognised or _RECOGNISED.fullmatch(short) is not None
        if _LANGUAGE.fullmatch(short) and isinstance(value, str):
            tag = _LANGUAGE_TAG.fullmatch(value)
            found.language = found.language or (value.replace("_", "-") if tag else None)
        _search(value, (*path, short), speaker, found)


def _text(node: Any, keys: Mapping[str, str]) -> str | None:
    for name in _WORDS:
        if isinstance(value := node.get(keys.get(name)), str):
            return value
    for name in _NESTED:
        value = node.get(keys.get(name))
        parts = value if isinstance(value, list) else [value]
        inner = [_text(each, _keys(each)) or "" for each in parts if isinstance(each, Mapping)]
        # The best alternative comes first.
        if any(inner):
            return inner[0] if name in {"alternatives", "nbest"} else "".join(inner)
    return None


def _speaker(node: Mapping[str, Any], keys: Mapping[str, str]) -> str | None:
    for value in (node[key] for short, key in keys.items() if _SPEAKER.fullmatch(short)):
        named = value.get("name") or value.get("id") if isinstance(value, Mapping) else value
        if isinstance(named, int) and not isinstance(named, bool):
            return f"Speaker {named}"
        if isinstance(named, str) and one_line(named):
            return one_line(named)
    return None


def _times(
    node: Mapping[str, Any], keys: Mapping[str, str], number: int
) -> tuple[float | None, float | None, bool]:
    """Return the start and the end of an entry, and whether they are surely in seconds."""
    times: dict[str, float] = {}
    known = False
    for short, key in keys.items():
        value = node[key]
        if short.startswith(("timestamp", "offsets")):
            if isinstance(value, list) and len(value) == _PAIR:
                value = dict(zip(("start", "end"), value, strict=True))
            if isinstance(value, Mapping):
                # whisper.cpp writes offsets in milliseconds.
                unit = "ms" if short == "offsets" else ""
                start, end, known = _times(value, {f"{each}{unit}": each for each in value}, number)
                if start is not None:
                    return start, end, known
        for role, pattern in _ROLES.items():
            match = pattern.fullmatch(short)
            if match and role not in times and isinstance(value, (str, int, float)):
                seconds, is_known = _number(value, key, number)
                if match["unit"] and not is_known:
                    seconds, is_known = seconds * _UNITS[match["unit"][0]], True
                times[role], known = seconds, known or is_known
    start = times.get("start")
    end = times.get("end", None if start is None else start + times.get("length", 0.0))
    return start, end, known


def _number(value: object, key: str, number: int) -> tuple[float, bool]:
    """Return a time, and whether its form shows that it is in seconds."""
    words, known = str(value).strip(), False
    if isinstance(value, str):
        clock = seconds_of(words) if ":" in words else None
        if clock is not None:
            return clock, True
        known = words[-1:] in {"s", "S"}
        words = words.removeprefix("PT").rstrip("sS")
    try:
        seconds = math.nan if isinstance(value, bool) else float(words)
    except (ValueError, OverflowError):
        seconds = math.nan
    if not abs(seconds) <= _MAX_TIME:
        unit = "milliseconds as a number, such as 12500" if key.endswith("Ms") else ""
        problem = f"Segment {number} has no readable {key} ({shown(value)})."
        raise PlacedError(None, f"{problem} Write {unit or 'seconds as a number, such as 12.5'}.")
    return seconds, known


# --- Choosing entries ---------------------------------------------------------------------------


def _best(groups: Mapping[tuple[str, ...], list[_Entry]]) -> list[_Entry]:
    """Choose among the sentences, utterances, paragraphs and words of one document.

    Sentences of a few seconds win, and of those the ones with speakers. Single words become
    sentences if nothing else is as fine.
    """
    sizes = {path: sum(len(entry.text) for entry in group) for path, group in groups.items()}
    most = max(sizes.values(), default=0)

    def rank(group: Sequence[_Entry]) -> tuple[bool, int]:
        return sum(each.speaker is not None for each in group) > len(group) / 2, len(group)

    words, sentences = list[list[_Entry]](), list[list[_Entry]]()
    for path, group in groups.items():
        if sizes[path] >= _COVERS * most:
            short = sum(each.words for each in group) < _FEW_WORDS * len(group)
            is_single = short and (len(group) > _MANY or _OF_WORDS.match("".join(path[-1:])))
            (words if is_single else sentences).append(group)
    best, finer = max(sentences, key=rank, default=[]), max(words, key=rank, default=[])
    best, finer = _scaled(best), _scaled(finer)
    lasts = sum((each.end or 0.0) - (each.start or 0.0) for each in best)
    is_coarse = lasts > _LONG_SECONDS * len(best) and rank(finer) > (rank(best)[0], len(best))
    return _joined(finer) if not best or is_coarse else best


def _scaled(entries: list[_Entry]) -> list[_Entry]:
    """Convert times to seconds. The pace of speech reveals an unnamed unit."""
    unnamed = [each for each in entries if not each.known]
    starts = sorted(each.start or 0.0 for each in unnamed)
    spoken = sum(len(each.text) for each in unnamed)
    lasting = sum(max(0.0, (each.end or 0.0) - (each.start or 0.0)) for each in unnamed)
    if not lasting and len(unnamed) > 1:
        lasting, spoken = starts[-1] - starts[0], spoken - len(unnamed[-1].text)
    unit = 1e-3 if lasting and spoken / lasting < _EVEN_RATE else 1.0
    for each in entries:
        size = 1.0 if each.known else unit
        each.start = max(0.0, round((each.start or 0.0) * size, 3))
        each.end = None if each.end is None else max(0.0, round(each.end * size, 3))
    return entries


def _joined(words: Iterable[_Entry]) -> list[_Entry]:
    """Join single words to cues. A sentence, a speaker, a pause or 40 words end a cue."""
    cues: list[_Entry] = []
    for word in words:
        text, last = word.text.strip(), cues[-1] if cues else None
        if not text:
            continue
        if (
            last is None
            or last.text.endswith(_STOPS)
            or last.speaker != word.speaker
            or (word.start or 0.0) - (last.end or 0.0) > _PAUSE_SECONDS
            or last.words >= _WORDS_IN_CUE
        ):
            cues.append(replace(word, text=text, words=1))
        else:
            last.text, last.end, last.words = f"{last.text} {text}", word.end, last.words + 1
    return cues


def _captions(entries: Iterable[_Entry]) -> Iterator[Caption]:
    for each in entries:
        yield from captions_of(each.text, each.start, each.end, each.speaker)


# --- XML, HTML and tables -----------------------------------------------------------------------

_CONTAINERS: Final = frozenset({"tt", "body", "div", "timedtext", "transcript", "head", "region"})
_BLOCKS: Final = ("br", "p", "div", "li", "cite", "time", "h1", "h2", "h3", "tr", "dt", "dd")
_ATTRIBUTES: Final = (("begin", "start", "t"), ("end", "stop"), ("dur", "d", "duration"))
_TTML_TIME = re.compile(r"(?:(\d+:\d\d:\d\d):)?(\d+(?:\.\d+)?)(h|ms|m|s|f|t)?")
_TTML_UNITS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, None: 1.0}


def read_xml(text: str) -> base.TimedText | None:
    """Read XML whose elements have times: TTML, YouTube's srv1 to srv3, and the like.

    None if no element with words has a time.
    """
    body = re.sub(r"^\s*<\?xml.*?\?>", "", text, count=1).strip()
    last = re.search(r"</([\w:.-]{1,60})>\Z", body[-100:])
    # A complete file may have small faults; a truncated one must not pass for complete.
    is_whole = last is not None and f"<{last[1]}" in body[:1_000]
    parser = lxml.etree.XMLParser(resolve_entities=False, no_network=True, recover=is_whole)
    try:
        if "<!ENTITY" in body:
            raise PlacedError(None, "This XML declares entities. Write the words out.")
        root = lxml.etree.fromstring(body.encode(), parser)
    except lxml.etree.XMLSyntaxError as error:
        raise PlacedError(error.lineno, f"This is no XML: {error.msg}. Export it again.") from error
    found = {_local(key): value for key, value in root.attrib.items()}
    entries = list(_elements(root, found, 0.0))
    if not entries and _local(root.tag) in _CONTAINERS:
        raise NothingSaidError("No caption of the file has words. Export it again.")
    agents = {each.get(f"{_XML}id"): one_line(_said(each)) for each in root.iter("{*}agent")}
    for entry in entries:
        entry.speaker = agents.get(entry.speaker, entry.speaker)
    language = found.get("lang") or None
    return replace(timed_text(_captions(_scaled(entries))), language=language) if entries else None


_XML = "{http://www.w3.org/XML/1998/namespace}"


def _local(name: Any) -> str:
    return str(name).rpartition("}")[2]


def _elements(
    element: Any, rates: Mapping[str, str], shift: float, depth: int = 0
) -> Iterator[_Entry]:
    """Yield the outermost timed elements; the times of containers shift theirs."""
    if depth > _MAX_DEPTH or not isinstance(element.tag, str):
        return
    found = {_local(key): value for key, value in element.attrib.items()}
    start, end, length = (
        _xml_time(next((found[key] for key in keys if key in found), None), rates)
        for keys in _ATTRIBUTES
    )
    if start is not None and _local(element.tag) not in _CONTAINERS:
        end = start + (length or 0.0) if end is None else end
        scale = 1e-3 if "t" in found else 1.0
        # YouTube escapes twice.
        words = html.unescape(_said(element))
        known = "t" in found or "begin" in found
        start, end = start * scale + shift, end * scale + shift
        yield _Entry(words, start, end, known, found.get("agent"))
        return
    inside = [_xml_time(child.get("begin"), rates) for child in element]
    # Times inside a container count from its start, although some tools write absolute ones.
    is_absolute = any(inside) and min(each for each in inside if each is not None) >= (start or 0.0)
    for child in element:
        yield from _elements(child, rates, shift + (0 if is_absolute else start or 0.0), depth + 1)


def _said(element: Any) -> str:
    parts = [element.text or ""]
    for child in element:
        if isinstance(child.tag, str):
            parts += ["\n" if _local(child.tag) in _BLOCKS else "", _said(child)]
        parts.append(child.tail or "")
    return "".join(parts)


def _xml_time(value: str | None, rates: Mapping[str, str]) -> float | None:
    """Return a time in seconds for TTML's expressions, else in the attribute's own unit."""
    if value is None:
        return None
    match = _TTML_TIME.fullmatch(value.strip())
    if match is None:
        # A clock time, or a negative number from a tool that shifted the captions.
        is_negative = re.fullmatch(r"-\d+(?:\.\d+)?", value.strip()) is not None
        seconds = 0.0 if is_negative else seconds_of(value.strip())
        if seconds is None or not seconds < _MAX_TIME:
            raise PlacedError(None, f"{shown(value)} is no time. Write seconds, such as 12.5.")
        return seconds
    clock, number, unit = match[1], float(match[2]), match[3]
    frames = float(rates.get("frameRate") or 30.0)
    if clock or unit == "f":
        return (seconds_of(clock) or 0.0 if clock else 0.0) + number / frames
    return (
        number / float(rates.get("tickRate") or 1.0) if unit == "t" else number * _TTML_UNITS[unit]
    )


def lines_of_html(text: str) -> str | None:
    """Return the lines of an HTML transcript with `time` elements; None without any."""
    parser = lxml.html.HTMLParser(encoding="utf-8")
    root = lxml.html.document_fromstring(text.encode(), parser=parser)
    if not root.xpath("//time"):
        return None
    for element in root.xpath("//script|//style|//head"):
        element.drop_tree()
    for element in root.iter(*_BLOCKS):
        element.tail, element.text = f"\n{element.tail or ''}", f"\n{element.text or ''}"
    return str(root.text_content())


def read_table(text: str) -> base.TimedText | None:
    """Read a table whose header names a text and a start; None for any other text."""
    head = text.lstrip().split("\n", 1)[0]
    mark = max("\t;,", key=head.count)
    names = [re.sub(r"[^a-z0-9]", "", name.lower()) for name in head.split(mark)]
    if not (set(names) & set(_WORDS) and any(map(_ROLES["start"].fullmatch, names))):
        return None
    rows = csv.DictReader(io.StringIO(text.lstrip()), fieldnames=names, delimiter=mark)
    return read_document(list(rows)[1:])
