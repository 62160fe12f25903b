"""A report as its reader meets it: claims with their evidence, arranged, counted, put into words.

What belongs here: the video, its claims, the transcript, the stored texts, and where they
are marked. What does not: markup, the index (writing.py), judgement of any kind; every number here
was stored by a stage.

Text stays text: nothing in this module escapes or builds markup, the template does (autoescaped).
"""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from factible_assets import records, wording
from factible_assets.report.data import Outlived, ReportData, quote_url, source_links
from factible_assets.rows import VerdictChange
from factible_assets.stages.argument import Argument, argue
from factible_assets.stages.evidence import is_later
from factible_assets.stages.reviews import by_claim, latest
from factible_assets.stages.transcript import readable
from factible_assets.wording import youtube_id

_FIRST_SCREEN: tuple[tuple[str, tuple[str, str], tuple[str, ...], int], ...] = (
    ("not-holding", ("Does not hold", "Seems not to hold"), ("refutes", "mixed"), 4),
    ("open", ("Open", "Open"), (wording.INCOMPLETE, "unclear", wording.UNJUDGED), 3),
    ("holding", ("Holds", "Seems to hold"), ("supports",), 3),
)
"""The parts of the first screen: id, heading (the second if all are leanings), outcomes in their
order, and the most claims shown."""
PART_OF = {outcome: each for each, _, outcomes, _ in _FIRST_SCREEN for outcome in outcomes}
"""The id of the part of the first screen that lists an outcome."""
_RATING_ORDER = ("high", "medium", "low", "very_low", "unknown")
ID = re.compile(r"[A-Za-z0-9_-]+")
"""An id that may stand in attributes and fragments; an odd one is never trusted."""

Shown: TypeAlias = dict[str, Any]
"""What a template prints of one thing, by name.

- Of a source: its `evidence`, `anchor`, `title`, and `link`; `at_quote` opens the page at its
  quote, where browsers can, `stored` is the anchor of its stored text, or of its quote in there;
  `rating_reasons`, `passage` (the quote in its surroundings, a StoredText; none where the stored
  text does not hold it), `origin`, `same_origin_as`, `page` and `is_later`.
- Of a stored text: its `anchor`, one `source` with its `link` and `page`, the `text`, and the
  `claims` whose quotes stand in it.
- Of an outcome: how many claims (`number`) had the `outcome`, in `words`; `offset` and `share`
  place it in a bar of width 100.
"""


@dataclass(frozen=True, slots=True)
class ClaimView:
    """One claim with everything that was found, not found and not checked about it.

    `anchors` are those of its sources by the id of their evidence, for the links of its argument;
    a claim is verbatim if it is worded as it was said, but for case and punctuation. `groups` has
    the sources of each side, the one that won first; `leftovers` by status the sources that say
    nothing and the work that made nothing, in words. `searches` are the queries and the
    searches for each; `steps` those of a strategy with anchor and domain of what each rests on;
    `reviews` what people did, in words, the latest last. `before` is the outcome of the last
    check, in words, if a reviewer's decision about a source replaced it.
    """

    claim: records.Claim
    number: int
    anchor: str
    outcome: str
    verdict: records.Verdict | None
    said: str | None
    is_verbatim: bool
    outlived: Outlived | None
    changes: list[VerdictChange]
    argument: Argument
    anchors: Mapping[str, str]
    groups: Mapping[records.Stance, list[Shown]]
    leftovers: Mapping[records.Status, tuple[list[Shown], list[str]]]
    prior: list[records.PriorFactCheck]
    searches: list[tuple[records.Query, list[records.Search]]]
    steps: list[tuple[records.Step, list[tuple[str, str]]]]
    reviews: list[tuple[records.ReviewAction, str]]
    assessment: records.ReviewAction | None
    ruling: records.ReviewAction | None
    before: str | None = None

    @property
    def is_leaning(self) -> bool:
        """Whether rules and word statistics took a side."""
        return bool(self.confidence and self.verdict and self.verdict.basis != "llm")

    @property
    def standing(self) -> str:
        """The outcome by which the claim is listed: that of a signed ruling, else the machine's."""
        return (self.ruling and self.ruling.stance) or self.outcome

    @property
    def words(self) -> str:
        """The outcome by which the claim is listed, in words."""
        if self.ruling:
            return f"{self.ruling.value}, ruled by {self.ruling.reviewer}"
        return wording.outcome_words(self.outcome, self.verdict.basis if self.verdict else None)

    @property
    def weight(self) -> float:
        """How much the claim matters on the first screen: importance times confidence, 0 to 1."""
        sure = 1.0 if self.ruling else (self.verdict and self.verdict.confidence_score) or 0.5
        return self.claim.importance * sure

    @property
    def confidence(self) -> str | None:
        """How sure the verdict is, if it takes a side."""
        return wording.sureness(self.verdict) if self.verdict else None


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the first screen: the claims that matter most among `total` of its outcomes."""

    anchor: str
    heading: str
    claims: list[ClaimView]
    total: int


@dataclass(frozen=True, slots=True)
class ReportView:
    """The report's content beside the rows. `length` is the video's, in seconds.

    `first` are the parts of the first screen in their order. A part without claims is left out.
    """

    data: ReportData
    youtube_id: str | None
    verdict_of: str
    counts: list[Shown]
    claims: list[ClaimView]
    by_id: Mapping[str, ClaimView]
    first: list[Part]
    length: float
    transcript: tuple[Block, ...]
    stored: list[Shown]
    pictures: Mapping[str, list[records.MediaFinding]]


def arrange(data: ReportData) -> ReportView:
    """Arrange the records of one video for its reader, claims in order of time."""
    shelves = _Shelves(data)
    claims = [shelves.claim_view(claim, number) for number, claim in enumerate(data.in_time, 1)]
    by_id = {view.claim.claim_id: view for view in claims}
    judges = {
        "embedded": "the embedded engine (an automatic leaning)",
        "labels": "a small language model that read the pages (an automatic leaning)",
        "llm": "a language model",
    }
    bases: set[str] = {each.basis for each in data.verdicts or data.claims}
    ends = [segment.begins + segment.duration_seconds for segment in data.segments]
    times = [claim.start_seconds or 0.0 for claim in data.claims]
    # What was not asked, or merely looks alike, is left out.
    told = [row for row in data.media if row.status in {"ok", "infra_error"}]
    pictures: dict[str, list[records.MediaFinding]] = {row.picture: [] for row in told}
    for row in told:
        if row.kind != "match" or row.match_class != "similar":
            pictures[row.picture].append(row)
    return ReportView(
        data=data,
        youtube_id=youtube_id(data.video),
        verdict_of=" and ".join(words for basis, words in judges.items() if basis in bases)
        or "nobody yet",
        counts=count_outcomes(
            (view.standing, "llm" if view.ruling else view.verdict.basis if view.verdict else None)
            for view in claims
        ),
        claims=claims,
        by_id=by_id,
        first=_first_screen(claims),
        length=max([data.video.duration_seconds or 0.0, *ends, *times]),
        transcript=transcript_blocks(shelves.transcript, data.segments, data.claims),
        stored=shelves.stored_texts(by_id),
        pictures=pictures,
    )


def _first_screen(claims: Sequence[ClaimView]) -> list[Part]:
    """Return the parts of the first screen: what does not hold, what is open, what holds."""
    parts = []
    for anchor, (heading, leaning), outcomes, most in _FIRST_SCREEN:
        mine = [view for view in claims if view.standing in outcomes]
        mine.sort(key=lambda view: (outcomes.index(view.standing), -view.weight))
        is_plain = any(view.ruling or not view.is_leaning for view in mine)
        if mine:
            words = heading if is_plain else leaning
            parts.append(Part(anchor, words, mine[:most], len(mine)))
    return parts


def count_outcomes(outcomes: Iterable[tuple[str, records.Basis | None]]) -> list[Shown]:
    """Count claims by outcome; an outcome that the embedded engine reached is a leaning."""
    told = [(outcome, wording.outcome_words(outcome, basis)) for outcome, basis in outcomes]
    numbers, offset = Counter(told), 0.0
    places = list(wording.OUTCOME_WORDS)
    counts = []
    for outcome, words in sorted(numbers, key=lambda each: (places.index(each[0]), each[1])):
        number = numbers[outcome, words]
        place = {"offset": offset, "share": 100.0 * number / numbers.total()}
        counts.append({"outcome": outcome, "words": words, "number": number} | place)
        offset += place["share"]
    return counts


class _Shelves:
    """The records of a video, laid out by the claim that they belong to."""

    def __init__(self, data: ReportData) -> None:
        self._data = data
        self.transcript = readable(data.transcript.text) if data.transcript else ""
        self._texts = data.texts
        self._links = source_links(data, data.evidence)
        self._pages = {page.page_id: page for page in data.pages}
        self._verdicts = data.verdict_of
        self._ratings = {rating.domain: rating for rating in data.ratings}
        self._in_order = in_order(data.evidence)
        self._anchors = {row.evidence_id: f"e{n}" for n, row in enumerate(self._in_order, 1)}
        self._publishers = {row.evidence_id: wording.publisher(row) for row in data.evidence}
        self._evidence = _grouped(self._in_order)
        self._steps = _grouped(data.steps)
        self._queries = _grouped(data.queries)
        self._searches = _grouped(data.searches, "query_id")
        self._prior = _grouped(data.prior_fact_checks)
        self._reviews = by_claim(data.reviews)
        self._rulings = data.rulings
        self._changes = _grouped(data.changes)
        hashes = (row.content_hash or "" for row in data.evidence if row.status == "ok")
        kept = (each for each in dict.fromkeys(hashes) if each in self._texts)
        self._stored = {content_hash: f"text-{n}" for n, content_hash in enumerate(kept, 1)}

    def claim_view(self, claim: records.Claim, number: int) -> ClaimView:
        """Return a claim with its number in order of time, from 1."""
        key = claim.claim_id
        verdict, stored = self._verdicts.get(key), self._data.stored_verdicts.get(key)
        outcome = wording.UNJUDGED if verdict is None else verdict.stance or wording.INCOMPLETE
        said = None
        if self._data.transcript is not None and claim.char_start is not None:
            said = self.transcript[claim.char_start : claim.char_end] or None
        ok = self._sources(claim, "ok")
        # The side that won comes first.
        sides = sorted(wording.GROUP_WORDS, key=lambda side: side != outcome)
        groups = {side: [each for each in ok if each["evidence"].stance == side] for side in sides}
        steps = []
        for step in self._steps[key]:
            # A key point makes nothing: it rests on what it cites.
            ids = step.made or (step.used if step.step == "judge" else ())
            known = [each for each in ids if each in self._publishers]
            steps.append((step, [(self._anchors[each], self._publishers[each]) for each in known]))
        left: tuple[records.Status, ...] = ("infra_error", "no_evidence", "skipped")
        return ClaimView(
            claim=claim,
            number=number,
            anchor=key if ID.fullmatch(key) else f"n{number}",
            outcome=outcome,
            verdict=verdict,
            said=said,
            is_verbatim=said is not None and _bare(said) == _bare(claim.text),
            outlived=self._data.outlived.get(key),
            changes=self._changes[key],
            argument=argue(outcome, map(_without_overruled_words, self._evidence[key])),
            anchors=self._anchors,
            groups={side: sources for side, sources in groups.items() if sources},
            leftovers={
                status: (self._sources(claim, status), self._work(claim, status)) for status in left
            },
            prior=[review for review in self._prior[key] if review.status == "ok"],
            searches=[(query, self._searches[query.query_id]) for query in self._queries[key]],
            steps=steps,
            reviews=self._acts(claim),
            assessment=latest("assess", self._reviews.get(key, []), key),
            ruling=self._rulings.get(key),
            before=wording.verdict_words(stored) if stored else None,
        )

    def stored_texts(self, by_id: Mapping[str, ClaimView]) -> list[Shown]:
        """Return the stored texts that evidence speaks from, with their quotes marked."""
        shown = []
        for content_hash, anchor in self._stored.items():
            text = self._texts[content_hash]
            rows = [
                row
                for row in self._in_order
                if row.content_hash == content_hash and row.status == "ok"
            ]
            places = ((quote_place(row, text), self._anchors[row.evidence_id]) for row in rows)
            quotes = [(*place, name) for place, name in places if place is not None]
            speak = {row.claim_id for row in rows}
            item: Shown = {
                "anchor": anchor,
                "source": rows[0],
                "link": self._links[rows[0].evidence_id],
                "page": self._pages.get(rows[0].page_id or ""),
                "text": stored_text(text, quotes),
                "claims": [view for claim_id, view in by_id.items() if claim_id in speak],
            }
            shown.append(item)
        return shown

    def _sources(self, claim: records.Claim, status: records.Status) -> list[Shown]:
        first_of: dict[str, str] = {}
        shown = []
        for row in self._evidence[claim.claim_id]:
            if row.status != status:
                continue
            anchor, link = self._anchors[row.evidence_id], self._links[row.evidence_id]
            origin = row.origin or row.domain
            first = first_of.setdefault(origin, own := wording.publisher(row))
            text = self._texts.get(row.content_hash or "", "")
            place = quote_place(row, text)
            stored = self._stored.get(row.content_hash or "") if status == "ok" else None
            passage = None
            if place is not None:
                passage = stored_text(text, [(*place, anchor)], _CONTEXT_CHARACTERS, whole=0)
                stored = f"quote-{anchor}" if stored else None
            rating = self._ratings.get(row.domain)
            source: Shown = {
                "evidence": row,
                "anchor": anchor,
                "title": row.title.strip() or row.canonical_url,
                "link": link,
                "at_quote": quote_url(link, row.quote)
                if link and row.quote and row.via != "snippet"
                else None,
                "stored": stored,
                "rating_reasons": rating.reasons if rating else (),
                "passage": passage,
                "origin": origin,
                "same_origin_as": None if first == own else first,
                "page": self._pages.get(row.page_id or ""),
                "is_later": is_later(row.published_on, self._data.video),
            }
            shown.append(source)
        return shown

    def _acts(self, claim: records.Claim) -> list[tuple[records.ReviewAction, str]]:
        known = dict(self._data.reviewed_queries)
        known |= {query.query_id: query.text for query in self._queries[claim.claim_id]}
        told = []
        for act in self._reviews.get(claim.claim_id, ()):
            query = known.get(act.target or "")
            told.append((act, wording.act_words(act.action, act.target, act.value, query)))
            if act.query_id is not None and act.value is not None:
                known[act.query_id] = act.value
        return told

    def _work(self, claim: records.Claim, status: records.Status) -> list[str]:
        """Say which queries, searches and look-ups of a claim ended with a status, and why."""
        queries = self._queries[claim.claim_id]
        lines = [
            f"The query “{query.text}”: {query.reason or status}"
            if query.text
            else f"Writing a query: {query.reason}"
            for query in queries
            if query.status == status
        ]
        lines += [
            f"The search for “{query.text}” at {search.provider}, page {search.page}: "
            f"{search.reason or 'no results'}"
            for query in queries
            for search in self._searches[query.query_id]
            if search.status == status
        ]
        for each in self._prior[claim.claim_id]:
            if each.status == status == "skipped":
                lines.append(f"The review by {each.publisher or each.domain}: {each.reason}")
            elif each.status == status:
                lines.append(f"Prior fact checks at {each.provider}: {each.reason or 'none found'}")
        return lines


def _without_overruled_words(row: records.Evidence) -> records.Evidence:
    """Return a source without the machine's words on it if a reviewer overruled its stance."""
    is_overruled = row.machine_stance not in {None, row.stance}
    return row.model_copy(update={"summary": None}) if is_overruled else row


_Row = TypeVar("_Row")


def _grouped(rows: Iterable[_Row], by: str = "claim_id") -> dict[str, list[_Row]]:
    """Group rows in the order in which they were read."""
    found: dict[str, list[_Row]] = defaultdict(list)
    for row in rows:
        found[getattr(row, by)].append(row)
    return found


def in_order(evidence: Iterable[records.Evidence]) -> list[records.Evidence]:
    """Return evidence, the most reliable first."""

    def place(row: records.Evidence) -> tuple[Any, ...]:
        rank = _RATING_ORDER.index(row.rating)
        return rank, -row.rating_score, row.title, row.canonical_url

    return sorted(evidence, key=place)


def _bare(text: str) -> str:
    return " ".join("".join(c if c.isalnum() else " " for c in text.casefold()).split())


# --- Stretches of stored text with the places that matter marked in them --------------------------
#
# Offsets count code points of the text as stored; nothing here normalises, strips or rewraps, so
# the pieces of a passage always join to the very text that they were cut from. How a marked stretch
# looks is the template's.

_CONTEXT_CHARACTERS = 220
_WORD_SEARCH_CHARACTERS = 40
_BLOCK_SECONDS = 30.0
_BLOCK_CHARACTERS = 600
WHOLE_CHARACTERS = 12_000
"""Up to this length a page's stored text is shown whole."""
_AROUND_QUOTE_CHARACTERS = 2_500

Span = tuple[int, int, str]
"""Where something stands in a text, and its id."""


@dataclass(frozen=True, slots=True)
class Run:
    """A stretch of text inside the same marks, often none: claims made there, or quotes."""

    text: str
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph of the transcript; `start_seconds` is unknown in untimed transcripts."""

    start_seconds: float | None
    runs: tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class StoredText:
    """A stored page text with its quotes marked, whole if it is short.

    `excerpts` are stretches, each behind the number of characters left out before it; `shown` and
    `length` count characters, `omitted_at_end` those after the last excerpt.
    """

    excerpts: list[tuple[int, tuple[Run, ...]]]
    omitted_at_end: int
    shown: int
    length: int


def quote_place(row: records.Evidence, text: str) -> tuple[int, int] | None:
    """Return where a stored text holds the quote, character by character; None if it does not."""
    if row.quote is None or row.quote_start is None or row.quote_end is None:
        return None
    is_there = text[row.quote_start : row.quote_end] == row.quote
    return (row.quote_start, row.quote_end) if is_there else None


def stored_text(
    text: str,
    quotes: Sequence[Span],
    around: int = _AROUND_QUOTE_CHARACTERS,
    whole: int = WHOLE_CHARACTERS,
) -> StoredText:
    """Lay out a page's stored text with its quotes marked; of a long one what is around them.

    `around` is how many characters before and after a quote, cut at word ends; a text up to
    `whole` characters is not cut. A long text without a quote shows its beginning.
    """
    ranges: list[tuple[int, int]] = []
    if len(text) <= whole:
        ranges = [(0, len(text))]
    elif not quotes:
        ranges = [(0, _word_end(text, whole, 0))]
    else:
        for start, end, _ in sorted(quotes):
            first = _word_start(text, max(0, start - around), start)
            last = _word_end(text, min(len(text), end + around), end)
            if ranges and first <= ranges[-1][1]:
                # Stretches that touch are one.
                first, last = ranges[-1][0], max(last, ranges.pop()[1])
            ranges.append((first, last))
    excerpts = []
    position = 0
    for first, last in ranges:
        excerpts.append((first - position, _runs(text, first, last, quotes)))
        position = last
    shown = sum(last - first for first, last in ranges)
    return StoredText(excerpts, len(text) - position, shown, len(text))


def _word_start(text: str, position: int, limit: int) -> int:
    """Return the first word start at or after `position`; `position` if none is near."""
    if position == 0 or text[position - 1].isspace():
        return position
    stop = min(limit, position + _WORD_SEARCH_CHARACTERS)
    return next((at + 1 for at in range(position, stop) if text[at].isspace()), position)


def _word_end(text: str, position: int, limit: int) -> int:
    """Return the last word end at or before `position`; `position` if none is near."""
    if position == len(text) or text[position].isspace():
        return position
    stop = max(limit, position - _WORD_SEARCH_CHARACTERS)
    return next((at for at in range(position - 1, stop - 1, -1) if text[at].isspace()), position)


def transcript_blocks(
    text: str, segments: Sequence[records.TranscriptSegment], claims: Iterable[records.Claim]
) -> tuple[Block, ...]:
    """Cut a transcript into paragraphs of about half a minute, with the claims marked in them.

    Untimed transcripts are cut at line breaks. The runs of all blocks join to `text`.
    """
    spans = [
        (claim.char_start, min(claim.char_end, len(text)), claim.claim_id)
        for claim in claims
        if claim.char_start is not None and claim.char_end is not None
    ]
    starts: list[tuple[int, float | None]] = [(0, None)]
    ordered = sorted(segments, key=lambda segment: segment.position)
    times = [(each.char_start, each.start_seconds) for each in ordered]
    if times and times[0][1] is not None:
        opened_at = times[0][1]
        starts = [(0, opened_at)]
        for char_start, seconds in times:
            is_due = (seconds or 0.0) - opened_at >= _BLOCK_SECONDS
            if is_due and starts[-1][0] < char_start < len(text):
                starts.append((char_start, seconds))
                opened_at = seconds or 0.0
    else:
        position = 0
        for line in text.splitlines(keepends=True):
            position += len(line)
            if position - starts[-1][0] >= _BLOCK_CHARACTERS and position < len(text):
                starts.append((position, None))
    ends = [start for start, _ in starts[1:]] + [len(text)]
    return tuple(
        Block(seconds, _runs(text, start, end, spans))
        for (start, seconds), end in zip(starts, ends, strict=True)
        if start < end
    )


def _runs(text: str, start: int, end: int, spans: Sequence[Span]) -> tuple[Run, ...]:
    within = [span for span in spans if span[0] < end and span[1] > start]
    cuts = {start, end}
    for first, last, _ in within:
        cuts.update(cut for cut in (first, last) if start < cut < end)
    edges = sorted(cuts)
    return tuple(
        Run(
            text[left:right],
            tuple(name for first, last, name in within if first <= left and right <= last),
        )
        for left, right in itertools.pairwise(edges)
    )
