"""What fact-checkers have already said: a lane of its own, never mixed with evidence.

What belongs here: Google's Fact Check Tools (GET /v1alpha1/claims:search). What does not: search
for evidence (the other modules of this folder), and what a prior fact check is worth.

A prior fact check is a verdict, not a source: read as evidence it would decide the claim by
another's judgement. So these results are no SearchHits, and no SearchProvider hands them out.

Source: https://developers.google.com/fact-check/tools/api/reference/rest/v1alpha1/claims/search
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from http import HTTPStatus

from resources.http import HttpClient, HttpFailureError, OutageError, Response, elapsed_since
from resources.search.base import FactCheckAnswer, PriorFactCheck
from resources.search.service import (
    MAX_BYTES,
    Account,
    asked_wait,
    checked_key,
    iso_day,
    json_object,
    objects,
    said,
    text,
    with_parameters,
    wrong_shape,
)

DEFAULT_BASE_URL = "https://factchecktools.googleapis.com"

_ACCOUNT = Account(setting="GOOGLE_FACT_CHECK_API_KEY", site="console.cloud.google.com")
_KEY_PHRASES = ("api key not valid", "api_key_invalid", "api key expired")
_DISABLED_PHRASES = ("service_disabled", "has not been used in project")


class GoogleFactChecks:
    """Looks claims up in Google's Fact Check Tools.

    Args:
        http: The client; its owner closes it. Its guard must allow the base URL's host.
        api_key: Sent as X-Goog-Api-Key and shown nowhere.
        base_url: Where `/v1alpha1` is, without a closing slash.

    Raises:
        ValueError: The key holds characters that no HTTP header may hold.
    """

    provider = "google_fact_check"
    """The name that answers carry."""

    def __init__(self, http: HttpClient, *, api_key: str, base_url: str = DEFAULT_BASE_URL) -> None:
        self._http = http
        # The service accepts the key in the URL too, where it would end up in logs.
        self._headers = {"X-Goog-Api-Key": checked_key(api_key, _ACCOUNT.setting)}
        self._url = f"{base_url.rstrip('/')}/v1alpha1/claims:search"

    async def prior_checks(
        self,
        claim: str,
        *,
        limit: int = 10,
        language: str | None = None,
        after: date | None = None,
    ) -> FactCheckAnswer:
        """Look a claim up; see FactCheckLane.prior_checks."""
        started = time.perf_counter()
        url = with_parameters(
            self._url,
            {
                "query": claim,
                "pageSize": limit,
                "languageCode": language,
                "maxAgeDays": None if after is None else max(1, (_today() - after).days),
            },
        )
        try:
            response = await self._http.get(url, headers=self._headers, max_bytes=MAX_BYTES)
            checks = tuple(_checks(response))
        except HttpFailureError as failure:
            return FactCheckAnswer(
                self.provider,
                "outage",
                reason=f"{self.provider}: {failure.reason}",
                latency_seconds=elapsed_since(started),
            )
        return FactCheckAnswer(self.provider, "ok", checks, latency_seconds=elapsed_since(started))


def _today() -> date:
    return datetime.now(UTC).date()


def _checks(response: Response) -> Iterator[PriorFactCheck]:
    failure = _failure(response)
    if failure is not None:
        raise failure
    # The list is left out where it would be empty.
    for claim in objects(json_object(response).get("claims", []), "claims"):
        for review in objects(claim.get("claimReview", []), "reviews"):
            yield _check(claim, review)


def _check(claim: Mapping[str, object], review: Mapping[str, object]) -> PriorFactCheck:
    publisher = review.get("publisher")
    names = publisher if isinstance(publisher, Mapping) else {}
    url = text(review.get("url"))
    if not url:
        raise wrong_shape("gives a review no URL")
    return PriorFactCheck(
        claim=text(claim.get("text")),
        claimant=text(claim.get("claimant")),
        rating=text(review.get("textualRating")),
        publisher=text(names.get("name")) or text(names.get("site")),
        url=url,
        reviewed_on=iso_day(review.get("reviewDate")),
        claimed_on=iso_day(claim.get("claimDate")),
        title=text(review.get("title")),
        language=text(review.get("languageCode")),
    )


def _failure(response: Response) -> HttpFailureError | None:
    words = said(response)
    if response.status == HTTPStatus.BAD_REQUEST and any(each in words for each in _KEY_PHRASES):
        return _ACCOUNT.key_refused
    if response.status == HTTPStatus.FORBIDDEN and any(each in words for each in _DISABLED_PHRASES):
        return OutageError(
            "the Fact Check Tools API is not enabled for the key's project; enable it at "
            f"{_ACCOUNT.site}"
        )
    if response.status == HTTPStatus.TOO_MANY_REQUESTS:
        return OutageError(f"the project's quota is used up; ask less often{asked_wait(response)}")
    return _ACCOUNT.failure(response)
