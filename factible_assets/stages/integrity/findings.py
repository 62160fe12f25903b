"""Rules over what was found: pages, evidence and verdicts.

What belongs here: the rules of the assets evidence and verdicts. What does not: other assets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from factible_assets.records import Evidence, MediaFinding, Page, Verdict
from factible_assets.stages import ids
from factible_assets.stages.integrity.judged_rows import (
    JudgedRows,
    Violation,
    missing,
    ranks_of,
    repeated,
    unlike,
)
from factible_assets.stages.search import is_reupload, is_the_video
from factible_assets.stages.urls import domain_of, published_at


def page_ids_are_derived(rows: JudgedRows) -> Iterator[Violation]:
    """A page's id follows from its URL and content, its domain from where it answered."""
    yield from repeated(rows.pages, lambda page: page.page_id, _page)
    for page in rows.pages:
        derived = ids.page_id(page.canonical_url, page.content_hash)
        yield from unlike(_page(page), "page_id", page.page_id, derived)
        answered = domain_of(published_at(page.final_url or ""))
        if answered:
            yield from unlike(_page(page), "domain", page.domain, answered)
    for text in rows.page_texts:
        derived = ids.content_hash(text.text)
        yield from unlike(
            f"page text {text.content_hash[:12]}", "content_hash", text.content_hash, derived
        )


def every_text_has_its_page(rows: JudgedRows) -> Iterator[Violation]:
    """What was read is the text of its own page, or the snippet of its own hit, and is stored."""
    texts, pages = rows.texts, {page.page_id: page for page in rows.pages}
    snippets = {hit.hit_id: ids.content_hash(hit.snippet) for hit in rows.hits}
    for page in rows.pages:
        if page.content_hash is not None:
            yield from missing(_page(page), "text", page.content_hash, texts)
    for row in rows.evidence:
        if row.content_hash is None:
            continue
        yield from missing(_evidence(row), "text", row.content_hash, texts)
        # Of a row without its page or hit, the rule on references tells.
        own: str | None
        if row.via == "snippet":
            own = snippets.get(row.hit_id, row.content_hash)
        else:
            its_page = pages.get(row.page_id or "")
            own = its_page.content_hash if its_page else row.content_hash
        if own != row.content_hash:
            yield Violation(_evidence(row), "its text is not that of its own page")


def evidence_ids_are_derived(rows: JudgedRows) -> Iterator[Violation]:
    """An id of evidence follows from its claim and URL, and is there once."""
    yield from repeated(rows.evidence, lambda row: row.evidence_id, _evidence)
    for row in rows.evidence:
        derived = ids.evidence_id(row.claim_id, row.canonical_url)
        yield from unlike(_evidence(row), "evidence_id", row.evidence_id, derived)


def finding_ids_are_derived(rows: JudgedRows) -> Iterator[Violation]:
    """An id of a finding follows from its picture, kind and rank, and is there once."""
    yield from repeated(rows.media, lambda row: row.finding_id, _finding)
    for row in rows.media:
        derived = ids.finding_id(row.video_id, row.picture, row.kind, row.rank)
        yield from unlike(_finding(row), "finding_id", row.finding_id, derived)


def _finding(row: MediaFinding) -> str:
    return f"finding {row.finding_id}"


def evidence_refers_to_its_hit(rows: JudgedRows) -> Iterator[Violation]:
    """Evidence belongs to a claim, a hit of the same address, and a page that was asked for."""
    hits = {hit.hit_id: hit for hit in rows.hits}
    pages = {page.page_id: page for page in rows.pages}
    for row in rows.evidence:
        name = _evidence(row)
        yield from missing(name, "claim", row.claim_id, rows.claim_ids)
        hit = hits.get(row.hit_id)
        if hit is None:
            yield from missing(name, "hit", row.hit_id, hits)
        elif (hit.claim_id, hit.query_id, hit.canonical_url) != (
            row.claim_id,
            row.query_id,
            row.canonical_url,
        ):
            yield Violation(name, f"its claim, query or address is not that of hit {row.hit_id}")
        page = pages.get(row.page_id or "")
        stands_at = page.domain if page else hit.domain if hit else row.domain
        yield from unlike(name, "domain", row.domain, stands_at)
        if row.page_id is None:
            continue
        if page is None:
            yield from missing(name, "page", row.page_id, pages)
        elif page.canonical_url != row.canonical_url:
            yield Violation(name, f"its page has the address {page.canonical_url}")


def every_hit_is_accounted_for(rows: JudgedRows) -> Iterator[Violation]:
    """Each address that was found for a claim was read, or says why it was not."""
    judged = {(row.claim_id, row.canonical_url) for row in rows.evidence}
    claims = rows.claim_ids
    found = {(hit.claim_id, hit.canonical_url): hit for hit in rows.hits if hit.claim_id in claims}
    for key in sorted(found.keys() - judged):
        yield Violation(f"hit {found[key].hit_id}", "it was neither read nor left out for a reason")


def quotes_stand_in_their_pages(rows: JudgedRows) -> Iterator[Violation]:
    """A quote is, character by character, what stands at its offsets in the stored text."""
    texts = rows.texts
    for row in rows.evidence:
        if row.quote is None:
            continue
        text = texts.get(row.content_hash or "")
        if text is None:
            yield Violation(_evidence(row), "the text that it quotes is not stored")
        elif text[row.quote_start : row.quote_end] != row.quote:
            yield Violation(
                _evidence(row),
                f"its quote does not stand at {row.quote_start} to {row.quote_end} of its text",
            )


def no_source_is_the_video(rows: JudgedRows) -> Iterator[Violation]:
    """Nothing that was read is the video itself, or a copy of it under the same title."""
    hits = {hit.hit_id: hit for hit in rows.hits}
    pages = {page.page_id: page for page in rows.pages}
    for row in _used(rows):
        page = pages.get(row.page_id or "")
        addresses = {row.canonical_url, page.final_url if page else None} - {None}
        if any(is_the_video(rows.video, str(address)) for address in addresses):
            yield Violation(_evidence(row), f"its source is the video itself: {row.canonical_url}")
        hit = hits.get(row.hit_id)
        if hit is not None and is_reupload(rows.video, hit.url, hit.title):
            yield Violation(_evidence(row), f"its source is a re-upload: {row.canonical_url}")


def no_page_is_too_new(rows: JudgedRows) -> Iterator[Violation]:
    """With a date limit set, nothing that was read was published outside of it."""
    pages = {page.page_id: page for page in rows.pages}
    for row in _used(rows):
        page = pages.get(row.page_id or "")
        dates = {row.published_on, page.published_on if page else None}
        before, after = rows.limits.published_before, rows.limits.published_after
        for published in sorted(day for day in dates if day is not None):
            if before is not None and published >= before:
                yield Violation(_evidence(row), f"its page is of {published}, not before {before}")
            if after is not None and published < after:
                yield Violation(_evidence(row), f"its page is of {published}, before {after}")


def every_claim_has_a_verdict(rows: JudgedRows) -> Iterator[Violation]:
    """Each claim has one verdict, and a verdict that is incomplete says why."""
    yield from repeated(rows.verdicts, lambda row: row.claim_id, _verdict)
    judged = {verdict.claim_id for verdict in rows.verdicts}
    for verdict in rows.verdicts:
        yield from missing(_verdict(verdict), "claim", verdict.claim_id, rows.claim_ids)
        if verdict.status == "incomplete" and not (verdict.reason or "").strip():
            yield Violation(_verdict(verdict), "it is incomplete and does not say why")
    for claim in rows.claims:
        if claim.claim_id not in judged:
            yield Violation(f"claim {claim.claim_id}", "it has neither a verdict nor a reason")


def verdicts_are_in_order(rows: JudgedRows) -> Iterator[Violation]:
    """Ranks count from 1 without a gap."""
    yield from ranks_of(((_verdict(row), row.rank) for row in rows.verdicts), "verdicts")


def verdicts_count_their_evidence(rows: JudgedRows) -> Iterator[Violation]:
    """The numbers of a verdict are those of the evidence that it rests on."""
    stances: Counter[tuple[str, str | None]] = Counter(
        (row.claim_id, row.stance) for row in rows.evidence if row.status == "ok"
    )
    for verdict in rows.verdicts:
        counts = verdict.supporting, verdict.refuting, verdict.mixed, verdict.unclear
        for stance, count in zip(("supports", "refutes", "mixed", "unclear"), counts, strict=True):
            there = stances[verdict.claim_id, stance]
            if count != there:
                yield Violation(
                    _verdict(verdict),
                    f"it counts {count} sources as {stance}, and there are {there}",
                )


def _used(rows: JudgedRows) -> Iterator[Evidence]:
    return (row for row in rows.evidence if row.status != "skipped")


def _page(page: Page) -> str:
    return f"page {page.page_id}"


def _evidence(row: Evidence) -> str:
    return f"evidence {row.evidence_id}"


def _verdict(verdict: Verdict) -> str:
    return f"verdict on {verdict.claim_id}"
