"""ClaimReview, the mark-up in which fact-checkers publish: writing it.

What belongs here: reviews of claims as JSON-LD, of results and of annotations. What does not:
reading reviews (claim_review.py), where files go (cli/export.py).

A review of a result says of itself that a machine made it: its author is the software with its
version, `digitalSourceType` is schema.org's mark for it, the disclaimer says so in words, and
`identifier` carries the basis of the verdict. An incomplete verdict is no rating and is never
written as one.

A claim on which a person signed a ruling is that person's review: the rating, its words and the
author are theirs, and the machine's verdict stands beside it among the identifiers.

Source of the form: schema.org/ClaimReview and Google's documentation of it: claimReviewed,
reviewRating and url are required; a rating needs its words in alternateName.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final
from urllib.parse import quote

import factible_assets
from factible_assets.corpora.format import ClaimEntry
from factible_assets.corpora.reading import CorpusVideo
from factible_assets.records import Basis, Claim, ReviewAction, Stance, Verdict, Video
from factible_assets.report.data import ReportData
from factible_assets.report.links import source_links
from factible_assets.wording import STANCE_WORDS, moment_url, verdict_words

SOFTWARE: Final = f"factible-assets {factible_assets.__version__}"

DISCLAIMER: Final = (
    "Made by software, without a person's review. The rating says how the sources that were found "
    "stand to the claim; it can be wrong. Read the sources before relying on it."
)
SCALE: Final = (
    "Rating scale: 1 refuted, 2 mixed (good evidence on both sides, or true for some only), 3 "
    "supported; unclear has no number."
)
_VALUES: Final[Mapping[Stance, int]] = {"refutes": 1, "mixed": 2, "supports": 3}
_SOURCE_TYPES: Final[Mapping[Basis, str]] = {
    "embedded": "https://schema.org/AlgorithmicMediaDigitalSource",
    "llm": "https://schema.org/TrainedAlgorithmicMediaDigitalSource",
}
_BASIS_WORDS: Final[Mapping[Basis, str]] = {
    "embedded": "an automatic leaning of rules and word statistics",
    "llm": "the reading of a language model",
}


@dataclass(frozen=True, slots=True)
class Export:
    """Rated claims as a document, and how many claims were left out of it."""

    text: str
    count: int
    incomplete: int = 0
    unjudged: int = 0


def exported(
    checked: Iterable[ReportData],
    make: Callable[[ReportData, Claim, Verdict, Stance], dict[str, Any]],
    render: Callable[[list[dict[str, Any]]], str],
    *,
    sign: Callable[[ReportData, Claim, Verdict | None, ReviewAction], dict[str, Any]] | None = None,
    only: str | None = None,
) -> Export:
    """Make an item of every complete verdict, in the order in which the videos make the claims.

    An incomplete verdict is no rating, and is counted; so is a claim without a verdict.

    Args:
        checked: The videos.
        make: Makes an item of a verdict.
        render: Makes the document.
        sign: Makes an item of a signed ruling, whatever the verdict is.
        only: The id of the one claim that is wanted.
    """
    items: list[dict[str, Any]] = []
    incomplete = unjudged = 0
    for data in checked:
        verdicts = {verdict.claim_id: verdict for verdict in data.verdicts}
        rulings = data.rulings if sign is not None else {}
        # Claims without a time come last.
        for claim in sorted(
            (each for each in data.claims if only in {None, each.claim_id}),
            key=lambda each: (each.start_seconds is None, each.start_seconds or 0.0, each.rank),
        ):
            verdict = verdicts.get(claim.claim_id)
            if sign is not None and claim.claim_id in rulings:
                items.append(sign(data, claim, verdict, rulings[claim.claim_id]))
            elif verdict is None:
                unjudged += 1
            elif verdict.status == "incomplete" or verdict.stance is None:
                incomplete += 1
            else:
                items.append(make(data, claim, verdict, verdict.stance))
    return Export(render(items), len(items), incomplete, unjudged)


def reviews_of_results(
    checked: Iterable[ReportData], *, base_url: str | None = None, only: str | None = None
) -> Export:
    """Write the complete verdicts of checked videos, and the rulings on them, as reviews.

    Args:
        checked: The videos.
        base_url: Where the HTML reports are published; each review then points to its claim in
            `BASE/VIDEO.html`, or to where `{video}` and `{claim}` in it lead. Without one the links
            are relative, to reports beside the file.
        only: The id of the one claim that is wanted; None: all.
    """
    return exported(
        checked, partial(_review, base_url), _document, sign=partial(_signed, base_url), only=only
    )


def reviews_of_corpus(name: str, claims: Iterable[tuple[CorpusVideo, ClaimEntry]]) -> Export:
    """Write annotated claims as reviews by their annotators; without a stance there is none."""
    nodes: list[dict[str, Any]] = []
    unjudged = 0
    for listed, claim in claims:
        if claim.stance is None:
            unjudged += 1
        else:
            nodes.append(_annotation(name, listed, claim, claim.stance))
    return Export(_document(nodes), len(nodes), unjudged=unjudged)


def _document(nodes: list[dict[str, Any]]) -> str:
    document = {"@context": "https://schema.org", "@graph": nodes}
    text = json.dumps(document, ensure_ascii=False, indent=2) + "\n"
    # It is pasted into <script type="application/ld+json">, which stored text must not close.
    return text.replace("<", "\\u003c")


def _review(
    base_url: str | None, data: ReportData, claim: Claim, verdict: Verdict, stance: Stance
) -> dict[str, Any]:
    # A failed re-check does not renew the verdict that it leaves in place.
    outlived = data.outlived.get(claim.claim_id)
    # "Leaning unclear" would lean nowhere.
    words = STANCE_WORDS[stance] if stance == "unclear" else verdict_words(verdict)
    return {
        **_head(base_url, data, claim),
        "datePublished": _day(outlived.reached_at if outlived else data.checked_at),
        "author": {
            "@type": "Organization",
            "name": SOFTWARE,
            "description": f"Fact-checking software, not a publisher. {DISCLAIMER}",
        },
        "digitalSourceType": _SOURCE_TYPES[verdict.basis],
        "disambiguatingDescription": f"{DISCLAIMER} Basis: {_BASIS_WORDS[verdict.basis]}.",
        "reviewBody": verdict.summary,
        "reviewRating": _rating(
            stance,
            f"{words[:1].upper()}{words[1:]} ({verdict.confidence} confidence, automatic)",
            f"{SCALE} {DISCLAIMER}",
        ),
        "citation": list(_citations(data, claim, stance)),
        "identifier": _identifiers(
            claim,
            basis=verdict.basis,
            confidence=verdict.confidence,
            confidence_score=verdict.confidence_score,
            run_id=data.run_id,
        ),
    }


def _signed(
    base_url: str | None,
    data: ReportData,
    claim: Claim,
    verdict: Verdict | None,
    ruling: ReviewAction,
) -> dict[str, Any]:
    """Return the review of a person who signed it; the machine's verdict is named beside it."""
    stance: Stance = ruling.stance or "unclear"
    house = {"@type": "Organization", "name": ruling.organisation} if ruling.organisation else None
    person = {"@type": "Person", "name": ruling.reviewer, "affiliation": house}
    return {
        **_head(base_url, data, claim),
        "datePublished": _day(ruling.acted_at),
        "author": _without_nulls(person),
        "reviewBody": ruling.reason,
        "reviewRating": _rating(stance, ruling.value or STANCE_WORDS[stance], ruling.reason or ""),
        "citation": list(_citations(data, claim, stance)),
        "identifier": _identifiers(
            claim,
            basis="signed",
            scale=ruling.target,
            machine_verdict=verdict.stance if verdict else None,
            machine_confidence=verdict.confidence if verdict else None,
            machine_basis=verdict.basis if verdict else None,
            run_id=data.run_id,
        ),
    }


def _head(base_url: str | None, data: ReportData, claim: Claim) -> dict[str, Any]:
    video, mine = quote(data.video.video_id, safe=""), quote(claim.claim_id, safe="")
    place = f"{video}.html#claim-{mine}"
    url = f"{base_url.rstrip('/')}/{place}" if base_url else place
    if base_url and "{claim}" in base_url:
        url = base_url.replace("{video}", video).replace("{claim}", mine)
    return {
        "@type": "ClaimReview",
        "@id": url,
        "url": url,
        "claimReviewed": claim.text,
        "itemReviewed": _claim(data.video, claim),
    }


def _identifiers(claim: Claim, **values: str | float | None) -> list[dict[str, Any]]:
    named = {"video_id": claim.video_id, "claim_id": claim.claim_id, **values}
    return [
        {"@type": "PropertyValue", "propertyID": key, "value": value}
        for key, value in named.items()
        if value is not None
    ]


def _rating(stance: Stance, words: str, explanation: str) -> dict[str, Any]:
    rating: dict[str, Any] = {
        "@type": "Rating",
        "alternateName": words,
        "ratingExplanation": explanation,
    }
    if stance in _VALUES:
        values = _VALUES.values()
        rating |= {
            "ratingValue": _VALUES[stance],
            "worstRating": min(values),
            "bestRating": max(values),
        }
    return rating


def _claim(video: Video, claim: Claim) -> dict[str, Any]:
    appearance = {
        "@type": "VideoObject",
        "name": video.title,
        "url": moment_url(video, claim.start_seconds) or video.url,
        "datePublished": _day(video.published_on),
        "publisher": {"@type": "Organization", "name": video.channel} if video.channel else None,
    }
    return _without_nulls(
        {
            "@type": "Claim",
            "text": claim.text,
            "inLanguage": video.language,
            "datePublished": _day(video.published_on),
            "appearance": _without_nulls(appearance),
        }
    )


def _citations(data: ReportData, claim: Claim, stance: Stance) -> Iterator[dict[str, Any]]:
    """Yield the quotes that a rating rests on; what settles nothing speaks for unclear alone."""
    links = source_links(data)
    for row in data.evidence:
        if row.claim_id != claim.claim_id or row.quote is None:
            continue
        if row.stance == "unclear" and stance != "unclear":
            continue
        page = {
            "@type": "WebPage",
            "name": row.title,
            "url": links[row.evidence_id] or row.canonical_url,
        }
        yield {"@type": "Quotation", "text": row.quote, "isPartOf": page}


def _day(moment: Any) -> str | None:
    if isinstance(moment, datetime):
        return moment.astimezone(UTC).date().isoformat()
    return moment.isoformat() if moment is not None else None


def _without_nulls(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _annotation(
    corpus: str, listed: CorpusVideo, claim: ClaimEntry, stance: Stance
) -> dict[str, Any]:
    video = listed.video
    appeared = claim.appeared_at or video.url
    said_on = claim.said_on or video.published_on
    item = {
        "@type": "Claim",
        "text": claim.text,
        "author": {"@type": "Person", "name": claim.speaker} if claim.speaker else None,
        "datePublished": _day(said_on),
        "firstAppearance": {"@type": "CreativeWork", "url": appeared} if appeared else None,
    }
    words = claim.label or STANCE_WORDS[stance].capitalize()
    node = {
        "@type": "ClaimReview",
        "url": claim.review_url or f"{quote(video.video_id)}.html",
        "claimReviewed": claim.text,
        "inLanguage": video.language,
        "author": {
            "@type": "Organization",
            "name": claim.review_publisher or f"Annotators of the corpus {corpus}",
        },
        "reviewRating": _rating(stance, words, claim.reasoning or SCALE),
        "itemReviewed": _without_nulls(item),
    }
    return _without_nulls(node)
