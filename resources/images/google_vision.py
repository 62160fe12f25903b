"""Google Cloud Vision's web detection, a reverse image search (POST /v1/images:annotate).

What belongs here: its wire format and what each of its failures is called. What does not: HTTP
(resources.http), and what a match means.

The format: https://cloud.google.com/vision/docs/reference/rest/v1/AnnotateImageResponse#WebDetection
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator

from pydantic import BaseModel, Field, ValidationError

from resources.http import HttpClient, HttpFailureError, OutageError, elapsed_since
from resources.images.base import ImageAnswer, ImageMatch, MatchKind
from resources.search.service import MAX_BYTES, Account, checked_key, wrong_shape

DEFAULT_BASE_URL = "https://vision.googleapis.com"
_ACCOUNT = Account(setting="GOOGLE_VISION_API_KEY", site="console.cloud.google.com")
_MOST_MATCHES = 20


class _Picture(BaseModel):
    url: str


class _PageOf(BaseModel):
    url: str
    pageTitle: str = ""  # noqa: N815
    fullMatchingImages: list[_Picture] = []  # noqa: N815
    partialMatchingImages: list[_Picture] = []  # noqa: N815


class _Detection(BaseModel):
    fullMatchingImages: list[_Picture] = []  # noqa: N815
    partialMatchingImages: list[_Picture] = []  # noqa: N815
    visuallySimilarImages: list[_Picture] = []  # noqa: N815
    pagesWithMatchingImages: list[_PageOf] = []  # noqa: N815


class _Failure(BaseModel):
    code: int = 0
    message: str = ""


class _Annotation(BaseModel):
    webDetection: _Detection = _Detection()  # noqa: N815
    error: _Failure | None = None


class _Answer(BaseModel):
    responses: list[_Annotation] = Field(min_length=1)


class GoogleVision:
    """Finds where else on the web a picture is.

    Args:
        http: The client; its owner closes it. Its guard must allow the base URL's host.
        api_key: Sent in a header, never in the address, and shown nowhere.
        base_url: Where `/v1` is, without a closing slash.

    Raises:
        ValueError: The key holds characters that no HTTP header may hold.
    """

    provider = "google_vision"

    def __init__(self, http: HttpClient, *, api_key: str, base_url: str = DEFAULT_BASE_URL) -> None:
        self._http = http
        self._key = checked_key(api_key, _ACCOUNT.setting)
        self._url = f"{base_url.rstrip('/')}/v1/images:annotate"

    async def ask(self, picture: bytes) -> ImageAnswer:
        """Return the pages and pictures that match, the closest kind first."""
        started = time.perf_counter()
        try:
            detection = await self._detect(picture)
        except HttpFailureError as failure:
            return ImageAnswer(
                self.provider,
                "outage",
                reason=f"{self.provider}: {failure.reason}",
                latency_seconds=elapsed_since(started),
            )
        return ImageAnswer(
            self.provider,
            "ok",
            tuple(_matches(detection))[:_MOST_MATCHES],
            latency_seconds=elapsed_since(started),
        )

    async def _detect(self, picture: bytes) -> _Detection:
        wish = {
            "image": {"content": base64.b64encode(picture).decode("ascii")},
            "features": [{"type": "WEB_DETECTION", "maxResults": _MOST_MATCHES}],
        }
        response = await self._http.post(
            self._url,
            content=json.dumps({"requests": [wish]}).encode(),
            headers={"X-Goog-Api-Key": self._key, "Content-Type": "application/json"},
            max_bytes=MAX_BYTES,
        )
        failure = _ACCOUNT.failure(response)
        if failure is not None:
            raise failure
        try:
            annotation = _Answer.model_validate_json(response.body).responses[0]
        except ValidationError:
            raise wrong_shape("is no annotation of an image") from None
        if annotation.error is not None and annotation.error.code:
            raise OutageError(f"it could not look at the picture (code {annotation.error.code})")
        return annotation.webDetection


def _matches(found: _Detection) -> Iterator[ImageMatch]:
    """Yield each picture and page once; a page counts by the best picture on it."""
    pages = found.pagesWithMatchingImages
    groups: tuple[tuple[MatchKind, list[_Picture], list[_PageOf]], ...] = (
        ("exact", found.fullMatchingImages, [page for page in pages if page.fullMatchingImages]),
        (
            "partial",
            found.partialMatchingImages,
            [page for page in pages if not page.fullMatchingImages],
        ),
        ("similar", found.visuallySimilarImages, []),
    )
    for kind, pictures, shown_on in groups:
        shown = set()
        for page in shown_on:
            its = page.fullMatchingImages or page.partialMatchingImages
            shown |= {picture.url for picture in its}
            yield ImageMatch(kind, its[0].url if its else None, page.url, page.pageTitle or None)
        for picture in pictures:
            if picture.url not in shown:
                yield ImageMatch(kind, picture.url)
