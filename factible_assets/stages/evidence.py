"""From fetched pages to evidence on a claim.

What belongs here: the pages of a run and what is kept of each, which text a claim is read against,
and which of a reasoner's words are believed. What does not: fetching (resources), judging what a
text says (the reasoner), weighing evidence (verdict.py).

The rules:

- A quote is kept only if it stands verbatim in the stored text, but for white space and the shape
  of quotation marks and dashes. Anything else is rejected and counted (9 % of a model's "verbatim"
  quotes, measured on the published runs of Factible).
- A quote is widened to its sentences: what is cut out of its own denial says the contrary.
- A definite stance without a verified quote, or with one that says the contrary, becomes `unclear`
  with confidence 0.
- A summary that quotes what the text does not say is dropped, and counted with the quotes.
- Domain and rating are those of the address that was read; a row whose hit led elsewhere says so.
- A page that cannot be read is read by its search snippet (`via = snippet`), which is then the
  stored text. Unless the site says that the page is gone, the page is due (`page_due`): it still
  counts as missing. A wall, a login or a file of another type hides a page that may say anything.
- The snippet of a hit that led to another domain does not speak: nobody can tell which said it.
- A page is what the search promised. One that has next to none of the words of its title, snippet
  and address, or that has the text of another page of the site, is due.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, date, datetime
from functools import cached_property, partial
from typing import Any

from factible_assets import records
from factible_assets.stages.ids import content_hash, evidence_id, page_id
from factible_assets.stages.ports import EvidenceDraft, Fetcher, PageExcerpt, clamped
from factible_assets.stages.reliability import is_of_the_page
from factible_assets.stages.search import Candidate, is_answer
from factible_assets.stages.transcript import storable
from factible_assets.stages.urls import domain_of, published_at
from resources.once import Once
from resources.pages.base import FetchedPage
from resources.promises import Promise, held_to, is_repeated

QUOTED = re.compile('["\u201c\u201e\u00ab]([^"\u201c\u201d\u201e\u00ab\u00bb]+)["\u201d\u00bb]')
"""Words in quotation marks."""
MIN_QUOTE_CHARACTERS = 12
"""Letters and digits of the shortest quote: a lone word stands in every text and shows nothing."""
MIN_QUOTE_WORDS = 4
"""Words of the shortest quote that is no sentence; without spaces two characters are a word."""
_REACH = 400
"""Characters on either side of a quote in which the ends of its sentence are looked for."""
_SENTENCE_ENDS = re.compile(
    "(?:[!?…]|(?<!\\b[A-Z])(?<!\\b[A-Z][a-z])(?<!\\bMrs)(?<!\\bProf)\\.)[\"'\u201d\u2019)\\]»]*"
    "(?:\\[\\d+\\])*(?=\\s+(?:[^\\sa-z\\d]|\\Z)|\\s*[\\n\\r])|[\u3002\uff01\uff1f]"
    "|(?<![:,;\uff1a])(?<![:,;\uff1a]\\s)[\\n\\r\u2028\u2029](?=\\s*[^\\sa-z])"
)
"""None is the full stop of an abbreviation or before a figure, nor a line's end behind a colon: who
denies what follows may stand before it."""
_ASKED_OR_QUOTED = ("?", '"', "\u201d", "\u201c", "»", "\uff1f")
_AFTER = 20  # Characters behind an end that show that it is one.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]")
_MIN_SNIPPET_WORDS = 5
_BLOCK_CHARACTERS = 1_000
_TELLING_LENGTH = 4  # shorter words stand in every block
_GAP = "\n[…]\n"
_ANSWERED = (
    "A machine's answer, composed from the pages that it names: no page of its own, and no second "
    "opinion on them."
)
MIXED_UP = "The model mixed up the pages of this call, so each was read again, alone."
"""The reason in the record of a call about several pages whose readings are not believed."""
CONTRADICTED = "contradicted"
"""The ground of evidence without a stance, because its quote says the contrary of its reading."""
_FOLDED = str.maketrans(
    {
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033", '"'),
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u00b4`", "'"),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"),
    }
)
_BRACKETED = re.compile(r"\[([^\W\d_])\](?=\w)")
_UNITS = frozenset("°%‰€$£")
_INVISIBLE = frozenset("\u00ad\u200b\u200c\u200d\u2060\ufeff")
_WRAPPING = " \t\n\"'\u201c\u201d\u201e\u00ab\u00bb\u2018\u2019…"
_WORD = re.compile(r"\w+")


# --- Pages --------------------------------------------------------------------------------------


def store_page(
    hit: records.SearchHit, fetched: FetchedPage, *, limit: int, topics: Sequence[str]
) -> tuple[records.Page, str]:
    """Return a fetched page's row and its text, held to what the search promised of it.

    At most `limit` characters of its text are kept, those that say most about the topics.
    """
    fetched = held_to(promise_of(hit), fetched)
    text = keep_relevant(storable(fetched.text), limit, topics) if fetched.outcome == "ok" else ""
    readable = bool(text.strip())
    is_absent = fetched.outcome == "absent"
    unread = "The page has no text." if fetched.outcome == "ok" else "The page could not be had."
    digest = content_hash(text) if readable else None
    address = address_of(hit, fetched.final_url)
    own = {
        "page_id": page_id(hit.canonical_url, digest),
        "video_id": hit.video_id,
        "canonical_url": hit.canonical_url,
        "domain": domain_of(address),
        "status": "ok" if readable else "no_evidence" if is_absent else "infra_error",
        "reason": fetched.reason if readable else fetched.reason or unread,
        "content_hash": digest,
    }
    # The other columns are called as what is known of a fetch.
    alike = (each.name for each in fields(fetched) if each.name in records.Page.model_fields)
    page = records.Page.model_validate({each: getattr(fetched, each) for each in alike} | own)
    return page, text if readable else ""


def promise_of(hit: records.SearchHit) -> Promise:
    """Return the title and the snippet that a page is held to; an address is no title."""
    return Promise("" if hit.title == hit.url else hit.title, hit.snippet)


def address_of(hit: records.SearchHit, final_url: str | None) -> str:
    """Return the address that answers for what was read: where the page was in the end."""
    return published_at(final_url if final_url and domain_of(final_url) else hit.url)


def departure(hit: records.SearchHit, page: records.Page) -> str | None:
    """Say so if a hit led to another registrable domain than that under which it was found."""
    found = domain_of(published_at(hit.url))
    if page.domain == found:
        return None
    return f"It was found at {found} and leads to {page.domain}, whose rating it has."


def is_later(published_on: date | None, video: records.Video) -> bool:
    """Tell whether a source was published after the video: it may know what nobody could then."""
    said_on = video.published_on
    return published_on is not None and said_on is not None and published_on > said_on


def keep_relevant(text: str, limit: int, topics: Sequence[str]) -> str:
    """Keep a text whole up to a limit of characters; of a longer one, its most relevant parts.

    Of blocks of about a thousand characters those with the most distinct words of the topics are
    kept, in the text's order; "[…]" stands where something was left out.
    """
    if len(text) <= limit:
        return text
    words = (word for topic in topics for word in _WORD.findall(topic.casefold()))
    wanted = {word for word in words if len(word) >= _TELLING_LENGTH}
    size = min(_BLOCK_CHARACTERS, limit - len(_GAP))
    # As long as may be up to the end of a line or sentence, else cut anywhere.
    block = rf".{{1,{size}}}(?:(?<=\n)|(?<=\.)(?= )|\Z)|.{{1,{size}}}"
    blocks = re.findall(block, text, re.DOTALL)
    scores = [len(wanted & set(_WORD.findall(block.casefold()))) for block in blocks]
    kept: set[int] = set()
    for index in sorted(range(len(blocks)), key=lambda index: (-scores[index], index)):
        cost = len(blocks[index]) + len(_GAP)
        if cost <= limit:
            kept.add(index)
            limit -= cost
    gaps = {index for index in kept if index - 1 not in kept} - {min(kept, default=0)}
    return "".join(_GAP * (index in gaps) + blocks[index] for index in sorted(kept))


PAGES_AT_ONCE = 64
"""Most pages wait for their server; each costs some 5 MB meanwhile."""

PAGE_CHARACTERS = 200_000
"""A book of 30,000 words; readers score passages, so longer texts cost time and settle no more."""


@dataclass(kw_only=True)
class PageLibrary:
    """The pages of one run: each URL is fetched once, however many claims want it.

    At most `concurrency` fetches run at once; what was read is put into `texts` by content hash,
    cut to `limit` characters that say most about the `topics`. An answer engine's answer is its own
    page, whose text came with the search. A text that a site gives at two addresses, of which the
    search promised different pages, is the text of one of them at most.
    """

    fetcher: Fetcher
    texts: dict[str, str]
    topics: Sequence[str]
    concurrency: int = PAGES_AT_ONCE
    limit: int = PAGE_CHARACTERS

    def __post_init__(self) -> None:
        self._slots = asyncio.Semaphore(self.concurrency)
        self._pages: dict[str, records.Page] = {}
        self._given: dict[tuple[str, str], records.SearchHit] = {}
        """The hit that a site first gave a text for, by its domain and the text without figures."""
        self._once: Once[records.Page] = Once()

    async def get(self, hit: records.SearchHit) -> records.Page:
        """Return the page of a hit, fetched by the URL of whoever asked for it first."""
        return await self._once.get(hit.canonical_url, partial(self._fetch, hit))

    def pages(self) -> tuple[records.Page, ...]:
        """Return the rows of all pages that were asked for and answered, by URL."""
        return tuple(self._pages[url] for url in sorted(self._pages))

    async def _fetch(self, hit: records.SearchHit) -> records.Page:
        if is_answer(hit):
            text, now = hit.snippet, datetime.now(UTC)
            fetched = FetchedPage(hit.url, "ok", now, hit.url, via="snippet", text=text)
        else:
            async with self._slots:
                fetched = await self.fetcher.fetch(hit.url, promise=promise_of(hit))
            fetched = await asyncio.to_thread(self._unless_repeated, hit, fetched)
        page, text = await asyncio.to_thread(
            store_page, hit, fetched, limit=self.limit, topics=self.topics
        )
        if page.content_hash is not None:
            self.texts[page.content_hash] = text
        self._pages[hit.canonical_url] = page
        return page

    def _unless_repeated(self, hit: records.SearchHit, fetched: FetchedPage) -> FetchedPage:
        if fetched.outcome != "ok":
            return fetched
        place = domain_of(address_of(hit, fetched.final_url)), re.sub(r"\d+", "", fetched.text)
        first = self._given.setdefault((place[0], content_hash(place[1])), hit)
        if first is hit or not is_repeated(promise_of(hit), fetched, promise_of(first)):
            return fetched
        reason = f"another page came: the site gives the same text at {first.canonical_url}"
        return replace(fetched, outcome="outage", reason=reason)


# --- Reading ------------------------------------------------------------------------------------


def excerpt_of(
    candidate: Candidate, page: records.Page, texts: Mapping[str, str]
) -> PageExcerpt | None:
    """Return what a claim is read against: a page's text, else its snippet; None without either."""
    hit = candidate.hit
    text = texts.get(page.content_hash or "")
    is_speaking = len(hit.snippet.split()) >= _MIN_SNIPPET_WORDS and departure(hit, page) is None
    if page.status != "ok" and is_speaking:
        text = hit.snippet
    if text is None:
        return None
    return PageExcerpt(
        canonical_url=hit.canonical_url,
        title=page.title or hit.title,
        snippet=hit.snippet,
        text=text,
        published_on=page.published_on or hit.published_on,
    )


def read_row(
    claim: records.Claim,
    candidate: Candidate,
    page: records.Page,
    read: PageExcerpt,
    draft: EvidenceDraft | None,
    *,
    basis: records.Basis,
) -> records.Evidence:
    """Return the evidence of a source that was read, with only those words that it bears out."""
    via: records.RetrievedVia | None = page.via if page.status == "ok" else "snippet"
    is_due = page.status == "infra_error"
    what = "could not be read" if is_due else "is missing"
    remark = ""
    if via == "snippet":
        why = (page.reason or "").rstrip(".")
        remark = f"Only its search snippet was read, as the page {what}: {why}."
    if is_answer(candidate.hit):
        remark = _ANSWERED
    own = [each for each in candidate.rating.reasons if is_of_the_page(each)]
    row = partial(
        evidence_row,
        claim,
        candidate,
        page,
        basis=basis,
        remarks=(remark, *own),
        content_hash=page.content_hash or content_hash(read.text),
        via=via,
        published_on=read.published_on,
    )
    if draft is None:
        # Of a page in outage a silent snippet tells nothing: it stays what failed.
        status: records.Status = "infra_error" if is_due else "no_evidence"
        return row(status=status, reason="It does not speak of the claim.")
    relevance = clamped(draft.relevance)
    return row(status="ok", relevance=relevance, page_due=is_due, **check_words(draft, read.text))


def evidence_row(
    claim: records.Claim,
    candidate: Candidate,
    page: records.Page | None = None,
    *,
    status: records.Status,
    reason: str | None,
    remarks: Sequence[str | None] = (),
    **columns: object,
) -> records.Evidence:
    """Return the row of a source; of one that was not read, the reason says why."""
    hit, rating = candidate.hit, candidate.rating
    told = (reason, departure(hit, page) if page else None, *remarks)
    common = {
        "evidence_id": evidence_id(claim.claim_id, hit.canonical_url),
        "claim_id": claim.claim_id,
        "video_id": claim.video_id,
        "hit_id": hit.hit_id,
        "query_id": hit.query_id,
        "canonical_url": hit.canonical_url,
        "domain": page.domain if page else hit.domain,
        "title": (page.title if page else None) or hit.title,
        "page_id": page.page_id if page else None,
        "published_on": hit.published_on,
        "rating": rating.rating,
        "rating_score": rating.score,
        "bias": rating.bias,
        "source_class": rating.source_class,
        "status": status,
        "reason": " ".join(each.rstrip(".") + "." for each in told if each) or None,
    }
    return records.Evidence.model_validate(common | columns)


# --- Words that are believed --------------------------------------------------------------------


def check_words(draft: EvidenceDraft, text: str) -> dict[str, Any]:
    """Return the columns of a draft once its quotes have been looked up in the text; see above.

    The first quote in the reasoner's order that stands in the text is kept.
    """
    finder = QuoteFinder(text)
    places = [finder.find(quote) for quote in draft.quotes if quote.strip()]
    verified = [whole_sentences(text, *place) for place in places if place is not None]
    misquotes = len(finder.misquotes(draft.summary))
    reason = None
    if draft.contradicted:
        reason = (
            f"It was read as {draft.stance}, and the passage quoted for that says the contrary."
        )
        draft = replace(draft, stance="unclear", stance_confidence=0.0, ground=CONTRADICTED)
    columns: dict[str, Any] = {
        "stance": draft.stance,
        "stance_confidence": clamped(draft.stance_confidence),
        "ground": draft.ground,
        "summary": draft.summary.strip() or None if not misquotes else None,
        "rejected_quotes": len(places) - len(verified) + misquotes,
        "reason": reason,
    }
    if verified:
        start, end = verified[0]
        return columns | {"quote": text[start:end], "quote_start": start, "quote_end": end}
    if draft.stance != "unclear":
        why = f"It was read as {draft.stance}, but no passage of it could be quoted for that."
        columns |= {"stance": "unclear", "stance_confidence": 0.0, "ground": None, "reason": why}
    return columns


def whole_sentences(text: str, start: int, end: int) -> tuple[int, int]:
    """Widen a quote to its sentences, so that no denial or condition before or after it is lost.

    "It is not true that [sugar makes children hyperactive]" says the contrary of its end. Where no
    sentence ends within 400 characters, a word does. A line break is an end unless the next line
    goes on in lower case. What the page asks, or quotes itself, is answered by the next sentence.
    """
    earliest = max(0, start - _REACH)
    ends = [match.end() for match in _SENTENCE_ENDS.finditer(text, earliest, start + 1)]
    ends = [each for each in ends if each <= start]
    start = ends[-1] if ends else text.find(" ", earliest, start) + 1 if earliest else 0
    while text[start].isspace():
        start += 1
    if all(match.end() != end for match in _SENTENCE_ENDS.finditer(text, start, end + _AFTER)):
        end = _sentence_end(text, end)
    if text[:end].rstrip().endswith(_ASKED_OR_QUOTED):
        end = _sentence_end(text, len(text) - len(text[end:].lstrip()))
    while text[end - 1].isspace():
        end -= 1
    return start, end


def _sentence_end(text: str, at: int) -> int:
    stop = _SENTENCE_ENDS.search(text, at, at + _REACH)
    latest = len(text) if at + _REACH >= len(text) else text.rfind(" ", at, at + _REACH)
    return stop.end() if stop else max(at, latest)


class QuoteFinder:
    """Finds quotes in one text. The folded copy is made once, and only when it is needed."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _folded(self) -> tuple[str, list[int]]:
        return _folded(self._text)

    def find(self, quote: str) -> tuple[int, int] | None:
        """Return the raw offsets at which a quote stands in the text, None if it does not.

        Exactly as given, else without the marks around it and forgiving white space, invisible
        characters, the shape of quotation marks and dashes, a space before a unit ("31 °F"), the
        case of the first letter and brackets around it ("[T]here"). Fewer than twelve letters and
        digits are no quote, nor are fewer than four words that are no sentence.
        """
        quote = _BRACKETED.sub(r"\1", quote)
        words = len(_WORD.findall(quote)) + len(_UNSPACED.findall(quote)) // 2
        if sum(map(str.isalnum, quote)) < MIN_QUOTE_CHARACTERS:
            return None
        if words < MIN_QUOTE_WORDS:
            # "Bats are blind."
            said = rf"(?:^|(?<=[.!?] )){re.escape(quote.strip())}(?<=[.!])(?=\s|$)"
            place = re.search(said, self._text, re.MULTILINE)
            return None if place is None else place.span()
        bare = (quote.strip(_WRAPPING), quote.strip(f".{_WRAPPING}"))
        for wanted in (quote, *bare):
            start = self._text.find(wanted)
            if start >= 0:
                return start, start + len(wanted)
        copy, origins = self._folded
        for wanted in (_folded(form)[0].strip() for form in bare):
            for first in (wanted[:1], wanted[:1].swapcase()):
                start = copy.find(f"{first}{wanted[1:]}")
                if start >= 0:
                    return origins[start], origins[start + len(wanted) - 1] + 1
        return None

    def misquotes(self, words: str) -> list[str]:
        """Return what words quote and the text does not say; what is too short shows nothing."""
        return [
            each
            for each in QUOTED.findall(words)
            if sum(map(str.isalnum, each)) >= MIN_QUOTE_CHARACTERS
            and self.find(each.rstrip(".,;: ")) is None
        ]


def _folded(text: str) -> tuple[str, list[int]]:
    """Fold what is forgiven; return the copy and, per character of it, its raw offset."""
    characters: list[str] = []
    origins: list[int] = []
    for offset, character in enumerate(text.translate(_FOLDED)):
        if character in _INVISIBLE:
            continue
        if not character.isspace():
            is_unit = character.isalpha() or character in _UNITS
            if is_unit and characters[-1:] == [" "] and "".join(characters[-2:-1]).isdigit():
                del characters[-1], origins[-1]
            characters.append(character)
        elif not characters or characters[-1] != " ":
            characters.append(" ")
        else:
            continue
        origins.append(offset)
    return "".join(characters), origins
