"""What kind of claim it is, and what that means for looking it up (ECVS, section 6).

What belongs here: algorithm 5, and what each class changes in the search. What does not: wording
other queries (reasoners), claims themselves.

Algorithm 5 looks for letters, so that "Williams" predicts, "update" is historical and "treated
patients" is general; its first list wins, so that "Einstein said that studies bore him" is
scientific. `claim_class` looks for words and their endings, asks for a quotation first, and knows
more words of health; `as_written` is the algorithm.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal

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
_QUOTED = re.compile(r"[\"“„«][^\"”“»]{8,}[\"”“»]")


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


def as_written(claim: str) -> ClaimClass:
    """Return the class of a claim by algorithm 5: the first list of which it holds the letters."""
    folded = claim.casefold()
    for name, words in KEYWORDS.items():
        if any(word in folded for word in words):
            return name
    return "general"


def claim_class(claim: str) -> ClaimClass:
    """Return the class of a claim by whole words, quotations and predictions first."""
    if _QUOTED.search(claim):
        return "quote"
    found = (
        name
        for name, words in _WORDS.items()
        if re.search(rf"(?<!\w)(?:{words})(?!\w)", claim, re.IGNORECASE)
    )
    return next(found, "general")
