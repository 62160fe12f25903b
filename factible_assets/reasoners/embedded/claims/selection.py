"""Which sentences of a transcript are its check-worthy claims.

What belongs here: scoring sentences by wording and by their place in the video, choosing a varied
set, and giving each claim its importance, confidence, category and context. What does not: signs
of wording (checkworthiness.py), tidying (wording.py), the reasoner around it (engine.py).

The constants are few, round and the same for every video; those of centrality and diversity were
settled in coarse steps on the claim benchmark (benchmarks/claims.py), not fitted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from factible_assets.reasoners.embedded.claims.checkworthiness import (
    Signs,
    categorise,
    read_doubts,
    read_signs,
)
from factible_assets.reasoners.embedded.claims.clauses import count_clauses, is_fragment, statements
from factible_assets.reasoners.embedded.claims.references import is_open, resolve
from factible_assets.reasoners.embedded.claims.sentences import (
    CERTAIN,
    Sentence,
    reading_text,
    split_sentences,
)
from factible_assets.reasoners.embedded.claims.wording import (
    MAX_CLAIM_WORDS,
    leans_back,
    strip_lead_ins,
    write_claim,
)
from factible_assets.reasoners.embedded.embedder import Embedder, Vectors, minilm
from factible_assets.reasoners.embedded.text import content_stems, find_numbers, is_english
from factible_assets.records import Transcript, TranscriptSegment, Video
from factible_assets.stages.ports import ClaimDraft, ClaimDrafts, ReasonerRefusalError

Scores = npt.NDArray[np.float64]

_PLACE = 0.2
"""What each standardised measure of place is worth in units of wording (spread about 1)."""

_DIVERSITY = 0.15
"""How much likeness to claims already chosen counts against a candidate (MMR's 1 - lambda)."""

_OPEN_REFERENCE, _COMPOUND, _HEADLESS, _RUN_ON = 1.1, 1.2, 2.0, 0.5
"""What counts against a candidate, in units of wording: pointing at what it does not name, being
two statements in one, having no main clause of its own, having the verbs of three where no
punctuation tells (neighbours of each do alike)."""

_UNSURE_ENDS, _LEAST_CERTAINTY = 0.75, 0.03
"""What counts against a candidate for each factor of e that it is less likely to be one whole
sentence, in units of wording; and where that ends."""

_FAULTS_IN_ORDER = 0.25
"""How much of the same counts in the order of the claims that were chosen: how a claim was said is
not what it is worth."""

_LEAST_WORDING = 0.05
_NEAREST, _AROUND, _ALIKE = 5, 3, 0.5
_DUPLICATE = 0.85
_BLOCK = 512
_FEWEST_CONTENT_WORDS, _MOST_VERBS = 2, 2

_CONTEXT_WORDS = 4
"""Content words from which the sentence before says what a claim points at."""

_EVEN_WORDING = 2.0
"""Wording at which a sentence is as likely a claim as not."""

_USUAL_IMPORTANCE, _USUAL_WORTH, _IMPORTANCE_SPREAD = 0.8, 0.9, 0.2
"""A claim of the usual worth of those chosen has the usual importance that annotators give; worth
says little of how theirs differ, so importance spreads little around it."""


_OTHER_LANGUAGE = (
    "the transcript is not in English, the only language that the embedded engine reads. Set up a "
    "language model (OPENAI_API_KEY or OLLAMA_HOST), or give an English transcript."
)


_TALK = -1.25
"""Wording, less faults, up to which a sentence is talk, such as a greeting, or too broken to show:
no claim, however few others are."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A sentence in the running, or a statement of it; `place` counts the sentences.

    `wording` is how much it sounds like a claim, `against` what its faults take from that.
    """

    sentence: Sentence
    text: str
    place: int
    signs: Signs
    wording: float
    against: float

    def overlaps(self, other: _Candidate) -> bool:
        """Tell whether both say some of the same words."""
        return self.sentence.start < other.sentence.end and other.sentence.start < self.sentence.end


def extract_claims(
    video: Video,
    transcript: Transcript,
    segments: Sequence[TranscriptSegment],
    *,
    max_claims: int,
    embedder: Embedder,
) -> ClaimDrafts:
    """Find the check-worthy claims of a transcript, most important first.

    A sentence is scored by how much its wording sounds like a claim and by its place in the talk
    (_measure_place). Claims are picked by maximal marginal relevance (Carbonell and Goldstein,
    SIGIR 1998), near-duplicates are cut. Time grows with the square of the number of sentences,
    memory with their number.

    Args:
        video: Its title tells what it is about.
        transcript: The raw text; every offset in the result indexes it.
        segments: The timed captions, if known.
        max_claims: How many claims to return at most, at least 1.
        embedder: How similarity is measured.

    Returns:
        The claims without a thesis: which sentence a talk argues for is too seldom sure.

    Raises:
        EmbedderUnavailableError: The embedder's model cannot be loaded.
        ReasonerRefusalError: The transcript is not in English.
    """
    raw = transcript.text
    if not is_english(raw):
        raise ReasonerRefusalError(_OTHER_LANGUAGE)
    sentences = split_sentences(raw, segments)
    candidates = _candidates(raw, sentences)
    if not candidates:
        return ClaimDrafts(thesis=None, claims=())
    texts = [candidate.text for candidate in candidates]
    vectors = embedder.embed([video.title, *texts])
    # Where MiniLM is the embedder, it has these vectors by now.
    doubts = read_doubts(minilm().embed(texts)).tolist()
    candidates = [
        replace(each, wording=each.wording + doubt)
        for each, doubt in zip(candidates, doubts, strict=True)
    ]
    wording = np.array([candidate.wording for candidate in candidates])
    faults = np.array([candidate.against for candidate in candidates])
    said = wording + _measure_place(vectors[0], vectors[1:], candidates)
    worth = _between_0_and_1(said - faults)
    shown = _between_0_and_1(said - _FAULTS_IN_ORDER * faults)
    drafts = [
        _draft(raw, sentences, candidates[index], float(shown[index]))
        for index in _choose(candidates, vectors[1:], worth, max_claims)
    ]
    return ClaimDrafts(
        thesis=None, claims=tuple(sorted(drafts, key=lambda claim: -claim.importance))
    )


def _candidates(raw: str, sentences: Sequence[Sentence]) -> list[_Candidate]:
    """List every sentence, and each statement of a compound one that can stand alone."""
    candidates = []
    before = ""
    for place, each in enumerate(sentences):
        sentence = strip_lead_ins(raw, each)
        parts, compound = statements(raw, sentence)
        for span in (sentence, *(strip_lead_ins(raw, part) for part in parts)):
            # What a later statement points at stands in its own sentence, which says it better.
            told = before if span.start == sentence.start else ""
            claim = resolve(write_claim(raw, span), told)
            signs = read_signs(claim)
            verbs, subordinate = count_clauses(claim)
            if signs.content_words >= _FEWEST_CONTENT_WORDS and signs.words <= MAX_CLAIM_WORDS:
                against = (
                    _OPEN_REFERENCE * is_open(claim)
                    + _COMPOUND * (compound and span is sentence)
                    + _HEADLESS * is_fragment(claim)
                    + _RUN_ON * (span.certainty < CERTAIN and verbs - subordinate > _MOST_VERBS)
                    - _UNSURE_ENDS * math.log(max(span.certainty, _LEAST_CERTAINTY))
                )
                candidates.append(_Candidate(span, claim, place, signs, signs.wording, against))
        before = write_claim(raw, sentence)
    return candidates


def _measure_place(
    title: npt.NDArray[np.float32], vectors: Vectors, candidates: Sequence[_Candidate]
) -> Scores:
    """Measure how much each candidate is what the talk is about.

    Six measures, standardised and summed: likeness to the title; to the centre of the candidates,
    each weighted by how much it sounds like a claim; to the five nearest; to what is said around
    it; how many are much like it (degree centrality: Erkan and Radev, LexRank, JAIR 2004); and how
    far it is from the talk's two ends, where greetings and thanks stand.
    """
    places = np.array([candidate.place for candidate in candidates])
    # Each sentence counts once, however many statements it has.
    whole = np.unique(places, return_index=True)[1]
    weights = np.array([max(_LEAST_WORDING, each.wording - each.against) for each in candidates])
    centre = (vectors[whole] * weights[whole, None]).sum(axis=0)
    nearest = min(_NEAREST, len(whole))
    near, around, alike = np.zeros((3, len(vectors)))
    for start in range(0, len(vectors), _BLOCK):
        rows = slice(start, start + _BLOCK)
        likeness = vectors[rows] @ vectors[whole].T
        apart = np.abs(places[rows, None] - places[whole])
        likeness[apart == 0] = 0.0
        near[rows] = np.partition(likeness, -nearest)[:, -nearest:].mean(axis=1)
        beside = (apart > 0) & (apart <= _AROUND)
        around[rows] = (likeness * beside).sum(axis=1) / np.maximum(beside.sum(axis=1), 1)
        alike[rows] = (likeness > _ALIKE).sum(axis=1)
    inside = -np.abs(places / max(1, places[-1]) - 0.5)
    measures = (vectors @ title, vectors @ centre, near, around, alike, inside)
    total: Scores = np.sum([_standardise(each) for each in measures], axis=0)
    return _PLACE * total


def _standardise(values: npt.ArrayLike) -> Scores:
    """Centre values on 0 with spread 1; equal values all become 0."""
    array = np.asarray(values, dtype=np.float64)
    spread = float(array.std())
    return (array - array.mean()) / spread if spread > 0 else np.zeros_like(array)


def _between_0_and_1(values: Scores) -> Scores:
    """Scale values so that the lowest is 0 and the highest 1; equal values all become 1."""
    low, high = float(values.min()), float(values.max())
    return (values - low) / (high - low) if high > low else np.ones_like(values)


def _choose(
    candidates: Sequence[_Candidate], vectors: Vectors, worth: Scores, max_claims: int
) -> list[int]:
    """Pick claims one by one: the best of what is unlike those picked before."""
    pool = [place for place, each in enumerate(candidates) if each.wording - each.against > _TALK]
    likeness = np.zeros(len(candidates))
    chosen: list[int] = []
    while pool and len(chosen) < max_claims:
        scores = (1 - _DIVERSITY) * worth[pool] - _DIVERSITY * likeness[pool]
        best = pool[int(np.argmax(scores))]
        chosen.append(best)
        similarity = vectors @ vectors[best]
        likeness = np.maximum(likeness, similarity)
        pool = [
            index
            for index in pool
            if similarity[index] < _DUPLICATE and not candidates[index].overlaps(candidates[best])
        ]
    return chosen


def _draft(
    raw: str, sentences: Sequence[Sentence], candidate: _Candidate, worth: float
) -> ClaimDraft:
    numbers = find_numbers(candidate.text)
    dated = bool(numbers) and all(number.kind == "year" for number in numbers)
    # The sentence before goes with a claim that points back at it, or takes it up; with a later
    # statement of a sentence the words before it.
    place = candidate.place
    before = reading_text(raw[sentences[place].start : candidate.sentence.start])
    if len(content_stems(before)) < _CONTEXT_WORDS:
        before = sentences[place - 1].text if place else ""
    leans = is_open(candidate.text) or leans_back(sentences[place].text)
    return ClaimDraft(
        text=candidate.text,
        importance=round(_USUAL_IMPORTANCE + _IMPORTANCE_SPREAD * (worth - _USUAL_WORTH), 3),
        confidence=round(
            1 / (1 + math.exp(_EVEN_WORDING - candidate.wording + candidate.against)), 3
        ),
        category=categorise(candidate.signs, dated=dated),
        context=before if leans and len(content_stems(before)) >= _CONTEXT_WORDS else None,
        char_start=candidate.sentence.start,
        char_end=candidate.sentence.end,
    )
