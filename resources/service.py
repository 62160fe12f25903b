"""The base of clients of JSON services over HTTP: keys, refusals, and answers of a wrong shape.

Every failure becomes an outage.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, TypeAlias, TypeVar
from urllib.parse import urlencode

from resources import http
from resources.errors import SetupError
from resources.http import HttpClient

Result = TypeVar("Result")
Json = Mapping[str, Any]
Refusal: TypeAlias = tuple[int, str, str]
"""A status, a pattern in the beginning of the answer (in lower case), and its meaning: a sentence
with the placeholders {setting}, {site} and {wait}. It repeats no words of the answer, which may
contain the key."""

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
    "too many requests by all users without a key; set {setting} or try again later{wait}",
)
_MAX_BYTES = 5_000_000
_KEY = re.compile(r"[\x21-\x7e]+")
_SHOWN_BYTES = 4_000
_ERRORS = ("error", "errors", "message")
_HTTP_ERRORS = range(HTTPStatus.BAD_REQUEST, 600)
_STATES = ("status", "code", "statusCode")
"""The fields with which services report an error in an answer of HTTP status 200."""


class Service:
    """A client of a service over HTTP. Its messages never show the key.

    `base_url` replaces the usual `address`; the client's guard must allow it. Some services need
    the `language` of the results. `identity` names everything that changes the answers. Raises
    SetupError for an empty key, or one that an HTTP header cannot carry.
    """

    provider: str
    address = ""
    setting = ""
    """The setting of the key; empty for a service without keys."""
    site = ""
    """The site that sells credits."""
    key_header = ("", "")
    """The header of the key, and the prefix before the key."""
    refusals: Sequence[Refusal] = ()
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
                f"{self.provider} is not usable: its API key is empty or has characters that no "
                f"key has; check {self.setting}."
            )
        self.identity = f"{self.provider} {self._base} {language}"
        header, prefix = self.key_header
        self._key_headers = {header: f"{prefix}{self._key}"} if header and self._key else {}

    async def _answer(self, work: Awaitable[Result]) -> tuple[Result | None, dict[str, Any]]:
        """Return the result (None for an outage), and the fields that every answer has."""
        started, result, reason = time.perf_counter(), None, None
        try:
            result = await work
        except http.HttpFailureError as failure:
            reason = f"{self.provider}: {failure.reason}"
        return result, {
            "provider": self.provider,
            "outcome": "ok" if reason is None else "outage",
            "reason": reason,
            "latency_seconds": http.elapsed_since(started),
        }

    async def _get(
        self, path: str, *, base: str | None = None, **parameters: str | int | None
    ) -> Json:
        """Get the JSON of a path below an address; parameters without a value are left out."""
        stated = {name: value for name, value in parameters.items() if value not in {None, ""}}
        url = f"{base or self._base}{path}?{urlencode(stated)}"
        return self._read(
            await self._http.get(url, headers=self._key_headers, max_bytes=_MAX_BYTES)
        )

    async def _post(
        self,
        path: str,
        body: Json | bytes,
        media: str = "application/json",
        *,
        headers: Mapping[str, str] | None = None,
    ) -> Json:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        response = await self._http.post(
            f"{self._base}{path}",
            content=content,
            headers={**self._key_headers, "Content-Type": media, **(headers or {})},
            max_bytes=_MAX_BYTES,
        )
        return self._read(response)

    def _read(self, response: http.Response) -> Json:
        """Return the JSON object of a success; raise HttpFailureError for any other answer."""
        words = response.body[:_SHOWN_BYTES].decode("utf-8", "replace").casefold()
        usual = (*(() if self._key else (_WITHOUT_KEY,)), *_USUAL) if self.setting else ()
        for status, pattern, sentence in (*self.refusals, *usual):
            if response.status == status and re.search(pattern, words):
                seconds = http.retry_after_seconds(response.headers)
                wait = "" if seconds is None else f" (it asks to wait {seconds:.0f} seconds)"
                raise http.OutageError(
                    sentence.format(setting=self.setting, site=self.site, wait=wait)
                )
        answer = http.read_object(response)
        fields = (value for name, value in answer.items() if name not in _ERRORS)
        has_results = any(isinstance(value, list) and value for value in fields)
        failed = any(map(answer.get, _ERRORS)) or any(map(_is_failure, map(answer.get, _STATES)))
        if failed and not has_results:
            raise http.OutageError("it found nothing and reported an error; try again later")
        return answer


def _is_failure(state: object) -> bool:
    """Tell whether a state in an answer is an HTTP error or one of JSend's words for a failure."""
    return state in ("error", "fail") or state in _HTTP_ERRORS


# --- Reading an answer --------------------------------------------------------------------------


def wrong_shape(problem: str) -> http.OutageError:
    """Return the error for JSON of another shape than the service documents."""
    return http.OutageError(f"its answer {problem}; has its format changed?")


def objects(value: object, kind: str) -> list[Json]:
    """Return the objects of a list, and ignore its other members.

    OutageError, which calls the list `kind`, for any other value and for a non-empty list without
    objects.
    """
    if isinstance(value, list):
        entries: list[Json] = [entry for entry in value if isinstance(entry, dict)]
        if entries or not value:
            return entries
    raise wrong_shape(f"has no list of {kind}")


def text(value: object) -> str:
    """Return a text on one line, without lone surrogates; empty for any other value."""
    if not isinstance(value, str):
        return ""
    return " ".join(value.encode("utf-8", "replace").decode("utf-8").split())


def at(value: object, path: str) -> object:
    """Return the value at the end of a path of keys, such as `journal.name`, or None."""
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def text_at(value: object, paths: str) -> str:
    """Return the first text at one of some paths, such as `url|fullurl`, or an empty one."""
    return next(filter(None, (text(at(value, path)) for path in paths.split("|"))), "")


def whole_number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
