"""Fences: how untrusted text stands in a prompt so that it stays data.

What belongs here: what a model is shown of a text, the fence around it, and the way back from what
a model quotes to the raw text. What does not: what is asked about the text (prompts/*.md), what is
believed of the answer (wording.py, stages.evidence).

Three lines of defence, because none holds alone:

- The fence's marker is the beginning of a SHA-256 over all untrusted text of the prompt. A text
  that held its own marker would be a fixed point of the hash; so nobody can write one, and still
  the same question is the same prompt, which a cache can answer.
- Every fenced line begins with a bar. What looks like the end of the fence, or like another
  speaker, cannot begin a line (the marking of data that Hines et al., 2024, "Defending Against
  Indirect Prompt Injection Attacks With Spotlighting", found to help most).
- What a chat template, a parser or an eye could take for something else is shown in another way:
  tags and control tokens lose their first bracket, invisible and direction-changing characters
  are left out.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from factible_assets.stages.evidence import QuoteFinder
from resources.llm.base import Part

LINE_MARK = "| "
"""What every fenced line begins with."""

OMISSION = "[…]"
"""Stands where text was left out."""

_MARKER_DIGITS = 12
_LINE_BREAKS = frozenset("\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029")
_OPENING = "<\u02c2\u1438\u2039\u226a\u22d8\u276e\u2770\u27e8\u27ea\u2991\u3008\u300a\ufe64\uff1c"
_CLOSING = ">\u02c3\u1433\u203a\u226b\u22d9\u276f\u2771\u27e9\u27eb\u2992\u3009\u300b\ufe65\uff1e"
_BRACKET_RUN = re.compile(rf"(?:[{_OPENING}][^\S\n]*){{3,}}|(?:[{_CLOSING}][^\S\n]*){{3,}}")
_TAG = re.compile(rf"[{_OPENING}](?=[{_OPENING}]?\s*[/|!?\uff5c\u2502]?\s*[^\W\d_])", re.UNICODE)
_TURN_TOKEN = re.compile(
    r"\[(?=\s*/?\s*(?:INST|SYS|SYSTEM|USER|ASSISTANT|TOOL\w*|AVAILABLE_TOOLS)\s*\])", re.IGNORECASE
)
_ROUND = str.maketrans(dict.fromkeys(_OPENING, "(") | dict.fromkeys(_CLOSING, ")"))


@dataclass(frozen=True, slots=True)
class Data:
    """Untrusted text with our own name for it. A trimmable one may lose its end."""

    label: str
    text: str
    trimmable: bool = False


Piece = str | Data
"""A piece of a prompt: a `str` is our own words, `Data` anybody else's."""


class ShownText:
    """A text as a model is shown it, and where each shown character stands in the raw text."""

    def __init__(self, raw: str) -> None:
        shown = [(_visible(each), at) for at, each in enumerate(raw)]
        kept = [(character, at) for character, at in shown if character]
        self._origins = [at for _, at in kept]
        self.text = _disarmed("".join(character for character, _ in kept))

    @cached_property
    def _finder(self) -> QuoteFinder:
        return QuoteFinder(self.text)

    def find(self, quote: str) -> tuple[int, int] | None:
        """Return the raw offsets of a quote of the shown text, None if it is not in it.

        What `QuoteFinder` forgives is forgiven, and so are the marks at the beginning of lines.
        """
        unmarked = re.sub(rf"(?:^|\s+){re.escape(LINE_MARK.strip())}\s", " ", quote).strip()
        for form in dict.fromkeys((quote, unmarked)):
            place = self._finder.find(form)
            if place is not None:
                return self._origins[place[0]], self._origins[place[1] - 1] + 1
        return None


def show(text: str) -> str:
    """Return a text as a model is shown it, without its fence."""
    return ShownText(text).text


def fenced(pieces: Sequence[Piece]) -> tuple[Part, ...]:
    """Put every untrusted piece into a fence and say first what the fence's marker is.

    The fence itself is never trimmable, only what stands in it.
    """
    shown = [show(piece.text) if isinstance(piece, Data) else None for piece in pieces]
    marker = _marker([text for text in shown if text is not None])
    parts = [Part(f"Marker of this message: {marker}\n\n")]
    for piece, text in zip(pieces, shown, strict=True):
        if isinstance(piece, Data) and text is not None:
            gap = "" if parts[-1].text.endswith("\n") else "\n"
            parts.append(Part(f"{gap}<<<DATA {marker} {piece.label}>>>\n"))
            marked = "\n".join(f"{LINE_MARK}{line}" for line in text.split("\n"))
            parts.append(Part(marked, piece.trimmable))
            parts.append(Part(f"\n<<<END {marker}>>>"))
        elif isinstance(piece, str) and piece:
            gap = "\n" if parts[-1].text.endswith(">>>") and not piece.startswith("\n") else ""
            parts.append(Part(gap + piece))
    return tuple(parts)


def _marker(texts: Sequence[str]) -> str:
    """Derive a marker that stands in none of the texts."""
    content = "\x1f".join(texts)
    salt = 0
    while True:
        digest = hashlib.sha256(f"{salt}\x1f{content}".encode("utf-8", "replace")).hexdigest()
        if digest[:_MARKER_DIGITS] not in content:
            return digest[:_MARKER_DIGITS]
        salt += 1


def _visible(character: str) -> str:
    """Return what is shown of one character: itself, a line break, a stand-in, or nothing."""
    if character.isascii() and character.isprintable():
        return character
    if character in _LINE_BREAKS:
        return "\n"
    if character == "\t":
        return " "
    category = unicodedata.category(character)
    if category == "Zs":
        return " "
    if category in {"Cc", "Cf"} or _selects_variant(character):
        return ""
    return "\ufffd" if category in {"Cs", "Co", "Cn"} else character


def _selects_variant(character: str) -> bool:
    """Tell whether a character only varies the one before it; whole messages hide in these."""
    return "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"


def _disarmed(text: str) -> str:
    """Replace brackets of what looks like a fence, a tag or a turn; the length stays the same."""
    text = _BRACKET_RUN.sub(lambda run: run[0].translate(_ROUND), text)
    text = _TAG.sub("(", text)
    return _TURN_TOKEN.sub("(", text)
