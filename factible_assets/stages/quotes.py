"""Checks that a page's text contains the quotes of its reading, and widens them to sentences."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeAlias

from factible_assets.records.stances import SIDES
from factible_assets.stages.ports import EvidenceDraft, WithCalls, clamped
from resources.words import UNSPACED

QUOTED = re.compile(
    '["\u201c\u201e\u00ab\u00bb]([^"\u201c\u201d\u201e\u00ab\u00bb]+)["\u201d\u201c\u00bb\u00ab]'
)
"""Words in quotation marks, English, German or French ones."""
MIN_QUOTE_CHARACTERS = 12
"""Letters and digits of the shortest quote: a single word proves nothing."""
MIN_QUOTE_WORDS = 4
"""Words of the shortest quote that is no sentence; without spaces two characters are a word."""
CONTRADICTED = "contradicted"
"""The ground of evidence without a stance, because its quote says the contrary of its reading."""


def check_words(draft: EvidenceDraft, text: str) -> dict[str, Any]:
    """Return the columns of a reading after its quotes were looked up in the text.

    The first quote that the text contains is kept, widened to its sentences. A definite stance
    without such a quote, or with a quote that says the contrary, becomes `unclear`.
    """
    finder = QuoteFinder(text)
    places = [finder.find(quote) for quote in draft.quotes if quote.strip()]
    verified = [whole_sentences(text, *place) for place in places if place is not None]
    misquotes = len(finder.misquotes(draft.summary))
    stance, ground, reason = draft.stance, draft.ground, None
    if draft.contradicted:
        stance, ground = "unclear", CONTRADICTED
        reason = f"The reader took it as {draft.stance}; its quoted passage says the contrary."
    elif stance != "unclear" and not verified:
        stance, ground = "unclear", None
        reason = f"The reader took it as {draft.stance} and could quote no passage for that."
    start, end = verified[0] if verified else (None, None)
    return {
        "stance": stance,
        "stance_confidence": clamped(draft.stance_confidence) if stance == draft.stance else 0.0,
        "ground": ground,
        "summary": draft.summary.strip() or None if not misquotes else None,
        "rejected_quotes": len(places) - len(verified) + misquotes,
        "reason": reason,
        "quote": text[start:end] if verified else None,
        "quote_start": start,
        "quote_end": end,
    }


_REACH = 400
"""Characters on either side of a quote in which its sentence may begin and end."""
_SENTENCE_ENDS = re.compile(
    "(?:[!?…]|(?<!\\b[A-Z])(?<!\\b[A-Z][a-z])(?<!\\b[A-Z][a-z]{2})(?<!\\b[A-Z][a-z]{3})(?<!\\bvs)"
    "\\.)[\"'\u201d\u2019)\\]»]*"
    "(?:\\[\\d+\\])*(?=\\s+(?:[^\\sa-z\\d]|\\Z)|\\s*[\\n\\r])"
    "|[\u3002\uff01\uff1f\u0589\u061f\u06d4\u0964\u0965\u104b\u1362\u17d4]"
    "|(?<![:,;\uff1a])(?<![:,;\uff1a]\\s)[\\n\\r\u2028\u2029](?=\\s*[^\\sa-z])"
)
"""No sentence ends at a full stop before a figure or after a capitalised word of up to four letters
("Gov. Smith"): a quote that is too long keeps its denial. Nor does one end at a line break after a
colon, because the words before the colon may deny the next line. The signs of other scripts, from
Chinese to Khmer, always end a sentence."""
_ASKED_OR_QUOTED = ("?", '"', "\u201d", "\u201c", "»", "\uff1f", "\u061f")
_AFTER = 20  # Characters behind an end that show that it is one.


def whole_sentences(text: str, start: int, end: int) -> tuple[int, int]:
    """Widen a quote to its sentences, so that it keeps every denial or condition around it.

    "It is not true that [sugar makes children hyperactive]" says the contrary of its end. If no
    sentence ends within 400 characters, the quote ends at a word. A line break ends a sentence
    unless the next line goes on in lower case. A question or a quotation takes the next sentence
    along, which answers it.
    """
    earliest = max(0, start - _REACH)
    ends = [match.end() for match in _SENTENCE_ENDS.finditer(text, earliest, start + 1)]
    first_word = max(earliest, text.find(" ", earliest, start) + 1) if earliest else 0
    start = max((end for end in ends if end <= start), default=first_word)
    while text[start].isspace():
        start += 1
    if all(match.end() != end for match in _SENTENCE_ENDS.finditer(text, start, end + _AFTER)):
        end = _sentence_end(text, end)
    if text[:end].rstrip().endswith(_ASKED_OR_QUOTED):
        end = _sentence_end(text, len(text) - len(text[end:].lstrip()))
    while text[end - 1].isspace():
        end -= 1
    return start, end


def _sentence_end(text: str, at: int) -> int:
    """Return the end of the first sentence that ends after an offset, or the last word in reach."""
    if match := _SENTENCE_ENDS.search(text, at, at + _REACH):
        return match.end()
    return len(text) if at + _REACH >= len(text) else max(at, text.rfind(" ", at, at + _REACH))


_FOLDED = str.maketrans(
    {
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033", '"'),
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u00b4`", "'"),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"),
    }
)
_BRACKETED = re.compile(r"\[([^\W\d_])\](?=\w)")  # "[T]here"
_UNITS = frozenset("°%‰€$£")
_INVISIBLE = frozenset("\u00ad\u200b\u200c\u200d\u2060\ufeff")
_WRAPPING = " \t\n\"'\u201c\u201d\u201e\u00ab\u00bb\u2018\u2019…"
_WORD = re.compile(r"\w+")


class QuoteFinder:
    """Finds quotes in one text. It folds the text once, at the first quote that needs it."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _folded(self) -> tuple[str, list[int]]:
        return _folded(self._text)

    def find(self, quote: str) -> tuple[int, int] | None:
        """Return the raw offsets of a quote in the text; None if the text does not contain it.

        The quote must match exactly, else without the marks around it and apart from white space,
        invisible characters, the shape of quotation marks and dashes, a space before a unit
        ("31 °F"), the case of the first letter and brackets around it ("[T]here"). Fewer than
        twelve letters and digits are no quote, nor are fewer than four words that are no sentence.
        """
        plain = _BRACKETED.sub(r"\1", quote)
        if sum(map(str.isalnum, plain)) < MIN_QUOTE_CHARACTERS:
            return None
        words = len(_WORD.findall(plain)) + len(UNSPACED.findall(plain)) // 2
        if words < MIN_QUOTE_WORDS:
            # A whole sentence counts: "Bats are blind."
            sentence = rf"(?:^|(?<=[.!?] )){re.escape(plain.strip())}(?<=[.!])(?=\s|$)"
            match = re.search(sentence, self._text, re.MULTILINE)
            return None if match is None else match.span()
        return self._locate(quote) or self._locate(plain)

    def _locate(self, quote: str) -> tuple[int, int] | None:
        """Return the raw offsets of some words, however few; None if the text lacks them."""
        bare = (quote.strip(_WRAPPING), quote.strip(f".{_WRAPPING}"))
        for form in (quote, *bare):
            start = self._text.find(form)
            if start >= 0:
                return start, start + len(form)
        folded_text, offsets = self._folded
        for form in (_folded(form)[0].strip() for form in bare):
            for first in (form[:1], form[:1].swapcase()):
                start = folded_text.find(f"{first}{form[1:]}")
                if start >= 0:
                    return offsets[start], offsets[start + len(form) - 1] + 1
        return None

    def misquotes(self, words: str) -> list[str]:
        """Return the quotations in `words` that the text lacks; short ones prove nothing."""
        return [
            quote
            for quote in QUOTED.findall(words)
            if sum(map(str.isalnum, quote)) >= MIN_QUOTE_CHARACTERS
            and self._locate(quote.rstrip(".,;: ")) is None
        ]


def _folded(text: str) -> tuple[str, list[int]]:
    """Return a text without the differences that quotes may have, and each character's raw offset.

    The second value has one offset for each character of the first.
    """
    characters: list[str] = []
    offsets: list[int] = []
    for offset, character in enumerate(text.translate(_FOLDED)):
        if character in _INVISIBLE:
            continue
        if not character.isspace():
            is_unit = character.isalpha() or character in _UNITS
            if is_unit and characters[-1:] == [" "] and "".join(characters[-2:-1]).isdigit():
                del characters[-1], offsets[-1]
            characters.append(character)
        elif not characters or characters[-1] != " ":
            characters.append(" ")
        else:
            continue
        offsets.append(offset)
    return "".join(characters), offsets


# --- Planted sentences --------------------------------------------------------------------------

ReadAgain: TypeAlias = Callable[[str], Awaitable[WithCalls[EvidenceDraft | None] | str]]
"""Reads another text in place of the page's, or says why it leaves the page unread."""


async def recheck_without_quotes(
    reading: WithCalls[EvidenceDraft | None], text: str, read: ReadAgain
) -> WithCalls[EvidenceDraft | None]:
    """Return a reading, or an unclear one if a single passage turns it to the contrary.

    Anybody can plant a sentence in a page: in a comment, a listing, a profile. If the reading takes
    a side, `read` reads `text` again without the quotes and the sentences around them. A page that
    then says the contrary takes no side. Raises the errors of `read`.
    """
    draft = reading.value
    if draft is None or draft.stance not in SIDES:
        return reading
    finder, remainder = QuoteFinder(text), text
    places = (finder.find(quote) for quote in draft.quotes if quote.strip())
    passages = {text[slice(*whole_sentences(text, *place))] for place in places if place}
    for passage in sorted(passages, key=len, reverse=True):
        remainder = remainder.replace(passage, " ")
    if remainder == text or not remainder.strip():
        return reading
    again = await read(remainder)
    if isinstance(again, str):
        return reading
    if again.value is not None and again.value.stance in SIDES - {draft.stance}:
        draft = replace(
            draft,
            stance="unclear",
            stance_confidence=0.0,
            ground=None,
            summary="One passage decides the page, and the rest says the contrary: no side.",
        )
    return WithCalls(draft, (*reading.calls, *again.calls))
