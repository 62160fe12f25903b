"""Makes the claims of a video from a reasoner's drafts and reviewers' corrections.

A claim's id follows from its words. A reworded claim is therefore a new claim with its own check,
so a verdict always judges the words that it is shown with.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from factible_assets.config import ClaimsConfig
from factible_assets.records.tables import (
    Claim,
    ClaimBasis,
    ReviewAction,
    Transcript,
    TranscriptSegment,
)
from factible_assets.stages.ids import claim_id, normalise_text
from factible_assets.stages.localisation import Localiser, TextMatch, similarity
from factible_assets.stages.ports import ClaimDraft, ClaimDrafts, clamped
from factible_assets.stages.reviews import WordedClaim, claims_in_force
from factible_assets.stages.transcript import Clock, storable

_SAME_SCORE = 1e-6


def build_claims(
    drafts: ClaimDrafts,
    transcript: Transcript,
    segments: Iterable[TranscriptSegment],
    config: ClaimsConfig | None,
    *,
    basis: ClaimBasis,
) -> tuple[Claim, ...]:
    """Return at most `max_claims` claims, most important first (Factible, section 1.3.2).

    Without a config all stay. Of two drafts with one wording the more important stays, then the
    surer. The offsets of a draft count if they lie in the text; otherwise the localiser searches
    for the claim. A claim that it cannot find has neither place nor time.
    """
    ordered = sorted(
        drafts.claims, key=lambda draft: (-clamped(draft.importance), -clamped(draft.confidence))
    )
    distinct: dict[str, ClaimDraft] = {}
    for draft in ordered:
        distinct.setdefault(normalise_text(_wording(draft)), draft)
    kept = [draft for draft in distinct.values() if _wording(draft)]
    most = config.max_claims if config else None
    claims_found = len(kept) + drafts.left_out if config and kept else None
    maker = _ClaimMaker(transcript.video_id, transcript.text, segments)
    return tuple(
        maker.claim(draft, drafts.thesis, basis, rank, claims_found)
        for rank, draft in enumerate(kept[:most], 1)
    )


def corrected_claims(
    found: Sequence[Claim],
    actions: Sequence[ReviewAction],
    known: Mapping[str, Claim],
    transcript: Transcript | None,
    segments: Iterable[TranscriptSegment],
) -> tuple[Claim, ...]:
    """Apply reviewers' corrections to the found claims; most important first, ranked from 1.

    A found claim drops out if a reviewer reworded, split or dropped it, also under its former
    words; the reviewer's own claims always stay. Applying corrections twice changes nothing.
    `known` are all claims ever found in the video, by id; a reviewer's claim takes the place and
    importance of the one that it replaces.
    """
    force = claims_in_force(actions)
    if not (force.worded or force.gone):
        return tuple(found)
    known = dict(known) | {claim.claim_id: claim for claim in found}
    rows: dict[str, Claim] = {}
    for claim in found:
        current = force.names.get(claim.claim_id, claim.claim_id)
        worded = force.worded.get(current)
        # A reviewer's claim that is no longer in force drops out as well.
        if current in force.gone or (worded is None and claim.basis == "reviewer"):
            continue
        is_reworded = worded is not None and worded.text != claim.text
        # A reworded claim is replaced below, in the same position.
        rows[current if is_reworded else claim.claim_id] = claim
    thesis = next((claim.thesis for claim in found), None)
    video_id = next((action.video_id for action in actions), "")
    maker = _ClaimMaker(video_id, transcript.text if transcript else "", segments)
    for current, worded in force.worded.items():
        row = rows.get(current)
        if current not in force.gone and (row is None or row.text != worded.text):
            old = known.get(worded.replaces or "") or row
            rows[current] = maker.worded_claim(worded, old, thesis)
    ordered = enumerate(sorted(rows.values(), key=lambda claim: -claim.importance), start=1)
    return tuple(claim.model_copy(update={"rank": rank}) for rank, claim in ordered)


class _ClaimMaker:
    """Makes claims, each with its place and time in one transcript."""

    def __init__(self, video_id: str, text: str, segments: Iterable[TranscriptSegment]) -> None:
        self._video_id, self._text = video_id, text
        self._localiser, self._clock = Localiser(text), Clock(segments)

    def claim(
        self,
        draft: ClaimDraft,
        thesis: str | None,
        basis: ClaimBasis,
        rank: int = 1,
        claims_found: int | None = None,
    ) -> Claim:
        start, end, words = draft.char_start, draft.char_end, _wording(draft)
        if start is not None and end is not None and 0 <= start < end <= len(self._text):
            place: TextMatch | None = TextMatch(
                start, end, similarity(self._text[start:end], words)
            )
        else:
            place = self._localiser.locate(words)
        return Claim(
            claim_id=claim_id(self._video_id, words),
            video_id=self._video_id,
            rank=rank,
            text=words,
            importance=clamped(draft.importance),
            extraction_confidence=clamped(draft.confidence),
            category=draft.category,
            context=draft.context,
            thesis=thesis,
            claims_found=claims_found,
            char_start=place.char_start if place else None,
            char_end=place.char_end if place else None,
            match_score=place.score if place else None,
            start_seconds=self._clock.start_at(place.char_start) if place else None,
            end_seconds=self._clock.second_at(place.char_end) if place else None,
            speaker=draft.speaker or (self._clock.speaker_at(place.middle) if place else None),
            basis=basis,
        )

    def worded_claim(self, worded: WordedClaim, old: Claim | None, thesis: str | None) -> Claim:
        """Make a claim in a reviewer's words; `old` is the claim that it replaces."""
        start = self._text.find(worded.selected) if worded.selected else -1
        end: int | None = start + len(worded.selected or "")
        if start < 0 and old is not None and old.char_start is not None:
            # The offsets may belong to another transcript. Claims stored by earlier versions may
            # have the score of the other order, and difflib's ratio depends on the order.
            pair = self._text[old.char_start : old.char_end], old.text
            scores = similarity(*pair), similarity(*pair[::-1])
            if any(abs(score - (old.match_score or 0.0)) <= _SAME_SCORE for score in scores):
                start, end = old.char_start, old.char_end
        draft = ClaimDraft(
            text=worded.text,
            importance=old.importance if old else 1.0,
            confidence=old.extraction_confidence if old else 1.0,
            category=old.category if old else None,
            context=old.context if old else None,
            speaker=old.speaker if old else None,
            char_start=start if start >= 0 else None,
            char_end=end,
        )
        basis = old.basis if old and old.claim_id == worded.claim_id else "reviewer"
        claim = self.claim(draft, old.thesis if old else thesis, basis)
        return claim.model_copy(update={"claim_id": worded.claim_id})


def _wording(draft: ClaimDraft) -> str:
    return " ".join(storable(draft.text).split())
