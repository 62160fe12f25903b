"""Reads transcripts in JSON, XML, HTML and tables, by their structure and not by their maker.

What belongs here: finding the entries of a document that have words and a time, the units of their
times, and their speakers. What does not: captions as text files (captions.py).

An entry is an object, an element or a row with words, a start and perhaps an end, a duration and a
speaker, whatever its keys are called by the usual names. So one reader serves YouTube's json3, srv1
and srv3, TTML, Whisper, whisper.cpp, WhisperX, Hugging Face, Deepgram, AssemblyAI, AWS, Rev.ai,
Google, the podcast namespace, and lists of other tools.
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
_MAX_DEPTH = 40
_MAX_SECONDS = 1e9
"""No video lasts 30 years; a larger number is no time."""

# The usual names of keys, in small letters and digits alone.
_UNIT = r"(?P<unit>ms|msec|millis|milliseconds|inticks|ticks|s|sec|secs|seconds)?"
_START = re.compile(
    rf"(?:t?(?:start|begin|from|offset|timestamp|timecode|time|ts|t)(?:time|offset|ts|at)?)(?:in)?{_UNIT}"
)
_END = re.compile(rf"(?:t?(?:end|to|stop|until)(?:time|offset|ts|at)?)(?:in)?{_UNIT}")
_LENGTH = re.compile(rf"(?:d?(?:duration|dur|d))(?:in)?{_UNIT}")
_WORDS: Final = [
    "punctuatedword",
    "text",
    "body",
    "transcript",
    "transcription",
    "displaytext",
    "display",
    "caption",
    "sentence",
    "content",
    "utf8",
    "value",
    "word",
    "line",
]
_NESTED: Final = ("segs", "alternatives", "nbest", "snippet", "runs", "elements", "sentences")
_SPEAKER = re.compile(r"(?:speaker|speakername|speakerlabel|speakerid|voice|agent|who)")
_LANGUAGE = re.compile(r"(?:detected)?lang(?:uage)?(?:code)?")
_LANGUAGE_TAG = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*")
_RECOGNISED = re.compile(r".*conf(?:idence)?|avglogprob|nospeechprob|toffsetms|type_asr")
_UNITS: Final = {"m": 1e-3, "t": 1e-7, "i": 1e-7, "s": 1.0}
_EVEN_RATE = 0.5
"""Characters a second. People speak 5 to 30; in milliseconds that is below a thirtieth."""
_FEW_WORDS, _MANY, _LONG_SECONDS, _COVERS = 2.2, 20, 20.0, 0.6
_WORDS_IN_CUE, _PAUSE_SECONDS = 40, 2.0
_STOPS: Final = (".", "!", "?", "…", "。", "！", "？")


@dataclass(slots=True)
class _Entry:
    text: str
    start: float | None
    end: float | None
    unit: float | None
    """Seconds of one unit of its times; None if the document does not say."""
    speaker: str | None
    words: int = 0


@dataclass(slots=True)
class _Found:
    """All entries of a document, by the keys that lead to them, and what it says of itself."""

    groups: dict[tuple[str, ...], list[_Entry]] = field(default_factory=lambda: defaultdict(list))
    language: str | None = None
    recognised: bool = False


def load_json(text: str, extension: str) -> Any:
    """Load an object or a list; None if it is none and nothing says that it should be."""
    try:
        return read_json(text)
    except PlacedError:
        # Prose may begin with a bracket or a brace; with a brace and a key, only damaged JSON does.
        if extension not in {".json", ".json3"} and not _OBJECT_START.match(text):
            return None
        raise


def read_document(document: Any) -> base.TimedText:
    """Read JSON. PlacedError: it holds no transcript, or a time in it cannot be read."""
    found = _Found()
    _search(document, (), None, found)
    kind: base.TranscriptKind = "generated" if found.recognised else "unknown"
    groups = [group for group in found.groups.values() if any(each.text.strip() for each in group)]
    entries = _best([group for group in groups if group[0].start is not None])
    untimed = max(groups, key=lambda group: sum(len(each.text) for each in group), default=[])
    if entries:
        read = replace(timed_text(_captions(entries)), kind=kind)
    elif any(each.speaker for each in untimed):
        read = timed_text(_captions(untimed))
    elif untimed:
        words = "\n".join(INVISIBLE.sub("", each.text).strip() for each in untimed)
        read = base.TimedText(plain_text=words.strip())
    else:
        raise PlacedError(
            None,
            "The JSON holds no transcript: no segment in it has words. "
            'Give a list such as [{"text": "…", "start": 0.0, "duration": 2.5}].',
        )
    return replace(read, language=found.language)


def _search(node: Any, path: tuple[str, ...], speaker: str | None, found: _Found) -> None:
    if len(path) > _MAX_DEPTH:
        return
    if isinstance(node, list):
        for each in node:
            _search(each, path, speaker, found)
        return
    if not isinstance(node, Mapping):
        return
    keys = {re.sub(r"[^a-z0-9]", "", str(key).lower()): key for key in node}
    speaker = _speaker(node, keys) or speaker
    for short, key in keys.items():
        found.recognised = found.recognised or _RECOGNISED.fullmatch(short) is not None
        value = node[key]
        if _LANGUAGE.fullmatch(short) and isinstance(value, str) and not found.language:
            tag = _LANGUAGE_TAG.fullmatch(value)
            found.language = (
                value.replace("_", "-") if tag and len(value.split("_")[0]) <= 3 else None
            )
    text = _text(node, keys)
    if text is not None:
        _note(node, keys, text, path, speaker, found)
    for short, key in keys.items():
        _search(node[key], (*path, short), speaker, found)


def _note(
    node: Mapping[str, Any],
    keys: Mapping[str, str],
    text: str,
    path: tuple[str, ...],
    speaker: str | None,
    found: _Found,
) -> None:
    """Note an entry in its group; words without a time go on with the entry before them."""
    start, end, unit = _times(node, keys, len(found.groups[path]) + 1)
    group = found.groups[path]
    if start is not None or not group or group[-1].start is None:
        group.append(_Entry(text, start, end, unit, speaker, len(text.split())))
    elif text.strip():
        gap = "" if not any(map(str.isalnum, text)) else " "
        group[-1].text += gap + text.strip()


def _text(node: Any, keys: Mapping[str, str]) -> str | None:
    for name in _WORDS:
        value = node.get(keys.get(name, ""))
        if isinstance(value, str):
            return value
    for name in _NESTED:
        value = node.get(keys.get(name, ""))
        if isinstance(value, list) and name in {"alternatives", "nbest"}:
            value = value[:1]
        if isinstance(value, (list, dict)):
            parts = [_inner(each) for each in (value if isinstance(value, list) else [value])]
            if any(parts):
                return "".join(parts)
    return None


def _inner(node: Any) -> str:
    if not isinstance(node, Mapping):
        return node if isinstance(node, str) else ""
    return _text(node, {re.sub(r"[^a-z0-9]", "", str(key).lower()): key for key in node}) or ""


def _speaker(node: Mapping[str, Any], keys: Mapping[str, str]) -> str | None:
    for short, key in keys.items():
        value = node[key]
        if not _SPEAKER.fullmatch(short) or isinstance(value, bool):
            continue
        if isinstance(value, Mapping):
            value = value.get("name") or value.get("label") or value.get("id")
        if isinstance(value, int):
            return f"Speaker {value}"
        if isinstance(value, str) and one_line(value):
            return one_line(value)
    return None


def _times(
    node: Mapping[str, Any], keys: Mapping[str, str], number: int
) -> tuple[float | None, float | None, float | None]:
    """Return the start, the end and the seconds of one unit of an entry's times, as far as known."""
    start = end = length = unit = None
    for short, key in keys.items():
        value = node[key]
        if isinstance(value, (list, tuple)) and _START.fullmatch(short.removesuffix("s")) and value:
            pair = dict(zip(("start", "end"), value, strict=False))
            start, end, unit = _times(pair, {each: each for each in pair}, number)
            break
        if isinstance(value, Mapping) and short in {"offsets", "timestamps", "timestamp"}:
            inner = {str(each): str(each) for each in value}
            start, end, unit = _times(value, inner, number)
            unit = 1e-3 if short == "offsets" else unit
            if start is not None and short == "offsets":
                break
            continue
        for pattern in (_START, _END, _LENGTH):
            match = pattern.fullmatch(short)
            if match is None or isinstance(value, (list, Mapping)) or value is None:
                continue
            seconds, own = _number(value, key, number)
            unit = own or (_UNITS[match["unit"][0]] if match["unit"] else None) or unit
            if pattern is _START and start is None:
                start = seconds
            elif pattern is _END:
                end = seconds
            elif pattern is _LENGTH:
                length = seconds
    if start is not None and end is None and length is not None:
        end = start + length
    return start, end, unit


def _number(value: Any, key: str, number: int) -> tuple[float, float | None]:
    """Return a time, and the seconds of its unit if the value itself says it."""
    if isinstance(value, str):
        words = value.strip().removeprefix("PT")
        if ":" in words and (clock := clock_of(words)) is not None:
            return clock, 1.0
        if words[-1:] in {"s", "S"}:
            value = words[:-1]
            with_unit: float | None = 1.0
        else:
            with_unit = None
    else:
        with_unit = None
    try:
        seconds = float(value) if isinstance(value, (int, float, str)) else math.nan
    except (ValueError, OverflowError):
        seconds = math.nan
    if isinstance(value, bool) or not abs(seconds) <= _MAX_SECONDS * 1e7:
        unit = "milliseconds as a number, such as 12500" if key.endswith("Ms") else ""
        problem = f"Segment {number} has no readable {key} ({shown(value)})."
        raise PlacedError(None, f"{problem} Write {unit or 'seconds as a number, such as 12.5'}.")
    return seconds, with_unit


def clock_of(text: str) -> float | None:
    """Return the seconds of a clock time, with or without a fraction."""
    return seconds_of(text if re.search(r"[.,]", text) else f"{text}.0")


# --- Of the entries, those of the transcript ----------------------------------------------------


def _best(groups: Sequence[list[_Entry]]) -> list[_Entry]:
    """Choose among what a document has several times: sentences, utterances, paragraphs, words.

    Sentences of a few seconds go first; those with speakers before those without. Words are put
    together to sentences where nothing else is as fine.
    """
    sizes = [sum(len(entry.text) for entry in group) for group in groups]
    whole = [
        group
        for group, size in zip(groups, sizes, strict=True)
        if size >= _COVERS * max(sizes) and any(entry.text.strip() for entry in group)
    ]
    if not whole:
        return []

    def named(group: Sequence[_Entry]) -> bool:
        return sum(entry.speaker is not None for entry in group) > len(group) / 2

    sentences = [g for g in whole if sum(each.words for each in g) >= _FEW_WORDS * len(g)]
    words = [g for g in whole if g not in sentences and len(g) > _MANY]
    best = max(sentences, key=lambda g: (named(g), len(g)), default=None if words else whole[0])
    finer = max(words, key=lambda g: (named(g), len(g)), default=None)
    if best is None:
        return _joined(_scaled(finer or []))
    best = _scaled(best)
    lasts = sum((each.end or each.start or 0) - (each.start or 0) for each in best) / len(best)
    if lasts > _LONG_SECONDS and finer and named(finer) >= named(best) and len(finer) > len(best):
        return _joined(_scaled(finer))
    return best


def _scaled(entries: list[_Entry]) -> list[_Entry]:
    """Return entries with times in seconds. Where no unit is named, the pace of speech tells it."""
    unnamed = [each for each in entries if each.unit is None and each.start is not None]
    spoken = sum(len(each.text) for each in unnamed)
    lasting = sum(max(0.0, (each.end or 0.0) - (each.start or 0.0)) for each in unnamed)
    if not lasting and len(unnamed) > 1:
        starts = sorted(each.start or 0.0 for each in unnamed)
        lasting, spoken = starts[-1] - starts[0], spoken - len(unnamed[-1].text)
    in_whole = all(float(each.start or 0.0).is_integer() for each in unnamed)
    rate = spoken / lasting if lasting else math.inf
    unit = 1e-3 if rate < (_EVEN_RATE if in_whole else _EVEN_RATE / 10) else 1.0
    for each in entries:
        size = each.unit or unit
        each.start = max(0.0, round((each.start or 0.0) * size, 3))
        each.end = None if each.end is None else max(0.0, round(each.end * size, 3))
    return entries


def _joined(words: Iterable[_Entry]) -> list[_Entry]:
    """Put single words together: a cue ends with a sentence, a speaker, a pause or 40 words."""
    cues: list[_Entry] = []
    for word in words:
        if not word.text.strip():
            continue
        last = cues[-1] if cues else None
        pause = (word.start or 0.0) - (last.end or last.start or 0.0) if last else 0.0
        if (
            last is None
            or last.text.endswith(_STOPS)
            or last.speaker != word.speaker
            or pause > _PAUSE_SECONDS
            or last.words >= _WORDS_IN_CUE
        ):
            cues.append(replace(word, text=word.text.strip(), words=1))
        else:
            last.text += f" {word.text.strip()}"
            last.end, last.words = word.end, last.words + 1
    return cues


def _captions(entries: Iterable[_Entry]) -> Iterator[Caption]:
    for each in entries:
        yield from captions_of(each.text, each.start, each.end, each.speaker)


# --- XML and tables -----------------------------------------------------------------------------

_CONTAINERS: Final = frozenset({"tt", "body", "div", "timedtext", "transcript", "head", "region"})
_BLOCKS: Final = frozenset(
    {"br", "p", "div", "li", "cite", "time", "h1", "h2", "h3", "tr", "dt", "dd"}
)
_TTML_TIME = re.compile(r"(\d+(?:\.\d+)?)(h|ms|m|s|f|t)")
_TTML_FRAMES = re.compile(r"(\d+:\d\d:\d\d):(\d+)(?:\.\d+)?")
_TTML_UNITS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3}


def read_xml(text: str) -> base.TimedText | None:
    """Read XML whose elements have times: TTML, YouTube's srv1 to srv3, and the like.

    None: no element with words has a time.
    """
    body = re.sub(r"^\s*<\?xml.*?\?>", "", text, count=1).strip()
    parser = lxml.etree.XMLParser(resolve_entities=False, no_network=True)
    try:
        if "<!ENTITY" in body:
            raise PlacedError(None, "This XML declares entities. Write the words out.")
        root = lxml.etree.fromstring(body.encode(), parser)
    except lxml.etree.XMLSyntaxError as error:
        raise PlacedError(error.lineno, f"This is no XML: {error.msg}. Export it again.") from error
    rates = {_local(key): value for key, value in root.attrib.items()}
    agents = {
        element.get("{http://www.w3.org/XML/1998/namespace}id"): one_line(_said(element))
        for element in root.iter("{*}agent")
    }
    entries = [
        replace(each, speaker=agents.get(each.speaker, each.speaker))
        for each in _elements(root, rates, 0.0)
    ]
    if not entries:
        if _local(root.tag) in _CONTAINERS:
            raise NothingSaidError("No caption of the file has words. Export it again.")
        return None
    language = next((value for key, value in rates.items() if key == "lang" and value), None)
    return replace(timed_text(_captions(_scaled(entries))), language=language)


def _local(name: Any) -> str:
    return str(name).rpartition("}")[2]


def _elements(
    element: Any, rates: Mapping[str, str], shift: float, depth: int = 0
) -> Iterator[_Entry]:
    """Yield the outermost elements with a time that are no containers; theirs shift what is inside."""
    if depth > _MAX_DEPTH or not isinstance(element.tag, str):
        return
    found = {_local(key): value for key, value in element.attrib.items()}
    start, end, length = (
        _xml_time(next((found[key] for key in keys if key in found), None), rates)
        for keys in (("begin", "start", "t"), ("end", "stop"), ("dur", "d", "duration"))
    )
    if start is not None and _local(element.tag) not in _CONTAINERS:
        if end is None and length is not None:
            end = start + length
        unit = 1e-3 if "t" in found else 1.0 if "begin" in found else None
        at_end = None if end is None else end + shift
        # YouTube escapes twice, so that markup comes to light only here.
        words = html.unescape(_said(element))
        yield _Entry(words, start + shift, at_end, unit, found.get("agent"), 2)
        return
    inside = [_xml_time(child.get("begin"), rates) for child in element]
    # The times inside a container count from its start; some tools write them from zero.
    is_absolute = any(inside) and min(each for each in inside if each is not None) >= (start or 0.0)
    for child in element:
        yield from _elements(
            child, rates, shift if is_absolute else shift + (start or 0.0), depth + 1
        )


def _said(element: Any) -> str:
    parts = [element.text or ""]
    for child in element:
        if isinstance(child.tag, str):
            parts += ["\n" if _local(child.tag) in _BLOCKS else "", _said(child)]
        parts.append(child.tail or "")
    return "".join(parts)


def _xml_time(value: str | None, rates: Mapping[str, str]) -> float | None:
    if value is None:
        return None
    frames = float(rates.get("frameRate") or 30.0)
    if match := _TTML_TIME.fullmatch(value.strip()):
        number, unit = float(match[1]), match[2]
        if unit == "t":
            return number / float(rates.get("tickRate") or 1.0)
        return number / frames if unit == "f" else number * _TTML_UNITS[unit]
    if match := _TTML_FRAMES.fullmatch(value.strip()):
        return (seconds_of(f"{match[1]}.0") or 0.0) + int(match[2]) / frames
    if ":" in value:
        return clock_of(value.strip())
    try:
        seconds = float(value)
    except ValueError:
        seconds = math.nan
    if not abs(seconds) < _MAX_SECONDS * 1e3:
        raise PlacedError(None, f"{shown(value)} is no time. Write seconds, such as 12.5.")
    return seconds


def lines_of_html(text: str) -> str | None:
    """Return the lines of an HTML transcript, whose times stand in elements; None if none do."""
    root = lxml.html.document_fromstring(
        text.encode(), parser=lxml.html.HTMLParser(encoding="utf-8")
    )
    if not root.xpath("//time"):
        return None
    for element in root.xpath("//script|//style|//head"):
        element.drop_tree()
    for element in root.iter(*_BLOCKS):
        element.tail = "\n" + (element.tail or "")
        element.text = "\n" + (element.text or "")
    return str(root.text_content())


def read_table(text: str) -> base.TimedText | None:
    """Read rows under a head that names their words and their start; None: it is no such table."""
    head = text.lstrip().split("\n", 1)[0]
    mark = max("\t;,", key=head.count)
    names = [name.strip().strip('"').lower() for name in head.split(mark)]
    short = [re.sub(r"[^a-z0-9]", "", name) for name in names]
    if len(names) < 2 or not any(map(_START.fullmatch, short)) or not set(short) & set(_WORDS):  # noqa: PLR2004
        return None
    rows = csv.DictReader(io.StringIO(text.lstrip()), fieldnames=names, delimiter=mark)
    return read_document(list(rows)[1:])
