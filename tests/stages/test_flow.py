"""How claims stream through the stages: order, sharing, failures, parts, cancellation."""

from __future__ import annotations

import asyncio
import math
import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Literal

import pytest

from factible_assets.config import EvidenceConfig, FactCheckConfig, SearchConfig, VerdictsConfig
from factible_assets.records.rows import VideoRows
from factible_assets.records.stances import STANCES
from factible_assets.records.tables import Claim, Stance
from factible_assets.stages.flow import FlowResult, check_claims
from factible_assets.stages.origins import label_origins
from factible_assets.stages.ports import QueryDraft
from factible_assets.stages.progress import ALL_STAGES, Stage, Stopwatch
from resources.pages.base import FetchedPage
from resources.promises import Promise
from tests.stages.world import VIDEO, Hit, World, make_claim, own_words, page, says

CONFIG = FactCheckConfig()


def furnished_world(
    claims: int = 2, queries: int = 3, results: int = 3
) -> tuple[World, list[Claim]]:
    """Return claims that each have queries with results of their own, and one shared page."""
    world = World(listed={"shared.example": "high"})
    shared = "https://shared.example/all"
    world.texts[shared] = ""
    made = []
    for number in range(claims):
        claim = make_claim(f"claim {number}", rank=number + 1)
        made.append(claim)
        world.texts[shared] += says(claim.text, "supports")
        drafts = []
        for place in range(queries):
            text = f"query {number}.{place}"
            drafts.append(QueryDraft(text, "direct", 1))
            hits = [Hit(1, "Shared", shared)] if place == 0 else []
            for rank in range(results - len(hits)):
                domain = f"site{number}{place}{rank}.example"
                url = f"https://{domain}/page"
                hits.append(Hit(rank + 2, f"Site {domain}", url, "A snippet of a few plain words."))
                world.texts[url] = says(claim.text, "supports", filler=own_words(domain))
                world.listed[domain] = "high"
            world.results[text] = [hits]
        world.queries[claim.text] = drafts
    return world, made


async def check(
    world: World,
    claims: list[Claim],
    config: FactCheckConfig = CONFIG,
    stages: tuple[Stage, ...] = ALL_STAGES,
    known: VideoRows | None = None,
) -> FlowResult:
    return await check_claims(VIDEO, claims, world.services(), config, stages=stages, known=known)


async def test_every_claim_gets_its_rows_of_every_stage() -> None:
    world, claims = furnished_world()
    result = await check(world, claims)
    assert {query.claim_id for query in result.queries} == {claim.claim_id for claim in claims}
    assert len(result.searches) == 6
    assert len(result.hits) == 18
    assert [verdict.stance for verdict in result.verdicts] == ["supports", "supports"]
    assert {row.status for row in result.evidence} == {"ok"}
    assert sorted(verdict.rank for verdict in result.verdicts) == [1, 2]
    assert set(result.timings) == set(ALL_STAGES)


async def test_a_page_that_several_claims_want_is_fetched_once_and_read_for_each() -> None:
    world, claims = furnished_world()
    world.delays = {"fetch": 0.01}
    result = await check(world, claims)
    shared = "https://shared.example/all"
    assert world.asked["fetch", shared] == 1
    assert world.asked["read", shared] == 2
    assert sum(row.canonical_url == shared for row in result.evidence) == 2
    assert sum(page.canonical_url == shared for page in result.pages) == 1


async def test_only_domains_of_pages_that_are_read_are_asked_for_their_age() -> None:
    world, claims = furnished_world(claims=3)
    world.listed = {}
    config = FactCheckConfig(search=SearchConfig(max_results=1))
    result = await check(world, claims, config=config)
    read = {row.domain for row in result.evidence if row.status != "skipped"}
    assert {key for what, key in world.asked if what == "age"} == read
    assert read < {rating.domain for rating in result.ratings}
    unread = [rating for rating in result.ratings if rating.domain not in read]
    assert all("not looked up" in " ".join(rating.reasons) for rating in unread)


async def test_no_page_waits_for_a_registry() -> None:
    world, claims = furnished_world(claims=1)
    world.listed = {}
    work, all_read = world.work, asyncio.Event()

    async def registries_last(kind: str, key: str) -> bool:
        if kind == "age":
            await all_read.wait()
        failed = await work(kind, key)
        if sum(what == "read" for what, _ in world.asked) == len(world.texts):
            all_read.set()
        return failed

    world.work = registries_last  # type: ignore[method-assign]
    result = await check(world, claims)
    assert {row.status for row in result.evidence} == {"ok"}


async def test_a_claim_does_not_wait_for_the_slowest_page_of_another() -> None:
    world, claims = furnished_world(queries=1, results=2)
    slow = "https://site100.example/page"
    assert slow in world.texts
    world.delays = {f"fetch {slow}": 0.3}
    await check(world, claims)
    assert [verdict.claim_id for verdict in world.verdicts] == [
        claims[0].claim_id,
        claims[1].claim_id,
    ]
    world.verdicts.clear()
    world.delays = {"fetch https://site000.example/page": 0.3}
    await check(world, claims)
    assert world.verdicts[0].claim_id == claims[1].claim_id


async def test_streaming_all_stages_equals_running_them_one_after_another() -> None:
    world, claims = furnished_world()
    world.broken = {("search", "query 0.1"), ("fetch", "https://site110.example/page")}
    del world.texts["https://site111.example/page"]
    together = await check(world, claims)
    known = VideoRows()
    parts: dict[Stage, FlowResult] = {}
    for stage in ALL_STAGES:
        part = parts[stage] = await check(world, claims, stages=(stage,), known=known)
        known = replace(
            known,
            queries=part.queries or known.queries,
            searches=part.searches or known.searches,
            hits=part.hits or known.hits,
            ratings=part.ratings or known.ratings,
            evidence=part.evidence or known.evidence,
            page_texts=part.page_texts or known.page_texts,
        )
    assert parts["queries"].queries == together.queries
    assert parts["search_hits"].searches == together.searches
    assert parts["search_hits"].hits == together.hits
    assert parts["reliability_ratings"].ratings == together.ratings
    assert parts["evidence"].evidence == together.evidence
    assert parts["evidence"].pages == together.pages
    assert parts["evidence"].page_texts == together.page_texts
    assert parts["verdicts"].verdicts == together.verdicts
    calls = [call for part in parts.values() for call in part.llm_calls]
    assert sorted(calls, key=repr) == sorted(together.llm_calls, key=repr)


async def test_a_verdict_alone_has_the_basis_of_the_evidence_that_is_stored() -> None:
    world, claims = furnished_world(claims=1)
    world.basis = "embedded"
    first = await check(world, claims)
    world.basis = "llm"
    known = VideoRows(
        queries=first.queries, searches=first.searches, hits=first.hits, evidence=first.evidence
    )
    alone = await check(world, claims, stages=("verdicts",), known=known)
    assert [row.basis for row in alone.verdicts] == ["embedded"]


async def test_an_unselected_stage_does_nothing_and_returns_nothing() -> None:
    world, claims = furnished_world()
    result = await check(world, claims, stages=("queries",))
    assert result == FlowResult(
        queries=result.queries, llm_calls=result.llm_calls, timings=result.timings
    )
    assert result.queries
    assert {kind for kind, _ in world.asked} == {"queries"}


async def test_two_runs_over_the_same_answers_have_the_same_rows() -> None:
    world, claims = furnished_world()
    first = await check(world, claims)
    world.delays = {"fetch https://site010.example/page": 0.02, "search query 0.0": 0.01}
    second = await check(world, claims)
    assert replace(first, timings={}) == replace(second, timings={})


async def test_a_reasoner_that_fails_for_one_claim_loses_no_other() -> None:
    world, claims = furnished_world()
    world.broken = {("queries", "claim 0")}
    result = await check(world, claims)
    failed, good = (
        next(verdict for verdict in result.verdicts if verdict.claim_id == claim.claim_id)
        for claim in claims
    )
    assert good.status == "complete"
    assert failed.status == "incomplete"
    assert failed.stance is None
    assert failed.reason is not None
    assert "the model is overloaded" in failed.reason
    assert [query.status for query in result.queries if query.claim_id == failed.claim_id] == [
        "infra_error"
    ]
    assert any(call.claim_id == failed.claim_id for call in result.llm_calls)


async def test_a_declined_reading_is_no_outage_and_is_reported() -> None:
    world, claims = furnished_world(claims=1)
    page = "https://shared.example/all"
    world.declined = {("queries", "claim 0"), ("read", page)}
    world.results["claim 0"] = world.results["query 0.0"]
    result = await check(world, claims)
    (verdict,) = result.verdicts
    assert [query.text for query in result.queries] == ["claim 0"]
    (row,) = [row for row in result.evidence if row.canonical_url == page]
    assert (row.status, row.stance) == ("skipped", None)
    assert (verdict.status, verdict.missing, verdict.recheck_due) == ("complete", 0, False)
    assert "declined to read 1 source" in (verdict.reason or "")


async def test_a_failed_search_makes_the_verdict_incomplete_and_names_the_provider() -> None:
    world, claims = furnished_world(claims=1)
    world.broken = {("search", "query 0.2")}
    verdict = (await check(world, claims)).verdicts[0]
    assert verdict.status == "incomplete"
    assert verdict.reason is not None
    assert "engine" in verdict.reason
    assert "over quota" in verdict.reason


async def test_a_reading_that_fails_is_missing_and_not_an_unclear_stance() -> None:
    world, claims = furnished_world(claims=1)
    world.broken = {("read", "https://shared.example/all")}
    result = await check(world, claims)
    row = next(row for row in result.evidence if row.domain == "shared.example")
    assert row.status == "infra_error"
    assert row.stance is None
    assert row.page_id is not None


async def test_a_page_that_is_gone_or_down_is_read_by_its_snippet_and_says_so() -> None:
    world, claims = furnished_world(claims=1)
    gone, down = "https://site001.example/page", "https://site010.example/page"
    del world.texts[gone]
    world.broken = {("fetch", down)}
    snippet = f"A snippet that speaks: {says('claim 0', 'refutes')}"
    for pages in world.results.values():
        pages[0] = [replace(hit, snippet=snippet) for hit in pages[0]]
    result = await check(world, claims)
    rows = {row.canonical_url: row for row in result.evidence}
    assert (rows[gone].status, rows[gone].via, rows[gone].stance) == ("ok", "snippet", "refutes")
    assert "claim 0=refutes" in (rows[gone].quote or "")
    assert (
        rows[gone].reason
        == "Only its search snippet was read, as the page is missing: the page is gone."
    )
    assert (rows[down].status, rows[down].via, rows[down].stance) == ("ok", "snippet", "refutes")
    assert "could not be read: the connection was reset" in (rows[down].reason or "")
    assert (rows[gone].page_due, rows[down].page_due) == (False, True)
    assert snippet in {text.text for text in result.page_texts}


async def test_a_notice_in_the_place_of_a_page_is_missing_and_its_snippet_speaks() -> None:
    told = f"Astronomers reported yesterday: {says('claim 0', 'supports')}"
    world, claims = leading_world("", "", snippet=told)
    world.texts = dict.fromkeys(world.texts, "We move house. Our articles are back on Monday.")
    result = await check(world, claims)
    assert {(row.status, row.via, row.page_due) for row in result.evidence} == {
        ("ok", "snippet", True)
    }
    (verdict,) = result.verdicts
    assert (verdict.status, verdict.missing) == ("incomplete", 2)


async def test_one_text_at_two_addresses_of_a_site_is_the_page_of_one_at_most() -> None:
    world, claims = leading_world("", "")
    first, second = world.results["query"][0]
    moved = replace(second, url="https://good0.example/other", title="Quite other things")
    world.results["query"] = [[replace(first, title="First of all"), moved]]
    world.texts = dict.fromkeys((first.url, moved.url), "News of today. Markets. Weather. Sport.")
    result = await check(world, claims)
    assert Counter(row.status for row in result.evidence) == {"infra_error": 1, "no_evidence": 1}
    assert result.verdicts[0].missing == 1


@pytest.mark.parametrize("outcome", ["unavailable", "outage"])
async def test_a_login_wall_leaves_the_source_missing(
    outcome: Literal["unavailable", "outage"],
) -> None:
    world, claims = leading_world("", "")
    web = replace(world.services(), fetcher=Refusing(outcome))
    result = await check_claims(VIDEO, claims, web, FactCheckConfig())
    (verdict,) = result.verdicts
    assert (verdict.status, verdict.missing) == ("incomplete", 2)


@dataclass(frozen=True)
class Refusing:
    outcome: Literal["unavailable", "outage"]

    async def fetch(self, url: str, *, promise: Promise | None = None) -> FetchedPage:
        return page(url, self.outcome, reason="the site keeps it to itself", via=None)


async def test_a_fetched_page_that_is_too_young_or_the_video_is_not_read() -> None:
    world, claims = furnished_world(claims=1)
    young, video = "https://site001.example/page", "https://site010.example/page"
    world.dates[young] = date(2024, 5, 1)
    world.redirects[video] = "https://www.youtube.com/watch?v=dQw4w9WgXcQ"
    config = FactCheckConfig(search=SearchConfig(published_before=date(2024, 5, 1)))
    rows = {row.canonical_url: row for row in (await check(world, claims, config)).evidence}
    assert rows[young].status == rows[video].status == "skipped"
    assert not world.asked["read", young]
    assert not world.asked["read", video]


async def test_a_snippet_of_a_page_in_outage_settles_nothing() -> None:
    """The page may say the contrary, so it is missing; a silent snippet leaves it unread."""
    world, claims = leading_world("", "", snippet=f"It was said: {says('claim 0', 'supports')}")
    world.broken = {("fetch", url) for url in world.texts}
    result = await check(world, claims)
    assert {(row.status, row.page_due) for row in result.evidence} == {("ok", True)}
    (verdict,) = result.verdicts
    assert (verdict.status, verdict.stance, verdict.missing) == ("incomplete", None, 2)
    assert verdict.vote_stance == "supports"
    for pages in world.results.values():
        pages[0] = [
            replace(hit, snippet="Many words about quite another thing.") for hit in pages[0]
        ]
    silent = await check(world, claims)
    assert {(row.status, row.stance) for row in silent.evidence} == {("infra_error", None)}


async def test_a_verdict_that_such_a_page_cannot_change_stands_and_a_re_check_is_due() -> None:
    world, claims = furnished_world(claims=1)
    (down, *_) = (url for url in world.texts if "site" in url)
    world.broken = {("fetch", down)}
    snippet = f"A snippet that speaks: {says('claim 0', 'supports')}"
    for pages in world.results.values():
        pages[0] = [replace(hit, snippet=snippet) for hit in pages[0]]
    (verdict,) = (await check(world, claims)).verdicts
    assert (verdict.status, verdict.stance, verdict.recheck_due) == ("complete", "supports", True)
    assert "could not be read" in (verdict.reason or "")


@pytest.mark.parametrize(("found", "status"), [(3, "complete"), (1, "incomplete")])
async def test_a_search_that_lacked_a_part_counts_where_it_left_places_free(
    found: int, status: str
) -> None:
    world, claims = furnished_world(claims=1, queries=1, results=found)
    world.partial = {"query 0.0": "not all of its engines answered: bing (timeout)"}
    result = await check(world, claims)
    assert [search.reason for search in result.searches] == [world.partial["query 0.0"]]
    (verdict,) = result.verdicts
    assert verdict.status == status
    if status == "incomplete":
        assert "answered in part (not all of its engines" in (verdict.reason or "")


def leading_world(*targets: str, snippet: str = "") -> tuple[World, list[Claim]]:
    """Return a claim with two hits of reliable domains, which lead to the targets."""
    claim = make_claim("claim 0")
    world = World(
        listed={"good0.example": "high", "good1.example": "high", "bad.example": "very_low"}
    )
    world.queries[claim.text] = [QueryDraft("query", "direct", 1)]
    hits = [
        Hit(place + 1, "Found", f"https://good{place}.example/page", snippet)
        for place in range(len(targets))
    ]
    world.results["query"] = [hits]
    for hit, target in zip(hits, targets, strict=True):
        world.texts[hit.url] = says(claim.text, "supports", filler=own_words(hit.url))
        if target:
            world.redirects[hit.url] = target
    return world, [claim]


async def test_a_redirect_lends_neither_rating_nor_domain_nor_origin() -> None:
    world, claims = leading_world("https://bad.example/a", "https://bad.example/b")
    result = await check(world, claims)
    for row in result.evidence:
        assert (row.domain, row.rating, row.origin) == ("bad.example", "very_low", "bad.example")
        found = row.canonical_url.removeprefix("https://").removesuffix("/page")
        assert f"found at {found} and leads to bad.example" in (row.reason or "")
    assert {page.domain for page in result.pages} == {"bad.example"}
    assert {rating.domain for rating in result.ratings} > {"bad.example"}
    (verdict,) = result.verdicts
    assert (verdict.stance, verdict.independent_origins) == ("unclear", 1)


async def test_one_page_behind_two_addresses_counts_once() -> None:
    world, claims = leading_world("https://good0.example/page", "https://good0.example/page")
    first, second = world.texts
    world.texts[second] = world.texts[first]
    (verdict,) = (await check(world, claims)).verdicts
    lone, _ = leading_world("https://good0.example/page")
    (alone,) = (await check(lone, claims)).verdicts
    assert verdict.independent_origins == alone.independent_origins == 1
    assert verdict.evidence_quality == alone.evidence_quality
    assert verdict.confidence_score == alone.confidence_score


async def test_another_host_of_the_same_site_and_the_archive_s_copy_are_no_departure() -> None:
    copy = "https://web.archive.org/web/20240101000000id_/https://good1.example/page"
    world, claims = leading_world("https://m.good0.example/page", copy)
    result = await check(world, claims)
    assert {row.domain for row in result.evidence} == {"good0.example", "good1.example"}
    assert {(row.rating, row.reason) for row in result.evidence} == {("high", None)}


async def test_a_snippet_does_not_speak_for_a_page_that_left_its_domain() -> None:
    snippet = f"It was said: {says('claim 0', 'supports')}"
    world, claims = leading_world("https://bad.example/a", snippet=snippet)
    world.texts = dict.fromkeys(world.texts, "")
    (row,) = (await check(world, claims)).evidence
    assert (row.status, row.domain, row.stance) == ("infra_error", "bad.example", None)


@pytest.mark.parametrize(
    ("target", "options"),
    [
        ("https://www.youtube.com/watch?v=dQw4w9WgXcQ", {}),
        ("https://web.archive.org/web/2024/https://youtu.be/dQw4w9WgXcQ", {}),
        ("https://www.snopes.com/fact-check/x", {"exclude_domains": ["snopes.com"]}),
        (
            "https://web.archive.org/web/2024/http://snopes.com/x",
            {"exclude_domains": ["snopes.com"]},
        ),
    ],
)
async def test_excluded_pages_stay_out_after_a_redirect(
    target: str, options: dict[str, object]
) -> None:
    world, claims = leading_world(target)
    config = FactCheckConfig(search=SearchConfig.model_validate(options))
    (row,) = (await check(world, claims, config)).evidence
    assert (row.status, row.stance) == ("skipped", None)
    assert not world.asked["read", row.canonical_url]


@pytest.mark.parametrize(
    ("citations", "rating", "score"),
    [(None, "unknown", 0.5), (9, "unknown", 0.5), (10, "unknown", 0.55), (240, "medium", 0.6)],
)
async def test_a_paper_on_an_unlisted_domain_is_rated_by_its_citations(
    citations: int | None, rating: str, score: float
) -> None:
    world, claims = leading_world("")
    world.listed = {}
    (hit,) = world.results["query"][0]
    world.results["query"] = [[replace(hit, citation_count=citations)]]
    result = await check(world, claims)
    (row,) = result.evidence
    assert (row.rating, row.rating_score) == (rating, score)
    assert ("is cited" in (row.reason or "")) == (score > 0.5)
    assert {(each.rating, each.score) for each in result.ratings} == {("unknown", 0.5)}
    world.redirects[hit.url] = "https://elsewhere.example/"
    (led_away,) = (await check(world, claims)).evidence
    assert led_away.rating_score == 0.5


async def test_a_paper_in_a_journal_that_a_set_lists_has_the_journals_rating() -> None:
    world, claims = leading_world("")
    (hit,) = world.results["query"][0]
    world.listed = {hit.url.split("/")[2]: "high", "journal:journal of trials": "low"}
    world.results["query"] = [[replace(hit, journal="The Journal of Trials")]]
    (row,) = (await check(world, claims)).evidence
    assert row.rating == "low"
    assert "A rating set lists its journal as low" in (row.reason or "")
    world.results["query"] = [[replace(hit, journal="Another Journal")]]
    assert (await check(world, claims)).evidence[0].rating == "high"


ANSWER = "https://perplexity.ai/search?q="


def answered_world(*, others: bool) -> tuple[World, list[Claim]]:
    world, claims = furnished_world(1, 2, 2)
    for place in range(2):
        if not others:
            world.results[f"query 0.{place}"] = [[]]
        words = f"{says('claim 0', 'refutes')} Machines say so.\n\n[1] https://shared.example/all"
        own = Hit(9, "Perplexity on it", f"{ANSWER}query+0.{place}", words)
        world.results[f"query 0.{place}"][0].append(own)
    # A user's own set may list anything.
    world.listed["perplexity.ai"] = "high"
    return world, claims


async def test_an_answer_engines_answer_is_a_source_only_on_request() -> None:
    world, claims = answered_world(others=True)
    result = await check(world, claims)
    assert not any(hit.url.startswith(ANSWER) for hit in result.hits)
    assert "answer_engine" not in {row.source_class for row in result.evidence}


async def test_an_answer_engine_is_one_source_of_a_claim_and_never_fetched() -> None:
    world, claims = answered_world(others=True)
    wanted = FactCheckConfig(search=SearchConfig(answers=True))
    result = await check(world, claims, wanted)
    (row,) = [row for row in result.evidence if row.source_class == "answer_engine"]
    assert (row.status, row.stance, row.rating) == ("ok", "refutes", "low")
    assert (row.via, row.origin, row.canonical_url) == (
        "snippet",
        "perplexity.ai",
        f"{ANSWER}query+0.0",
    )
    assert "machine's answer" in (row.reason or "")
    (text,) = [each.text for each in result.page_texts if each.content_hash == row.content_hash]
    assert row.quote == text[row.quote_start : row.quote_end]
    assert "[1] https://shared.example/all" in text
    assert not [key for key in world.asked if key[0] == "fetch" and "perplexity" in key[1]]
    (verdict,) = result.verdicts
    assert (verdict.stance, verdict.refuting) == ("supports", 1)


@pytest.mark.parametrize("least", [0.0, 0.36])
async def test_an_answer_engine_alone_never_settles_a_claim(least: float) -> None:
    world, claims = answered_world(others=False)
    wanted = FactCheckConfig(
        search=SearchConfig(answers=True), verdicts=VerdictsConfig(min_weight=least)
    )
    (verdict,) = (await check(world, claims, wanted)).verdicts
    assert (verdict.status, verdict.stance, verdict.refuting) == ("complete", "unclear", 1)


async def test_enough_agreeing_origins_leave_the_stragglers_unread() -> None:
    world, claims = furnished_world(claims=1)
    world.delays = {"fetch https://site022.example/page": math.inf}
    config = FactCheckConfig(evidence=EvidenceConfig(enough_origins=3))
    result = await check(world, claims, config)
    left = [row for row in result.evidence if row.status == "skipped"]
    assert "https://site022.example/page" in {row.canonical_url for row in left}
    assert all(row.reason is not None and "already agreed" in row.reason for row in left)
    assert result.verdicts[0].status == "complete"


async def test_a_page_in_outage_is_missing_also_if_undated_pages_are_left_out() -> None:
    world, claims = furnished_world(claims=1, queries=1, results=2)
    world.dates["https://shared.example/all"] = date(2020, 1, 1)
    world.broken.add(("fetch", "https://site000.example/page"))
    search = SearchConfig(published_before=date(2021, 1, 1), undated="drop")
    result = await check(world, claims, FactCheckConfig(search=search))
    assert {row.status for row in result.evidence} == {"ok", "infra_error"}
    assert [row.status for row in result.verdicts] == ["incomplete"]


async def test_the_slowest_page_is_left_unread_if_it_cannot_change_the_stance() -> None:
    world, claims = furnished_world(claims=1)
    world.delays = {"fetch https://site022.example/page": math.inf}
    config = FactCheckConfig(search=CONFIG.search, evidence=EvidenceConfig(leave_slowest=True))
    result = await check(world, claims, config)
    (left,) = [row for row in result.evidence if row.reason and "slowest" in row.reason]
    assert left.canonical_url == "https://site022.example/page"
    assert left.status == "skipped"
    (verdict,) = result.verdicts
    assert (verdict.status, verdict.stance) == ("complete", "supports")


async def test_the_slowest_page_is_awaited_if_it_could_change_the_stance() -> None:
    world, claims = furnished_world(claims=1, queries=1, results=2)
    slowest = "https://site000.example/page"
    world.delays = {f"fetch {slowest}": 0.02}
    world.listed = {"shared.example": "high", "great.example": "high"}
    world.redirects[slowest] = "https://great.example/"
    config = FactCheckConfig(evidence=EvidenceConfig(leave_slowest=True))
    result = await check(world, claims, config)
    assert {row.status for row in result.evidence} == {"ok"}


async def test_a_verdict_is_announced_while_a_page_is_read_that_cannot_change_its_stance() -> None:
    world, claims = furnished_world(claims=1)
    work = world.work

    async def wait_for_the_verdict(kind: str, key: str) -> bool:
        while key == "https://site022.example/page" and not world.verdicts:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        return await work(kind, key)

    world.work = wait_for_the_verdict  # type: ignore[method-assign]
    result = await check(world, claims)
    (told,), (verdict,) = world.verdicts, result.verdicts
    assert (told.stance, told.confidence) == ("supports", None)
    assert (told.reason or "").endswith("can change the confidence, but not the stance.")
    assert (verdict.stance, verdict.confidence, verdict.supporting) == ("supports", "high", 9)


async def test_no_page_redirect_failure_or_refusal_changes_a_stance_that_was_announced() -> None:
    early = 0
    for seed in range(40):
        chance = random.Random(seed)
        world, claims = furnished_world(claims=1)
        world.listed["great.example"] = "high"
        for url in list(world.texts):
            domain = url.split("/")[2]
            stance: Stance = chance.choice([*STANCES, "supports"])
            stance = stance if chance.random() < 0.25 else "supports"
            story = chance.choice([domain] * 5 + ["one story"])
            world.texts[url] = says(claims[0].text, stance, 1.0, own_words(story))
            world.listed[domain] = chance.choice(["high", "high", "medium", "low"])
            world.delays[f"read {url}"] = chance.choice([0.0, 0.01])
            fate = chance.randrange(12)
            if fate == 0:
                world.redirects[url] = f"https://great.example/{domain}"
            elif fate < 3:
                world.broken.add((["fetch", "read"][fate - 1], url))
            elif fate < 5:
                world.declined.add(("read", url))
        (verdict,) = (await check(world, claims)).verdicts
        (told,) = world.verdicts
        early += told.confidence is None and told.stance is not None
        assert told.stance in {None, verdict.stance}, seed
    assert early > 8


async def test_no_more_pages_are_fetched_at_once_than_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, claims = furnished_world(claims=2)
    world.delays = {"fetch": 0.01}
    monkeypatch.setattr("factible_assets.stages.evidence.PAGES_AT_ONCE", 1)
    started = time.perf_counter()
    result = await check(world, claims)
    assert time.perf_counter() - started >= 0.01 * len(result.pages)


async def test_cancelling_a_run_leaves_no_task_behind() -> None:
    world, claims = furnished_world()
    world.delays = {"fetch": math.inf, "age": math.inf}
    before = asyncio.all_tasks()
    running = asyncio.create_task(check(world, claims))
    while not asyncio.all_tasks() - before - {running}:  # noqa: ASYNC110 - nobody tells
        await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert asyncio.all_tasks() == before


async def test_every_piece_of_work_reports_progress() -> None:
    world, claims = furnished_world(claims=1)
    await check(world, claims)
    assert world.steps.count(("queries", "claim 0")) == 1
    assert world.steps.count(("search_hits", "claim 0")) == 3
    assert world.steps.count(("evidence", "claim 0")) == 9


async def test_five_claims_wait_for_their_services_side_by_side() -> None:
    world, claims = furnished_world(claims=5)
    work, waiting = world.work, Counter[str]()
    least = {"queries": 5, "search": 15, "fetch": 24}
    enough = {kind: asyncio.Event() for kind in least}

    async def wait_for_others(kind: str, key: str) -> bool:
        waiting[kind] += 1
        if kind in least:
            if waiting[kind] == least[kind]:
                enough[kind].set()
            await enough[kind].wait()  # for ever, if fewer are asked at once
        return await work(kind, key)

    world.work = wait_for_others  # type: ignore[method-assign]
    await check(world, claims, FactCheckConfig(search=SearchConfig(max_results=3)))


async def test_a_recheck_keeps_good_queries_and_writes_those_that_failed() -> None:
    world, claims = furnished_world(claims=2)
    world.broken = {("queries", claims[0].text)}
    first = await check(world, claims)
    world.broken.clear()
    asked = world.asked.copy()
    again = await check(
        world, claims, FactCheckConfig(renew=True), known=VideoRows(queries=first.queries)
    )
    written = {key for key in world.asked - asked if key[0] == "queries"}
    assert written == {("queries", claims[0].text)}
    assert {query.status for query in again.queries} == {"ok"}
    kept = [query for query in again.queries if query.claim_id == claims[1].claim_id]
    assert kept == [query for query in first.queries if query.claim_id == claims[1].claim_id]
    assert {verdict.status for verdict in again.verdicts} == {"complete"}


async def test_long_pages_are_weighed_beside_the_event_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, claims = furnished_world(1)
    threads = set()

    def watched(*given: Any) -> Any:
        threads.add(threading.current_thread())
        return label_origins(*given)

    monkeypatch.setattr("factible_assets.stages.claim_check.label_origins", watched)
    await check(world, claims)
    assert threads
    assert threading.main_thread() not in threads


def test_a_stage_whose_work_ends_before_its_result_is_timed_by_the_result() -> None:
    watch = Stopwatch()
    with watch.time("verdicts"):
        pass
    with watch.time("verdicts"):
        sum(range(100_000))
    assert (
        watch.timings()["verdicts"].first_result_seconds < watch.timings()["verdicts"].span_seconds
    )
    watch.reach("verdicts")
    timing = watch.timings()["verdicts"]
    assert timing.first_result_seconds >= timing.span_seconds
    watch.reach("verdicts")
    assert watch.timings()["verdicts"] == timing
