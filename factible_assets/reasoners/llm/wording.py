"""What is kept of a model's words: plain text of a bounded length.

What belongs here: taking markup, addresses and hidden characters out of what a model wrote, and
cutting it to length. What does not: whether the words are true to the source (evidence.py,
stages.evidence).
"""

from __future__ import annotations

import re
import unicodedata

_TAG = re.compile(r"<!--.*?-->|</?[A-Za-z!?][^<>]*>", re.DOTALL)
_LINK = re.compile(r"!?\[([^\[\]]*)\]\s*(?:\([^()]*\)|\[[^\[\]]*\])")
_ADDRESS = re.compile(
    r"\b(?:[a-z][a-z0-9+.-]{1,20}://|www\.|mailto:|javascript:|data:(?=[\w-]+[/;,]))[^\s\"'<>()]*",
    re.IGNORECASE,
)
_MARKS = re.compile(r"[*`~]+|(?<!\w)_+(?=\w)|(?<=\w)_+(?!\w)|^\s*(?:#+|>+|[-•])\s+", re.MULTILINE)
_BRACKETS = str.maketrans({"[": "(", "]": ")", "{": "(", "}": ")", "<": None, ">": None, "|": None})
_SENTENCE_END = re.compile(r"[.!?…][\"'”’)]*(?=\s|$)")


def plain(text: str) -> str:
    """Return a model's words without markup, addresses and hidden characters, on one line.

    A comparison such as "< 5 %" keeps its sign.
    """
    text = (
        "".join(
            " " if character.isspace() else character
            for character in text.replace("\n", "\n ")
            if character.isspace() or unicodedata.category(character)[0] != "C"
        )
        if not text.isascii() or not text.isprintable()
        else text
    )
    text = _MARKS.sub("", text)
    for _ in range(2):  # what taking out one kind of markup puts together
        text = _ADDRESS.sub(" ", _LINK.sub(r"\1", _TAG.sub(" ", text)))
    text = re.sub(r"<(?=\s*\d)", "\0", text)
    text = re.sub(r"(?<=\s)>(?=\s*\d)", "\1", text).translate(_BRACKETS)
    text = text.replace("\0", "<").replace("\1", ">")
    text = re.sub(r"\(\s*\)", " ", text)
    return re.sub(r"\s+([,.;:!?])", r"\1", " ".join(text.split()))


def clip(text: str, words: int) -> str:
    """Cut a text to so many words: after a whole sentence if one fits, else with an ellipsis."""
    kept = text.split()
    if len(kept) <= words:
        return text
    head = " ".join(kept[:words])
    ends = [match.end() for match in _SENTENCE_END.finditer(head)]
    return head[: ends[-1]] if ends else f"{head.rstrip(',;:–—-')}…"


def whole_sentences(text: str, words: int) -> str | None:
    """Return the leading whole sentences of a text that fit into so many words, None if none do."""
    if len(text.split()) <= words:
        return text
    head = " ".join(text.split()[:words])
    ends = [match.end() for match in _SENTENCE_END.finditer(head)]
    return head[: ends[-1]] if ends else None
