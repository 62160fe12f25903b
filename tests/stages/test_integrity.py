"""The rules of integrity: what the flow makes keeps them, and each breach is told by its rule."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from functools import cache
from typing import Any, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factible_assets.config import FactCheckConfig, SearchConfig
from factible_assets.records import ASSET_RECORDS, MediaFinding, Record
from factible_assets.stages import ids
from factible_assets.stages.flow import check_claims, extract_claims
from factible_assets.stages.integrity import ALL_RULES, JudgedRows, judge, rules_of
from factible_assets.stages.transcript import from_cues
from resources.transcripts.base import Cue
from tests.stages.test_flow import furnished_world
from tests.stages.world import VIDEO, World, reviewed

CONFIG = FactCheckConfig()
Row = TypeVar("Row", bound=Record)


def rows_from(world: World) -> JudgedRows:
    """Run the real flow over a world, and return what it made."""
    transcript, segments = from_cues(
        VIDEO.video_id, [Cue("claim 0.", 1, 4), Cue("claim 1.", 6, 4)], provider="file"
    )

    async def run() -> JudgedRows:
        services = world.services()
        found = await extract_claims(VIDEO, transcript, segments, services, CONFIG)
        result = await check_claims(VIDEO, found.claims, services, CONFIG)
        return JudgedRows(
            **result.parts()
            | {
                "videos": [VIDEO],
                "transcripts": [transcript],
                "segments": segments,
                "claims": found.claims,
                "llm_calls": [*found.llm_calls, *result.llm_calls],
                "media": [media_finding()],
            }
        )

    return asyncio.run(run())


@cache
def whole() -> JudgedRows:
    world, claims = furnished_world(claims=2, queries=2, results=3)
    world.checks = {claims[0].text: [reviewed("claim 0", "https://checkers.example/0")]}
    # One page is gone, so that its snippet is read instead.
    world.texts.pop("https://site001.example/page", None)
    return rows_from(world)


def media_finding() -> MediaFinding:
    return MediaFinding(
        finding_id=ids.finding_id(VIDEO.video_id, "thumbnail", "match", 1),
        video_id=VIDEO.video_id,
        picture="thumbnail",
        kind="match",
        rank=1,
        provider="google_vision",
        status="ok",
    )


def broken_rules(rows: JudgedRows) -> set[str]:
    return {finding.rule.name for finding in judge(ASSET_RECORDS, rows) if finding.violations}


def changed(rows: Sequence[Row], place: int, **values: Any) -> list[Row]:
    """Return rows of which one is another; as pydantic does, such a copy is not validated."""
    index = place % len(rows)
    return [*rows[:index], rows[index].model_copy(update=values), *rows[index + 1 :]]


def without(rows: Sequence[Row], place: int) -> list[Row]:
    index = place % len(rows)
    return [*rows[:index], *rows[index + 1 :]]


def quoted(rows: JudgedRows) -> int:
    return next(place for place, row in enumerate(rows.evidence) if row.quote is not None)


Breach = Callable[[JudgedRows, int], JudgedRows]

BREACHES: dict[str, tuple[Breach, set[str]]] = {
    "a score above 1": (
        lambda rows, n: replace(rows, claims=changed(rows.claims, n, extraction_confidence=1.2)),
        {"rows_are_valid"},
    ),
    "an infinite time": (
        lambda rows, n: replace(
            rows, searches=changed(rows.searches, n, latency_seconds=float("inf"))
        ),
        {"rows_are_valid"},
    ),
    "a row of another video": (
        lambda rows, n: replace(rows, ratings=changed(rows.ratings, n, video_id="another")),
        {"rows_are_valid"},
    ),
    "a stance on evidence that was not read": (
        lambda rows, _: replace(
            rows, evidence=changed(rows.evidence, quoted(rows), status="skipped")
        ),
        {"rows_are_valid", "verdicts_count_their_evidence"},
    ),
    "a finding on a picture with another's id": (
        lambda rows, n: replace(rows, media=changed(rows.media, n, picture="frame at 0:10")),
        {"ids_are_derived"},
    ),
    "a transcript with another hash": (
        lambda rows, n: replace(rows, transcripts=changed(rows.transcripts, n, content_hash="0")),
        {"ids_are_derived"},
    ),
    "no transcript": (
        lambda rows, _: replace(rows, transcripts=[]),
        {
            "there_is_one_transcript",
            "captions_stand_in_the_text",
            "claims_stand_in_the_transcript",
        },
    ),
    "a caption beyond the text": (
        lambda rows, _: replace(rows, segments=changed(rows.segments, -1, char_end=9_999)),
        {"captions_stand_in_the_text", "claims_stand_in_the_transcript"},
    ),
    "a caption that goes back in time": (
        lambda rows, _: replace(rows, segments=changed(rows.segments, 1, start_seconds=0.5)),
        {"captions_stand_in_the_text", "claims_stand_in_the_transcript"},
    ),
    "a caption left out": (
        lambda rows, _: replace(rows, segments=without(rows.segments, 0)),
        {"captions_stand_in_the_text", "claims_stand_in_the_transcript"},
    ),
    "a video shorter than its captions": (
        lambda rows, _: replace(
            rows,
            videos=[rows.video.model_copy(update={"duration_seconds": 1.0})],
            segments=changed(rows.segments, -1, start_seconds=6.0),
        ),
        set(),
    ),
    "a claim with another wording": (
        lambda rows, n: replace(rows, claims=changed(rows.claims, n, text="Something else")),
        {"ids_are_derived"},
    ),
    "a rank that is left out": (
        lambda rows, _: replace(rows, claims=changed(rows.claims, -1, rank=7)),
        {"claims_are_in_order"},
    ),
    "a last claim that is the most important": (
        lambda rows, _: replace(rows, claims=changed(rows.claims, -1, importance=1.0)),
        {"claims_are_in_order"},
    ),
    "a claim beyond the transcript": (
        lambda rows, n: replace(rows, claims=changed(rows.claims, n, char_end=9_999)),
        {"claims_stand_in_the_transcript"},
    ),
    "a claim at another second": (
        lambda rows, n: replace(rows, claims=changed(rows.claims, n, start_seconds=77.0)),
        {"claims_stand_in_the_transcript"},
    ),
    "a query with another wording": (
        lambda rows, n: replace(rows, queries=changed(rows.queries, n, text="another")),
        {"ids_are_derived"},
    ),
    "an asked query without words or reason": (
        lambda rows, n: replace(rows, queries=changed(rows.queries, n, status="infra_error")),
        {"every_claim_has_queries"},
    ),
    "a hit with another id": (
        lambda rows, n: replace(rows, hits=changed(rows.hits, n, hit_id="h_0")),
        {"ids_are_derived", "references_lead_to_rows"},
    ),
    "a hit whose URL is of another site": (
        lambda rows, n: replace(rows, hits=changed(rows.hits, n, url="https://other.example/")),
        {"ids_are_derived"},
    ),
    "a search of another claim's query": (
        lambda rows, _: replace(
            rows, searches=changed(rows.searches, 0, claim_id=rows.claims[1].claim_id)
        ),
        {"references_lead_to_rows"},
    ),
    "a failed search without a reason": (
        lambda rows, n: replace(
            rows,
            searches=[
                *rows.searches,
                rows.searches[n % len(rows.searches)].model_copy(
                    update={"provider": "dead", "status": "infra_error", "hit_count": 0}
                ),
            ],
        ),
        {"searches_tell_how_they_ended"},
    ),
    "hits without a search": (
        lambda rows, _: replace(rows, searches=[]),
        {"hits_belong_to_searches"},
    ),
    "a prior fact check of no claim": (
        lambda rows, n: replace(
            rows, prior_fact_checks=changed(rows.prior_fact_checks, n, claim_id="c_0")
        ),
        {"ids_are_derived", "references_lead_to_rows"},
    ),
    "a domain without a rating": (
        lambda rows, n: replace(rows, ratings=without(rows.ratings, n)),
        {"every_domain_is_rated"},
    ),
    "a rating without a reason": (
        lambda rows, n: replace(rows, ratings=changed(rows.ratings, n, reasons=())),
        {"every_domain_is_rated"},
    ),
    "a page with another id": (
        lambda rows, n: replace(rows, pages=changed(rows.pages, n, page_id="p_0")),
        {"ids_are_derived", "references_lead_to_rows"},
    ),
    "evidence that stands twice": (
        lambda rows, _: replace(rows, evidence=[*rows.evidence, rows.evidence[quoted(rows)]]),
        {"ids_are_derived", "verdicts_count_their_evidence"},
    ),
    "evidence of no claim": (
        lambda rows, n: replace(
            rows,
            evidence=[
                *rows.evidence,
                rows.evidence[n % len(rows.evidence)].model_copy(update={"claim_id": "c_0"}),
            ],
        ),
        {"ids_are_derived", "references_lead_to_rows", "evidence_fits_its_hit"},
    ),
    "a hit that nobody accounts for": (
        lambda rows, _: replace(rows, evidence=without(rows.evidence, quoted(rows))),
        {"every_hit_is_accounted_for", "verdicts_count_their_evidence"},
    ),
    "a text that is not of its own page": (
        lambda rows, _: replace(
            rows,
            evidence=changed(
                rows.evidence,
                0,
                content_hash=_another_hash(rows),
                quote=None,
                quote_start=None,
                quote_end=None,
            ),
        ),
        {"every_text_has_its_page"},
    ),
    "a quote one character further": (
        lambda rows, _: replace(
            rows,
            evidence=changed(
                rows.evidence,
                quoted(rows),
                quote_start=(rows.evidence[quoted(rows)].quote_start or 0) + 1,
                quote_end=(rows.evidence[quoted(rows)].quote_end or 0) + 1,
            ),
        ),
        {"quotes_stand_in_their_pages"},
    ),
    "an invented quote": (
        lambda rows, _: replace(
            rows, evidence=changed(rows.evidence, quoted(rows), quote="Nobody ever said this.")
        ),
        {"quotes_stand_in_their_pages"},
    ),
    "the video itself as a source": (
        lambda rows, _: replace(
            rows,
            pages=changed(rows.pages, 0, final_url=f"https://youtu.be/{VIDEO.video_id}"),
        ),
        {"no_source_is_the_video", "ids_are_derived"},
    ),
    "a page under the name of the one that led to it": (
        lambda rows, n: replace(
            rows, pages=changed(rows.pages, n, final_url="https://elsewhere.example/")
        ),
        {"ids_are_derived"},
    ),
    "evidence under the name of another": (
        lambda rows, n: replace(
            rows, evidence=changed(rows.evidence, n, domain="elsewhere.example")
        ),
        {"evidence_fits_its_hit"},
    ),
    "a claim without a verdict": (
        lambda rows, _: replace(rows, verdicts=without(rows.verdicts, -1)),
        {"every_claim_has_a_verdict"},
    ),
    "an unexplained incomplete verdict": (
        lambda rows, n: replace(
            rows,
            verdicts=changed(
                rows.verdicts,
                n,
                status="incomplete",
                reason=None,
                stance=None,
                confidence=None,
                confidence_score=None,
            ),
        ),
        {"every_claim_has_a_verdict", "rows_are_valid"},
    ),
    "a verdict out of rank": (
        lambda rows, _: replace(rows, verdicts=changed(rows.verdicts, 0, rank=9)),
        {"every_claim_has_a_verdict"},
    ),
    "a verdict that counts a source too many": (
        lambda rows, n: replace(rows, verdicts=changed(rows.verdicts, n, supporting=99)),
        {"verdicts_count_their_evidence"},
    ),
    "a model call for no claim": (
        lambda rows, _: replace(
            rows,
            llm_calls=[
                call.model_copy(update={"claim_id": "c_0"}) if call.stage == "evidence" else call
                for call in rows.llm_calls
            ],
        ),
        {"references_lead_to_rows"},
    ),
}


def _another_hash(rows: JudgedRows) -> str:
    own = rows.evidence[0].content_hash
    return next(text.content_hash for text in rows.page_texts if text.content_hash != own)


def test_what_the_flow_makes_keeps_every_rule() -> None:
    assert broken_rules(whole()) == set()
    assert any(row.via == "snippet" for row in whole().evidence)
    assert whole().prior_fact_checks
    assert whole().llm_calls


@given(breach=st.sampled_from(sorted(BREACHES)), row=st.integers(0, 50))
@settings(max_examples=250, deadline=None)
def test_each_breach_is_told_by_its_own_rule_and_no_other(breach: str, row: int) -> None:
    break_it, expected = BREACHES[breach]
    assert broken_rules(break_it(whole(), row)) == expected


def test_every_rule_can_be_broken() -> None:
    told = {rule for _, rules in BREACHES.values() for rule in rules}
    elsewhere = {"captions_fit_the_video", "no_page_is_too_new"}
    assert {rule.name for rule in ALL_RULES} - elsewhere <= told


@given(
    failing=st.sets(
        st.sampled_from(
            [
                ("search", "query 0.0"),
                ("search", "query 1.1"),
                ("queries", "claim 1"),
                ("fetch", "https://shared.example/all"),
                ("fetch", "https://site101.example/page"),
                ("read", "https://shared.example/all"),
                ("judge", "claim 0"),
                ("age", "site000.example"),
                ("look up", "claim 0"),
            ]
        )
    )
)
@settings(max_examples=25, deadline=None)
def test_whatever_fails_the_rows_keep_every_rule(failing: set[tuple[str, str]]) -> None:
    world, _ = furnished_world(claims=2, queries=2, results=3)
    world.checks = {}
    world.broken = failing
    assert broken_rules(rows_from(world)) == set()


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        (SearchConfig(), False),
        (SearchConfig(published_before=date(2020, 1, 1)), True),
        (SearchConfig(published_before=date(2020, 6, 1)), True),
        (SearchConfig(published_before=date(2020, 6, 2)), False),
        (SearchConfig(published_after=date(2020, 6, 1)), False),
        (SearchConfig(published_after=date(2021, 1, 1)), True),
    ],
)
def test_a_page_outside_of_the_dates_is_told_only_if_there_are_dates(
    limits: SearchConfig, told: bool
) -> None:
    dated = changed(whole().evidence, 0, published_on=date(2020, 6, 1))
    rows = replace(whole(), evidence=dated, limits=limits)
    assert broken_rules(rows) == ({"no_page_is_too_new"} if told else set())


def test_a_source_that_was_left_out_may_be_the_video_or_too_new() -> None:
    left_out = {
        "status": "skipped", "stance": None, "stance_confidence": None, "quote": None,
        "quote_start": None, "quote_end": None, "reason": "It is the video itself.",
        "published_on": date(2030, 1, 1),
    }  # fmt: skip
    rows = replace(
        whole(),
        evidence=changed(whole().evidence, 0, **left_out),
        limits=SearchConfig(published_before=date(2020, 1, 1)),
    )
    assert broken_rules(rows) == {"verdicts_count_their_evidence"}


def test_a_transcript_that_runs_far_beyond_the_video_is_warned_of_and_not_refused() -> None:
    short = whole().video.model_copy(update={"duration_seconds": 2.0})
    late = [
        segment.model_copy(update={"start_seconds": segment.start_seconds + 100})
        for segment in whole().segments
    ]
    rows = replace(whole(), videos=[short], segments=late, claims=[])
    told = {
        finding.rule.name: finding for finding in judge(["transcripts"], rows) if finding.violations
    }
    assert set(told) == {"captions_fit_the_video"}
    assert not told["captions_fit_the_video"].refuses


def test_a_violation_names_its_row_and_says_how() -> None:
    claim = whole().claims[0]
    rows = replace(whole(), claims=changed(whole().claims, 0, char_end=9_999))
    (finding,) = [each for each in judge(["claims"], rows) if each.violations]
    (violation,) = finding.violations
    assert violation.row == f"claim {claim.claim_id}"
    assert "9999" in violation.problem
    assert finding.refuses


def test_rows_of_claims_that_are_no_longer_made_are_looked_up_and_not_judged() -> None:
    fewer = replace(
        whole(),
        claims=[whole().claims[0]],
        verdicts=[
            verdict.model_copy(update={"rank": 1})
            for verdict in whole().verdicts
            if verdict.claim_id == whole().claims[0].claim_id
        ],
        llm_calls=[],
    )
    assert [each.rule.name for each in judge(["verdicts"], fewer) if each.violations] == []


def test_every_asset_has_rules_with_names_of_their_own_and_a_description() -> None:
    for asset in ASSET_RECORDS:
        assert len(rules_of(asset)) >= 2
    names = [(rule.asset, rule.name) for rule in ALL_RULES]
    assert len(set(names)) == len(names)
    assert all(rule.description.endswith(".") for rule in ALL_RULES)
