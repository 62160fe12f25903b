"""What ECVS tells by words alone: a claim's class, which side a text takes, a model's verdict.

What belongs here: algorithms 3, 5 and 6 with their word lists, to the letter, and readings that
forgive more. What does not: reading that looks at what the words say (reasoners), the prompt of the
verdict (reasoners/llm/prompts), what its words mean on other scales (scales.py).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal

from factible_assets.reasoners.embedded.text import STOP_WORDS, tokenise

# --- Claim classes (section 6, algorithm 5) -----------------------------------------------------

ClaimClass = Literal["scientific", "quote", "historical", "health", "predictive", "general"]

KEYWORDS: Final[Mapping[ClaimClass, tuple[str, ...]]] = {
    "scientific": ("study", "research", "scientist", "percent", "data shows"),
    "quote": ("said", "stated", "according to", "quote", "claimed"),
    "historical": ("happened", "occurred", "when", "date", "year", "during"),
    "health": ("health", "medical", "disease", "treatment", "cure"),
    "predictive": ("will", "going to", "predict", "future", "forecast"),
}
"""The words of each class, in the order in which they are looked for (algorithm 5)."""

_WORDS: Final[Mapping[ClaimClass, str]] = {
    "quote": r"said|stated|according to|quot(?:e[ds]?|ing)|claim(?:s|ed)|told|tweeted",
    "predictive": r"will|going to|predict(?:s|ed|ions?)?|forecasts?|in the future"
    r"|by 2(?:0[3-9]|1)\d\d?",
    "health": r"health(?:y|ier)?|medic(?:al|ines?)|diseases?|treatments?|treat(?:s|ed)?|cure[sd]?"
    r"|cancers?|diabetes|vaccin(?:es?|ated|ation)|virus(?:es)?|infections?|symptoms?|drugs?"
    r"|diets?|vitamins?|blood|doses?|patients?|obesity|calori(?:e|es)|autism",
    "scientific": r"stud(?:y|ies)|research(?:ers?)?|scientists?|percent(?:age)?|data shows?"
    r"|statistics|on average|experiments?|\d[\d.,]* ?%",
    "historical": r"happened|occurred|when|dates?|years?|during|in 1\d{3}|in 20[0-2]\d",
}
# A quotation mark is no letter, so that no word boundary stands around it.
_QUOTATION = re.compile(r"[\"“„«][^\"”“»]{8,}[\"”“»]")


SEARCH: Final[Mapping[ClaimClass, str]] = {
    "scientific": "peer-reviewed study results",
    "health": "systematic review clinical trial",
    "quote": "full transcript original speech",
    "historical": "archive record",
}
"""Added to a claim's own words in a query of type `source`: papers for science and health, primary
sources for quotes. Section 6 says that classes are there for "optimized processing" and not how;
this is our reading, and so is `PREDICTION`."""

PREDICTION: Final = (
    "This is a prediction. No source that is published today can show whether it will come true, "
    "so it gets a note and no verdict."
)
"""Said of the class `predictive` in place of a verdict, and nothing is searched."""


def class_as_written(claim: str) -> ClaimClass:
    """Return the class of a claim by algorithm 5: the first list of which it holds the letters."""
    folded = claim.casefold()
    for name, words in KEYWORDS.items():
        if any(word in folded for word in words):
            return name
    return "general"


def claim_class(claim: str) -> ClaimClass:
    """Return the class of a claim by whole words, quotations and predictions first.

    Algorithm 5 looks for letters, so that "Williams" predicts and "update" is historical; and its
    first list wins, so that "Einstein said that studies bore him" is scientific.
    """
    if _QUOTATION.search(claim):
        return "quote"
    found = (
        name
        for name, words in _WORDS.items()
        if re.search(rf"(?<!\w)(?:{words})(?!\w)", claim, re.IGNORECASE)
    )
    return next(found, "general")


# --- Lexical support (section 4, algorithm 3) ---------------------------------------------------

LEAST_RELEVANCE: Final = 0.3
"""Share of the claim's key words below which a text says nothing (algorithm 3, line 5)."""

SUPPORT: Final = (
    "confirm",
    "support",
    "evidence shows",
    "research indicates",
    "proven",
    "demonstrated",
    "validates",
)
OPPOSITION: Final = (
    "disprove",
    "refute",
    "contradict",
    "false",
    "debunked",
    "no evidence",
    "lacks evidence",
)
UNCERTAINTY: Final = (
    "unclear",
    "mixed evidence",
    "conflicting",
    "debate",
    "controversial",
    "inconclusive",
)
"""The indicator sets (section 4.2)."""


def relevance(text: str, claim: str) -> float:
    """Return the share of a claim's key words that a text holds (algorithm 3, line 4).

    Key words are the distinct words without stop words; one is held wherever its letters stand, as
    the algorithm has it. 0 for a claim of stop words alone, which the algorithm divides by.
    """
    words = {word.norm for word in tokenise(claim)} - STOP_WORDS
    folded = text.casefold()
    return sum(word in folded for word in words) / len(words) if words else 0.0


def lexical_support(text: str, claim: str) -> bool | None:
    """Tell whether a text supports a claim, opposes it (False) or neither (None; algorithm 3).

    An indicator that occurs counts once. The side with strictly the most decides. It is a baseline:
    "nobody confirms it" and "unsupported" support, "no evidence supports it" says nothing.
    """
    if relevance(text, claim) < LEAST_RELEVANCE:
        return None
    folded = text.casefold()
    support, oppose, uncertain = (
        sum(indicator in folded for indicator in indicators)
        for indicators in (SUPPORT, OPPOSITION, UNCERTAINTY)
    )
    if support > max(oppose, uncertain):
        return True
    return False if oppose > max(support, uncertain) else None


# --- TRUE, FALSE or CAN'T SAY (section 7, algorithm 6) ------------------------------------------

ThreeWay = Literal["TRUE", "FALSE", "CAN'T SAY"]

CANNOT_SAY: Final[ThreeWay] = "CAN'T SAY"

_LABELLED = re.compile(
    r"^\W*(?:final\s+|my\s+)?(?:verdict|answer|conclusion|label)\W*?(?:[:=]|\bis\b)\W*(?P<said>.+)$",
    re.IGNORECASE | re.MULTILINE,
)
_ALONE = re.compile(
    r"^\W*(?:true|false|can(?:no|['\u2019])t\s+say|unproven)\W*$", re.IGNORECASE | re.MULTILINE
)
_OPEN = re.compile(
    r"\b(?:can(?:no|['\u2019]|\s+no)?t|unable\s+to|impossible\s+to)\s+(?:say|tell|be\s+determined)"
    r"|\b(?:unproven|undetermined|unclear|unverifi\w+|insufficient|not\s+enough|mixed)\b",
    re.IGNORECASE,
)
_SAID = re.compile(
    r"(?<![^\W_])(?P<denied>(?:not|isn['\u2019]t)\s+(?:\w+\s+)?|un-?|in(?=accurate))?"
    r"(?P<word>true|correct|accurate|false|incorrect)(?![^\W_])",
    re.IGNORECASE,
)
_FALSE = frozenset({"false", "incorrect"})


def verdict_as_written(answer: str) -> ThreeWay:
    """Read a verdict by algorithm 6, to the letter: "NOT TRUE" and "UNTRUE" are TRUE."""
    line = next((line for line in answer.splitlines() if "VERDICT:" in line), "")
    said = line.partition("VERDICT:")[2].upper()
    if "TRUE" in said and "FALSE" not in said:
        return "TRUE"
    return "FALSE" if "FALSE" in said else CANNOT_SAY


def read_verdict(answer: str) -> ThreeWay:
    """Read a verdict, forgiving how it is written; CAN'T SAY where none can be told.

    The last line that is labelled as the verdict counts, because models that reason aloud name it
    last; without one, a line that is nothing but the verdict.
    """
    labelled = [match["said"] for match in _LABELLED.finditer(answer)]
    alone = [match[0] for match in _ALONE.finditer(answer)]
    said = (labelled or alone or [""])[-1]
    if _OPEN.search(said):
        return CANNOT_SAY
    found = {
        (match["word"].casefold() in _FALSE) == bool(match["denied"])
        for match in _SAID.finditer(said)
    }
    if len(found) != 1:
        return CANNOT_SAY
    return "TRUE" if found.pop() else "FALSE"
