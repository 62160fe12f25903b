"""How much a single sentence sounds like a checkable statement of fact.

What belongs here: signs in the wording of one sentence, their weights, and the category that they
suggest. What does not: how central the sentence is to its video (selection.py).

The signs are those that annotators of check-worthy claims go by (ClaimBuster: Hassan et al., KDD
2017; Factible, section 1.3.2): figures, causes, comparisons and named things speak for a claim;
the first person, opinion, questions, unresolved pronouns and talk about the video speak against.
Weights are set by hand, few and round, and were not fitted; how many content words are enough was
settled on the claim benchmark (benchmarks/claims.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from factible_assets.reasoners.embedded.claims.boundaries import CONTINUERS, OPEN_ENDED
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
    r"|helps? (?:to )?\w+|risk of)\b",
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
_ATTRIBUTION = re.compile(
    r"\b(?:according to|stud(?:y|ies) (?:show|find|found|suggest|have)|research(?:ers)? (?:show"
    r"|found|suggests?)|experts? (?:say|agree|suggest|often|recommend)|scientists? (?:say|agree"
    r"|have|found)|report(?:s|ed)? (?:that|by|from)|data (?:show|from)|proven|evidence)\b",
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
    r"|horrible|crazy|incredible|great|cool|fun|funny|weird|favou?rite|personally|opinion)\b",
    re.IGNORECASE,
)
_NORMATIVE = re.compile(
    r"\b(?:should|ought to|must|deserves?|needs? to|(?:have|got) to|want(?:s|ed)? to|hopes?)\b",
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
_FIRST_PERSON_PLURAL = word_set("we us our ours ourselves we're we've we'd we'll")
_SECOND_PERSON = word_set("you yours yourself you're you've you'll you'd")
_STORY = word_set("he she him her his he's she's")
_PRONOUNS = word_set("it this that these those they he she it's that's they're he's she's them its")
_QUESTION_OPENERS = word_set(
    "who what when where why how which whose is are was were do does did can could will would"
    " should have has what's who's how's where's"
)
_AUXILIARIES = word_set("is are was were do does did can could will would should have has had")
_HYPOTHETICAL_OPENERS = word_set("if imagine suppose let please just what")
_FINITE = re.compile(
    r"\b(?:is|are|was|were|be|been|has|have|had|do|does|did|can|could|will|would|may|might|must"
    r"|should|cannot|isn't|aren't|wasn't|weren't|don't|doesn't|didn't|can't|won't|\w+(?:'s|'re|'ve)"
    r"|\w{2,}ed|\w{3,}(?<!s)s|became|began|came|caught|cut|fell|felt|found|gave|got|grew|went|held"
    r"|kept|knew|led|left|lost|made|meant|met|paid|put|ran|rose|said|saw|sent|set|shut|spent|spread"
    r"|stood|taught|thought|told|took|won|wrote|make|cause|show|contain|include|help|need)\b",
    re.IGNORECASE,
)

_ENOUGH_CONTENT = 20
_SHORT, _VERY_SHORT = 8, 5


@dataclass(frozen=True, slots=True)
class Signs:
    """What the wording of a sentence shows."""

    numbers: int
    names: int
    content_words: int
    words: int
    causal: bool
    comparative: bool
    scientific: bool
    attributed: bool
    historical: bool
    opinion: bool
    normative: bool
    about_the_video: bool
    question: bool
    first_person: bool
    first_person_plural: bool
    second_person: bool
    of_a_story: bool
    leading_pronoun: bool
    hypothetical: bool
    verbless: bool
    fragment: bool


def read_signs(text: str) -> Signs:
    """Read the signs of one sentence."""
    words = tokenise(text)
    norms = [word.norm for word in words]
    straight = text.replace("\u2019", "'")
    content = [norm for norm in norms if not is_stop_word(norm)]
    present = set(norms)
    return Signs(
        numbers=len(find_numbers(text)),
        names=_count_names(text, words),
        content_words=len(set(content)),
        words=len(words),
        causal=_CAUSAL.search(straight) is not None,
        comparative=_COMPARATIVE.search(straight) is not None,
        scientific=_SCIENTIFIC.search(straight) is not None,
        attributed=_ATTRIBUTION.search(straight) is not None,
        historical=_HISTORICAL.search(straight) is not None,
        opinion=_OPINION.search(straight) is not None,
        normative=_NORMATIVE.search(straight) is not None,
        about_the_video=_ABOUT_THE_VIDEO.search(straight) is not None,
        question=_is_question(text, norms),
        first_person=bool(present & _FIRST_PERSON),
        first_person_plural=bool(present & _FIRST_PERSON_PLURAL),
        second_person=bool(present & _SECOND_PERSON),
        of_a_story=bool(present & _STORY),
        leading_pronoun=_leads_with_pronoun(norms),
        hypothetical=bool(norms) and norms[0] in _HYPOTHETICAL_OPENERS,
        verbless=_FINITE.search(straight) is None,
        fragment=_is_fragment(norms),
    )


def rate_wording(signs: Signs) -> float:
    """Add up the signs: above 0 sounds like a claim, below 0 like talk. About -5 to 4."""
    score = 2.0 * min(signs.content_words, _ENOUGH_CONTENT) / _ENOUGH_CONTENT
    score += 0.5 * min(signs.numbers, 2) + 0.2 * min(signs.names, 2)
    score += 0.3 * signs.causal + 0.2 * signs.comparative
    score += 0.3 * signs.scientific + 0.3 * signs.attributed + 0.3 * signs.historical
    score -= 1.0 * signs.first_person + 0.2 * signs.first_person_plural
    score -= 0.7 * signs.second_person + 0.3 * signs.of_a_story
    score -= 0.5 * signs.opinion + 0.5 * signs.normative
    score -= 1.0 * signs.question + 1.0 * signs.about_the_video
    score -= 0.5 * signs.leading_pronoun + 0.5 * signs.hypothetical
    score -= 0.5 * signs.verbless + 0.5 * signs.fragment
    return score - 0.5 * (signs.words < _SHORT) - 1.0 * (signs.words < _VERY_SHORT)


def categorise(signs: Signs, *, dated: bool) -> Category:
    """Name the kind of statement; `dated` tells that its only numbers are years."""
    if signs.numbers and not dated:
        return "statistical"
    if signs.causal:
        return "causal"
    if dated or signs.historical:
        return "historical"
    if signs.scientific or signs.attributed:
        return "scientific"
    return "comparative" if signs.comparative else "factual"


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


def _is_fragment(norms: list[str]) -> bool:
    """Tell a piece of a sentence: it opens or ends as no whole sentence does."""
    return bool(norms) and (norms[0] in CONTINUERS or norms[-1] in OPEN_ENDED)


def _leads_with_pronoun(norms: list[str]) -> bool:
    """Tell whether a sentence opens with a pronoun whose noun stands elsewhere."""
    if not norms or norms[0] not in _PRONOUNS:
        return False
    determiner = norms[0] in {"this", "that", "these", "those", "its"}
    return not (determiner and len(norms) > 1 and not is_stop_word(norms[1]))
