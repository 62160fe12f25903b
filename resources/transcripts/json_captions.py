"""Transcripts in JSON: segment lists, with or without an object around them, and json3.

What belongs here: these layouts. What does not: files and encodings (file.py).

Read are `[{"text", "start", "duration"}]` in seconds; an object that holds such a list under
`segments`, `transcript`, `transcript_data` or `final_output`; Whisper's segments with `end`; and
YouTube's json3, whose events count milliseconds.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from resources.lines import deepest_json_line
from resources.transcripts.base import (
    FORMATS,
    EmptyTranscriptError,
    Source,
    TimedText,
    UnreadableTimestampError,
    UnsupportedTranscriptError,
)
from resources.transcripts.captions import INVISIBLE, Caption, one_line, timed

_LONG_NUMBER = re.compile(r"[0-9]{4301}")
_MAX_TIME = 1e9
"""Seconds. No video lasts 30 years; a larger number is no time."""


def load_json(text: str, source: Source) -> dict[str, Any] | list[Any] | None:
    """Load a JSON document; None if it is none and nothing says that it should be."""
    try:
        document = json.loads(text)
    except RecursionError as error:
        raise UnsupportedTranscriptError(
            source.name,
            "The JSON is nested too deeply.",
            f"Give {FORMATS}.",
            line=deepest_json_line(text),
        ) from error
    except ValueError as error:
        # Python's own limit on the digits of a number raises a plain ValueError, without a line.
        if source.extension in {".json", ".json3"} or text.lstrip().startswith("{"):
            why = getattr(error, "msg", "a number has thousands of digits")
            long = _LONG_NUMBER.search(text)
            place = text.count("\n", 0, long.start()) + 1 if long else None
            raise UnsupportedTranscriptError(
                source.name,
                f"The JSON is damaged: {why}.",
                "Export the transcript again.",
                line=getattr(error, "lineno", None) or place,
            ) from error
        return None
    return document if isinstance(document, (dict, list)) else None


def parse_json(document: dict[str, Any] | list[Any], source: Source) -> TimedText:
    """Find the transcript in a JSON document and read it."""
    if isinstance(document, list):
        return _parse_segments(document, source)
    if isinstance(document.get("events"), list):
        return _parse_json3(document["events"], source)
    for key in ("final_output", "transcript_data", "transcript"):
        inner = document.get(key)
        if isinstance(inner, (dict, list)):
            return parse_json(inner, source)
    language = document.get("language")
    known = language if isinstance(language, str) and language else None
    if isinstance(document.get("segments"), list) and document["segments"]:
        return replace(_parse_segments(document["segments"], source), language=known)
    if isinstance(document.get("text"), str) and document["text"].strip():
        words = INVISIBLE.sub("", document["text"]).strip()
        if not words:
            raise EmptyTranscriptError(source.name, "The text has no words.", "Export it again.")
        return TimedText(plain_text=words, language=known)
    if "segments" in document or "text" in document:
        raise EmptyTranscriptError(source.name, "No segment has words.", "Export it again.")
    raise UnsupportedTranscriptError(
        source.name,
        "The JSON holds no transcript (neither events, segments nor text).",
        'Give a list such as [{"text": "…", "start": 0.0, "duration": 2.5}].',
    )


def _parse_segments(segments: list[Any], source: Source) -> TimedText:
    """Read `[{"text", "start", "duration"}]`; `end` may stand for the duration, as Whisper does."""
    captions = []
    for number, segment in enumerate(segments, start=1):
        if not isinstance(segment, dict) or not isinstance(segment.get("text"), str):
            raise UnsupportedTranscriptError(
                source.name,
                f"Segment {number} is not an object with a text.",
                'Write each as {"text": "…", "start": 0.0, "duration": 2.5}.',
            )
        start = _number(segment, ("start", "start_seconds"), number, source)
        end = start + _segment_length(segment, start, number, source)
        text = one_line(segment["text"])
        captions.append(Caption((text,) if text else (), max(0.0, start), max(0.0, end)))
    return timed(sorted(captions, key=lambda caption: caption.start), source)


def _segment_length(segment: dict[str, Any], start: float, number: int, source: Source) -> float:
    if "duration" in segment or "duration_seconds" in segment:
        return _number(segment, ("duration", "duration_seconds"), number, source)
    if "end" in segment:
        return _number(segment, ("end",), number, source) - start
    return 0.0


def _number(segment: dict[str, Any], keys: tuple[str, ...], number: int, source: Source) -> float:
    value = next((segment[key] for key in keys if key in segment), None)
    try:
        seconds = float(value) if isinstance(value, (int, float, str)) else math.nan
    except (ValueError, OverflowError):
        seconds = math.nan
    if isinstance(value, bool) or not abs(seconds) <= _MAX_TIME:
        raise UnreadableTimestampError(
            source.name,
            f"Segment {number} has no readable {keys[0]} ({value!r}).",
            "Write seconds as a number, such as 12.5.",
        )
    return seconds


def _parse_json3(events: list[Any], source: Source) -> TimedText:
    """Read YouTube's json3: events with a start and a duration in milliseconds, made of parts."""
    captions = []
    recognised = False
    for number, event in enumerate(events, start=1):
        if not isinstance(event, dict) or not isinstance(event.get("segs"), list):
            # Events without parts open windows and set styles.
            continue
        parts = [part for part in event["segs"] if isinstance(part, dict)]
        recognised = recognised or any("acAsrConf" in part or "tOffsetMs" in part for part in parts)
        text = one_line("".join(str(part.get("utf8", "")) for part in parts))
        if text:
            start = _number({"tStartMs": event.get("tStartMs", 0)}, ("tStartMs",), number, source)
            length = _number(
                {"dDurationMs": event.get("dDurationMs", 0)}, ("dDurationMs",), number, source
            )
            captions.append(
                Caption((text,), max(0.0, start / 1000), max(0.0, (start + length) / 1000))
            )
    transcript = timed(sorted(captions, key=lambda caption: caption.start), source)
    return replace(transcript, kind="generated" if recognised else "unknown")


def segments_of(transcript: TimedText) -> Iterator[dict[str, str | float]]:
    """Yield the cues in the layout of a segment list, as `parse_json` reads it."""
    for cue in transcript.cues:
        yield {
            "text": cue.text,
            "start": cue.start_seconds,
            "duration": cue.duration_seconds,
        }
