"""The report of one video as its reader meets it: records arranged, counted and put into words.

What belongs here: the video, the summary, the transcript, the stored texts, the work behind the
report. What does not: single claims (claims.py), markup, judgement of any kind; every number here
was stored by a stage.

Text stays text: nothing in this module escapes or builds markup, the template does (autoescaped).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from factible_assets.records import Basis, Evidence, MediaFinding, Page
from factible_assets.report.claims import ClaimView, Shelves
from factible_assets.report.data import ReportData
from factible_assets.report.links import safe_url, youtube_id
from factible_assets.report.passages import Block, StoredText, stored_text, transcript_blocks
from factible_assets.report.words import OUTCOMES, outcome_words
from factible_assets.wording import counted, dollars

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
