"""What search services over HTTP and JSON have in common, and several of them behind one door.

What belongs here: asking, timing, turning every failure into an outage, the names of refusals
(wrong key, no credits, over quota), and reading JSON that may be damaged or of another shape. What
does not: any one service's wire format (providers.py), merging hits of the same page, which needs
canonical URLs and is the domain's business.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, TypeAlias, TypeVar
from urllib.parse import urlencode

from resources import http
from resources.dates import read_day
from resources.errors import SetupError
from resources.http import HttpClient
from resources.search.base import ANSWERS, FoundHit, SearchAnswer, SearchProvider, SearchRequest

Found = TypeVar("Found")
Json = Mapping[str, Any]
"""An object of JSON whose values may be anything."""

Refusal: TypeAlias = tuple[int, str, str]
"""A status, a pattern in the answer's beginning (in lower case), and what it means: a sentence in
which {setting}, {site} and {wait} stand for the service's own. Nothing of the answer itself: it may
repeat the key."""

NO_CREDITS = "the account is out of credits; add some at {site}"
KEY_REFUSED = "the API key was refused; check {setting}"
_USUAL: Sequence[Refusal] = (
    (HTTPStatus.UNAUTHORIZED, "", KEY_REFUSED),
    (HTTPStatus.FORBIDDEN, "", KEY_REFUSED),
    (HTTPStatus.PAYMENT_REQUIRED, "", NO_CREDITS),
    (HTTPStatus.TOO_MANY_REQUESTS, "", "too many requests for this account; ask less often{wait}"),
)
_WITHOUT_KEY: Refusal = (
    HTTPStatus.TOO_MANY_REQUESTS,
    "",
    (
        "too many requests at the moment by all who ask without a key; set {setting} or try again "
        "later{wait}"
    ),
)
_MAX_BYTES = 5_000_000
_KEY = re.compile(r"[\x21-\x7e]+")
_SHOWN_BYTES = 4_000
_ERROR_CODE = re.compile(r"[\w-]{1,60}")
_ECHO = "query"
"""The name under which services repeat the question."""
_MOST_RESULTS = 100
"""Results that are read of one page, however many a server sends."""


class Service:
    """A service that is asked over HTTP, mostly in JSON. Its key is shown nowhere.

    The client's owner closes it, and its guard must allow the service's host: that of `base_url`,
    in place of the usual `address`. `language` is that of what is found, where a service must be
    told one. `identity` is what of all this changes its answers. Raises SetupError for a key that
    is empty or that no HTTP header may hold.
    """

    provider: str
    """The name that answers carry."""
    address = ""
    setting = ""
    """Where the key is set; empty for a service without keys."""
    site = ""
    """Where its credits are bought."""
    key_header = ("", "")
    """The header that carries the key, and what stands before the key in it."""
    refusals: Sequence[Refusal] = ()
    """What this service's own refusals look like."""
    now: Callable[[], datetime] = staticmethod(lambda: datetime.now(UTC))
    """The moment from which relative dates ("3 days ago") count."""

    def __init__(
        self,
        http: HttpClient,
        *,
        base_url: str = "",
        api_key: str | None = None,
        language: str = "en",
    ) -> None:
        self._http = http
        self._base = (base_url or self.address).rstrip("/")
        self._language = language
        self._key = None if api_key is None else api_key.strip()
        if self._key is not None and _KEY.fullmatch(self._key) is None:
            raise SetupError(
                f"{self.provider} cannot be asked: its API key is empty or holds characters that "
                f"no key has; check {self.setting}."
            )
        self.identity = f"{self.provider} {self._base} {language}"
        name, before = self.key_header
        self._keys = {name: f"{before}{self._key}"} if name and self._key else {}

    async def _answer(self, work: Awaitable[Found]) -> tuple[Found | None, dict[str, Any]]:
        """Return what work led to (None: an outage), and how it ended, as answers say it."""
        started, found, reason = time.perf_counter(), None, None
        try:
            found = await work
        except http.HttpFailureError as failure:
            reason = f"{self.provider}: {failure.reason}"
        return found, {
            "provider": self.provider,
            "outcome": "ok" if reason is None else "outage",
            "reason": reason,
            "latency_seconds": http.elapsed_since(started),
        }

    async def _get(self, path: str, **parameters: str | int | None) -> Json:
        given = {name: value for name, value in parameters.items() if value not in {None, ""}}
        url = f"{self._base}{path}?{urlencode(given)}"
        return self._read(await self._http.get(url, headers=self._keys, max_bytes=_MAX_BYTES))

    async def _post(self, path: str, body: Json | bytes, media: str = "application/json") -> Json:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers, url = {**self._keys, "Content-Type": media}, f"{self._base}{path}"
        return self._read(
            await self._http.post(url, content=content, headers=headers, max_bytes=_MAX_BYTES)
        )

    def _read(self, response: http.Response) -> Json:
        """Read the JSON object of a success; raise the failure that any other answer stands for."""
        words = response.body[:_SHOWN_BYTES].decode("utf-8", "replace").casefold()
        usual = (*(() if self._key else (_WITHOUT_KEY,)), *_USUAL) if self.setting else ()
        for status, pattern, sentence in (*self.refusals, *usual):
            if response.status == status and re.search(pattern, words):
                seconds = http.retry_after_seconds(response.headers)
                wait = "" if seconds is None else f" (it asks to wait {seconds:.0f} seconds)"
                said = sentence.format(setting=self.setting, site=self.site, wait=wait)
                raise http.OutageError(said)
        if failure := http.status_failure(response):
            raise failure
        try:
            answer = json.loads(response.body)
        except (ValueError, RecursionError) as error:
            raise http.OutageError("its answer is not JSON; try again later") from error
        if not isinstance(answer, dict):
            raise wrong_shape("is no JSON object")
        if (code := _error_in(answer)) is not None:
            raise http.OutageError(
                f"it found nothing, and its answer carries an error ({code}); try again later"
            )
        return answer


Findings: TypeAlias = tuple[Sequence[FoundHit], str]
"""One page of a service's results, and what is missing from it, if anything is."""


class SearchService(Service):
    """A search provider that is asked over HTTP; subclasses know its wire format."""

    async def search(self, request: SearchRequest) -> Sequence[SearchAnswer]:
        """Ask for one page of results; see SearchProvider.search."""
        findings, answer = await self._answer(self._find(request))
        if findings is None:
            return (SearchAnswer(**answer),)
        hits, lacking = findings
        if lacking:
            answer["reason"] = f"{self.provider}: {lacking}"
        # An answer engine's own words count towards no limit.
        own = [hit for hit in hits if hit.url.startswith(ANSWERS)]
        wanted = [hit for hit in hits if hit not in own and request.admits_url(hit.url)]
        return (SearchAnswer(hits=(*wanted[: request.limit], *own), **answer),)

    async def _hits(
        self,
        entries: Sequence[Json],
        what: str,
        before: int = 0,
        *,
        url: str = "url",
        snippet: str = "snippet",
        day: str = "",
    ) -> list[FoundHit]:
        """Read results: their titles, and the values under the names of `url`, `snippet` and `day`.

        `before` results came before the first. A result without URL is left out, and the others
        keep their ranks. If none has one it is an OutageError, which calls a result `what`.
        """

        def read() -> list[FoundHit]:
            now = self.now()
            return [
                FoundHit(
                    rank,
                    text(entry.get("title")),
                    address,
                    text(entry.get(snippet)),
                    read_day(text(entry.get(day)), now),
                )
                for rank, entry in enumerate(entries[:_MOST_RESULTS], before + 1)
                if (address := text(entry.get(url)))
            ]

        hits = await asyncio.to_thread(read)  # a date in words takes a while
        if entries and not hits:
            raise wrong_shape(f"gives no {what} a URL")
        return hits

    @abstractmethod
    async def _find(self, request: SearchRequest) -> Findings:
        """Ask the service once; exclusions and the limit are enforced on what this returns."""


class MergedSearch:
    """Asks all its providers at once; answers come in the order of the providers.

    Raises ValueError without a provider: a search that asks nobody would seem to find nothing.
    """

    def __init__(self, providers: Sequence[SearchProvider]) -> None:
        if not providers:
            raise ValueError("MergedSearch needs at least one search provider")
        self._providers = tuple(providers)

    async def search(self, request: SearchRequest) -> Sequence[SearchAnswer]:
        """Ask every provider for one page of results; one outage does not touch the others."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each.search(request)) for each in self._providers]
        return [answer for task in tasks for answer in task.result()]


# --- Reading an answer --------------------------------------------------------------------------


def wrong_shape(what: str) -> http.OutageError:
    """Name an answer that is JSON of another shape than the service documents."""
    return http.OutageError(f"its answer {what}; has its format changed?")


def _error_in(answer: Json) -> str | None:
    """Return the code of an error that a success without any result carries; None if it has none.

    An error beside results, which are objects in a list, is no reason to lose them. Without results
    a member called `error` is one, and beside an empty list so is a sentence or a status of failure
    under any name.
    """
    results = {name: value for name, value in answer.items() if name != "errors"}
    lists = [value for value in results.values() if isinstance(value, list)]
    if any(isinstance(entry, dict) for entries in lists for entry in entries):
        return None
    error = answer.get("error") or answer.get("errors")
    beside = [] in lists and any(
        (isinstance(value, str) and value.strip() and name != _ECHO)
        or (name.lower().endswith(("code", "status")) and _is_failure(value))
        for name, value in results.items()
    )
    if not error and not beside:
        return None
    code = text(error.get("code")) if isinstance(error, Mapping) else ""
    return code if _ERROR_CODE.fullmatch(code) else "no reason given"


def _is_failure(status: object) -> bool:
    return (whole_number(status) or 0) >= HTTPStatus.BAD_REQUEST


def objects(value: object, what: str) -> list[Json]:
    """Read a list of objects, without members that are none.

    Anything but a list, or a list without a single object, is an OutageError, which calls it
    `what`.
    """
    if isinstance(value, list):
        found: list[Json] = [entry for entry in value if isinstance(entry, dict)]
        if found or not value:
            return found
    raise wrong_shape(f"has no list of {what}")


def text(value: object) -> str:
    """Return a text on one line, without halves of surrogate pairs; empty for what is no text."""
    if not isinstance(value, str):
        return ""
    return " ".join(value.encode("utf-8", "replace").decode("utf-8").split())


def whole_number(value: object) -> int | None:
    """Return a whole number; None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None
