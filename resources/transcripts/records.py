"""Reads transcripts in JSON, XML, HTML and tables: lists of objects with words and times.

Every document becomes records: an object, an element or a row with its values. The words are the
column that is prose, the start is the column that rises; usual names only decide between several.
One reader therefore serves YouTube's json3 and srv1 to srv3, TTML, the podcast namespace, and any
tool for speech recognition or for editing.
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
from resources.transcripts.times import moment_of, seconds_of

_MAX_DEPTH, _MAX_TIME, _PAIR, _SAMPLE, _NAME_WORDS = 40, 1e19, 2, 500, 4
_FASTEST_WORDS, _MS_A_LINE, _MIN_SHARE = 0.15, 300.0, (0.2, 0.02)
_LONGEST_LITERAL: Final = 2_000_000

# The usual names of keys, reduced to small letters and digits.
_UNIT = r"(?:in)?(?P<unit>ms|msec|millis|milliseconds|ticks|us|ns|s|secs?|seconds)?"
_WHEN = rf"(?:time|offset|ts|at|code)?{_UNIT}"
_TIMES: Final = {
    "start": re.compile(
        rf"(?:data|t)?(?:start|begin|from|offset|timestamp|timecode|time|ts){_WHEN}|t"
    ),
    "end": re.compile(rf"(?:data|t)?(?:end|to|stop|until){_WHEN}"),
    "length": re.compile(rf"(?:data|d)?(?:duration|dur|length){_UNIT}|d"),
}
_UNITS: Final = {"s": 1.0, "m": 1e-3, "u": 1e-6, "t": 1e-7, "n": 1e-9}
_WORDS = re.compile(
    r"(?:punctuated|display|full|plain|raw)?(?:text|body|transcript(?:ion)?|display|caption|sentence"
    r"|content|utf8|value|word|line|subtitle)s?"
)
_CHOICES = re.compile(r"alternatives|nbest|hypotheses|candidates")
_SPEAKER = re.compile(
    r"(?:speaker|voice|agent|who|person|participant|cite)(?:display)?(?:name|label|id|tag)?"
)
_SPEAKERS = re.compile(r"(?:speaker|agent|participant)s?")
_LANGUAGE = re.compile(r"(?:detected)?lang(?:uage)?(?:code)?")
_LANGUAGE_TAG = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*")
_RECOGNISED = re.compile(r"(?:acasr)?conf(?:idence)?|avglogprob|nospeechprob|toffsetms")
_OF_WORDS = re.compile(r"word|items|elements|tokens")

_SLOWEST, _USUAL = 0.05, 12.0
"""Characters a second. People speak 5 to 30; misread milliseconds give less than a thirtieth."""
_SCALES: Final = (1.0, 1e-3, 1e-6, 1e-7, 1e-9)
_FEW_WORDS, _MANY, _LONG_SECONDS, _COVERS = 2.2, 20, 20.0, 0.6
_WORDS_IN_CUE, _PAUSE_SECONDS, _DAY = 12, 2.0, 86_400.0


@dataclass(slots=True)
class _Record:
    """An object: its values by the dotted path of their keys, and the objects inside it."""

    values: dict[str, Any]
    speaker: str | None
    inside: dict[str, list[_Record]] = field(default_factory=lambda: defaultdict(list))


@dataclass(slots=True)
class _Entry:
    """Words with their times in seconds; `start` is None if the document has no time for them."""

    text: str
    start: float | None = None
    end: float | None = None
    speaker: str | None = None
    words: int = 1


@dataclass(slots=True)
class _Found:
    """All records of a document, by the path of their keys, and facts about the whole."""

    groups: dict[tuple[str, ...], list[_Record]] = field(default_factory=lambda: defaultdict(list))
    names: dict[str, str] = field(default_factory=dict)
    turns: list[tuple[float, str]] = field(default_factory=list)
    """Starts with a speaker and without words, as a diarisation lists them."""
    letters: int = 0
    """The length of all values."""
    language: str | None = None
    recognised: bool = False


def load_json(text: str, extension: str) -> Any:
    """Load JSON, or one JSON value a line; None if nothing suggests that it should be JSON."""
    try:
        return read_json(text)
    except PlacedError:
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            if text.startswith("[{'") and len(text) < _LONGEST_LITERAL:
                return ast.literal_eval(text)  # a list as Python prints it
        with suppress(ValueError, RecursionError):
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        # Prose may begin with a bracket or a brace, but not with a brace and a key.
        if extension not in {".json", ".json3", ".jsonl"} and not re.match(r'\s*\{\s*"', text):
            return None
        raise


def read_records(document: Any) -> base.TimedText:
    """Read a parsed document. PlacedError if it has no transcript or an invalid time."""
    found = _Found()
    _collect(document, (), None, found)
    groups = _continued(found)
    _name_by_turns(groups.values(), sorted(found.turns))
    timed = _best({path: each for path, each in groups.items() if each[0].start is not None})
    untimed = max(groups.values(), key=_letters, default=[])
    chosen = timed or untimed
    if _letters(chosen) < found.letters * _MIN_SHARE[len(chosen) > _PAIR]:
        raise base.unknown_format("The file holds data: next to nothing of it is words")
    if timed or any(each.speaker for each in untimed):
        read = transcript_of(_captions(chosen))
    elif untimed:
        words = "\n".join(INVISIBLE.sub("", each.text).strip() for each in untimed)
        read = base.TimedText(plain_text=words.strip())
    else:
        raise base.unknown_format("The file holds no transcript: no segment in it has words")
    kind: base.TranscriptKind = "generated" if found.recognised else "unknown"
    return replace(read, language=found.language, kind=kind)


def _name_by_turns(groups: Iterable[list[_Entry]], turns: Sequence[tuple[float, str]]) -> None:
    """Give words without a speaker the one whose turn began last."""
    for group in groups if turns else ():
        are_of_it = turns[-1][0] <= 2 * (group[-1].start or 0.0)  # in the same unit
        if are_of_it and not any(each.speaker for each in group):
            for each in group:
                last = bisect_right(turns, each.start or 0.0, key=lambda turn: turn[0])
                each.speaker = turns[last - 1][1] if last else None


def _continued(found: _Found) -> dict[tuple[str, ...], list[_Entry]]:
    """Return the entries of each group; a list that goes on in a list of another name is one."""
    groups, last = dict[tuple[str, ...], list[_Entry]](), dict[object, list[_Entry]]()
    for path, records in found.groups.items():
        entries = _entries(records, found)
        if not entries:
            continue
        alike = (len(path), frozenset(records[0].values))
        before, start = last.get(alike), entries[0].start
        if (
            before
            and start is not None
            and start >= max(before[-1].start or 0.0, before[-1].end or 0.0) > 0
        ):
            before += entries
        else:
            groups[path] = last[alike] = entries
    return groups


# --- Records ------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def _short(key: str) -> str:
    return "".join(filter(str.isalnum, key.casefold()))


def _collect(node: Any, path: tuple[str, ...], around: _Record | None, found: _Found) -> None:
    """Make a record of every object at and below a node."""
    if isinstance(node, list):
        for each in node:
            row = {f"column{at}": one for at, one in enumerate(each)} if _is_flat(each) else each
            _collect(row, path, around, found)
    if not isinstance(node, dict) or len(path) > _MAX_DEPTH:
        return
    if rows := _rows(node):
        _collect(rows, (*path, "rows"), around, found)
    record = _Record(dict(_values(node)), None)
    record.speaker = _speaker(record.values) or (around.speaker if around else None)
    found.groups[path].append(record)
    if around is not None:
        around.inside[path[-1]].append(record)
    # Objects of one shape under different keys are one list.
    shapes = [frozenset(value) if isinstance(value, dict) else None for value in node.values()]
    is_keyed = len(shapes) > 1 and len(set(shapes)) == 1 and shapes[0] is not None
    for key, value in node.items():
        short = "#" if is_keyed else _short(str(key))
        _note_facts(short, value, found)
        # The best choice comes first.
        inner = value[:1] if isinstance(value, list) and _CHOICES.fullmatch(short) else value
        _collect(inner, (*path, short), record, found)
    if any(_SPEAKERS.fullmatch(each) for each in path[-2:]):
        found.names[str(record.values.get("id"))] = _said_inside(record) or str(
            record.values.get("name") or ""
        )
        found.names |= {key: value for key, value in node.items() if isinstance(value, str)}


def _is_flat(node: Any) -> bool:
    return isinstance(node, list) and not any(isinstance(each, (list, dict)) for each in node)


def _note_facts(key: str, value: Any, found: _Found) -> None:
    found.letters += len(value) if isinstance(value, str) else 0
    found.recognised = found.recognised or _RECOGNISED.fullmatch(key) is not None
    if isinstance(value, str) and _LANGUAGE.fullmatch(key) and _LANGUAGE_TAG.fullmatch(value):
        found.language = found.language or value.replace("_", "-")


def _rows(node: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the objects of a mapping that lists its columns, or has times as keys."""
    if all(
        isinstance(value, str) and seconds_of(str(key)) is not None for key, value in node.items()
    ):
        return [{"start": key, "text": value} for key, value in node.items()]
    columns = {
        key: list(value.values()) if isinstance(value, dict) else value
        for key, value in node.items()
        if isinstance(value, (list, dict)) and len(value) > 1
    }
    if len(columns) < _PAIR or not all(map(_is_flat, columns.values())):
        return []
    with suppress(ValueError):  # columns of different lengths
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return []


def _values(node: Mapping[str, Any], prefix: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield the values of an object and of the objects in it, by the dotted path of their keys."""
    for key, value in node.items():
        name = f"{prefix}{_short(str(key))}"
        if isinstance(value, dict):
            if depth < _PAIR:
                yield from _values(value, f"{name}.", depth + 1)
        elif not isinstance(value, list):
            yield name, value
        elif len(value) == _PAIR and isinstance(value[0], (int, float)):
            yield from ((f"{name}.start", value[0]), (f"{name}.end", value[1]))


def _matches(pattern: re.Pattern[str], name: str) -> re.Match[str] | None:
    return pattern.fullmatch(name.replace(".", "")) or pattern.fullmatch(name.rpartition(".")[2])


def is_start(key: str) -> bool:
    """Tell whether a key is a usual name of a start."""
    return _TIMES["start"].fullmatch(_short(key)) is not None


def _speaker(values: Mapping[str, Any]) -> str | None:
    named = [value for name, value in values.items() if _matches(_SPEAKER, name)]
    for value in named:
        if isinstance(value, str) and not value.isdigit() and one_line(value):
            return one_line(value).rstrip(":")
    for value in named:
        if str(value).isdigit():
            return f"Speaker {value}"
    return None


# --- Columns ------------------------------------------------------------------------------------


def _entries(records: Sequence[_Record], found: _Found) -> list[_Entry]:
    """Return the entries of a group of records, in seconds."""
    words = _words_column(records)
    columns = _time_columns(records, words)
    if columns[0] is None and words and not _matches(_WORDS, words):
        return []
    speakers = None if any(each.speaker for each in records) else _speaker_column(records, words)
    entries = list[_Entry]()
    for number, record in enumerate(records, 1):
        text = record.values.get(words) if words else _said_inside(record)
        if not isinstance(text, str) or not text:
            continue
        start, end, length = (
            None if name is None else _number(record.values.get(name), name, number)
            for name in columns
        )
        if start is not None or not entries or entries[-1].start is None:
            end = start + length if end is None and start is not None and length else end
            named = record.speaker or str(record.values.get(speakers or "") or "")
            named = found.names.get(named.removeprefix("Speaker ")) or named
            entries.append(_Entry(text, start, end, named or None, len(text.split())))
        elif text.strip():  # untimed: a full stop or a number
            entries[-1].text += f"{' ' if any(map(str.isalnum, text)) else ''}{text.strip()}"
    if not any(each.text.strip() for each in entries):
        starts = (
            _number(each.values.get(columns[0] or ""), columns[0] or "", 0) for each in records
        )
        found.turns += [
            (start, each.speaker)
            for each, start in zip(records, starts, strict=True)
            if each.speaker and start is not None
        ]
        return []
    name = columns[0] or ""
    return _scaled(entries, 1.0 if _is_clock(records, name) else _unit_of(name))


def _prose(records: Sequence[_Record], name: str) -> list[str]:
    values = [each.values.get(name) for each in records[:_SAMPLE]]
    texts = [value for value in values if isinstance(value, str)]
    is_whole = name == "text" and len(records) == 1  # one claim may be a figure
    return texts if is_whole else [text for text in texts if _is_prose(text)]


def _is_prose(value: str) -> bool:
    tokens = value.split()
    spoken = sum(any(map(str.isalpha, each)) for each in tokens)
    is_code = "://" in value or (len(tokens) == 1 and any(map(str.isdigit, value)))
    return spoken >= len(tokens) / 2 and not is_code and seconds_of(value) is None


def _words_column(records: Sequence[_Record]) -> str | None:
    """Return the column that is speech: with a usual name, else with the most letters."""
    names = dict.fromkeys(name for each in records[:_SAMPLE] for name in each.values)
    prose = {name: "".join(_prose(records, name)) for name in names}
    usual = {name: text for name, text in prose.items() if text and _matches(_WORDS, name)}
    if not usual:
        is_alone = sum(map(bool, prose.values())) == 1
        sizes = {
            name: len(text)
            for name, text in prose.items()
            if text
            and not any(_matches(each, name) for each in (_SPEAKER, *_TIMES.values()))
            and (is_alone or text.count(" ") >= len(records[:_SAMPLE]))
            and len({each.values.get(name) for each in records}) > len(records) / 2
        }
        best = max(sizes, key=sizes.__getitem__, default=None)
        rivals = [name for name in sizes if name != best and sizes[name] > sizes[best or ""] / 2]
        return None if rivals else best
    most = max(map(len, usual.values()))
    return max(
        (name for name in usual if len(usual[name]) > most / 2),
        key=lambda name: _written(usual[name]),
    )


def _written(text: str) -> tuple[int, int]:
    """Rank ways to write the same words: the written form has capitals and punctuation."""
    return sum(not (each.islower() or each.isspace()) for each in text), len(text)


def _time_columns(
    records: Sequence[_Record], words: str | None
) -> tuple[str | None, str | None, str | None]:
    """Return the columns of the start, the end and the length, by their usual names.

    Without such a name, the start is a column that never falls, does not count
    lines, and grows with the words.
    """
    sample = records[:_SAMPLE]
    names = dict.fromkeys(name for each in sample for name in each.values if name != words)

    def chosen(role: str) -> str | None:
        fitting = [
            name
            for name in names
            if _matches(_TIMES[role], name)
            and any(isinstance(each.values.get(name), (int, float, str)) for each in sample)
        ]
        known = [name for name in fitting if _unit_of(name) or _is_clock(sample, name)]
        return next(iter(known or fitting), None)

    start, end, length = map(chosen, _TIMES)
    if start is None and len(records) > _PAIR:
        rising = [n for n in names if not re.search("end|stop|dur", n) and _rises(records, n)]
        # One column of small whole numbers may count anything.
        is_sure = any(_is_clock(sample, name) or _is_fine(sample, name) for name in rising)
        if is_sure or _alternate(sample, rising):
            start, end = (*rising, None, None)[:2]
    return start, end, length


def _is_clock(records: Sequence[_Record], name: str) -> bool:
    values = (each.values.get(name) for each in records[:_SAMPLE])
    texts = [value for value in values if isinstance(value, str) and not _is_number(value)]
    return any(seconds_of(text) is not None or moment_of(text) is not None for text in texts)


def _alternate(records: Sequence[_Record], names: Sequence[str]) -> bool:
    """Tell whether two columns take turns, as the starts and ends of lines do."""
    times = [float(each.values[name]) for each in records for name in names[:_PAIR]]
    return len(names) >= _PAIR and times == sorted(times)


def _is_fine(records: Sequence[_Record], name: str) -> bool:
    """Tell whether numbers have fractions, or grow as milliseconds do."""
    numbers = [float(each.values.get(name) or 0) for each in records]
    return any(number % 1 for number in numbers) or numbers[-1] > _MS_A_LINE * len(numbers)


def _is_number(value: str) -> bool:
    return value.strip().replace(".", "", 1).isdecimal()


def _rises(records: Sequence[_Record], name: str) -> bool:
    values = [each.values.get(name) for each in records]
    try:
        times = [_number(value, name, 0) for value in values]
    except PlacedError:
        return False
    known = [each for each in times if each is not None]
    if len(known) < len(values) or known != sorted(known):
        return False
    counts = {round(b - a, 6) for a, b in itertools.pairwise(known)} <= {1.0}
    return not counts and known[-1] - known[0] >= len(known) * _FASTEST_WORDS


def _speaker_column(records: Sequence[_Record], words: str | None) -> str | None:
    """Return a column of names that recur; None without one."""
    for name in records[0].values:
        values = [one_line(str(each.values.get(name) or "")) for each in records]
        distinct = {*values} - {""}
        if (
            name != words
            and 1 < len(distinct) <= len(values) / 2
            and all(each[0].isupper() and len(each.split()) <= _NAME_WORDS for each in distinct)
            and all(map(str.isalpha, (each[-1] for each in distinct)))
        ):
            return name
    return None


def _unit_of(name: str) -> float | None:
    for pattern in _TIMES.values():
        match = _matches(pattern, name)
        if match and match.groupdict().get("unit"):
            return _UNITS[match["unit"][0]]
    return None


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
    timed = [each for each in entries if each.start is not None]
    if not timed:
        return entries
    starts = sorted(each.start or 0.0 for each in timed)
    spoken = sum(len(each.text) for each in timed)
    lasting = sum(max(0.0, (each.end or 0.0) - (each.start or 0.0)) for each in timed)
    if not lasting and len(timed) > 1:
        lasting, spoken = starts[-1] - starts[0], spoken - len(timed[-1].text)
    unit = unit or _unit_by_pace(spoken, lasting)
    first = starts[0] * unit if starts[0] * unit > _DAY else 0.0  # a date, not a time
    for each in timed:
        each.start = max(0.0, round((each.start or 0.0) * unit - first, 3))
        each.end = None if each.end is None else max(0.0, round(each.end * unit - first, 3))
    return entries


def _unit_by_pace(spoken: float, lasting: float) -> float:
    if not (spoken and lasting) or spoken / lasting >= _SLOWEST:
        return 1.0
    return min(_SCALES, key=lambda unit: abs(math.log(spoken / lasting / unit / _USUAL)))


def _said_inside(record: _Record, depth: int = 0) -> str:
    """Join the words of the objects in that list of a record which has the most."""
    texts = [""]
    for inner in record.inside.values():
        pieces = list[str]()
        for each in inner:
            own = [value for name, value in each.values.items() if _matches(_WORDS, name)]
            said = max((value for value in own if isinstance(value, str)), key=_written, default="")
            pieces.append(said or ("" if depth >= _PAIR else _said_inside(each, depth + 1)))
        has_spaces = any(each != each.strip() for each in pieces)
        texts.append(("" if has_spaces else " ").join(filter(None, pieces)))
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
    choices = list[tuple[tuple[bool, bool, bool, int], list[_Entry]]]()
    for path, group in groups.items():
        if _letters(group) < _COVERS * most:
            continue
        is_short = sum(each.words for each in group) < _FEW_WORDS * len(group)
        is_single = is_short and (len(group) > _MANY or bool(_OF_WORDS.match("".join(path[-1:]))))
        cues = _joined(group) if is_single else group
        named = sum(each.speaker is not None for each in cues) > len(cues) / 2
        lasts = sum((each.end or 0.0) - (each.start or 0.0) for each in cues)
        rank = named, lasts <= _LONG_SECONDS * len(cues), not is_single, len(cues)
        choices.append((rank, cues))
    return max(choices, key=lambda choice: choice[0], default=((), []))[1]


def _joined(words: Iterable[_Entry]) -> list[_Entry]:
    """Join single words to cues. A sentence, a speaker, a pause or twelve words end a cue."""
    cues: list[_Entry] = []
    for word in words:
        text, last = word.text.strip(), cues[-1] if cues else None
        if not text:
            continue
        if (
            last is None
            or last.text.endswith(STOPS)
            or last.speaker != word.speaker
            or (word.start or 0.0) - (last.end or 0.0) > _PAUSE_SECONDS
            or last.words >= _WORDS_IN_CUE
        ):
            cues.append(replace(word, text=text, words=1))
        else:
            space = " " if any(map(str.isalnum, text)) else ""
            last.text, last.end, last.words = f"{last.text}{space}{text}", word.end, last.words + 1
    return cues


def _captions(entries: Iterable[_Entry]) -> Iterator[Caption]:
    for each in entries:
        yield from captions_of(each.text, each.start, each.end, each.speaker)
