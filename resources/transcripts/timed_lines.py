"""Reads texts whose lines begin or end with a time, as tools and pages print them, and lyrics.

A line with a time begins a row, to which the following lines belong. Lines of a row with a number,
a name or the time in words ("1 minute, 18 seconds", in any language) are not its words. Times in
prose are few or decrease, or stand inside lines; such a text is not read here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from resources.transcripts.base import Caption
from resources.transcripts.cleaning import CaptionFile
from resources.transcripts.speakers import TERMINAL, are_names, is_name, label_of, name_of
from resources.transcripts.times import AMOUNT, CLOCK, seconds_of

# Examples: _BEGINS "[0:12] words" and "3. 0:12 – words", _ENDS "words (0:12)", _NAMED "Ann 0:12:
# words", _TAG "[ti:Title]" and "# Heading", _REPEATED "1 minute, 18 seconds", _PAGE "Page 3 of 9".
_MOMENT = rf"(?:{CLOCK}|{AMOUNT}|\d{{1,5}}\.\d{{1,6}}(?![\d%.]))"
_RANGE = (
    rf"(?P<at>{_MOMENT})(?:(?:\s*(?:-+>?|[–—→,;|]|to)\s*|\s+(?=\d+[:.]\d\d))(?P<end>{_MOMENT}))?"
)
_OPEN, _CLOSE = r"[\[({<【]?", r"(?P<close>[\])}>】]?)"
_EDGE = r"[\s*_`#>|~@•·-]*(?:\d{1,6}[.)]?\s+(?=\S?\d))?"
_BEGINS = re.compile(rf"{_EDGE}{_OPEN}{_RANGE}{_CLOSE}[\s*_`#>|~@•·:–—,;-]*")
_ENDS = re.compile(rf"(?<![=\d:/-])[\s|@,–—-]*[*_`]*{_OPEN}{_RANGE}{_CLOSE}[\s*_`:]*$")
_NAMED = re.compile(
    r"(?:[-*•]\s+)?(?P<name>[^\W\d][^\n\[\]():|]{0,39}?)(?:\s*:|\s+[-–—|,])?\s*"
    rf"(?P<open>[\[(])?{_RANGE}(?(open)[\])]:?\s+|(?:\s*[-–—|:]\s+|\t))(?=\S)"
)
_TAG = re.compile(r"\[(?P<key>[a-z#]{2,10}):(?P<value>[^\]]*)\]|#{1,6}\s+(?P<heading>.+)")
_REPEATED = re.compile(
    rf"[(\[]?(?:{CLOCK}|\d+\s?[^\W\d_]+\.?(?:(?:,|\s|\s[^\W\d_]{{1,3}}\s)*\d+\s?[^\W\d_]+\.?)"
    r"{0,2})[)\]]?"
)
_LOG = re.compile(r"[a-z]+(?:_[a-z]+){2,}:\s")  # a function's name, as of whisper.cpp
_PAGE = re.compile(r"(\D{0,40}?)(\d{1,4})(\D.{0,40})?")
_BARE_SHARE, _STRONG_SHARE, _SORTED_SHARE, _NEARLY = 1 / 3, 1 / 25, 0.95, 0.8
_MANY, _LONGEST_LINE_END, _LEAST_PAGE = 5, 80, 6


@dataclass(slots=True)
class _Row:
    """A line, the time at its edge if it has one, and the words beside and below the time."""

    raw: str
    lines: list[str]
    at: float | None = None
    end: float | None = None
    speaker: str | None = None
    at_end: bool = False
    is_strong: bool = False
    """Whether the time has a form that prose does not have."""
    after_blank: bool = False


def without_pages(text: str) -> str:
    """Remove the numbers of printed pages, and the lines beside them that recur.

    A page number is a short line that recurs, some lines later, with the next number.
    """
    text = text.replace("\f", "\n")
    lines = [line.strip() for line in text.split("\n")]
    seen, pages = dict[str, tuple[int, int]](), set[int]()
    for at, line in enumerate(lines):
        if (page := _PAGE.fullmatch(line)) and not line.endswith((*TERMINAL, ":")):
            shape, number = f"{page[1]}#{page[3]}", int(page[2])
            before, last = seen.get(shape, (at, number))
            if number == last + 1 and at - before >= _LEAST_PAGE:
                pages |= {before, at}
            seen[shape] = at, number
    near = Counter(line for at in pages for line in {*lines[max(0, at - 3) : at + 4]} if line)
    heads = {
        line
        for line, count in near.items()
        if 1 < lines.count(line) <= 2 * count and not (label_of(line) or line.endswith(TERMINAL))
    }
    kept = (raw for at, raw in enumerate(text.split("\n")) if at not in pages)
    return "\n".join(raw for raw in kept if raw.strip() not in heads)


def read_timed_lines(text: str) -> CaptionFile | None:
    """Read a text with times at the edges of its lines; None for prose and anything else."""
    tags, rows, after_blank = dict[str, str](), list[_Row](), False
    text = re.sub(r"(?<=\d)\uff1a(?=\d)", ":", text)
    for raw in map(str.strip, text.split("\n")):
        if tag := _TAG.fullmatch(raw):
            tags.setdefault(tag["key"] or "ti", (tag["value"] or tag["heading"]).strip())
        elif raw and not _LOG.match(raw):
            rows += _rows_of(raw, after_blank=after_blank)
        after_blank = not raw
    rows = _of_one_layout(rows)
    if not _is_timed(rows):
        return None
    before, timed = list[str](), list[_Row]()
    for row in rows:
        if row.at is not None:
            timed.append(row)
        else:
            (timed[-1].lines if timed else before).append(row.raw)
    _place_words(before, timed)
    offset = tags.get("offset", "").lstrip("+")
    early = int(offset) / 1000 if re.fullmatch(r"-?\d{1,7}", offset) else 0.0
    starts = sorted({row.at or 0.0 for row in timed})
    next_start = dict(pairwise(starts))
    captions = [Caption("\n".join(before), 0.0, starts[0])] if before else []
    speaker: str | None = None
    for row in timed:
        at, speaker = row.at or 0.0, row.speaker or speaker
        start, end = (max(0.0, time - early) for time in (at, row.end or next_start.get(at, at)))
        captions.append(Caption("\n".join(row.lines), start, end, speaker))
    return CaptionFile(captions, title=tags.get("ti") or None, lines=text.split("\n"))


# --- Lines and their times ----------------------------------------------------------------------


def _rows_of(raw: str, *, after_blank: bool) -> list[_Row]:
    """Return a row for each time at an edge of a line; LRC may have several."""
    rows, rest = list[_Row](), raw
    while (match := _BEGINS.match(rest)) and (
        not rows or (match["close"] and not rest[0].isdigit())
    ):
        at, end = seconds_of(match["at"]), seconds_of(match["end"] or "")
        is_alone = not rest[match.end() :]
        has_parts = match["at"].count(":") > 1 or bool(re.search(r":.*[.,]", match["at"]))
        is_strong = bool(match["close"]) or has_parts or is_alone
        if at is None or (match["end"] and (end is None or not is_strong)):
            break
        rows.append(_Row(raw, [], at, end, is_strong=is_strong, after_blank=after_blank))
        rest = rest[match.end() :]
    for row in rows:
        row.lines = [rest] if rest else []
    if rows:
        return rows
    row = _Row(raw, [], after_blank=after_blank)
    named = _NAMED.match(raw)
    ending = _ENDS.search(raw, max(0, len(raw) - _LONGEST_LINE_END))
    if named and is_name(named["name"]):
        at, end = seconds_of(named["at"]), seconds_of(named["end"] or "")
        words, name = raw[named.end() :], name_of(named["name"])
        row = replace(row, lines=[words], at=at, end=end, speaker=name, is_strong=True)
    elif ending and raw[: ending.start()].strip():
        words, at = raw[: ending.start()].rstrip(" *_`"), seconds_of(ending["at"])
        is_strong = bool(ending["close"]) or is_name(words)
        row = replace(row, lines=[words], at=at, at_end=True, is_strong=is_strong)
    return [row]


def _of_one_layout(rows: list[_Row]) -> list[_Row]:
    """Remove times at the rarer edge of lines, and the length of the recording in a heading.

    A first time that is later than all others is that length.
    """
    timed = [row for row in rows if row.at is not None]
    is_end = 2 * sum(row.at_end for row in timed) >= len(timed)
    starts = [row.at or 0.0 for row in timed]
    length = timed[0] if starts[2:] and starts[0] > max(starts[1:]) else None
    kept = (row.at is None or (row.at_end == is_end and row is not length) for row in rows)
    return [row if keep else _Row(row.raw, []) for row, keep in zip(rows, kept, strict=True)]


def _is_timed(rows: Sequence[_Row]) -> bool:
    """Tell whether the times of a text are those of speech: many or in strong forms, and sorted."""
    timed = [row for row in rows if row.at is not None]
    starts = [row.at or 0.0 for row in timed]
    rising = sum(after >= before for before, after in pairwise(starts))
    is_repeated = len({row.raw for row in timed}) < len(timed)  # as in lyrics
    strong = sum(row.is_strong for row in timed)
    if strong and strong >= len(timed) / 2:
        return (
            len(timed) >= _STRONG_SHARE * len(rows)
            and (len(timed) > 1 or (rows[0] is timed[0] and not timed[0].at_end))
            and (is_repeated or rising >= _SORTED_SHARE * (len(timed) - 1))
        )
    return (
        len(timed) > 1
        and (rows[0].at is not None or len(timed) >= _MANY)
        and rising == len(timed) - 1
        and len(timed) >= _BARE_SHARE * len(rows)
    )


# --- Columns ------------------------------------------------------------------------------------


def _place_words(before: list[str], rows: Sequence[_Row]) -> None:
    """Move names to their rows, and remove numbers, repeated times, headings, and other frames.

    Nobody speaks before the time 0:00, and a line before the first time is a title unless it ends
    like a sentence. In a panel, times have lines of their own, and most rows have one line of
    words; further lines are headings. Elsewhere, lines of the last row beyond those of the longest
    other row belong to the page.
    """
    _take_heads(before, rows)
    texts = [_without_time(row) for row in rows]
    if sum(text is not None for text in texts) >= _NEARLY * len(rows) > _NEARLY:
        for row, text in zip(rows, texts, strict=True):
            row.lines = [text] if text else row.lines[1:2]  # further lines are headings
    elif _are_headed(rows):
        for row in rows:
            if row.lines and is_name(row.lines[0]):
                row.speaker = row.speaker or name_of(row.lines.pop(0))
    if len(rows) >= _MANY:
        sizes = [len(row.lines) for row in rows[:-1]]
        is_panel = 2 * sum(size <= 1 for size in sizes) > len(rows) > 2 * sum(map(_is_beside, rows))
        for row in rows if is_panel else rows[-1:]:
            row.lines = row.lines[: 1 if is_panel else max(sizes)]
    before[:] = [line for line in before if rows[0].at and line.endswith(TERMINAL)]


def _take_heads(before: list[str], rows: Sequence[_Row]) -> None:
    """Move the lines before times to the rows of these times.

    They are numbers, which go, or names, or the words themselves if the times stand behind them.
    """
    lines_before = [before, *(row.lines for row in rows[:-1])]
    heads = [lines[-1] for lines in lines_before if lines]
    if heads and (all(map(str.isdigit, heads)) or are_names(heads, len(rows))):
        for lines, row in zip(lines_before, rows, strict=True):
            head = lines.pop() if lines else ""
            row.speaker = row.speaker or (None if head.isdigit() else name_of(head)) or None
    elif rows[0].at_end and not _are_headed(rows):
        carried = [] if rows[0].after_blank else [*before]
        before.clear()
        for row in rows:
            carried, row.lines = row.lines[1:], [*carried, *row.lines[:1]]
        rows[-1].lines += carried


def _are_headed(rows: Sequence[_Row]) -> bool:
    """Tell whether nearly all times have a name beside them, and words below."""
    headed = [row.lines[0] for row in rows if len(row.lines) > 1 and _is_beside(row)]
    return sum(map(is_name, headed)) >= _NEARLY * len(rows)


def _is_beside(row: _Row) -> bool:
    return bool(row.lines) and row.lines[0] in row.raw


def _without_time(row: _Row) -> str | None:
    """Return a row's first line without the time of the row; None if it does not begin with it."""
    minutes, seconds = divmod(int(row.at or 0.0), 60)
    parts = [part for part in (minutes // 60, minutes % 60, seconds) if part]
    match = _REPEATED.match(row.lines[0]) if row.lines else None
    if match and [int(n) for n in re.findall(r"\d+", match[0]) if int(n)] == parts:
        return row.lines[0][match.end() :].strip()
    return None
