"""The embedded verdict follows the vote, modestly, and names its sources."""

from __future__ import annotations

import pytest

from factible_assets.reasoners.embedded.verdict import draft_verdict
from factible_assets.records.tables import Confidence, Evidence, Rating, Stance
from factible_assets.stages.ports import Vote


def row(
    number: int, stance: Stance, origin: str | None = None, quote: str | None = None
) -> Evidence:
    words = quote or f"Page {number} says so."
    return Evidence(
        evidence_id=f"e{number}",
        claim_id="c1",
        video_id="v1",
        hit_id=f"h{number}",
        query_id="q1",
        canonical_url=f"https://source{number}.example/page",
        domain=f"source{number}.example",
        title=f"Page {number}",
        quote=words,
        quote_start=0,
        quote_end=len(words),
        status="ok",
        stance=stance,
        stance_confidence=0.8,
        relevance=0.5,
        rating=_rating(number),
        rating_score=1.0 / number,
        origin=origin,
        basis="embedded",
    )


def _rating(number: int) -> Rating:
    return "high" if number == 1 else "medium"


def vote(stance: Stance, margin: float, confidence: Confidence = "high") -> Vote:
    return Vote(stance=stance, margin=margin, confidence=confidence, score=0.9)


@pytest.mark.parametrize("stance", ["refutes", "mixed", "unclear"])
def test_the_verdict_follows_the_vote(stance: Stance) -> None:
    draft = draft_verdict([row(1, "supports"), row(2, "refutes")], vote(stance, 0.0, "medium"))
    assert (draft.stance, draft.confidence) == (stance, "medium")


def test_copies_of_one_story_are_one_source() -> None:
    rows = [row(1, "supports", origin="wire"), row(2, "supports", origin="wire")]
    summary = draft_verdict(rows, vote("supports", 0.9)).summary
    assert "No other independent source takes a side." in summary


def test_the_summary_quotes_the_best_source_then_the_other_side_and_calls_itself_a_leaning() -> (
    None
):
    rows = [row(3, "refutes"), row(1, "refutes"), row(2, "supports"), row(4, "unclear")]
    summary = draft_verdict(rows, vote("refutes", -0.4)).summary
    heard = [
        "source1.example (high reliability) seems to contradict the claim: “Page 1 says so.”",
        "Against that, source2.example (medium reliability) seems to bear the claim out: “Page 2",
        "In all, 2 independent sources seem to contradict it, and 1 independent source seems to",
        "Judged automatically",
    ]
    places = [summary.find(words) for words in heard]
    assert -1 < places[0] < places[1] < places[2] < places[3], summary
    assert places[0] == 0


def test_a_quote_with_markup_is_not_cited() -> None:
    rows = [row(1, "supports", quote="<script>alert(1)</script> **Wine** [x](http://y)\u202e")]
    summary = draft_verdict(rows, vote("supports", 0.9)).summary
    assert not set("<>*[]`\u202e") & set(summary)
    assert "source1.example (high reliability) seems to bear the claim out." in summary


def test_a_verdict_without_a_side_says_so_once() -> None:
    assert draft_verdict([row(1, "unclear")], vote("unclear", 0.0, "low")).summary == (
        "Of what was read, source1.example (high reliability) comes closest: “Page 1 says so.” "
        "The one source on its subject was not read as taking a side. "
        "Judged automatically, by the wording of the sources."
    )
