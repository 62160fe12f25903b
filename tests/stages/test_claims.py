"""From drafts to claims."""

from __future__ import annotations

from factible_assets.config import ClaimsConfig
from factible_assets.records.tables import Claim
from factible_assets.stages.claims import build_claims
from factible_assets.stages.ports import ClaimDraft, ClaimDrafts
from tests.stages.test_transcript import Said
from tests.stages.words import from_cues

TRANSCRIPT, SEGMENTS = from_cues(
    "v", [Said("Sugar makes children hyperactive.", 3, 4), Said("Bats are blind, I read.", 10, 5)]
)


def build(*drafts: ClaimDraft, **options: float) -> tuple[Claim, ...]:
    config = ClaimsConfig.model_validate(options)
    return build_claims(ClaimDrafts("A thesis", drafts), TRANSCRIPT, SEGMENTS, config, basis="llm")


def test_claims_come_most_important_first_and_numbered() -> None:
    claims = build(
        ClaimDraft("One", 0.2, 0.5), ClaimDraft("Two", 0.9, 0.5), ClaimDraft("Three", 0.9, 0.6)
    )
    assert [(claim.rank, claim.text) for claim in claims] == [(1, "Three"), (2, "Two"), (3, "One")]


def test_one_wording_is_one_claim_and_the_more_important_draft_stays() -> None:
    claims = build(
        ClaimDraft("Bats are blind.", 0.2, 0.5), ClaimDraft(" bats  are BLIND", 0.8, 0.5)
    )
    assert [(claim.text, claim.importance) for claim in claims] == [("bats are BLIND", 0.8)]


def test_scores_out_of_range_are_clamped_and_empty_drafts_left_out() -> None:
    claims = build(
        ClaimDraft("One", 7, -1), ClaimDraft("  ", 1, 1), ClaimDraft("Two", float("nan"), 0.5)
    )
    assert [(claim.importance, claim.extraction_confidence) for claim in claims] == [
        (1, 0),
        (0, 0.5),
    ]


def test_the_number_of_claims_is_limited() -> None:
    drafts = [ClaimDraft(f"Claim {number}", number / 10, 0.5) for number in range(10)]
    claims = build(*drafts, max_claims=3)
    assert len(claims) == 3
    assert {claim.claims_found for claim in claims} == {10}


def test_a_claim_is_placed_and_timed() -> None:
    (claim,) = build(ClaimDraft("bats are blind, one reads", 0.5, 0.5))
    assert claim.char_start is not None
    said = TRANSCRIPT.text[claim.char_start : claim.char_end]
    assert "Bats are blind" in said
    assert claim.start_seconds == SEGMENTS[1].start_seconds
    assert claim.end_seconds is not None
    assert 10 < claim.end_seconds < 15


def test_a_reasoners_offsets_count_unless_they_are_impossible() -> None:
    start = TRANSCRIPT.text.index("Bats")
    known, wrong = (
        build(ClaimDraft("Bats are blind", 0.5, 0.5, char_start=start, char_end=end))[0]
        for end in (start + 23, 9_999)
    )
    assert (known.char_start, known.char_end) == (start, start + 23)
    assert known.match_score is not None
    assert known.match_score < 1
    assert (wrong.char_start, wrong.char_end, wrong.match_score) == (start, start + 14, 1.0)


def test_a_claim_that_was_not_said_has_neither_place_nor_time() -> None:
    (claim,) = build(ClaimDraft("Quarterly GDP rose 4.5 %", 0.5, 0.5))
    assert (claim.char_start, claim.match_score, claim.start_seconds) == (None, None, None)


def test_an_id_depends_on_the_wording_and_not_on_the_order() -> None:
    one, two = ClaimDraft("One", 0.2, 0.5), ClaimDraft("Two", 0.9, 0.5)
    assert {c.claim_id for c in build(one, two)} == {c.claim_id for c in build(two, one)}


def test_a_claim_has_the_speaker_of_its_place_or_of_the_corpus() -> None:
    transcript, segments = from_cues(
        "v",
        [
            Said("Sugar makes children hyperactive.", 3, speaker="Ann"),
            Said("Bats are blind, I read.", 10, speaker="Tom", new_turn=True),
        ],
    )
    drafts = (
        ClaimDraft("Bats are blind", 0.9, 0.5),
        ClaimDraft("Sugar makes children hyperactive", 0.8, 0.5),
        ClaimDraft("Sugar makes all children hyperactive", 0.7, 0.5, speaker="A minister"),
        ClaimDraft("Mercury is a moon of Venus", 0.6, 0.5),
    )
    claims = build_claims(ClaimDrafts(None, drafts), transcript, segments, None, basis="llm")
    assert [claim.speaker for claim in claims] == ["Tom", "Ann", "A minister", None]
