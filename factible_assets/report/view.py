"""A report, and the index of all, as their reader meets them: arranged, counted, put into words.

What belongs here: the video, the summary, the transcript, the stored texts, the work behind the
report; rows and filters of the index. What does not: single claims (claims.py), markup, filtering
itself (index.js), judgement of any kind; every number here was stored by a stage.

Text stays text: nothing in this module escapes or builds markup, the template does (autoescaped).
"""

from __future__ import annotations

import base64
import gzip
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from factible_assets.records import Basis, Confidence, Evidence, MediaFinding, Page
from factible_assets.report.claims import ClaimView, Shelves, claim_anchor
from factible_assets.report.data import IndexedVideo, ReportData
from factible_assets.report.links import safe_url
from factible_assets.report.passages import Block, StoredText, stored_text, transcript_blocks
from factible_assets.report.words import GLYPHS, OUTCOME_WORDS, OUTCOMES, day, outcome_words
from factible_assets.wording import clock, counted, dollars, youtube_id

_CLEAREST = 4
CONFIDENCES: tuple[Confidence, ...] = ("high", "medium", "low")
_RANKS = ("", *reversed(CONFIDENCES))
_DIGITS = 4
_BASE = 64
_ZERO = "0"
_ANCHOR = 5
"""Characters of a claim's id that tell it from others of its video; report.js finds the rest."""


@dataclass(frozen=True, slots=True)
class Count:
    """How many claims ended one way. `offset` and `share` place it in a bar of width 100."""

    outcome: str
    words: str
    number: int
    offset: float
    share: float


@dataclass(frozen=True, slots=True)
class StoredView:
    """A stored page text, which quotes of which claims stand in it, and one of the sources."""

    anchor: str
    source: Evidence
    link: str | None
    page: Page | None
    text: StoredText
    claims: tuple[ClaimView, ...]


@dataclass(frozen=True, slots=True)
class ReportView:
    """What the template prints beside the rows. `length` is the video's, in seconds.

    `pictures` has by picture its findings, each with a link that may be shown.
    """

    data: ReportData
    youtube_id: str | None
    verdict_of: str
    counts: tuple[Count, ...]
    claims: tuple[ClaimView, ...]
    by_id: Mapping[str, ClaimView]
    clearest: tuple[ClaimView, ...]
    length: float
    transcript: tuple[Block, ...]
    stored: tuple[StoredView, ...]
    pictures: Mapping[str, list[tuple[MediaFinding, str | None]]]
    work: tuple[tuple[str, str], ...]


def arrange(data: ReportData) -> ReportView:
    """Arrange the records of one video for its reader, claims in order of time."""
    texts = data.texts
    hashes = [row.content_hash for row in data.evidence if row.status == "ok" and row.content_hash]
    kept = [each for each in dict.fromkeys(hashes) if each in texts]
    anchors = {content_hash: f"text-{n}" for n, content_hash in enumerate(kept, 1)}
    shelves = Shelves(data, anchors)
    claims = tuple(shelves.claim_view(claim, n) for n, claim in enumerate(data.in_time, 1))
    by_id = {view.claim.claim_id: view for view in claims}
    # Those that take a side with most confidence come first, if there are others.
    sided = sorted(
        (view for view in claims if view.outcome in {"supports", "refutes"}),
        key=lambda view: (
            (view.verdict and view.verdict.confidence_score) or 0.0,
            view.claim.importance,
        ),
        reverse=True,
    )
    judges = {
        "embedded": "the embedded engine (an automatic leaning)",
        "llm": "a language model",
    }
    bases: set[str] = {each.basis for each in data.verdicts or data.claims}
    ends = [segment.start_seconds + segment.duration_seconds for segment in data.segments]
    times = [claim.start_seconds or 0.0 for claim in data.claims]
    # What was not asked, or merely looks alike, is left out.
    told = [row for row in data.media if row.status in {"ok", "infra_error"}]
    pictures: dict[str, list[tuple[MediaFinding, str | None]]] = {row.picture: [] for row in told}
    for row in told:
        if row.kind != "match" or row.match_class != "similar":
            pictures[row.picture].append((row, safe_url(row.url)))
    return ReportView(
        data=data,
        youtube_id=youtube_id(data.video),
        verdict_of=" and ".join(words for basis, words in judges.items() if basis in bases)
        or "nobody yet",
        counts=count_outcomes(
            (view.outcome, view.verdict.basis if view.verdict else None) for view in claims
        ),
        claims=claims,
        by_id=by_id,
        clearest=tuple(sided[:_CLEAREST]) if len(claims) > _CLEAREST else (),
        length=max([data.video.duration_seconds or 0.0, *ends, *times]),
        transcript=transcript_blocks(data.transcript.text, data.segments, data.claims)
        if data.transcript
        else (),
        stored=tuple(
            _stored_view(shelves, by_id, content_hash, anchor)
            for content_hash, anchor in anchors.items()
        ),
        pictures=pictures,
        work=(*_work(data), *_cost(data)),
    )


def count_outcomes(outcomes: Iterable[tuple[str, Basis | None]]) -> tuple[Count, ...]:
    """Count claims by outcome; an outcome that the embedded engine alone reached is a leaning."""
    each_with_basis = list(outcomes)
    found = Counter(outcome for outcome, _ in each_with_basis)
    counts: list[Count] = []
    offset = 0.0
    for outcome in OUTCOMES:
        if number := found[outcome]:
            bases = {basis for each, basis in each_with_basis if each == outcome}
            words = outcome_words(outcome, "embedded" if bases == {"embedded"} else None)
            share = 100.0 * number / len(each_with_basis)
            counts.append(Count(outcome, words, number, offset, share))
            offset += share
    return tuple(counts)


def _stored_view(
    shelves: Shelves, by_id: Mapping[str, ClaimView], content_hash: str, anchor: str
) -> StoredView:
    text = shelves.texts[content_hash]
    rows = [
        row for row in shelves.in_order if row.content_hash == content_hash and row.status == "ok"
    ]
    quotes = [
        (row.quote_start, row.quote_end, shelves.anchor_of(row))
        for row in rows
        if row.quote_start is not None
        and row.quote_end is not None
        and text[row.quote_start : row.quote_end] == row.quote
    ]
    claims = dict.fromkeys(row.claim_id for row in rows if row.claim_id in by_id)
    return StoredView(
        anchor=anchor,
        source=rows[0],
        link=shelves.links[rows[0].evidence_id],
        page=shelves.pages.get(rows[0].page_id or ""),
        text=stored_text(text, quotes),
        claims=tuple(sorted((by_id[each] for each in claims), key=lambda view: view.number)),
    )


def _work(data: ReportData) -> tuple[tuple[str, str], ...]:
    """Count the work behind the report."""
    statuses = Counter(evidence.status for evidence in data.evidence)
    numbers = {
        "Claims": len(data.claims),
        "Queries": sum(bool(query.text) for query in data.queries),
        "Searches": len(data.searches),
        "Sources that speak of a claim": statuses["ok"],
        "Sources with nothing on it": statuses["no_evidence"],
        "Sources that failed": statuses["infra_error"],
        "Sources skipped": statuses["skipped"],
        "Domains rated": len(data.ratings),
        "Quotes rejected as not verbatim": sum(row.rejected_quotes for row in data.evidence),
    }
    text = counted(len(data.transcript.text), "character") if data.transcript else "–"
    return (*((name, f"{number:,}") for name, number in numbers.items()), ("Transcript", text))


def _cost(data: ReportData) -> tuple[tuple[str, str], ...]:
    """Say with which models and prompts, and what it cost."""
    seconds = sum(each.duration_seconds for each in data.sets.values())
    took = [("Time taken", f"{seconds:.1f} s")] if data.sets else []
    calls = data.llm_calls
    if not calls:
        return (*took, ("Model calls", "none"), ("Cost", "nothing: no language model was asked"))
    cached = sum(call.cache_hit for call in calls)
    from_cache = f", {cached:,} of them answered from the cache" if cached else ""
    cost = dollars(sum(call.cost_usd for call in calls))
    if unpriced := sorted({call.model for call in calls if not call.price_known}):
        cost += f", without what {', '.join(unpriced)} cost: no price is listed"
    read, written = sum(c.input_tokens for c in calls), sum(c.output_tokens for c in calls)
    return (
        *took,
        ("Model calls", f"{len(calls):,}{from_cache}"),
        ("Models", ", ".join(sorted({call.model for call in calls}))),
        ("Prompts", ", ".join(sorted({call.prompt_version for call in calls}))),
        ("Tokens", f"{read:,} read, {written:,} written"),
        ("Cost", cost),
    )


# --- The index ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class IndexRow:
    """A row of the table of videos. `href` is None where no report is written.

    `under` is what stands below the title, in words, the channel first.
    """

    number: int
    of: IndexedVideo
    href: str | None
    under: tuple[str, ...]
    counts: tuple[Count, ...]


@dataclass(frozen=True, slots=True)
class IndexView:
    """Everything that the template of the index prints.

    `choices` has by filter each value, its words, and for how many claims or videos it holds.
    `checked_at` is that of the newest check, timezone-aware.
    """

    rows: tuple[IndexRow, ...]
    counts: tuple[Count, ...]
    claim_count: int
    is_leaning: bool
    cost_usd: float
    checked_at: datetime | None
    choices: Mapping[str, Sequence[tuple[str, str, int]]]


def arrange_index(videos: Sequence[IndexedVideo], hrefs: Mapping[str, str]) -> IndexView:
    """Arrange all videos; `hrefs` has the relative address of each report that is written."""
    rows = []
    for number, item in enumerate(videos, 1):
        video, href = item.video, hrefs.get(item.video.video_id)
        under = (
            video.channel,
            day(video.published_on) if video.published_on else None,
            clock(video.duration_seconds) if video.duration_seconds is not None else None,
            video.corpus,
            video.category,
            None if href else f"no report is written: factible report -- {video.video_id}",
        )
        counts = count_outcomes((claim.outcome, claim.basis) for claim in item.claims)
        rows.append(IndexRow(number, item, href, tuple(filter(None, under)), counts))
    claims = [claim for item in videos for claim in item.claims]
    found: dict[str, Counter[str]] = {
        "outcome": Counter(claim.outcome for claim in claims),
        "confidence": Counter(claim.confidence or "" for claim in claims),
        "corpus": Counter(item.video.corpus or "" for item in videos),
        "category": Counter(item.video.category or "" for item in videos),
        "channel": Counter(item.video.channel or "" for item in videos),
    }
    orders: dict[str, Sequence[str]] = {"outcome": OUTCOMES, "confidence": CONFIDENCES}
    return IndexView(
        rows=tuple(rows),
        counts=count_outcomes((claim.outcome, claim.basis) for claim in claims),
        claim_count=len(claims),
        is_leaning=any(claim.basis == "embedded" for claim in claims),
        cost_usd=sum(item.cost_usd for item in videos),
        checked_at=max((item.checked_at for item in videos if item.checked_at), default=None),
        choices={
            name: [
                (value, OUTCOME_WORDS[value] if name == "outcome" else value, numbers[value])
                for value in orders.get(name) or sorted(numbers, key=str.casefold)
                if value and numbers[value]
            ]
            for name, numbers in found.items()
        },
    )


def packed(view: IndexView) -> str:
    """Return all rows for index.js to show page by page: JSON, compressed, in base64.

    Packed, because the texts of 6,000 claims are most of a megabyte. Nothing in it is markup, and
    base64 has no character that could become some. Words stand once, and the claims are numbers of
    words, digit by digit: compression alone finds repeated letters, and half as much.
    """
    # A claim's words, and the empty one at which they end.
    every = [
        word for row in view.rows for claim in row.of.claims for word in (*claim.text.split(), "")
    ]
    words = [word for word, _ in Counter(every).most_common()]
    numbers = {word: number for number, word in enumerate(words)}
    said = [
        "".join(chr(ord(_ZERO) + numbers[word] // _BASE**digit % _BASE) for word in every)
        for digit in range(_DIGITS)
    ]
    videos = [
        (
            row.of.video.title,
            row.href,
            row.under,
            row.of.video.corpus or "",
            row.of.video.category or "",
            row.of.video.channel or "",
            row.of.checked_at.date().isoformat() if row.of.checked_at else "",
            row.of.changes,
            [
                (
                    None if claim.start_seconds is None else int(claim.start_seconds),
                    claim_anchor(claim.claim_id, number)[:_ANCHOR],
                    OUTCOMES.index(claim.outcome),
                    int(claim.basis == "embedded"),
                    _RANKS.index(claim.confidence or ""),
                    claim.supporting,
                    claim.refuting,
                )
                for number, claim in enumerate(row.of.claims, 1)
            ],
        )
        for row in view.rows
    ]
    outcomes = [
        (name, OUTCOME_WORDS[name], outcome_words(name, "embedded"), GLYPHS[name])
        for name in OUTCOMES
    ]
    document = {"outcomes": outcomes, "confidences": _RANKS, "videos": videos}
    document |= {"words": words, "said": said}
    # Lone surrogates, which a transcript may hold, are no UTF-8.
    text = json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")
    return base64.b64encode(gzip.compress(text, mtime=0)).decode()
