"""Makes one transcript of the captions of a file: each word once, in order, with its speaker.

It cleans the text of captions, separates speaker labels, and removes repeated words and credits.
"""

from __future__ import annotations

import html
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Final, TypeVar

from resources.lines import PlacedError
from resources.transcripts import base
from resources.transcripts.speech import check_speech, folded

MAX_CUES: Final = 200_000
"""Limit of a transcript. Twenty hours of live captions have 100,000."""

Item = TypeVar("Item")


class NothingSaidError(PlacedError):
    """The captions are intact, but nobody speaks in them."""

    def __init__(self, sentence: str) -> None:
        super().__init__(None, sentence)


@dataclass(frozen=True, slots=True)
class Caption:
    """One caption of a file: lines without markup, times in seconds.

    `start` is None in a text without times. An unknown end equals the start.
    """

    lines: tuple[str, ...]
    start: float | None
    end: float = 0.0
    speaker: str | None = None
    new_turn: bool = False
    timed_by_word: bool = False


# --- The text of one caption --------------------------------------------------------------------

INVISIBLE: Final = re.compile(
    "[\u0000-\u0008\u000e-\u001f\u007f\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069"
    "\ud800-\udfff\ufeff]"
)
"""Control and zero-width characters, marks of direction, and surrogates, which no file can hold."""
STOPS: Final = (".", "!", "?", "…", "。", "\uff01", "\uff1f")
_TAG = re.compile(
    r"</?(?:(?:b|i|u|s|c|v|ruby|rt|lang|em|strong|p)(?:\.[^\s<>]*)?"
    r"|(?:font|span)(?:\s+[\w-]+\s*=[^<>]*)?)\s?/?>|<\d+:[\d:.]+>|\{\\[^{}]*\}",
    re.IGNORECASE,
)
_ANNOTATED_TAG = re.compile(r"<(?:c|lang)(?:\.[^\s<>]*)?\s[^<>]*>", re.IGNORECASE)
_VOICE = re.compile(r"<v(?:\.[^\s<>]*)?[ \t]+([^<>]+)>", re.IGNORECASE)
_LINE_BREAK = re.compile(r"<br\s*/?>|\[br\]|\\N", re.IGNORECASE)
_NEW_LINE = re.compile(r"\n|\s(?=>>)")
_ENTITY = re.compile(r"&(?:#\d+|#[xX][0-9a-fA-F]+|[A-Za-z][A-Za-z0-9]*);")
_WORD_TIME = re.compile(r"<\d+:[\d:.]+>")


def one_line(text: str) -> str:
    """Remove invisible characters, and replace white space and line breaks by single spaces."""
    return " ".join(INVISIBLE.sub("", text).split())


def captions_of(
    raw: str, start: float | None, end: float | None, speaker: str | None = None
) -> Iterator[Caption]:
    """Yield one caption for each voice in a marked-up text."""
    by_word = _WORD_TIME.search(raw) is not None
    voices = _VOICE.split(raw)
    for name, text in zip([speaker, *voices[1::2]], voices[::2], strict=True):
        plain = _TAG.sub("", _ANNOTATED_TAG.sub("", _LINE_BREAK.sub("\n", text)))
        shown = _ENTITY.sub(lambda match: html.unescape(match[0]), plain)
        lines = tuple(filter(None, map(one_line, _NEW_LINE.split(shown))))
        if lines or len(voices) == 1:
            named = one_line(name or "") or None
            yield Caption(lines, start, end or start or 0.0, named, timed_by_word=by_word)


# --- Captions that repeat earlier words ---------------------------------------------------------

_ROLLING_GAP_SECONDS = 0.1
_MIN_ROLLED = 3
_MIN_ROLLED_SHARE = 0.25
_LONGEST_REPEAT = 80  # words; three lines have about 40
_LOOP, _LOOP_WORDS, _LONGEST_LOOP = 3, 3, 4
_SENTENCE_END = re.compile("(?<=[.!?\u2026\u3002\uff01\uff1f])\\s+")
_CREDIT = re.compile(
    r"(?:https?://|www\.)\S+|\b[\w-]{2,40}\.(?:com|org|net|ai|tv|io)\b|©\s?\w"
    r"|^\W*(?:(?:closed )?caption|subtitle|transcript|transcrib|translat)\w*\b.{0,60}\bby\b",
    re.IGNORECASE,
)
_CREDIT_WORDS, _SLOW = 14, 5


def undo_rolling(captions: Sequence[Caption]) -> list[Caption]:
    """Remove words that captions repeat from earlier ones, if the captions roll.

    Rolling captions repeat the last line above a new one, or a line that grows word by word.
    Captions roll if every word has a time, or if many begin with the last words shown and go on.
    In other files a repetition is really spoken, and stays.
    """
    repeats, shown = [], list[str]()
    before: Caption | None = None
    for caption in captions:
        words = [folded(word) for line in caption.lines for word in line.split()]
        longest = min(len(words), len(shown), _LONGEST_REPEAT)
        if before is None or (caption.start or 0.0) > before.end + _ROLLING_GAP_SECONDS:
            longest = 0
        count = next((n for n in range(longest, 0, -1) if shown[-n:] == words[:n]), 0)
        repeats.append(count)
        shown = [*shown[-_LONGEST_REPEAT:], *words[count:]]
        before = caption if words else before
    rolled = sum(_rolls(each, n) for each, n in zip(captions, repeats, strict=True))
    are_timed_by_word = any(caption.timed_by_word for caption in captions)
    if rolled >= (1 if are_timed_by_word else _MIN_ROLLED) and (
        rolled >= _MIN_ROLLED_SHARE * len(captions)
    ):
        return [_without(each, n) for each, n in zip(captions, repeats, strict=True)]
    return list(captions)


def _rolls(caption: Caption, count: int) -> bool:
    """Tell whether a caption repeats several words, or whole lines, and goes on."""
    lengths = list(itertools.accumulate(len(line.split()) for line in caption.lines))
    return 0 < count < lengths[-1] and (count > 1 or count in lengths) if lengths else False


def _without(caption: Caption, count: int) -> Caption:
    lines = []
    for line in caption.lines:
        words = line.split()
        if rest := words[count:]:
            lines.append(" ".join(rest))
        count = max(0, count - len(words))
    return replace(caption, lines=tuple(lines))


def without_repetitions(items: Sequence[Item], words: Callable[[Item], str]) -> list[Item]:
    """Keep one of three or more repetitions in a row, an error of speech recognisers.

    The repeated part has up to four items and at least three words.
    """
    keys = [" ".join(map(folded, words(item).split())) for item in items]
    kept, at = list[Item](), 0
    while at < len(items):
        for length in range(1, _LONGEST_LOOP + 1):
            block, times = keys[at : at + length], 1
            if len(" ".join(block).split()) < _LOOP_WORDS:
                continue
            while keys[at + times * length : at + (times + 1) * length] == block:
                times += 1
            if times >= _LOOP:
                kept += items[at : at + length]
                at += times * length
                break
        else:
            kept.append(items[at])
            at += 1
    return kept


def _without_repetition(caption: Caption) -> Caption:
    sentences = _SENTENCE_END.split(" ".join(caption.lines))
    once = without_repetitions(sentences, str)
    return caption if len(once) == len(sentences) else replace(caption, lines=(" ".join(once),))


def _without_credits(captions: Sequence[Caption]) -> Sequence[Caption]:
    """Remove credits at either end: short texts with an address, or with "by".

    Beyond a credit, texts that stay much longer than their words take are credits too. Speech
    recognisers invent them for silence.
    """
    texts = [" ".join(caption.lines) for caption in captions]
    is_credit = [len(t.split()) <= _CREDIT_WORDS and bool(_CREDIT.search(t)) for t in texts]
    if not any(is_credit):
        return captions
    paces = [(c.end - (c.start or 0.0)) / len(t) for c, t in zip(captions, texts, strict=True)]
    usual = median(paces)
    slow = [pace > _SLOW * usual > 0 for pace in paces]

    def leading(ordered: Iterable[tuple[bool, bool]]) -> int:
        count = 0
        for at, (credited, slowly) in enumerate(ordered, 1):
            if not (credited or slowly):
                break
            count = at if credited else count
        return count

    both = list(zip(is_credit, slow, strict=True))
    return captions[leading(both) : len(captions) - leading(reversed(both))]


# --- Speakers -----------------------------------------------------------------------------------

_NAME = r"(?:[^\W\d_a-z]|[a-z](?=[A-Z]))[\w.'’&#/-]*"
_LABEL = re.compile(
    r"(?P<turn>>{2,}\s*|[-–]\s+|\d{1,3}\.\s)?(?P<open>[\[(])?"
    rf"(?P<name>{_NAME}(?:,?\s(?:[^\W\d]{{1,3}}\s){{0,2}}(?:{_NAME}|\#?\d{{1,3}})){{0,4}})"
    r"(?(open)[\])])(?:\s*\([^()]{1,30}\)){0,2}\s?[:\uff1a](?=\s|$|[^\x00-\x7f])\s*"
)
_TURN = re.compile(r"(?:>{2,}|[-–](?=[\s\w\[¿¡]))\s*")
_DASH = re.compile(r"[-–][\s\w\[¿¡]")
_NO_SPEAKERS = frozenset(
    {
        "answer", "claim", "conclusion", "correction", "fact", "facts", "false", "fiction",
        "misconception", "myth", "note", "question", "rating", "reality", "result", "true", "truth",
        "verdict", "warning",
    }
)  # fmt: skip
"""Labels of statements, not of speakers."""
_MAX_LABEL = 60
_FEW_LABELS, _LABELLED_SHARE = 2, 0.3


def label_of(line: str) -> re.Match[str] | None:
    return _LABEL.match(line[:_MAX_LABEL])


_NAMES = rf"(?P<name>{_NAME}(?:\s{_NAME}){{0,3}})"
_BRACKETED = re.compile(
    rf"[-–\s]*(?P<mark>\*\*|__|[\[(<])?{_NAMES}(?(mark):?(?:\*\*|__|[\])>]):?\s|(?:(?P<stop>\.\s)|\s[-–—|]\s|\t))"
    r"\s*(?=\S)"
)


def _set_apart(text: str) -> re.Match[str] | None:
    """Match a name that a mark sets apart; before a full stop, it is in capitals ("Mr. BERG.")."""
    match = None if label_of(text) else _BRACKETED.match(text[:_MAX_LABEL])
    if match and match["stop"] and (text.isupper() or not match["name"].split()[-1].isupper()):
        return None
    return match


def with_colons(texts: Sequence[str]) -> list[str]:
    """Write names that brackets, bold, a dash or a full stop set apart as "Name: ".

    Half of the texts begin with one, and few of them name everybody; sounds in brackets are rarer.
    """
    found = [_set_apart(text) for text in texts]
    names = [match["name"] for match in found if match]
    are_marked = len(names) == len(texts) and all(match and match["mark"] for match in found)
    recur = len({*names}) <= len(names) / 2 or are_marked
    if len(names) < max(_FEW_LABELS, len(texts) / 2) or not recur:
        return list(texts)
    return [
        f"{match['name']}: {text[match.end() :]}" if match else text
        for match, text in zip(found, texts, strict=True)
    ]


def with_speakers(captions: Sequence[Caption]) -> list[Caption]:
    """Separate speaker labels such as "ANNA:", "Speaker 1:", ">>" and dashes from the texts.

    A change of speaker splits a caption, and its time by the number of characters. A label applies
    until the next one.
    """
    firsts = with_colons([caption.lines[0] for caption in captions])
    captions = [
        replace(caption, lines=(first, *caption.lines[1:]))
        for caption, first in zip(captions, firsts, strict=True)
    ]
    lines = [line for caption in captions for line in caption.lines]
    timed = any(caption.start is not None for caption in captions)
    speakers = speakers_of(lines, timed=timed)
    divided: list[Caption] = []
    current: str | None = None
    for caption in captions:
        if caption.speaker is not None:
            current = None
        dashes = sum(_DASH.match(line) is not None for line in caption.lines)
        dashed = timed and (dashes > 1 or any(line[:2] == "- " for line in caption.lines[:1]))
        for part in _parts(caption, speakers, dashed=dashed):
            current = part.speaker if part.new_turn else current
            divided.append(replace(part, speaker=part.speaker or caption.speaker or current))
    return divided


def speakers_of(lines: Sequence[str], *, timed: bool) -> set[str]:
    """Return the labels of lines that name a speaker.

    Such a label follows ">>", is in capitals, recurs, or a third of all lines have one and some
    recur. Captions may all have one that does not recur. A label of words that the text also has in
    small letters must recur.
    """
    found = [match for line in lines if (match := label_of(line))]
    counts = Counter(match["name"] for match in found)
    text = " ".join(lines)
    everyday = {folded(word) for word in text.split() if word.islower()} if found else set()
    marked = {match["name"] for match in found if (match["turn"] or "").startswith(">")}
    small = sum(map(str.islower, text)) > sum(map(str.isupper, text))
    often = len(found) >= max(_FEW_LABELS, _LABELLED_SHARE * len(lines))
    often = often and (len(counts) < len(found) or (timed and len(found) == len(lines)))
    speakers = set()
    for name, count in counts.items():
        words = [folded(word) for word in name.split()]
        usual, recurs = everyday.issuperset(words), count >= _FEW_LABELS
        names = (recurs and often) or ((recurs or often) and not usual)
        is_sure = name in marked or (small and name.isupper())
        if (is_sure or names) and not _NO_SPEAKERS.intersection((words[0], words[-1])):
            speakers.add(name)
    numbered = {name for name in speakers if name[-1].isdigit() and counts[name] == 1}
    if len(numbered) > 1 and len(found) < len(lines):
        speakers -= numbered  # "Chapter 1: …", "Chapter 2: …" are headings
    return speakers


def _parts(caption: Caption, speakers: set[str], *, dashed: bool) -> Iterator[Caption]:
    parts: list[list[str]] = [[]]
    heads: list[tuple[str | None, bool]] = [(None, caption.new_turn)]
    for line in caption.lines:
        match, turn = label_of(line), _TURN.match(line)
        is_turn = turn is not None and (dashed or turn[0].startswith(">"))
        if match is not None and match["name"] in speakers:
            head, rest = (match["name"], True), line[match.end() :]
        elif is_turn and turn is not None:
            head, rest = (None, True), line[turn.end() :]
        else:
            parts[-1].append(line)
            continue
        if parts[-1]:
            parts.append([])
            heads.append(head)
        else:
            heads[-1] = head
        if rest:
            parts[-1].append(rest)
    # The time of each part is proportional to its characters.
    whole = sum(sum(map(len, lines)) for lines in parts) or 1
    lasts = 0.0 if caption.start is None else caption.end - caption.start
    at = 0
    for (name, is_new), lines in zip(heads, parts, strict=True):
        start, end = caption.start, caption.end
        before, at = at, at + sum(map(len, lines))
        if start is not None and len(parts) > 1:
            start, end = (round(start + lasts * each / whole, 3) for each in (before, at))
        yield replace(
            caption, lines=tuple(lines), start=start, end=end, speaker=name, new_turn=is_new
        )


# --- Sounds -------------------------------------------------------------------------------------

_NOISE = r"\[[^\[\]]{0,80}\]|\([^()]{0,79}[^().!?]\)|\*[^*]{1,80}\*|([♪♫#])[^♪♫#]{1,80}\1|[♪♫]"
_NOISES = re.compile(_NOISE)
_AT_AN_EDGE = re.compile(
    r"^(?:[-–\s]*(?:\[[^\[\]:]{1,60}\]|\([^\W\d_]+(?:\s[^\W\d_]+)?\)|[♪♫]))+\s+(?!:)"
    r"|\s(?:\[[^\[\]:]{1,60}\]|[♪♫])$|(?<=[.!?…]\s)\([a-zß-ÿ]{1,20}(?:\s[a-zß-ÿ]{1,20})?\)\s"
)


def without_sounds(captions: Sequence[Caption]) -> list[Caption]:
    """Remove noises in brackets or between notes, alone or at the edges of captions and sentences.

    They are not said. A sentence in round brackets is spoken. NothingSaidError if nothing is left.
    """
    kept, heard = list[Caption](), list[str]()
    for caption in captions:
        text = " ".join(caption.lines)
        if not any(map(str.isalnum, _NOISES.sub("", text))):
            heard.append(text)
            continue
        said = tuple(filter(None, (_AT_AN_EDGE.sub("", line) for line in caption.lines)))
        kept.append(replace(caption, lines=said))
    if heard and not kept and any(map(str.isalnum, "".join(heard))):
        names = ", ".join(dict.fromkeys(heard))[:120]
        raise NothingSaidError(f"Nothing is said in it: its captions hold only {names}.")
    return kept


# --- The whole ----------------------------------------------------------------------------------


def transcript_of(captions: Iterable[Caption]) -> base.TimedText:
    """Make a transcript of captions: sorted by time, each word once, with separate speakers.

    PlacedError if there are more than MAX_CUES, nobody speaks, or the words are not speech.
    """
    ordered = sorted(captions, key=lambda caption: caption.start or 0.0)
    if len(ordered) > MAX_CUES:
        much = f"{len(ordered):,} captions, and a transcript at most {MAX_CUES:,}"
        raise PlacedError(None, f"The file has {much}. Divide it.")
    # Layers of SubStation and the borders of HLS segments repeat captions.
    timed = any(each.start is not None for each in ordered)
    once = undo_rolling(list(dict.fromkeys(ordered))) if timed else ordered
    spoken = with_speakers([each for each in once if each.lines])
    spoken = without_sounds([_without_repetition(each) for each in spoken if each.lines])
    spoken = without_repetitions(
        spoken, lambda each: f"{' '.join(each.lines)} {each.speaker or ''}"
    )
    cues = list[base.Cue]()
    speaker: str | None = None
    for caption in _without_credits(spoken):
        start, end = caption.start, caption.end
        changes = caption.new_turn or (caption.speaker != speaker and bool(cues))
        # Whole milliseconds, against rounding errors of the difference.
        lasts = 0.0 if start is None else max(0.0, round(end - start, 3))
        text = " ".join(caption.lines)
        cues.append(base.Cue(text, start, lasts, caption.speaker, new_turn=changes))
        speaker = caption.speaker
    if not cues:
        raise NothingSaidError("No caption of the file has words. Give one with speech.")
    have_ends = any(before.end != after.start for before, after in itertools.pairwise(spoken))
    starts = [cue.start_seconds for cue in cues]
    check_speech([cue.text for cue in cues], starts, have_ends=have_ends)
    return base.TimedText(cues=tuple(cues))
