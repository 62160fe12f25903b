"""TRUE, FALSE or CAN'T SAY: a verdict in three words, and reading it out of a model's answer.

What belongs here: algorithm 6 of ECVS, and a reading of the same answers that forgives more. What
does not: the prompt (reasoners/llm/prompts), what the words mean on other scales (scales.py).

Algorithm 6 finds only "VERDICT:" in capitals, takes "NOT TRUE" and "UNTRUE" for TRUE, and "TRUE or
FALSE" for FALSE. `read_verdict` forgives case, markup, quotation marks and other words for the
same, hears a denial, and says CAN'T SAY where both are named.
"""

from __future__ import annotations

import re
from typing import Final, Literal

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


def as_written(answer: str) -> ThreeWay:
    """Read a verdict by algorithm 6, to the letter."""
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
