"""What search services over HTTP and JSON have in common.

What belongs here: asking, timing, turning every failure into an outage, reading JSON that may be
damaged or of another shape, and the names of refusals (wrong key, no credits, over quota). What
does not: any one service's wire format.
"""

from __future__ import annotations

import json
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from http import HTTPStatus
from typing import Unpack
from urllib.parse import urlencode

from resources.http import (
    HttpClient,
    HttpFailureError,
    OutageError,
    Response,
    elapsed_since,
    retry_after_seconds,
    status_failure,
)
from resources.search.base import Restrictions, SearchAnswer, SearchHit, SearchRequest

MAX_BYTES = 5_000_000
"""Bound on one answer."""

_KEY = re.compile(r"[\x21-\x7e]+")
_SHOWN_BYTES = 4_000


@dataclass(frozen=True, slots=True)
class Findings:
    """One page of a service's results. `caveat` says what is missing from it, if anything is.

    `answer` is an answer engine's own, which counts towards no limit.
    """

    hits: Sequence[SearchHit]
    caveat: str | None = None
    answer: SearchHit | None = None


class SearchService(ABC):
    """A search provider that is asked over HTTP; subclasses know its wire format.

    Args:
        http: The client; its owner closes it. Its guard must allow the service's host.
    """

    provider: str
    """The name that answers carry."""

    def __init__(self, http: HttpClient) -> None:
        self._http = http

    async def search(
        self,
        query: str,
        *,
        limit: int,
        page: int = 1,
        before: date | None = None,
        **restrictions: Unpack[Restrictions],
    ) -> Sequence[SearchAnswer]:
        """Ask for one page of results; see SearchProvider.search."""
        request = SearchRequest(query, limit=limit, page=page, before=before, **restrictions)
        started = time.perf_counter()
        try:
            findings = await self._find(request)
        except HttpFailureError as failure:
            return (self._outage(failure, started),)
        wanted = [hit for hit in findings.hits if request.admits_url(hit.url)]
        return (
            SearchAnswer(
                provider=self.provider,
                outcome="ok",
                hits=(*wanted[:limit], *([findings.answer] if findings.answer else [])),
                reason=findings.caveat and f"{self.provider}: {findings.caveat}",
                latency_seconds=elapsed_since(started),
            ),
        )

    def _outage(self, failure: HttpFailureError, started: float) -> SearchAnswer:
        return SearchAnswer(
            provider=self.provider,
            outcome="outage",
            reason=f"{self.provider}: {failure.reason}",
            latency_seconds=elapsed_since(started),
        )

    @abstractmethod
    async def _find(self, request: SearchRequest) -> Findings:
        """Ask the service once.

        Excluded domains and file types, and the limit, are enforced on what this returns.

        Raises:
            HttpFailureError: There is no usable answer; the reason holds no key.
        """


# --- Keys and refusals --------------------------------------------------------------------------


def checked_key(key: str, setting: str) -> str:
    """Return an API key without surrounding space.

    Raises:
        ValueError: It is empty, or holds characters that no HTTP header may hold.
    """
    if _KEY.fullmatch(key.strip()) is None:
        raise ValueError(
            f"the search API key is empty or holds characters that no key has; check {setting}"
        )
    return key.strip()


@dataclass(frozen=True, slots=True)
class Account:
    """Where a service's key is set, and where its credits are bought."""

    setting: str
    site: str

    def failure(self, response: Response) -> HttpFailureError | None:
        """Name the failure that a status stands for; None for a success."""
        match response.status:
            case HTTPStatus.UNAUTHORIZED | HTTPStatus.FORBIDDEN:
                return self.key_refused
            case HTTPStatus.PAYMENT_REQUIRED:
                return self.no_credits
            case HTTPStatus.TOO_MANY_REQUESTS:
                return OutageError(
                    f"too many requests for this account; ask less often{asked_wait(response)}"
                )
        return status_failure(response)

    @property
    def key_refused(self) -> OutageError:
        """The service does not know the key."""
        return OutageError(f"the API key was refused; check {self.setting}")

    @property
    def no_credits(self) -> OutageError:
        """The service knows the key and has been paid too little."""
        return OutageError(f"the account is out of credits; add some at {self.site}")


def asked_wait(response: Response) -> str:
    """Return the end of a sentence: how long the service asks to wait, if it says so."""
    seconds = retry_after_seconds(response.headers)
    return "" if seconds is None else f" (it asks to wait {seconds:.0f} seconds)"


def said(response: Response) -> str:
    """Return the beginning of an answer in lower case, to look for known phrases in.

    Never for a reason: it may repeat the key.
    """
    return response.body[:_SHOWN_BYTES].decode("utf-8", "replace").casefold()


# --- Reading JSON -------------------------------------------------------------------------------


def with_parameters(url: str, parameters: Mapping[str, str | int | None]) -> str:
    """Return a URL with those query parameters that have a value."""
    given = {name: value for name, value in parameters.items() if value not in {None, ""}}
    return f"{url}?{urlencode(given)}"


def json_object(response: Response) -> Mapping[str, object]:
    """Read an answer that is a JSON object.

    Raises:
        OutageError: It is not JSON, or no object.
    """
    try:
        answer = json.loads(response.body)
    except (ValueError, RecursionError) as error:
        raise OutageError("its answer is not JSON; try again later") from error
    if not isinstance(answer, dict):
        raise wrong_shape("is no JSON object")
    return answer


def wrong_shape(what: str) -> OutageError:
    """Name an answer that is JSON of another shape than the service documents."""
    return OutageError(f"its answer {what}; has its format changed?")


def objects(value: object, what: str) -> list[Mapping[str, object]]:
    """Read a list of objects.

    Raises:
        OutageError: It is anything else; `what` is its name in the sentence.
    """
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise wrong_shape(f"has no list of {what}")
    return value


def text(value: object) -> str:
    """Return a text on one line, without halves of surrogate pairs; empty for what is no text."""
    if not isinstance(value, str):
        return ""
    return " ".join(value.encode("utf-8", "replace").decode("utf-8").split())


def whole_number(value: object) -> int | None:
    """Return a whole number; None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def iso_day(value: object) -> date | None:
    """Return the day that an ISO 8601 date or time begins with; None for anything else."""
    try:
        return date.fromisoformat(text(value)[:10])
    except ValueError:
        return None
