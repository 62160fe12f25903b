"""The report of one video as its reader meets it: records arranged, counted and put into words.

What belongs here: the video, the summary, the transcript, the stored texts, the work behind the
report. What does not: single claims (claims.py), markup, judgement of any kind; every number here
was stored by a stage.

Text stays text: nothing in this module escapes or builds markup, the template does (autoescaped).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from factible_assets.records import Basis, MediaFinding, Page, Video
from factible_assets.report.claims import ClaimView, Shelves
from factible_assets.report.data import ReportData, VerdictChange
from factible_assets.report.links import safe_url, youtube_id
from factible_assets.report.passages import Block, StoredText, stored_text, transcript_blocks
from factible_assets.report.words import (
    INCOMPLETE,
    OUTCOMES,
    dollars,
    outcome_words,
    plural,
)
from factible_assets.wording import moment_url

_CLEAREST = 4


@dataclass(frozen=True, slots=True)
class Count:
    """How many claims ended one way. `offset` and `share` place it in a bar of width 100."""

    outcome: str
    words: str
    number: int
    offset: float
    share: float


@dataclass(frozen=True, slots=True)
class BlockView:
    """A paragraph of the transcript with the link to its second."""

    block: Block
    seconds: int | None
    jump: str | None


@dataclass(frozen=True, slots=True)
class Tick:
    """A claim on the video's time line; `place` is in percent of the length."""

    claim: ClaimView
    place: float


@dataclass(frozen=True, slots=True)
class StoredView:
    """A stored page text, and which quotes of which claims stand in it."""

    anchor: str
    title: str
    domain: str
    link: str | None
    content_hash: str
    page: Page | None
    text: StoredText
    claims: tuple[ClaimView, ...]


@dataclass(frozen=True, slots=True)
class PictureView:
    """A picture of the video and its findings, each with a link that may be shown."""

    name: str
    findings: tuple[tuple[MediaFinding, str | None], ...]


@dataclass(frozen=True, slots=True)
class ReportView:
    """Everything that the template prints."""

    video: Video
    video_link: str | None
    youtube_id: str | None
    thesis: str | None
    run_id: str | None
    checked_at: datetime | None
    is_leaning: bool
    bases: tuple[Basis, ...]
    counts: tuple[Count, ...]
    claims: tuple[ClaimView, ...]
    by_id: Mapping[str, ClaimView]
    incomplete: tuple[ClaimView, ...]
    clearest: tuple[ClaimView, ...]
    ticks: tuple[Tick, ...]
    transcript: tuple[BlockView, ...]
    transcript_words: str | None
    stored: tuple[StoredView, ...]
    changes: tuple[VerdictChange, ...]
    checks: int
    prior_count: int
    pictures: tuple[PictureView, ...]
    work: tuple[tuple[str, str], ...]
    cost: tuple[tuple[str, str], ...]


def arrange(data: ReportData) -> ReportView:
    """Arrange the records of one video for its reader, claims in order of time."""
    texts = data.texts
    hashes = [row.content_hash for row in data.evidence if row.status == "ok" and row.content_hash]
    kept = [each for each in dict.fromkeys(hashes) if each in texts]
    anchors = {content_hash: f"text-{n}" for n, content_hash in enumerate(kept, 1)}
    shelves = Shelves(data, anchors)
    in_time = sorted(
        data.claims,
        key=lambda c: (c.start_seconds is None, c.start_seconds or 0.0, c.char_start or 0, c.rank),
    )
    claims = tuple(shelves.claim_view(claim, number) for number, claim in enumerate(in_time, 1))
    # Those that take a side with most confidence come first, if there are others.
    sided = sorted(
        (view for view in claims if view.outcome in {"supports", "refutes"}),
        key=lambda view: (
            (view.verdict and view.verdict.confidence_score) or 0.0,
            view.claim.importance,
        ),
        reverse=True,
    )
    bases = sorted(
        {v.basis for v in data.verdicts}
        or {c.basis for c in data.claims if c.basis in {"embedded", "llm"}}
    )
    by_id = {view.claim.claim_id: view for view in claims}
    return ReportView(
        video=data.video,
        video_link=safe_url(data.video.url),
        youtube_id=youtube_id(data.video),
        thesis=next((claim.thesis for claim in data.claims if claim.thesis), None),
        run_id=data.run_id,
        checked_at=data.checked_at,
        is_leaning=any(verdict.basis == "embedded" for verdict in data.verdicts),
        bases=tuple(bases),
        counts=count_outcomes(
            [(view.outcome, view.verdict.basis if view.verdict else None) for view in claims]
        ),
        claims=claims,
        by_id=by_id,
        incomplete=tuple(view for view in claims if view.outcome == INCOMPLETE),
        clearest=tuple(sided[:_CLEAREST]) if len(claims) > _CLEAREST else (),
        ticks=_ticks(data, claims),
        transcript=_transcript(data),
        transcript_words=_transcript_words(data),
        stored=tuple(
            _stored_view(data, shelves, by_id, content_hash, anchor)
            for content_hash, anchor in anchors.items()
        ),
        changes=tuple(sorted(data.changes, key=lambda c: (c.checked_at, c.claim_id))),
        checks=data.checks,
        prior_count=sum(len(view.prior) for view in claims),
        pictures=_pictures(data),
        work=_work(data),
        cost=_cost(data),
    )


def _pictures(data: ReportData) -> tuple[PictureView, ...]:
    """Group the findings by picture; what was not asked, or merely looks alike, is left out."""
    told = [row for row in data.media if row.status in {"ok", "infra_error"}]
    return tuple(
        PictureView(
            name,
            tuple(
                (row, safe_url(row.url) if row.url else None)
                for row in told
                if row.picture == name and (row.kind != "match" or row.match_class != "similar")
            ),
        )
        for name in dict.fromkeys(row.picture for row in told)
    )


def count_outcomes(outcomes: Sequence[tuple[str, Basis | None]]) -> tuple[Count, ...]:
    """Count claims by outcome; an outcome that the embedded engine alone reached is a leaning."""
    found = Counter(outcome for outcome, _ in outcomes)
    counts: list[Count] = []
    offset = 0.0
    for outcome in OUTCOMES:
        if number := found[outcome]:
            bases = {basis for each, basis in outcomes if each == outcome}
            words = outcome_words(outcome, "embedded" if bases == {"embedded"} else None)
            share = 100.0 * number / len(outcomes)
            counts.append(Count(outcome, words, number, offset, share))
            offset += share
    return tuple(counts)


def _ticks(data: ReportData, claims: Sequence[ClaimView]) -> tuple[Tick, ...]:
    ends = [segment.start_seconds + segment.duration_seconds for segment in data.segments]
    times = [view.claim.start_seconds for view in claims if view.claim.start_seconds is not None]
    length = max([data.video.duration_seconds or 0.0, *ends, *times], default=0.0)
    if length <= 0:
        return ()
    return tuple(
        Tick(view, 100.0 * view.claim.start_seconds / length)
        for view in claims
        if view.claim.start_seconds is not None
    )


def _transcript(data: ReportData) -> tuple[BlockView, ...]:
    if data.transcript is None:
        return ()
    blocks = transcript_blocks(data.transcript.text, data.segments, data.claims)
    is_there = youtube_id(data.video) is not None
    return tuple(
        BlockView(
            block,
            None if block.start_seconds is None else int(block.start_seconds),
            moment_url(data.video, block.start_seconds) if is_there else None,
        )
        for block in blocks
    )


def _transcript_words(data: ReportData) -> str | None:
    if data.transcript is None:
        return None
    kinds = {"manual": "Captions written by a person", "generated": "Automatic captions"}
    kind = kinds.get(data.transcript.kind, "A transcript of unknown making")
    language = f", language {data.transcript.language}" if data.transcript.language else ""
    times = "" if data.segments else "; it has no times"
    return f"{kind}{language}, from {data.transcript.provider}{times}."


def _stored_view(
    data: ReportData,
    shelves: Shelves,
    by_id: Mapping[str, ClaimView],
    content_hash: str,
    anchor: str,
) -> StoredView:
    text = shelves.texts[content_hash]
    rows = shelves.quotes_in(content_hash)
    quotes = [
        (row.quote_start, row.quote_end, shelves.anchor_of(row))
        for row in rows
        if row.quote_start is not None
        and row.quote_end is not None
        and text[row.quote_start : row.quote_end] == row.quote
    ]
    first = rows[0]
    page = shelves.pages.get(first.page_id or "")
    claims = dict.fromkeys(row.claim_id for row in rows if row.claim_id in by_id)
    return StoredView(
        anchor=anchor,
        title=first.title.strip() or first.canonical_url,
        domain=first.domain,
        link=shelves.links[first.evidence_id],
        content_hash=content_hash,
        page=page,
        text=stored_text(text, quotes),
        claims=tuple(sorted((by_id[each] for each in claims), key=lambda view: view.number)),
    )


def _work(data: ReportData) -> tuple[tuple[str, str], ...]:
    """Count the work behind the report."""
    statuses = Counter(evidence.status for evidence in data.evidence)
    return (
        ("Claims", f"{len(data.claims):,}"),
        ("Queries", f"{sum(bool(query.text) for query in data.queries):,}"),
        ("Searches", f"{len(data.searches):,}"),
        ("Sources that speak of a claim", f"{statuses['ok']:,}"),
        ("Sources with nothing on it", f"{statuses['no_evidence']:,}"),
        ("Sources that failed", f"{statuses['infra_error']:,}"),
        ("Sources skipped", f"{statuses['skipped']:,}"),
        ("Domains rated", f"{len(data.ratings):,}"),
        (
            "Quotes rejected as not verbatim",
            f"{sum(row.rejected_quotes for row in data.evidence):,}",
        ),
        ("Transcript", plural(len(data.transcript.text), "character") if data.transcript else "–"),
    )


def _cost(data: ReportData) -> tuple[tuple[str, str], ...]:
    """Say who judged, with which prompts, and what it cost."""
    took = [("Time taken", f"{data.seconds:.1f} s")] if data.seconds is not None else []
    if not data.llm_calls:
        return (*took, ("Model calls", "none"), ("Cost", "nothing: no language model was asked"))
    cached = sum(call.cache_hit for call in data.llm_calls)
    from_cache = f", {cached:,} of them answered from the cache" if cached else ""
    cost = dollars(sum(call.cost_usd for call in data.llm_calls))
    if unpriced := sorted({call.model for call in data.llm_calls if not call.price_known}):
        cost += f", without what {', '.join(unpriced)} cost: no price is listed"
    read = sum(call.input_tokens for call in data.llm_calls)
    written = sum(call.output_tokens for call in data.llm_calls)
    return (
        *took,
        ("Model calls", f"{len(data.llm_calls):,}{from_cache}"),
        ("Models", ", ".join(sorted({call.model for call in data.llm_calls}))),
        ("Prompts", ", ".join(sorted({call.prompt_version for call in data.llm_calls}))),
        ("Tokens", f"{read:,} read, {written:,} written"),
        ("Cost", cost),
    )
