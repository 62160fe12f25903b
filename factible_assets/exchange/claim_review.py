"""Reads and writes ClaimReview, the mark-up of published fact-checks (schema.org/ClaimReview).

Google requires a claimReviewed, a reviewRating with an alternateName or a number, and a url.
Publishers put reviews alone, in a list, in @graph, in a DataFeed, or as the mainEntity of a page.
The reader follows an @id to another node of the same file and fetches nothing.

A written review states that a machine made it: its author is the software with its version,
`digitalSourceType` has schema.org's value for it, a disclaimer says so in words, and `identifier`
holds the basis of the verdict. An incomplete verdict is no rating, so it gives no review. If a
person signed a ruling, the review is theirs: rating, words and author come from the ruling, and
`identifier` holds the machine's verdict.
"""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from factible_assets.corpora.format import ClaimEntry
from factible_assets.corpora.reading import CorpusVideo
from factible_assets.exchange.claims import AnnotatedClaim, Stated
from factible_assets.records.scales import stance_of_rating
from factible_assets.records.stances import STANCES
from factible_assets.records.tables import Basis, Claim, ReviewAction, Stance, Verdict
from factible_assets.report.data import ReportData, source_links
from factible_assets.version import VERSION
from factible_assets.wording import STANCE_WORDS, moment_url, sureness, verdict_words
from resources.files import report_name
from resources.lines import FileProblem, PlacedError, read_json, shown

_CONTAINERS: Final = (
    "@graph",
    "dataFeedElement",
    "item",
    "itemListElement",
    "mainEntity",
    "mainEntityOfPage",
    "hasPart",
    "review",
    "subjectOf",
)
_MAX_REFERENCES: Final = 4
_ENTITY: Final = re.compile(r"&(?:#\d{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,31});", re.IGNORECASE)
_ISO_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")


SOFTWARE: Final = f"factible-assets {VERSION}"

DISCLAIMER: Final = (
    "Made by software, without a person's review. The rating says how the sources that were found "
    "stand to the claim; it can be wrong. Read the sources before relying on it."
)
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


def read_claim_reviews(text: str, file: Path) -> Stated:
    """Read every ClaimReview of a JSON-LD file. Never raises: unusable items become problems."""
    try:
        document = read_json(text)
    except PlacedError as error:
        yield error.at(file)
        return
    graph, reviews = _Graph(), list[Mapping[str, Any]]()
    for node, is_public in _nodes(document):
        if isinstance(node.get("@id"), str) and len(node) > 1:
            graph.setdefault(node["@id"], node)
        if is_public and _is_review(node):
            reviews.append(node)
    if not reviews:
        sentence = "There is no ClaimReview in this file. Give JSON-LD that contains some."
        yield FileProblem(file, 1, sentence)
    for number, node in enumerate(reviews, start=1):
        try:
            yield _stated(node, graph)
        except ValueError as error:
            sentence = f"Review {number} ({shown(_text(node.get('claimReviewed')))}): {error}"
            yield FileProblem(file, None, sentence)


class _Graph(dict[str, Mapping[str, Any]]):
    """The nodes of a document by their @id."""

    def node(self, value: Any) -> Mapping[str, Any]:
        """Return the node itself, or the node that it refers to, or an empty one."""
        for _ in range(_MAX_REFERENCES):
            if isinstance(value, list):
                value = value[0] if value else None
            if isinstance(value, str):
                return self.get(value, {})
            if not isinstance(value, dict):
                return {}
            name = value.get("@id")
            if len(value) > 1 or not isinstance(name, str) or name not in self:
                return value
            value = self[name]
        return {}


def _nodes(document: Any) -> Iterator[tuple[Mapping[str, Any], bool]]:
    """Yield every object in order, and whether it is in a place where publishers put reviews.

    A loop, because recursion could overflow.
    """
    waiting = [(document, True)]
    while waiting:
        current, is_public = waiting.pop()
        inner: list[tuple[Any, bool]] = []
        if isinstance(current, dict):
            yield current, is_public
            inner = [(each, is_public and key in _CONTAINERS) for key, each in current.items()]
        elif isinstance(current, list):
            inner = [(each, is_public) for each in current]
        waiting += reversed(inner)


def _is_review(node: Mapping[str, Any]) -> bool:
    kinds = node.get("@type")
    listed = kinds if isinstance(kinds, list) else [kinds]
    return any(re.split(r"[/:#]", str(kind))[-1] == "ClaimReview" for kind in listed)


def _stated(node: Mapping[str, Any], graph: _Graph) -> AnnotatedClaim:
    text = _text(node.get("claimReviewed"))
    if not text:
        raise ValueError("claimReviewed is missing. Add the claim, or take the review out.")
    rating = graph.node(node.get("reviewRating"))
    words = _text(rating.get("alternateName")) or _text(rating.get("name"))
    value = _number(rating.get("ratingValue"))
    if not words and value is None:
        raise ValueError(
            "reviewRating has neither an alternateName nor a ratingValue. Add one, or take the "
            "review out."
        )
    item = graph.node(node.get("itemReviewed"))
    said_on = None
    if day := _ISO_DAY.match(_text(item.get("datePublished")) or ""):
        with suppress(ValueError):
            said_on = date.fromisoformat(day.group())
    return AnnotatedClaim(
        ClaimEntry(
            text=text,
            stance=stance_of_rating(
                words, value, _number(rating.get("worstRating")), _number(rating.get("bestRating"))
            ),
            label=words or (None if value is None else f"{value:g}"),
            reasoning=_text(rating.get("ratingExplanation"))
            or _text(node.get("reviewBody"))
            or _text(node.get("description")),
            speaker=_text(graph.node(item.get("author")).get("name")) or _text(item.get("author")),
            said_on=said_on,
            appeared_at=_url(item.get("firstAppearance"), graph)
            or _url(item.get("appearance"), graph)
            or _url(item.get("url"), graph),
            review_url=_url(node.get("url"), graph),
            review_publisher=_text(graph.node(node.get("author")).get("name"))
            or _text(graph.node(node.get("publisher")).get("name")),
        ),
        language=_text(node.get("inLanguage")),
    )


def _text(value: Any) -> str | None:
    """Return the text of a value that may be a list of texts or a language map.

    It decodes HTML entities twice, because some publishers encode them twice.
    """
    for _ in range(_MAX_REFERENCES):
        if isinstance(value, list):
            value = value[0] if value else None
        elif isinstance(value, dict):
            value = value.get("@value")
    if not isinstance(value, str):
        return None
    # Half a surrogate pair is no character, and no file can store it.
    whole_characters = value.encode("utf-8", "replace").decode()
    for _ in range(2):
        whole_characters = _ENTITY.sub(_decoded, whole_characters)
    return whole_characters.strip() or None


def _decoded(entity: re.Match[str]) -> str:
    return html.unescape(entity[0]).replace("\xa0", " ")


def _url(value: Any, graph: _Graph) -> str | None:
    text = _text(value)
    if text is None:
        node = graph.node(value)
        text = _text(node.get("url")) or _text(node.get("@id"))
    return text if text and text.lower().startswith(("http://", "https://")) else None


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


# --- Written -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Export:
    """A document of rated claims, and the number of claims without a rating."""

    text: str
    count: int
    incomplete: int = 0
    unjudged: int = 0


def exported(
    checked: Iterable[ReportData],
    make: Callable[[ReportData, Claim, Verdict | None, ReviewAction | None], dict[str, Any] | None],
    render: Callable[[list[dict[str, Any]]], str],
    *,
    only: str | None = None,
) -> Export:
    """Build one item per rated claim, in the order of the claims in their videos.

    `make` gets the verdict and the signed ruling of a claim. It returns None if neither is a
    rating, and the result counts that claim as left out.
    """
    items: list[dict[str, Any]] = []
    incomplete = unjudged = 0
    for data in checked:
        verdicts, rulings = data.verdict_of, data.rulings
        for claim in data.in_time:
            if only in {None, claim.claim_id}:
                verdict = verdicts.get(claim.claim_id)
                item = make(data, claim, verdict, rulings.get(claim.claim_id))
                if item is not None:
                    items.append(item)
                elif verdict is None:
                    unjudged += 1
                else:
                    incomplete += 1
    return Export(render(items), len(items), incomplete, unjudged)


def reviews_of_results(
    checked: Iterable[ReportData], *, base_url: str | None = None, only: str | None = None
) -> Export:
    """Return reviews of the complete verdicts of videos and of the rulings on them.

    With a `base` URL, each review links to its claim in the report below that URL, or to the URL
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
        words = claim.label or STANCE_WORDS[claim.stance].capitalize()
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


def _person(name: str | None) -> dict[str, str] | None:
    return {"@type": "Person", "name": name} if name else None


def _document(nodes: list[dict[str, Any]]) -> str:
    document = {"@context": "https://schema.org", "@graph": nodes}
    text = json.dumps(document, ensure_ascii=False, indent=2) + "\n"
    # Pages embed this in <script type="application/ld+json">; stored text must not close that tag.
    return text.replace("<", "\\u003c")


def _review(
    base_url: str | None,
    data: ReportData,
    claim: Claim,
    verdict: Verdict | None,
    ruling: ReviewAction | None,
) -> dict[str, Any] | None:
    """Return the signed ruling as a review, or the machine's verdict if there is no ruling."""
    named: dict[str, str | float | None] = {"video_id": claim.video_id, "claim_id": claim.claim_id}
    if ruling is not None:
        stance: Stance = ruling.stance or "unclear"
        house = ruling.organisation and {"@type": "Organization", "name": ruling.organisation}
        author = {"@type": "Person", "name": ruling.reviewer, "affiliation": house}
        words, why = ruling.value or STANCE_WORDS[stance], ruling.reason or ""
        said = {
            "datePublished": _day(ruling.acted_at),
            "author": _known(author),
            "reviewBody": ruling.reason,
        }
        named |= {"basis": "signed", "scale": ruling.target}
        if verdict is not None:
            named["machine_verdict"] = verdict.stance
            named["machine_confidence"] = verdict.confidence
            named["machine_basis"] = verdict.basis
    elif verdict is not None and verdict.stance is not None:
        stance = verdict.stance
        # A failed re-check keeps the old verdict, with its old date.
        failed = data.failed_rechecks.get(claim.claim_id)
        sure = f"{verdict.confidence} confidence, " if sureness(verdict) else ""
        words = f"{verdict_words(verdict).capitalize()} ({sure}automatic)"
        why = f"{SCALE} {DISCLAIMER}"
        made_by = f"Fact-checking software, not a publisher. {DISCLAIMER}"
        said = {
            "datePublished": _day(failed.reached_at if failed else data.checked_at),
            "author": {"@type": "Organization", "name": SOFTWARE, "description": made_by},
            "digitalSourceType": _SOURCE_TYPES[verdict.basis],
            "disambiguatingDescription": f"{DISCLAIMER} Basis: {_BASIS_WORDS[verdict.basis]}.",
            "reviewBody": verdict.summary,
        }
        named |= verdict.model_dump(include={"basis", "confidence", "confidence_score"})
    else:
        return None
    video = data.video
    video_id, claim_id = quote(video.video_id, safe=""), quote(claim.claim_id, safe="")
    url = f"{report_name(video.video_id)}#claim-{claim_id}"
    if base_url and "{claim}" in base_url:
        url = base_url.replace("{video}", video_id).replace("{claim}", claim_id)
    elif base_url:
        url = f"{base_url.rstrip('/')}/{url}"
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
    return {
        "@type": "ClaimReview",
        "@id": url,
        "url": url,
        "claimReviewed": claim.text,
        "itemReviewed": _known(item),
        **said,
        "reviewRating": _rating(stance, words, why),
        "citation": list(_citations(data, claim, stance)),
        "identifier": [
            {"@type": "PropertyValue", "propertyID": key, "value": value}
            for key, value in {**named, "run_id": data.run_id}.items()
            if value is not None
        ],
    }


def _rating(stance: Stance, words: str, explanation: str) -> dict[str, Any]:
    rating = {"@type": "Rating", "alternateName": words, "ratingExplanation": explanation}
    weight = STANCES[stance].weight
    if weight is None:
        return rating
    return {**rating, "ratingValue": weight + 2, "worstRating": 1, "bestRating": 3}


def _citations(data: ReportData, claim: Claim, stance: Stance) -> Iterator[dict[str, Any]]:
    """Yield the quotes behind a rating. Only an unclear verdict cites quotes without a stance."""
    quoted = [
        row
        for row in data.evidence
        if row.claim_id == claim.claim_id and row.quote is not None
        if row.stance != "unclear" or stance == "unclear"
    ]
    links = source_links(data, quoted)
    for row in quoted:
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


def _known(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}
