"""The rules of Raw Evidence for questions, spans of documents, and summaries.

Source: Chen et al. 2023, arXiv:2305.11859, sections 3.1, 3.3 and 3.4; parameters of section 4.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from rapidfuzz import fuzz

from factible_assets.reasoners.embedded.text import (
    NEGATIONS,
    content_stems,
    find_numbers,
    fold,
    is_english,
    stem,
    tokenise,
    word_set,
)
from factible_assets.reasoners.readers.page_text import page_sentences
from factible_assets.reasoners.readers.passages import bm25_scores
from factible_assets.records.tables import Answered
from factible_assets.stages.quotes import QuoteFinder
from resources.words import STOP_WORDS, UNSPACED

# --- Questions (sections 3.1, 6.2, 6.3) ---------------------------------------------------------

MOST_QUESTIONS: Final = 10
"""Questions of a claim (section 3.1)."""
DOCUMENTS_PER_QUESTION: Final = 10
"""Documents for each question, after the limits of time and site (section 3.2)."""
_SAME: Final = 90
"""Token-sort similarity (0 to 100) of two questions' stems from which they ask the same."""

QUESTION_MARKS: Final = frozenset("?\uff1f\u061f")
_OPENERS: Final = word_set(
    """
    what when where which who whom whose why how quand quel quelle quels quelles qui que quoi
    comment pourquoi wann wer wem wen welche welcher welches wo warum wieso wie qué cuándo dónde
    quién cuál cómo
    """
)
"""The first words of questions that yes or no does not answer."""
TECHNIQUES: Final[Mapping[Answered, str]] = {
    "answered": "question answered",
    "partly": "question answered in part",
    "not": "question not answered",
}
"""The techniques of the steps about a question; the metric counts them."""
Answerability = Literal["answered", "partly", "partly not", "not"]
"""How far the evidence answers a claim (section 6.3: answerable … unanswerable)."""


def distinct_questions(texts: Iterable[str], most: int = MOST_QUESTIONS) -> tuple[str, ...]:
    """Return the distinct yes/no questions among some texts.

    Beyond exact repetitions (appendix A.2), a question drops out if it only reorders or inflects
    the words of another, unless its numbers or denials differ.
    """
    distinct: dict[str, tuple[str, object]] = {}
    for text in texts:
        question = " ".join(text.split())
        words = [word.norm for word in tokenise(question)]
        is_yes_no = question[-1:] in QUESTION_MARKS and words and words[0] not in _OPENERS
        if not is_yes_no:
            continue
        numbers = sorted(number.value for number in find_numbers(question))
        stems, meaning = " ".join(map(stem, words)), (numbers, NEGATIONS.intersection(words))
        if not any(
            meaning == other_meaning and fuzz.token_sort_ratio(stems, other_stems) >= _SAME
            for other_stems, other_meaning in distinct.values()
        ):
            distinct[question] = stems, meaning
    return tuple(distinct)[:most]


def answerability(questions: Sequence[Answered]) -> Answerability | None:
    """Return how far a claim is answered, from its questions (section 6.3); None without questions.

    Answered: all are. Partly: all are at least in part. Not: none is. Else partly not.
    """
    levels = set(questions)
    if len(levels) > 1:
        return "partly not" if "not" in levels else "partly"
    return questions[0] if questions else None


# --- Spans (section 3.3) ------------------------------------------------------------------------

SPAN_WORDS: Final = 30
"""k1: words of a span; the next begins half as many further on."""
WIDENING: Final = 150
"""k2: words of context on either side of a chosen span."""
KEPT_SPANS: Final = 10
"""K1: chosen spans of all documents of a claim."""
KEPT_DOCUMENTS: Final = 4
"""K2: chosen documents, by their best span."""
GAP: Final = "\n[…]\n"
"""Separates two parts of a document that do not touch."""
_WORD = re.compile(rf"{UNSPACED.pattern}{{1,2}}|[^\s{UNSPACED.pattern[1:]}+")
"""A word; two letters count as one in scripts without spaces."""


@dataclass(frozen=True, slots=True)
class Selected:
    """The chosen parts of one document (`key`); `score` is the BM25 score of its best span."""

    key: str
    score: float
    text: str


def spans(words: int, size: int = SPAN_WORDS) -> list[tuple[int, int]]:
    """Cut `words` words into spans of `size` at half stride; return half-open ranges.

    The last one ends with the text, and none lies inside another.
    """
    stride = max(1, size // 2)
    return [
        (start, min(start + size, words))
        for start in range(0, words, stride)
        if start == 0 or start + size - stride < words
    ]


def merged(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join ranges that overlap or touch."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined


def select(queries: Sequence[str], documents: Mapping[str, str]) -> tuple[Selected, ...]:
    """Return the best documents for some questions or a claim, best first, cut to their best spans.

    All questions together are one query over the spans of all documents, which agrees with the
    paper's table 8 (2,710 words of 7.7 documents). A span without a content word of the query never
    counts.
    """
    words = {key: list(_WORD.finditer(text)) for key, text in documents.items()}

    def passage(key: str, start: int, end: int) -> str:
        return documents[key][words[key][start].start() : words[key][end - 1].end()]

    places = [(key, *span) for key in words for span in spans(len(words[key]))]
    terms = [_terms(passage(*place)) for place in places]
    scores = bm25_scores([term for query in queries for term in _terms(query)], terms)
    ranges: dict[str, list[tuple[int, int]]] = {}
    best_scores: dict[str, float] = {}
    for at in sorted(range(len(scores)), key=lambda at: (-scores[at], at))[:KEPT_SPANS]:
        key, start, end = places[at]
        if scores[at] > 0:
            # Best spans come first, so documents are in the order of their best span.
            best_scores.setdefault(key, scores[at])
            widened = max(0, start - WIDENING), min(len(words[key]), end + WIDENING)
            ranges.setdefault(key, []).append(widened)
    return tuple(
        Selected(key, best_scores[key], GAP.join(passage(key, *part) for part in merged(parts)))
        for key, parts in list(ranges.items())[:KEPT_DOCUMENTS]
    )


def _terms(text: str) -> list[str]:
    """List the stems of the content words, and the pairs of letters in scripts without spaces."""
    pairs = re.findall(rf"(?=({UNSPACED.pattern}{{2}}))", text)
    return [*pairs, *content_stems(UNSPACED.sub(" ", text))]


# --- Summaries (section 3.4) --------------------------------------------------------------------

_JUDGEMENT = re.compile(
    r"\b(?:claim|statement|assertion)\b[^.]{0,30}\b(?:is|are|was|were|seems|appears)\b[^.]{0,30}"
    r"\b(?:true|false|correct|incorrect|accurate|inaccurate|wrong|right|misleading|refuted|supported"
    r"|confirmed|debunked|verified|unproven|valid)\b"
    r"|\b(?:supports?|refutes?|confirms?|contradicts?|debunks?|disproves?|backs up) "
    r"(?:the|this|that) (?:claim|statement|assertion)\b",
    re.IGNORECASE,
)
_THE_CLAIM = re.compile(r"\b(?:the|this|that) claim\b", re.IGNORECASE)
_NAME = re.compile(r"(?<![.!?:]\s)(?<!^)(?<![\"\u201c])\b[A-Z][\w'\u2019-]*[a-z]\w*|\b[A-Z]{2,}\b")
_LETTERS = re.compile(r"\w+")


def unfounded(sentence: str, passage: str, *, names: bool = True) -> list[str]:
    """Return the numbers, quotes and `names` of a sentence that its passage lacks.

    Numbers compare by value, names by their letters, quotes character by character; the first word
    of a sentence is no name. Most of the paper's factual errors are of these kinds (figure 6).
    """
    stated = {number.value for number in find_numbers(passage)}
    words = {*map(fold, _LETTERS.findall(passage)), *STOP_WORDS, "s"}
    inventions = [
        sentence[number.start : number.end]
        for number in find_numbers(sentence)
        if number.value not in stated
    ]
    inventions += [
        name
        for name in (_NAME.findall(sentence) if names else ())
        if not words.issuperset(map(fold, _LETTERS.findall(name)))
    ]
    misquotes = QuoteFinder(passage).misquotes(sentence)
    return [*inventions, *(quote for quote in misquotes if quote not in passage)]


def split_quotes(quotes: Iterable[str], passage: str) -> tuple[str, ...]:
    """Split the quotes that the passage lacks into sentences; return all.

    A model may join sentences that do not stand together.
    """
    finder, parts = QuoteFinder(passage), list[str]()
    for quote in quotes:
        is_whole = finder.find(quote) is not None
        parts += [quote] if is_whole else [sentence.text for sentence in page_sentences(quote)]
    return tuple(parts)


def check_summary(summary: str, passage: str) -> tuple[str, list[str]] | None:
    """Return a summary without sentences that judge the claim or invent something.

    The second value lists the inventions; None stands for an empty summary. A sentence with "the
    claim" judges the claim, unless the document has these words too.
    """
    if not summary.strip():
        return None
    # German capitalises every noun, and another language may have other names for a place.
    names = is_english(summary) is True and is_english(passage) is not False
    sound, inventions = list[str](), list[str]()
    has_a_claim = _THE_CLAIM.search(passage) is not None
    for sentence in page_sentences(summary):
        text = sentence.text
        invented = unfounded(text, passage, names=names)
        inventions += invented
        judges = _JUDGEMENT.search(text) or (not has_a_claim and _THE_CLAIM.search(text))
        if not invented and not judges:
            sound.append(text)
    return " ".join(sound), inventions
