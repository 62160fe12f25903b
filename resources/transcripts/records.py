"""Reads documents, in JSON or as a table: lists of entries with words and times.

A document becomes groups of entries, one for each path of keys. Usual names tell the keys; a name
or the pace of speech tells the unit of times. Sentences, utterances and words of one document are
alternatives. One reader therefore serves json3, the podcast namespace and all recognisers.
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
from typing import Any, Final

from resources.text_files import PlacedError, quoted, read_json
from resources.transcripts import base
from resources.transcripts.base import Caption
from resources.transcripts.segments import CaptionFile
from resources.transcripts.speech import STOPS
from resources.transcripts.times import seconds_of

_MAX_DEPTH, _MAX_TIME, _SAMPLE, _PAIR = 40, 1e19, 500, 2
_MIN_SHARE, _MOST_UNREAD, _COVERS, _MOST_HIDDEN = (0.2, 0.02), 0.05, 0.6, 0.3

# The usual names of keys, reduced to small letters and digits.
_UNIT = r"(?:in)?(?P<unit>ms|msec|millis|milliseconds|ticks|us|ns|s|secs?|seconds)?"
_WHEN = rf"(?:time(?:stamp)?|offset|ts|at)?{_UNIT}"
_TIMES: Final = (
    re.compile(rf"(?:(?:data|t)?(?:start|begin|from)|offset|timestamp|timecode|time|ts){_WHEN}|t"),
    re.compile(rf"(?:data|t)?(?:end|to|stop|until){_WHEN}"),
    re.compile(rf"(?:data|d)?(?:duration|dur|length){_UNIT}|d"),
)
"""The names of a start, an end and a length."""
_SPAN = re.compile(r"(?<=[:.]\d\d)\s*[-–]+>?\s*(?=\d+:\d)|(?<=\.\d)\s*[-–]+>?\s*(?=\d+:\d)")
_UNITS: Final = {"s": 1.0, "m": 1e-3, "u": 1e-6, "t": 1e-7, "n": 1e-9}
_WORDS = re.compile(
    r"(?:punctuated|display|full|plain|raw)?(?:text|body|transcript(?:ion)?|display|caption|sentence"
    r"|content|utf8|value|word|line|subtitle|utterance|phrase)s?"
)
_CHOICES = re.compile(r"alternatives|nbest|hypotheses|candidates")
_SPEAKER = re.compile(
    r"(?:speaker|voice|agent|who|person|participant)(?:display)?(?:name|label|id|tag)?"
)
_LANGUAGE = re.compile(r"(?:detected)?lang(?:uage)?(?:code)?")
_LANGUAGE_TAG = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*")
_RECOGNISED = re.compile(r"(?:acasr)?conf(?:idence)?|avglogprob|nospeechprob|toffsetms")
_OF_WORDS = re.compile(r"word|items|elements|tokens")
_TRANSLATED = re.compile(r"translat")
_DATE = re.compile(r"\d{4}-\d\d-\d\d[T ]\d")

_SPOKEN_PACE, _POSSIBLE_PACE, _SLOWEST = (4.0, 40.0), (1.0, 100.0), 0.05
"""Characters a second: of people, of a recogniser's worst, and of a single entry."""
_FEW_WORDS, _MANY, _FEW, _LONG_SECONDS = 2.2, 20, 5, 20.0
_WORDS_IN_CUE, _PAUSE_SECONDS = 12, 2.0


@dataclass(slots=True)
class _Document:
    """All objects of a document with their speakers, by the path of their keys."""

    groups: dict[tuple[str, ...], list[tuple[dict[str, Any], str | None]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    letters: int = 0
    """The length of all values."""
    language: str | None = None
    recognised: bool = False

    def add(self, node: Any, path: tuple[str, ...] = (), speaker: str | None = None) -> None:
        if isinstance(node, list) and _is_word(node):
            node, path = dict(zip(("word", "start", "end"), node, strict=False)), (*path, "word")
        if isinstance(node, str):
            self.letters += len(node)
        elif isinstance(node, list):
            for each in node:
                self.add(each, path, speaker)
        elif isinstance(node, dict) and len(path) <= _MAX_DEPTH:
            speaker = _speaker(node) or speaker
            self.groups[path].append((node, speaker))
            for key, value in node.items():
                name = _short(key)
                self.recognised = self.recognised or bool(_RECOGNISED.fullmatch(name))
                is_tag = _LANGUAGE.fullmatch(name) and isinstance(value, str)
                if is_tag and self.language is None and _LANGUAGE_TAG.fullmatch(value):
                    self.language = value.replace("_", "-")
                # The best choice comes first.
                is_choice = isinstance(value, list) and _CHOICES.fullmatch(name)
                self.add(value[:1] if is_choice else value, (*path, name), speaker)


def _is_word(node: Sequence[Any]) -> bool:
    """Tell whether a list is a word, its start and its end, as IBM's recogniser writes them."""
    kinds = [type(each) for each in node[: _PAIR + 1]]
    return kinds[:1] == [str] and len(kinds) > _PAIR and {*kinds[1:]} <= {int, float}


def load_json(text: str, extension: str) -> Any:
    """Load JSON, or several values of it; None if nothing suggests that the text should be JSON."""
    try:
        return read_json(text)
    except PlacedError:
        with suppress(ValueError, RecursionError):
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        # Prose may begin with a bracket or a brace, but not with a brace and a key.
        if extension not in {".json", ".json3", ".jsonl"} and not re.match(r'\s*\{\s*"', text):
            return None
        raise


def read_table(text: str) -> CaptionFile | None:
    """Read a table with a column of times and one of words; None for other text.

    Usual names in the head tell the columns. Otherwise rising clocks are starts and ends, the
    longest texts are the words, and a column whose values recur holds the speakers.
    """
    mark = max("\t;,|", key=text.split("\n", 1)[0].count)
    rows = list[list[str]]()
    with suppress(csv.Error):
        lines = csv.reader(io.StringIO(text), delimiter=mark)
        rows = [list(itertools.chain(*map(_SPAN.split, line))) for line in lines if any(line)]
    body = [row for row in rows[1:] if len(row) == len(rows[-1]) > 1]
    if not body or len(body) < (1 - _MOST_UNREAD) * (len(rows) - 1):
        return None
    names = dict(enumerate(map(_short, rows[0])))
    if not all(any(map(each.fullmatch, names.values())) for each in (_TIMES[0], _WORDS)):
        columns = list(zip(*body, strict=True))
        clocks = {at: each for at, column in enumerate(columns) if (each := _clocks(column))}
        texts = sorted(
            (at for at, column in enumerate(columns) if at not in clocks),
            key=lambda at: -sum(map(str.isalpha, "".join(columns[at]))),
        )
        if not clocks or not texts:
            return None
        (start, times), *others = clocks.items()
        body = rows[:1] * (_clocks(rows[0][start : start + 1]) is not None) + body
        names = {at: "end" for at, each in reversed(others) if each != times}
        recurring = [at for at in texts[1:] if len({*columns[at]}) <= len(body) / 2]
        names |= dict.fromkeys(recurring[:1], "speaker")
        names |= {start: "start", texts[0]: "text"}
    return read_records([{names.get(at, ""): each for at, each in enumerate(row)} for row in body])


def _clocks(values: Sequence[str]) -> list[float] | None:
    """Return the seconds of values that are clocks and rise; None for others."""
    found = [each for each in map(seconds_of, values) if each is not None]
    return found if len(found) == len(values) and found == sorted(found) else None


def read_records(document: Any) -> CaptionFile:
    """Read a parsed document. PlacedError if it has no transcript or an invalid time."""
    found = _Document()
    found.add(document)
    timed = dict[tuple[str, ...], list[Caption]]()
    untimed, turns = list[Caption](), list[Caption]()
    problem: PlacedError | None = None
    for path, records in found.groups.items():
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
    chosen = _best({path: _named(each, turns) for path, each in timed.items()})
    if problem and (not chosen or _letters(chosen) < _MOST_HIDDEN * _letters(untimed)):
        raise problem
    chosen = chosen or untimed
    if not chosen:
        raise base.unknown_format("The file holds no transcript: no segment in it has words")
    if _letters(chosen) < found.letters * _MIN_SHARE[len(chosen) > _PAIR]:
        raise base.unknown_format("The file holds data: next to nothing of it is words")
    return CaptionFile(chosen, found.language, "generated" if found.recognised else "unknown")


def _are_dated(records: Sequence[tuple[dict[str, Any], str | None]]) -> bool:
    """Tell whether several objects each have a day and a time, as messages have, and not speech."""
    dated = (any(_DATE.match(str(each)) for each in node.values()) for node, _ in records)
    return len(records) > 1 and all(dated)


# --- The values of one object -------------------------------------------------------------------


@lru_cache(maxsize=4096)
def _short(key: str) -> str:
    return "".join(filter(str.isalnum, str(key).casefold()))


def _speaker(node: Mapping[str, Any]) -> str | None:
    """Return the speaker of an object, rather a name than a number."""
    named = [value for key, value in node.items() if _SPEAKER.fullmatch(_short(key))]
    inner = [each for value in named if isinstance(value, dict) for each in value.values()]
    known = [str(each).strip(": ") for each in (*named, *inner) if isinstance(each, (str, int))]
    known = [each for each in known if each and each not in {"None", "True", "False"}]
    label = min(known, key=str.isdigit, default=None)
    return f"Speaker {label}" if label and label.isdigit() else label


def _values(node: Mapping[str, Any], depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield the plain values of an object and of the objects in it."""
    for key, value in node.items():
        inner = value[0] if isinstance(value, list) and len(value) == 1 else value
        if isinstance(inner, dict) and inner.keys() <= {"seconds", "nanos"}:  # as Google writes it
            yield _short(key), f"{inner.get('seconds', 0)}.{str(inner.get('nanos', 0)).zfill(9)}"
        elif isinstance(inner, dict) and depth < _PAIR:
            yield from _values(inner, depth + 1)
        elif isinstance(value, list) and len(value) == _PAIR and isinstance(value[0], (int, float)):
            yield from (("start", value[0]), ("end", value[1]))
        elif not isinstance(value, (list, dict)):
            yield _short(key), value


def _said(node: Mapping[str, Any], depth: int = 0) -> str:
    """Return the words of an object: its own, or those of the list in it that has the most."""
    own = [
        value
        for key, value in node.items()
        if isinstance(value, str) and value and _WORDS.fullmatch(_short(key))
    ]
    if own or depth > _PAIR:
        return max(own, key=_written, default="")
    texts = [""]
    for key, value in node.items():
        several = value if isinstance(value, list) else [value]
        inner = several[:1] if _CHOICES.fullmatch(_short(key)) else several
        pieces = [_said(each, depth + 1) for each in inner if isinstance(each, dict)]
        is_spaced = _are_spaced(pieces)
        texts.append("".join(_glued(each, is_spaced=is_spaced) for each in pieces))
    return max(texts, key=len).strip() if depth else max(texts, key=len)


def _written(text: str) -> tuple[int, int]:
    """Rank ways to write the same words: the written form has capitals and punctuation."""
    return sum(not (each.islower() or each.isspace()) for each in text), len(text)


def _are_spaced(texts: Sequence[str]) -> bool:
    """Tell whether the texts have the spaces between them."""
    return sum(text != text.strip() for text in texts) > len(texts) / 5


def _glued(text: str, *, is_spaced: bool) -> str:
    """Return a text to append: with a space, unless the texts have their own or it is a sign."""
    return text if is_spaced or not any(map(str.isalnum, text)) else f" {text}"


# --- The entries of one group -------------------------------------------------------------------


def _entries(records: Sequence[tuple[dict[str, Any], str | None]]) -> list[Caption]:
    """Return the entries of a group with their times in seconds; PlacedError if they are unread."""
    rows = [dict(reversed(list(_values(node)))) for node, _ in records]
    columns = [_column(rows, names) for names in _TIMES]
    texts = [_said(node) for node, _ in records]
    is_spaced = _are_spaced(texts)
    entries, untimed = list[Caption](), 0
    for number, (row, (_, speaker), text) in enumerate(zip(rows, records, texts, strict=True), 1):
        start, end, length = (_number(row.get(name or ""), name, number) for name in columns)
        if start is None and entries and entries[-1].start is not None and text:
            untimed += len(text.split()) > 1
            last = entries[-1]
            entries[-1] = replace(last, text=last.text + _glued(text, is_spaced=is_spaced))
        elif text or (start is not None and speaker):
            end = start + length if end is None and start is not None and length else end
            entries.append(Caption(text, start, end or 0.0, speaker or _speaker(row)))
    timed = [each for each in entries if each.start is not None]
    if timed and untimed + len(entries) - len(timed) > _MOST_UNREAD * len(records):
        raise base.unknown_format("Some entries of its list have no time")
    if not timed or columns[0] is None:
        return entries
    # The last result of a recogniser may repeat all words, with their speakers.
    single = dict[tuple[object, ...], Caption]()
    for each in timed:
        key = (each.text, each.start, each.end)
        single[key] = each if each.speaker else single.get(key, each)
    timed = list(single.values())
    unit = _unit_of(columns[0], rows) or _unit_by_pace(timed)

    def scaled(time: float) -> float:
        return max(0.0, round(time * unit, 3))

    return [replace(each, start=scaled(each.begins), end=scaled(each.end)) for each in timed]


def _column(rows: Sequence[Mapping[str, Any]], names: re.Pattern[str]) -> str | None:
    """Return the key of a time; one that tells its unit comes first, then a start or begin."""
    keys = dict.fromkeys(key for row in rows[:_SAMPLE] for key in row)
    return min(
        filter(names.fullmatch, keys),
        key=lambda key: (_unit_of(key, rows) is None, not re.match("data|tstart|start|begin", key)),
        default=None,
    )


def _unit_of(key: str, rows: Sequence[Mapping[str, Any]]) -> float | None:
    """Return the unit that a key or a clock tells, in seconds."""
    matches = filter(None, (names.fullmatch(key) for names in _TIMES))
    unit = next((match["unit"] for match in matches if match["unit"]), None)
    values = [row.get(key) for row in rows[:_SAMPLE]]
    texts = [each for each in values if isinstance(each, str) and not _is_number(each)]
    is_clock = any(seconds_of(each) is not None for each in texts)
    return 1.0 if is_clock else _UNITS[unit[0]] if unit else None


def _is_number(value: str) -> bool:
    return value.strip().replace(".", "", 1).isdecimal()


def _number(value: object, name: str | None, number: int) -> float | None:
    """Return a time in seconds, or in the unit of its column if that is unknown."""
    if value is None or value == "":
        return None
    is_clock = isinstance(value, str) and not _is_number(value)
    seconds = seconds_of(str(value)) if is_clock else None
    with suppress(ValueError, OverflowError):
        seconds = float(str(value)) if seconds is None else seconds
    if seconds is None or not abs(seconds) <= _MAX_TIME:
        problem = f"Segment {number} has no readable {name} ({quoted(value)})."
        raise PlacedError(None, f"{problem} Write seconds as a number, such as 12.5.")
    return seconds


def _unit_by_pace(entries: Sequence[Caption]) -> float:
    """Return the unit in which people would speak the entries; PlacedError if there is none."""
    starts = [each.begins for each in entries]
    later = [*starts[1:], starts[-1]]
    lasts = [
        (each.end if each.end > start else after) - start
        for each, start, after in zip(entries, starts, later, strict=True)
    ]
    both = zip(entries, lasts, strict=True)
    paces = [len(each.text) / last for each, last in both if last > 0 and each.text]
    pace = median(paces) if paces else math.nan
    least, most = _POSSIBLE_PACE if len(paces) >= _FEW else (_SLOWEST, math.inf)
    if not paces or least <= pace <= most:
        return 1.0
    least, most = _SPOKEN_PACE
    fitting = [unit for unit in _UNITS.values() if least <= pace / unit <= most]
    if not fitting:
        raise base.unknown_format(f"Its times, such as {starts[-1]:g}, have an unknown unit")
    return fitting[0]


# --- Choosing entries ---------------------------------------------------------------------------


def _named(entries: Sequence[Caption], turns: list[Caption]) -> list[Caption]:
    """Give words without a speaker the one whose turn began last."""
    turns.sort(key=lambda turn: turn.begins)
    are_of_it = turns and turns[-1].begins <= 2 * entries[-1].begins  # in the same unit
    if not are_of_it or any(each.speaker for each in entries):
        return list(entries)
    starts = [turn.begins for turn in turns]
    names = [None, *(turn.speaker for turn in turns)]
    return [replace(each, speaker=names[bisect_right(starts, each.begins)]) for each in entries]


def _letters(entries: Iterable[Caption]) -> int:
    return sum(len(each.text) for each in entries)


def _best(groups: Mapping[tuple[str, ...], list[Caption]]) -> list[Caption]:
    """Choose among the sentences, utterances, paragraphs and words of one document.

    The original wins over its translation. Then those with speakers win, then those of a few
    seconds, then sentences as they are, then the shortest. Single words are joined to cues.
    """
    most = max(map(_letters, groups.values()), default=0)
    choices = list[tuple[tuple[int, ...], list[Caption]]]()
    for path, group in groups.items():
        if _letters(group) < _COVERS * most:
            continue
        is_short = sum(len(each.text.split()) for each in group) < _FEW_WORDS * len(group)
        is_single = is_short and (len(group) > _MANY or bool(_OF_WORDS.match("".join(path[-1:]))))
        cues = _joined(group) if is_single else group
        named = sum(each.speaker is not None for each in cues) > len(cues) / 2
        lasts = sum(max(0.0, each.end - each.begins) for each in cues)
        is_original = not any(map(_TRANSLATED.search, path))
        are_short = lasts <= _LONG_SECONDS * len(cues)
        rank = (is_original, named, are_short, not is_single, len(cues), len(path))
        choices.append((rank, cues))
    return max(choices, key=lambda choice: choice[0], default=((), []))[1]


def _joined(words: Sequence[Caption]) -> list[Caption]:
    """Join single words to cues. A sentence, a speaker, a pause or twelve words end a cue."""
    is_spaced = _are_spaced([each.text for each in words])
    cues: list[Caption] = []
    for word in words:
        last, end = cues[-1] if cues else word, max(word.end, word.begins)
        is_whole = not is_spaced or word.text[:1].isspace() or last.text[-1:].isspace()
        is_long = len(last.text.split()) >= _WORDS_IN_CUE or last.text.rstrip().endswith(STOPS)
        is_apart = last.speaker != word.speaker or word.begins - last.end > _PAUSE_SECONDS
        if not cues or (any(map(str.isalnum, word.text)) and (is_apart or (is_whole and is_long))):
            cues.append(replace(word, end=end))
        else:
            text = last.text + _glued(word.text, is_spaced=is_spaced)
            cues[-1] = replace(last, text=text, end=end)
    return cues
