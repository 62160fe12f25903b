"""The claims of a video as its reviewers leave them: reworded, split, dropped, restored and added.

What belongs here: making claims of reviewers' words, and the list that is checked. What does not:
which acts are in force (reviews.py), finding claims (claims.py).

A claim's id follows from its words, so that a reworded claim is another one, which is asked, read
and judged anew: no verdict ever stands beside words that it was not reached on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from factible_assets.records import Claim, ReviewAction, Transcript, TranscriptSegment
from factible_assets.stages.claims import located_claim
from factible_assets.stages.localisation import Localiser, similarity
from factible_assets.stages.ports import ClaimDraft
from factible_assets.stages.reviews import WordedClaim, claims_in_force
from factible_assets.stages.transcript import Clock

_SAME_PLACE = 1e-6


def corrected_claims(
    found: Sequence[Claim],
    actions: Iterable[ReviewAction],
    known: Mapping[str, Claim],
    transcript: Transcript | None,
    segments: Iterable[TranscriptSegment],
) -> tuple[Claim, ...]:
    """Return the claims of a video that are checked, most important first, ranked from 1.

    Found claims stay as they are, but for those that a reviewer reworded, split or dropped, under
    whatever former words they are found again; a reviewer's own stand whether they are found or
    not. Correcting what was corrected changes nothing.

    Args:
        found: The claims that were extracted, or those that stand.
        actions: What reviewers did to the claims of the video.
        known: Claims that the video was ever found to make, by id: what a reviewer's claim is
            like, in whose place it stands.
        transcript: Where they are looked for; None: they have neither place nor time.
        segments: Its captions.
    """
    force = claims_in_force(actions)
    if not (force.worded or force.gone):
        return tuple(found)
    known = {**known, **{claim.claim_id: claim for claim in found}}
    rows: dict[str, Claim] = {}
    for claim in found:
        now = force.names.get(claim.claim_id, claim.claim_id)
        mine = force.worded.get(now)
        # Nor do words stand that a reviewer took back.
        if now in force.gone or (mine is None and claim.basis == "reviewer"):
            continue
        if mine is not None and mine.text != claim.text:
            rows[now] = claim  # A place in the order; worded below.
        else:
            rows[claim.claim_id] = claim
    locate = _Locating(transcript, segments, next((each.thesis for each in found), None))
    for now, mine in force.worded.items():
        if now not in force.gone and (now not in rows or rows[now].text != mine.text):
            rows[now] = locate.claim(mine, known.get(mine.like or "") or rows.get(now))
    ordered = sorted(rows.values(), key=lambda claim: -claim.importance)
    return tuple(
        claim.model_copy(update={"rank": rank}) for rank, claim in enumerate(ordered, start=1)
    )


class _Locating:
    """Makes claims of words, each in its place in one transcript."""

    def __init__(
        self,
        transcript: Transcript | None,
        segments: Iterable[TranscriptSegment],
        thesis: str | None,
    ) -> None:
        self._transcript, self._thesis = transcript, thesis
        self._localiser = Localiser(transcript.text if transcript else "")
        self._clock = Clock.of(segments)

    def claim(self, mine: WordedClaim, like: Claim | None) -> Claim:
        text = self._transcript.text if self._transcript else ""
        start = text.find(mine.said) if mine.said else -1
        end: int | None = start + len(mine.said or "")
        if start < 0 and like is not None and like.char_start is not None:
            # Offsets of another transcript lead nowhere.
            there = similarity(like.text, text[like.char_start : like.char_end])
            if abs(there - (like.match_score or 0.0)) <= _SAME_PLACE:
                start, end = like.char_start, like.char_end
        draft = ClaimDraft(
            text=mine.text,
            importance=like.importance if like else 1.0,
            confidence=like.extraction_confidence if like else 1.0,
            category=like.category if like else None,
            context=like.context if like else None,
            char_start=start if start >= 0 else None,
            char_end=end,
        )
        return located_claim(
            draft,
            identifier=mine.claim_id,
            rank=1,
            thesis=like.thesis if like else self._thesis,
            text=text,
            video_id=mine.action.video_id,
            localiser=self._localiser,
            clock=self._clock,
            basis=like.basis if like and like.claim_id == mine.claim_id else "reviewer",
        )
