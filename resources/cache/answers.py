"""Clients that are asked the same only once: of searches, pages, domain ages, and of models.

What belongs here: which answers of each client are kept, for how long, and as what they are given
out again; of a model also what was paid on the way to them. What does not: asking the clients,
where answers are kept (store.py).

The identity of a client is everything about it that changes its answers, such as its address.
Never a key. The same question asked several times at once is asked once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from http import HTTPStatus
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from resources.cache.store import DiskCache, Json, Kind, cache_key, from_json, to_json
from resources.llm import base
from resources.llm.limits import Budget
from resources.once import Once
from resources.pages.base import FetchedPage
from resources.promises import Promise, broken
from resources.ratings.base import DomainAge
from resources.search.base import (
    FactCheckAnswer,
    FactCheckLane,
    SearchAnswer,
    SearchProvider,
    SearchRequest,
)

if TYPE_CHECKING:  # it loads clients, which who gives it has loaded
    from resources.llm.structured import StructuredModel

# Raise one of them whenever the same question would now get another answer.
_SEARCH_VERSION = 3
_PAGES_VERSION = 4
_AGES_VERSION = 2
_MODELS_VERSION = 2
_READERS = ("trafilatura", "htmldate", "pypdf")
"""Libraries whose versions decide what text a page has."""
_YEAR = timedelta(days=365.25)

Value = TypeVar("Value")
_Calls = tuple[base.ModelCall, ...]


@dataclass
class _Answers(Generic[Value]):
    """Answers of one client, shared by all who ask the same at once."""

    cache: DiskCache
    kind: Kind
    shape: type[Value]
    identity: Sequence[Json]
    """The version, and everything about the client that changes its answers."""
    counts_for: Callable[[Value], timedelta | None]
    """How long an answer is given out; None for one that is not kept."""
    recalled: Callable[[Value, timedelta], Value] = lambda value, _: _at_once(value)
    """Makes of an answer that was kept so long what is given out."""
    stays_for: Callable[[Value], timedelta] = lambda _: timedelta(0)
    """How long it stays to be asked after, if longer."""
    once: Once[Value] = field(default_factory=lambda: Once(kept=False))
    untaken: set[str] = field(default_factory=set)
    """Keys of answers that nobody has taken yet."""

    async def ask(
        self,
        question: Json,
        work: Callable[[Value | None], Awaitable[Value]],
        *,
        suits: Callable[[Value], bool] = lambda _: True,
    ) -> tuple[Value, bool]:
        """Return the answer to a question, and whether this is the first who takes it.

        `work` asks the client. It is given the kept answer, if there is one that is too old, or
        that does not suit.
        """
        key = cache_key(self.kind, *self.identity, question)

        async def answer() -> Value:
            self.untaken.add(key)
            old = await self.cache.get(self.kind, key)
            known = from_json(self.shape, old.value) if old is not None else None
            if old is not None and known is not None:
                limit = self.counts_for(known) or timedelta(0)
                # The age of a domain tells nothing new.
                is_new = self.kind == "ages" or old.stored_at >= self.cache.renewed_at
                if is_new and self.cache.is_fresh(old, limit) and suits(known):
                    return self.recalled(known, self.cache.age(old))
            found = await work(known)
            counts = self.counts_for(found)
            written = to_json(self.shape, found) if counts else None
            if counts and written is not None:
                keep = max(counts, self.stays_for(found))
                await self.cache.put(self.kind, key, written, keep=keep)
            return found

        found = await self.once.get(key, answer)
        first = key in self.untaken
        self.untaken.discard(key)
        return found, first


class CachingSearch:
    """Keeps whole answers; what is an outage, or lacks something, is asked for again.

    Wrap each provider on its own, inside a merged search: one provider's outage then costs the
    others nothing.
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
            counts_for=lambda answers: cache.policy.search if is_whole(answers) else None,
        )

    async def search(self, request: SearchRequest) -> Sequence[SearchAnswer]:
        """Ask for one page of results; see SearchProvider.search. A kept answer took 0 seconds."""

        async def work(_: object) -> tuple[SearchAnswer, ...]:
            return tuple(await self._provider.search(request))

        answers, first = await self._answers.ask(_written(request), work)
        # Whoever waits for another's question has sent none: nothing is counted twice.
        return answers if first else tuple(map(_at_once, answers))


class CachingFactChecks:
    """Keeps whole answers of a lane of prior fact checks; an outage is asked again."""

    def __init__(self, lane: FactCheckLane, cache: DiskCache, *, identity: str) -> None:
        self._lane = lane
        self._answers = _Answers[FactCheckAnswer](
            cache,
            "search",
            FactCheckAnswer,
            [_SEARCH_VERSION, "fact checks", identity],
            counts_for=lambda answer: cache.policy.search if answer.outcome == "ok" else None,
        )

    async def prior_checks(self, request: SearchRequest) -> FactCheckAnswer:
        """Look a claim up; see FactCheckLane.prior_checks. A kept answer took 0 seconds."""
        asked = _written(request)
        return (await self._answers.ask(asked, lambda _: self._lane.prior_checks(request)))[0]


def _at_once(answer: Any) -> Any:
    """Return an answer, or several, as one that was not waited for."""
    if isinstance(answer, tuple):
        return tuple(map(_at_once, answer))
    return replace(answer, latency_seconds=0.0)


def _written(request: SearchRequest) -> Json:
    """Return a request as JSON; the order of what is excluded means nothing."""
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
    """Keeps pages with their text, and for a shorter time that a page is not given out.

    A kept page has the time at which it was retrieved, and took 0 seconds. One that is no longer
    fresh is asked after with its validators; if the site says that nothing changed, the kept text
    stands and the time is the new one. An outage is handed on, whatever is kept. A kept page that
    breaks the promise of the search is fetched again.
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
            counts_for=lambda page: limits.get(page.outcome),
            stays_for=lambda page: policy.kept_pages if page.outcome == "ok" else timedelta(0),
        )

    async def fetch(self, url: str, *, promise: Promise | None = None) -> FetchedPage:
        """Fetch one page. Never raises for a page that fails: it answers so."""

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
    """Keeps ages, and for a shorter time that an age is unknown. A kept age has grown meanwhile.

    `find` says how old a domain is, and never raises.
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
            counts_for=lambda found: limits.get(found.outcome),
            recalled=lambda found, age: (
                found if found.years is None else replace(found, years=found.years + age / _YEAR)
            ),
        )

    async def age(self, domain: str) -> DomainAge:
        """Return a domain's age in years. Never raises: it answers."""
        name = domain.lower().rstrip(".")
        return (await self._answers.ask(name, lambda _: self._find(domain)))[0]


class CachingModel:
    """A `LanguageModel` that keeps what another one answered; errors are never kept.

    A kept answer has all calls that led to it with their tokens and what they once cost, marked as
    cache hits: a run that was killed before it recorded them is made good by the next one. So are
    calls that led to no answer, and, with an estimate of what was read, those that were on their
    way when the run was killed. Whoever waits for a question that another one is asking already
    gets the answer without its calls: each is paid, and reported, once. `budget` bounds what is
    asked anew; who `renews` takes no kept answer. The owner of the cache closes it.
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
        self._once: Once[base.ModelAnswer[Any]] = Once(kept=False)
        self._untold: dict[str, _Calls] = {}
        """The calls of answers and errors that nobody was told of yet, by the question's key."""

    async def complete(
        self, request: base.ModelRequest[base.Answer]
    ) -> base.ModelAnswer[base.Answer]:
        """Return the kept answer, or ask; see `LanguageModel.complete` for the errors."""
        key = self._key(request)
        try:
            answer = await self._once.get(key, partial(self._answer, key, request))
        except base.ModelError as error:
            told = self._untold.pop(key, ())
            raise type(error)(error.reason, told, lasting=error.lasting) from error
        return replace(answer, calls=self._untold.pop(key, ()))

    async def recall(self, request: base.ModelRequest[base.Answer]) -> base.Answer | None:
        """Return the kept answer to a question, None if there is none or old ones do not count."""
        if self._renews:
            return None
        kept = await self._cache.get("models", self._key(request))
        if kept is None or not self._cache.is_fresh(kept, self._cache.policy.models):
            return None
        known = kept.value if isinstance(kept.value, dict) else {}
        return from_json(request.output_type, known.get("answer"))

    async def remember(self, request: base.ModelRequest[base.Answer], value: base.Answer) -> None:
        """Keep an answer that came as a part of the answer to another question."""
        await self._keep(self._key(request), to_json(request.output_type, value), ())

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
                self._untold[key] = restored
                return base.ModelAnswer(value)
        made: dict[str | None, base.ModelCall] = {}

        async def on_call(call: base.ModelCall) -> None:
            made[call.request_id] = call
            if not (call.input_tokens or call.output_tokens):
                del made[call.request_id]  # it was turned away, and cost nothing
            await self._keep(key, None, (*calls, *made.values()))

        try:
            answer = await self._model.complete(request, budget=self._budget, on_call=on_call)
        except base.ModelError as error:
            restored = _beside(error.calls, restored)
            if restored and not isinstance(error, base.BudgetExhaustedError):
                # Whoever is told of this error records them; what is new is told of once more.
                await self._keep(key, None, tuple(made.values()))
            self._untold[key] = (*restored, *error.calls)
            raise
        self._untold[key] = (*_beside(answer.calls, restored), *answer.calls)
        await self._keep(key, to_json(request.output_type, answer.value), self._untold[key])
        return answer

    async def _keep(self, key: str, value: Any, calls: _Calls) -> None:
        written = to_json(_Calls, calls)
        if written is not None:
            keep = self._cache.policy.models
            await self._cache.put("models", key, {"answer": value, "calls": written}, keep=keep)


def _beside(new: _Calls, restored: _Calls) -> _Calls:
    """Leave out what is told of anew: a request that was on its way, and of which this is the end.

    So it is with batches, for which whoever comes next goes on waiting.
    """
    told = {call.request_id for call in new}
    return tuple(call for call in restored if call.request_id not in told)
