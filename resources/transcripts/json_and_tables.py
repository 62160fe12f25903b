"""Reads transcripts in JSON and in tables, whose objects or rows have words and times.

One reader serves json3, the podcast namespace and all speech recognisers. It groups the objects of
a document by the path of their keys, and recognises fields by their usual names. A name or the pace
of speech gives the unit of times. Sentences, utterances and words are alternatives: one group wins.
Patterns match keys without signs and in lower case, as `_normal` returns them.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from statistics import median
from typing import Any, Final, TypeAlias

from resources.text_files import PlacedError, quoted, read_json
from resources.transcripts import base
from resources.transcripts.base import Caption
from resources.transcripts.cleaning import CaptionFile
from resources.transcripts.plausibility import STOPS, word_count
from resources.transcripts.times import seconds_of
from resources.words import UNSPACED

_PAIR = 2
_MOST_UNREAD = 0.05  # share of misshapen rows, or of entries without a time
_MIN_WORD_SHARE = (0.2, 0.02)  # of all letters: with up to two entries, and with more
_READABLE_SHARE = 0.3  # of untimed letters: with fewer timed ones, an unreadable time is an error
_SPAN = re.compile(r"(?<=[:.]\d\d)\s*[-–]+>?\s*(?=\d+:\d)|(?<=\.\d)\s*[-–]+>?\s*(?=\d+:\d)")
"""Between two times in one cell: "0:12 - 0:15"."""
_DATE = re.compile(r"\d{4}-\d\d-\d\d[T ]\d")
_CHOICES = re.compile(r"alternatives|nbest|hypotheses|candidates")
"""The key of a list of forms of the same words, the best first."""

# --- The objects of a document ------------------------------------------------------------------

_MAX_DEPTH = 40
_LANGUAGE = re.compile(r"(?:detected)?lang(?:uage)?(?:code)?")
_LANGUAGE_TAG = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*")  # "en", "pt-BR"
_RECOGNISED = re.compile(r"(?:acasr)?conf(?:idence)?|avglogprob|nospeechprob|toffsetms")
"""The keys that only speech recognisers write."""

_Path: TypeAlias = tuple[str, ...]
_Record: TypeAlias = tuple[dict[str, Any], str | None]
"""One object of a document, and its speaker: its own, or that of the object around it."""


@dataclass(slots=True)
class _Document:
    """All objects of a document, by the path of their keys."""

    groups: dict[_Path, list[_Record]] = field(default_factory=lambda: defaultdict(list))
    letters: int = 0
    """The length of all values."""
    language: str | None = None
    recognised: bool = False

    def add(self, node: Any, path: _Path = (), speaker: str | None = None) -> None:
        if isinstance(node, list) and node and _is_word(node):
            node, path = {"word": node[0], "start": node[1], "end": node[2]}, (*path, "word")
        if isinstance(node, str):
            self.letters += len(node)
        elif isinstance(node, list):
            for item in node:
                self.add(item, path, speaker)
        elif isinstance(node, dict) and len(path) <= _MAX_DEPTH:
            speaker = _speaker(node) or speaker
            self.groups[path].append((node, speaker))
            for key, value in node.items():
                name = _normal(key)
                self.recognised = self.recognised or bool(_RECOGNISED.fullmatch(name))
                is_tag = _LANGUAGE.fullmatch(name) and isinstance(value, str)
                if is_tag and self.language is None and _LANGUAGE_TAG.fullmatch(value):
                    self.language = value.replace("_", "-")
                is_choice = isinstance(value, list) and _CHOICES.fullmatch(name)
                self.add(value[:1] if is_choice else value, (*path, name), speaker)


def _is_word(node: Sequence[Any]) -> bool:
    """Tell whether a list is a word, its start and its end, as IBM's recogniser writes them."""
    times = node[1 : _PAIR + 1]
    return isinstance(node[0], str) and len(times) == _PAIR and {*map(type, times)} <= {int, float}


def load_json(text: str, extension: str) -> Any:
    """Load JSON or JSON Lines; None if nothing suggests that the text should be JSON."""
    try:
        return read_json(text)
    except PlacedError:
        with suppress(ValueError, RecursionError):
            return [json.loads(line) for line in text.split("\n") if line.strip()]
        # Prose may begin with a bracket or a brace, but not with a brace and a key.
        if extension not in {".json", ".json3", ".jsonl"} and not re.match(r'\s*\{\s*"', text):
            return None
        raise


def read_table(text: str) -> CaptionFile | None:
    """Read a table with a column of times and one of words; None for other text.

    Usual names in the header identify the columns. Without them, columns of rising clocks are the
    starts and the ends, the column with the most letters has the words, and a column whose values
    recur has the speakers.
    """
    delimiter = max("\t;,|", key=text.split("\n", 1)[0].count)
    rows = list[list[str]]()
    with suppress(csv.Error):
        lines = csv.reader(io.StringIO(text), delimiter=delimiter)
        rows = [list(itertools.chain(*map(_SPAN.split, line))) for line in lines if any(line)]
    body = [row for row in rows[1:] if len(row) == len(rows[-1]) > 1]
    if not body or len(body) < (1 - _MOST_UNREAD) * (len(rows) - 1):
        return None
    header = list(map(_normal, rows[0]))
    names = dict(enumerate(header))
    if not any(map(_TIMES[0].fullmatch, header)) or not any(map(_WORDS.fullmatch, header)):
        columns = dict(enumerate(zip(*body, strict=True)))
        clocks = {at: times for at, column in columns.items() if (times := _clocks(column))}
        letters = {at: sum(map(str.isalpha, "".join(columns[at]))) for at in columns}
        texts = sorted(columns.keys() - clocks.keys(), key=lambda at: (-letters[at], at))
        if not clocks or not texts:
            return None
        (start, starts), *others = clocks.items()
        if _clocks(rows[0][start : start + 1]) is not None:
            body.insert(0, rows[0])  # the first row is no header of another language
        names = {at: "end" for at, times in reversed(others) if times != starts}
        recurring = [at for at in texts[1:] if len({*columns[at]}) <= len(body) / 2]
        names |= dict.fromkeys(recurring[:1], "speaker")
        names |= {start: "start", texts[0]: "text"}
    return read_records([{names.get(at, ""): cell for at, cell in enumerate(row)} for row in body])


def _clocks(values: Sequence[str]) -> list[float] | None:
    """Return the seconds of values that are all clocks, rise and never fall; None for others."""
    times = [time for time in map(seconds_of, values) if time is not None]
    is_rising = times == sorted(times) and (len(times) == 1 or len({*times}) > 1)
    return times if is_rising and len(times) == len(values) else None


def read_records(document: Any) -> CaptionFile:
    """Read a parsed document. PlacedError if it has no transcript or an invalid time."""
    objects = _Document()
    objects.add(document)
    timed = dict[_Path, list[Caption]]()
    untimed, turns = list[Caption](), list[Caption]()
    problem: PlacedError | None = None
    for path, records in objects.groups.items():
        try:
            entries = _entries(records)
        except PlacedError as error:
            problem = problem or error
            continue
        if entries and entries[0].start is not None and _letters(entries):
            timed[path] = entries
        elif entries and not _letters(entries):  # a diarisation has speakers without words
            turns += entries
        elif _letters(entries) > _letters(untimed) and not _are_dated(records):
            untimed = entries
    chosen = _best({path: _with_turns(entries, turns) for path, entries in timed.items()})
    if problem and (not chosen or _letters(chosen) < _READABLE_SHARE * _letters(untimed)):
        raise problem
    chosen = chosen or untimed
    if not chosen:
        raise base.unknown_format("The file holds no transcript: no segment in it has words")
    if _letters(chosen) < objects.letters * _MIN_WORD_SHARE[len(chosen) > _PAIR]:
        raise base.unknown_format("The file holds data: next to nothing of it is words")
    return CaptionFile(chosen, objects.language, "generated" if objects.recognised else "unknown")


def _are_dated(records: Sequence[_Record]) -> bool:
    """Tell whether several objects each have a day and a time, as messages have, and not speech."""
    dated = (any(_DATE.match(str(value)) for value in node.values()) for node, _ in records)
    return len(records) > 1 and all(dated)


# --- The values of one object -------------------------------------------------------------------

_INNER_DEPTH = 2  # of values in an entry
_SPEAKER = re.compile(
    r"(?:speaker|voice|agent|who|person|participant)(?:display)?(?:name|label|id|tag)?"
)
_WORDS = re.compile(
    r"(?:punctuated|display|full|plain|raw)?(?:text|body|transcript(?:ion)?|display|caption|sentence"
    r"|content|utf8|value|word|line|subtitle|utterance|phrase|segment)s?"
)


@lru_cache(maxsize=4096)
def _normal(key: str) -> str:
    """Return a key without signs and in lower case: "startTimeMs" and "start-time-ms" are one."""
    return "".join(filter(str.isalnum, str(key).casefold()))


def _speaker(node: Mapping[str, Any]) -> str | None:
    """Return the speaker of an object, by preference a name and not a number."""
    labels = [value for key, value in node.items() if _SPEAKER.fullmatch(_normal(key))]
    labels += [part for label in labels if isinstance(label, dict) for part in label.values()]
    texts = [str(label).strip(": ") for label in labels if isinstance(label, (str, int))]
    names = [text for text in texts if text and text not in {"None", "True", "False"}]
    name = min(names, key=str.isdigit, default=None)
    return f"Speaker {name}" if name and name.isdigit() else name


def _values(node: Mapping[str, Any], depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield the plain values of an object and of the objects in it."""
    for key, value in node.items():
        inner = value[0] if isinstance(value, list) and len(value) == 1 else value
        if isinstance(inner, dict) and inner.keys() <= {"seconds", "nanos"}:  # as Google writes it
            yield _normal(key), f"{inner.get('seconds', 0)}.{str(inner.get('nanos', 0)).zfill(9)}"
        elif isinstance(inner, dict) and depth < _INNER_DEPTH:
            yield from _values(inner, depth + 1)
        elif isinstance(value, list) and len(value) == _PAIR and isinstance(value[0], (int, float)):
            yield from (("start", value[0]), ("end", value[1]))
        elif not isinstance(value, (list, dict)):
            yield _normal(key), value


def _words(node: Mapping[str, Any], depth: int = 0) -> str:
    """Return the words of an object: its own, or those of the list in it that has the most."""
    texts = [
        value
        for key, value in node.items()
        if isinstance(value, str) and value and _WORDS.fullmatch(_normal(key))
    ]
    if texts or depth > _INNER_DEPTH:
        return max(texts, key=_writing, default="")
    joined = [""]
    for key, value in node.items():
        items = value if isinstance(value, list) else [value]
        if _CHOICES.fullmatch(_normal(key)):
            items = items[:1]
        pieces = [_words(item, depth + 1) for item in items if isinstance(item, dict)]
        is_spaced = _are_spaced(pieces)
        joined.append("".join(_glued(piece, is_spaced=is_spaced) for piece in pieces))
    longest = max(joined, key=len)
    return longest.strip() if depth else longest


def _writing(text: str) -> tuple[int, int]:
    """Rank forms of the same words: capitals and punctuation first, then length."""
    return sum(not (letter.islower() or letter.isspace()) for letter in text), len(text)


def _are_spaced(texts: Sequence[str]) -> bool:
    """Tell whether the texts include the spaces between them."""
    return sum(text != text.strip() for text in texts) > len(texts) / 5


def _glued(text: str, *, is_spaced: bool) -> str:
    """Return a text to append: with a space, unless the texts include theirs or it needs none."""
    has_none = is_spaced or not any(map(str.isalnum, text)) or UNSPACED.match(text)
    return text if has_none else f" {text}"


# --- The entries of one group -------------------------------------------------------------------

_UNIT = r"(?:in)?(?P<unit>ms|msec|millis|milliseconds|ticks|us|ns|s|secs?|seconds)?"
_WHEN = rf"(?:time(?:stamp)?|offset|ts|at)?{_UNIT}"
_TIMES: Final = (
    re.compile(rf"(?:(?:data|t)?(?:start|begin|from)|offset|timestamp|timecode|time|ts){_WHEN}|t"),
    re.compile(rf"(?:data|t)?(?:end|to|stop|until){_WHEN}"),
    re.compile(rf"(?:data|d)?(?:duration|dur|length){_UNIT}|d"),
)
"""The keys of a start, an end and a length: "starttimems", "end", "durationseconds"."""
_UNITS: Final = {"s": 1.0, "m": 1e-3, "u": 1e-6, "t": 1e-7, "n": 1e-9}
"""Units in seconds, by the first letter of their names; t are ticks."""
_SAMPLE, _MAX_TIME = 500, 1e19  # rows that show the names of columns; in any unit
_SPOKEN_PACE, _POSSIBLE_PACE = (4.0, 40.0), (1.0, 100.0)  # characters a second, also in errors
_SLOWEST, _FEW_PACES = 0.05, 5  # of fewer entries, only a slower pace is impossible


def _entries(records: Sequence[_Record]) -> list[Caption]:
    """Return the entries of a group, with times in seconds. PlacedError for unreadable times."""
    rows = [dict(reversed(list(_values(node)))) for node, _ in records]  # the first value counts
    time_keys = [_time_key(rows, names) for names in _TIMES]
    texts = [_words(node) for node, _ in records]
    is_spaced = _are_spaced(texts)
    entries, untimed = list[Caption](), 0
    for number, (row, (_, speaker), text) in enumerate(zip(rows, records, texts, strict=True), 1):
        start, end, length = (
            _time(row.get(key), key, number) if key else None for key in time_keys
        )
        if start is None and entries and entries[-1].start is not None and text:
            # Punctuation needs no time of its own; several words do.
            untimed += len(text.split()) > 1
            last = entries[-1]
            entries[-1] = replace(last, text=last.text + _glued(text, is_spaced=is_spaced))
        elif text or (start is not None and speaker):
            end = start + length if end is None and start is not None and length else end
            entries.append(Caption(text, start, end or 0.0, speaker or _speaker(row)))
    timed = [entry for entry in entries if entry.start is not None]
    if timed and untimed + len(entries) - len(timed) > _MOST_UNREAD * len(records):
        raise base.unknown_format("Some entries of its list have no time")
    if not timed or time_keys[0] is None:
        return entries
    # The last result of a recogniser may repeat all words, with their speakers.
    distinct = dict[tuple[object, ...], Caption]()
    for entry in timed:
        key = (entry.text, entry.start, entry.end)
        distinct[key] = entry if entry.speaker else distinct.get(key, entry)
    timed = list(distinct.values())
    unit = _unit_of(time_keys[0], rows) or _unit_by_pace(timed)

    def scaled(time: float) -> float:
        return max(0.0, round(time * unit, 3))

    return [replace(entry, start=scaled(entry.begins), end=scaled(entry.end)) for entry in timed]


def _time_key(rows: Sequence[Mapping[str, Any]], names: re.Pattern[str]) -> str | None:
    """Return the key of a time, by preference one with a unit, then one with start or begin."""
    keys = dict.fromkeys(key for row in rows[:_SAMPLE] for key in row)
    return min(
        filter(names.fullmatch, keys),
        key=lambda key: (_unit_of(key, rows) is None, not re.match("data|tstart|start|begin", key)),
        default=None,
    )


def _unit_of(key: str, rows: Sequence[Mapping[str, Any]]) -> float | None:
    """Return the unit of a key's times in seconds, if its name states one or they are clocks."""
    matches = filter(None, (names.fullmatch(key) for names in _TIMES))
    unit = next((match["unit"] for match in matches if match["unit"]), None)
    values = [row.get(key) for row in rows[:_SAMPLE]]
    texts = [value for value in values if isinstance(value, str) and not _is_number(value)]
    is_clock = any(seconds_of(text) is not None for text in texts)
    return 1.0 if is_clock else _UNITS[unit[0]] if unit else None


def _is_number(value: str) -> bool:
    return value.strip().replace(".", "", 1).isdecimal()


def _time(value: object, key: str, number: int) -> float | None:
    """Return the seconds of a clock, or a number in its column's unit; PlacedError if neither."""
    if value is None or value == "":
        return None
    is_clock = isinstance(value, str) and not _is_number(value)
    seconds = seconds_of(str(value)) if is_clock else None
    with suppress(ValueError, OverflowError):
        seconds = float(str(value)) if seconds is None else seconds
    if seconds is None or not abs(seconds) <= _MAX_TIME:
        problem = f"Segment {number} has no readable {key} ({quoted(value)})."
        raise PlacedError(f"{problem} Write seconds as a number, such as 12.5.")
    return seconds


def _unit_by_pace(entries: Sequence[Caption]) -> float:
    """Return the unit that gives the entries the pace of speech; PlacedError if none does."""
    starts = [entry.begins for entry in entries]
    next_starts = [*starts[1:], starts[-1]]
    paces = list[float]()
    for entry, start, next_start in zip(entries, starts, next_starts, strict=True):
        span = (entry.end if entry.end > start else next_start) - start
        if span > 0 and entry.text:
            paces.append(len(entry.text) / span)
    pace = median(paces) if paces else math.nan
    least, most = _POSSIBLE_PACE if len(paces) >= _FEW_PACES else (_SLOWEST, math.inf)
    if not paces or least <= pace <= most:
        return 1.0
    least, most = _SPOKEN_PACE
    fitting = [unit for unit in _UNITS.values() if least <= pace / unit <= most]
    if not fitting:
        raise base.unknown_format(f"Its times, such as {starts[-1]:g}, have an unknown unit")
    return fitting[0]


# --- Choosing entries ---------------------------------------------------------------------------

_WHOLE_SHARE = 0.6  # of the letters of the longest group: the least of a whole transcript
_FEW_WORDS, _MANY_WORDS = 2.2, 20  # mean length of entries that are single words, and their number
_LONG_SECONDS = 20.0  # mean length of entries that are too long for cues
_OF_WORDS = re.compile(r"word|items|elements|tokens")
_TRANSLATED = re.compile(r"translat")
_WORDS_IN_CUE, _PAUSE_SECONDS = 12, 2.0


def _with_turns(entries: Sequence[Caption], turns: list[Caption]) -> list[Caption]:
    """Give words without a speaker the speaker whose turn began last (a diarisation)."""
    turns.sort(key=lambda turn: turn.begins)
    is_same_unit = turns and turns[-1].begins <= 2 * entries[-1].begins
    if not is_same_unit or any(entry.speaker for entry in entries):
        return list(entries)
    starts = [turn.begins for turn in turns]
    speakers = [None, *(turn.speaker for turn in turns)]
    return [
        replace(entry, speaker=speakers[bisect_right(starts, entry.begins)]) for entry in entries
    ]


def _letters(entries: Iterable[Caption]) -> int:
    return sum(len(entry.text) for entry in entries)


def _best(groups: Mapping[_Path, list[Caption]]) -> list[Caption]:
    """Choose among the sentences, utterances, paragraphs and words of one document.

    In this order win: the original of a translation, a group with speakers, entries of a few
    seconds, sentences as they are, and the group of the most entries. Single words become cues.
    """
    most = max(map(_letters, groups.values()), default=0)
    ranked = list[tuple[tuple[int, ...], list[Caption]]]()
    for path, group in groups.items():
        if _letters(group) < _WHOLE_SHARE * most:
            continue
        are_short = sum(len(entry.text.split()) for entry in group) < _FEW_WORDS * len(group)
        are_called_words = _OF_WORDS.match("".join(path[-1:])) is not None
        are_words = are_short and (len(group) > _MANY_WORDS or are_called_words)
        cues = captions_of_words(group) if are_words else group
        is_original = not any(map(_TRANSLATED.search, path))
        has_speakers = sum(cue.speaker is not None for cue in cues) > len(cues) / 2
        is_brief = sum(max(0.0, cue.end - cue.begins) for cue in cues) <= _LONG_SECONDS * len(cues)
        rank = (is_original, has_speakers, is_brief, not are_words, len(cues), len(path))
        ranked.append((rank, cues))
    return max(ranked, key=lambda ranked_cues: ranked_cues[0], default=((), []))[1]


def captions_of_words(words: Sequence[Caption]) -> list[Caption]:
    """Join single words. A sentence, a speaker, a pause or twelve words end a caption."""
    is_spaced = _are_spaced([word.text for word in words])
    cues: list[Caption] = []
    for word in words:
        last, end = cues[-1] if cues else word, max(word.end, word.begins)
        begins_word = not is_spaced or word.text[:1].isspace() or last.text[-1:].isspace()
        is_full = word_count(last.text) >= _WORDS_IN_CUE or last.text.rstrip().endswith(STOPS)
        is_apart = last.speaker != word.speaker or word.begins - last.end > _PAUSE_SECONDS
        is_next = is_apart or (is_full and begins_word)
        if not cues or (is_next and any(map(str.isalnum, word.text))):
            cues.append(replace(word, end=end))
        else:
            text = last.text + _glued(word.text, is_spaced=is_spaced)
            cues[-1] = replace(last, text=text, end=end)
    return cues
