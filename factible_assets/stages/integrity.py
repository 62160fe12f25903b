"""The rules that the rows of one video must satisfy together, by asset.

The warehouse itself refuses a set with rows of another video or with repeated keys
(warehouse/sets.py).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, TypeAlias

from pydantic import ValidationError

from factible_assets.config import SearchConfig
from factible_assets.records.rows import VideoRows
from factible_assets.records.stances import STANCES
from factible_assets.records.tables import Claim, Query, Record, Verdict
from factible_assets.stages import ids
from factible_assets.stages.search import identity_of, is_reupload, is_the_video, out_of_period
from factible_assets.stages.transcript import Clock
from factible_assets.stages.urls import domain_of, published_at

_ROUNDING = 1e-6
_SLACK_SECONDS = 10.0
_SLACK_SHARE = 0.05

_DERIVED: Mapping[str, Callable[[Any], dict[str, object]]] = {
    "transcripts": lambda row: {"content_hash": ids.content_hash(row.text)},
    "claims": lambda row: {"claim_id": ids.claim_id(row.video_id, row.text)},
    "queries": lambda row: {"query_id": ids.query_id(row.claim_id, row.text)},
    "search_hits": lambda row: {
        "hit_id": ids.hit_id(row.query_id, row.canonical_url),
        "canonical_url": identity_of(row.url),
        "domain": domain_of(row.url),
    },
    "prior_fact_checks": lambda row: {
        "prior_fact_check_id": ids.prior_fact_check_id(row.claim_id, row.canonical_url)
    },
    "pages": lambda row: {
        "page_id": ids.page_id(row.canonical_url, row.content_hash),
        "domain": domain_of(published_at(row.final_url or "")) or row.domain,
    },
    "page_texts": lambda row: {"content_hash": ids.content_hash(row.text)},
    "evidence": lambda row: {"evidence_id": ids.evidence_id(row.claim_id, row.canonical_url)},
    "media": lambda row: {
        "finding_id": ids.finding_id(row.video_id, row.picture, row.kind, row.rank)
    },
}
"""The columns that follow from the rest of a row, by table."""
Breaches: TypeAlias = Iterator[tuple[Record | str, str]]
"""Pairs of a row (or the name of what is wrong) and a sentence that says how it breaks a rule."""
Find: TypeAlias = Callable[[VideoRows], Breaches]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule over the rows of one asset; a blocking rule keeps bad rows out of the warehouse."""

    asset: str
    name: str
    description: str
    find: Find
    blocking: bool = True


@dataclass(frozen=True, slots=True)
class RuleResult:
    """The violations of one rule in one video: the name of each row, and a sentence."""

    rule: Rule
    violations: tuple[tuple[str, str], ...]

    @property
    def refuses(self) -> bool:
        """Whether the warehouse must refuse the rows."""
        return self.rule.blocking and bool(self.violations)


_SPECIFIC: list[Rule] = []
"""The rules of single assets; the decorator `rule` registers them."""


def rule(asset: str, *, blocking: bool = True) -> Callable[[Find], Find]:
    """Register a generator of breaches as a rule of an asset; its docstring states the rule."""

    def register(find: Find) -> Find:
        _SPECIFIC.append(_rule_of(asset, find, find, blocking=blocking))
        return find

    return register


def _rule_of(
    asset: str, function: Callable[..., Breaches], find: Find, *, blocking: bool = True
) -> Rule:
    return Rule(asset, function.__name__, str(function.__doc__).strip(), find, blocking)


def rules_of(asset: str, limits: SearchConfig | None = None) -> tuple[Rule, ...]:
    """Return the rules of one asset, the general ones first; `limits` has the run's dates."""
    general = [rows_are_valid, ids_are_derived]
    if asset not in {"transcripts", "media"}:  # Their rows need no claims and page texts.
        general.append(references_lead_to_rows)
    rules = [_rule_of(asset, find, partial(find, asset)) for find in general]
    rules += (specific for specific in _SPECIFIC if specific.asset == asset)
    if asset == "evidence":
        dated = partial(no_page_is_too_new, limits or SearchConfig())
        rules.append(_rule_of(asset, no_page_is_too_new, dated))
    return tuple(rules)


def judge(
    assets: Iterable[str], rows: VideoRows, limits: SearchConfig | None = None
) -> tuple[RuleResult, ...]:
    """Check the rows of some assets against all of their rules.

    The rows of other assets serve as references only. `limits` has the dates of the run.
    """

    def name(row: Record | str) -> str:
        if isinstance(row, str):
            return row
        return " ".join([type(row).__name__, *(str(getattr(row, column)) for column in row.key)])

    return tuple(
        RuleResult(rule, tuple((name(row), problem) for row, problem in rule.find(rows)))
        for asset in assets
        for rule in rules_of(asset, limits)
    )


# --- Rules of every asset -----------------------------------------------------------------------


def rows_are_valid(asset: str, rows: VideoRows) -> Breaches:
    """Every row fits its table: fields, types, ranges and finite numbers."""
    for position, row in enumerate(rows.of_asset(asset)):
        name = f"{row.table} row {position}"
        try:
            # Pydantic does not validate the changes of model_copy.
            type(row).model_validate(row.__dict__)
        except ValidationError as error:
            for problem in error.errors(include_input=False):
                where = ".".join(str(part) for part in problem["loc"])
                why = problem["msg"].removeprefix("Value error, ")
                yield name, f"{where or 'the row'}: {why}"


def ids_are_derived(asset: str, rows: VideoRows) -> Breaches:
    """Each id follows from its row; addresses, domains and hashes follow, too."""
    for row in rows.of_asset(asset):
        derive = _DERIVED.get(row.table)
        for name, value in derive(row).items() if derive else ():
            stored = getattr(row, name)
            if stored != value:
                yield row, f"{name} is {stored!r}, and the row implies {value!r}"


def references_lead_to_rows(asset: str, rows: VideoRows) -> Breaches:
    """Every claim, query, hit, page and text that a row refers to exists."""
    claim_of = {query.query_id: query.claim_id for query in rows.queries}
    known: tuple[tuple[str, str, Collection[str]], ...] = (
        ("claim", "claim_id", rows.claim_ids),
        ("query", "query_id", claim_of),
        ("hit", "hit_id", {hit.hit_id for hit in rows.hits}),
        ("page", "page_id", {page.page_id for page in rows.pages}),
        ("text", "content_hash", rows.texts),
    )
    for row in rows.of_asset(asset):
        values = row.__dict__
        for kind, column, keys in known:
            key = values.get(column)
            if key is not None and key not in keys:
                yield row, f"it refers to the {kind} {key}, which does not exist"
        query, claim = values.get("query_id"), values.get("claim_id")
        if claim is not None and claim_of.get(query or "", claim) != claim:
            yield row, f"its query {query} is of another claim"


def _gaps_in_ranks(rows: Iterable[Claim | Query | Verdict], name: str) -> Breaches:
    """Yield the first row whose rank leaves a gap; ranks count from 1."""
    for expected, row in enumerate(sorted(rows, key=lambda row: row.rank), start=1):
        if row.rank != expected:
            yield row, f"its rank is {row.rank}; {name} count from 1 without a gap"
            return


# --- Transcripts, claims ------------------------------------------------------------------------


@rule("transcripts")
def there_is_one_transcript(rows: VideoRows) -> Breaches:
    """There is one transcript."""
    if len(rows.transcripts) != 1:
        yield "transcript", f"there are {len(rows.transcripts)} of them, not one"


@rule("transcripts")
def captions_stand_in_the_text(rows: VideoRows) -> Breaches:
    """Captions count from 0, and follow each other in the text and in time."""
    length = len(rows.transcript.text) if rows.transcript else 0
    ordered = sorted(rows.segments, key=lambda segment: segment.position)
    for expected, segment in enumerate(ordered):
        if segment.position != expected:
            yield segment, "captions count from 0 without a gap"
            return
        if segment.char_end > length:
            yield segment, f"it ends at {segment.char_end}, and the text at {length}"
    for before, after in pairwise(ordered):
        if after.char_start < before.char_end:
            yield after, "it begins in the text before the caption before it ends"
        if after.begins < before.begins:
            yield after, "it begins in time before the caption before it"


# Not blocking: a mistake of the corpus file must not stop a fact-check.
@rule("transcripts", blocking=False)
def captions_fit_the_video(rows: VideoRows) -> Breaches:
    """Captions begin before the video ends, with some slack for rounded lengths."""
    length = rows.video.duration_seconds
    latest = math.inf if length is None else length + max(_SLACK_SECONDS, length * _SLACK_SHARE)
    for late in [segment for segment in rows.segments if segment.begins > latest][:1]:
        problem = f"it begins at {late.begins:.1f} s, and the video has {length:.1f} s"
        yield late, f"{problem}: is this the transcript of another video?"


@rule("claims")
def claims_are_in_order(rows: VideoRows) -> Breaches:
    """Ranks count from 1, the most important claim first."""
    yield from _gaps_in_ranks(rows.claims, "claims")
    for before, after in pairwise(sorted(rows.claims, key=lambda claim: claim.rank)):
        if after.importance > before.importance:
            yield after, f"it is more important than claim {before.claim_id} before it"


@rule("claims")
def claims_stand_in_the_transcript(rows: VideoRows) -> Breaches:
    """A claim's place lies in the text, and its time is the time of the captions there."""
    clock = Clock(rows.segments)
    length = len(rows.transcript.text) if rows.transcript else 0
    for claim in rows.claims:
        if claim.char_start is None or claim.char_end is None:
            continue
        if claim.char_end > length:
            yield claim, f"it ends at {claim.char_end}, and the transcript at {length}"
            continue
        for verb, stored, expected in (
            ("begin", claim.start_seconds, clock.start_at(claim.char_start)),
            ("end", claim.end_seconds, clock.second_at(claim.char_end)),
        ):
            is_same = stored is expected
            if stored is not None and expected is not None:
                is_same = abs(stored - expected) <= _ROUNDING
            if not is_same:
                problem = f"it should {verb} at {expected} s like its caption, and has {stored} s"
                yield claim, problem


# --- Queries, search hits, reliability ratings --------------------------------------------------


@rule("queries")
def every_claim_has_queries(rows: VideoRows) -> Breaches:
    """Each claim has queries; they count from 1, and have words or a reason."""
    for query in rows.queries:
        if not (query.text.strip() if query.status == "ok" else query.reason):
            yield query, f"its status is {query.status}, and its words are missing"
    for claim in rows.claims:
        queries = [query for query in rows.queries if query.claim_id == claim.claim_id]
        if not queries:
            yield claim, "it has neither a query nor a reason"
        yield from _gaps_in_ranks(queries, "a claim's queries")


@rule("search_hits")
def searches_tell_how_they_ended(rows: VideoRows) -> Breaches:
    """A failed search says why, and a search has succeeded exactly if it had results."""
    for search in rows.searches:
        if search.status == "infra_error" and not search.reason:
            yield search, "it failed and does not say why"
        if (search.status == "ok") != (search.hit_count > 0):
            yield search, f"its status is {search.status}, with {search.hit_count} results"


@rule("search_hits")
def hits_belong_to_searches(rows: VideoRows) -> Breaches:
    """Each hit belongs to a query with a successful search."""
    answered = {row.query_id for row in rows.searches if row.status == "ok"}
    for hit in rows.hits:
        if hit.query_id not in answered:
            yield hit, "no search of its query had results"


@rule("reliability_ratings")
def every_domain_is_rated(rows: VideoRows) -> Breaches:
    """Each domain among the hits has a rating with a reason."""
    for rating in rows.ratings:
        if not any(reason.strip() for reason in rating.reasons):
            yield rating, "it gives no reason"
    claims = rows.claim_ids
    domains = {hit.domain for hit in rows.hits if hit.domain and hit.claim_id in claims}
    for domain in sorted(domains - {rating.domain for rating in rows.ratings}):
        yield f"domain {domain}", "it is among the hits and has no rating"


# --- Evidence, verdicts -------------------------------------------------------------------------


@rule("evidence")
def every_text_has_its_page(rows: VideoRows) -> Breaches:
    """A source's text is the text of its own page, or the snippet of its own hit."""
    texts = {page.page_id: page.content_hash for page in rows.pages}
    snippets = {hit.hit_id: ids.content_hash(hit.snippet) for hit in rows.hits}
    for row in rows.evidence:
        # A missing page or hit breaks the rule on references instead.
        expected = texts.get(row.page_id or "", row.content_hash)
        if row.via == "snippet":
            expected = snippets.get(row.hit_id, row.content_hash)
        if row.content_hash not in {None, expected}:
            yield row, "its text is not the text of its own page"


@rule("evidence")
def evidence_fits_its_hit(rows: VideoRows) -> Breaches:
    """Evidence agrees with its hit on claim, query and address, and with its page on address."""
    hits = {hit.hit_id: hit for hit in rows.hits}
    pages = {page.page_id: page for page in rows.pages}
    for row in rows.evidence:
        hit, page = hits.get(row.hit_id), pages.get(row.page_id or "")
        reference = (row.claim_id, row.query_id, row.canonical_url)
        if hit is not None and (hit.claim_id, hit.query_id, hit.canonical_url) != reference:
            yield row, f"its claim, query or address differs from hit {row.hit_id}"
        domain = (page or hit or row).domain
        if row.domain != domain:
            yield row, f"domain is {row.domain!r}, and its page or hit has {domain!r}"
        if page is not None and page.canonical_url != row.canonical_url:
            yield row, f"its page has the address {page.canonical_url}"


@rule("evidence")
def every_hit_is_accounted_for(rows: VideoRows) -> Breaches:
    """Each address among a claim's hits has evidence, or a reason without it."""
    judged = {(row.claim_id, row.canonical_url) for row in rows.evidence}
    claims = rows.claim_ids
    hits = {(hit.claim_id, hit.canonical_url): hit for hit in rows.hits if hit.claim_id in claims}
    for key in sorted(hits.keys() - judged):
        yield hits[key], "it has neither evidence nor a reason for its omission"


@rule("evidence")
def quotes_stand_in_their_pages(rows: VideoRows) -> Breaches:
    """A quote equals, character by character, the stored text at its offsets."""
    texts = rows.texts
    for row in (row for row in rows.evidence if row.quote is not None):
        text, start, end = texts.get(row.content_hash or ""), row.quote_start, row.quote_end
        if text is None:
            yield row, "the store lacks the text that it quotes"
        elif text[start:end] != row.quote:
            yield row, f"its quote does not stand at {start} to {end} of its text"


@rule("evidence")
def no_source_is_the_video(rows: VideoRows) -> Breaches:
    """No source is the video itself, or a copy of it under the same title."""
    hits = {hit.hit_id: hit for hit in rows.hits}
    pages = {page.page_id: page for page in rows.pages}
    for row in (row for row in rows.evidence if row.status != "skipped"):
        page, hit = pages.get(row.page_id or ""), hits.get(row.hit_id)
        addresses = {row.canonical_url, (page and page.final_url) or row.canonical_url}
        if any(is_the_video(rows.video, address) for address in addresses):
            yield row, f"its source is the video itself: {row.canonical_url}"
        if hit is not None and is_reupload(rows.video, hit.url, hit.title):
            yield row, f"its source is a re-upload: {row.canonical_url}"


def no_page_is_too_new(limits: SearchConfig, rows: VideoRows) -> Breaches:
    """No source was published outside of the run's date limits."""
    dates = {page.page_id: page.published_on for page in rows.pages}
    for row in (row for row in rows.evidence if row.status != "skipped"):
        days = {row.published_on, dates.get(row.page_id or "")}
        for reason in filter(None, (out_of_period(day, limits) for day in days if day)):
            yield row, f"the run must not read its page: {reason}"


@rule("verdicts")
def every_claim_has_a_verdict(rows: VideoRows) -> Breaches:
    """Each claim has a verdict; their ranks count from 1."""
    yield from _gaps_in_ranks(rows.verdicts, "verdicts")
    judged = {verdict.claim_id for verdict in rows.verdicts}
    for claim in rows.claims:
        if claim.claim_id not in judged:
            yield claim, "it has neither a verdict nor a reason"


@rule("verdicts")
def verdicts_count_their_evidence(rows: VideoRows) -> Breaches:
    """A verdict counts the sources of each stance in its evidence."""
    stances = Counter((row.claim_id, row.stance) for row in rows.evidence if row.status == "ok")
    for verdict in rows.verdicts:
        for stance, label in STANCES.items():
            stated, actual = getattr(verdict, label.column), stances[verdict.claim_id, stance]
            if stated != actual:
                problem = f"it counts {stated} sources as {stance}, and the evidence has {actual}"
                yield verdict, problem
