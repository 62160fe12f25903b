"""Web searches that would find evidence for and against a claim.

What belongs here: wording queries of the four types (Factible, section 1.3.3, table 4) from a
claim's own words and its topic. What does not: the topics (topics.py), choosing how many queries
are asked beyond the limit given (stages).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from factible_assets.reasoners.embedded.text import (
    NEGATIONS,
    STOP_WORDS,
    Word,
    fold,
    stem,
    tokenise,
    word_set,
)
from factible_assets.reasoners.embedded.topics import Topic, find_topic
from factible_assets.records import Claim, Video
from factible_assets.stages.ids import normalise_text
from factible_assets.stages.ports import QueryDraft

_MOST_KEYWORDS = 12
_CORE = 6
_FEW = 4
_TOO_FEW = 2
_SUBJECT_WORDS = 9
_MOST_QUESTION_WORDS = 20
_YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d(?:s\b|\b)")
_QUOTATION_MARKS = re.compile('["\u201c\u201d()\\[\\]]')

# Function words that change what a claim says, and words of time: kept in keyword queries.
_TELLING = NEGATIONS | word_set(
    "more most less least fewer than only every all before after since until during between under"
    " over above below against without always almost already still ever now ago"
)

# Verbs and nouns that narrow no search.
_GENERIC = word_set(
    """
    become became becoming show shows showed shown found find finds help helps helped helping
    include includes including included contain contains contained provide provides provided
    experience experienced happen happens happened called call calls work works working start starts
    started people person thing things way ways lot part parts kind kinds number amount level levels
    good bad big actually simply basically really
    """
)
_AUXILIARIES = word_set(
    "is are was were can could will would has have had does do did should may might must"
)
_OPENS_SUBORDINATE = word_set(
    "that which who whom whose because if when while although since where as than what how why"
)


def _read_pairs(pairs: str) -> dict[str, str]:
    """Read "word = other words; ..." as a mapping."""
    parted = (pair.partition("=") for pair in pairs.split(";") if "=" in pair)
    return {word.strip(): " ".join(other.split()) for word, _, other in parted}


_SYNONYMS = _read_pairs(
    """
     = cause = lead to; causes = leads to; caused = led to; increase = rise; increases = raises;
    increased = rose; increasing = rising; decrease = decline; decreased = fell; reduce = lower;
    reduces = lowers; reduced = lowered; prevent = protect against; prevents = protects against;
    kill = destroy; kills = destroys; killed = destroyed; improve = enhance;
    improves = enhances; improved = enhanced; dangerous = harmful; harmful = dangerous;
    healthy = good for health; study = research; studies = research; research = studies;
    scientists = researchers; researchers = scientists; children = kids; elderly = older adults;
    unemployment = jobless rate; jobs = employment; wages = pay; pay = wages;
    prices = cost of living; illegal = unlawful; immigrants = migrants; votes = ballots;
    ballots = votes; fraud = irregularities; electricity = power; blackout = power outage;
    doctors = physicians; disease = illness; illness = disease; vaccine = immunisation;
    vaccines = immunisation; treatment = therapy; cure = treatment; treat = cure;
    tripled = grew threefold; doubled = grew twofold; largest = biggest; biggest = largest;
    fastest = quickest; majority = most; government = authorities; law = legislation;
    laws = legislation; war = conflict; country = nation; countries = nations; world = global;
    worldwide = globally; americans = people in the U.S.; quickly = rapidly; rapidly = quickly;
    shrinking = declining; surging = rising; dropped = fell; fell = dropped; grew = rose;
    rose = grew; died = deaths; deaths = fatalities; exercise = physical activity;
    weight = body weight; food = diet; money = funds; banned = prohibited; proven = shown;
    cancer = tumours; flooding = floods; emissions = pollution; warming = heating;
    """
)
"""Words for which a search may as well say something else."""


def write_queries(
    claim: Claim, *, video: Video | None = None, max_queries: int
) -> tuple[QueryDraft, ...]:
    """Word the searches for a claim, in the order in which they should be asked.

    The first is the claim's keywords; the second, whenever two are asked, looks for its contrary;
    then follow a question, the topic's authorities, background, and looser forms. Numbers, years,
    negations and "U.S." are kept as the claim has them; a year that only the claim's context names
    is added.

    Args:
        claim: Whose text, category and context are used.
        video: Its title lends its topic to a claim that has too few words of its own.
        max_queries: How many to return at most, at least 1.

    Returns:
        1 to max_queries drafts without repetition, priorities 1 to 5 ascending.
    """
    title = video.title if video is not None else ""
    unique: dict[str, QueryDraft] = {}
    for draft in _drafts(claim, title):
        if draft.text.strip():
            unique.setdefault(normalise_text(draft.text), draft)
    return tuple(unique.values())[:max_queries]


def keywords(text: str) -> list[str]:
    """List the words of a text that a search needs, as written, in order."""
    return [text[word.start : word.end] for word in tokenise(text) if _is_keyword(word)]


def _drafts(claim: Claim, title: str) -> Iterator[QueryDraft]:
    """Word every query, most useful first."""
    text = _QUOTATION_MARKS.sub("", claim.text).strip() or claim.text.strip()
    words = _with_background(keywords(text), claim, title) or [text]
    topic = find_topic(" ".join([text, claim.context or "", title]))
    core = _most_telling(words, _CORE, topic)
    years = [word for word in words if _YEAR.fullmatch(word) and word not in core]
    yield QueryDraft(" ".join(words[:_MOST_KEYWORDS]), "direct", 1)
    yield QueryDraft(
        " ".join([*core, *years, topic.contradiction]), "alternative", 2, seeks_opposite=True
    )
    yield QueryDraft(ask(text), "alternative", 2)
    yield QueryDraft(" ".join([*core, *years, topic.authorities]), "source", 3)
    subject = _most_telling([word for word in words if not _is_figure(word)] or core, _FEW, topic)
    dates = [word for word in words if _YEAR.fullmatch(word) and word not in subject]
    yield QueryDraft(" ".join([*subject, *dates, _background(claim)]), "context", 3)
    rephrased = [_SYNONYMS.get(fold(word), word) for word in words[:_MOST_KEYWORDS]]
    yield QueryDraft(" ".join(rephrased), "alternative", 4)
    yield QueryDraft(f"criticism of {' '.join(subject)}", "context", 4, seeks_opposite=True)
    yield QueryDraft(text.rstrip("."), "direct", 5)


def ask(statement: str) -> str:
    """Turn a statement into a question, by inversion where its first verb is an auxiliary.

    "Heat waves are rarer than in 1900." becomes "Are heat waves rarer than in 1900?"; a statement
    without such a verb becomes "Is it true that …?".
    """
    text = statement.strip().rstrip(".!?").rstrip()
    words = tokenise(text)[:_MOST_QUESTION_WORDS]
    if not words:
        return statement
    text = text[: words[-1].end]
    for position, word in enumerate(words[:_SUBJECT_WORDS]):
        if word.norm in _OPENS_SUBORDINATE or "," in text[: word.start]:
            break
        if position and word.norm in _AUXILIARIES:
            subject = _lower_first(text[: word.start].strip())
            rest = text[word.end :].strip()
            return f"{word.norm.capitalize()} {subject} {rest}?"
    return f"Is it true that {_lower_first(text)}?"


def _is_keyword(word: Word) -> bool:
    if word.norm in _TELLING or any(letter.isdigit() for letter in word.norm):
        return True
    return len(word.norm) > 1 and word.norm not in STOP_WORDS


def _with_background(words: list[str], claim: Claim, title: str) -> list[str]:
    """Add what the claim takes for granted: its context's year, and the title's topic."""
    added = list(words)
    if not any(_YEAR.fullmatch(word) for word in words):
        added += _YEAR.findall(claim.context or "")[:1]
    if len([word for word in words if not _is_figure(word)]) < _TOO_FEW:
        present = {fold(word) for word in words}
        added += [word for word in keywords(title) if fold(word) not in present][:_TOO_FEW]
    return added


def _most_telling(words: list[str], count: int, topic: Topic) -> list[str]:
    """Choose the words that narrow a search most, in their order."""
    ranked = sorted(
        range(len(words)), key=lambda index: (-_weight(words[index], index, topic), index)
    )
    return [words[index] for index in sorted(ranked[:count])]


def _weight(word: str, position: int, topic: Topic) -> float:
    """Weigh a keyword: names and years, then the topic's words, figures, long and generic ones."""
    if _YEAR.fullmatch(word) or (position and word[0].isupper()):
        return 3.0
    if stem(fold(word)) in topic.stems:
        return 2.5
    if _is_figure(word) or fold(word) in NEGATIONS:
        return 2.0
    if fold(word) in _GENERIC or fold(word) in _TELLING:
        return 0.3
    return 1.0 + min(len(word), 10) / 10


def _is_figure(word: str) -> bool:
    return any(letter.isdigit() for letter in word) and not word[0].isalpha()


def _background(claim: Claim) -> str:
    """Say what would put a claim of its category into context."""
    return {
        "statistical": "historical data trend",
        "causal": "causes and effects explained",
        "historical": "history background",
        "scientific": "scientific consensus",
        "comparative": "comparison over time",
    }.get(claim.category or "", "background explained")


def _lower_first(text: str) -> str:
    """Lower the first letter, unless its word is a name or an abbreviation."""
    first = text.split(maxsplit=1)[0] if text else ""
    if fold(first) in STOP_WORDS and not first.startswith(("I'", "I\u2019")) and first != "I":
        return text[0].lower() + text[1:]
    return text
