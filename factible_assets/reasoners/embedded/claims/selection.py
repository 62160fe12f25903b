"""Which sentences of a transcript are its check-worthy claims.

What belongs here: the candidates, the choice among them, and each claim's importance, confidence,
category and context. What does not: what a sentence counts (checkworthiness.py), whether its
speaker stands by it (statements.py), how it is written (wording.py), the reasoner around it
(engine.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from factible_assets.reasoners.embedded.claims.checkworthiness import (
    CHOSEN,
    FITTED,
    Scores,
    Wording,
    categorise,
    measure,
    rate,
    read_wording,
    read_worth,
)
from factible_assets.reasoners.embedded.claims.sentences import (
    Sentence,
    reading_text,
    split_sentences,
)
from factible_assets.reasoners.embedded.claims.statements import disowned, parts
from factible_assets.reasoners.embedded.claims.wording import trim, write_claim
from factible_assets.reasoners.embedded.embedder import Embedder, Vectors, minilm
from factible_assets.reasoners.embedded.text import (
    NEGATIONS,
    content_stems,
    find_numbers,
    is_english,
    tokenise,
)
from factible_assets.records import Transcript, TranscriptSegment, Video
from factible_assets.stages.ports import ClaimDraft, ClaimDrafts, ReasonerRefusalError, clamped

MAX_CLAIM_WORDS = 48
"""Words that a claim has at most. Factible (section 1.3.2) says 40; whole sentences up to 48 read
better than cut ones and match annotations as well (benchmarks/claims.py)."""

_LONGEST = 1000
"""Characters from which a sentence is too long to be a claim, whatever its words."""

_FEWEST_CONTENT_WORDS = 2
_LEAST_ODDS = -2.3
"""Log-odds from which a sentence is a claim at all; below are greetings and talk."""

_DUPLICATE = 0.85
"""Cosine from which two claims say the same, if their words do not differ in what decides."""

_USUAL_IMPORTANCE, _IMPORTANCE_SPREAD = 0.74, 0.02
"""Annotators give their claims .75 on average, and the odds say little of how theirs differ
(correlation .13)."""

_CONTEXT_WORDS = 4
"""Content words from which the words before a claim in its sentence say what it points at."""

_OTHER_LANGUAGE = (
    "the transcript is not in English, the only language that the embedded engine reads. Set up a "
    "language model (OPENAI_API_KEY or OLLAMA_HOST), or give an English transcript."
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence in the running, or a part of one; `place` counts the sentences."""

    span: Sentence
    text: str
    place: int
    wording: Wording


def extract_claims(
    video: Video,
    transcript: Transcript,
    segments: Sequence[TranscriptSegment],
    *,
    max_claims: int,
    embedder: Embedder,
) -> ClaimDrafts:
    """Find the check-worthy claims of a transcript, most important first.

    Time and memory grow with the length of the transcript.

    Args:
        video: The video; not used.
        transcript: The raw text; every offset in the result indexes it.
        segments: The timed captions, if known.
        max_claims: How many claims to return at most, at least 1.
        embedder: How likeness to the talk and between claims is measured.

    Returns:
        The claims without a thesis: which sentence a talk argues for is too seldom sure.

    Raises:
        SetupError: The embedder's model cannot be loaded.
        ReasonerRefusalError: The transcript is not in English.
    """
    if not is_english(transcript.text):
        raise ReasonerRefusalError(_OTHER_LANGUAGE)
    sentences = split_sentences(transcript.text, segments)
    candidates, measures, vectors = measure_candidates(transcript.text, sentences, embedder)
    odds = rate(measures).tolist()
    chosen, left_out = choose([each.text for each in candidates], vectors, odds, max_claims)
    claims = [_draft(transcript.text, sentences, candidates[each], odds[each]) for each in chosen]
    return ClaimDrafts(thesis=None, claims=tuple(claims), left_out=left_out)


def measure_candidates(
    raw: str, sentences: Sequence[Sentence], embedder: Embedder
) -> tuple[list[Candidate], Scores, Vectors]:
    """Return what can be a claim of the speaker: one candidate a sentence, at most.

    A part of a sentence stands for the whole where it is worth more by itself, because the rest is
    then more likely talk.

    Returns:
        The candidates, their measures (checkworthiness.measure) and their vectors.
    """
    listed = _list_candidates(raw, sentences)
    if not listed:
        return [], np.empty((0, len(FITTED) + len(CHOSEN))), np.empty((0, 0), dtype=np.float32)
    worth = read_worth(minilm().embed([each.text for each in listed]))
    best: dict[int, int] = {}
    for number, each in enumerate(listed):
        if each.place not in best or worth[number] > worth[best[each.place]]:
            best[each.place] = number
    kept = list(best.values())
    candidates = [listed[number] for number in kept]
    # Where MiniLM is the embedder, it has these vectors by now.
    vectors = embedder.embed([each.text for each in candidates])
    wordings = [each.wording for each in candidates]
    certainties = [each.span.certainty for each in candidates]
    return candidates, measure(wordings, certainties, worth[kept], vectors), vectors


def _list_candidates(raw: str, sentences: Sequence[Sentence]) -> list[Candidate]:
    """List the sentences, and their parts, that can be claims of the speaker."""
    listed = []
    for place, (each, is_disowned) in enumerate(zip(sentences, disowned(sentences), strict=True)):
        if is_disowned or each.end - each.start > _LONGEST:
            continue
        sentence = trim(raw, each)
        for span in (sentence, *(trim(raw, part) for part in parts(raw, sentence))):
            text = write_claim(raw, span)
            wording = read_wording(text)
            if (
                wording.content >= _FEWEST_CONTENT_WORDS
                and wording.words <= MAX_CLAIM_WORDS
                and not wording.is_question
            ):
                listed.append(Candidate(span, text, place, wording))
    return listed


def choose(
    texts: Sequence[str], vectors: Vectors, odds: Sequence[float], max_claims: int
) -> tuple[list[int], int]:
    """Pick the likeliest claims without those that say the same again.

    Returns:
        The places of the chosen, likeliest first; and how many others could have been chosen.
    """
    pool = [place for place, each in enumerate(odds) if each > _LEAST_ODDS]
    pool.sort(key=lambda place: -odds[place])
    chosen: list[int] = []
    while pool and len(chosen) < max_claims:
        best = pool.pop(0)
        chosen.append(best)
        likeness = (vectors[pool] @ vectors[best]).tolist()
        pool = [
            place
            for place, like in zip(pool, likeness, strict=True)
            if like < _DUPLICATE or not says_the_same(texts[place], texts[best])
        ]
    return chosen, len(pool)


def says_the_same(one: str, other: str) -> bool:
    """Tell whether two texts on one topic differ in nothing that decides.

    They differ if just one of them denies, if both have figures and these are not the same, or if
    they are the same but for one content word each ("raises", "lowers"): it is the contrast that
    the speaker makes.
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
    """Return how important a claim of these log-odds is, 0 to 1."""
    return round(clamped(_USUAL_IMPORTANCE + _IMPORTANCE_SPREAD * odds), 3)


def _draft(
    raw: str, sentences: Sequence[Sentence], candidate: Candidate, odds: float
) -> ClaimDraft:
    """Return a candidate as a claim; one that points at something has the words before it."""
    sentence = sentences[candidate.place]
    before = reading_text(raw[sentence.start : candidate.span.start])
    if len(content_stems(before)) < _CONTEXT_WORDS:
        before = sentences[candidate.place - 1].text if candidate.place else ""
    return ClaimDraft(
        text=candidate.text,
        importance=importance(odds),
        confidence=round(1 / (1 + math.exp(-odds)), 3),
        category=categorise(candidate.text),
        context=before if candidate.wording.pointing and before else None,
        char_start=candidate.span.start,
        char_end=candidate.span.end,
    )
