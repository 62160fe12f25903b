"""Turns errors into problem details (RFC 9457) for clients."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response

from factible_assets.web.models import FactCheckRequest
from resources.text_files import problem_words


class Problem(BaseModel):
    """Problem details (RFC 9457)."""

    title: str = Field(description="The kind of problem.")
    status: int = Field(description="The HTTP status.")
    detail: str = Field(description="What is wrong and what to do, in a sentence or two.")


PROBLEM_TYPE = "application/problem+json"


def problem_response(error: HTTPException) -> Response:
    title = HTTPStatus(error.status_code).phrase
    body = Problem(title=title, status=error.status_code, detail=error.detail).model_dump_json()
    return Response(body, error.status_code, error.headers, media_type=PROBLEM_TYPE)


def too_many(sentence: str, retry_after_seconds: float) -> HTTPException:
    """Return the refusal for a used-up quota or busy workers."""
    return HTTPException(429, sentence, {"Retry-After": str(max(1, int(retry_after_seconds)))})


def validation_sentence(errors: Sequence[Any]) -> str:
    """Put up to five errors of pydantic about a request into sentences."""
    sentences = []
    for error in errors[:5]:
        place = [part for part in error["loc"] if part not in {"body", "query", "path", "header"}]
        if error["type"] == "json_invalid" or not place:
            sentences.append('The body must be a JSON object such as {"video_url": "…"}.')
        else:
            detail: Any = {**error, "loc": place}
            sentences.append(problem_words(detail, FactCheckRequest))
    return " ".join(sentences)
