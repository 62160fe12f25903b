"""Writes ClaimReview, the mark-up of published fact-checks (schema.org/ClaimReview).

A review states that a machine made it: its author is the software with its version,
`digitalSourceType` has schema.org's value for it, a disclaimer says so in words, and `identifier`
holds the basis of the verdict. An incomplete verdict is no rating, so it gives no review. If a
person signed a ruling, the review is theirs: rating, words and author come from the ruling, and
`identifier` holds the machine's verdict.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import partial
from typing import Any, Final
from urllib.parse import quote

from factible_assets.corpora.format import ClaimEntry
from factible_assets.corpora.reading import CorpusVideo
from factible_assets.exchange.results import DISCLAIMER, SOFTWARE, Export, exported
from factible_assets.records.stances import STANCES
from factible_assets.records.tables import Basis, Claim, ReviewAction, Stance, Verdict
from factible_assets.report.data import ReportData, source_links
from factible_assets.wording import moment_url, sureness, verdict_words
from resources.files import report_name

SCALE: Final = (
    "Rating scale: 1 refuted, 2 mixed (good evidence on both sides, or true for some only), 3 "
    "supported; unclear has no number."
)
_SOURCE_TYPES: Final[Mapping[Basis, str]] = {
    "embedded": "https://schema.org/AlgorithmicMediaDigitalSource",
    "labels": "https://schema.org/TrainedAlgorithmicMediaDigitalSource",
    "llm": "https://schema.org/TrainedAlgorithmicMediaDigitalSource",
}
_BASIS_WORDS: Final[Mapping[Basis, str]] = {
    "labels": "an automatic leaning of a small language model that read the pages",
    "embedded": "an automatic leaning of rules and word statistics",
    "llm": "the reading of a language model",
}


def reviews_of_results(
    checked: Iterable[ReportData], *, base_url: str | None = None, only: str | None = None
) -> Export:
    """Return reviews of the complete verdicts of videos and of the rulings on them.

    With a `base_url`, each review links to its claim in the report below that URL, or to the URL
    with `{video}` and `{claim}` filled in. Without it, links are relative to the reports' folder.
    """
    return exported(checked, partial(_review, base_url), _document, only=only)


def reviews_of_corpus(name: str, claims: Iterable[tuple[CorpusVideo, ClaimEntry]]) -> Export:
    """Return annotated claims as reviews by their annotators. Claims without a stance give none."""
    nodes: list[dict[str, Any]] = []
    unjudged = 0
    for listed, claim in claims:
        if claim.stance is None:
            unjudged += 1
            continue
        video = listed.video
        appeared = claim.appeared_at or video.url
        item = {
            "@type": "Claim",
            "text": claim.text,
            "author": _person(claim.speaker),
            "datePublished": _day(claim.said_on or video.published_on),
            "firstAppearance": {"@type": "CreativeWork", "url": appeared} if appeared else None,
        }
        words = claim.label or STANCES[claim.stance].word.capitalize()
        annotators = claim.review_publisher or f"Annotators of the corpus {name}"
        node = {
            "@type": "ClaimReview",
            "url": claim.review_url or report_name(video.video_id),
            "claimReviewed": claim.text,
            "inLanguage": video.language,
            "author": {"@type": "Organization", "name": annotators},
            "reviewRating": _rating(claim.stance, words, claim.reasoning or SCALE),
            "itemReviewed": _known(item),
        }
        nodes.append(_known(node))
    return Export(_document(nodes), len(nodes), unjudged=unjudged)


# --- One result ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Opinion:
    """A ruling or a verdict as a review: rating, further keys, and its origin for `identifier`."""

    stance: Stance
    words: str
    explanation: str
    keys: Mapping[str, Any]
    origin: Mapping[str, str | float | None]


def _review(
    base_url: str | None,
    data: ReportData,
    claim: Claim,
    verdict: Verdict | None,
    ruling: ReviewAction | None,
) -> dict[str, Any] | None:
    """Return the signed ruling as a review, or the machine's verdict if there is no ruling."""
    if ruling is not None:
        opinion = _signed(ruling, verdict)
    elif verdict is not None and verdict.stance is not None:
        opinion = _automatic(verdict, verdict.stance, data)
    else:
        return None
    video = data.video
    url = _claim_url(base_url, video.video_id, claim)
    appearance = {
        "@type": "VideoObject",
        "name": video.title,
        "url": moment_url(video, claim.start_seconds) or video.url,
        "datePublished": _day(video.published_on),
        "publisher": {"@type": "Organization", "name": video.channel} if video.channel else None,
    }
    item = {
        "@type": "Claim",
        "text": claim.text,
        "inLanguage": video.language,
        # A label such as A or SPEAKER_01 is not a name.
        "author": _person(claim.speaker if re.match(r"\D{2,}\Z", claim.speaker or "") else None),
        "datePublished": _day(video.published_on),
        "appearance": _known(appearance),
    }
    identifier = {
        "video_id": claim.video_id,
        "claim_id": claim.claim_id,
        **opinion.origin,
        "run_id": data.run_id,
    }
    return {
        "@type": "ClaimReview",
        "@id": url,
        "url": url,
        "claimReviewed": claim.text,
        "itemReviewed": _known(item),
        **opinion.keys,
        "reviewRating": _rating(opinion.stance, opinion.words, opinion.explanation),
        "citation": _citations(data, claim, opinion.stance),
        "identifier": [
            {"@type": "PropertyValue", "propertyID": key, "value": value}
            for key, value in _known(identifier).items()
        ],
    }


def _signed(ruling: ReviewAction, verdict: Verdict | None) -> _Opinion:
    stance: Stance = ruling.stance or "unclear"
    employer = ruling.organisation and {"@type": "Organization", "name": ruling.organisation}
    author = {"@type": "Person", "name": ruling.reviewer, "affiliation": employer}
    keys = {
        "datePublished": _day(ruling.acted_at),
        "author": _known(author),
        "reviewBody": ruling.reason,
    }
    origin: dict[str, str | float | None] = {"basis": "signed", "scale": ruling.target}
    if verdict is not None:
        origin["machine_verdict"] = verdict.stance
        origin["machine_confidence"] = verdict.confidence
        origin["machine_basis"] = verdict.basis
    words = ruling.value or STANCES[stance].word
    return _Opinion(stance, words, ruling.reason or "", keys, origin)


def _automatic(verdict: Verdict, stance: Stance, data: ReportData) -> _Opinion:
    # A failed re-check keeps the old verdict, with its old date.
    failed = data.failed_rechecks.get(verdict.claim_id)
    made_by = f"Fact-checking software, not a publisher. {DISCLAIMER}"
    keys = {
        "datePublished": _day(failed.reached_at if failed else data.checked_at),
        "author": {"@type": "Organization", "name": SOFTWARE, "description": made_by},
        "digitalSourceType": _SOURCE_TYPES[verdict.basis],
        "disambiguatingDescription": f"{DISCLAIMER} Basis: {_BASIS_WORDS[verdict.basis]}.",
        "reviewBody": verdict.summary,
    }
    confidence = f"{verdict.confidence} confidence, " if sureness(verdict) else ""
    words = f"{verdict_words(verdict).capitalize()} ({confidence}automatic)"
    origin = verdict.model_dump(include={"basis", "confidence", "confidence_score"})
    return _Opinion(stance, words, f"{SCALE} {DISCLAIMER}", keys, origin)


def _claim_url(base_url: str | None, video_id: str, claim: Claim) -> str:
    claim_id = quote(claim.claim_id, safe="")
    if base_url and "{claim}" in base_url:
        return base_url.replace("{video}", quote(video_id, safe="")).replace("{claim}", claim_id)
    folder = f"{base_url.rstrip('/')}/" if base_url else ""
    return f"{folder}{report_name(video_id)}#claim-{claim_id}"


def _citations(data: ReportData, claim: Claim, stance: Stance) -> list[dict[str, Any]]:
    """Return the quotes behind a rating. Only an unclear verdict cites quotes without a stance."""
    quoted = [
        row
        for row in data.evidence
        if row.claim_id == claim.claim_id and row.quote is not None
        if row.stance != "unclear" or stance == "unclear"
    ]
    links = source_links(data, quoted)
    return [
        {
            "@type": "Quotation",
            "text": row.quote,
            "isPartOf": {
                "@type": "WebPage",
                "name": row.title,
                "url": links[row.evidence_id] or row.canonical_url,
            },
        }
        for row in quoted
    ]


# --- JSON-LD ------------------------------------------------------------------------------------


def _document(nodes: list[dict[str, Any]]) -> str:
    document = {"@context": "https://schema.org", "@graph": nodes}
    text = json.dumps(document, ensure_ascii=False, indent=2) + "\n"
    # Pages embed this in <script type="application/ld+json">; stored text must not close that tag.
    return text.replace("<", "\\u003c")


def _rating(stance: Stance, words: str, explanation: str) -> dict[str, Any]:
    rating = {"@type": "Rating", "alternateName": words, "ratingExplanation": explanation}
    weight = STANCES[stance].weight
    if weight is None:
        return rating
    return {**rating, "ratingValue": weight + 2, "worstRating": 1, "bestRating": 3}


def _person(name: str | None) -> dict[str, str] | None:
    return {"@type": "Person", "name": name} if name else None


def _day(moment: date | datetime | None) -> str | None:
    """Return a day, or the day of a moment in UTC, as 2026-01-31."""
    if isinstance(moment, datetime):
        moment = moment.astimezone(UTC).date()
    return moment.isoformat() if moment is not None else None


def _known(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}
