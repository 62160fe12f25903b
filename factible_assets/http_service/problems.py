"""What is wrong with a request, said in a sentence with its remedy.

What belongs here: the form of refusals on the wire, problem details (RFC 9457), and the sentences
about malformed requests. What does not: deciding when to refuse; whoever does raises Starlette's
HTTPException with a sentence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response

MEDIA_TYPE = "application/problem+json"
SHOWN_CHARACTERS = 80
"""How much of what somebody sent is said back to them."""


class Problem(BaseModel):
    """Problem details (RFC 9457)."""

    title: str = Field(description="The kind of problem.")
    status: int = Field(description="The HTTP status.")
    detail: str = Field(description="What is wrong and what to do, in a sentence or two.")


def problem_response(error: HTTPException) -> Response:
    """Return the answer that says what is wrong."""
    problem = Problem(
        title=HTTPStatus(error.status_code).phrase, status=error.status_code, detail=error.detail
    )
    return Response(
        problem.model_dump_json(), error.status_code, error.headers, media_type=MEDIA_TYPE
    )


def too_many(sentence: str, retry_after_seconds: float) -> HTTPException:
    """Return the refusal of a quota that is used up, or of workers that are all busy."""
    return HTTPException(429, sentence, {"Retry-After": str(max(1, int(retry_after_seconds)))})


def validation_sentence(errors: Sequence[Mapping[str, Any]]) -> str:
    """Say pydantic's findings about a request in one or more sentences, most of them short."""
    sentences = []
    for error in errors[:5]:
        parts = [str(part) for part in error["loc"]]
        name = ".".join(part for part in parts if part not in {"body", "query", "path", "header"})
        shown = repr(error.get("input"))
        shown = shown if len(shown) <= SHOWN_CHARACTERS else f"{shown[:SHOWN_CHARACTERS]}…"
        if error["type"] == "json_invalid":
            sentence = 'The body is not JSON; send an object such as {"video_url": "…"}.'
        elif not name:
            sentence = 'The body must be a JSON object such as {"video_url": "…"}.'
        elif error["type"] == "missing":
            sentence = f"{name} is missing."
        elif error["type"] == "extra_forbidden":
            sentence = f"{name} is no field of this request; /openapi.json lists them."
        else:
            sentence = f"{name} {shown} cannot be used: {str(error['msg'])[:200].rstrip('.')}."
        sentences.append(sentence)
    return " ".join(sentences)
