"""The caching clients: which answers they cache, for how long, and that they ask once."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resources.llm.base import BudgetExhaustedError, ModelOutageError, ModelRequest, Part
from resources.llm.limits import Budget, Ceiling
from resources.pages.base import FetchedPage
from resources.promises import Promise
from resources.ratings.base import DomainAge
from resources.search.base import (
    FactCheckAnswer,
    FoundFactCheck,
    FoundHit,
    SearchAnswer,
    SearchRequest,
)
from resources.storage.answers import CachePolicy, DiskCache, from_json, to_json
from resources.storage.archive import Archive, ArchivedWeb
from resources.storage.caching import (
    CachingAges,
    CachingFactChecks,
    CachingFetcher,
    CachingModel,
    CachingSearch,
)
from tests.resources.storage.doubles import (
    FAILED,
    NOON,
    PAID,
    Clock,
    CountingAges,
    CountingFetcher,
    CountingModel,
    CountingSearch,
    Reading,
)

SUGAR = SearchRequest("sugar", limit=10)
HOUR = 3600.0
DAY = 24 * HOUR
FOUND = SearchAnswer(
    "serper",
    "ok",
    (FoundHit(1, "Sugar", "https://a.example/", "No effect.", date(2021, 3, 5)),),
    latency_seconds=0.4,
)
PAGE = FetchedPage(
    url="https://a.example/p#top",
    outcome="ok",
    retrieved_at=NOON,
    final_url="https://a.example/p",
    http_status=200,
    via="scraped",
    title="Sugar",
    published_on=date(2021, 3, 5),
    text="Honey keeps for years. \ud83d\ude00 \U0001d4b3",
    latency_seconds=0.3,
    etag='"v1"',
)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cache(tmp_path: Path, clock: Clock) -> DiskCache:
    return DiskCache(tmp_path / "cache", clock=clock)


def question(user: str = "What?", *, temperature: float = 0.0) -> ModelRequest[Reading]:
    return ModelRequest(
        "You judge.", (Part(user),), Reading, max_tokens=100, temperature=temperature
    )


# --- Searches -----------------------------------------------------------------------------------


@pytest.mark.parametrize("found", [FOUND, replace(FOUND, hits=())])
async def test_a_search_is_sent_once_and_its_cached_answer_takes_no_time(
    cache: DiskCache, found: SearchAnswer
) -> None:
    inner = CountingSearch(lambda: (found,))
    search = CachingSearch(inner, cache, identity="serper")
    first = await search.search(SUGAR)
    again = await search.search(SUGAR)
    assert first == (found,)
    assert again == (replace(found, latency_seconds=0.0),)
    assert len(inner.asked) == 1


@pytest.mark.parametrize(
    "answers",
    [
        (SearchAnswer("serper", "outage", reason="serper: no credits"),),
        (replace(FOUND, reason="serper: the second half is missing"),),
        (FOUND, SearchAnswer("searxng", "outage", reason="searxng: silent")),
        (),
    ],
)
async def test_an_outage_or_a_partial_answer_is_asked_for_again(
    cache: DiskCache, answers: tuple[SearchAnswer, ...]
) -> None:
    inner = CountingSearch(lambda: answers)
    search = CachingSearch(inner, cache, identity="serper")
    for _ in range(2):
        assert await search.search(SUGAR) == answers
    assert len(inner.asked) == 2


async def test_everything_that_changes_the_answer_is_another_question(cache: DiskCache) -> None:
    inner = CountingSearch(lambda: (FOUND,))
    search = CachingSearch(inner, cache, identity="serper")
    other = CachingSearch(inner, cache, identity="serper in German")
    asked = [
        SUGAR,
        SearchRequest("salt", limit=10),
        replace(SUGAR, limit=20),
        replace(SUGAR, page=2),
        replace(SUGAR, before=date(2020, 1, 1)),
        replace(SUGAR, after=date(2020, 1, 1)),
        replace(SUGAR, exclude_domains=("a.example", "b.example")),
        replace(SUGAR, exclude_file_types=("a.example", "b.example")),
        replace(SUGAR, language="en"),
    ]
    for request in asked:
        await search.search(request)
    await other.search(SUGAR)
    assert len(inner.asked) == 10


async def test_a_search_is_asked_again_after_a_day(cache: DiskCache, clock: Clock) -> None:
    inner = CountingSearch(lambda: (FOUND,))
    search = CachingSearch(inner, cache, identity="serper")
    await search.search(SUGAR)
    clock.now += DAY - 1
    await search.search(SUGAR)
    assert len(inner.asked) == 1
    clock.now += 2
    await search.search(SUGAR)
    assert len(inner.asked) == 2
    await search.search(SUGAR)
    assert len(inner.asked) == 2


async def test_an_answer_from_the_future_is_not_trusted(cache: DiskCache, clock: Clock) -> None:
    inner = CountingSearch(lambda: (FOUND,))
    search = CachingSearch(inner, cache, identity="serper")
    await search.search(SUGAR)
    clock.now -= DAY
    await search.search(SUGAR)
    assert len(inner.asked) == 2


async def test_simultaneous_equal_questions_are_sent_and_counted_once(cache: DiskCache) -> None:
    inner = CountingSearch(lambda: (FOUND,), pause=0.05)
    search = CachingSearch(inner, cache, identity="serper")
    found = await asyncio.gather(*(search.search(SUGAR) for _ in range(20)))
    assert len(inner.asked) == 1
    assert {answers[0].hits for answers in found} == {FOUND.hits}
    assert sorted(answers[0].latency_seconds for answers in found) == [*[0.0] * 19, 0.4]


# --- Prior fact checks --------------------------------------------------------------------------


class CountingLane:
    """A lane that answers, or fails as long as it is told to."""

    def __init__(self) -> None:
        self.asked = 0
        self.is_down = False

    async def prior_checks(self, request: SearchRequest) -> FactCheckAnswer:
        self.asked += 1
        if self.is_down:
            return FactCheckAnswer("checkers", "outage", reason="checkers: over quota")
        check = FoundFactCheck(
            request.query, "A post", "False", "Checkers", "https://checkers.example/1"
        )
        return FactCheckAnswer("checkers", "ok", (check,), latency_seconds=0.5)


async def test_a_claim_is_looked_up_once_and_an_outage_again(
    cache: DiskCache, clock: Clock
) -> None:
    inner = CountingLane()
    lane = CachingFactChecks(inner, cache, identity="checkers")
    inner.is_down = True
    assert [(await lane.prior_checks(SUGAR)).outcome for _ in range(2)] == ["outage", "outage"]
    inner.is_down = False
    first, again = await lane.prior_checks(SUGAR), await lane.prior_checks(SUGAR)
    assert inner.asked == 3
    assert again == replace(first, latency_seconds=0.0)
    await lane.prior_checks(replace(SUGAR, language="de"))
    await lane.prior_checks(replace(SUGAR, after=date(2020, 1, 1)))
    await lane.prior_checks(replace(SUGAR, limit=5))
    await CachingFactChecks(inner, cache, identity="others").prior_checks(SUGAR)
    assert inner.asked == 7
    clock.now += 2 * DAY
    await lane.prior_checks(SUGAR)
    assert inner.asked == 8


# --- Pages --------------------------------------------------------------------------------------


async def test_a_kept_page_is_the_page_with_the_time_of_its_retrieval(
    cache: DiskCache, archive: Archive
) -> None:
    page = replace(PAGE, text="Honey keeps for years. \U0001f600")
    inner = CountingFetcher(lambda url, known: page)
    fetcher = CachingFetcher(inner.fetch, cache, archive, identity="plain")
    first = await fetcher.fetch(PAGE.url)
    again = await fetcher.fetch("https://a.example/p#elsewhere")
    assert first == page
    assert again == replace(page, url="https://a.example/p#elsewhere", latency_seconds=0.0)
    assert len(inner.asked) == 1


async def test_an_old_page_is_requested_with_its_validators(
    cache: DiskCache, clock: Clock, archive: Archive
) -> None:
    page = replace(PAGE, text="Honey keeps for years.")
    later = NOON + timedelta(days=2)

    def unchanged(url: str, known: FetchedPage | None) -> FetchedPage:
        if known is None:
            return page
        assert known.text == page.text
        assert known.conditions() == {"If-None-Match": '"v1"'}
        return replace(page, retrieved_at=later, http_status=304)

    inner = CountingFetcher(unchanged)
    fetcher = CachingFetcher(inner.fetch, cache, archive, identity="plain")
    await fetcher.fetch(PAGE.url)
    clock.now += 2 * DAY
    again = await fetcher.fetch(PAGE.url)
    assert again == replace(page, retrieved_at=later), "200, as the page it is"
    clock.now += HOUR
    assert (await fetcher.fetch(PAGE.url)).retrieved_at == later
    assert len(inner.asked) == 2


async def test_an_outage_is_returned_and_the_cached_page_stays(
    cache: DiskCache, clock: Clock, archive: Archive
) -> None:
    page = replace(PAGE, text="Honey keeps for years.")
    inner = CountingFetcher(lambda url, known: page)
    fetcher = CachingFetcher(inner.fetch, cache, archive, identity="plain")
    await fetcher.fetch(PAGE.url)
    clock.now += 2 * DAY
    inner.page = lambda url, known: FetchedPage(url, "outage", NOON, reason="a.example is silent")
    for _ in range(2):
        assert (await fetcher.fetch(PAGE.url)).outcome == "outage"
    inner.page = lambda url, known: page
    assert (await fetcher.fetch(PAGE.url)).outcome == "ok"
    assert [known is not None for known in inner.asked] == [False, True, True, True]


async def test_a_cached_page_that_breaks_its_promise_is_fetched_again(
    cache: DiskCache, archive: Archive
) -> None:
    notice = replace(PAGE, text="We install updates. Be back in a bit.")
    inner = CountingFetcher(lambda url, known: notice)
    fetcher = CachingFetcher(inner.fetch, cache, archive, identity="plain")
    assert (await fetcher.fetch(PAGE.url)).text == notice.text
    told = "Glaciers of the Alps have lost half of their volume since measurements began in 1900."
    promise = Promise("How the glaciers of the Alps melt", told)
    article = replace(
        PAGE,
        retrieved_at=NOON + timedelta(hours=1),
        text=f"{told} The loss has become faster. " * 3,
    )
    inner.page = lambda url, known: article
    for _ in range(2):
        assert (await fetcher.fetch(PAGE.url, promise=promise)).text == article.text
    assert inner.asked == [None, notice]


async def test_a_refused_page_is_requested_again_sooner(
    cache: DiskCache, clock: Clock, archive: Archive
) -> None:
    gone = FetchedPage(PAGE.url, "unavailable", NOON, reason="gone", http_status=404)
    inner = CountingFetcher(lambda url, known: gone)
    fetcher = CachingFetcher(inner.fetch, cache, archive, identity="plain")
    for _ in range(2):
        assert (await fetcher.fetch(PAGE.url)).reason == "gone"
    assert len(inner.asked) == 1
    clock.now += 7 * HOUR
    await fetcher.fetch(PAGE.url)
    assert inner.asked == [None, None]


async def test_a_fetcher_with_other_means_gets_pages_of_its_own(
    cache: DiskCache, archive: Archive
) -> None:
    inner = CountingFetcher(lambda url, known: replace(PAGE, text="x"))
    await CachingFetcher(inner.fetch, cache, archive, identity="plain").fetch(PAGE.url)
    await CachingFetcher(inner.fetch, cache, archive, identity="browser").fetch(PAGE.url)
    assert len(inner.asked) == 2


async def test_a_text_that_json_cannot_hold_is_returned_and_not_cached(
    cache: DiskCache, archive: Archive
) -> None:
    inner = CountingFetcher(lambda url, known: PAGE)
    fetcher = CachingFetcher(inner.fetch, cache, archive, identity="plain")
    for _ in range(2):
        assert (await fetcher.fetch(PAGE.url)).text == PAGE.text
    assert len(inner.asked) == 2


async def test_fetched_pages_are_found_and_read_offline(
    cache: DiskCache, archive: Archive, tmp_path: Path
) -> None:
    url = "https://bees.org/honey"
    page = replace(PAGE, url=url, final_url=url, text="Honey never spoils.")
    fetcher = CachingFetcher(CountingFetcher(lambda *_: page).fetch, cache, archive, identity="a")
    await fetcher.fetch(page.url)
    (answer,) = await ArchivedWeb(archive).search(SearchRequest("does honey spoil", limit=3))
    assert [hit.url for hit in answer.hits] == [page.url]
    stored = await ArchivedWeb(archive).fetch(page.url)
    assert (stored.via, stored.text, stored.retrieved_at) == ("archive", page.text, NOON)
    files = [file.read_bytes() for file in (tmp_path / "cache").iterdir()]
    assert not any(page.text.encode() in file for file in files), "the archive alone has the text"


@pytest.mark.parametrize(
    "later", [{"via": "archive"}, {"text": "\ud800", "retrieved_at": NOON - timedelta(days=1)}]
)
async def test_neither_a_copy_nor_unstorable_text_replaces_what_the_site_sent(
    cache: DiskCache, archive: Archive, later: dict[str, Any]
) -> None:
    archive.add_page(replace(PAGE, text="Honey keeps."), "fetched")
    copy = replace(PAGE, text="Honey.", retrieved_at=NOON + timedelta(days=1))
    inner = CountingFetcher(lambda url, known: replace(copy, **later))
    fetcher = CachingFetcher(inner.fetch, cache, archive, identity="plain")
    first, second = [await fetcher.fetch(PAGE.url) for _ in range(2)]
    assert (first.outcome, second.text) == ("ok", first.text)
    assert len(inner.asked) == 1, "the cache has the text that the archive did not take"
    stored = archive.page(PAGE.url, ["fetched"])
    assert stored is not None
    assert stored.text == "Honey keeps."


async def test_a_page_whose_text_left_the_archive_is_fetched_again(
    cache: DiskCache, archive: Archive
) -> None:
    inner = CountingFetcher(lambda url, known: replace(PAGE, text="Honey."))
    fetcher = CachingFetcher(inner.fetch, cache, archive, identity="plain")
    await fetcher.fetch(PAGE.url)
    assert archive.remove(["https://a.example/p"], "fetched") == 1
    assert (await fetcher.fetch(PAGE.url)).text == "Honey."
    assert inner.asked == [None, None]


async def test_a_page_that_cannot_be_archived_is_not_lost(
    cache: DiskCache, archive: Archive
) -> None:
    archive.path.write_bytes(b"no database " * 500)
    inner = CountingFetcher(lambda url, known: replace(PAGE, text="Honey."))
    fetcher = CachingFetcher(inner.fetch, cache, archive, identity="plain")
    assert (await fetcher.fetch(PAGE.url)).text == "Honey."


_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=50)


@given(
    text=_TEXTS,
    title=st.none() | _TEXTS,
    published_on=st.none() | st.dates(),
    retrieved_at=st.datetimes(timezones=st.just(UTC)),
    latency=st.floats(0, 1e6),
)
def test_a_page_round_trips_through_json(
    text: str, title: str | None, published_on: date | None, retrieved_at: datetime, latency: float
) -> None:
    page = FetchedPage(
        url="https://a.example/",
        outcome="ok",
        retrieved_at=retrieved_at,
        title=title,
        text=text,
        published_on=published_on,
        latency_seconds=latency,
    )
    assert from_json(FetchedPage, json.loads(json.dumps(to_json(FetchedPage, page)))) == page


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=8,
    )
)
def test_any_json_is_read_as_a_page_or_none(written: object) -> None:
    assert from_json(FetchedPage, written) is None


# --- Models -------------------------------------------------------------------------------------


async def test_a_cached_answer_reports_its_calls_as_cache_hits(cache: DiskCache) -> None:
    inner = CountingModel(lambda budget: Reading(stance="refutes", score=0.5))
    model = CachingModel(inner, cache)
    first = await model.complete(question())
    again = await model.complete(question())
    assert first.value == again.value == Reading(stance="refutes", score=0.5)
    assert [call.cost_usd for call in first.calls] == [0.1, 0.25]
    assert again.calls == (FAILED.as_cache_hit(), PAID.as_cache_hit())
    assert inner.asked == 1


async def test_renewal_ignores_a_cached_answer_and_caches_the_new_one(cache: DiskCache) -> None:
    inner = CountingModel(lambda budget: Reading(stance="refutes", score=0.5))
    await CachingModel(inner, cache).complete(question())
    renewed = await CachingModel(inner, cache, renews=True).complete(question())
    assert (inner.asked, renewed.calls[-1].cache_hit) == (2, False)
    await CachingModel(inner, cache).complete(question())
    assert inner.asked == 2


async def test_another_prompt_setting_or_model_is_another_question(cache: DiskCache) -> None:
    inner = CountingModel(lambda budget: Reading(stance="refutes"))
    model = CachingModel(inner, cache)
    await model.complete(question())
    await model.complete(question("Why?"))
    await model.complete(question(temperature=0.5))
    inner.identity = "openai https://api.example gpt-other"
    await model.complete(question())
    assert inner.asked == 4


def fail(budget: Budget | None) -> Reading:
    raise ModelOutageError("The model is silent.", [PAID])


async def test_an_error_is_never_cached(cache: DiskCache) -> None:
    inner = CountingModel(fail)
    model = CachingModel(inner, cache)
    for _ in range(2):
        with pytest.raises(ModelOutageError, match="silent"):
            await model.complete(question())
    assert inner.asked == 2
    inner.answer = lambda budget: Reading(stance="refutes")
    assert (await model.complete(question())).value.stance == "refutes"


async def test_a_shared_call_is_paid_and_reported_once(cache: DiskCache) -> None:
    inner = CountingModel(lambda budget: Reading(stance="refutes"), pause=0.05)
    model = CachingModel(inner, cache)
    answers = await asyncio.gather(*(model.complete(question()) for _ in range(5)))
    paid = [call.cost_usd for answer in answers for call in answer.calls]
    assert paid == [0.1, 0.25]
    assert inner.asked == 1


async def test_a_shared_failure_reports_its_calls_once(cache: DiskCache) -> None:
    model = CachingModel(CountingModel(fail, pause=0.05), cache)
    errors = await asyncio.gather(
        *(model.complete(question()) for _ in range(4)), return_exceptions=True
    )
    assert all(isinstance(error, ModelOutageError) for error in errors)
    assert sum(len(error.calls) for error in errors if isinstance(error, ModelOutageError)) == 1


async def test_calls_without_an_answer_are_reported_with_the_next_answer(cache: DiskCache) -> None:
    """As after a kill: nobody was told of the first call, and the second asking makes it good."""
    inner = CountingModel(lambda budget: Reading(stance="refutes"))
    earlier = FAILED.model_copy(update={"request_id": "earlier"})
    inner.spends = [earlier]

    def killed(budget: Budget | None) -> Reading:
        raise asyncio.CancelledError

    inner.answer = killed
    with pytest.raises(asyncio.CancelledError):
        await CachingModel(inner, cache).complete(question())
    inner.answer = lambda budget: Reading(stance="refutes")
    answer = await CachingModel(inner, cache).complete(question())
    restored, *new = answer.calls
    assert restored == earlier.as_cache_hit()
    assert not any(call.cache_hit for call in new)


async def test_each_budget_limits_its_own_questions(cache: DiskCache) -> None:
    poor, rich = Budget("poor", Ceiling()), Budget("rich", Ceiling())

    def answer(budget: Budget | None) -> Reading:
        if budget is poor:
            raise BudgetExhaustedError("The budget of this video is spent.")
        return Reading(stance="refutes")

    inner = CountingModel(answer)
    with pytest.raises(BudgetExhaustedError):
        await CachingModel(inner, cache, poor).complete(question())
    assert (await CachingModel(inner, cache, rich).complete(question())).value.stance == "refutes"
    assert (await CachingModel(inner, cache, poor).complete(question())).value.stance == "refutes"
    assert inner.asked == 2, "what is kept costs no budget anything"


# --- Ages ---------------------------------------------------------------------------------------


async def test_a_domain_grows_older_while_its_age_is_kept(cache: DiskCache, clock: Clock) -> None:
    inner = CountingAges(DomainAge("ok", years=3.0))
    ages = CachingAges(inner.age, cache, identity="whois")
    assert (await ages.age("A.example")).years == 3.0
    clock.now += 0.25 * 365.25 * DAY
    assert (await ages.age("a.example.")).years == pytest.approx(3.25)
    assert inner.asked == 1
    clock.now += 100 * DAY
    await ages.age("a.example")
    assert inner.asked == 2


async def test_an_outage_of_the_registry_is_asked_again_and_an_unknown_age_is_kept(
    cache: DiskCache,
) -> None:
    inner = CountingAges(DomainAge("outage", reason="the registry is silent"))
    ages = CachingAges(inner.age, cache, identity="whois")
    await ages.age("a.example")
    inner.found = DomainAge("unknown", reason="the registry does not say")
    await ages.age("a.example")
    assert (await ages.age("a.example")).outcome == "unknown"
    assert inner.asked == 2


# --- Settings -----------------------------------------------------------------------------------


async def test_an_age_of_zero_keeps_nothing(tmp_path: Path, archive: Archive) -> None:
    never = timedelta(0)
    policy = CachePolicy(search=never, pages=never, unavailable_pages=never, models=never)
    cache = DiskCache(tmp_path, policy)
    search = CountingSearch(lambda: (FOUND,))
    fetcher = CountingFetcher(lambda url, known: replace(PAGE, text="x"))
    model = CountingModel(lambda budget: Reading(stance="refutes"))
    for _ in range(2):
        await CachingSearch(search, cache, identity="a").search(SUGAR)
        await CachingFetcher(fetcher.fetch, cache, archive, identity="a").fetch(PAGE.url)
        await CachingModel(model, cache).complete(question())
    assert (len(search.asked), len(fetcher.asked), model.asked) == (2, 2, 2)
    assert sum(kind.entries for kind in cache.info()) == 0


async def test_a_shorter_age_applies_to_stored_answers(tmp_path: Path, clock: Clock) -> None:
    inner = CountingSearch(lambda: (FOUND,))
    cache = DiskCache(tmp_path, clock=clock)
    await CachingSearch(inner, cache, identity="a").search(SUGAR)
    clock.now += 2 * HOUR
    cache = DiskCache(tmp_path, CachePolicy(search=timedelta(hours=1)), clock=clock)
    await CachingSearch(inner, cache, identity="a").search(SUGAR)
    assert len(inner.asked) == 2
