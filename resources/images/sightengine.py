"""Sightengine's detector of faces that were swapped or generated (POST /1.0/check.json).

What belongs here: its wire format and what its failures are called. What does not: HTTP
(resources.http), and what a score means.

The format: https://sightengine.com/docs/deepfake-detection
"""

from __future__ import annotations

import time
from uuid import uuid4

from pydantic import BaseModel, Field, ValidationError

from resources.http import HttpClient, HttpFailureError, elapsed_since
from resources.images.base import ImageAnswer
from resources.search.service import MAX_BYTES, Account, checked_key, wrong_shape

DEFAULT_BASE_URL = "https://api.sightengine.com"
_ACCOUNT = Account(setting="SIGHTENGINE_API_KEY", site="sightengine.com")


class _Type(BaseModel):
    deepfake: float = Field(ge=0, le=1)


class _Answer(BaseModel):
    type: _Type


class Sightengine:
    """Scores how likely a picture holds a face that was swapped or generated.

    Args:
        http: The client; its owner closes it. Its guard must allow the base URL's host.
        api_key: The account's user and secret, as USER:SECRET; sent in the body, shown nowhere.
        base_url: Where `/1.0` is, without a closing slash.

    Raises:
        ValueError: The key is not two words with a colon between them.
    """

    provider = "sightengine"

    def __init__(self, http: HttpClient, *, api_key: str, base_url: str = DEFAULT_BASE_URL) -> None:
        self._user, _, self._secret = checked_key(api_key, _ACCOUNT.setting).partition(":")
        if not self._user or not self._secret:
            raise ValueError(f"write {_ACCOUNT.setting} as USER:SECRET")
        self._http = http
        self._url = f"{base_url.rstrip('/')}/1.0/check.json"

    async def ask(self, picture: bytes) -> ImageAnswer:
        """Return the score, from 0 to 1."""
        started = time.perf_counter()
        try:
            score = await self._score(picture)
        except HttpFailureError as failure:
            reason = f"{self.provider}: {failure.reason}"
            latency = elapsed_since(started)
            return ImageAnswer(self.provider, "outage", reason=reason, latency_seconds=latency)
        return ImageAnswer(self.provider, "ok", score=score, latency_seconds=elapsed_since(started))

    async def _score(self, picture: bytes) -> float:
        boundary = uuid4().hex
        fields = {"models": "deepfake", "api_user": self._user, "api_secret": self._secret}
        part = f'--{boundary}\r\nContent-Disposition: form-data; name="'
        head = "".join(f'{part}{name}"\r\n\r\n{value}\r\n' for name, value in fields.items())
        head += f'{part}media"; filename="picture"\r\n\r\n'
        response = await self._http.post(
            self._url,
            content=head.encode() + picture + f"\r\n--{boundary}--\r\n".encode(),
            headers={"Content-Type": f"multipart/form-data; boundary={boundary}"},
            max_bytes=MAX_BYTES,
        )
        failure = _ACCOUNT.failure(response)
        if failure is not None:
            raise failure
        try:
            return _Answer.model_validate_json(response.body).type.deepfake
        except ValidationError:
            raise wrong_shape("has no score") from None
