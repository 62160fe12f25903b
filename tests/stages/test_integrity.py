"""The flow keeps the rules of integrity, and each breach breaks its own rule."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factible_assets.config import FactCheckConfig, SearchConfig
from factible_assets.records.rows import VideoRows
from factible_assets.records.tables import ASSET_RECORDS, MediaFinding
from factible_assets.stages import ids
from factible_assets.stages.flow import check_claims, extract_claims
from factible_assets.stages.integrity import judge, rules_of
from resources.transcripts.base import Cue
from tests.stages.test_flow import furnished_world
from tests.stages.words import from_cues
from tests.stages.world import VIDEO, World, reviewed

CONFIG = FactCheckConfig()


def rows_from(world: World) -> VideoRows:
    """Run the real flow over a world and return its rows."""
    transcript, segments = from_cues(VIDEO.video_id, [Cue("claim 0.", 1, 4), Cue("claim 1.", 6, 4)])

    async def run() -> VideoRows:
        services = world.services()
        found = await extract_claims(VIDEO, transcript, segments, services, CONFIG.claims)
        result = await check_claims(VIDEO, found.claims, services, CONFIG)
        return VideoRows(
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
def whole() -> VideoRows:
    world, claims = furnished_world(claims=2, queries=2, results=3)
    world.checks = {claims[0].text: [reviewed("claim 0", "https://checkers.example/0")]}
    # One page is gone, so its snippet replaces it.
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


def broken_rules(rows: VideoRows, limits: SearchConfig | None = None) -> set[str]:
    return {
        finding.rule.name for finding in judge(ASSET_RECORDS, rows, limits) if finding.violations
    }


def quoted(rows: VideoRows) -> int:
    return next(place for place, row in enumerate(rows.evidence) if row.quote is not None)


Breach = Callable[[VideoRows, int], VideoRows]
Which = int | Callable[[VideoRows], int] | None


def split(rows: VideoRows, place: str, n: int, which: Which) -> tuple[list[Any], Any, list[Any]]:
    """Return the rows before the matching one, that row, and the rows after it."""
    index = n if which is None else which if isinstance(which, int) else which(rows)
    every = [*getattr(rows, place)]
    index %= len(every)
    return every[:index], every[index], every[index + 1 :]


def change(place: str, which: Which = None, **values: Any) -> Breach:
    """Change one row without validation, as model_copy does."""

    def broken(rows: VideoRows, n: int) -> VideoRows:
        before, row, after = split(rows, place, n, which)
        changed: Any = {place: [*before, row.model_copy(update=values), *after]}
        return replace(rows, **changed)

    return broken


def leave_out(place: str, which: Which = None) -> Breach:
    def broken(rows: VideoRows, n: int) -> VideoRows:
        before, _, after = split(rows, place, n, which)
        left: Any = {place: [*before, *after]}
        return replace(rows, **left)

    return broken


def add(place: str, which: Which = None, **values: Any) -> Breach:
    """Add a copy of a row, with other values."""

    def broken(rows: VideoRows, n: int) -> VideoRows:
        before, row, after = split(rows, place, n, which)
        more: Any = {place: [*before, row, *after, row.model_copy(update=values)]}
        return replace(rows, **more)

    return broken


def with_another_text(rows: VideoRows, _: int) -> VideoRows:
    own = rows.evidence[0].content_hash
    other = next(text.content_hash for text in rows.page_texts if text.content_hash != own)
    unquoted = {"quote": None, "quote_start": None, "quote_end": None}
    return change("evidence", 0, content_hash=other, **unquoted)(rows, 0)


def with_a_quote_further_on(rows: VideoRows, _: int) -> VideoRows:
    row = rows.evidence[quoted(rows)]
    start, end = (row.quote_start or 0) + 1, (row.quote_end or 0) + 1
    return change("evidence", quoted, quote_start=start, quote_end=end)(rows, 0)


def with_a_stranger_s_call(rows: VideoRows, _: int) -> VideoRows:
    place = next(at for at, call in enumerate(rows.llm_calls) if call.stage == "evidence")
    return change("llm_calls", place, claim_id="c_0")(rows, 0)


def with_a_search_of_the_other_claim(rows: VideoRows, _: int) -> VideoRows:
    return change("searches", 0, claim_id=rows.claims[1].claim_id)(rows, 0)


TEXT, PLACE = "captions_stand_in_the_text", "claims_stand_in_the_transcript"
DERIVED, REFERRED, COUNTED = (
    "ids_are_derived",
    "references_lead_to_rows",
    "verdicts_count_their_evidence",
)
ELSEWHERE = "https://elsewhere.example/"

BREACHES: dict[str, tuple[Breach, set[str]]] = {
    "a score above 1": (change("claims", extraction_confidence=1.2), {"rows_are_valid"}),
    "an infinite time": (change("searches", latency_seconds=float("inf")), {"rows_are_valid"}),
    "a stance on evidence that was not read": (
        change("evidence", quoted, status="skipped"),
        {"rows_are_valid", COUNTED},
    ),
    "a finding with another's id": (change("media", picture="frame at 0:10"), {DERIVED}),
    "a transcript with another hash": (change("transcripts", content_hash="0"), {DERIVED}),
    "no transcript": (leave_out("transcripts"), {"there_is_one_transcript", TEXT, PLACE}),
    "a caption beyond the text": (change("segments", -1, char_end=9_999), {TEXT, PLACE}),
    "a caption that goes back in time": (change("segments", 1, start_seconds=0.5), {TEXT, PLACE}),
    "a caption left out": (leave_out("segments", 0), {TEXT, PLACE}),
    "a video a little shorter than its captions": (
        change("videos", 0, duration_seconds=1.0),
        set(),
    ),
    "a claim with another wording": (change("claims", text="Something else"), {DERIVED}),
    "a rank that is left out": (change("claims", -1, rank=7), {"claims_are_in_order"}),
    "a last claim that is the most important": (
        change("claims", -1, importance=1.0),
        {"claims_are_in_order"},
    ),
    "a claim beyond the transcript": (change("claims", char_end=9_999), {PLACE}),
    "a claim at another second": (change("claims", start_seconds=77.0), {PLACE}),
    "a query with another wording": (change("queries", text="another"), {DERIVED}),
    "a query without words or reason": (
        change("queries", status="infra_error"),
        {"every_claim_has_queries"},
    ),
    "a hit with another id": (change("hits", hit_id="h_0"), {DERIVED, REFERRED}),
    "a hit whose URL is of another site": (change("hits", url=ELSEWHERE), {DERIVED}),
    "a search of another claim's query": (with_a_search_of_the_other_claim, {REFERRED}),
    "a failed search without a reason": (
        add("searches", provider="dead", status="infra_error", hit_count=0),
        {"searches_tell_how_they_ended"},
    ),
    "hits without a search": (
        lambda rows, _: replace(rows, searches=[]),
        {"hits_belong_to_searches"},
    ),
    "a prior fact check of no claim": (
        change("prior_fact_checks", claim_id="c_0"),
        {DERIVED, REFERRED},
    ),
    "a domain without a rating": (leave_out("ratings"), {"every_domain_is_rated"}),
    "a rating without a reason": (change("ratings", reasons=()), {"every_domain_is_rated"}),
    "a page with another id": (change("pages", page_id="p_0"), {DERIVED, REFERRED}),
    "evidence of no claim": (
        add("evidence", claim_id="c_0"),
        {DERIVED, REFERRED, "evidence_fits_its_hit"},
    ),
    "a hit that nobody accounts for": (
        leave_out("evidence", quoted),
        {"every_hit_is_accounted_for", COUNTED},
    ),
    "a text that is not of its own page": (with_another_text, {"every_text_has_its_page"}),
    "a quote one character further": (with_a_quote_further_on, {"quotes_stand_in_their_pages"}),
    "an invented quote": (
        change("evidence", quoted, quote="Nobody ever said this."),
        {"quotes_stand_in_their_pages"},
    ),
    "the video itself as a source": (
        change("pages", 0, final_url=f"https://youtu.be/{VIDEO.video_id}"),
        {"no_source_is_the_video", DERIVED},
    ),
    "a page under the name of the one that led to it": (
        change("pages", final_url=ELSEWHERE),
        {DERIVED},
    ),
    "evidence under the name of another": (
        change("evidence", domain="elsewhere.example"),
        {"evidence_fits_its_hit"},
    ),
    "a claim without a verdict": (leave_out("verdicts", -1), {"every_claim_has_a_verdict"}),
    "a verdict out of rank": (change("verdicts", 0, rank=9), {"every_claim_has_a_verdict"}),
    "a verdict that counts a source too many": (change("verdicts", supporting=99), {COUNTED}),
    "a model call for no claim": (with_a_stranger_s_call, {REFERRED}),
}


def test_the_rows_of_the_flow_keep_every_rule() -> None:
    assert broken_rules(whole()) == set()
    assert any(row.via == "snippet" for row in whole().evidence)
    assert whole().prior_fact_checks
    assert whole().llm_calls


@pytest.mark.parametrize("breach", BREACHES)
def test_each_breach_breaks_its_own_rule_and_no_other(breach: str) -> None:
    break_it, expected = BREACHES[breach]
    for row in range(4):
        assert broken_rules(break_it(whole(), row)) == expected


def test_every_rule_can_be_broken() -> None:
    told = {rule for _, rules in BREACHES.values() for rule in rules}
    elsewhere = {"captions_fit_the_video", "no_page_is_too_new"}
    assert {rule.name for asset in ASSET_RECORDS for rule in rules_of(asset)} - elsewhere <= told


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
                ("age", "site000.example"),
                ("look up", "claim 0"),
            ]
        )
    )
)
def test_rows_keep_every_rule_under_any_failure(failing: set[tuple[str, str]]) -> None:
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
def test_a_page_outside_of_the_dates_breaks_the_rule_only_with_dates(
    limits: SearchConfig, told: bool
) -> None:
    dated = change("evidence", 0, published_on=date(2020, 6, 1))(whole(), 0)
    assert broken_rules(dated, limits) == ({"no_page_is_too_new"} if told else set())


def test_a_source_that_was_left_out_may_be_the_video_or_too_new() -> None:
    left_out = {
        "status": "skipped", "stance": None, "stance_confidence": None, "quote": None,
        "quote_start": None, "quote_end": None, "reason": "It is the video itself.",
        "published_on": date(2030, 1, 1),
    }  # fmt: skip
    read = next(at for at, row in enumerate(whole().evidence) if row.status == "ok")
    rows = change("evidence", read, **left_out)(whole(), 0)
    limits = SearchConfig(published_before=date(2020, 1, 1))
    assert broken_rules(rows, limits) == {"verdicts_count_their_evidence"}


def test_a_transcript_longer_than_the_video_is_a_warning() -> None:
    short = whole().video.model_copy(update={"duration_seconds": 2.0})
    late = [
        segment.model_copy(update={"start_seconds": segment.begins + 100})
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
    rows = change("claims", 0, char_end=9_999)(whole(), 0)
    (finding,) = [each for each in judge(["claims"], rows) if each.violations]
    ((row, problem),) = finding.violations
    assert row == f"Claim {claim.claim_id}"
    assert "9999" in problem
    assert finding.refuses


def test_rows_of_former_claims_serve_as_references_only() -> None:
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
        names = [rule.name for rule in rules_of(asset)]
        assert len(set(names)) == len(names)
        assert all(rule.description.endswith(".") for rule in rules_of(asset))
