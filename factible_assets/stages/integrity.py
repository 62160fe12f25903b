"""Structural integrity: whether the rows of a video are what their tables promise.

What belongs here: rules over the rows of one video, asset by asset, and their judgement. What does
not: rules of one row alone (records.py), quality (evaluation), Dagster (checks/structural.py).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias, TypeVar

from pydantic import ValidationError

from factible_assets.config import SearchConfig
from factible_assets.records import (
    ASSET_RECORDS,
    Claim,
    Evidence,
    LlmCall,
    MediaFinding,
    Page,
    PageText,
    PriorFactCheck,
    Query,
    Record,
    ReliabilityRating,
    Search,
    SearchHit,
    Transcript,
    TranscriptSegment,
    Verdict,
)
from factible_assets.rows import VideoRows
from factible_assets.stages import ids
from factible_assets.stages.search import identity_of, is_reupload, is_the_video
from factible_assets.stages.transcript import Clock
from factible_assets.stages.urls import domain_of, published_at

Row = TypeVar("Row", bound=Record)

_ROUNDING = 1e-6
_SLACK_SECONDS = 10.0
_SLACK_SHARE = 0.05

_NAMES: Mapping[type[Record], str] = {
    Transcript: "transcript",
    TranscriptSegment: "caption {position}",
    Claim: "claim {claim_id}",
    Query: "query {query_id}",
    Search: "search of {query_id} with {provider}, page {page}",
    SearchHit: "hit {hit_id}",
    PriorFactCheck: "prior fact check {prior_fact_check_id}",
    ReliabilityRating: "rating of {domain}",
    Page: "page {page_id}",
    PageText: "page text {content_hash:.12}",
    Evidence: "evidence {evidence_id}",
    Verdict: "verdict on {claim_id}",
    MediaFinding: "finding {finding_id}",
    LlmCall: "model call {call_id}",
}
"""How a row is named to a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRows(VideoRows):
    """The rows of one video. Assets that are not judged are there to be referred to.

    Rows of claims that the video no longer makes may be among those that are referred to; they are
    looked up and never judged. `limits` holds the dates that a run set.
    """

    limits: SearchConfig = field(default_factory=SearchConfig)

    @property
    def claim_ids(self) -> frozenset[str]:
        """The ids of the video's claims."""
        return frozenset(claim.claim_id for claim in self.claims)


@dataclass(frozen=True, slots=True)
class Violation:
    """One row that breaks a rule: which, and how."""

    row: str
    problem: str

    @classmethod
    def of(cls, row: Record, problem: str) -> Violation:
        """Say it of a row by its name."""
        return cls(_NAMES[type(row)].format_map(row.__dict__), problem)

    def __str__(self) -> str:
        """Say both in one line."""
        return f"{self.row}: {self.problem}"


Find: TypeAlias = Callable[[JudgedRows], Iterator[Violation]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule over the rows of one asset.

    Attributes:
        asset: Whose rows it judges.
        name: Unique within the asset.
        description: What it demands, in a sentence.
        find: Yields the violations.
        blocking: Whether rows that break it are refused, and nothing is computed from them.
    """

    asset: str
    name: str
    description: str
    find: Find
    blocking: bool = True


@dataclass(frozen=True, slots=True)
class Finding:
    """What one rule found in the rows of one video. Without violations the rule holds."""

    rule: Rule
    violations: tuple[Violation, ...]

    @property
    def refuses(self) -> bool:
        """Tell whether the rows must not be written."""
        return self.rule.blocking and bool(self.violations)


_SPECIFIC: list[Rule] = []


def rule(asset: str, *, blocking: bool = True) -> Callable[[Find], Find]:
    """Make a generator of violations a rule of an asset; its docstring says what it demands."""

    def enter(find: Find) -> Find:
        _SPECIFIC.append(Rule(asset, find.__name__, str(find.__doc__).strip(), find, blocking))
        return find

    return enter


def rules_of(asset: str) -> tuple[Rule, ...]:
    """Return the rules of one asset, in order."""
    return tuple(each for each in ALL_RULES if each.asset == asset)


def judge(assets: Iterable[str], rows: JudgedRows) -> tuple[Finding, ...]:
    """Hold the rows of some assets against all of their rules. Pure and deterministic."""
    wanted = set(assets)
    return tuple(
        Finding(each, tuple(each.find(rows))) for each in ALL_RULES if each.asset in wanted
    )


# --- What several rules share -------------------------------------------------------------------


def _repeated(rows: Iterable[Record]) -> Iterator[Violation]:
    """Yield a violation for every row whose key another row had before."""
    seen: set[Hashable] = set()
    for row in rows:
        key = tuple(getattr(row, each) for each in row.key)
        if key in seen:
            yield Violation.of(row, "its id stands here twice")
        seen.add(key)


def _unlike(row: Record, **derived: object) -> Iterator[Violation]:
    """Yield a violation for every field of a row that is not what it is derived to be."""
    for name, value in derived.items():
        found = getattr(row, name)
        if found != value:
            problem = f"{name} is {found!r}, and derived from the row it is {value!r}"
            yield Violation.of(row, problem)


def _identified(
    rows: Sequence[Row], name: str, derive: Callable[[Row], str]
) -> Iterator[Violation]:
    """Yield violations unless the ids of rows follow from the rows, each once."""
    yield from _repeated(rows)
    for row in rows:
        yield from _unlike(row, **{name: derive(row)})


def _missing(
    row: Record, what: str, key: Hashable, known: Iterable[Hashable]
) -> Iterator[Violation]:
    """Yield a violation if a row refers to what is not there."""
    if key not in known:
        yield Violation.of(row, f"it refers to the {what} {key}, which is not there")


def _ranks(rows: Iterable[Claim | Query | Verdict], what: str) -> Iterator[Violation]:
    """Yield a violation unless ranks count from 1 without a gap."""
    for expected, row in enumerate(sorted(rows, key=lambda row: row.rank), start=1):
        if row.rank != expected:
            problem = f"its rank is {row.rank}; {what} count from 1 without a gap"
            yield Violation.of(row, problem)
            return


# --- What was said: transcripts, claims ---------------------------------------------------------


@rule("transcripts")
def transcript_is_one_text(rows: JudgedRows) -> Iterator[Violation]:
    """There is one transcript, and its hash is that of its text."""
    if len(rows.transcripts) != 1:
        yield Violation("transcript", f"there are {len(rows.transcripts)} of them, not one")
    for transcript in rows.transcripts:
        yield from _unlike(transcript, content_hash=ids.content_hash(transcript.text))


@rule("transcripts")
def captions_stand_in_the_text(rows: JudgedRows) -> Iterator[Violation]:
    """Captions are counted from 0, and follow each other in the text and in time."""
    length = len(rows.transcript.text) if rows.transcript else 0
    ordered = sorted(rows.segments, key=lambda segment: segment.position)
    for expected, segment in enumerate(ordered):
        if segment.position != expected:
            yield Violation.of(segment, "captions are counted from 0 without a gap")
            return
        if segment.char_end > length:
            yield Violation.of(segment, f"it ends at {segment.char_end}, and the text at {length}")
    for before, after in pairwise(ordered):
        if after.char_start < before.char_end:
            yield Violation.of(after, "it begins in the text before the caption before it ends")
        if after.start_seconds < before.start_seconds:
            yield Violation.of(after, "it is shown before the caption before it")


# A breach may be a mistake of the corpus file, which must not stop a fact-check.
@rule("transcripts", blocking=False)
def captions_fit_the_video(rows: JudgedRows) -> Iterator[Violation]:
    """Captions begin before the video ends, with some slack for rounded lengths."""
    length = rows.video.duration_seconds
    if length is None:
        return
    latest = length + max(_SLACK_SECONDS, length * _SLACK_SHARE)
    late = next((each for each in rows.segments if each.start_seconds > latest), None)
    if late is not None:
        yield Violation.of(
            late,
            f"it begins at {late.start_seconds:.1f} s, and the video has {length:.1f} s: is this "
            "the transcript of another video?",
        )


@rule("claims")
def claim_ids_are_derived(rows: JudgedRows) -> Iterator[Violation]:
    """A claim's id follows from the video and its wording, and is there once."""
    video_id = rows.video.video_id
    yield from _identified(rows.claims, "claim_id", lambda row: ids.claim_id(video_id, row.text))


@rule("claims")
def claims_are_in_order(rows: JudgedRows) -> Iterator[Violation]:
    """Ranks count from 1, the most important claim first."""
    yield from _ranks(rows.claims, "claims")
    for before, after in pairwise(sorted(rows.claims, key=lambda claim: claim.rank)):
        if after.importance > before.importance:
            problem = f"it is more important than claim {before.claim_id} before it"
            yield Violation.of(after, problem)


@rule("claims")
def claims_stand_in_the_transcript(rows: JudgedRows) -> Iterator[Violation]:
    """A claim's place lies in the text, and its time is that of the captions there."""
    clock = Clock.of(rows.segments)
    length = len(rows.transcript.text) if rows.transcript else 0
    for claim in rows.claims:
        if claim.char_start is None or claim.char_end is None:
            continue
        if claim.char_end > length:
            problem = f"it ends at {claim.char_end}, and the transcript at {length}"
            yield Violation.of(claim, problem)
            continue
        for verb, said, there in (
            ("begin", claim.start_seconds, clock.start_at(claim.char_start)),
            ("end", claim.end_seconds, clock.second_at(claim.char_end)),
        ):
            known = said is not None and there is not None
            if abs((said or 0.0) - (there or 0.0)) > _ROUNDING if known else said is not there:
                problem = f"it is said to {verb} at {said} s, its caption at {there}"
                yield Violation.of(claim, problem)


# --- What was looked for: queries, search_hits, reliability_ratings -----------------------------


@rule("queries")
def query_ids_are_derived(rows: JudgedRows) -> Iterator[Violation]:
    """A query's id follows from its claim and its wording, and is there once."""
    yield from _identified(
        rows.queries, "query_id", lambda row: ids.query_id(row.claim_id, row.text)
    )


@rule("queries")
def every_claim_has_queries(rows: JudgedRows) -> Iterator[Violation]:
    """Queries belong to claims, count from 1, have words or a reason, and no claim lacks them."""
    for query in rows.queries:
        yield from _missing(query, "claim", query.claim_id, rows.claim_ids)
        if not (query.text.strip() if query.status == "ok" else query.reason):
            yield Violation.of(query, f"its status is {query.status}, and its words are missing")
    for claim in rows.claims:
        own = [query for query in rows.queries if query.claim_id == claim.claim_id]
        if not own:
            yield Violation.of(claim, "it has neither a query nor a reason")
        yield from _ranks(own, "a claim's queries")


@rule("search_hits")
def searches_belong_to_queries(rows: JudgedRows) -> Iterator[Violation]:
    """Each search is of a query that was written, is there once, and says why it failed."""
    known = {(query.query_id, query.claim_id) for query in rows.queries}
    yield from _repeated(rows.searches)
    for search in rows.searches:
        yield from _missing(search, "query", (search.query_id, search.claim_id), known)
        if search.status == "infra_error" and not search.reason:
            yield Violation.of(search, "it failed and does not say why")
        if (search.status == "ok") != (search.hit_count > 0):
            problem = f"its status is {search.status}, with {search.hit_count} results"
            yield Violation.of(search, problem)


@rule("search_hits")
def hits_are_identified(rows: JudgedRows) -> Iterator[Violation]:
    """A hit's id follows from its query and canonical URL, and that from its URL."""
    yield from _identified(
        rows.hits, "hit_id", lambda hit: ids.hit_id(hit.query_id, hit.canonical_url)
    )
    for hit in rows.hits:
        yield from _unlike(hit, canonical_url=identity_of(hit.url), domain=domain_of(hit.url))


@rule("search_hits")
def hits_belong_to_searches(rows: JudgedRows) -> Iterator[Violation]:
    """Each hit was found by a query of its claim, through a search that succeeded."""
    known = {(query.query_id, query.claim_id) for query in rows.queries}
    answered = {row.query_id for row in rows.searches if row.status == "ok"}
    for hit in rows.hits:
        yield from _missing(hit, "query", (hit.query_id, hit.claim_id), known)
        if (hit.query_id, hit.claim_id) in known and hit.query_id not in answered:
            yield Violation.of(hit, "no search of its query had results")


@rule("search_hits")
def fact_checks_belong_to_claims(rows: JudgedRows) -> Iterator[Violation]:
    """What fact-checkers have published is identified, and stands beside a claim."""
    yield from _identified(
        rows.prior_fact_checks,
        "prior_fact_check_id",
        lambda row: ids.prior_fact_check_id(row.claim_id, row.canonical_url),
    )
    for row in rows.prior_fact_checks:
        yield from _missing(row, "claim", row.claim_id, rows.claim_ids)


@rule("reliability_ratings")
def every_domain_is_rated_once(rows: JudgedRows) -> Iterator[Violation]:
    """Each domain that was found has one rating, which says why."""
    yield from _repeated(rows.ratings)
    for rating in rows.ratings:
        if not any(reason.strip() for reason in rating.reasons):
            yield Violation.of(rating, "it gives no reason")
    rated = {rating.domain for rating in rows.ratings}
    claims = rows.claim_ids
    found = {hit.domain for hit in rows.hits if hit.domain and hit.claim_id in claims}
    for domain in sorted(found - rated):
        yield Violation(f"domain {domain}", "it was found and is not rated")


# --- What was found: evidence, verdicts, media --------------------------------------------------


@rule("evidence")
def page_ids_are_derived(rows: JudgedRows) -> Iterator[Violation]:
    """A page's id follows from its URL and content, its domain from where it answered."""
    yield from _identified(
        rows.pages, "page_id", lambda page: ids.page_id(page.canonical_url, page.content_hash)
    )
    for page in rows.pages:
        if answered := domain_of(published_at(page.final_url or "")):
            yield from _unlike(page, domain=answered)
    for text in rows.page_texts:
        yield from _unlike(text, content_hash=ids.content_hash(text.text))


@rule("evidence")
def every_text_has_its_page(rows: JudgedRows) -> Iterator[Violation]:
    """What was read is the text of its own page, or the snippet of its own hit, and is stored."""
    texts, pages = rows.texts, {page.page_id: page for page in rows.pages}
    snippets = {hit.hit_id: ids.content_hash(hit.snippet) for hit in rows.hits}
    referring: list[Page | Evidence] = [*rows.pages, *rows.evidence]
    for each in referring:
        if each.content_hash is not None:
            yield from _missing(each, "text", each.content_hash, texts)
    for row in rows.evidence:
        # Of a row without its page or hit, the rule on references tells.
        own = row.content_hash
        if row.via == "snippet":
            own = snippets.get(row.hit_id, own)
        elif row.page_id in pages:
            own = pages[row.page_id].content_hash
        if row.content_hash not in {None, own}:
            yield Violation.of(row, "its text is not that of its own page")


@rule("evidence")
def evidence_ids_are_derived(rows: JudgedRows) -> Iterator[Violation]:
    """An id of evidence follows from its claim and URL, and is there once."""
    yield from _identified(
        rows.evidence, "evidence_id", lambda row: ids.evidence_id(row.claim_id, row.canonical_url)
    )


@rule("evidence")
def evidence_refers_to_its_hit(rows: JudgedRows) -> Iterator[Violation]:
    """Evidence belongs to a claim, a hit of the same address, and a page that was asked for."""
    hits = {hit.hit_id: hit for hit in rows.hits}
    pages = {page.page_id: page for page in rows.pages}
    for row in rows.evidence:
        yield from _missing(row, "claim", row.claim_id, rows.claim_ids)
        yield from _missing(row, "hit", row.hit_id, hits)
        hit, page = hits.get(row.hit_id), pages.get(row.page_id or "")
        own = (row.claim_id, row.query_id, row.canonical_url)
        if hit is not None and (hit.claim_id, hit.query_id, hit.canonical_url) != own:
            problem = f"its claim, query or address is not that of hit {row.hit_id}"
            yield Violation.of(row, problem)
        stands_at = page or hit or row
        yield from _unlike(row, domain=stands_at.domain)
        if row.page_id is not None:
            yield from _missing(row, "page", row.page_id, pages)
        if page is not None and page.canonical_url != row.canonical_url:
            yield Violation.of(row, f"its page has the address {page.canonical_url}")


@rule("evidence")
def every_hit_is_accounted_for(rows: JudgedRows) -> Iterator[Violation]:
    """Each address that was found for a claim was read, or says why it was not."""
    judged = {(row.claim_id, row.canonical_url) for row in rows.evidence}
    claims = rows.claim_ids
    found = {(hit.claim_id, hit.canonical_url): hit for hit in rows.hits if hit.claim_id in claims}
    for key in sorted(found.keys() - judged):
        yield Violation.of(found[key], "it was neither read nor left out for a reason")


@rule("evidence")
def quotes_stand_in_their_pages(rows: JudgedRows) -> Iterator[Violation]:
    """A quote is, character by character, what stands at its offsets in the stored text."""
    texts = rows.texts
    for row in rows.evidence:
        if row.quote is None:
            continue
        text = texts.get(row.content_hash or "")
        if text is None:
            yield Violation.of(row, "the text that it quotes is not stored")
        elif text[row.quote_start : row.quote_end] != row.quote:
            place = f"{row.quote_start} to {row.quote_end}"
            yield Violation.of(row, f"its quote does not stand at {place} of its text")


@rule("evidence")
def no_source_is_the_video(rows: JudgedRows) -> Iterator[Violation]:
    """Nothing that was read is the video itself, or a copy of it under the same title."""
    hits = {hit.hit_id: hit for hit in rows.hits}
    pages = {page.page_id: page for page in rows.pages}
    for row in rows.evidence:
        if row.status == "skipped":
            continue
        page, hit = pages.get(row.page_id or ""), hits.get(row.hit_id)
        addresses = {row.canonical_url, (page and page.final_url) or row.canonical_url}
        if any(is_the_video(rows.video, address) for address in addresses):
            yield Violation.of(row, f"its source is the video itself: {row.canonical_url}")
        if hit is not None and is_reupload(rows.video, hit.url, hit.title):
            yield Violation.of(row, f"its source is a re-upload: {row.canonical_url}")


@rule("evidence")
def no_page_is_too_new(rows: JudgedRows) -> Iterator[Violation]:
    """With a date limit set, nothing that was read was published outside of it."""
    before, after = rows.limits.published_before, rows.limits.published_after
    dates = {page.page_id: page.published_on for page in rows.pages}
    for row in rows.evidence:
        if row.status == "skipped":
            continue
        known = {row.published_on, dates.get(row.page_id or "")}
        for published in sorted(day for day in known if day is not None):
            if before is not None and published >= before:
                yield Violation.of(row, f"its page is of {published}, not before {before}")
            if after is not None and published < after:
                yield Violation.of(row, f"its page is of {published}, before {after}")


@rule("verdicts")
def every_claim_has_a_verdict(rows: JudgedRows) -> Iterator[Violation]:
    """Each claim has one verdict, and a verdict that is incomplete says why."""
    yield from _repeated(rows.verdicts)
    judged = {verdict.claim_id for verdict in rows.verdicts}
    for verdict in rows.verdicts:
        yield from _missing(verdict, "claim", verdict.claim_id, rows.claim_ids)
        if verdict.status == "incomplete" and not (verdict.reason or "").strip():
            yield Violation.of(verdict, "it is incomplete and does not say why")
    for claim in rows.claims:
        if claim.claim_id not in judged:
            yield Violation.of(claim, "it has neither a verdict nor a reason")


@rule("verdicts")
def verdicts_are_in_order(rows: JudgedRows) -> Iterator[Violation]:
    """Ranks count from 1 without a gap."""
    yield from _ranks(rows.verdicts, "verdicts")


@rule("verdicts")
def verdicts_count_their_evidence(rows: JudgedRows) -> Iterator[Violation]:
    """The numbers of a verdict are those of the evidence that it rests on."""
    stances: Counter[tuple[str, str | None]] = Counter(
        (row.claim_id, row.stance) for row in rows.evidence if row.status == "ok"
    )
    for verdict in rows.verdicts:
        for stance, count in (
            ("supports", verdict.supporting),
            ("refutes", verdict.refuting),
            ("mixed", verdict.mixed),
            ("unclear", verdict.unclear),
        ):
            there = stances[verdict.claim_id, stance]
            if count != there:
                problem = f"it counts {count} sources as {stance}, and there are {there}"
                yield Violation.of(verdict, problem)


@rule("media")
def finding_ids_are_derived(rows: JudgedRows) -> Iterator[Violation]:
    """An id of a finding follows from its picture, kind and rank, and is there once."""
    yield from _identified(
        rows.media,
        "finding_id",
        lambda row: ids.finding_id(row.video_id, row.picture, row.kind, row.rank),
    )


# --- Rules of every asset -----------------------------------------------------------------------


def _validity(asset: str) -> Rule:
    def find(rows: JudgedRows) -> Iterator[Violation]:
        for position, row in enumerate(rows.of_asset(asset)):
            name = f"{row.table} row {position}"
            owner = getattr(row, "video_id", rows.video.video_id)
            if owner != rows.video.video_id:
                yield Violation(name, f"it belongs to the video {owner}")
            values = {each: getattr(row, each, None) for each in type(row).model_fields}
            endless = [
                f"{each} is {value}, which is no number"
                for each, value in values.items()
                if isinstance(value, float) and not math.isfinite(value)
            ]
            if endless:
                yield Violation(name, endless[0])
                continue
            try:
                # Copies that were made with changes are not validated by pydantic.
                type(row).model_validate(values)
            except ValidationError as error:
                for problem in error.errors(include_input=False):
                    where = ".".join(str(part) for part in problem["loc"])
                    yield Violation(name, f"{where or 'the row'}: {problem['msg']}")

    words = "Every row fits its table: fields, types, ranges, finite numbers, and this video."
    return Rule(asset, f"{asset}_rows_are_valid", words, find)


def _calls(asset: str) -> Rule:
    def find(rows: JudgedRows) -> Iterator[Violation]:
        queries = {query.query_id for query in rows.queries}
        for call in rows.llm_calls:
            if call.stage == asset and call.claim_id is not None:
                yield from _missing(call, "claim", call.claim_id, rows.claim_ids)
            if call.stage == asset and call.query_id is not None:
                yield from _missing(call, "query", call.query_id, queries)

    words = "Model calls refer to claims and queries that are there."
    return Rule(asset, f"calls_of_{asset}_refer_to_rows", words, find)


ALL_RULES: tuple[Rule, ...] = tuple(
    each
    for asset, records in ASSET_RECORDS.items()
    for each in (
        _validity(asset),
        *(own for own in _SPECIFIC if own.asset == asset),
        *([_calls(asset)] if LlmCall in records else []),
    )
)
