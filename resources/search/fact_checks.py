"""What fact-checkers have already said: a lane of its own, never mixed with evidence.

What belongs here: Google's Fact Check Tools (GET /v1alpha1/claims:search). What does not: search
for evidence (the other modules of this folder), and what a prior fact check is worth.

A prior fact check is a verdict, not a source: read as evidence it would decide the claim by
another's judgement. So these results are no SearchHits, and no SearchProvider hands them out.

Source: https://developers.google.com/fact-check/tools/api/reference/rest/v1alpha1/claims/search
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from http import HTTPStatus

from resources.http import HttpFailureError, OutageError, Response
from resources.search.base import FactCheckAnswer, PriorFactCheck
from resources.search.service import Service, asking_less, iso_day, objects, text, wrong_shape

_KEY_PHRASES = ("api key not valid", "api_key_invalid", "api key expired")
_DISABLED_PHRASES = ("service_disabled", "has not been used in project")


class GoogleFactChecks(Service):
    """Looks claims up in Google's Fact Check Tools."""

    provider = "google_fact_check"
    address = "https://factchecktools.googleapis.com"
    setting, site = "GOOGLE_FACT_CHECK_API_KEY", "console.cloud.google.com"
    # The service accepts the key in the URL too, where it would end up in logs.
    key_header = ("X-Goog-Api-Key", "")

    async def prior_checks(
        self,
        claim: str,
        *,
        limit: int = 10,
        language: str | None = None,
        after: date | None = None,
    ) -> FactCheckAnswer:
        """Look a claim up; see FactCheckLane.prior_checks."""

        async def look_up() -> tuple[PriorFactCheck, ...]:
            days = (datetime.now(UTC).date() - after).days if after is not None else None
            answer = await self._get(
                "/v1alpha1/claims:search",
                query=claim,
                pageSize=limit,
                languageCode=language,
                maxAgeDays=None if days is None else max(1, days),
            )
            # The list is left out where it would be empty.
            return tuple(_checks(answer.get("claims", [])))

        checks, answer = await self._answer(look_up())
        return FactCheckAnswer(checks=checks or (), **answer)

    def _refusal(self, response: Response, words: str) -> HttpFailureError | None:
        status = response.status
        if status == HTTPStatus.BAD_REQUEST and any(each in words for each in _KEY_PHRASES):
            return self._key_refused
        if status == HTTPStatus.FORBIDDEN and any(each in words for each in _DISABLED_PHRASES):
            return OutageError(
                "the Fact Check Tools API is not enabled for the key's project; enable it at "
                f"{self.site}"
            )
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            return asking_less(response, "the project's quota is used up; ask less often")
        return super()._refusal(response, words)


def _checks(claims: object) -> Iterator[PriorFactCheck]:
    for claim in objects(claims, "claims"):
        for review in objects(claim.get("claimReview", []), "reviews"):
            publisher = review.get("publisher")
            names = publisher if isinstance(publisher, dict) else {}
            url = text(review.get("url"))
            if not url:
                raise wrong_shape("gives a review no URL")
            yield PriorFactCheck(
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
