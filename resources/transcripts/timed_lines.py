"""Reads a text whose lines begin or end with times, such as "[0:12] Hello", into captions.

A line with a time begins a caption, and the lines up to the next time belong to it; names, numbers
and repeated times among them are not its words. Prose is not read: its times are few, decrease, or
stand inside lines.
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

_MANY = 5  # times of a text that is hardly prose, and shows a layout


@dataclass(slots=True)
class _Row:
    """A line, the time at its edge if it has one, and the words beside and below the time."""

    line: str
    words: list[str]
    start: float | None = None
    end: float | None = None
    speaker: str | None = None
    ends_with_time: bool = False
    is_strong: bool = False
    """Whether the time has a form that prose does not have."""
    follows_blank: bool = False


_PAGE = re.compile(r"(\D{0,40}?)(\d{1,4})(\D.{0,40})?")  # "Page 3 of 9"
_LEAST_LINES, _NEAR_LINES = 6, 3  # of a page, and between its number and its header


def without_pages(text: str) -> str:
    """Remove the numbers of printed pages, and the headers and footers beside them.

    A page number is a short line that recurs, some lines later, with the next number.
    """
    raw_lines = text.replace("\f", "\n").split("\n")
    lines = [line.strip() for line in raw_lines]
    last_seen, pages = dict[str, tuple[int, int]](), set[int]()
    for at, line in enumerate(lines):
        if (page := _PAGE.fullmatch(line)) and not line.endswith((*TERMINAL, ":")):
            shape, number = f"{page[1]}#{page[3]}", int(page[2])
            last_at, last_number = last_seen.get(shape, (at, number))
            if number == last_number + 1 and at - last_at >= _LEAST_LINES:
                pages |= {last_at, at}
            last_seen[shape] = at, number
    near_pages = Counter[str]()
    for at in pages:
        near_pages.update({*lines[max(0, at - _NEAR_LINES) : at + _NEAR_LINES + 1]} - {""})
    headers = {
        line
        for line, count in near_pages.items()
        if 1 < lines.count(line) <= 2 * count and not (label_of(line) or line.endswith(TERMINAL))
    }
    numbered = enumerate(zip(raw_lines, lines, strict=True))
    return "\n".join(raw for at, (raw, line) in numbered if at not in pages and line not in headers)


_TAG = re.compile(r"\[(?P<key>[a-z#]{2,10}):(?P<value>[^\]]*)\]|#{1,6}\s+(?P<heading>.+)")
"""The tag of a song, or a heading: "[ti:Title]", "# Title"."""
_LOG = re.compile(r"[a-z]+(?:_[a-z]+){2,}:\s")  # "whisper_init_from_file: loading model"


def read_timed_lines(text: str) -> CaptionFile | None:
    """Read a text with times at the edges of its lines; None for prose and anything else."""
    tags, rows, follows_blank = dict[str, str](), list[_Row](), False
    text = re.sub(r"(?<=\d)\uff1a(?=\d)", ":", text)  # a wide colon, as in Chinese
    for line in map(str.strip, text.split("\n")):
        if tag := _TAG.fullmatch(line):
            tags.setdefault(tag["key"] or "ti", (tag["value"] or tag["heading"]).strip())
        elif line and not _LOG.match(line):
            rows += _rows_of(line, follows_blank=follows_blank)
        follows_blank = not line
    rows = _of_one_layout(rows)
    if not _is_timed(rows):
        return None
    before, timed = list[str](), list[_Row]()
    for row in rows:
        if row.start is not None:
            timed.append(row)
        else:
            (timed[-1].words if timed else before).append(row.line)
    _place_words(before, timed)
    milliseconds = tags.get("offset", "").lstrip("+")
    early = int(milliseconds) / 1000 if re.fullmatch(r"-?\d{1,7}", milliseconds) else 0.0
    starts = sorted({row.start or 0.0 for row in timed})
    next_start = dict(pairwise(starts))
    captions = [Caption("\n".join(before), 0.0, starts[0])] if before else []
    speaker: str | None = None
    for row in timed:
        start, speaker = row.start or 0.0, row.speaker or speaker
        end = max(0.0, (row.end or next_start.get(start, start)) - early)
        captions.append(Caption("\n".join(row.words), max(0.0, start - early), end, speaker))
    return CaptionFile(captions, title=tags.get("ti") or None, lines=text.split("\n"))


# --- Lines and their times ----------------------------------------------------------------------

_TIME = rf"(?:{CLOCK}|{AMOUNT}|\d{{1,5}}\.\d{{1,6}}(?![\d%.]))"
_SPAN = (  # "0:12", "0:12 --> 0:15"
    rf"(?P<start>{_TIME})(?:(?:\s*(?:-+>?|[–—→,;|]|to)\s*|\s+(?=\d+[:.]\d\d))(?P<end>{_TIME}))?"
)
_OPEN, _CLOSE = r"[\[({<【]?", r"(?P<close>[\])}>】]?)"
_BULLET = r"[\s*_`#>|~@•·-]*(?:\d{1,6}[.)]?\s+(?=\S?\d))?"  # "- ", "## ", "3. "
# The beginning of "[0:12] words" and "3. 0:12 – words", and the end of "words (0:12)".
_BEGINS = re.compile(rf"{_BULLET}{_OPEN}{_SPAN}{_CLOSE}[\s*_`#>|~@•·:–—,;-]*")
_ENDS = re.compile(rf"(?<![=\d:/-])[\s|@,–—-]*[*_`]*{_OPEN}{_SPAN}{_CLOSE}[\s*_`:]*$")
_NAMED = re.compile(  # the beginning of "Ann 0:12: words", "Ann [0:12]: words"
    r"(?:[-*•]\s+)?(?P<name>[^\W\d][^\n\[\]():|]{0,39}?)(?:\s*:|\s+[-–—|,])?\s*"
    rf"(?P<open>[\[(])?{_SPAN}(?(open)[\])]:?\s+|(?:\s*[-–—|:]\s+|\t))(?=\S)"
)
_LONGEST_END = 80  # characters in which the time at the end of a line is sought
_BARE_SHARE, _STRONG_SHARE = 1 / 3, 1 / 25  # of the lines: the least that have a time
_SORTED_SHARE = 0.95  # of the times in strong forms


def _rows_of(line: str, *, follows_blank: bool) -> list[_Row]:
    """Return the row of a line; several for the times of a refrain, "[0:12][1:40] La la la"."""
    rows, words = list[_Row](), line
    while match := _BEGINS.match(words):
        if rows and (not match["close"] or words[0].isdigit()):
            break
        start, end = seconds_of(match["start"]), seconds_of(match["end"] or "")
        is_precise = re.search(r":.*[:.,]", match["start"]) is not None  # "1:02:03", "0:12.5"
        is_alone = match.end() == len(words)
        is_strong = bool(match["close"]) or is_precise or is_alone
        if start is None or (match["end"] and (end is None or not is_strong)):
            break
        rows.append(_Row(line, [], start, end, is_strong=is_strong, follows_blank=follows_blank))
        words = words[match.end() :]
    if rows:
        return [replace(row, words=[words] if words else []) for row in rows]
    row = _Row(line, [], follows_blank=follows_blank)
    named, ending = _NAMED.match(line), _ENDS.search(line, max(0, len(line) - _LONGEST_END))
    if named and is_name(named["name"]):
        row.start, row.end = seconds_of(named["start"]), seconds_of(named["end"] or "")
        row.words, row.speaker = [line[named.end() :]], name_of(named["name"])
        row.is_strong = True
    elif ending and line[: ending.start()].strip():
        words = line[: ending.start()].rstrip(" *_`")
        row.words, row.start, row.ends_with_time = [words], seconds_of(ending["start"]), True
        row.is_strong = bool(ending["close"]) or is_name(words)
    return [row]


def _of_one_layout(rows: list[_Row]) -> list[_Row]:
    """Remove times at the rarer edge of lines, and the length of the recording in a heading.

    A first time that is later than all others is that length.
    """
    timed = [row for row in rows if row.start is not None]
    starts = [row.start or 0.0 for row in timed]
    length = timed[0] if starts[2:] and starts[0] > max(starts[1:]) else None
    at_end = 2 * sum(row.ends_with_time for row in timed) >= len(timed)
    kept = (row.ends_with_time == at_end and row is not length for row in rows)
    return [row if keep else _Row(row.line, []) for row, keep in zip(rows, kept, strict=True)]


def _is_timed(rows: Sequence[_Row]) -> bool:
    """Tell whether the times of a text are those of speech: many or in strong forms, and sorted."""
    timed = [row for row in rows if row.start is not None]
    starts = [row.start or 0.0 for row in timed]
    rising = sum(before <= after for before, after in pairwise(starts))
    if 2 * sum(row.is_strong for row in timed) >= len(timed) > 0:
        has_refrain = len({row.line for row in timed}) < len(timed)
        return (
            len(timed) >= _STRONG_SHARE * len(rows)
            and (len(timed) > 1 or (rows[0] is timed[0] and not timed[0].ends_with_time))
            and (has_refrain or rising >= _SORTED_SHARE * (len(timed) - 1))
        )
    return (
        len(timed) > 1
        and (rows[0].start is not None or len(timed) >= _MANY)
        and rising == len(timed) - 1
        and len(timed) >= _BARE_SHARE * len(rows)
    )


# --- Columns ------------------------------------------------------------------------------------

_NEARLY = 0.8  # share of the rows
_REPEATED = re.compile(
    rf"[(\[]?(?:{CLOCK}|\d+\s?[^\W\d_]+\.?(?:(?:,|\s|\s[^\W\d_]{{1,3}}\s)*\d+\s?[^\W\d_]+\.?)"
    r"{0,2})[)\]]?"
)
"""A time in words, in any language, as YouTube's panel has it: "1 minute, 18 seconds"."""


def _place_words(before: list[str], rows: Sequence[_Row]) -> None:
    """Move names to their rows, and remove numbers, repeated times, headings, and other frames.

    `before` are the lines before the first time. Nobody speaks before the time 0:00, and such a
    line is a title unless it ends like a sentence. In a panel, times have lines of their own, and
    most rows have one line of words; further lines are headings. Elsewhere, lines of the last row
    beyond those of the longest other row belong to the page.
    """
    _take_heads(before, rows)
    texts = [_without_time(row) for row in rows]
    if sum(text is not None for text in texts) >= _NEARLY * len(rows) > _NEARLY:
        for row, text in zip(rows, texts, strict=True):
            row.words = [text] if text else row.words[1:2]  # further lines are headings
    elif _are_headed(rows):
        for row in rows:
            if row.words and is_name(row.words[0]):
                row.speaker = row.speaker or name_of(row.words.pop(0))
    if len(rows) >= _MANY:
        sizes = [len(row.words) for row in rows[:-1]]
        is_panel = 2 * sum(size <= 1 for size in sizes) > len(rows) > 2 * sum(map(_is_beside, rows))
        for row in rows if is_panel else rows[-1:]:
            row.words = row.words[: 1 if is_panel else max(sizes)]
    before[:] = [line for line in before if rows[0].start and line.endswith(TERMINAL)]


def _take_heads(before: list[str], rows: Sequence[_Row]) -> None:
    """Move the lines before times to the rows of these times.

    They are numbers, which go, or names, or the words themselves if the times stand behind them.
    """
    lines_before = [before, *(row.words for row in rows[:-1])]
    heads = [lines[-1] for lines in lines_before if lines]
    if heads and (all(map(str.isdigit, heads)) or are_names(heads, len(rows))):
        for lines, row in zip(lines_before, rows, strict=True):
            head = lines.pop() if lines else ""
            row.speaker = row.speaker or (None if head.isdigit() else name_of(head)) or None
    elif rows[0].ends_with_time and not _are_headed(rows):
        carried = [] if rows[0].follows_blank else [*before]
        before.clear()
        for row in rows:
            carried, row.words = row.words[1:], [*carried, *row.words[:1]]
        rows[-1].words += carried


def _are_headed(rows: Sequence[_Row]) -> bool:
    """Tell whether nearly all times have a name beside them, and words below."""
    headed = [row.words[0] for row in rows if len(row.words) > 1 and _is_beside(row)]
    return sum(map(is_name, headed)) >= _NEARLY * len(rows)


def _is_beside(row: _Row) -> bool:
    """Tell whether the first words of a row stand in the line of its time."""
    return bool(row.words) and row.words[0] in row.line


def _without_time(row: _Row) -> str | None:
    """Return a row's first line without the time of the row; None if it does not begin with it."""
    minutes, seconds = divmod(int(row.start or 0.0), 60)
    parts = [part for part in (minutes // 60, minutes % 60, seconds) if part]
    match = _REPEATED.match(row.words[0]) if row.words else None
    if match and [int(digits) for digits in re.findall(r"\d+", match[0]) if int(digits)] == parts:
        return row.words[0][match.end() :].strip()
    return None
