"""From a reasoner's drafts to the claims of a video.

What belongs here: which drafts are kept, in which order, and where and when they were said. What
does not: finding claims in a transcript, which is the reasoner's judgement.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from factible_assets.config import ClaimsConfig
from factible_assets.records import Claim, ClaimBasis, Transcript, TranscriptSegment
from factible_assets.stages.ids import claim_id
from factible_assets.stages.localisation import Localiser, Place, similarity
from factible_assets.stages.ports import ClaimDraft, ClaimDrafts
from factible_assets.stages.transcript import Clock, storable


def build_claims(
    drafts: ClaimDrafts,
    transcript: Transcript,
    segments: Iterable[TranscriptSegment],
    config: ClaimsConfig | None,
    *,
    basis: ClaimBasis,
) -> tuple[Claim, ...]:
    """Return at most `max_claims` claims, most important first (Factible, section 1.3.2).

    Without a config all are kept: claims that are given were chosen already.

    Scores outside [0, 1] are clamped. Of two drafts with one wording the more important stays.
    Equal importance is ordered by confidence, then by the reasoner's order. A draft's own offsets
    are taken if they lie in the text, else the claim is searched for; a claim that is found
    nowhere has neither place nor time.
    """
    video = transcript.video_id
    ordered = sorted(
        (draft for draft in drafts.claims if _wording(draft)),
        key=lambda draft: (-_clamped(draft.importance), -_clamped(draft.confidence)),
    )
    distinct: dict[str, ClaimDraft] = {}
    for draft in ordered:
        if config is None or _clamped(draft.importance) >= config.min_importance:
            distinct.setdefault(claim_id(video, _wording(draft)), draft)
    kept = list(distinct.items())[: config.max_claims if config else None]
    localiser, clock = Localiser(transcript.text), Clock.of(segments)
    return tuple(
        located_claim(
            draft,
            identifier=identifier,
            rank=rank,
            thesis=drafts.thesis,
            text=transcript.text,
            video_id=video,
            localiser=localiser,
            clock=clock,
            basis=basis,
        )
        for rank, (identifier, draft) in enumerate(kept, start=1)
    )


def located_claim(
    draft: ClaimDraft,
    *,
    identifier: str,
    rank: int,
    thesis: str | None,
    text: str,
    video_id: str,
    localiser: Localiser,
    clock: Clock,
    basis: ClaimBasis,
) -> Claim:
    """Return a draft as a claim, with its place in the transcript and its time if it has them."""
    place = _given_place(draft, text) or localiser.locate(_wording(draft))
    return Claim(
        claim_id=identifier,
        video_id=video_id,
        rank=rank,
        text=_wording(draft),
        importance=_clamped(draft.importance),
        extraction_confidence=_clamped(draft.confidence),
        category=draft.category,
        context=draft.context,
        thesis=thesis,
        char_start=place.char_start if place else None,
        char_end=place.char_end if place else None,
        match_score=place.score if place else None,
        start_seconds=clock.start_at(place.char_start) if place else None,
        end_seconds=clock.second_at(place.char_end) if place else None,
        basis=basis,
    )


def _given_place(draft: ClaimDraft, text: str) -> Place | None:
    start, end = draft.char_start, draft.char_end
    if start is None or end is None or not 0 <= start < end <= len(text):
        return None
    return Place(start, end, similarity(_wording(draft), text[start:end]))


def _wording(draft: ClaimDraft) -> str:
    return " ".join(storable(draft.text).split())


def _clamped(score: float) -> float:
    return 0.0 if math.isnan(score) else min(1.0, max(0.0, score))
