"""Clients that cache their answers: searches, pages, domain ages, fact-checks and models.

A client's identity is everything that changes its answers, such as its address; never a key. If
several callers ask the same question at once, the client gets it once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from http import HTTPStatus
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from resources.llm import base
from resources.llm.limits import Budget
from resources.pages.base import FetchedPage
from resources.promises import Promise, broken
from resources.ratings.base import DomainAge
from resources.search.base import (
    FactCheckAnswer,
    FactCheckLookup,
    SearchAnswer,
    SearchProvider,
    SearchRequest,
)
from resources.single_flight import SingleFlight
from resources.storage.answers import DiskCache, Json, Kind, cache_key, from_json, to_json

if TYPE_CHECKING:  # loads clients that the callers have loaded
    from resources.llm.structured import StructuredModel

# Raise a version if the same question would now get another answer.
_SEARCH_VERSION = 3
_PAGES_VERSION = 4
_AGES_VERSION = 2
_MODELS_VERSION = 2
_READERS = ("trafilatura", "htmldate", "pypdf")
"""Libraries whose versions change the text of a page."""
_YEAR = timedelta(days=365.25)

Value = TypeVar("Value")
_Calls = tuple[base.ModelCall, ...]


@dataclass
class _Answers(Generic[Value]):
    """The cached answers of one client."""

    cache: DiskCache
    kind: Kind
    shape: type[Value]
    identity: Sequence[Json]
    """The version, and everything about the client that changes its answers."""
    fresh_for: Callable[[Value], timedelta | None]
    """How long the cache returns an answer; None: it does not store the answer."""
    after: Callable[[Value, timedelta], Value] = lambda value, _: _at_once(value)
    """Returns a stored answer as it is after some time."""
    kept_for: Callable[[Value], timedelta] = lambda _: timedelta(0)
    """How long an answer stays for a conditional request, if longer."""
    flight: SingleFlight[Value] = field(default_factory=lambda: SingleFlight(kept=False))
    unclaimed: set[str] = field(default_factory=set)
    """Keys of answers that no caller has received yet."""

    async def ask(
        self,
        question: Json,
        work: Callable[[Value | None], Awaitable[Value]],
        *,
        suits: Callable[[Value], bool] = lambda _: True,
    ) -> tuple[Value, bool]:
        """Return the answer to a question, and whether this caller is the first to receive it.

        `work` asks the client. It gets the stored answer, if there is one that is too old or does
        not suit.
        """
        key = cache_key(self.kind, *self.identity, question)

        async def answer() -> Value:
            self.unclaimed.add(key)
            old = await self.cache.get(self.kind, key)
            known = from_json(self.shape, old.value) if old is not None else None
            if old is not None and known is not None:
                limit = self.fresh_for(known) or timedelta(0)
                # Renewing a run does not ask for the ages of domains again.
                is_new = self.kind == "ages" or old.stored_at >= self.cache.renewed_at
                if is_new and self.cache.is_fresh(old, limit) and suits(known):
                    return self.after(known, self.cache.age(old))
            found = await work(known)
            fresh = self.fresh_for(found)
            written = to_json(self.shape, found) if fresh else None
            if fresh and written is not None:
                keep = max(fresh, self.kept_for(found))
                await self.cache.put(self.kind, key, written, keep=keep)
            return found

        found = await self.flight.get(key, answer)
        first = key in self.unclaimed
        self.unclaimed.discard(key)
        return found, first


class CachingSearch:
    """Caches complete answers, but neither outages nor partial answers.

    Wrap each provider of a merged search separately, so that one provider's outage does not renew
    the others.
    """

    def __init__(self, provider: SearchProvider, cache: DiskCache, *, identity: str) -> None:
        def is_whole(answers: tuple[SearchAnswer, ...]) -> bool:
            return bool(answers) and all(
                answer.outcome == "ok" and answer.reason is None for answer in answers
            )

        self._provider = provider
        self._answers = _Answers[tuple[SearchAnswer, ...]](
            cache,
            "search",
            tuple[SearchAnswer, ...],
            [_SEARCH_VERSION, identity],
            fresh_for=lambda answers: cache.policy.search if is_whole(answers) else None,
        )

    async def search(self, request: SearchRequest) -> Sequence[SearchAnswer]:
        """Request one page of results; see SearchProvider.search. A cached answer takes no time."""

        async def work(_: object) -> tuple[SearchAnswer, ...]:
            return tuple(await self._provider.search(request))

        answers, first = await self._answers.ask(_written(request), work)
        # Only one caller sent the request, and only that one counts it.
        return answers if first else tuple(map(_at_once, answers))


class CachingFactChecks:
    """Caches the answers of a lane of prior fact-checks, without outages."""

    def __init__(self, lane: FactCheckLookup, cache: DiskCache, *, identity: str) -> None:
        self._lane = lane
        self._answers = _Answers[FactCheckAnswer](
            cache,
            "search",
            FactCheckAnswer,
            [_SEARCH_VERSION, "fact checks", identity],
            fresh_for=lambda answer: cache.policy.search if answer.outcome == "ok" else None,
        )

    async def prior_checks(self, request: SearchRequest) -> FactCheckAnswer:
        """Look a claim up; see FactCheckLookup.prior_checks. A cached answer takes 0 seconds."""
        asked = _written(request)
        return (await self._answers.ask(asked, lambda _: self._lane.prior_checks(request)))[0]


def _at_once(answer: Any) -> Any:
    """Return an answer, or several, with a latency of 0."""
    if isinstance(answer, tuple):
        return tuple(map(_at_once, answer))
    return replace(answer, latency_seconds=0.0)


def _written(request: SearchRequest) -> Json:
    """Return a request as JSON; the order of exclusions does not count."""
    domains, kinds = sorted(request.exclude_domains), sorted(request.exclude_file_types)
    asked = replace(request, exclude_domains=domains, exclude_file_types=kinds)
    return to_json(SearchRequest, asked)


class ConditionalFetch(Protocol):
    """A function that fetches a page."""

    async def __call__(
        self, url: str, known: FetchedPage | None = None, *, promise: Promise | None = None
    ) -> FetchedPage:
        """Fetch a page; see resources.pages.scraper.PageSource.fetch."""


class CachingFetcher:
    """Caches pages with their text, and refusals for a shorter time, but no outages.

    A cached page has its time of retrieval and a latency of 0. A request for an old page carries
    its validators; if the site answers "not modified", the text stays and the time is the new one.
    A cached page that breaks the promise of the search counts as missing.
    """

    def __init__(self, fetch: ConditionalFetch, cache: DiskCache, *, identity: str) -> None:
        policy = cache.policy
        soon = policy.unavailable_pages
        limits = {"ok": policy.pages, "absent": soon, "unavailable": soon}
        self._fetch = fetch
        self._answers = _Answers[FetchedPage](
            cache,
            "pages",
            FetchedPage,
            [_PAGES_VERSION, identity, [[name, version(name)] for name in _READERS]],
            fresh_for=lambda page: limits.get(page.outcome),
            kept_for=lambda page: policy.kept_pages if page.outcome == "ok" else timedelta(0),
        )

    async def fetch(self, url: str, *, promise: Promise | None = None) -> FetchedPage:
        """Fetch one page. A failure is an outcome of the page and does not raise."""

        def suits(page: FetchedPage) -> bool:
            return promise is None or page.outcome != "ok" or broken(promise, page) is None

        async def work(old: FetchedPage | None) -> FetchedPage:
            known = old if old is not None and old.outcome == "ok" else None
            page = await self._fetch(url, known, promise=promise)
            if old is not None and page.http_status == HTTPStatus.NOT_MODIFIED:
                page = replace(page, http_status=old.http_status)
            return page

        page, _ = await self._answers.ask(url.partition("#")[0], work, suits=suits)
        return replace(page, url=url)


class CachingAges:
    """Caches the ages of domains, and unknown ages for a shorter time. Cached ages grow.

    `find` returns a domain's age, and never raises.
    """

    def __init__(
        self, find: Callable[[str], Awaitable[DomainAge]], cache: DiskCache, *, identity: str
    ) -> None:
        limits = {"ok": cache.policy.ages, "unknown": cache.policy.unknown_ages}
        self._find = find
        self._answers = _Answers[DomainAge](
            cache,
            "ages",
            DomainAge,
            [_AGES_VERSION, identity],
            fresh_for=lambda found: limits.get(found.outcome),
            after=lambda found, age: (
                found if found.years is None else replace(found, years=found.years + age / _YEAR)
            ),
        )

    async def age(self, domain: str) -> DomainAge:
        """Return a domain's age in years. Never raises."""
        name = domain.lower().rstrip(".")
        return (await self._answers.ask(name, lambda _: self._find(domain)))[0]


class CachingModel:
    """A `LanguageModel` that caches the answers of another one, and no errors.

    A cached answer includes the calls that led to it, with their tokens and cost, marked as cache
    hits. So if a run is killed before it records its calls, the next run records them. This holds
    for calls without an answer too, and, with estimated tokens, for calls in flight. If several
    callers ask the same question at once, only one gets the calls: each call is paid and reported
    once. `budget` limits new questions; with `renews`, no cached answer is used. The owner of the
    cache closes it.
    """

    def __init__(
        self,
        model: StructuredModel,
        cache: DiskCache,
        budget: Budget | None = None,
        *,
        renews: bool = False,
    ) -> None:
        self._model = model
        self._cache = cache
        self._budget = budget
        self._renews = renews
        self._flight: SingleFlight[base.ModelAnswer[Any]] = SingleFlight(kept=False)
        self._unreported: dict[str, _Calls] = {}
        """Unreported calls of answers and errors, by the question's key."""

    async def complete(
        self, request: base.ModelRequest[base.Answer]
    ) -> base.ModelAnswer[base.Answer]:
        """Return the cached answer, or ask the model. Raises like `LanguageModel.complete`."""
        key = self._key(request)
        try:
            answer = await self._flight.get(key, partial(self._answer, key, request))
        except base.ModelError as error:
            calls = self._unreported.pop(key, ())
            raise type(error)(error.reason, calls, lasting=error.lasting) from error
        return replace(answer, calls=self._unreported.pop(key, ()))

    async def recall(self, request: base.ModelRequest[base.Answer]) -> base.Answer | None:
        """Return the cached answer to a question, None if there is none or with `renews`."""
        if self._renews:
            return None
        kept = await self._cache.get("models", self._key(request))
        if kept is None or not self._cache.is_fresh(kept, self._cache.policy.models):
            return None
        known = kept.value if isinstance(kept.value, dict) else {}
        return from_json(request.output_type, known.get("answer"))

    async def remember(self, request: base.ModelRequest[base.Answer], value: base.Answer) -> None:
        """Cache an answer that was a part of the answer to another question."""
        await self._store(self._key(request), to_json(request.output_type, value), ())

    def _key(self, request: base.ModelRequest[Any]) -> str:
        return cache_key("models", _MODELS_VERSION, self._model.identity, request.fingerprint)

    async def _answer(
        self, key: str, request: base.ModelRequest[base.Answer]
    ) -> base.ModelAnswer[base.Answer]:
        kept = await self._cache.get("models", key)
        is_fresh = kept is not None and self._cache.is_fresh(kept, self._cache.policy.models)
        found = kept.value if kept is not None and is_fresh else None
        known = found if isinstance(found, dict) else {}
        calls = from_json(_Calls, known.get("calls")) or ()
        restored = tuple(call.as_cache_hit() for call in calls)
        if known.get("answer") is not None and not self._renews:
            value = from_json(request.output_type, known["answer"])
            if value is not None:
                self._unreported[key] = restored
                return base.ModelAnswer(value)
        made: dict[str | None, base.ModelCall] = {}

        async def on_call(call: base.ModelCall) -> None:
            made[call.request_id] = call
            if not (call.input_tokens or call.output_tokens):
                del made[call.request_id]  # the provider refused it, and it cost nothing
            await self._store(key, None, (*calls, *made.values()))

        try:
            answer = await self._model.complete(request, budget=self._budget, on_call=on_call)
        except base.ModelError as error:
            restored = _beside(error.calls, restored)
            if restored and not isinstance(error, base.BudgetExhaustedError):
                # The caller records the restored calls with this error. The new ones stay here, in
                # case the run is killed first.
                await self._store(key, None, tuple(made.values()))
            self._unreported[key] = (*restored, *error.calls)
            raise
        self._unreported[key] = (*_beside(answer.calls, restored), *answer.calls)
        await self._store(key, to_json(request.output_type, answer.value), self._unreported[key])
        return answer

    async def _store(self, key: str, value: Any, calls: _Calls) -> None:
        written = to_json(_Calls, calls)
        if written is not None:
            keep = self._cache.policy.models
            await self._cache.put("models", key, {"answer": value, "calls": written}, keep=keep)


def _beside(new: _Calls, restored: _Calls) -> _Calls:
    """Return the restored calls without those that the new calls report again.

    The next run goes on waiting for a batch that was in flight, and reports its end.
    """
    reported = {call.request_id for call in new}
    return tuple(call for call in restored if call.request_id not in reported)
