"""Reads lines with times: WebVTT, SRT, SBV, LRC, and texts with times at the edges of their lines.

A line with a time begins a record, to which the following lines belong. The records are rows of a
table: the line before the time, the words beside it and the lines after it are its columns. A
column of numbers counts, one of names tells the speaker, and one that repeats the time ("1 minute,
18 seconds", in any language) says nothing new. The other columns are words.

Prose may contain times too. In such a text there are several, they do not decrease, and they stand
at the edges of lines. Sources: WebVTT as in the W3C candidate recommendation of 4 April 2019 (4.2.2
and 4.3), SRT as SubRip writes it, SBV as YouTube writes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile
from typing import Final

from resources.lines import PlacedError
from resources.transcripts.segments import Caption, captions_of, label_of, speakers_of
from resources.transcripts.times import AMOUNT, CLOCK, seconds_of

REMEDY: Final = "Write them as 00:01:02.500 --> 00:01:05.000."
BORDER: Final = "\x02"
"""Begins a line between two joined files; the second that is its time zero may follow."""
_BORDER_LINE = re.compile(r"\x02(-?\d+\.\d+)?")

_FULL = r"-?(?:\d{1,4}:)?\d{1,3}:\d{1,2}(?:[.,]\d{1,9})?|\d{1,5}[.,]\d{1,9}"
_TIMING = re.compile(rf"[ \t]*(?P<at>{_FULL})[ \t]*-->[ \t]*(?P<end>{_FULL})(?=\s|$)")
_TIMING_LIKE = re.compile(r"\s*-?\d[^\s>]*[:.,][^\s>]*\s*-->|[^>]*-->\s*-?\d+:\d\d")
_CLOCK = r"-?(?:\d{1,4} ?: ?)?\d{1,3} ?: ?\d{1,3}(?:[:.,] ?\d{1,9})"
_TWO_TIMES = re.compile(
    rf"^[ \t]*(?:\d{{1,6}}[ \t]+)?({_CLOCK})"
    rf"(?:[ \t]*-+ ?(?:>|&gt;)[ \t]*|,|[ \t]+)({_CLOCK})(?=\s|\Z)",
    re.MULTILINE,
)
"""The times of SBV, or of SRT with a damaged arrow or spaces in its times."""
_SETTINGS = re.compile(r"(?:\s*(?:align|line|position|region|size|vertical|[XY][12]):\S*)*\s*")
_MAX_TIMING_LINE = 400

_MOMENT = rf"(?:{CLOCK}|{AMOUNT}|\d{{1,5}}\.\d{{1,3}}(?![\d%.]))"
_RANGE = rf"(?P<at>{_MOMENT})(?:\s*(?:-+>?|[–—→,;|]|to)\s*(?P<end>{_MOMENT}))?"
_OPEN, _CLOSE = r"[\[({<【]?", r"(?P<close>[\])}>】]?)"
_EDGE = r"[\s*_`#>|~@•·-]*(?:\d{1,6}[.)]?\s+(?=\S?\d))?"
_BEGINS = re.compile(rf"{_EDGE}{_OPEN}{_RANGE}{_CLOSE}[\s*_`#>|~@•·:–—,;-]*")
_ENDS = re.compile(rf"[\s|@,–—-]*[*_`]*{_OPEN}{_RANGE}{_CLOSE}[\s*_`:]*$")
_NAMED = re.compile(
    r"(?P<name>[^\W\d][^\n\[\]():|]{0,39}?)(?:\s*:|\s+[-–—|,])?\s*"
    rf"(?P<open>[\[(])?{_RANGE}(?(open)[\])]:?\s+|(?:\s*[-–—|:]\s+|\t))(?=\S)"
)
_INNER = re.compile(r"(?<=\S)[ \t]+(?=[\[(](?:\d\d?:)?\d\d?:\d\d[\])]:?[ \t]+\S)")
_TAG_LINE = re.compile(r"\[(?P<key>[a-z#]{2,10}):(?P<value>[^\]]*)\]$")
_HEADING = re.compile(r"#{1,6}\s+(.+)")
_SPOKEN = rf"{CLOCK}|\d+\s?[^\W\d_]+\.?(?:(?:,|\s|\s[^\W\d_]{{1,3}}\s)*\d+\s?[^\W\d_]+\.?){{0,2}}"
_REPEATED = re.compile(rf"[(\[]?(?:{_SPOKEN})[)\]]?")
_REPEATED_END = re.compile(rf"(?<!\d){_REPEATED.pattern}$")
_TERMINAL: Final = (".", "!", "?", "…", "。", ",", ";")
_BARE_SHARE, _STRONG_SHARE, _SORTED_SHARE, _LABEL_SHARE = 1 / 3, 1 / 25, 0.95, 0.8
_RECURRING, _CYCLE = 0.6, 2**33 / 90_000
_FEW, _MANY, _MOST_COLUMNS, _NAME_WORDS, _NAME_LENGTH, _LONGEST_LINE_END = 2, 5, 3, 5, 40, 80


@dataclass(slots=True)
class _Line:
    """A line, and its time if it has one at an edge.

    `is_strong`: the time has a form that prose does not have. `border`: a file begins anew here;
    its text is the second of time zero, if known.
    """

    words: str
    at: float | None = None
    end: float | None = None
    is_strong: bool = False
    at_end: bool = False
    speaker: str | None = None
    raw: str = ""
    after_blank: bool = False
    border: str | None = None


@dataclass(slots=True)
class _Row:
    """A line with a time, the lines with its words, and its speaker."""

    stamp: _Line
    lines: list[_Line]
    speaker: str | None = None


def read_timed_lines(
    text: str, *, is_webvtt: bool = False
) -> tuple[list[Caption], str | None] | None:
    """Return the captions and the title of a text with times at the edges of its lines.

    None for prose and anything else. PlacedError for a timing line with an unreadable time.
    """
    text = _TWO_TIMES.sub(
        lambda times: " --> ".join(each.replace(" ", "") for each in times.groups()),
        re.sub(r"(?<=\d)\uff1a(?=\d)", ":", text),
    )
    has_arrows = is_webvtt or any(
        _TIMING.match(line[:_MAX_TIMING_LINE]) for line in text.split("\n")
    )
    lines, tags = _lines(text, has_arrows=has_arrows)
    before = list[_Line]()
    if has_arrows:
        _, rows = _rows(lines)
        _drop_numbers(rows, is_webvtt=is_webvtt)
        _read_columns(rows)
    else:
        lines = _without_early_times(_of_one_layout(lines))
        if not _is_timed(lines):
            return None
        title = _HEADING.match(lines[0].words) if lines[0].at is None else None
        tags = {"ti": title[1].strip() if title else ""} | tags
        spoken = [each for each in lines if each.at is not None or not _HEADING.match(each.words)]
        before, rows = _rows(spoken)
        _take_heads(before, rows)
        _drop_frame(before, rows, is_panel=_read_columns(rows))
    _run_on(rows, float(tags["zero"]) if "zero" in tags else None)
    offset = tags.get("offset", "").lstrip("+")
    early = int(offset) / 1000 if re.fullmatch(r"-?\d{1,7}", offset) else 0.0
    return list(_captions(before, rows, early, has_arrows=has_arrows)), tags.get("ti") or None


# --- Lines and their times ----------------------------------------------------------------------


def _lines(text: str, *, has_arrows: bool) -> tuple[list[_Line], dict[str, str]]:
    """Return the lines with words or times, and the tags of lyrics."""
    lines, tags, after_blank, border = list[_Line](), dict[str, str](), False, None
    for number, raw in enumerate(map(str.strip, text.split("\n")), 1):
        if edge := _BORDER_LINE.fullmatch(raw):
            border = edge[1] or ""
            tags |= {"zero": border} if border and "zero" not in tags else {}
        elif not has_arrows and (tag := _TAG_LINE.match(raw)):
            tags[tag["key"]] = tag["value"].strip()
        elif raw:
            for each in _cue_of(raw, number) if has_arrows else _edges_of(raw):
                each.raw, each.after_blank = raw, after_blank
                if each.at is not None:
                    each.border, border = border, None
                lines.append(each)
        after_blank = not raw
    return lines, tags


def _cue_of(raw: str, number: int) -> Iterator[_Line]:
    """Yield a line with its two times; PlacedError if it looks like one and has none."""
    start = raw[:_MAX_TIMING_LINE]
    if "-->" not in raw or not (_TIMING_LIKE.match(start) or _TIMING.match(start)):
        yield _Line(raw)
        return
    before, _, after = raw.partition("-->")
    until, _, rest = after.strip().partition(" ")
    begins, ends = seconds_of(before), seconds_of(until)
    if begins is None or ends is None:
        raise PlacedError(number, f"The times in {raw[:80]!r} cannot be read. {REMEDY}")
    yield _Line(_SETTINGS.sub("", rest, 1), begins, max(begins, ends), is_strong=True)


def _edges_of(raw: str) -> Iterator[_Line]:
    """Yield a line for each time at an edge, or in brackets inside; LRC may have several."""
    times, rest = list[tuple[float, float | None, bool]](), raw
    while (match := _BEGINS.match(rest)) and (
        not times or (match["close"] and not rest[0].isdigit())
    ):
        at, end = seconds_of(match["at"]), match["end"] and seconds_of(match["end"])
        if at is None or (match["end"] and end is None):
            break
        strong = bool(match["close"]) or match["at"].count(":") > 1 or not rest[match.end() :]
        strong = strong or bool(re.search(r":.*[.,]", match["at"]))
        if match["end"] and not strong:
            break
        times.append((at, end or None, strong))
        rest = rest[match.end() :]
    if times:
        first, *inner = _INNER.split(rest)
        yield from (_Line(first, at, end, strong) for at, end, strong in times)
        for each in inner:
            yield from _edges_of(each)
        return
    named = _NAMED.match(raw)
    if named and _is_name(named["name"]) and (at := seconds_of(named["at"])) is not None:
        end = seconds_of(named["end"]) if named["end"] else None
        yield _Line(raw[named.end() :], at, end, is_strong=True, speaker=_name(named["name"]))
        return
    first, *inner = _INNER.split(raw)
    if inner:
        yield _Line(first)
        for each in inner:
            yield from _edges_of(each)
        return
    match = _ENDS.search(raw, max(0, len(raw) - _LONGEST_LINE_END))
    at = seconds_of(match["at"]) if match else None
    if match is None or at is None or not raw[: match.start()].strip():
        yield _Line(raw)
        return
    words = raw[: match.start()].rstrip(" *_`")
    yield _Line(words, at, None, bool(match["close"]) or _is_name(words), at_end=True)


def _name(words: str) -> str:
    return re.sub(r"(?<=\S)\s*\([^()]*\)$", "", words.strip(" *_`:[]-–—|•·")).strip("() ")


def _is_name(words: str) -> bool:
    name = _name(words)
    return (
        0 < len(name) <= _NAME_LENGTH
        and len(name.split()) <= _NAME_WORDS
        and not name.endswith(_TERMINAL)
        and not name[0].islower()
        and any(map(str.isalpha, name))
    )


def _without_early_times(lines: list[_Line]) -> list[_Line]:
    """Remove the lines up to a time among the first that is later than the next, such as a date."""
    timed = [(at, line.at or 0.0) for at, line in enumerate(lines) if line.at is not None]
    falls = [at for (at, time), (_, after) in pairwise(timed[: _FEW + 1]) if time > after]
    return lines[falls[-1] + 1 :] if falls and len(timed) >= _MANY else lines


def _of_one_layout(lines: list[_Line]) -> list[_Line]:
    """Leave the times only at those edges of lines where most of the times are."""
    at_ends = [line.at_end for line in lines if line.at is not None]
    is_end = 2 * sum(at_ends) >= len(at_ends)
    return [
        line if line.at is None or line.at_end == is_end else replace(line, words=line.raw, at=None)
        for line in lines
    ]


def _is_timed(lines: Sequence[_Line]) -> bool:
    timed = [line for line in lines if line.at is not None]
    starts = [line.at or 0.0 for line in timed]
    rising = sum(after >= before for before, after in pairwise(starts))
    repeated = len(timed) - len({id(line.words) for line in timed})
    strong = sum(line.is_strong for line in timed)
    if strong and strong >= len(timed) / 2:
        return (
            len(timed) >= _STRONG_SHARE * len(lines)
            and (len(timed) > 1 or lines[0] is timed[0])
            and (repeated > 0 or rising >= _SORTED_SHARE * (len(timed) - 1))
        )
    return (
        len(timed) > 1
        and (lines[0].at is not None or len(timed) >= _MANY)
        and rising == len(timed) - 1
        and len(timed) >= _BARE_SHARE * len(lines)
    )


# --- Rows and their columns ---------------------------------------------------------------------


def _rows(lines: Sequence[_Line]) -> tuple[list[_Line], list[_Row]]:
    """Return the lines before the first time, and a row for each time."""
    before, rows = list[_Line](), list[_Row]()
    for line in lines:
        if line.at is not None:
            rows.append(_Row(line, [line] if line.words else [], line.speaker))
        else:
            (rows[-1].lines if rows else before).append(line)
    return before, rows


def _drop_numbers(rows: Sequence[_Row], *, is_webvtt: bool) -> None:
    """Remove the number before a cue, or in WebVTT its identifier after a blank line."""
    ends = [row.lines[-1] if row.lines else row.stamp for row in rows]
    are_numbered = sum(each.words.isdigit() for each in ends) >= _LABEL_SHARE * (len(ends) - 1)
    for row, following, last in zip(rows, rows[1:], ends, strict=False):
        if last is not row.stamp and (are_numbered or not following.stamp.after_blank):
            is_number = last.words.isdigit() or (is_webvtt and last.after_blank)
            while is_number and row.lines and row.lines[-1].words == last.words:
                row.lines.pop()  # some tools write it twice
            if is_number and last.words == "1" and not is_webvtt:
                following.stamp.border = ""


def _take_heads(before: list[_Line], rows: Sequence[_Row]) -> None:
    """Move the lines before the times into a column of their own, if they number or name the rows.

    If the times end the words, the lines before a time belong to it.
    """
    lists = [before, *(row.lines for row in rows)]
    heads = [lines[-1].words for lines in lists[: len(rows)] if lines]
    with_words = sum(len(row.lines) > 1 for row in rows[:-1]) + bool(rows[-1].lines)
    are_names = len(heads) >= _LABEL_SHARE * len(rows) <= with_words and _are_names(heads)
    if all(map(str.isdigit, heads)) or are_names:
        for lines, row in zip(lists, rows, strict=False):
            head = lines.pop().words if lines else ""
            row.speaker = row.speaker or (_name(head) if are_names else None)
    elif rows[0].stamp.at_end and not _headed(rows):
        carried = [] if rows[0].stamp.after_blank else [*before]
        before.clear()
        for row in rows:
            carried, row.lines = row.lines[1:], [*carried, *row.lines[:1]]
        rows[-1].lines += carried


def _are_names(values: Sequence[str]) -> bool:
    """Tell whether nearly all values are names, and recur or end with a colon."""
    names = [_name(each) for each in values if _is_name(each)]
    recur = len({*names}) < len(names) and len({*names}) <= max(_FEW, _RECURRING * len(names))
    is_sure = recur or all(each.endswith(":") for each in values)
    return bool(names) and len(names) >= _LABEL_SHARE * len(values) and is_sure


def _headed(rows: Sequence[_Row]) -> list[_Row]:
    """Return the rows under a name, if nearly all are: beside the time, or in a recurring line."""
    firsts = [row for row in rows if row.lines]
    headed = [
        row
        for row in firsts
        if _is_name(words := row.lines[0].words)
        and (words.endswith(":") or (len(row.lines) > 1 and not row.lines[1].words[0].islower()))
    ]
    are_beside = all(
        row.lines[0] is row.stamp and "-->" not in row.stamp.raw[:_MAX_TIMING_LINE]
        for row in headed
    )
    is_sure = are_beside or _are_names([row.lines[0].words for row in headed])
    return headed if len(headed) >= _LABEL_SHARE * len(firsts) and is_sure else []


def _read_columns(rows: Sequence[_Row]) -> bool:
    """Take names and repeated times from the first lines; tell whether times were repeated."""
    is_panel = False
    for _ in range(_MOST_COLUMNS):
        rests = [
            row.lines and _without_time(row.lines[0].words, row.stamp.at or 0.0) for row in rows
        ]
        if sum(isinstance(each, str) for each in rests) >= _LABEL_SHARE * len(rows) > 1:
            is_panel = True
            for row, rest in zip(rows, rests, strict=True):
                if isinstance(rest, str):
                    row.lines[0].words = rest
                    row.lines = row.lines if rest else row.lines[1:]
        elif headed := _headed(rows):
            for row in headed:
                name = _name(row.lines.pop(0).words)
                row.speaker = row.speaker or name
        else:
            break
    return is_panel


def _without_time(words: str, at: float) -> str | None:
    """Remove a time at either end of a line; None if it has not exactly this one."""
    start = max(0, len(words) - _LONGEST_LINE_END)
    minutes, seconds = divmod(int(at), 60)
    parts = [part for part in (minutes // 60, minutes % 60, seconds) if part]
    for match in (_REPEATED.match(words), _REPEATED_END.search(words, start)):
        if match and [int(n) for n in re.findall(r"\d+", match[0]) if int(n)] == parts:
            return f"{words[: match.start()]}{words[match.end() :]}".strip()
    return None


def _drop_frame(before: list[_Line], rows: Sequence[_Row], *, is_panel: bool) -> None:
    """Remove headings, and text around the cues.

    Nobody speaks before the time 0:00. A line before the first time is a title, unless it ends
    like a sentence and other times have several lines too. A panel that repeats its times has one
    line of words for each; a further line is a heading. After the last cue, a further paragraph is
    no words of it if no other cue has two, and a further line is none if every other cue has only
    one.
    """
    if is_panel and not any(row.speaker for row in rows):
        for row in rows:
            row.lines = row.lines[:1]
    speakers = speakers_of([line.words for row in rows for line in row.lines], timed=True)

    def further(row: _Row) -> list[_Line]:
        labels = [(line, label_of(line.words)) for line in row.lines[1:]]
        return [line for line, label in labels if not (label and label["name"] in speakers)]

    last, inside = further(rows[-1]), [line for row in rows[:-1] for line in further(row)]
    before[:] = [
        each
        for each in before
        if each.words != each.raw
        or (rows[0].stamp.at and 2 * len(inside) >= len(rows) and each.words.endswith(_TERMINAL))
    ]
    if len(rows) >= _MANY and not inside:
        cut = last[:1]
    elif len(rows) >= _FEW and not any(line.after_blank for line in inside):
        cut = [line for line in last if line.after_blank][:1]
    else:
        cut = []
    rows[-1].lines = [*takewhile(lambda line: line not in cut, rows[-1].lines)]


# --- Captions -----------------------------------------------------------------------------------


def _run_on(rows: Sequence[_Row], zero: float | None) -> None:
    """Shift the times of joined files that begin anew, by their time zero if that is known."""
    parts: list[list[_Row]] = [[]]
    for row in rows:
        if row.stamp.border is not None:
            parts.append([])
        parts[-1].append(row)
    shift, ends, before = 0.0, 0.0, list[tuple[float, str]]()
    for part in filter(None, parts):
        cues = [(row.stamp.at or 0.0, "".join(each.words for each in row.lines)) for row in part]
        if before and cues[0][0] < before[-1][0] and cues[0] not in before:
            mapped = part[0].stamp.border
            by_map = (float(mapped) - zero) % _CYCLE if mapped and zero is not None else 0.0
            shift = by_map if by_map > shift else ends
        before = cues
        for row, (at, _) in zip(part, cues, strict=True):
            row.stamp.at = round(at + shift, 3)
            row.stamp.end = round(row.stamp.end + shift, 3) if row.stamp.end else None
            ends = max(ends, row.stamp.at, row.stamp.end or 0.0)


def _captions(
    before: Sequence[_Line], rows: Sequence[_Row], early: float, *, has_arrows: bool
) -> Iterator[Caption]:
    starts = sorted({row.stamp.at or 0.0 for row in rows})
    following = dict(pairwise(starts))
    if before:
        yield from captions_of("\n".join(each.words for each in before), starts[0], starts[0])
    speaker: str | None = None
    for row in rows:
        at, speaker = row.stamp.at or 0.0, row.speaker or speaker
        end = row.stamp.end or following.get(at, at)
        words = "\n".join(each.words for each in row.lines)
        if not has_arrows:
            words = words.replace("|", "\n")  # as TMP and STL write a line break
        yield from captions_of(words, max(0.0, at - early), max(0.0, end - early), speaker)
