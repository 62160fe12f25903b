"""Turns the captions of a file into a transcript: each word once, in order, with its speaker.

Every reader returns a `CaptionFile`: captions as the file has them, with markup and labels. This
module cleans their text and removes repeated words, sounds and credits.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from resources.text_files import PlacedError
from resources.transcripts import base
from resources.transcripts.base import Caption
from resources.transcripts.credits import without_credits
from resources.transcripts.plausibility import SENTENCE_END, check_speech, folded, word_count
from resources.transcripts.speakers import with_speakers

MAX_CUES: Final = 200_000
"""Limit of a transcript. Twenty hours of live captions have 100,000."""

Item = TypeVar("Item")


class NothingSaidError(PlacedError):
    """The captions are intact, but nobody speaks in them."""


@dataclass(frozen=True, slots=True)
class CaptionFile:
    """The captions in a file, and the file's own metadata."""

    captions: Sequence[Caption]
    language: str | None = None
    kind: base.TranscriptKind = "unknown"
    title: str | None = None
    lines: Sequence[str] = ()
    """The file's lines, for the check that no prose of them was lost."""


def transcript_of(raw_captions: Iterable[Caption]) -> base.TimedText:
    """Make a transcript of captions: sorted by time, each word once, with separate speakers.

    PlacedError if there are more than MAX_CUES, nobody speaks, or the words are not speech.
    """
    raw = list(raw_captions)
    by_word = any(WORD_TIME.search(caption.text) for caption in raw)
    captions = [voice for caption in raw for voice in _voices(caption)]
    if len(captions) > MAX_CUES:
        numbers = f"{len(captions):,} captions, and a transcript at most {MAX_CUES:,}"
        raise PlacedError(f"The file has {numbers}. Divide it.")
    if any(caption.start is not None for caption in captions):
        # Layers of SubStation and the borders of HLS segments repeat captions.
        captions = sorted(dict.fromkeys(captions), key=lambda caption: caption.begins)
    captions = undo_rolling(captions, by_word=by_word)
    captions = with_speakers([caption for caption in captions if caption.text])
    captions = [caption for caption in map(_without_repetition, captions) if caption.text]
    captions = without_sounds(captions)
    captions = without_repetitions(captions, lambda cue: f"{cue.text} {cue.speaker or ''}")
    cues, speaker = list[base.Cue](), captions[0].speaker if captions else None
    for caption in without_credits(captions):
        text, start = one_line(caption.text), caption.start
        # Whole milliseconds, against rounding errors of the difference.
        seconds = 0.0 if start is None else max(0.0, round(caption.end - start, 3))
        is_turn, speaker = caption.new_turn or caption.speaker != speaker, caption.speaker
        cues.append(base.Cue(text, start, seconds, speaker, new_turn=is_turn))
    if not cues:
        raise NothingSaidError("No caption of the file has words. Give one with speech.")
    check_speech(
        [cue.text for cue in cues], [(cue.start_seconds, cue.duration_seconds) for cue in cues]
    )
    return base.TimedText(cues=tuple(cues))


# --- The text of one caption --------------------------------------------------------------------

INVISIBLE: Final = re.compile(
    "[\u0000-\u0008\u000e-\u001f\u007f\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069"
    "\ud800-\udfff\ufeff]"
)
"""Control and zero-width characters, marks of direction, and surrogates, which no file can hold."""
WORD_TIME: Final = re.compile(r"<\d+:[\d:.]+>")
REMARK: Final = re.compile(r" ?\[[^\[\]\d\n]{0,40}\d{1,2}(?::\d\d){1,2}\]")
"""A time that a transcriber puts among the words: "[00:13:20]", "[inaudible 00:22]"."""
_TAG = re.compile(
    r"<rt>[^<>]*</rt>|<\s?/?\s?(?:(?:b|i|u|s|c|v|ruby|rt|lang|em|strong|p|font|span)(?:\.[^\s<>]*)?"
    rf"|(?:c|lang|font|span)(?:\.[^\s<>]*)?\s[^<>]*)\s?/?>|<\d+:[\d:.]+>|\{{\\[^{{}}]*\}}"
    rf"|\^[BIU]|{REMARK.pattern}",
    re.IGNORECASE,
)
"""Markup, readings beside a Japanese word, times of words, and remarks."""
_VOICE = re.compile(r"<v(?:\.[^\s<>]*)?[ \t]+([^<>]+)>", re.IGNORECASE)
_LINE_BREAK = re.compile(r"<\s?br\s*/?>|\[br\]|\\N|\s?\|\s?", re.IGNORECASE)
_NEW_LINE = re.compile(r"\n|\s(?=>>)")
_ENTITY = re.compile(r"&(?:#\d+|#[xX][0-9a-fA-F]+|[A-Za-z][A-Za-z0-9]*);")


def one_line(text: str) -> str:
    """Remove invisible characters, and replace white space and line breaks by single spaces."""
    return " ".join(INVISIBLE.sub("", text).split())


def _voices(caption: Caption) -> Iterator[Caption]:
    """Yield one caption for each voice in a marked-up caption, with clean lines."""
    voices = _VOICE.split(caption.text)
    for name, text in zip([caption.speaker, *voices[1::2]], voices[::2], strict=True):
        plain = _TAG.sub("", _LINE_BREAK.sub("\n", text))
        plain = _ENTITY.sub(lambda match: html.unescape(match[0]), plain.replace("&amp;", "&"))
        lines = "\n".join(filter(None, map(one_line, _NEW_LINE.split(plain))))
        if lines or len(voices) == 1:
            yield replace(caption, text=lines, speaker=one_line(name or "") or None)


# --- Captions that repeat earlier words ---------------------------------------------------------

_ROLLING_GAP_SECONDS, _MOST_GROWN = 1.0, 3  # between captions; words that a line grows at once
_MIN_ROLLED, _MIN_ROLLED_SHARE = 3, 0.25  # captions
_LONGEST_REPEAT = 80  # words; three lines have about 40


def undo_rolling(captions: Sequence[Caption], *, by_word: bool) -> list[Caption]:
    """Remove words that captions repeat from earlier ones, if the captions roll.

    Rolling captions repeat the last line above a new one, or a line that grows word by word; that
    becomes one caption. Captions roll if every word has a time, or if many begin with the last
    words shown and go on. In other files a repetition is really spoken, and stays.
    """
    repeated, grows = list[int](), list[bool]()  # for each caption: words, and of a growing line
    screen, rolling = list[str](), 0  # the last words shown, and the number of rolling captions
    last, last_words = None, list[str]()  # the last caption with words, and its words
    for caption in captions:
        words = [folded(word) for word in caption.text.split()]
        longest = min(len(words), len(screen), _LONGEST_REPEAT)
        if last is None or caption.begins > last.end + _ROLLING_GAP_SECONDS:
            longest = 0
        count = next((n for n in range(longest, 0, -1) if screen[-n:] == words[:n]), 0)
        repeated.append(count)
        is_same_line = last is not None and last.text.count("\n") == caption.text.count("\n")
        is_line = count > 1 or len(caption.text.partition("\n")[0].split()) == count
        rolling += is_line and 0 < count < len(words)
        grows.append(0 < count == len(last_words) >= len(words) - _MOST_GROWN and is_same_line)
        screen = [*screen[-_LONGEST_REPEAT:], *words[count:]]
        last, last_words = (caption, words) if words else (last, last_words)
    if rolling < max(1 if by_word else _MIN_ROLLED, _MIN_ROLLED_SHARE * len(captions)):
        return list(captions)
    unrolled = list[Caption]()
    for caption, count, is_growing in zip(captions, repeated, grows, strict=True):
        text = "".join(caption.text.split(None, count)[count:])
        if is_growing and unrolled:
            line = f"{unrolled[-1].text} {text}".strip()
            unrolled[-1] = replace(unrolled[-1], text=line, end=caption.end)
        else:
            unrolled.append(replace(caption, text=text))
    return unrolled


_LOOP, _LOOP_WORDS, _LONGEST_LOOP = 3, 9, 4  # repetitions, their words, and items of a part


def without_repetitions(items: Sequence[Item], words: Callable[[Item], str]) -> list[Item]:
    """Keep one of three or more repetitions in a row, an error of speech recognisers.

    The repeated part has up to four items, and its repetitions have nine words or more in all.
    """
    keys = [" ".join(map(folded, words(item).split())) for item in items]
    distinct, at = list[Item](), 0
    while at < len(items):
        for length in range(1, _LONGEST_LOOP + 1):
            part, times = keys[at : at + length], 1
            while keys[at + times * length : at + (times + 1) * length] == part:
                times += 1
            if times >= _LOOP and times * word_count(" ".join(part)) >= _LOOP_WORDS:
                distinct += items[at : at + length]
                at += times * length
                break
        else:
            distinct.append(items[at])
            at += 1
    return distinct


def _without_repetition(caption: Caption) -> Caption:
    for divided in (SENTENCE_END.split(caption.text), caption.text.split()):
        distinct = without_repetitions(divided, str)
        if len(distinct) < len(divided):
            return replace(caption, text=" ".join(distinct))
    return caption


# --- Sounds -------------------------------------------------------------------------------------

_NOISES = re.compile(  # "[applause]", "(laughs)", "♪ la la ♪"
    r"\[[^\[\]]{0,80}\]|\([^()]{0,79}[^().!?]\)|\*[^*]{1,80}\*|([♪♫#])[^♪♫#]{1,80}\1|[♪♫]"
)
_SOUNDS = re.compile(
    r"^(?:[-–\s]*(?:\[[^\[\]:]{1,60}\]|\([^\W\d_]+(?:\s[^\W\d_]+)?\)|[♪♫]))+\s+(?!:)"
    r"|\s(?:\[[^\[\]:]{1,60}\]|[♪♫])$|\s\[[a-zß-ÿа-я ]{5,40}\](?=[\s.,!?])"
    r"|(?<=[.!?…]\s)\([a-zß-ÿ]{1,20}(?:\s[a-zß-ÿ]{1,20})?\)\s",
    re.MULTILINE,
)


def without_sounds(captions: Sequence[Caption]) -> list[Caption]:
    """Remove noises in brackets or between notes, alone or at the edges of captions and sentences.

    Nobody says them, nor words in small letters and square brackets. A sentence in round brackets
    is spoken. NothingSaidError if nothing is left.
    """
    spoken, noises = list[Caption](), list[str]()
    for caption in captions:
        if any(map(str.isalnum, _NOISES.sub("", one_line(caption.text)))):
            spoken.append(replace(caption, text=_SOUNDS.sub("", caption.text).strip()))
        else:
            noises.append(one_line(caption.text))
    if noises and not spoken and any(map(str.isalnum, "".join(noises))):
        names = ", ".join(dict.fromkeys(noises))[:120]
        raise NothingSaidError(f"Nothing is said in it: its captions hold only {names}.")
    return spoken
