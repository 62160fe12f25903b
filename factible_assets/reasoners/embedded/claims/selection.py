"""Selects the check-worthy claims of a transcript."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from factible_assets.reasoners.embedded.claims.checkworthiness import (
    CHOSEN,
    FITTED,
    Scores,
    WordCounts,
    categorise,
    count_words,
    features_of,
    log_odds,
    worth_of,
)
from factible_assets.reasoners.embedded.claims.claim_text import trim, write_claim
from factible_assets.reasoners.embedded.claims.sentences import (
    Sentence,
    reading_text,
    split_sentences,
)
from factible_assets.reasoners.embedded.claims.statements import independent_parts, withdrawn
from factible_assets.reasoners.embedded.embedder import Embedder, Vectors
from factible_assets.reasoners.embedded.text import (
    NEGATIONS,
    content_stems,
    find_numbers,
    is_english,
    tokenise,
)
from factible_assets.records.tables import Transcript, TranscriptSegment
from factible_assets.stages.ports import ClaimDraft, ClaimDrafts, ReasonerRefusalError, clamped

MAX_CLAIM_WORDS = 48
"""Words of the longest claim. Factible (section 1.3.2) says 40; whole sentences up to 48 read
better than cut ones and match annotations as well (benchmarks/claims.py)."""

_LONGEST = 1000
"""Characters of the longest sentence that can be a claim."""

_FEWEST_CONTENT_WORDS = 2
_LEAST_ODDS = -2.3
"""Log-odds of the weakest claim; below are greetings and talk."""

_DUPLICATE = 0.85
"""Cosine from which two claims are the same, unless a decisive word differs."""

_USUAL_IMPORTANCE, _IMPORTANCE_SPREAD = 0.74, 0.02
"""Annotators give their claims .75 on average, and the odds hardly predict the differences
(correlation .13)."""

_CONTEXT_WORDS = 4
"""With fewer content words before a claim in its sentence, the sentence before is its context."""

_OTHER_LANGUAGE = (
    "the transcript is not in English, the only language that the embedded engine reads. Set up a "
    "language model (OPENAI_API_KEY or OLLAMA_HOST), or give an English transcript."
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence, or a part of the one at `sentence_index`, that may be a claim."""

    span: Sentence
    text: str
    sentence_index: int
    counts: WordCounts


def extract_claims(
    transcript: Transcript,
    segments: Sequence[TranscriptSegment],
    *,
    max_claims: int,
    embedder: Embedder,
) -> ClaimDrafts:
    """Find the check-worthy claims of a transcript, most important first.

    `segments` are the timed captions, if known. The result has no thesis, because a thesis is
    seldom certain. Raises SetupError if the embedding model cannot be loaded, ReasonerRefusalError
    if the transcript is not in English.
    """
    if is_english(transcript.text) is False:
        raise ReasonerRefusalError(_OTHER_LANGUAGE)
    sentences = split_sentences(transcript.text, segments)
    candidates, features, vectors = candidates_of(transcript.text, sentences, embedder)
    odds = log_odds(features).tolist()
    chosen, left_out = choose(
        [candidate.text for candidate in candidates], vectors, odds, max_claims
    )
    claims = [_draft(transcript.text, sentences, candidates[at], odds[at]) for at in chosen]
    return ClaimDrafts(thesis=None, claims=tuple(claims), left_out=left_out)


def candidates_of(
    raw: str, sentences: Sequence[Sentence], embedder: Embedder
) -> tuple[list[Candidate], Scores, Vectors]:
    """Return the candidates with their features and vectors, one row each.

    A sentence gives at most one candidate: itself, or its part that is worth more than the whole,
    because the rest is then likely talk.
    """
    listed = _list_candidates(raw, sentences)
    if not listed:
        return [], np.empty((0, len(FITTED) + len(CHOSEN))), np.empty((0, 0), dtype=np.float32)
    vectors = embedder.embed([candidate.text for candidate in listed])
    worth = worth_of(vectors)
    best: dict[int, int] = {}
    for at, candidate in enumerate(listed):
        if worth[at] > worth[best.setdefault(candidate.sentence_index, at)]:
            best[candidate.sentence_index] = at
    kept = list(best.values())
    candidates = [listed[at] for at in kept]
    counts = [candidate.counts for candidate in candidates]
    certainties = [candidate.span.certainty for candidate in candidates]
    features = features_of(counts, certainties, worth[kept], vectors[kept])
    return candidates, features, vectors[kept]


def _list_candidates(raw: str, sentences: Sequence[Sentence]) -> list[Candidate]:
    """List the sentences, and their parts, that may be claims of the speaker."""
    listed = []
    are_withdrawn = withdrawn(raw, sentences)
    for index, sentence in enumerate(sentences):
        if are_withdrawn[index] or sentence.end - sentence.start > _LONGEST:
            continue
        whole = trim(raw, sentence)
        for span in (whole, *(trim(raw, part) for part in independent_parts(raw, whole))):
            text = write_claim(raw, span)
            counts = count_words(text)
            if (
                counts.content >= _FEWEST_CONTENT_WORDS
                and counts.words <= MAX_CLAIM_WORDS
                and not counts.is_question
            ):
                listed.append(Candidate(span, text, index, counts))
    return listed


def choose(
    texts: Sequence[str], vectors: Vectors, odds: Sequence[float], max_claims: int
) -> tuple[list[int], int]:
    """Choose the likeliest claims without repetitions.

    Returns the indices of the chosen, the likeliest first, and the number of other eligible claims.
    """
    pool = [index for index, log_odds in enumerate(odds) if log_odds > _LEAST_ODDS]
    pool.sort(key=lambda index: -odds[index])
    chosen: list[int] = []
    while pool and len(chosen) < max_claims:
        best = pool.pop(0)
        chosen.append(best)
        cosines = (vectors[pool] @ vectors[best]).tolist()
        pool = [
            index
            for index, cosine in zip(pool, cosines, strict=True)
            if cosine < _DUPLICATE or not says_the_same(texts[index], texts[best])
        ]
    return chosen, len(pool)


def says_the_same(one: str, other: str) -> bool:
    """Whether two texts on one topic state the same.

    They do not if only one of them denies (two denials cancel out), if both have figures and these
    differ, or if each has exactly one content word that the other lacks ("raises", "lowers"),
    because then the speaker contrasts them.
    """
    denials = [sum(word.norm in NEGATIONS for word in tokenise(text)) % 2 for text in (one, other)]
    figures = [{number.value for number in find_numbers(text)} for text in (one, other)]
    only_one, only_other = (
        set(content_stems(left)) - set(content_stems(right))
        for left, right in ((one, other), (other, one))
    )
    return (
        denials[0] == denials[1]
        and (not all(figures) or figures[0] == figures[1])
        and not len(only_one) == len(only_other) == 1
    )


def importance(odds: float) -> float:
    """Return the importance of a claim with these log-odds, 0 to 1."""
    return round(clamped(_USUAL_IMPORTANCE + _IMPORTANCE_SPREAD * odds), 3)


def _draft(
    raw: str, sentences: Sequence[Sentence], candidate: Candidate, odds: float
) -> ClaimDraft:
    """Turn a candidate into a claim.

    If it has pronouns, its context is the beginning of its sentence, or, if that is too short, the
    sentence before.
    """
    sentence = sentences[candidate.sentence_index]
    before = reading_text(raw[sentence.start : candidate.span.start])
    if len(content_stems(before)) < _CONTEXT_WORDS:
        before = sentences[candidate.sentence_index - 1].text if candidate.sentence_index else ""
    return ClaimDraft(
        text=candidate.text,
        importance=importance(odds),
        confidence=round(1 / (1 + math.exp(-odds)), 3),
        category=categorise(candidate.text),
        context=before if candidate.counts.pointing and before else None,
        char_start=candidate.span.start,
        char_end=candidate.span.end,
    )
