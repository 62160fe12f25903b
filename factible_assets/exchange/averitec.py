"""AVeriTeC's JSON: real-world claims with questions, answers and source URLs.

What belongs here: that form, in both directions. What does not: the corpus format.

Source of the form: Schlichtkrull, Guo and Vlachos 2023, arXiv:2305.13117, section 3, and the data
set's own files: a list of objects with claim, label, justification, claim_date (day-month-year),
speaker, original_claim_url, fact_checking_article, reporting_source, claim_types,
fact_checking_strategies and questions, each question with answers that name their source.

Carried both ways: everything that is named above, and archived copies of sources. Not carried,
because nothing here uses it: location_ISO_code, required_reannotation, cached_original_claim_url.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import Any, Final

from pydantic import Field, field_validator

from factible_assets.corpora.format import AnswerEntry, AnswerKind, ClaimEntry, QuestionEntry
from factible_assets.corpora.reading import CorpusVideo
from factible_assets.exchange.claims import StatedClaim, StatedClaims
from factible_assets.exchange.json_items import Item, Loose, items_of_list, validated
from factible_assets.methods.scales import AVERITEC, label_of, stance_of
from resources.lines import FileProblem, PlacedError

_DAY_FIRST: Final = re.compile(r"(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})")
_TYPES: Final = (
    "Event/Property Claim",
    "Numerical Claim",
    "Quote Verification",
    "Causal Claim",
    "Position Statement",
)
"""Claim types (arXiv:2305.13117, table 2); all other tags of a claim are strategies."""

_STRATEGIES: Final = (
    "Written Evidence",
    "Consultation",
    "Numerical Comparison",
    "Fact-checker Reference",
    "Satirical Source Identification",
    "Expert Consultation",
    "Geolocation",
    "Image analysis",
    "Video Analysis",
    "Audio Analysis",
    "Keyword Search",
)
_KINDS: Final[dict[AnswerKind, str]] = {
    "extractive": "Extractive",
    "abstractive": "Abstractive",
    "boolean": "Boolean",
    "unanswerable": "Unanswerable",
}
UNANSWERED: Final = "No answer could be found."


class _Answer(Loose):
    answer: str
    answer_type: str | None = None
    boolean_explanation: str | None = None
    source_url: str | None = None
    cached_source_url: str | None = None
    source_medium: str | None = None

    @field_validator("answer_type")
    @classmethod
    def _is_known(cls, value: str | None) -> str | None:
        if value is not None and value.lower() not in _KINDS:
            raise ValueError(f"it is none of {', '.join(_KINDS.values())}. Correct it.")
        return value


class _Question(Loose):
    question: str = Field(min_length=1)
    answers: tuple[_Answer, ...] = ()


class _Claim(Loose):
    claim: str = Field(min_length=1, pattern=r"\S")
    label: str | None = None
    justification: str | None = None
    claim_date: str | None = None
    speaker: str | None = None
    original_claim_url: str | None = None
    fact_checking_article: str | None = None
    reporting_source: str | None = None
    claim_types: tuple[str, ...] = ()
    fact_checking_strategies: tuple[str, ...] = ()
    questions: tuple[_Question, ...] = ()

    @field_validator("label")
    @classmethod
    def _label_is_known(cls, value: str | None) -> str | None:
        if value is not None:
            stance_of(value, AVERITEC)
        return value

    @field_validator("claim_date")
    @classmethod
    def _date_is_a_day(cls, value: str | None) -> str | None:
        if value is not None:
            day_of(value)
        return value


def read_averitec(text: str, file: Path) -> StatedClaims:
    """Read AVeriTeC's JSON. Never raises: what cannot be used is a problem with its line."""
    claims: list[StatedClaim] = []
    problems: list[FileProblem] = []
    try:
        for item in items_of_list(text):
            given, found = validated(_Claim, item, file)
            problems.extend(found)
            if given is not None:
                claims.append(_stated(given, item))
    except PlacedError as error:
        problems.append(error.at(file))
    return StatedClaims(tuple(claims), tuple(problems))


def write_averitec(claims: Iterable[tuple[CorpusVideo, ClaimEntry]]) -> str:
    """Return annotated claims of a corpus in AVeriTeC's form; without a stance, without a label."""
    return dumped([_as_item(listed, claim) for listed, claim in claims])


def dumped(items: Sequence[dict[str, Any]]) -> str:
    """Return items as the data set writes them."""
    return json.dumps(items, ensure_ascii=False, indent=2) + "\n"


def day_of(text: str) -> date:
    """Read a day, written day first or as ISO 8601.

    Raises:
        ValueError: it is no day; the message says how to write one.
    """
    match = _DAY_FIRST.fullmatch(text.strip())
    try:
        if match:
            return date(int(match[3]), int(match[2]), int(match[1]))
        return date.fromisoformat(text.strip())
    except ValueError as error:
        raise ValueError("it is no day. Write it as DD-MM-YYYY.") from error


def day_words(day: date | None) -> str | None:
    """Write a day as the data set does."""
    return f"{day:%d-%m-}{day.year:04}" if day else None


def _stated(given: _Claim, item: Item) -> StatedClaim:
    claim = ClaimEntry(
        text=given.claim,
        stance=stance_of(given.label, AVERITEC) if given.label else None,
        reasoning=given.justification or None,
        label=given.label,
        speaker=given.speaker or None,
        said_on=day_of(given.claim_date) if given.claim_date else None,
        appeared_at=given.original_claim_url or None,
        review_url=given.fact_checking_article or None,
        questions=tuple(
            QuestionEntry(text=each.question, answers=tuple(_answer(a) for a in each.answers))
            for each in given.questions
        ),
    )
    return StatedClaim(
        claim,
        line=item.line,
        language="en",
        channel=given.reporting_source or None,
        tags=tuple(dict.fromkeys((*given.claim_types, *given.fact_checking_strategies))),
    )


def _answer(given: _Answer) -> AnswerEntry:
    return AnswerEntry.model_validate(
        {
            "text": given.answer,
            "kind": given.answer_type.lower() if given.answer_type else None,
            "explanation": given.boolean_explanation or None,
            "source_url": given.source_url or None,
            "archived_url": given.cached_source_url or None,
            "medium": given.source_medium or None,
        }
    )


def _as_item(listed: CorpusVideo, claim: ClaimEntry) -> dict[str, Any]:
    tags = listed.video.tags
    return {
        "claim": claim.text,
        "label": label_of(claim.stance, AVERITEC) if claim.stance else None,
        "justification": claim.reasoning,
        "claim_date": day_words(claim.said_on or listed.video.published_on),
        "speaker": claim.speaker,
        "original_claim_url": claim.appeared_at or listed.video.url,
        "fact_checking_article": claim.review_url,
        "reporting_source": listed.video.channel,
        "claim_types": [tag for tag in tags if tag in _TYPES],
        "fact_checking_strategies": [tag for tag in tags if tag in _STRATEGIES],
        "questions": [
            {"question": each.text, "answers": [_as_answer(answer) for answer in each.answers]}
            for each in claim.questions
        ],
    }


def _as_answer(answer: AnswerEntry) -> dict[str, Any]:
    values = {
        "answer": answer.text,
        "answer_type": _KINDS[answer.kind] if answer.kind else None,
        "source_url": answer.source_url,
        "source_medium": answer.medium,
        "cached_source_url": answer.archived_url,
    }
    if answer.explanation:
        values["boolean_explanation"] = answer.explanation
    return values
