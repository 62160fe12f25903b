"""What was checked, in AVeriTeC's form.

What belongs here: claims with verdicts, queries and quotes as that data set writes claims, labels,
questions and answers. What does not: annotated claims (averitec.py), ClaimReview
(claim_review_writing.py), tables (tables.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from factible_assets.exchange.averitec import UNANSWERED, day_words, dumped
from factible_assets.exchange.claim_review_writing import DISCLAIMER, SOFTWARE, Export, exported
from factible_assets.methods.scales import AVERITEC, label_of
from factible_assets.records import Claim, Evidence, Stance, Verdict
from factible_assets.report.data import ReportData
from factible_assets.report.links import source_links
from factible_assets.wording import moment_url

_UNANSWERED: Final = {
    "answer": UNANSWERED,
    "answer_type": "Unanswerable",
    "source_url": None,
    "source_medium": None,
    "cached_source_url": None,
}


def averitec_of_results(checked: Iterable[ReportData]) -> Export:
    """Write complete verdicts as AVeriTeC's claims: label, justification, questions, answers.

    A query is a question, and each quote found by it an extractive answer with its source URL; a
    query that found none is unanswerable. Incomplete verdicts have no label and are left out.
    """
    return exported(checked, _item, dumped)


def _item(data: ReportData, claim: Claim, verdict: Verdict, stance: Stance) -> dict[str, Any]:
    return {
        "claim": claim.text,
        "label": label_of(stance, AVERITEC),
        "justification": verdict.summary,
        "claim_date": day_words(data.video.published_on),
        "speaker": None,
        "original_claim_url": moment_url(data.video, claim.start_seconds) or data.video.url,
        "fact_checking_article": None,
        "reporting_source": data.video.channel,
        "claim_types": [],
        "fact_checking_strategies": [],
        "questions": _questions(data, claim),
        # Not AVeriTeC's: that no person made this, and where it comes from.
        "made_by": SOFTWARE,
        "disclaimer": DISCLAIMER,
        "basis": verdict.basis,
        "confidence": verdict.confidence,
        "video_id": claim.video_id,
        "claim_id": claim.claim_id,
    }


def _questions(data: ReportData, claim: Claim) -> list[dict[str, Any]]:
    quoted = [
        row for row in data.evidence if row.claim_id == claim.claim_id and row.quote is not None
    ]
    asked = [
        query for query in data.queries if query.claim_id == claim.claim_id and query.status == "ok"
    ]
    known = {query.query_id for query in asked}
    links = source_links(data)
    questions = [
        {
            "question": query.text,
            "answers": [_answer(row, links) for row in quoted if row.query_id == query.query_id]
            or [_UNANSWERED],
        }
        for query in asked
    ]
    # A verdict that outlived a failed re-check rests on quotes of queries that are no more.
    others = [_answer(row, links) for row in quoted if row.query_id not in known]
    if others:
        questions.append({"question": claim.text, "answers": others})
    return questions


def _answer(row: Evidence, links: Mapping[str, str | None]) -> dict[str, Any]:
    return {
        "answer": row.quote,
        "answer_type": "Extractive",
        "source_url": links[row.evidence_id] or row.canonical_url,
        "source_medium": "PDF" if row.via == "pdf" else "Web text",
        "cached_source_url": None,
    }
