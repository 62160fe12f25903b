"""Reads and writes AVeriTeC's JSON: real-world claims with questions, answers and source URLs.

The format is a list of objects with claim, label, justification, claim_date (day-month-year),
speaker, original_claim_url, fact_checking_article, reporting_source, claim_types,
fact_checking_strategies and questions; each question has answers that name their source
(Schlichtkrull, Guo and Vlachos 2023, arXiv:2305.13117, section 3, and the data set's files). Import
and export keep all of these and the archived copies of sources. They drop location_ISO_code,
required_reannotation and cached_original_claim_url, because nothing here uses them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer

from factible_assets.corpora.format import ClaimEntry
from factible_assets.corpora.reading import CorpusVideo
from factible_assets.exchange.claims import AnnotatedClaim, ClaimsAndProblems
from factible_assets.exchange.json_items import DataSetModel, items_of_list, validated
from factible_assets.exchange.results import DISCLAIMER, SOFTWARE, Export, exported
from factible_assets.records.scales import AVERITEC, stance_of
from factible_assets.records.stances import STANCES
from factible_assets.records.tables import Claim, ReviewAction, Verdict
from factible_assets.report.data import ReportData, source_links
from factible_assets.wording import moment_url
from resources.text_files import PlacedError

_DAY_FIRST: Final = re.compile(r"(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})")
_TYPES: Final = (
    "Event/Property Claim", "Numerical Claim", "Quote Verification", "Causal Claim",
    "Position Statement",
)  # fmt: skip
"""Claim types (arXiv:2305.13117, table 2); a claim's other tags are strategies."""

_STRATEGIES: Final = (
    "Written Evidence", "Consultation", "Numerical Comparison", "Fact-checker Reference",
    "Satirical Source Identification", "Expert Consultation", "Geolocation", "Image analysis",
    "Video Analysis", "Audio Analysis", "Keyword Search",
)  # fmt: skip
_KINDS: Final = ("Extractive", "Abstractive", "Boolean", "Unanswerable")
UNANSWERED: Final = "No answer could be found."


def day_of(text: str) -> date:
    """Read a date, day first or ISO 8601. Raises ValueError with the expected form."""
    match = _DAY_FIRST.fullmatch(text.strip())
    try:
        if match:
            return date(int(match[3]), int(match[2]), int(match[1]))
        return date.fromisoformat(text.strip())
    except ValueError as error:
        raise ValueError("it is no day. Write it as DD-MM-YYYY.") from error


def day_words(day: date | None) -> str | None:
    return f"{day:%d-%m-}{day.year:04}" if day else None


def _known_kind(value: str | None) -> str | None:
    if value is not None and value.capitalize() not in _KINDS:
        raise ValueError(f"it is none of {', '.join(_KINDS)}. Correct it.")
    return value.lower() if value else None


def _known_label(value: str | None) -> str | None:
    if value is not None:
        stance_of(value, AVERITEC)
    return value


Text = Annotated[str | None, AfterValidator(lambda value: value or None)]
Kind = Annotated[
    str | None,
    AfterValidator(_known_kind),
    PlainSerializer(lambda value: value and value.capitalize()),
]
Day = Annotated[
    date | None,
    BeforeValidator(lambda value: day_of(value) if isinstance(value, str) else value),
    PlainSerializer(day_words),
]


class _Answer(DataSetModel):
    """An answer. Field names follow the corpus format, aliases follow the data set."""

    text: str = Field(alias="answer")
    kind: Kind = Field(None, alias="answer_type")
    source_url: Text = None
    medium: Text = Field(None, alias="source_medium")
    archived_url: Text = Field(None, alias="cached_source_url")
    explanation: Text = Field(None, alias="boolean_explanation")


class _Question(DataSetModel):
    text: str = Field(alias="question", min_length=1)
    answers: tuple[_Answer, ...] = ()


class _Averitec(DataSetModel):
    text: str = Field(alias="claim", min_length=1, pattern=r"\S")
    label: Annotated[str | None, AfterValidator(_known_label)] = None
    reasoning: Text = Field(None, alias="justification")
    said_on: Day = Field(None, alias="claim_date")
    speaker: Text = None
    appeared_at: Text = Field(None, alias="original_claim_url")
    review_url: Text = Field(None, alias="fact_checking_article")
    channel: Text = Field(None, alias="reporting_source")
    claim_types: tuple[str, ...] = ()
    strategies: tuple[str, ...] = Field((), alias="fact_checking_strategies")
    questions: tuple[_Question, ...] = ()

    def to_item(self, **others: Any) -> dict[str, Any]:
        """Return the JSON object of the data set, with further keys."""
        item = self.model_dump(by_alias=True)
        for answer in (answer for question in item["questions"] for answer in question["answers"]):
            if answer["boolean_explanation"] is None:
                del answer["boolean_explanation"]
        return {**item, **others}


_OF_CLAIM: Final = {"text", "reasoning", "speaker", "appeared_at", "review_url"}
"""The fields of a claim that have the same name in the corpus format."""


def read_averitec(text: str, file: Path) -> ClaimsAndProblems:
    """Read AVeriTeC's JSON. Never raises: unusable items become problems with a line."""
    try:
        for item in items_of_list(text):
            read = validated(_Averitec, item, file)
            if not isinstance(read, _Averitec):
                yield from read
                continue
            claim = ClaimEntry.model_validate(
                {
                    **read.model_dump(include=_OF_CLAIM | {"label", "questions"}),
                    "said_on": read.said_on,
                    "stance": stance_of(read.label, AVERITEC) if read.label else None,
                }
            )
            tags = tuple(dict.fromkeys((*read.claim_types, *read.strategies)))
            yield AnnotatedClaim(claim, item.line, language="en", channel=read.channel, tags=tags)
    except PlacedError as error:
        yield error.at(file)


def write_averitec(claims: Iterable[tuple[CorpusVideo, ClaimEntry]]) -> str:
    """Return annotated claims in AVeriTeC's form. A claim without a stance has no label."""
    items = []
    for listed, claim in claims:
        video = listed.video
        values = {
            **claim.model_dump(include=_OF_CLAIM | {"questions"}),
            "label": STANCES[claim.stance].averitec if claim.stance else None,
            "said_on": claim.said_on or video.published_on,
            "appeared_at": claim.appeared_at or video.url,
            "channel": video.channel,
            "claim_types": [tag for tag in video.tags if tag in _TYPES],
            "strategies": [tag for tag in video.tags if tag in _STRATEGIES],
        }
        items.append(_Averitec.model_validate(values).to_item())
    return _dumped(items)


def averitec_of_results(checked: Iterable[ReportData]) -> Export:
    """Return complete verdicts as AVeriTeC claims: label, justification, questions, answers.

    A query becomes a question, and each of its quotes an extractive answer with its source URL. A
    query without a quote is unanswerable. Incomplete verdicts have no label, so the result omits
    them.
    """
    return exported(checked, _result, _dumped)


def _result(
    data: ReportData, claim: Claim, verdict: Verdict | None, _: ReviewAction | None
) -> dict[str, Any] | None:
    if verdict is None or verdict.stance is None:
        return None
    values = {
        "text": claim.text,
        "label": STANCES[verdict.stance].averitec,
        "reasoning": verdict.summary,
        "speaker": claim.speaker,
        "said_on": data.video.published_on,
        "appeared_at": moment_url(data.video, claim.start_seconds) or data.video.url,
        "channel": data.video.channel,
        "questions": _questions(data, claim),
    }
    # AVeriTeC has no keys for the software's authorship and origin.
    return _Averitec.model_validate(values).to_item(
        made_by=SOFTWARE,
        disclaimer=DISCLAIMER,
        basis=verdict.basis,
        confidence=verdict.confidence,
        video_id=claim.video_id,
        claim_id=claim.claim_id,
    )


def _questions(data: ReportData, claim: Claim) -> list[dict[str, Any]]:
    """Return the queries of a claim as questions, and the quotes that they found as answers."""
    queries = [row for row in data.queries if row.claim_id == claim.claim_id and row.status == "ok"]
    quoted = [
        row for row in data.evidence if row.claim_id == claim.claim_id and row.quote is not None
    ]
    links = source_links(data, quoted)
    answers: dict[str, list[dict[str, Any]]] = {query.query_id: [] for query in queries}
    # If a verdict outlived a failed re-check, the queries of its quotes no longer exist.
    without_query: list[dict[str, Any]] = []
    for row in quoted:
        answer = {
            "text": row.quote,
            "kind": "extractive",
            "source_url": links[row.evidence_id] or row.canonical_url,
            "medium": "PDF" if row.via == "pdf" else "Web text",
        }
        answers.get(row.query_id, without_query).append(answer)
    none = [{"text": UNANSWERED, "kind": "unanswerable"}]
    questions = [{"text": q.text, "answers": answers[q.query_id] or none} for q in queries]
    if without_query:
        questions.append({"text": claim.text, "answers": without_query})
    return questions


def _dumped(items: list[dict[str, Any]]) -> str:
    return json.dumps(items, ensure_ascii=False, indent=2) + "\n"
