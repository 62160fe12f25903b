"""Reads documents (JSON, XML, HTML, tables): lists of objects with words and times.

A document becomes groups of records: the objects, elements or rows at one path of keys. In a group,
the words are the column that is prose, and the start is the column that rises; usual names only
decide between several. A group is refused if some of its records cannot be read. One reader
therefore serves YouTube's json3 and srv1 to srv3, TTML, the podcast namespace, and any tool for
speech recognition or for editing.
"""

from __future__ import annotations

import ast
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
from typing import Any, Final

from resources.lines import PlacedError, read_json, shown
from resources.transcripts import base
from resources.transcripts.segments import (
    INVISIBLE,
    STOPS,
    Caption,
    captions_of,
    one_line,
    transcript_of,
)
from resources.transcripts.speech import folded
from resources.transcripts.times import moment_of, seconds_of

_MAX_DEPTH, _MAX_TIME, _PAIR, _SAMPLE, _NAME_WORDS, _MANY_PEOPLE = (40, 1e19, 2, 500, 4, 100)
_MS_A_LINE, _MIN_SHARE, _MOST_UNREAD = 300.0, (0.2, 0.02), 0.05
_LONGEST_LITERAL: Final = 2_000_000
_GAP = re.compile(r"[\s,]*")

# The usual names of keys, reduced to small letters and digits.
_UNIT = r"(?:in)?(?P<unit>ms|msec|millis|milliseconds|ticks|us|ns|s|secs?|seconds)?"
_WHEN = rf"(?:time(?:stamp)?|offset|ts|at|code)?{_UNIT}"
_TIMES: Final = (
    re.compile(rf"(?:data|t)?(?:start|begin|from|offset|timestamp|timecode|time|ts){_WHEN}|t"),
    re.compile(rf"(?:data|t)?(?:end|to|stop|until){_WHEN}"),
    re.compile(rf"(?:data|d)?(?:duration|dur|length){_UNIT}|d"),
)
"""The names of a start, an end and a length."""
_UNITS: Final = {"s": 1.0, "m": 1e-3, "u": 1e-6, "t": 1e-7, "n": 1e-9}
_WORDS = re.compile(
    r"(?:punctuated|display|full|plain|raw)?(?:text|body|transcript(?:ion)?|display|caption|sentence"
    r"|content|utf8|value|word|line|subtitle)s?"
)
_CHOICES = re.compile(r"alternatives|nbest|hypotheses|candidates")
_SPEAKER = re.compile(
    r"(?:speaker|voice|agent|who|person|participant|cite)(?:display)?(?:name|label|id|tag)?"
)
_LANGUAGE = re.compile(r"(?:detected)?lang(?:uage)?(?:code)?")
_LANGUAGE_TAG = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*")
_RECOGNISED = re.compile(r"(?:acasr)?conf(?:idence)?|avglogprob|nospeechprob|toffsetms")
_OF_WORDS = re.compile(r"word|items|elements|tokens")

_SPOKEN_PACE, _POSSIBLE_PACE, _SLOWEST = (4.0, 40.0), (1.0, 100.0), 0.05
"""Characters a second: of people, of a recogniser's worst, and of a single entry."""
_FEW_WORDS, _MANY, _FEW, _LONG_SECONDS, _COVERS = 2.2, 20, 5, 20.0, 0.6
_WORDS_IN_CUE, _PAUSE_SECONDS, _DAY, _ANEW_SECONDS = 12, 2.0, 86_400.0, 5.0


@dataclass(slots=True)
class _Record:
    """An object: its values by the dotted path of their keys, and the objects inside it."""

    values: dict[str, Any]
    speaker: str | None
    inside: dict[str, list[_Record]] = field(default_factory=lambda: defaultdict(list))
    is_first: bool = False
    """Whether it is the first of its list."""


@dataclass(slots=True)
class _Entry:
    """Words with their times in seconds; `start` is None if the document has no time for them."""

    text: str
    start: float | None = None
    end: float | None = None
    speaker: str | None = None


@dataclass(slots=True)
class _Document:
    """All records of a document, by the path of their keys, and facts about the whole."""

    groups: dict[tuple[str, ...], list[_Record]] = field(default_factory=lambda: defaultdict(list))
    letters: int = 0
    """The length of all values."""
    language: str | None = None
    recognised: bool = False

    def add(self, node: Any, path: tuple[str, ...] = (), around: _Record | None = None) -> None:
        """Make a record of every object at and below a node."""
        if isinstance(node, list):
            self.letters += sum(len(each) for each in node if isinstance(each, str))
            for each in node:
                row = (
                    {f"column{at}": one for at, one in enumerate(each)} if _is_flat(each) else each
                )
                self.add(row, path, around)
        if not isinstance(node, dict) or len(path) > _MAX_DEPTH:
            return
        if rows := _rows(node):
            self.add(rows, (*path, "rows"), around)
        record = _Record(dict(_values(node)), None)
        record.speaker = _speaker(record.values) or (around.speaker if around else None)
        self.groups[path].append(record)
        if around is not None:
            record.is_first = not around.inside[path[-1]]
            around.inside[path[-1]].append(record)
        # Lists of one shape under different keys are one list.
        shapes = {_shape(value) for value in node.values()}
        is_keyed = len(node) > 1 and len(shapes) == 1 and None not in shapes
        for key, value in node.items():
            short = "#" if is_keyed else _short(str(key))
            self._note_facts(short, value)
            # The best choice comes first.
            inner = value[:1] if isinstance(value, list) and _CHOICES.fullmatch(short) else value
            self.add(inner, (*path, short), record)

    def _note_facts(self, key: str, value: Any) -> None:
        self.letters += len(value) if isinstance(value, str) else 0
        self.recognised = self.recognised or _RECOGNISED.fullmatch(key) is not None
        if isinstance(value, str) and _LANGUAGE.fullmatch(key) and _LANGUAGE_TAG.fullmatch(value):
            self.language = self.language or value.replace("_", "-")


def load_json(text: str, extension: str) -> Any:
    """Load one or several JSON values; None if nothing suggests that the text should be JSON."""
    try:
        return read_json(text)
    except PlacedError:
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            if text.startswith("[{'") and len(text) < _LONGEST_LITERAL:
                return ast.literal_eval(text)  # a list as Python prints it
        with suppress(ValueError, RecursionError):
            values, at, decoder = [], 0, json.JSONDecoder()
            while at < len(text):
                value, end = decoder.raw_decode(text, at)
                values.append(value)
                at = end if (gap := _GAP.match(text, end)) is None else gap.end()
            return values
        # Prose may begin with a bracket or a brace, but not with a brace and a key.
        if extension not in {".json", ".json3", ".jsonl"} and not re.match(r'\s*\{\s*"', text):
            return None
        raise


def read_records(document: Any) -> base.TimedText:
    """Read a parsed document. PlacedError if it has no transcript or an invalid time."""
    found = _Document()
    found.add(document)
    groups, turns = dict[tuple[str, ...], list[_Entry]](), list[_Entry]()
    unread = list[tuple[int, PlacedError]]()
    for path, records in found.groups.items():
        try:
            entries = _entries(records)
        except PlacedError as error:
            words = _words_columns(records)[:1]
            texts = [
                str(each.values.get(*words) or "") if words else _said_inside(each)
                for each in records
            ]
            unread.append((len("".join(texts)), error))
            continue
        if any(each.text.strip() for each in entries):
            groups[path] = entries
        else:  # a diarisation has speakers without words
            turns += (each for each in entries if each.speaker and each.start is not None)
    _name_by_turns(groups.values(), sorted(turns, key=lambda turn: turn.start or 0.0))
    timed = _best({path: each for path, each in groups.items() if each[0].start is not None})
    untimed = max(groups.values(), key=_letters, default=[])
    chosen = timed or untimed
    for letters, problem in unread:
        if not timed or _letters(chosen) < _COVERS * letters:
            raise problem
    if not chosen:
        raise base.unknown_format("The file holds no transcript: no segment in it has words")
    if _letters(chosen) < found.letters * _MIN_SHARE[len(chosen) > _PAIR]:
        raise base.unknown_format("The file holds data: next to nothing of it is words")
    _name_by_lists(chosen, found.groups.values())
    if timed or any(each.speaker for each in untimed):
        read = transcript_of(_captions(chosen))
    else:
        plain = "\n".join(INVISIBLE.sub("", each.text).strip() for each in untimed)
        read = base.TimedText(plain_text=plain.strip())
    kind: base.TranscriptKind = "generated" if found.recognised else "unknown"
    return replace(read, language=found.language, kind=kind)


# --- Records ------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def _short(key: str) -> str:
    return "".join(filter(str.isalnum, key.casefold()))


def _is_flat(node: Any) -> bool:
    return isinstance(node, list) and not any(isinstance(each, (list, dict)) for each in node)


def _shape(value: Any) -> frozenset[str] | None:
    """Return the keys of an object, or of the first object of a list."""
    first = value[0] if isinstance(value, list) and value else value
    return frozenset(first) if isinstance(first, dict) else None


def _rows(node: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the objects of a mapping that lists its columns, or has times as keys."""
    if node and all(seconds_of(str(key)) is not None for key in node):
        return [
            {"start": key, **(value if isinstance(value, dict) else {"text": value})}
            for key, value in node.items()
        ]
    columns = {
        key: list(value.values()) if isinstance(value, dict) else value
        for key, value in node.items()
        if isinstance(value, list) or (isinstance(value, dict) and all(map(str.isdigit, value)))
    }
    columns = {key: value for key, value in columns.items() if len(value) > 1}
    is_table = len(columns) >= _PAIR and all(map(_is_flat, columns.values()))
    if is_table and len({*map(len, columns.values())}) == 1:
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return []


def _values(node: Mapping[str, Any], prefix: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield the values of an object and of the objects in it, by the dotted path of their keys."""
    for key, value in node.items():
        name = f"{prefix}{_short(str(key))}"
        inner = value[0] if isinstance(value, list) and len(value) == 1 else value
        if isinstance(inner, dict):
            if depth < _PAIR:
                yield from _values(inner, f"{name}.", depth + 1)
        elif not isinstance(value, list):
            yield name, value
        elif len(value) == _PAIR and isinstance(value[0], (int, float)):
            yield from ((f"{name}.start", value[0]), (f"{name}.end", value[1]))


@lru_cache(maxsize=4096)
def _matches(pattern: re.Pattern[str], name: str) -> re.Match[str] | None:
    first, last = name.partition(".")[0], name.rpartition(".")[2]
    is_told = any(names.fullmatch(last) for names in _TIMES)
    parts = (name.replace(".", ""), last, *([] if is_told else [first]))
    return next(filter(None, map(pattern.fullmatch, parts)), None)


def role_of(key: str) -> str | None:
    """Return what a usual name of a key stands for: "start", "words" or "speaker"."""
    roles = {"start": _TIMES[0], "words": _WORDS, "speaker": _SPEAKER}
    return next((role for role, names in roles.items() if names.fullmatch(_short(key))), None)


def _speaker(values: Mapping[str, Any]) -> str | None:
    named = [one_line(str(value)) for name, value in values.items() if _matches(_SPEAKER, name)]
    known = [value for value in named if value and value not in {"None", "True", "False"}]
    return min(known, key=str.isdigit, default=None)


# --- Speakers from other lists ------------------------------------------------------------------


def _name_by_turns(groups: Iterable[list[_Entry]], turns: Sequence[_Entry]) -> None:
    """Give words without a speaker the one whose turn began last."""
    for group in groups if turns else ():
        are_of_it = (turns[-1].start or 0.0) <= 2 * (group[-1].start or 0.0)  # in the same unit
        if are_of_it and not any(each.speaker for each in group):
            for each in group:
                last = bisect_right(turns, each.start or 0.0, key=lambda turn: turn.start or 0.0)
                each.speaker = turns[last - 1].speaker if last else None


def _is_name(value: str) -> bool:
    return any(map(str.isalpha, value)) and len(value.split()) <= _NAME_WORDS


def _name_by_lists(entries: Sequence[_Entry], groups: Iterable[Sequence[_Record]]) -> None:
    """Replace labels by names, if a list or a mapping of people has all labels and their names."""
    labels = {each.speaker for each in entries if each.speaker}
    names = dict[str, str]()
    for people in groups if labels else ():
        if len(people) > _MANY_PEOPLE or any(
            _matches(_TIMES[0], name) for name in people[0].values
        ):
            continue
        rows = [{key: str(value) for key, value in each.values.items()} for each in people]
        rows = [
            row | {"name.inside": _said_inside(each)}
            for row, each in zip(rows, people, strict=True)
        ]
        by_label = {label: rows[0].get(_short(label), "") for label in labels}
        if len(rows) == 1 and all(map(_is_name, by_label.values())):
            names = names or by_label
        for key in rows[0]:
            ids = [row.get(key, "") for row in rows]
            if not (labels <= {*ids} and len({*ids}) == len(ids)):
                continue
            for name in sorted(rows[0], key=lambda name: "name" not in name):
                values = [row.get(name, "") for row in rows]
                is_told = len({*values}) == len(ids) > 1 or name.endswith(("name", "inside"))
                if name != key and is_told and all(map(_is_name, values)):
                    names = names or dict(zip(ids, values, strict=True))
    for each in entries:
        label = names.get(each.speaker or "") or each.speaker
        each.speaker = f"Speaker {label}" if label and label.isdigit() else label


# --- Columns ------------------------------------------------------------------------------------


def _entries(records: Sequence[_Record]) -> list[_Entry]:
    """Return the entries of a group of records, in seconds; PlacedError if some cannot be read."""
    words = _words_columns(records)
    times = _time_columns(records, words[:1])
    if times[0] is None and words and not _matches(_WORDS, words[0]):
        return []
    speakers = None if any(each.speaker for each in records) else _speaker_column(records, words)
    texts = [_text(each, words) for each in records]
    is_spaced = _are_spaced(texts)
    if is_spaced:
        texts = [f" {t}" if each.is_first else t for t, each in zip(texts, records, strict=True)]
    entries, unread = list[_Entry](), 0
    for number, (record, text) in enumerate(zip(records, texts, strict=True), 1):
        start, end, length = (
            None if name is None else _number(record.values.get(name), name, number)
            for name in times
        )
        end = start + length if end is None and start is not None and length else end
        if start is None and text and entries and entries[-1].start is not None:
            entries[-1].text += _glued(text, is_spaced=is_spaced)
            unread += len(text.split()) > 1
        elif text or (start is not None and record.speaker):
            inner = {one.speaker for inside in record.inside.values() for one in inside}
            named = record.speaker or str(record.values.get(speakers or "") or "")
            named = named or (inner.pop() or "" if len(inner) == 1 else "")
            entries.append(_Entry(text, start, end, named.rstrip(": ") or None))
        if words and not text.strip():
            unread += any(_is_prose(value, _PAIR + 1) for value in record.values.values())
    timed = [each for each in entries if each.start is not None]
    if timed and unread + len(entries) - len(timed) > _MOST_UNREAD * len(records):
        raise base.unknown_format("Some entries of its list have no time, or words of another name")
    if not timed and any(times) and len(entries) > _PAIR:
        raise base.unknown_format("Its times have an unknown form")
    is_clock = times[0] is not None and _is_clock(records, times[0])
    return _scaled(timed, 1.0 if is_clock else _unit_of(times[0])) if timed else entries


def _text(record: _Record, words: Sequence[str]) -> str:
    texts = (record.values.get(name) for name in words)
    said = next((text for text in texts if isinstance(text, str) and text), None)
    return said or ("" if words and "." not in words[0] else _said_inside(record))


def _are_spaced(texts: Sequence[str]) -> bool:
    """Tell whether the texts have the spaces between them."""
    return sum(text != text.strip() for text in texts) > len(texts) / 5


def _glued(text: str, *, is_spaced: bool) -> str:
    """Return a text to append: with a space, unless the texts have their own or it is a sign."""
    return text if is_spaced or not any(map(str.isalnum, text)) else f" {text}"


def _is_prose(value: object, least: int = 1) -> bool:
    tokens = value.split() if isinstance(value, str) else []
    spoken = sum(any(map(str.isalpha, each)) for each in tokens)
    is_code = "://" in str(value) or (len(tokens) == 1 and any(map(str.isdigit, tokens[0])))
    is_words = len(tokens) >= least and spoken >= len(tokens) / 2 and not is_code
    return is_words and seconds_of(str(value)) is None


def _words_columns(records: Sequence[_Record]) -> list[str]:
    """Return the columns that are speech: those with a usual name, the best written first.

    Without such a name, it is the column with the most letters, unless a rival has half as many.
    """
    sample = records[:_SAMPLE]
    prose = dict[str, str]()
    for name in dict.fromkeys(name for each in sample for name in each.values):
        values = [str(each.values.get(name) or "") for each in sample]
        is_claim = name == "text" and len(records) == 1  # one claim may be a figure
        prose[name] = "".join(value for value in values if is_claim or _is_prose(value))
    others = (_SPEAKER, *_TIMES)
    told = {n: t for n, t in prose.items() if t and not any(_matches(each, n) for each in others)}
    usual = {name: text for name, text in told.items() if _matches(_WORDS, name)}
    if usual:
        most = max(map(len, usual.values()))
        return sorted(usual, key=lambda n: (len(usual[n]) > most / 2, _written(usual[n])))[::-1]
    is_alone = sum(map(bool, prose.values())) == 1
    sizes = {
        name: len(text)
        for name, text in told.items()
        if (is_alone or text.count(" ") >= len(sample))
        and len({str(each.values.get(name)) for each in records}) > len(records) / 2
    }
    best = sorted(sizes, key=sizes.__getitem__)[::-1]
    is_clear = len(best) == 1 or (best and sizes[best[1]] <= sizes[best[0]] / 2)
    return best[:1] if is_clear else []


def _written(text: str) -> tuple[int, int]:
    """Rank ways to write the same words: the written form has capitals and punctuation."""
    return sum(not (each.islower() or each.isspace()) for each in text), len(text)


def _time_columns(
    records: Sequence[_Record], words: Sequence[str]
) -> tuple[str | None, str | None, str | None]:
    """Return the columns of the start, the end and the length, by their usual names.

    Without such a name, the start is a column that never falls and counts no lines. It is a clock,
    has fractions, grows as milliseconds do, or alternates with an end.
    """
    sample = records[:_SAMPLE]
    names = dict.fromkeys(name for each in sample for name in each.values if name not in words)
    start, end, length = (
        min(
            (
                name
                for name in names
                if _matches(role, name)
                and any(isinstance(each.values.get(name), (int, float, str)) for each in sample)
            ),
            key=lambda name: (
                not _rising(sample, name),
                not (_unit_of(name) or _is_clock(sample, name)),
            ),
            default=None,
        )
        for role in _TIMES
    )
    if start is None and len(records) > _PAIR:
        rising = {
            name: times
            for name in names
            if not re.search("end|stop|dur", name) and (times := _rising(sample, name))
        }
        both = [each for row in zip(*[*rising.values()][:_PAIR], strict=True) for each in row]
        if (len(rising) > 1 and both == sorted(both)) or any(
            _is_clock(sample, name)
            or any(each % 1 for each in times)
            or times[-1] > _MS_A_LINE * len(times)
            for name, times in rising.items()
        ):
            start, end = (*rising, None, None)[:2]
    return start, end, length


def _is_clock(records: Sequence[_Record], name: str) -> bool:
    values = (each.values.get(name) for each in records[:_SAMPLE])
    texts = [value for value in values if isinstance(value, str) and not _is_number(value)]
    return any(seconds_of(text) is not None or moment_of(text) is not None for text in texts)


def _is_number(value: str) -> bool:
    return value.strip().replace(".", "", 1).isdecimal()


def _rising(records: Sequence[_Record], name: str) -> list[float]:
    """Return the times of a column if all are readable, never fall, and do not just count."""
    with suppress(PlacedError):
        times = [_number(each.values.get(name), name, 0) for each in records]
        known = [each for each in times if each is not None]
        steps = {round(after - before, 6) for before, after in itertools.pairwise(known)} or {0.0}
        if len(known) == len(times) and min(steps) >= 0 and steps not in ({0.0}, {1.0}):
            return known
    return []


def _speaker_column(records: Sequence[_Record], words: Sequence[str]) -> str | None:
    """Return a column of names that recur; None without one."""
    for name in records[0].values:
        values = [one_line(str(each.values.get(name) or "")).rstrip(": ") for each in records]
        distinct = {*values} - {""}
        if (
            name not in words
            and 1 < len(distinct) <= len(values) / 2
            and all(each[0].isupper() and len(each.split()) <= _NAME_WORDS for each in distinct)
            and all(map(str.isalpha, (each[-1] for each in distinct)))
        ):
            return name
    return None


def _unit_of(name: str | None) -> float | None:
    found = (_matches(names, name) for names in _TIMES if name)
    units = [match["unit"] for match in found if match and match["unit"]]
    return _UNITS[units[0][0]] if units else None


def _number(value: object, name: str, number: int) -> float | None:
    """Return a time in seconds, or in the unit of its column if that is unknown."""
    if value is None or value == "":
        return None
    if isinstance(value, str):
        seconds = None if _is_number(value) else seconds_of(value)
        seconds = moment_of(value) if seconds is None else seconds
        if seconds is not None:
            return seconds
    try:
        seconds = math.nan if isinstance(value, bool) else float(str(value))
    except (ValueError, OverflowError):
        seconds = math.nan
    if not abs(seconds) <= _MAX_TIME:
        problem = f"Segment {number} has no readable {name} ({shown(value)})."
        raise PlacedError(None, f"{problem} Write seconds as a number, such as 12.5.")
    return seconds


def _scaled(entries: list[_Entry], unit: float | None) -> list[_Entry]:
    """Convert times to seconds. The pace of speech reveals a unit that no name tells."""
    starts = sorted(each.start or 0.0 for each in entries)
    unit = unit or _unit_by_pace(entries)
    first = starts[0] * unit if starts[0] * unit > _DAY else 0.0  # a date, not a time
    for each in entries:
        each.start = max(0.0, round((each.start or 0.0) * unit - first, 3))
        each.end = None if each.end is None else max(0.0, round(each.end * unit - first, 3))
    return entries


def _unit_by_pace(entries: Sequence[_Entry]) -> float:
    paces = list[float]()
    for each, following in itertools.zip_longest(entries, entries[1:]):
        start = each.start or 0.0
        later = following.start if following and following.start else start
        lasts = (each.end or 0.0) - start if each.end and each.end > start else later - start
        paces += [len(each.text) / lasts] if lasts > 0 and each.text.strip() else []
    pace = median(paces) if paces else math.nan
    least, most = _POSSIBLE_PACE if len(paces) >= _FEW else (_SLOWEST, math.inf)
    if not paces or least <= pace <= most:
        return 1.0
    least, most = _SPOKEN_PACE
    fitting = [unit for unit in _UNITS.values() if least <= pace / unit <= most]
    if not fitting:
        raise base.unknown_format(f"Its times, such as {entries[-1].start:g}, have an unknown unit")
    return fitting[0]


def _said_inside(record: _Record, depth: int = 0) -> str:
    """Join the words of the objects in that list of a record which has the most."""
    texts = [""]
    for inner in record.inside.values():
        pieces = list[str]()
        for each in inner:
            own = [value for name, value in each.values.items() if _matches(_WORDS, name)]
            said = max((value for value in own if isinstance(value, str)), key=_written, default="")
            pieces.append(said or ("" if depth >= _PAIR else _said_inside(each, depth + 1)))
        is_spaced = _are_spaced(pieces)
        texts.append("".join(_glued(each, is_spaced=is_spaced) for each in pieces).strip())
    return max(texts, key=len)


# --- Choosing entries ---------------------------------------------------------------------------


def _letters(entries: Iterable[_Entry]) -> int:
    return sum(len(each.text) for each in entries)


def _best(groups: Mapping[tuple[str, ...], list[_Entry]]) -> list[_Entry]:
    """Choose among the sentences, utterances, paragraphs and words of one document.

    Those with speakers win, then those of a few seconds, then sentences as they are, then the
    shortest. Single words are joined to cues.
    """
    most = max(map(_letters, groups.values()), default=0)
    choices = list[tuple[tuple[bool, bool, bool, int, int], list[_Entry]]]()
    for path, group in groups.items():
        if _letters(group) < _COVERS * most:
            continue
        is_short = sum(len(each.text.split()) for each in group) < _FEW_WORDS * len(group)
        is_single = is_short and (len(group) > _MANY or bool(_OF_WORDS.match("".join(path[-1:]))))
        cues = [cue for run in _runs(group) for cue in (_joined(run) if is_single else run)]
        named = sum(each.speaker is not None for each in cues) > len(cues) / 2
        lasts = sum((each.end or 0.0) - (each.start or 0.0) for each in cues)
        rank = (named, lasts <= _LONG_SECONDS * len(cues), not is_single, len(cues), len(path))
        choices.append((rank, cues))
    return max(choices, key=lambda choice: choice[0], default=((), []))[1]


def _runs(entries: Sequence[_Entry]) -> Iterable[list[_Entry]]:
    """Divide entries where their times begin anew, and keep the best of runs of the same words."""
    runs = [[entries[0]]]
    for before, each in itertools.pairwise(entries):
        if (each.start or 0.0) < (before.start or 0.0) - _ANEW_SECONDS:
            runs.append([])
        runs[-1].append(each)
    if len(runs) > _MANY:
        return [sorted(entries, key=lambda each: each.start or 0.0)]
    runs.sort(key=lambda run: sum(each.speaker is not None for each in run))
    return {folded("".join(each.text for each in run)): run for run in runs}.values()


def _joined(words: Sequence[_Entry]) -> list[_Entry]:
    """Join single words to cues. A sentence, a speaker, a pause or twelve words end a cue."""
    is_spaced = _are_spaced([each.text for each in words])
    cues: list[_Entry] = []
    for word in words:
        last = cues[-1] if cues else None
        if last is None or (
            any(map(str.isalnum, word.text))
            and (
                last.speaker != word.speaker
                or (word.start or 0.0) - (last.end or 0.0) > _PAUSE_SECONDS
                or (
                    (not is_spaced or word.text[:1].isspace() or last.text[-1:].isspace())
                    and (
                        last.text.rstrip().endswith(STOPS)
                        or len(last.text.split()) >= _WORDS_IN_CUE
                    )
                )
            )
        ):
            cues.append(replace(word, end=word.end or word.start))
        else:
            last.text += _glued(word.text, is_spaced=is_spaced)
            last.end = word.end or word.start
    return cues


def _captions(entries: Iterable[_Entry]) -> Iterator[Caption]:
    for each in entries:
        yield from captions_of(each.text, each.start, each.end, each.speaker)
