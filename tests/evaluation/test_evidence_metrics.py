from __future__ import annotations

from typing import Any

from factible_assets.evaluation.metrics.evidence import (
    agreement,
    contradicted_readings,
    evidence_per_claim,
    independent_origins,
    quote_grounding_rate,
    retrieval_success_rate,
    sources_per_query,
)
from factible_assets.evaluation.metrics.operations import infrastructure_failure_rate
from factible_assets.pipeline.checks.integrity import check_contradictions
from factible_assets.records.rows import VideoRows
from factible_assets.records.tables import Claim, Evidence, PageText, Query
from tests.warehouse import samples

TEXT = "The Earth goes around the Sun in a year."


def claim(claim_id: str) -> Claim:
    return Claim(
        claim_id=claim_id,
        video_id="v",
        rank=1,
        text="The Earth orbits the Sun.",
        importance=0.9,
        extraction_confidence=0.9,
        basis="embedded",
    )


def query(query_id: str, claim_id: str = "c1", **other: Any) -> Query:
    values = {"text": "earth orbit", "rank": 1, "query_type": "direct", "priority": 1} | other
    return Query(query_id=query_id, claim_id=claim_id, video_id="v", basis="embedded", **values)


def evidence(claim_id: str = "c1", query_id: str = "q1", **other: Any) -> Evidence:
    values: dict[str, Any] = {
        "evidence_id": "e",
        "status": "ok",
        "stance": "supports",
        "rating": "high",
        "source_class": "academic",
        "origin": None,
        "domain": "space.example",
        "content_hash": "hash",
    } | other
    if values["status"] != "ok":
        values |= {"stance": None, "reason": "the site did not answer"}
    return Evidence(
        claim_id=claim_id,
        video_id="v",
        hit_id="h",
        query_id=query_id,
        canonical_url="https://space.example/orbit",
        title="Orbit",
        rating_score=0.9,
        **values,
    )


CLAIMS = [claim("c1"), claim("c2"), claim("c3")]


def test_a_claim_counts_as_found_with_one_read_source() -> None:
    rows = [evidence("c1"), evidence("c1"), evidence("c2", status="no_evidence")]
    assert retrieval_success_rate(VideoRows(claims=CLAIMS, evidence=rows)).value == 1 / 3
    assert evidence_per_claim(VideoRows(claims=CLAIMS, evidence=rows)).value == 2 / 3


def test_a_claim_whose_sources_all_failed_does_not_count() -> None:
    rows = [evidence("c1"), evidence("c2", status="infra_error")]
    assert retrieval_success_rate(VideoRows(claims=CLAIMS, evidence=rows)).value == 1 / 2


def test_queries_that_were_not_asked_do_not_count() -> None:
    queries = [query("q1"), query("q2"), query("q3", status="infra_error", reason="no answer")]
    rows = [evidence(query_id="q1"), evidence(query_id="q1")]
    assert sources_per_query(VideoRows(queries=queries, evidence=rows)).value == 1.0


def test_origins_come_from_the_verdicts_and_count_0_without_one() -> None:
    reached = samples.verdict("v", 1)
    verdicts = [reached.model_copy(update={"independent_origins": n}) for n in (3, 2)]
    rows = VideoRows(claims=CLAIMS, verdicts=verdicts, evidence=[evidence()] * 9)
    assert independent_origins(rows).value == 5 / 3


def test_a_quote_is_grounded_only_if_the_stored_page_contains_it() -> None:
    stands: dict[str, Any] = {"quote": TEXT[:9], "quote_start": 0, "quote_end": 9}
    moved: dict[str, Any] = {"quote": TEXT[:9], "quote_start": 1, "quote_end": 10}
    elsewhere = stands | {"content_hash": "lost"}
    rows = [
        evidence(**stands),
        evidence(**moved),
        evidence(**elsewhere),
        evidence(rejected_quotes=1),
    ]
    rate = quote_grounding_rate(
        VideoRows(evidence=rows, page_texts=[PageText(content_hash="hash", text=TEXT)])
    )
    assert (rate.numerator, rate.denominator) == (1, 4)
    assert quote_grounding_rate(VideoRows()).value is None


def test_contradicted_readings_are_a_share_of_readings_with_a_quote() -> None:
    quote: dict[str, Any] = {"quote": TEXT, "quote_start": 0, "quote_end": len(TEXT)}
    rows = [
        evidence(**quote),
        evidence(**quote, stance="unclear", ground="contradicted"),
        evidence(stance="unclear"),
    ]
    found = contradicted_readings(VideoRows(evidence=rows))
    assert (found.numerator, found.denominator) == (1, 2)
    check = check_contradictions(VideoRows(evidence=rows))
    assert (check.passed, check.description) == (False, "1 of 2 readings contradicted their quote.")
    assert check_contradictions(VideoRows(evidence=rows[:1])).passed


def test_agreement_is_a_share_of_the_sources_with_a_stance_in_both() -> None:
    rows = [
        evidence(evidence_id="a", stance="supports"),
        evidence(evidence_id="b", stance="refutes"),
        evidence(evidence_id="c", stance="unclear"),
        evidence(evidence_id="d", status="infra_error"),
    ]
    others = [
        evidence(evidence_id="a", stance="supports"),
        evidence(evidence_id="b", stance="mixed"),
        evidence(evidence_id="d", stance="supports"),
        evidence(evidence_id="e", stance="supports"),
    ]
    found = agreement(rows, others)
    assert (found.numerator, found.denominator) == (1, 2)
    assert agreement(rows, []).value is None


def test_skipped_items_were_not_attempted() -> None:
    rows = [evidence(), evidence(status="infra_error"), evidence(status="skipped")]
    assert infrastructure_failure_rate(VideoRows(evidence=rows)).value == 1 / 2
