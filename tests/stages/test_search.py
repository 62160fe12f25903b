"""Searches, and the choice of pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import partial
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from factible_assets.config import QueriesConfig, SearchConfig
from factible_assets.records.tables import (
    Page,
    Query,
    Rating,
    ReliabilityRating,
    Search,
    SearchHit,
    Video,
)
from factible_assets.stages.ports import QueryDraft
from factible_assets.stages.queries import build_queries
from factible_assets.stages.reliability import LISTED_SCORES, RATING_ORDER, RatingBook
from factible_assets.stages.search import (
    FoundPage,
    gather_hits,
    late_exclusion,
    rating_of_hit,
    select_hits,
    unwanted,
)
from factible_assets.stages.urls import domain_of
from resources.search.base import SearchAnswer, SearchRequest
from tests.stages.world import VIDEO, Directory, Hit, Registry, World, answer, make_claim

CLAIM = make_claim("a claim")
QUERIES = build_queries(
    CLAIM,
    [QueryDraft(f"q{number}", "direct", 1) for number in range(3)],
    QueriesConfig(),
    basis="llm",
)


def hits_of(*names: str) -> list[Hit]:
    return [Hit(rank, name, f"https://{name}.example/") for rank, name in enumerate(names, 1)]


class Gathered(NamedTuple):
    searches: Sequence[Search]
    hits: Sequence[SearchHit]


class Selection(NamedTuple):
    chosen: Sequence[FoundPage]
    skipped: Sequence[tuple[FoundPage, str]]


async def gather(world: World, **options: object) -> Gathered:
    services = world.services()
    book = RatingBook(VIDEO.video_id, Directory(world), Registry(world))
    config = SearchConfig.model_validate(options)
    return Gathered(*await gather_hits(QUERIES[0], services.searcher, book, config))


async def test_twice_the_limit_is_asked_for_and_one_page_is_enough_if_it_is_good() -> None:
    world = World(results={"q0": [hits_of(*"abcdefgh"), hits_of("z")]})
    found = await gather(world, max_results=3)
    assert [hit.title for hit in found.hits] == list("abcdef")
    assert [(search.page, search.hit_count, search.status) for search in found.searches] == [
        (1, 6, "ok")
    ]


async def test_the_next_page_is_asked_for_when_more_than_half_is_poor() -> None:
    world = World(results={"q0": [hits_of(*"abcd"), hits_of(*"ef")]})
    world.listed = {f"{name}.example": "low" for name in "abc"}
    found = await gather(world, max_results=2)
    assert [(hit.title, hit.page, hit.rank) for hit in found.hits] == [
        ("a", 1, 1),
        ("b", 1, 2),
        ("c", 1, 3),
        ("d", 1, 4),
        ("e", 2, 5),
        ("f", 2, 6),
    ]
    assert world.asked["search", "q0"] == 1
    assert world.asked["search", "q0 #2"] == 1


async def test_exactly_half_being_poor_is_good_enough() -> None:
    world = World(results={"q0": [hits_of(*"abcd"), hits_of("e")]})
    world.listed = {f"{name}.example": "low" for name in "ab"}
    assert len((await gather(world, max_results=2)).searches) == 1


async def test_a_stricter_minimum_makes_unknown_sources_poor() -> None:
    world = World(results={"q0": [hits_of(*"ab"), hits_of("c")]})
    assert len((await gather(world, max_results=2, minimum_rating="medium")).searches) == 2


async def test_a_failed_search_is_a_row_and_no_answer_is_another() -> None:
    failed = await gather(World(broken={("search", "q0")}))
    assert [(row.status, row.reason) for row in failed.searches] == [
        ("infra_error", "the engine is over quota")
    ]
    empty = await gather(World())
    assert [(row.status, row.hit_count) for row in empty.searches] == [("no_evidence", 0)]


async def test_the_date_limit_is_passed_on() -> None:
    world = World()
    await gather(world, published_before=date(2020, 1, 1))
    assert world.before == [date(2020, 1, 1)]


async def test_every_limit_of_the_run_is_passed_on() -> None:
    world = World()
    limits: dict[str, Any] = {
        "exclude_domains": ("x.example",),
        "exclude_kinds": ("video", "pdf"),
        "language": "de",
    }
    await gather(world, published_after=date(2019, 1, 1), **limits)
    (asked,) = world.requests
    del limits["exclude_kinds"]
    limits["exclude_file_types"] = ("pdf",)
    assert asked == SearchRequest(asked.query, asked.limit, after=date(2019, 1, 1), **limits)


@pytest.mark.parametrize(
    ("url", "published_on", "limits", "reason"),
    [
        ("https://a.example/p", date(2019, 1, 1), {"published_after": "2019-01-02"}, "before 2019"),
        ("https://a.example/p", date(2019, 1, 2), {"published_after": "2019-01-02"}, None),
        ("https://a.example/p", None, {"published_after": "2019-01-02"}, None),
        ("https://a.example/p", None, {"exclude_domains": "A.example,"}, "leaves out a.example"),
        ("https://news.a.example/p", None, {"exclude_domains": ["a.example"]}, "leaves out"),
        ("https://na.example/p", None, {"exclude_domains": ["a.example"]}, None),
        ("https://a.example/p.PDF", None, {"exclude_kinds": "pdf"}, "out PDFs"),
        ("https://a.example/pdf", None, {"exclude_kinds": "pdf"}, None),
        ("https://a.example/fact-check/p", None, {"exclude_kinds": "fact_checker"}, "fact checks"),
        ("https://factcheck.a.example/", None, {"exclude_kinds": "fact_checker"}, "fact checks"),
        ("https://a.example/fact-check/p", None, {"exclude_kinds": "video"}, None),
        ("https://www.youtube.com/watch?v=a", None, {"exclude_kinds": "video"}, "out videos"),
    ],
)
def test_excluded_pages_stay_out_for_every_provider(
    url: str, published_on: date | None, limits: dict[str, Any], reason: str | None
) -> None:
    said = unwanted(url, published_on, SearchConfig.model_validate(limits))
    assert (said is None) == (reason is None)
    assert (reason or "") in (said or "")


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"exclude_domains": "https://a.example"}, "without https://"),
        ({"exclude_domains": ["localhost"]}, "is no domain"),
        ({"exclude_kinds": "pamphlet"}, "'academic', 'government'"),
        ({"language": "english"}, "two letters"),
        ({"published_before": "2020-01-01", "published_after": "2020-01-01"}, "leaves no day"),
    ],
)
def test_an_impossible_limit_is_refused_with_a_sentence(limits: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        SearchConfig.model_validate(limits)


@dataclass(frozen=True)
class TwoEngines:
    async def search(self, request: SearchRequest) -> Sequence[SearchAnswer]:
        return [
            answer(
                "one", hits=[Hit(1, "A", "https://a.example/x"), Hit(2, "B", "https://b.example")]
            ),
            answer("two", hits=[Hit(1, "B!", "http://www.b.example/?utm_source=two", "Of B.")]),
            answer("three", "outage", "wrong key"),
        ]


async def test_hits_of_several_providers_are_merged_and_say_where_they_came_from() -> None:
    book = RatingBook("v", Directory(World()), Registry(World()))
    found = Gathered(*await gather_hits(QUERIES[0], TwoEngines(), book, SearchConfig()))
    assert [(hit.canonical_url, hit.provider, hit.rank) for hit in found.hits] == [
        ("https://a.example/x", "one", 1),
        ("https://b.example/", "two+one", 1),
    ]
    assert found.hits[1].snippet == "Of B."
    assert [(row.provider, row.status) for row in found.searches] == [
        ("one", "ok"),
        ("two", "ok"),
        ("three", "infra_error"),
    ]


async def test_a_result_that_is_no_web_address_is_kept_and_not_read() -> None:
    world = World(results={"q0": [[Hit(1, "Odd", "javascript:alert(1)"), *hits_of("a")]]})
    found = await gather(world)
    assert {hit.title for hit in found.hits} == {"Odd", "a"}
    assert not world.asked["age", ""]
    book = RatingBook("v", Directory(world), Registry(world))
    await book.look_up_ages(hit.url for hit in found.hits)
    rating_of = partial(rating_of_hit, book=book)
    choice = Selection(*select_hits(VIDEO, QUERIES, found.hits, rating_of, SearchConfig()))
    assert [(each.hit.title, reason) for each, reason in choice.skipped] == [
        ("Odd", "It is no web address.")
    ]


# --- Choosing -----------------------------------------------------------------------------------


class Rated:
    """Ratings by the first letters of a host: high-1.example, low-2.example."""

    def of(self, url: str) -> ReliabilityRating:
        named = [each for each in RATING_ORDER if domain_of(url).startswith(each)]
        rating: Rating = named[0] if named else "unknown"
        return ReliabilityRating(
            video_id="v",
            domain=domain_of(url),
            rating=rating,
            score=LISTED_SCORES[rating],
            source_class="academic" if "journal" in url else "unknown",
            reasons=(),
        )


def row_of(query: Query, rank: int, host: str, path: str = "", **changes: object) -> SearchHit:
    hit = SearchHit(
        hit_id=f"{query.query_id}-{host}-{path}",
        query_id=query.query_id,
        claim_id=CLAIM.claim_id,
        video_id=VIDEO.video_id,
        provider="engine",
        page=1,
        rank=rank,
        title=host,
        url=f"https://{host}/{path}",
        canonical_url=f"https://{host}/{path}",
        domain=host,
        snippet="",
    )
    return hit.model_copy(update=changes)


def choose(*hits: SearchHit, video: Video = VIDEO, **options: object) -> Selection:
    config = SearchConfig.model_validate(options)
    return Selection(*select_hits(video, QUERIES, hits, lambda hit: Rated().of(hit.url), config))


def chosen(selection: Selection) -> list[str]:
    return [each.hit.domain.removesuffix(".example") for each in selection.chosen]


def test_the_best_rated_are_read_first_and_then_in_the_provider_s_order() -> None:
    hosts = ["unknown-1", "low-1", "medium-1", "high-1", "high-2", "unknown-2"]
    hits = [row_of(QUERIES[0], rank, f"{host}.example") for rank, host in enumerate(hosts, 1)]
    assert chosen(choose(*hits, max_results=4)) == ["high-1", "high-2", "medium-1", "unknown-1"]


def test_among_equal_ratings_primary_sources_come_first_on_request() -> None:
    hosts = ["high-1", "high-journal", "low-journal"]
    hits = [row_of(QUERIES[0], rank, f"{host}.example") for rank, host in enumerate(hosts, 1)]
    assert chosen(choose(*hits, max_results=2)) == ["high-1", "high-journal"]
    assert chosen(choose(*hits, max_results=1, prefer_primary=True)) == ["high-journal"]
    assert chosen(choose(*hits[::2], max_results=1, prefer_primary=True)) == ["high-1"]


def test_sources_below_the_minimum_are_read_only_to_meet_the_guarantee() -> None:
    hits = [row_of(QUERIES[0], rank, f"low-{rank}.example") for rank in range(1, 7)]
    assert chosen(choose(*hits, max_results=4)) == ["low-1", "low-2"]
    assert chosen(choose(*hits, max_results=1)) == ["low-1"]
    good = row_of(QUERIES[0], 9, "high-1.example")
    assert chosen(choose(*hits, good, max_results=4)) == ["high-1", "low-1"]
    assert chosen(choose(*hits, good, max_results=3)) == ["high-1"]


def test_a_url_is_read_once_per_claim_and_leaves_room_for_another() -> None:
    shared = [row_of(query, 1, "high-1.example") for query in QUERIES]
    others = [row_of(query, 2, f"high-{place}.example") for place, query in enumerate(QUERIES, 2)]
    selection = choose(*shared, *others, max_results=1)
    assert chosen(selection) == ["high-1", "high-3", "high-4"]
    assert selection.chosen[0].query == QUERIES[0]
    assert [each.hit.domain for each, _ in selection.skipped] == ["high-2.example"]


@pytest.mark.parametrize(
    ("hit", "reason"),
    [
        (row_of(QUERIES[0], 1, "youtube.com", "watch?v=dQw4w9WgXcQ"), "the video itself"),
        (row_of(QUERIES[0], 1, "youtu.be", "dQw4w9WgXcQ?t=3"), "the video itself"),
        (row_of(QUERIES[0], 1, "scripts.example", "t/dQw4w9WgXcQ"), "the video itself"),
        (
            row_of(QUERIES[0], 1, "vimeo.com", "123456789", title="TEN BELIEFS - YouTube"),
            "a re-upload",
        ),
        (row_of(QUERIES[0], 1, "a.example", "files/table.XLSX"), "type xlsx"),
        (row_of(QUERIES[0], 1, "a.example", "clip.mp4"), "type mp4"),
        (row_of(QUERIES[0], 1, "a.example", published_on=date(2021, 1, 1)), "published on"),
    ],
)
def test_an_unusable_hit_is_skipped_with_a_reason(hit: SearchHit, reason: str) -> None:
    selection = choose(hit, published_before=date(2021, 1, 1))
    assert not selection.chosen
    assert reason in selection.skipped[0][1]


def test_kinds_of_sources_are_left_out_by_their_ratings() -> None:
    hit = row_of(QUERIES[0], 1, "unknown-1.example")
    assert chosen(choose(hit, exclude_kinds="academic")) == ["unknown-1"]
    ((_, reason),) = choose(hit, exclude_kinds="unknown").skipped
    assert reason == "The run leaves out sources of the kind unknown."


@pytest.mark.parametrize(
    ("options", "own", "found_as_of", "stays"),
    [
        ({"undated": "drop", "published_before": "2021-01-01"}, None, None, False),
        ({"undated": "keep", "published_before": "2021-01-01"}, None, None, True),
        ({"undated": "drop"}, None, None, True),
        ({"undated": "drop", "published_before": "2021-01-01"}, date(2020, 1, 1), None, True),
        ({"undated": "drop", "published_before": "2021-01-01"}, None, date(2020, 1, 1), True),
        ({"published_before": "2021-01-01"}, None, date(2022, 1, 1), False),
        ({"published_before": "2021-01-01"}, date(2020, 1, 1), date(2022, 1, 1), True),
    ],
)
def test_undated_pages_stay_or_go_with_a_date_limit(
    options: dict[str, str], own: date | None, found_as_of: date | None, stays: bool
) -> None:
    page = Page(
        page_id="p",
        video_id="v",
        canonical_url="https://a.example/p",
        domain="a.example",
        status="no_evidence",
        published_on=own,
        retrieved_at=datetime(2022, 1, 1, tzinfo=UTC),
    )
    config = SearchConfig.model_validate(options)
    said = late_exclusion(VIDEO, page, config, found_as_of=found_as_of)
    assert (said is None) == stays


@pytest.mark.parametrize(
    "hit",
    [
        row_of(QUERIES[0], 1, "youtube.com", "watch?v=aaaaaaaaaaa", title="Another talk"),
        row_of(QUERIES[0], 1, "news.example", title="Ten beliefs"),
        row_of(QUERIES[0], 1, "a.example", "paper.pdf"),
        row_of(QUERIES[0], 1, "a.example", published_on=date(2020, 12, 31)),
        row_of(QUERIES[0], 1, "a.example", published_on=None),
    ],
)
def test_similar_pages_are_read(hit: SearchHit) -> None:
    assert choose(hit, published_before=date(2021, 1, 1)).chosen


def test_the_video_s_own_url_on_any_site_is_the_video_itself() -> None:
    video = Video(video_id="talk", title="", url="http://www.talks.example/v/7/")
    assert not choose(row_of(QUERIES[0], 1, "talks.example", "v/7"), video=video).chosen


hit_lists = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.integers(1, 9),
        st.sampled_from(["high", "medium", "unknown", "low", "very_low"]),
        st.integers(0, 5),
    ),
    max_size=25,
)
minimums: st.SearchStrategy[Rating] = st.sampled_from(["medium", "unknown", "low"])


@given(hit_lists, st.integers(1, 4), minimums)
def test_every_url_found_is_either_read_or_skipped(
    drawn: list[tuple[int, int, str, int]], limit: int, minimum: Rating
) -> None:
    unique = {
        (query, host): row_of(QUERIES[query], rank, f"{rating}-{host}.example")
        for query, rank, rating, host in drawn
    }
    hits = list(unique.values())
    selection = choose(*hits, max_results=limit, minimum_rating=minimum)
    read = {each.hit.canonical_url for each in selection.chosen}
    skipped = {each.hit.canonical_url for each, _ in selection.skipped}
    assert read | skipped == {hit.canonical_url for hit in hits}
    assert not read & skipped
    assert len(read) == len(selection.chosen) <= limit * len(QUERIES)


@given(hit_lists, st.integers(1, 4), minimums, st.integers(0, 2))
def test_a_query_that_brings_nothing_takes_no_page_from_the_others(
    drawn: list[tuple[int, int, str, int]], limit: int, minimum: Rating, failed: int
) -> None:
    hits = [
        row_of(QUERIES[query], rank, f"{rating}-{host}.example")
        for query, rank, rating, host in drawn
    ]
    left = [hit for hit in hits if hit.query_id != QUERIES[failed].query_id]
    options: dict[str, Any] = {"max_results": limit, "minimum_rating": minimum}
    whole, part = (
        {each.hit.canonical_url for each in choose(*rows, **options).chosen}
        for rows in (hits, left)
    )
    assert part <= whole
