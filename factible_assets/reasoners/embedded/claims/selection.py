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
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from factible_assets.reasoners.embedded.claims.checkworthiness import (
    Signs,
    categorise,
    rate_wording,
    read_signs,
)
from factible_assets.reasoners.embedded.claims.references import is_open, resolve
from factible_assets.reasoners.embedded.claims.sentences import CERTAIN, Sentence, split_sentences
from factible_assets.reasoners.embedded.claims.wording import (
    MAX_CLAIM_WORDS,
    head_clause,
    join,
    leans_back,
    opens_inside,
    strip_lead_ins,
    write_claim,
)
from factible_assets.reasoners.embedded.embedder import (
    BlendedEmbedder,
    Embedder,
    TfidfEmbedder,
    Vectors,
    unit_rows,
)
from factible_assets.reasoners.embedded.text import content_stems, find_numbers, is_english
from factible_assets.records import Transcript, TranscriptSegment, Video
from factible_assets.stages.ports import ClaimDraft, ClaimDrafts, ReasonerRefusalError

Scores = npt.NDArray[np.float64]

_CENTRALITY = 0.15
"""What each standardised similarity is worth in units of wording (rate_wording, spread about 1)."""

_DIVERSITY = 0.15
"""How much likeness to claims already chosen counts against a candidate (MMR's 1 - lambda)."""

_OPEN_REFERENCE, _JOINED, _COMPOUND, _HEADLESS = 0.6, 0.5, 0.8, 0.8
"""What counts against a candidate, in units of wording: pointing at what it does not name, being
two sentences, being two statements in one, opening in the middle of one."""

_UNSURE_ENDS, _SURE = 0.6, 2.0
"""What each unit of log-odds counts by which a candidate's ends are less sure than _SURE."""

_LEAST_WORDING = 0.05
_NEAREST = 5
_DUPLICATE = 0.85
_DUPLICATE_WORDS = 0.8
_DUPLICATE_WORDS_WITH_FIGURE = 0.6
_CANDIDATES_PER_CLAIM = 8
_FEWEST_CANDIDATES = 60
_BLOCK = 512
_LONGEST_PAIR = 40
_FEWEST_CONTENT_WORDS = 2

_EVEN_WORDING = 2.0
"""Wording at which a sentence is as likely a claim as not."""

_USUAL_IMPORTANCE, _USUAL_WORTH, _IMPORTANCE_SPREAD = 0.8, 0.9, 0.2
"""A claim of the usual worth of those chosen has the usual importance that annotators give; worth
says little of how theirs differ, so importance spreads little around it."""


_OTHER_LANGUAGE = (
    "the transcript is not in English, the only language that the embedded engine reads. Set up a "
    "language model (OPENAI_API_KEY or OLLAMA_HOST), or give an English transcript."
)


_TALK = -1.0
"""Wording up to which a sentence is talk, such as a greeting: no claim, however few others are."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A sentence in the running, or two neighbours that belong together (first < last)."""

    sentence: Sentence
    text: str
    first: int
    last: int
    signs: Signs
    wording: float


def extract_claims(
    video: Video,
    transcript: Transcript,
    segments: Sequence[TranscriptSegment],
    *,
    max_claims: int,
    embedder: Embedder | None = None,
) -> ClaimDrafts:
    """Find the check-worthy claims of a transcript, most important first.

    A sentence is scored by how much its wording sounds like a claim, and by its similarity to the
    title, to the centre of what the transcript claims and to its five nearest sentences, each
    standardised over the video. Claims are picked by maximal marginal relevance (Carbonell and
    Goldstein, SIGIR 1998), near-duplicates are cut. Time grows with the square of the number of
    sentences, memory with their number; a three-hour transcript takes seconds with TF-IDF.

    Args:
        video: Its title is what centrality is measured against first.
        transcript: The raw text; every offset in the result indexes it.
        segments: The timed captions, if known.
        max_claims: How many claims to return at most, at least 1.
        embedder: How similarity is measured; TF-IDF if not given. A semantic model is blended with
            TF-IDF (see BlendedEmbedder), which finds better claims than either alone.

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
    texts = [video.title, *(candidate.text for candidate in candidates)]
    vectors = _blended(embedder).embed(texts)
    place = _measure_place(vectors[0], vectors[1:], candidates)
    worth = _between_0_and_1(
        np.array([candidate.wording for candidate in candidates]) + _CENTRALITY * place
    )
    drafts = [
        _draft(raw, sentences, candidates[index], float(worth[index]))
        for index in _choose(candidates, vectors[1:], worth, max_claims)
        if candidates[index].wording > _TALK
    ]
    return ClaimDrafts(
        thesis=None,
        claims=tuple(sorted(drafts, key=lambda claim: -claim.importance)),
    )


def _blended(embedder: Embedder | None) -> Embedder:
    if embedder is None:
        return TfidfEmbedder()
    if isinstance(embedder, TfidfEmbedder | BlendedEmbedder):
        return embedder
    return BlendedEmbedder(embedder)


def _candidates(raw: str, sentences: Sequence[Sentence]) -> list[_Candidate]:
    """List every sentence, and every pair of neighbours of which the second leans on the first."""
    tidy = [strip_lead_ins(raw, sentence) for sentence in sentences]
    written = [write_claim(raw, sentence) for sentence in tidy]
    candidates = []
    for position, (sentence, text) in enumerate(zip(tidy, written, strict=True)):
        before = written[position - 1] if position else ""
        spans = [(sentence, position, resolve(text, before))]
        head = head_clause(raw, sentence)
        if head is not None:
            spans.append((head, position, resolve(write_claim(raw, head), before)))
        if position + 1 < len(tidy):
            joined = _join(text, written[position + 1], sentences[position + 1].text)
            if joined is not None:
                spans.append((join(raw, sentence, sentences[position + 1]), position + 1, joined))
        for span, last, claim in spans:
            signs = read_signs(claim)
            if signs.content_words >= _FEWEST_CONTENT_WORDS and signs.words <= MAX_CLAIM_WORDS:
                wording = rate_wording(signs) - _rate_form(claim, span, joined=last > position)
                wording -= _COMPOUND * (head is not None and span is not head)
                candidates.append(_Candidate(span, claim, position, last, signs, wording))
    return candidates


def _rate_form(claim: str, span: Sentence, *, joined: bool) -> float:
    """Rate what a reader would miss in a candidate, in units of wording."""
    unsure = max(0.0, _SURE - span.certainty)
    headless = span.certainty < CERTAIN and opens_inside(claim)
    return (
        _OPEN_REFERENCE * is_open(claim)
        + _JOINED * joined
        + _HEADLESS * headless
        + _UNSURE_ENDS * unsure
    )


def _join(first: str, second: str, said: str) -> str | None:
    """Write two neighbours as one claim, if the second takes up the first; else None."""
    if len(first.split()) + len(second.split()) > _LONGEST_PAIR:
        return None
    if first.endswith("?") or is_open(first) or not (is_open(second) or leans_back(said)):
        return None
    return f"{first} {second}"


def _measure_place(
    title: npt.NDArray[np.float32], vectors: Vectors, candidates: Sequence[_Candidate]
) -> Scores:
    """Measure each candidate's similarity to the title, to the centre and to its nearest.

    The centre is the mean of the sentences, each weighted by how much it sounds like a claim: the
    middle of what is claimed, not of the small talk.
    """
    single = np.flatnonzero([each.first == each.last for each in candidates])
    if not len(single):
        single = np.arange(len(candidates))
    weights = np.array([max(_LEAST_WORDING, candidates[int(index)].wording) for index in single])
    centre = (vectors[single] * weights[:, None]).sum(axis=0, keepdims=True)
    return (
        _standardise(vectors @ title)
        + _standardise(vectors @ unit_rows(centre.astype(np.float32))[0])
        + _standardise(_mean_nearest(vectors, candidates, single))
    )


def _mean_nearest(
    vectors: Vectors, candidates: Sequence[_Candidate], single: npt.NDArray[np.intp]
) -> Scores:
    """Average each candidate's similarity to the nearest sentences outside it, block by block."""
    position = np.array([candidates[int(index)].first for index in single])
    first = np.array([each.first for each in candidates])[:, None]
    last = np.array([each.last for each in candidates])[:, None]
    nearest = min(_NEAREST, len(single))
    means = np.empty(len(vectors))
    for start in range(0, len(vectors), _BLOCK):
        rows = slice(start, start + _BLOCK)
        block = vectors[rows] @ vectors[single].T
        # A sentence inside the candidate counts as unlike it, not as its best neighbour.
        block[(position >= first[rows]) & (position <= last[rows])] = 0.0
        means[rows] = np.partition(block, len(single) - nearest, axis=1)[:, -nearest:].mean(axis=1)
    return means


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
    pool_size = max(_FEWEST_CANDIDATES, _CANDIDATES_PER_CLAIM * max_claims)
    pool = [int(index) for index in np.argsort(-worth, kind="stable")[:pool_size]]
    stems = {index: frozenset(content_stems(candidates[index].text)) for index in pool}
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
            if similarity[index] < _DUPLICATE
            and not _overlap(candidates[index].sentence, candidates[best].sentence)
            and not _mostly_same(stems[index], stems[best])
        ]
    return chosen


def _overlap(left: Sentence, right: Sentence) -> bool:
    return left.start < right.end and right.start < left.end


def _mostly_same(left: frozenset[str], right: frozenset[str]) -> bool:
    """Tell whether two claims share most of their words, or a figure and many of them."""
    shorter = min(len(left), len(right))
    shared = left & right
    figure = any(letter.isdigit() for stem in shared for letter in stem)
    limit = _DUPLICATE_WORDS_WITH_FIGURE if figure else _DUPLICATE_WORDS
    return shorter > 0 and len(shared) / shorter >= limit


def _draft(
    raw: str,
    sentences: Sequence[Sentence],
    candidate: _Candidate,
    worth: float,
) -> ClaimDraft:
    numbers = find_numbers(candidate.text)
    dated = bool(numbers) and all(number.kind == "year" for number in numbers)
    category = categorise(candidate.signs, dated=dated)
    return ClaimDraft(
        text=candidate.text,
        importance=round(_USUAL_IMPORTANCE + _IMPORTANCE_SPREAD * (worth - _USUAL_WORTH), 3),
        confidence=round(1 / (1 + math.exp(_EVEN_WORDING - candidate.wording)), 3),
        category=category,
        context=_context(sentences, candidate),
        char_start=candidate.sentence.start,
        char_end=candidate.sentence.end,
    )


def _context(sentences: Sequence[Sentence], candidate: _Candidate) -> str | None:
    """Give the sentence before a claim that opens with a pronoun or a connective."""
    if candidate.first == 0:
        return None
    said = sentences[candidate.first].text
    if candidate.signs.leading_pronoun or leans_back(said):
        return sentences[candidate.first - 1].text
    return None
