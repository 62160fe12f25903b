"""Turns the text of a model into plain text of bounded length."""

from __future__ import annotations

import re

from factible_assets.reasoners.embedded.text import is_abbreviation
from factible_assets.reasoners.llm.prompts import visible

_TAG = re.compile(r"<!--.*?-->|</?[A-Za-z!?][^<>]*>", re.DOTALL)
_LINK = re.compile(r"!?\[([^\[\]]*)\]\s*(?:\([^()]*\)|\[[^\[\]]*\])")
_ADDRESS = re.compile(
    r"(?:(?<![a-z])(?:[a-z][a-z0-9+.-]{1,20}://|www\.|(?:mailto|javascript|vbscript):(?=\S)"
    r"|data:(?=[\w-]+[/;,]))|://)[^\s\"'<>()]*",
    re.IGNORECASE,
)
_MARKS = re.compile(
    r"(?<![\d*])\*+|\*+(?![\d*])|`+|~~+|(?<!\w)_+(?=\w)|(?<=\w)_+(?!\w)"
    r"|^[^\S\n]*(?:#+|>+|[-•])\s+",
    re.MULTILINE,
)
_LESS, _MORE = re.compile(r"<(?=\s*\d)"), re.compile(r"(?<=\s)>(?=\s*\d)")
_KEPT = str.maketrans({"\x00": "<", "\x01": ">"})
_BRACKETS = str.maketrans(
    {"[": "(", "]": ")", "{": "(", "}": ")", "<": None, ">": None, "|": None, "\\": None}
)
_SENTENCE_END = re.compile(r"([.!?…])[\"'”’)]*$")
_OPENING_MARKS = "\"'\u201c\u2018("


def plain(text: str) -> str:
    """Remove markup, addresses and hidden characters; return one line.

    A comparison such as "< 5 %" keeps its sign.
    """
    text = _MARKS.sub("", "".join(map(visible, text)))
    before = ""
    while text != before:  # removing one piece of markup may join the halves of another
        before = text
        text = _ADDRESS.sub(" ", _LINK.sub(r"\1", _TAG.sub(" ", text)))
        text = _MORE.sub("\x01", _LESS.sub("\x00", text)).translate(_BRACKETS)
    text = re.sub(r"\(\s*\)", " ", text.translate(_KEPT))
    return re.sub(r"\s+([,.;:!?])", r"\1", " ".join(text.split()))


def clip(text: str, words: int) -> str:
    """Shorten a text to this many words: to whole sentences if one fits, else with an ellipsis."""
    kept = whole_sentences(text, words)
    if kept is not None:
        return kept
    return f"{' '.join(text.split()[:words]).rstrip(',;:–—-')}…"


def whole_sentences(text: str, words: int) -> str | None:
    """Return the first whole sentences that fit into this many words, None if none fits."""
    parts = text.split()
    if len(parts) <= words:
        return text
    padded = ["", *parts]
    ends = [at for at in range(1, words + 1) if _ends_sentence(*padded[at - 1 : at + 2])]
    return " ".join(parts[: ends[-1]]) if ends else None


def _ends_sentence(before: str, word: str, following: str) -> bool:
    end = _SENTENCE_END.search(word)
    if end is None or end[1] != ".":
        return end is not None
    bare = word[: end.start()].lstrip(_OPENING_MARKS)
    return not is_abbreviation(bare, before, following.lstrip(_OPENING_MARKS))
