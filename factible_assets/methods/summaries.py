"""What is believed of a claim-focused summary (Raw Evidence, section 3.4).

What belongs here: recognising "not relevant", leaving out judgements, and holding each number, name
and quote against the passage that was summarised. What does not: the prompts (reasoners/llm).

The paper leaves 16 to 24 % of its summaries with factual errors (table 4). Most of them bring in
figures and names that the document does not have (figure 6), which can be looked up.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from factible_assets.reasoners.embedded.page_text import page_sentences
from factible_assets.reasoners.embedded.text import STOP_WORDS, find_numbers, fold
from factible_assets.stages.evidence import QuoteFinder

_NOT_RELEVANT = re.compile(
    r"\b(?:document|page|source|text|passage|article)s?\b[^.]{0,40}"
    r"\b(?:is|are|was) (?:not|ir)\s*relevant"
    r"|^\W*(?:not relevant|irrelevant)\b",
    re.IGNORECASE,
)
_JUDGEMENT = re.compile(
    r"\b(?:claim|statement|assertion)\b[^.]{0,30}\b(?:is|are|was|were|seems|appears)\b[^.]{0,30}"
    r"\b(?:true|false|correct|incorrect|accurate|inaccurate|wrong|right|misleading|refuted|supported"
    r"|confirmed|debunked|verified|unproven|valid)\b"
    r"|\b(?:supports?|refutes?|confirms?|contradicts?|debunks?|disproves?|backs up) "
    r"(?:the|this|that) (?:claim|statement|assertion)\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"[\"\u201c\u201e\u00ab]([^\"\u201c\u201d\u00ab\u00bb]+)[\"\u201d\u00bb]")
_NAME = re.compile(r"(?<![.!?:]\s)(?<!^)(?<![\"\u201c])\b[A-Z][\w'\u2019-]*[a-z]\w*|\b[A-Z]{2,}\b")
_LETTERS = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class CheckedSummary:
    """What is left of a summary, and what of it its passage does not bear out.

    `text` is None where the passage is not relevant, or nothing is left.
    """

    text: str | None
    is_relevant: bool
    unfounded: tuple[str, ...] = ()
    judgements: int = 0


def is_not_relevant(summary: str) -> bool:
    """Tell whether a summary is the answer that a document is not relevant to the claim."""
    return not summary.strip() or _NOT_RELEVANT.search(summary) is not None


def unfounded(sentence: str, passage: str) -> list[str]:
    """Return the numbers, names and quotes of a sentence that its passage does not hold.

    Numbers are compared by value, so that "two million" founds "2,000,000"; names by their letters,
    wherever in the passage; quotes character by character, as every stored quote is. The first word
    of a sentence is no name.
    """
    stated = {number.value for number in find_numbers(passage)}
    words = {fold(word) for word in _LETTERS.findall(passage)}
    find = QuoteFinder(passage).find
    quotes = [each for each in _QUOTED.findall(sentence) if len(each.split()) > 1]
    wrong = [
        sentence[number.start : number.end]
        for number in find_numbers(sentence)
        if number.value not in stated
    ]
    wrong += [
        name
        for name in _NAME.findall(sentence)
        if not {fold(part) for part in _LETTERS.findall(name)} - {"s"} <= words | STOP_WORDS
    ]
    wrong += [each for each in quotes if find(each.rstrip(".,;: ")) is None and each not in passage]
    return wrong


def check_summary(summary: str, passage: str) -> CheckedSummary:
    """Return a summary without the sentences that judge the claim or that its passage lacks."""
    if is_not_relevant(summary):
        return CheckedSummary(None, is_relevant=False)
    kept, wrong, judgements = [], [], 0
    for each in page_sentences(summary):
        found = unfounded(each.text, passage)
        judges = _JUDGEMENT.search(each.text) is not None
        wrong += found
        judgements += judges
        if not found and not judges:
            kept.append(each.text.strip())
    return CheckedSummary(" ".join(kept) or None, True, tuple(wrong), judgements)
