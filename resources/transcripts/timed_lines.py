"""Reads texts with times at the edges of lines: LRC, TMP, copied transcript panels, and so on.

Prose may contain times too. In such a text there are several, they do not decrease, and they stand
at the edges of lines. A line next to a time that repeats it in words ("1 minute, 18 seconds", in
any language) has exactly its numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from resources.transcripts.segments import Caption, captions_of, label_of, speakers_of
from resources.transcripts.times import AMOUNT, CLOCK, seconds_of

_DATE = r"(?:\d{4}-\d\d-\d\d[T\s])?"
_MOMENT = rf"{_DATE}(?:{CLOCK}(?:\s?[AaPp]\.?[Mm]\b\.?)?|{AMOUNT}|\d{{1,5}}\.\d{{1,3}}(?![\d%.]))"
_RANGE = rf"(?P<at>{_MOMENT})(?:\s*(?:-+>?|[–—→,;|]|to)\s*(?P<end>{_MOMENT}))?"
_OPEN, _CLOSE = r"[\[({<【]?", r"(?P<close>[\])}>】]?)"
_EDGE = r"[\s*_`#>|~@•·-]*(?:\d{1,6}[.)]?\s+(?=\S?\d))?"
_BEGINS = re.compile(rf"{_EDGE}{_OPEN}{_RANGE}{_CLOSE}[\s*_`#>|~@•·:–—,;-]*")
_ENDS = re.compile(rf"[\s|@,–—-]*[*_`]*{_OPEN}{_RANGE}{_CLOSE}[\s*_`:]*$")
_INSIDE = re.compile(
    r"(?P<name>[^\W\d][^\n\[\]():|]{0,39}?)(?:\s*:|\s+[-–—|,])?\s*"
    rf"(?P<open>[\[(])?{_RANGE}(?(open)[\])]:?\s+|\s*[-–—|:]\s+)(?=\S)"
)
_TAG_LINE = re.compile(r"\[(?P<key>[a-z#]{2,10}):(?P<value>[^\]]*)\]$")
_HEADING = re.compile(r"#{1,6}\s+(.+)")
_SPOKEN = re.compile(r"\d+\s?[^\W\d_]+\.?(?:(?:,|\s|\s[^\W\d_]{1,3}\s)+\d+\s?[^\W\d_]+\.?){0,2}")
_SPOKEN_END = re.compile(rf"(?<!\d){_SPOKEN.pattern}$")
_TERMINAL: Final = (".", "!", "?", "…", "。", ",", ";")
_BARE_SHARE, _STRONG_SHARE, _SORTED_SHARE, _LABEL_SHARE = 1 / 3, 1 / 25, 0.95, 0.8
_FEW_TIMES, _MANY_TIMES, _NAME_WORDS, _NAME_LENGTH, _LONGEST_LINE_END = 2, 5, 5, 40, 80


@dataclass(frozen=True, slots=True)
class _Line:
    """A line, and its time if it has one at an edge. `strong`: a form that prose does not have."""

    words: str
    at: float | None = None
    end: float | None = None
    strong: bool = False
    at_end: bool = False
    after_blank: bool = False
    raw: str = ""


def read_timed_lines(text: str) -> tuple[list[Caption], str | None] | None:
    """Return the captions and the title of a text with times at the edges of its lines.

    None for prose and anything else.
    """
    text = re.sub(r"(?<=\d)\uff1a(?=\d)", ":", text)
    lines, title = list[_Line](), None
    after_blank = False
    for raw in map(str.strip, text.split("\n")):
        tag = _TAG_LINE.match(raw)
        if tag is None and raw:
            lines += (replace(each, after_blank=after_blank, raw=raw) for each in _lines_of(raw))
        elif tag is not None and tag["key"] == "ti":
            title = tag["value"].strip()
        after_blank = not raw
    lines = _without_early_times(_of_one_layout(lines))
    timed = [line for line in lines if line.at is not None]
    if not _is_timed(lines, timed):
        return None
    named = _with_names(_without_spoken_times(lines))
    return list(_captions(_without_frame(named))), title or _title(lines)


def _lines_of(raw: str) -> Iterator[_Line]:
    """Yield one line for each time before the words; LRC may have several."""
    times, rest = list[tuple[float, float | None, bool]](), raw
    while (match := _BEGINS.match(rest)) and (not times or match["close"]):
        at, end = _seconds(match["at"]), match["end"] and _seconds(match["end"])
        if at is None or (match["end"] and end is None):
            break
        strong = bool(match["close"]) or match["at"].count(":") > 1 or not rest[match.end() :]
        strong = strong or bool(re.search(r":.*[.,]", match["at"]))
        if match["end"] and not strong:
            break
        times.append((at, end or None, strong))
        rest = rest[match.end() :]
    if times:
        for at, end, strong in times:
            yield _Line(rest, at, end, strong)
        return
    inside = _INSIDE.match(raw)
    if inside and _is_name(inside["name"]) and (at := _seconds(inside["at"])) is not None:
        end = _seconds(inside["end"]) if inside["end"] else None
        yield _Line(f"{inside['name'].strip()}: {raw[inside.end() :]}", at, end, True)
        return
    start = max(0, len(raw) - _LONGEST_LINE_END)
    match = _ENDS.search(raw, start)
    at = _seconds(match["at"]) if match else None
    if match is None or at is None or not raw[: match.start()].strip():
        yield _Line(raw)
        return
    words = raw[: match.start()].rstrip(" *_`")
    yield _Line(words, at, None, bool(match["close"]) or _is_name(words), at_end=True)


def _seconds(moment: str) -> float | None:
    return seconds_of(re.sub(rf"^{_DATE}|\s?[AaPp]\.?[Mm]\.?$", "", moment))


def _name(words: str) -> str:
    return re.sub(r"(?<=\S)\s*\([^()]*\)$", "", words.strip(" *_`:[]-–—|")).strip("() ")


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
    falls = [at for (at, time), (_, after) in pairwise(timed[: _FEW_TIMES + 1]) if time > after]
    return lines[falls[-1] + 1 :] if falls and len(timed) >= _MANY_TIMES else lines


def _of_one_layout(lines: list[_Line]) -> list[_Line]:
    """Leave the times only at those edges of lines where most of the times are."""
    at_ends = [line.at_end for line in lines if line.at is not None]
    is_end = 2 * sum(at_ends) >= len(at_ends)
    return [
        line if line.at is None or line.at_end == is_end else replace(line, words=line.raw, at=None)
        for line in lines
    ]


def _is_timed(lines: Sequence[_Line], timed: Sequence[_Line]) -> bool:
    starts = [line.at or 0.0 for line in timed]
    rising = sum(after >= before for before, after in pairwise(starts))
    repeated = len(timed) - len({id(line.words) for line in timed})
    strong = sum(line.strong for line in timed)
    if strong and strong >= len(timed) / 2:
        return (
            len(timed) >= _STRONG_SHARE * len(lines)
            and (len(timed) > 1 or lines[0] is timed[0])
            and (repeated > 0 or rising >= _SORTED_SHARE * (len(timed) - 1))
        )
    return (
        len(timed) > 1
        and (lines[0].at is not None or len(timed) >= _MANY_TIMES)
        and rising == len(timed) - 1
        and len(timed) >= _BARE_SHARE * len(lines)
    )


def _without_spoken_times(lines: Sequence[_Line]) -> list[_Line]:
    """Remove times repeated in words, if nearly every time of the text has such a repetition."""
    found: dict[int, str] = {}
    last, heading, has_words, named = -1.0, "", False, False
    for index, line in enumerate(lines):
        if line.at is not None:
            last, has_words = line.at, False
            heading = lines[index - 1].words if index else ""
        rest = None if has_words else _without_time(line.words, last)
        if rest is not None:
            named = named or (bool(rest) and rest == heading)
            found[index] = rest = "" if rest == heading else rest
        has_words = bool(line.words if rest is None else rest)
    times = sum(line.at is not None for line in lines)
    if len(found) < _LABEL_SHARE * times:
        return list(lines)
    # A panel has one line of words for each time; a further line is a heading.
    plain, has_words = list[_Line](), False
    for at, each in enumerate(lines):
        words = found.get(at, each.words)
        if each.at is not None:
            plain.append(replace(each, words=words, at_end=each.at_end and words == each.words))
            has_words = bool(words) and at in found
        elif words and (named or not has_words):
            plain.append(replace(each, words=words))
            has_words = True
    return plain


def _without_time(words: str, at: float) -> str | None:
    """Remove a time in words at either end of a line; None if it has not exactly this one."""
    start = max(0, len(words) - _LONGEST_LINE_END)
    for match in (_SPOKEN.match(words), _SPOKEN_END.search(words, start)):
        if match and _numbers(match[0]) == _parts_of(at):
            return f"{words[: match.start()]}{words[match.end() :]}".strip()
    return None


def _numbers(words: str) -> list[int]:
    return [number for number in map(int, re.findall(r"\d+", words)) if number]


def _parts_of(seconds: float) -> list[int]:
    minutes, rest = divmod(int(seconds), 60)
    return [part for part in (minutes // 60, minutes % 60, rest) if part]


def _with_names(lines: Sequence[_Line]) -> list[tuple[str | None, _Line]]:
    """Return each line with the name next to its time or on the line before."""
    named: list[tuple[str | None, _Line]] = [(None, line) for line in lines]
    headed = [
        at
        for at, line in enumerate(lines)
        if (line.at is not None and _is_name(line.words))
        and (
            line.words.endswith(":")
            or (at + 1 < len(lines) and lines[at + 1].at is None and lines[at + 1].words)
        )
    ]
    with_words = sum(line.at is not None and bool(line.words) for line in lines)
    if headed and len(headed) >= _LABEL_SHARE * with_words:
        for at in headed:
            line = lines[at]
            named[at] = (_name(line.words), _Line("", line.at, line.end, True))
        return named
    alone = [at for at, line in enumerate(lines) if line.at is not None and not line.words]
    before = [
        at for at in alone if at and lines[at - 1].at is None and _is_name(lines[at - 1].words)
    ]
    after = [
        at
        for at in alone
        if len(lines) > at + _FEW_TIMES
        and lines[at + 1].at is None
        and lines[at + _FEW_TIMES].at is None
        and _is_name(lines[at + 1].words)
    ]
    for beside, step in ((before, -1), (after, 1)):
        heads = [lines[at + step].words for at in beside]
        recur = len(set(heads)) < len(heads) or all(head.endswith(":") for head in heads)
        is_first = step > 0 or beside[:1] == [1]
        if beside and recur and len(beside) >= _LABEL_SHARE * len(alone) and is_first:
            for at in beside:
                named[at] = (_name(lines[at + step].words), lines[at])
                named[at + step] = (None, _Line(""))
            break
    return named


def _without_frame(lines: Sequence[tuple[str | None, _Line]]) -> list[tuple[str | None, _Line]]:
    """Remove headings, and text around the cues.

    Nobody speaks before the time 0:00. After the last cue, a further paragraph is no words of it if
    no other cue has two, and a further line is none if every other cue has only one.
    """
    kept = [
        (name, line)
        for name, line in lines
        if line.at is not None or (line.words and not _HEADING.match(line.words))
    ]
    words = [line.words for _, line in kept]
    speakers = speakers_of(words, timed=True)
    timed = [
        at
        for at, (_, line) in enumerate(kept)
        if line.at is not None or ((label := label_of(line.words)) and label["name"] in speakers)
    ]
    first, last = timed[0] if kept[timed[0]][1].at == 0 else 0, timed[-1]
    starts = {*timed}
    inside = [at for at in range(timed[0] + 1, len(kept)) if at not in starts and words[at - 1]]
    paragraphs = [at for at in inside if kept[at][1].after_blank]
    cuts = [
        at
        for few, found in ((_FEW_TIMES, paragraphs[:1]), (_MANY_TIMES, inside[:1]))
        for at in found
        if at > last + kept[last][1].at_end and len(timed) >= few
    ]
    return kept[first : min(cuts, default=len(kept))]


def _title(lines: Sequence[_Line]) -> str | None:
    heading = _HEADING.match(lines[0].words) if lines[0].at is None else None
    return heading[1].strip() if heading else None


def _captions(lines: Sequence[tuple[str | None, _Line]]) -> Iterator[Caption]:
    starts = sorted({line.at for _, line in lines if line.at is not None})
    following = dict(pairwise(starts))
    words: list[str] = []
    at: float | None = None
    end: float | None = None
    speaker: str | None = None

    def finish() -> Iterator[Caption]:
        start = at or 0.0
        until = starts[0] if at is None else end or following.get(at, at)
        # TMP and STL write a line break as a bar.
        for caption in captions_of("\n".join(words).replace("|", "\n"), start, until, speaker):
            if caption.lines:
                yield caption

    for name, line in lines:
        if line.at is None:
            # Before the first time, a line that does not end like a sentence is a title.
            if at is not None or line.words.endswith(_TERMINAL):
                words.append(line.words)
            continue
        if line.at_end and not name:
            words.append(line.words)
            at = line.at
            yield from finish()
            words.clear()
            continue
        yield from finish()
        words.clear()
        at, end = line.at, line.end
        speaker = name or speaker
        if line.words:
            words.append(line.words)
    yield from finish()
