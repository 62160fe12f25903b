"""How a domain's rating comes about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factible_assets.records.tables import Rating, ReliabilityRating, SearchHit
from factible_assets.stages.reliability import (
    LISTED_SCORES,
    RATING_ORDER,
    RatingBook,
    institution_of,
    rate,
)
from factible_assets.stages.urls import canonical_url, host_of, registrable_domain
from resources.ratings.base import DomainAge, ListedRating
from tests.stages.world import Registry, World, listed


@dataclass(frozen=True)
class Sets:
    """Rating sets in order of precedence: (set, domain, rating)."""

    entries: tuple[tuple[str, str, Rating], ...]

    def lookup(self, domain: str) -> Sequence[ListedRating]:
        return [listed(name, host, rating) for name, host, rating in self.entries if host == domain]


NOTHING = Sets(())


async def rate_domains(
    video_id: str, urls: Sequence[str], sets: Sets, registry: Registry
) -> tuple[ReliabilityRating, ...]:
    """Rate an address like the flow does."""
    book = RatingBook(video_id, sets, registry)
    await book.look_up_ages(urls)
    return book.ratings(urls)


def a_hit(url: str) -> SearchHit:
    return SearchHit(
        hit_id=url,
        query_id="q",
        claim_id="c",
        video_id="v",
        provider="engine",
        page=1,
        rank=1,
        title="",
        url=url,
        canonical_url=canonical_url(url),
        domain=registrable_domain(host_of(url)),
        snippet="",
    )


@pytest.mark.parametrize(
    ("rating", "score"), [("high", 0.85), ("medium", 0.60), ("low", 0.30), ("very_low", 0.15)]
)
def test_a_listed_domain_has_its_listed_score(rating: Rating, score: float) -> None:
    row = rate("v", "news.example", Sets((("set", "news.example", rating),)), DomainAge("ok", 50))
    assert (row.rating, row.score, row.datasets, row.listed_as) == (rating, score, ("set",), None)


def test_the_host_s_own_listing_comes_before_its_parent_s() -> None:
    sets = Sets((("set", "news.example", "high"), ("set", "blogs.news.example", "low")))
    assert rate("v", "blogs.news.example", sets).rating == "low"
    parent = rate("v", "sport.news.example", sets)
    assert (parent.rating, parent.listed_as) == ("high", "news.example")


def test_a_platform_s_listing_holds_for_its_tenants() -> None:
    row = rate("v", "name.blogspot.com", Sets((("set", "blogspot.com", "low"),)))
    assert (row.rating, row.listed_as) == ("low", "blogspot.com")


def test_the_first_set_decides_and_conflict_is_recorded() -> None:
    sets = Sets(
        (
            ("first", "a.example", "high"),
            ("second", "a.example", "low"),
            ("third", "a.example", "high"),
        )
    )
    row = rate("v", "a.example", sets)
    assert (row.rating, row.datasets) == ("high", ("first", "second", "third"))
    assert "second (undated) disagrees and says low" in row.reasons[1]
    assert "third (undated) agrees" in row.reasons[2]


def test_every_rating_names_its_sets_and_the_day_that_each_describes() -> None:
    class Dated:
        def lookup(self, domain: str) -> Sequence[ListedRating]:
            first = listed("one", domain, "high", as_of=date(2026, 11, 1))
            return [first, replace(first, dataset="two", rating="low", as_of=date(2025, 12, 7))]

    row = rate("v", "a.example", Dated())
    assert row.datasets == ("one", "two")
    assert row.reasons == (
        "one (2026-11-01) lists a.example as high: Stated by the set.",
        "two (2025-12-07) disagrees and says low: Stated by the set. one comes first and decides.",
    )


@pytest.mark.parametrize(
    "host",
    [
        "nasa.gov",
        "climate.nasa.gov",
        "mit.edu",
        "who.int",
        "army.mil",
        "health.gov.uk",
        "www.gov.uk",
        "ox.ac.uk",
        "england.nhs.uk",
        "mscbs.gob.es",
        "sante.gouv.fr",
        "anu.edu.au",
        "mhlw.go.jp",
        "stats.govt.nz",
        "bmi.gv.at",
        "canada.gc.ca",
        "presidencia.gub.uy",
        "tsinghua.edu.cn",
    ],
)
def test_institutional_names_are_rated_high(host: str) -> None:
    row = rate("v", host, NOTHING, DomainAge("ok", 0.1))
    assert (row.rating, row.score) == ("high", 0.90)


@pytest.mark.parametrize(
    "host",
    [
        "go.com",
        "gov.example",
        "mygov.com",
        "edu.com",
        "comune.go.it",
        "gov.uk.com",
        "int.ru",
        "anybody.edu.pl",
        "anybody.ac.nz",
    ],
)
def test_names_that_only_look_institutional_are_not(host: str) -> None:
    assert institution_of(host) is None


LISTED = Sets(
    (
        ("mine", "github.io", "high"),
        ("mine", "wikipedia.org", "medium"),
        ("mine", "blogs.listed.edu", "high"),
        ("mine", "listed.edu", "high"),
    )
)


def page_rating(url: str) -> ReliabilityRating:
    book = RatingBook("v", LISTED, Registry(World()))
    book.rate([url])
    return book.of(url)


@pytest.mark.parametrize(
    "url",
    [
        "https://anybody.github.io/facts",
        "https://en.wikipedia.org/wiki/User:Anybody",
        "https://de.wikipedia.org/wiki/Benutzer:Anybody/Entwurf",
        "https://en.wikipedia.org/w/index.php?title=Draft:Bats",
        "https://en.wikipedia.org/w/index.php/User:Anybody",
        "https://zh.wikipedia.org/zh-cn/User:Anybody",
        "https://ru.m.wikipedia.org/wiki/%D0%A3%D1%87%D0%B0%D1%81%D1%82%D0%BD%D0%B8%D0%BA:Anybody",
        "https://www.university.edu/~anybody/bats.html",
    ],
)
def test_a_page_of_a_user_does_not_inherit_its_sites_rating(url: str) -> None:
    rating = page_rating(url)
    assert (rating.rating, rating.score, rating.source_class) == ("unknown", 0.50, "unknown")
    assert any(reason.startswith("Anybody may publish there: ") for reason in rating.reasons)


@pytest.mark.parametrize(
    "url",
    [
        "https://github.io/",
        "https://en.wikipedia.org/wiki/Bat",
        "https://en.wikipedia.org/wiki/2001:_A_Space_Odyssey",
        "https://en.wikipedia.org/wiki/3:10_to_Yuma",
        "https://en.wikipedia.org/w/index.php?title=Avatar:+The+Way+of+Water",
        "https://zh.wikipedia.org/zh-cn/Bat?from=https://bats.example",
        "https://www.university.edu/news/bats",
        "https://blogs.listed.edu/bats",
        "https://tax.service.gov.uk/rates",
    ],
)
def test_the_institution_s_own_pages_keep_its_rating(url: str) -> None:
    assert page_rating(url).rating in {"high", "medium"}


def test_a_place_inherits_a_rating_below_unknown() -> None:
    book = RatingBook("v", Sets((("mine", "archive.org", "low"),)), Registry(World()))
    book.rate(["https://archive.org/details/x"])
    assert book.of("https://archive.org/details/x").rating == "low"


def test_a_listing_comes_before_the_institutional_suffix() -> None:
    assert rate("v", "odd.gov", Sets((("set", "odd.gov", "low"),))).rating == "low"


@pytest.mark.parametrize(
    ("years", "score"), [(30, 0.55), (10, 0.55), (9.9, 0.5), (1, 0.5), (0.5, 0.35), (None, 0.5)]
)
def test_age_moves_an_unlisted_domain_s_score(years: float | None, score: float) -> None:
    age = DomainAge("ok", years) if years is not None else DomainAge("unknown")
    assert rate("v", "a.example", NOTHING, age).score == pytest.approx(score)


@given(st.floats(0, 200))
def test_age_alone_never_makes_a_domain_better_than_unknown(years: float) -> None:
    row = rate("v", "a.example", NOTHING, DomainAge("ok", years))
    assert row.rating == "unknown"
    assert LISTED_SCORES["low"] < row.score < LISTED_SCORES["medium"]


def test_a_registry_that_fails_is_recorded_and_changes_no_rating() -> None:
    row = rate("v", "a.example", NOTHING, DomainAge("outage", reason="timed out"))
    assert (row.status, row.rating, row.score) == ("infra_error", "unknown", 0.5)
    assert any("timed out" in reason for reason in row.reasons)


def test_ratings_from_best_to_worst_are_in_the_order_of_their_scores() -> None:
    by_order = sorted(RATING_ORDER, key=lambda rating: RATING_ORDER[rating])
    assert by_order == sorted(LISTED_SCORES, key=lambda rating: LISTED_SCORES[rating])


async def test_each_registered_domain_is_asked_for_its_age_once() -> None:
    world = World(delays={"age": 0.005})
    urls = [f"https://{host}.example/{path}" for host in ("a", "x.a", "b") for path in "12"]
    rows = await rate_domains("v", urls, NOTHING, Registry(world))
    assert [row.domain for row in rows] == ["a.example", "b.example"]
    assert set(world.asked.values()) == {1}


async def test_listed_and_institutional_domains_are_not_asked_for_their_age() -> None:
    world = World()
    urls = ["https://news.example/", "https://nasa.gov/"]
    await rate_domains("v", urls, Sets((("set", "news.example", "high"),)), Registry(world))
    assert not world.asked


async def test_a_hit_has_its_host_s_rating_if_that_is_listed_by_itself() -> None:
    sets = Sets((("set", "news.example", "high"), ("set", "blogs.news.example", "low")))
    book = RatingBook("v", sets, Registry(World()))
    blog, news = "https://www.blogs.news.example/a", "https://news.example/b"
    await book.look_up_ages([blog, news])
    assert (book.of(blog).rating, book.of(news).rating) == ("low", "high")
    assert [row.domain for row in book.ratings([blog])] == ["blogs.news.example", "news.example"]


async def test_known_ratings_are_not_made_again() -> None:
    world = World(years={"a.example": 20})
    url = "https://a.example/"
    first = await rate_domains("v", [url], NOTHING, Registry(world))
    book = RatingBook("v", NOTHING, Registry(world), first)
    await book.look_up_ages([url])
    assert book.of(url) == first[0]
    assert sum(world.asked.values()) == 1
