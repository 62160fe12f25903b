"""How much a single sentence sounds like a checkable statement of fact.

What belongs here: signs in the wording of one sentence, their weights, and the category that they
suggest. What does not: how central the sentence is to its video (selection.py).

The signs are those that annotators of check-worthy claims go by (ClaimBuster: Hassan et al., KDD
2017; Factible, section 1.3.2): figures, causes, comparisons and named things speak for a claim;
the first person, opinion, questions and talk about the video speak against.
Weights are set by hand, few and round, and were not fitted; how many content words are enough was
settled on the claim benchmark (benchmarks/claims.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from factible_assets.reasoners.embedded.text import (
    Word,
    find_numbers,
    is_stop_word,
    tokenise,
    word_set,
)

Category = Literal["statistical", "causal", "historical", "scientific", "comparative", "factual"]
"""What kind of statement a claim is. The first three and "scientific" are those of Factible."""

_CAUSAL = re.compile(
    r"\b(?:because|caus(?:e[sd]?|ing)|due to|leads? to|led to|leading to|results? in|resulted in"
    r"|result of|responsible for|creat(?:e[sd]?|ing)|produc(?:e[sd]?|ing)|contributes? to"
    r"|contributed to|prevent(?:s|ed|ing)?|protect(?:s|ed|ing)?|reduc(?:e[sd]?|ing)"
    r"|increas(?:e[sd]?|ing)|decreas(?:e[sd]?|ing)|lower(?:s|ed|ing)?|rais(?:e[sd]?|ing)"
    r"|boost(?:s|ed|ing)?|improv(?:e[sd]?|ing)|strengthen(?:s|ed)?|weaken(?:s|ed)?"
    r"|kill(?:s|ed|ing)?|destroy(?:s|ed|ing)?|cur(?:e[sd]?|ing)|heal(?:s|ed|ing)?"
    r"|treat(?:s|ed|ing)?|trigger(?:s|ed)?|affect(?:s|ed)?|allow(?:s|ed)?|enabl(?:e[sd]?|ing)"
    r"|forc(?:e[sd]?|ing)|driv(?:es?|en|ing)|drove|regulat(?:e[sd]?|ing)|absorb(?:s|ed|ing)?"
    r"|trap(?:s|ped|ping)?|generat(?:e[sd]?|ing)|chang(?:e[sd]?|ing)|effects? (?:of|on)"
    r"|helps? (?:to )?\w+|makes?|made|risk of)\b",
    re.IGNORECASE,
)
_COMPARATIVE = re.compile(
    r"\b(?:more|less|fewer|most|least|than|higher|lower|larger|smaller|greater|bigger|faster|slower"
    r"|better|worse|best|worst|highest|lowest|largest|smallest|biggest|fastest|strongest|first"
    r"|only|every|all|none|never|always|twice|double[sd]?|tripled?|half|majority|average|record"
    r"|as \w+ as|times)\b",
    re.IGNORECASE,
)
_SCIENTIFIC = re.compile(
    r"\b(?:stud(?:y|ies)|research(?:ers?)?|scien(?:ce|tists?|tific)|evidence|experiments?|trials?"
    r"|data|measur(?:e[sd]?|ements?|ing)|theor(?:y|ies)|molecul\w*|cells?|virus(?:es)?|bacteria\w*"
    r"|genes?|genetic\w*|dna|rna|proteins?|vitamins?|hormones?|neuro\w*|brain|blood|immune|cancer"
    r"|diseases?|infections?|vaccin\w*|antibod\w*|medic\w*|clinical|carbon|dioxide|methane|oxygen"
    r"|atmospher\w*|greenhouse|temperatures?|radiation|energy|climate|species|physic\w*|chemi\w*"
    r"|glucose|insulin|fib(?:er|re)|nutrients?|antioxidants?|ecosystems?)\b",
    re.IGNORECASE,
)
_HISTORICAL = re.compile(
    r"\b(?:history|historical\w*|century|centuries|decades?|founded|invented|discovered|signed"
    r"|passed|elected|declared|war|born|died|ago|since|originally|ancient|first time)\b",
    re.IGNORECASE,
)
_OPINION = re.compile(
    r"\b(?:i (?:think|believe|feel|guess|hope|love|like|hate|wish|suppose)|in my (?:opinion|view)"
    r"|seems?|maybe|perhaps|probably|hopefully|amazing|awesome|beautiful|wonderful|terrible"
    r"|horrible|crazy|incredible|great|cool|fun|funny|weird|favou?rite|personally|opinion"
    r"|should|ought to|must|deserves?|needs? to|(?:have|got) to|want(?:s|ed)? to|hopes?)\b",
    re.IGNORECASE,
)
_ABOUT_THE_VIDEO = re.compile(
    r"\b(?:subscrib\w*|click\w*|this video|the video|videos|channel|episode|podcast|watch(?:ing)?"
    r"|welcome|thank(?:s| you)|hello|hi everyone|good (?:morning|evening|afternoon)"
    r"|stay tuned|comments?|link|website"
    r"|sponsor\w*|let me|let's|i'm going to|we're going to|i'll|we'll|today we|join(?:ing)? us"
    r"|sign up|download|check out|talk(?:ing)? about|show you|tell you|come back|my name"
    r"|dot com)\b",
    re.IGNORECASE,
)
_FIRST_PERSON = word_set("i me my mine myself i'm i've i'd i'll")
SIGNS: dict[str, tuple[float, re.Pattern[str] | frozenset[str]]] = {
    "causal": (0.3, _CAUSAL),
    "comparative": (0.2, _COMPARATIVE),
    "scientific": (0.3, _SCIENTIFIC),
    "historical": (0.3, _HISTORICAL),
    "opinion": (-0.5, _OPINION),
    "about the video": (-1.0, _ABOUT_THE_VIDEO),
    "first person": (-1.5, _FIRST_PERSON),
    "second person": (-0.7, word_set("you yours yourself you're you've you'll you'd")),
    "of a story": (-0.8, word_set("he she him her his he's she's")),
}
"""What each sign adds to a sentence that has the pattern, or one of the words."""

_QUESTION_OPENERS = word_set(
    "who what when where why how which whose is are was were do does did can could will would"
    " should have has what's who's how's where's"
)
_AUXILIARIES = word_set("is are was were do does did can could will would should have has had")
_ENOUGH_CONTENT = 12


@dataclass(frozen=True, slots=True)
class Signs:
    """What the wording of a sentence shows: counts, the names of its signs, and their sum.

    `wording` is above 0 for what sounds like a claim, below 0 for talk; about -5 to 4.
    """

    words: int
    content_words: int
    numbers: int
    shown: frozenset[str]
    wording: float


def read_signs(text: str) -> Signs:
    """Read the signs of one sentence."""
    words = tokenise(text)
    norms = [word.norm for word in words]
    present = set(norms)
    straight = text.replace("\u2019", "'")
    shown = frozenset(
        name
        for name, (_, sign) in SIGNS.items()
        if (sign.search(straight) if isinstance(sign, re.Pattern) else present & sign)
    )
    content = len({norm for norm in norms if not is_stop_word(norm)})
    numbers = len(find_numbers(text))
    score = 2.0 * min(content, _ENOUGH_CONTENT) / _ENOUGH_CONTENT
    score += 0.5 * min(numbers, 2) + 0.2 * min(_count_names(text, words), 2)
    score += sum(SIGNS[name][0] for name in shown)
    score -= 1.0 * _is_question(text, norms)
    return Signs(len(words), content, numbers, shown, score)


def categorise(signs: Signs, *, dated: bool) -> Category:
    """Name the kind of statement; `dated` tells that its only numbers are years."""
    if signs.numbers and not dated:
        return "statistical"
    if "causal" in signs.shown:
        return "causal"
    if dated or "historical" in signs.shown:
        return "historical"
    if "scientific" in signs.shown:
        return "scientific"
    return "comparative" if "comparative" in signs.shown else "factual"


def _count_names(text: str, words: list[Word]) -> int:
    """Count words with a capital inside a sentence; in all-capitals or captions there are none."""
    capitals = sum(
        text[word.start].isupper() and word.norm not in _FIRST_PERSON for word in words[1:]
    )
    return 0 if capitals > len(words) / 2 else capitals


def _is_question(text: str, norms: list[str]) -> bool:
    if text.rstrip("\"'\u201d\u2019) ").endswith("?"):
        return True
    if not norms or norms[0] not in _QUESTION_OPENERS:
        return False
    # Without punctuation: "why is …", "do you …"; but "what we see is …" is none.
    return bool(_AUXILIARIES & set(norms[:2]))
