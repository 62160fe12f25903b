"""Wraps clients in a cache of their answers: searches, pages, domain ages, fact checks and models.

A client's identity is everything that changes its answers, such as its address; never a key. If
several callers ask the same question at once, the client gets it once.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from http import HTTPStatus
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from resources.llm import base
from resources.llm.limits import Budget
from resources.pages.base import FetchedPage
from resources.promises import Promise, breach_of
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
from resources.storage.archive import FETCHED, Archive
from resources.storage.imports import ArchiveError

if TYPE_CHECKING:  # loads clients that the callers have loaded
    from resources.llm.structured import StructuredModel

# Raise a version if the same question would now get another answer.
_SEARCH_VERSION = 3
_PAGES_VERSION = 6
_AGES_VERSION = 2
_MODELS_VERSION = 2
_READERS = ("trafilatura", "htmldate", "pypdf")
"""Libraries whose versions change the text of a page."""
_DIGEST = re.compile(r"[0-9a-f]{64}")
_YEAR = timedelta(days=365.25)
_LOG = logging.getLogger(__name__)

Value = TypeVar("Value")
_Calls = tuple[base.ModelCall, ...]


class _CachingClient(Generic[Value]):
    """The base of the caches. `kind` is the cache's part, `shape` the type of the answers."""

    def __init__(
        self, cache: DiskCache, kind: Kind, shape: type[Value], identity: Sequence[Json]
    ) -> None:
        self._cache = cache
        self._kind = kind
        self._shape = shape
        self._identity = identity
        self._flight: SingleFlight[Value] = SingleFlight(kept=False)
        self._unreceived: set[str] = set()
        """Keys of answers that no caller has received yet."""

    def _fresh_for(self, answer: Value) -> timedelta | None:
        """Return how long the cache returns an answer; None: it does not store the answer."""
        raise NotImplementedError

    def _kept_for(self, answer: Value) -> timedelta:
        """Return how long an answer stays for a conditional request, if longer."""
        del answer
        return timedelta(0)

    def _after(self, stored: Value, age: timedelta) -> Value:
        """Return a stored answer as it is after some time."""
        del age
        at_once: Value = _at_once(stored)
        return at_once

    def _read(self, written: Json) -> Value | None:
        return from_json(self._shape, written)

    def _write(self, answer: Value) -> Json | None:
        return to_json(self._shape, answer)

    async def _ask(
        self,
        question: Json,
        ask_client: Callable[[Value | None], Awaitable[Value]],
        *,
        suits: Callable[[Value], bool] = lambda _: True,
    ) -> tuple[Value, bool]:
        """Return the answer to a question, and whether this caller is the first to receive it.

        `ask_client` gets the stored answer, if there is one that is too old or does not suit.
        """
        key = cache_key(self._kind, *self._identity, question)
        answer = await self._flight.get(key, partial(self._answer, key, ask_client, suits))
        is_first = key in self._unreceived
        self._unreceived.discard(key)
        return answer, is_first

    async def _answer(
        self,
        key: str,
        ask_client: Callable[[Value | None], Awaitable[Value]],
        suits: Callable[[Value], bool],
    ) -> Value:
        """Return the stored answer if it is fresh and suits; else ask the client, and store."""
        self._unreceived.add(key)
        entry = await self._cache.get(key)
        stored = await asyncio.to_thread(self._read, entry.value) if entry is not None else None
        if entry is not None and stored is not None:
            limit = self._fresh_for(stored) or timedelta(0)
            # A renewed run does not ask for the ages of domains again.
            is_current = self._kind == "ages" or entry.stored_at >= self._cache.renewed_at
            if is_current and self._cache.is_fresh(entry, limit) and suits(stored):
                return self._after(stored, self._cache.age(entry))
        answer = await ask_client(stored)
        fresh = self._fresh_for(answer)
        written = await asyncio.to_thread(self._write, answer)
        if fresh and written is not None:
            keep = max(fresh, self._kept_for(answer))
            await self._cache.put(self._kind, key, written, keep=keep)
        return answer


class CachingSearch(_CachingClient[tuple[SearchAnswer, ...]]):
    """Caches complete answers, but neither outages nor partial answers.

    Wrap each provider of a merged search separately, so that one provider's outage does not renew
    the others.
    """

    def __init__(self, provider: SearchProvider, cache: DiskCache, *, identity: str) -> None:
        super().__init__(cache, "search", tuple[SearchAnswer, ...], [_SEARCH_VERSION, identity])
        self._provider = provider

    async def search(self, request: SearchRequest) -> Sequence[SearchAnswer]:
        """Request one page of results; see SearchProvider.search. A cached answer takes no time."""

        async def ask_provider(_: object) -> tuple[SearchAnswer, ...]:
            return tuple(await self._provider.search(request))

        answers, is_first = await self._ask(to_json(SearchRequest, request), ask_provider)
        # Only one caller sent the request, and only that one counts it.
        return answers if is_first else tuple(map(_at_once, answers))

    def _fresh_for(self, answer: tuple[SearchAnswer, ...]) -> timedelta | None:
        is_whole = answer and all(part.outcome == "ok" and part.reason is None for part in answer)
        return self._cache.policy.search if is_whole else None


class CachingFactChecks(_CachingClient[FactCheckAnswer]):
    """Caches the answers of a search for prior fact checks, without outages."""

    def __init__(self, lookup: FactCheckLookup, cache: DiskCache, *, identity: str) -> None:
        identities = [_SEARCH_VERSION, "fact checks", identity]
        super().__init__(cache, "search", FactCheckAnswer, identities)
        self._lookup = lookup

    async def prior_checks(self, request: SearchRequest) -> FactCheckAnswer:
        """Look a claim up; see FactCheckLookup.prior_checks. A cached answer takes 0 seconds."""
        question = to_json(SearchRequest, request)
        return (await self._ask(question, lambda _: self._lookup.prior_checks(request)))[0]

    def _fresh_for(self, answer: FactCheckAnswer) -> timedelta | None:
        return self._cache.policy.search if answer.outcome == "ok" else None


def _at_once(answer: Any) -> Any:
    """Return an answer, or several, with a latency of 0."""
    if isinstance(answer, tuple):
        return tuple(map(_at_once, answer))
    return replace(answer, latency_seconds=0.0)


ConditionalFetch: TypeAlias = Callable[..., Awaitable[FetchedPage]]
"""Fetches a page like resources.pages.scraper.PageSource.fetch."""


class CachingFetcher(_CachingClient[FetchedPage]):
    """Caches pages, and refusals for a shorter time, but no outages.

    Every page goes into the archive, for later checks without a network; the cache has the hash of
    its text, or the text if the archive keeps another one. A cached page is fetched again if its
    text left the archive, or if it breaks the promise of the search. It has its time of retrieval
    and a latency of 0. A request for an old page carries its validators; if the site answers "not
    modified", the text stays and the time is the new one.
    """

    def __init__(
        self, fetch: ConditionalFetch, cache: DiskCache, archive: Archive, *, identity: str
    ) -> None:
        readers = [[name, version(name)] for name in _READERS]
        super().__init__(cache, "pages", FetchedPage, [_PAGES_VERSION, identity, readers])
        self._fetch = fetch
        self._archive = archive

    async def fetch(self, url: str, *, promise: Promise | None = None) -> FetchedPage:
        """Fetch one page. A failure is an outcome of the page and does not raise."""
        fetch = partial(self._fetch_or_confirm, url, promise)
        page, _ = await self._ask(url.partition("#")[0], fetch, suits=partial(_keeps, promise))
        return replace(page, url=url)

    async def _fetch_or_confirm(
        self, url: str, promise: Promise | None, old: FetchedPage | None
    ) -> FetchedPage:
        stored = old if old is not None and old.outcome == "ok" else None
        page = await self._fetch(url, stored, promise=promise)
        if old is not None and page.http_status == HTTPStatus.NOT_MODIFIED:
            page = replace(page, http_status=old.http_status)
        return page

    def _fresh_for(self, answer: FetchedPage) -> timedelta | None:
        if answer.outcome in {"absent", "unavailable"}:
            return self._cache.policy.unavailable_pages
        return self._cache.policy.pages if answer.outcome == "ok" else None

    def _kept_for(self, answer: FetchedPage) -> timedelta:
        return self._cache.policy.kept_pages if answer.outcome == "ok" else timedelta(0)

    def _read(self, written: Json) -> FetchedPage | None:
        page = super()._read(written)
        if page is None or _DIGEST.fullmatch(page.text) is None:
            return page
        with suppress(ArchiveError):
            text = self._archived_text(page.url)
            return replace(page, text=text) if _digest(text) == page.text else None
        return None

    def _write(self, answer: FetchedPage) -> Json | None:
        if answer.outcome != "ok":
            return super()._write(answer)
        try:
            # A copy at the Wayback Machine may be older than a text that the site itself sent.
            if answer.via != "archive" or not self._archived_text(answer.url):
                self._archive.add_page(answer, FETCHED)
            is_archived = self._archived_text(answer.url) == answer.text
        except ArchiveError as error:
            _LOG.warning("A page was fetched and not archived: %s", error)
            return None
        text = _digest(answer.text) if is_archived else answer.text
        return super()._write(replace(answer, text=text))

    def _archived_text(self, url: str) -> str:
        page = self._archive.page(url, [FETCHED])
        return "" if page is None else page.text


def _keeps(promise: Promise | None, page: FetchedPage) -> bool:
    return promise is None or page.outcome != "ok" or breach_of(promise, page) is None


def _digest(text: str) -> str:
    # A page may have lone surrogates; the archive takes none.
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


class CachingAges(_CachingClient[DomainAge]):
    """Caches the ages of domains, and unknown ages for a shorter time. Cached ages grow.

    `find` returns a domain's age, and never raises.
    """

    def __init__(
        self, find: Callable[[str], Awaitable[DomainAge]], cache: DiskCache, *, identity: str
    ) -> None:
        super().__init__(cache, "ages", DomainAge, [_AGES_VERSION, identity])
        self._find = find

    async def age(self, domain: str) -> DomainAge:
        """Return a domain's age in years. Never raises."""
        name = domain.lower().rstrip(".")
        return (await self._ask(name, lambda _: self._find(domain)))[0]

    def _fresh_for(self, answer: DomainAge) -> timedelta | None:
        policy = self._cache.policy
        return {"ok": policy.ages, "unknown": policy.unknown_ages}.get(answer.outcome)

    def _after(self, stored: DomainAge, age: timedelta) -> DomainAge:
        return stored if stored.years is None else replace(stored, years=stored.years + age / _YEAR)


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
        stored = await self._stored(self._key(request))
        return from_json(request.output_type, stored.get("answer"))

    async def remember(self, request: base.ModelRequest[base.Answer], value: base.Answer) -> None:
        """Cache an answer that was a part of the answer to another question."""
        await self._store(self._key(request), to_json(request.output_type, value), ())

    def _key(self, request: base.ModelRequest[Any]) -> str:
        return cache_key("models", _MODELS_VERSION, self._model.identity, request.fingerprint)

    async def _stored(self, key: str) -> dict[str, Json]:
        entry = await self._cache.get(key)
        if entry is None or not self._cache.is_fresh(entry, self._cache.policy.models):
            return {}
        return entry.value if isinstance(entry.value, dict) else {}

    async def _answer(
        self, key: str, request: base.ModelRequest[base.Answer]
    ) -> base.ModelAnswer[base.Answer]:
        stored = await self._stored(key)
        earlier = from_json(_Calls, stored.get("calls")) or ()
        restored = tuple(call.as_cache_hit() for call in earlier)
        if stored.get("answer") is not None and not self._renews:
            value = from_json(request.output_type, stored["answer"])
            if value is not None:
                self._unreported[key] = restored
                return base.ModelAnswer(value)
        new: dict[str | None, base.ModelCall] = {}

        async def on_call(call: base.ModelCall) -> None:
            """Store the calls so far, in case the run is killed before it records them."""
            new[call.request_id] = call
            if not (call.input_tokens or call.output_tokens):
                del new[call.request_id]  # the provider refused it, and it cost nothing
            await self._store(key, None, (*earlier, *new.values()))

        try:
            answer = await self._model.complete(request, budget=self._budget, on_call=on_call)
        except base.ModelError as error:
            restored = _without_reported(restored, error.calls)
            if restored and not isinstance(error, base.BudgetExhaustedError):
                # The caller records the restored calls with this error. The new ones stay here, in
                # case the run is killed first.
                await self._store(key, None, tuple(new.values()))
            self._unreported[key] = (*restored, *error.calls)
            raise
        self._unreported[key] = (*_without_reported(restored, answer.calls), *answer.calls)
        await self._store(key, to_json(request.output_type, answer.value), self._unreported[key])
        return answer

    async def _store(self, key: str, value: Any, calls: _Calls) -> None:
        written = to_json(_Calls, calls)
        if written is not None:
            keep = self._cache.policy.models
            await self._cache.put("models", key, {"answer": value, "calls": written}, keep=keep)


def _without_reported(restored: _Calls, new: _Calls) -> _Calls:
    """Return the restored calls without those that the new calls report again.

    The next run goes on waiting for a batch that was in flight, and reports its end.
    """
    reported = {call.request_id for call in new}
    return tuple(call for call in restored if call.request_id not in reported)
