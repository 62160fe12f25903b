"""A reverse image search (Google Cloud Vision) and a detector of generated faces (Sightengine).

Sources: https://cloud.google.com/vision/docs/reference/rest (`images.annotate`, WebDetection) and
https://sightengine.com/docs/deepfake-detection.
"""

from __future__ import annotations

import base64
from typing import Any

import httpx
from pydantic import AliasPath, BaseModel, Field, ValidationError
from pydantic.alias_generators import to_camel

from resources.errors import SetupError
from resources.http import HttpClient, OutageError
from resources.images.base import ImageAnswer, ImageMatch, MatchKind
from resources.service import Service, whole_number, wrong_shape

_MAX_MATCHES = 20


class _Detection(BaseModel, alias_generator=to_camel):
    full_matching_images: list[_Found] = []
    partial_matching_images: list[_Found] = []
    visually_similar_images: list[_Found] = []
    pages_with_matching_images: list[_Found] = []


class _Found(_Detection):
    """A picture, or a page with pictures."""

    url: str
    page_title: str = ""


class _Annotation(BaseModel, alias_generator=to_camel):
    web_detection: _Detection = _Detection()
    error: dict[str, Any] = {}


class GoogleVision(Service):
    """Finds a picture elsewhere on the web, by Google Cloud Vision's web detection."""

    provider = "google_vision"
    address = "https://vision.googleapis.com"
    setting, site = "GOOGLE_VISION_API_KEY", "console.cloud.google.com"
    key_header = ("X-Goog-Api-Key", "")

    async def ask(self, picture: bytes) -> ImageAnswer:
        """Return the matching pages and pictures, the closest kind first."""
        matches, answer = await self._answer(self._matches(picture))
        return ImageAnswer(matches=tuple(matches or ())[:_MAX_MATCHES], **answer)

    async def _matches(self, picture: bytes) -> list[ImageMatch]:
        """Return each picture and page once. The best picture on a page decides its kind."""
        question = {
            "image": {"content": base64.b64encode(picture).decode("ascii")},
            "features": [{"type": "WEB_DETECTION", "maxResults": _MAX_MATCHES}],
        }
        answer = await self._post("/v1/images:annotate", {"requests": [question]})
        try:
            annotation = _Annotation.model_validate(answer["responses"][0])
        except (LookupError, TypeError, ValidationError):
            raise wrong_shape("is no annotation of an image") from None
        if code := whole_number(annotation.error.get("code")):
            raise OutageError(f"it could not look at the picture (code {code})")
        detection = annotation.web_detection
        pages = detection.pages_with_matching_images
        exact_pages = [page for page in pages if page.full_matching_images]
        partial_pages = [page for page in pages if not page.full_matching_images]
        groups: tuple[tuple[MatchKind, list[_Found], list[_Found]], ...] = (
            ("exact", detection.full_matching_images, exact_pages),
            ("partial", detection.partial_matching_images, partial_pages),
            ("similar", detection.visually_similar_images, []),
        )
        matches, seen = list[ImageMatch](), set[str]()
        for kind, pictures, pages_of_kind in groups:
            for page in pages_of_kind:
                matching = page.full_matching_images or page.partial_matching_images
                seen |= {picture.url for picture in matching + page.partial_matching_images}
                first = matching[0].url if matching else None
                matches.append(ImageMatch(kind, first, page.url, page.page_title or None))
            alone = dict.fromkeys(picture.url for picture in pictures if picture.url not in seen)
            seen |= alone.keys()
            matches += [ImageMatch(kind, url) for url in alone]
        return matches


class _Scored(BaseModel):
    deepfake: float = Field(ge=0, le=1, validation_alias=AliasPath("type", "deepfake"))


class Sightengine(Service):
    """Scores the probability that a picture has a swapped or generated face.

    The key is the account's user and secret, as USER:SECRET, or SetupError. It goes into the body.
    """

    provider = "sightengine"
    address = "https://api.sightengine.com"
    setting, site = "SIGHTENGINE_API_KEY", "sightengine.com"

    def __init__(self, http: HttpClient, **options: Any) -> None:
        super().__init__(http, **options)
        self._user, _, self._secret = (self._key or "").partition(":")
        if not self._user or not self._secret:
            raise SetupError(f"sightengine is not usable: write {self.setting} as USER:SECRET.")

    async def ask(self, picture: bytes) -> ImageAnswer:
        score, answer = await self._answer(self._score(picture))
        return ImageAnswer(score=score, **answer)

    async def _score(self, picture: bytes) -> float:
        fields = {"models": "deepfake", "api_user": self._user, "api_secret": self._secret}
        form = httpx.Request("POST", self._base, data=fields, files={"media": ("picture", picture)})
        answer = await self._post("/1.0/check.json", form.read(), form.headers["content-type"])
        try:
            return _Scored.model_validate(answer).deepfake
        except ValidationError:
            raise wrong_shape("has no score") from None
