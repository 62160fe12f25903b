"""What is wrong with a request, said in a sentence with its remedy.

What belongs here: one type per kind of refusal with its status, and their form on the wire, problem
details (RFC 9457). What does not: deciding when to refuse.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, ClassVar

from pydantic import BaseModel, Field

MEDIA_TYPE = "application/problem+json"
_INPUT_CHARACTERS = 80


class Problem(BaseModel):
    """Problem details (RFC 9457)."""

    title: str = Field(description="The kind of problem.")
    status: int = Field(description="The HTTP status.")
    detail: str = Field(description="What is wrong and what to do, in a sentence or two.")


class ProblemError(Exception):
    """A request that cannot be answered; the message is the sentence that the client reads."""

    status: ClassVar[HTTPStatus] = HTTPStatus.BAD_REQUEST

    def __init__(self, sentence: str, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(sentence)
        self.headers = dict(headers or {})

    @property
    def problem(self) -> Problem:
        """What the client is told."""
        return Problem(title=self.status.phrase, status=self.status, detail=str(self))


class UnauthorizedError(ProblemError):
    """The token is missing or wrong."""

    status = HTTPStatus.UNAUTHORIZED

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence, headers={"WWW-Authenticate": "Bearer"})


class ForbiddenError(ProblemError):
    """The client may not do this."""

    status = HTTPStatus.FORBIDDEN


class NotFoundError(ProblemError):
    """There is no such video, report or run."""

    status = HTTPStatus.NOT_FOUND


class ConflictError(ProblemError):
    """What is asked for contradicts what is going on."""

    status = HTTPStatus.CONFLICT


class TooLargeError(ProblemError):
    """The body is larger than any request needs to be."""

    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE


class SlowBodyError(ProblemError):
    """The body does not come."""

    status = HTTPStatus.REQUEST_TIMEOUT


class WrongTypeError(ProblemError):
    """The body is not JSON."""

    status = HTTPStatus.UNSUPPORTED_MEDIA_TYPE


class MisdirectedError(ProblemError):
    """The request names a host that this service is not."""

    status = HTTPStatus.MISDIRECTED_REQUEST


class UnavailableError(ProblemError):
    """The service cannot answer now."""

    status = HTTPStatus.SERVICE_UNAVAILABLE


class TooManyError(ProblemError):
    """A quota is used up, or all workers are busy."""

    status = HTTPStatus.TOO_MANY_REQUESTS

    def __init__(self, sentence: str, *, retry_after_seconds: float) -> None:
        super().__init__(sentence, headers={"Retry-After": str(max(1, int(retry_after_seconds)))})


def validation_sentence(errors: Sequence[Any]) -> str:
    """Say pydantic's findings about a request in one or more sentences, most of them short."""
    return " ".join(_finding(error) for error in errors[:5])


def _finding(error: Mapping[str, Any]) -> str:
    place = [str(part) for part in error["loc"] if part not in {"body", "query", "path", "header"}]
    if error["type"] == "json_invalid":
        return 'The body is not JSON; send an object such as {"video_url": "…"}.'
    if not place:
        return 'The body must be a JSON object such as {"video_url": "…"}.'
    name = ".".join(place)
    if error["type"] == "missing":
        return f"{name} is missing."
    if error["type"] == "extra_forbidden":
        return f"{name} is no field of this request; /openapi.json lists them."
    shown = repr(error.get("input"))
    shown = shown if len(shown) <= _INPUT_CHARACTERS else f"{shown[:_INPUT_CHARACTERS]}…"
    return f"{name} {shown} cannot be used: {str(error['msg'])[:200].rstrip('.')}."
