"""Builds the view of a report: the claims, first screen, transcript and stored texts of a video.

Everything here is plain text. The templates escape it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, TypeVar

from factible_assets import wording
from factible_assets.records import tables as records
from factible_assets.records.rows import VerdictChange
from factible_assets.records.stances import STANCES
from factible_assets.report.data import FailedRecheck, ReportData, quote_url, source_links
from factible_assets.report.passages import (
    Paragraph,
    TextRun,
    excerpt,
    quote_place,
    transcript_paragraphs,
)
from factible_assets.stages.argument import Argument, argue
from factible_assets.stages.evidence import is_later
from factible_assets.stages.reliability import RATING_ORDER
from factible_assets.stages.reviews import by_claim, latest
from factible_assets.stages.transcript import readable
from factible_assets.wording import publisher, youtube_id


def _of_weight(*weights: int | None) -> tuple[str, ...]:
    return tuple(name for name, stance in STANCES.items() if stance.weight in weights)


_FIRST_SCREEN: tuple[tuple[str, tuple[str, str], tuple[str, ...], int], ...] = (
    ("not-holding", ("Does not hold", "Seems not to hold"), _of_weight(-1, 0), 4),
    ("open", ("Open", "Open"), (wording.INCOMPLETE, *_of_weight(None), wording.UNJUDGED), 3),
    ("holding", ("Holds", "Seems to hold"), _of_weight(1), 3),
)
"""The sections of the first screen: id, heading (the second one if every claim is a leaning),
outcomes in their order, and the most claims that are listed."""
SECTION_OF = {outcome: anchor for anchor, _, outcomes, _ in _FIRST_SCREEN for outcome in outcomes}
"""The id of the section of the first screen that lists an outcome."""
_JUDGES: Mapping[str, str] = {
    "embedded": "the embedded engine (an automatic leaning)",
    "labels": "a small language model that read the pages (an automatic leaning)",
    "llm": "a language model",
}
_CONTEXT_CHARACTERS = 220
"""The length of the page's text on each side of a quote."""
SAFE_ID = re.compile(r"[A-Za-z0-9_-]+")
"""Ids that need no escaping in attributes and fragments."""


@dataclass(frozen=True, slots=True)
class OutcomeCount:
    """How many claims have an outcome. `offset` and `share` place it in a bar of width 100."""

    outcome: str
    words: str
    number: int
    offset: float
    share: float


@dataclass(frozen=True, slots=True)
class SourceView:
    """One source of one claim.

    Attributes:
        at_quote: The link that opens the page at its quote.
        stored: The anchor of the stored text, or of the quote in it.
        place: Where the stored text has the quote, if it has it.
        passage: The quote with the text around it.
        same_origin_as: The publisher of a more reliable source of the claim with the same story.
        is_later: Whether the page appeared after the video.
    """

    evidence: records.Evidence
    anchor: str
    title: str
    link: str | None
    at_quote: str | None
    stored: str | None
    rating_reasons: Sequence[str]
    place: tuple[int, int] | None
    passage: tuple[TextRun, ...] | None
    origin: str
    same_origin_as: str | None
    page: records.Page | None
    is_later: bool


@dataclass(frozen=True, slots=True)
class ClaimView:
    """One claim with all its results.

    Attributes:
        number: In order of time, from 1.
        anchors: The anchors of all sources, by evidence id.
        is_verbatim: Whether the claim is worded as it was said, apart from case and punctuation.
        groups: The sources of each side. The winning side comes first.
        leftovers: By status, the sources that say nothing, and the failed or empty work in words.
        searches: The queries, each with its searches.
        steps: The steps of a strategy, each with anchor and publisher of its sources.
        reviews: The acts of reviewers with their words, the latest last.
        before: The last check's outcome in words, if a decision about a source replaced it.
    """

    claim: records.Claim
    number: int
    anchor: str
    outcome: str
    verdict: records.Verdict | None
    said: str | None
    is_verbatim: bool
    failed_recheck: FailedRecheck | None
    changes: list[VerdictChange]
    argument: Argument
    anchors: Mapping[str, str]
    groups: Mapping[records.Stance, list[SourceView]]
    leftovers: Mapping[records.Status, tuple[list[SourceView], list[str]]]
    prior: list[records.PriorFactCheck]
    searches: list[tuple[records.Query, list[records.Search]]]
    steps: list[tuple[records.Step, list[tuple[str, str]]]]
    reviews: list[tuple[records.ReviewAction, str]]
    assessment: records.ReviewAction | None
    ruling: records.ReviewAction | None
    before: str | None = None

    @property
    def confidence(self) -> records.Confidence | None:
        """The confidence of a verdict that takes a side."""
        return wording.sureness(self.verdict) if self.verdict else None

    @property
    def is_decided(self) -> bool:
        """Whether a reviewer's decision about a source takes part in the verdict."""
        read = (source.evidence for sources in self.groups.values() for source in sources)
        is_overruled = any(row.machine_stance or row.machine_rating for row in read)
        return self.before is not None or is_overruled

    @property
    def is_leaning(self) -> bool:
        """Whether rules or a small model alone took a side."""
        takes_side = bool(self.confidence and self.verdict and self.verdict.basis != "llm")
        return takes_side and not self.is_decided

    @property
    def vote_words(self) -> str:
        """The verdict in words, apart from a ruling."""
        if self.verdict is None or self.is_decided:
            return wording.OUTCOME_WORDS[self.outcome]
        return wording.verdict_words(self.verdict)

    @property
    def assigned_to(self) -> str | None:
        act = latest("assign", (act for act, _ in self.reviews))
        return act.value if act else None

    @property
    def listed_outcome(self) -> str:
        """The outcome by which lists sort the claim: that of a signed ruling, else the verdict."""
        return (self.ruling and self.ruling.stance) or self.outcome

    @property
    def words(self) -> str:
        """The listed outcome in words."""
        if self.ruling:
            return f"{self.ruling.value}, by {self.ruling.reviewer}"
        return self.vote_words

    @property
    def weight(self) -> float:
        """Importance times confidence, 0 to 1: the order within a section of the first screen."""
        sure = 1.0 if self.ruling else (self.verdict and self.verdict.confidence_score) or 0.5
        return self.claim.importance * sure


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the first screen: the weightiest `claims` of `total`."""

    anchor: str
    heading: str
    claims: list[ClaimView]
    total: int


@dataclass(frozen=True, slots=True)
class StoredPage:
    """A stored text, the first source that it belongs to, and the claims of all its sources."""

    anchor: str
    first: SourceView
    text: tuple[TextRun, ...]
    claims: list[ClaimView]


@dataclass(frozen=True, slots=True)
class ReportView:
    """Everything that the report's template shows. `length` is that of the video, in seconds."""

    data: ReportData
    youtube_id: str | None
    judges: str
    counts: list[OutcomeCount]
    claims: list[ClaimView]
    by_id: Mapping[str, ClaimView]
    first_screen: list[Section]
    length: float
    transcript: tuple[Paragraph, ...]
    stored: list[StoredPage]


def arrange(data: ReportData) -> ReportView:
    """Build the view of one video. Claims are in order of time."""
    sources = _Sources(data)
    builder = _ClaimBuilder(data, sources)
    claims = [builder.claim(claim, number) for number, claim in enumerate(data.claims_by_time, 1)]
    bases: set[str] = {verdict.basis for verdict in data.verdicts}
    ends = [segment.begins + segment.duration_seconds for segment in data.segments]
    times = [claim.start_seconds or 0.0 for claim in data.claims]
    return ReportView(
        data=data,
        youtube_id=youtube_id(data.video),
        judges=" and ".join(words for basis, words in _JUDGES.items() if basis in bases),
        counts=count_outcomes(
            (view.listed_outcome, view.verdict.basis if view.verdict and view.is_leaning else None)
            for view in claims
        ),
        claims=claims,
        by_id={view.claim.claim_id: view for view in claims},
        first_screen=_first_screen(claims),
        length=max([data.video.duration_seconds or 0.0, *ends, *times]),
        transcript=transcript_paragraphs(builder.transcript, data.segments, data.claims),
        stored=sources.stored_pages(claims),
    )


def _first_screen(claims: Sequence[ClaimView]) -> list[Section]:
    sections = []
    for anchor, (heading, leaning), outcomes, most in _FIRST_SCREEN:
        listed = [view for view in claims if view.listed_outcome in outcomes]
        listed.sort(key=lambda view: (outcomes.index(view.listed_outcome), -view.weight))
        is_firm = any(view.ruling or not view.is_leaning for view in listed)
        if listed:
            words = heading if is_firm else leaning
            sections.append(Section(anchor, words, listed[:most], len(listed)))
    return sections


def count_outcomes(outcomes: Iterable[tuple[str, records.Basis | None]]) -> list[OutcomeCount]:
    """Count claims by outcome, in the order of summaries. Leanings count apart."""
    numbers = Counter(
        (outcome, wording.outcome_words(outcome, basis)) for outcome, basis in outcomes
    )
    places, offset, counts = list(wording.OUTCOME_WORDS), 0.0, []
    for outcome, words in sorted(numbers, key=lambda each: (places.index(each[0]), each[1])):
        number = numbers[outcome, words]
        share = 100.0 * number / numbers.total()
        counts.append(OutcomeCount(outcome, words, number, offset, share))
        offset += share
    return counts


class _Sources:
    """The views of a video's sources, the most reliable first, and of their stored texts."""

    def __init__(self, data: ReportData) -> None:
        self._data, self._texts = data, data.texts
        hashes = (row.content_hash or "" for row in data.evidence if row.status == "ok")
        stored = (text_hash for text_hash in dict.fromkeys(hashes) if text_hash in self._texts)
        self._text_anchors = {content_hash: f"text-{n}" for n, content_hash in enumerate(stored, 1)}
        self._links = source_links(data, data.evidence)
        self._reasons = {rating.domain: rating.reasons for rating in data.ratings}
        self._pages = {page.page_id: page for page in data.pages}
        self._first_publishers: dict[tuple[str, str, str], str] = {}
        ordered = enumerate(most_reliable_first(data.evidence), 1)
        self.views = [self._view(row, f"e{number}") for number, row in ordered]
        self.of_claim = _grouped(self.views, "evidence.claim_id")
        self.anchors = {view.evidence.evidence_id: view.anchor for view in self.views}

    def _view(self, row: records.Evidence, anchor: str) -> SourceView:
        link, name, origin = self._links[row.evidence_id], publisher(row), row.origin or row.domain
        first = self._first_publishers.setdefault((row.claim_id, row.status, origin), name)
        content_hash = row.content_hash or ""
        text = self._texts.get(content_hash, "")
        stored = self._text_anchors.get(content_hash) if row.status == "ok" else None
        place, passage = quote_place(row, text), None
        if place is not None:
            passage = excerpt(text, [(*place, anchor)], _CONTEXT_CHARACTERS, whole=0)
            stored = stored and f"quote-{anchor}"
        opens_at_quote = link and row.quote and row.via != "snippet"
        return SourceView(
            evidence=row,
            anchor=anchor,
            title=row.title.strip() or (name if wording.is_own_page(row) else row.canonical_url),
            link=link,
            at_quote=quote_url(link, row.quote or "") if opens_at_quote else None,
            stored=stored,
            rating_reasons=self._reasons.get(row.domain, ()),
            place=place,
            passage=passage,
            origin=origin,
            same_origin_as=None if first == name else first,
            page=self._pages.get(row.page_id or ""),
            is_later=is_later(row.published_on, self._data.video),
        )

    def stored_pages(self, claims: Sequence[ClaimView]) -> list[StoredPage]:
        """Return the stored texts of the sources, with their quotes marked."""
        by_hash = _grouped((view for view in self.views if view.stored), "evidence.content_hash")
        pages = []
        for content_hash, anchor in self._text_anchors.items():
            sources = by_hash[content_hash]
            quotes = [
                (*source.place, source.anchor) for source in sources if source.place is not None
            ]
            text = excerpt(self._texts[content_hash], quotes)
            claim_ids = {source.evidence.claim_id for source in sources}
            with_source = [view for view in claims if view.claim.claim_id in claim_ids]
            pages.append(StoredPage(anchor, sources[0], text, with_source))
        return pages


class _ClaimBuilder:
    """Builds the view of each claim from the rows of the video, which it groups once."""

    def __init__(self, data: ReportData, sources: _Sources) -> None:
        self._data, self._sources = data, sources
        self.transcript = readable(data.transcript.text) if data.transcript else ""
        self._verdicts, self._rulings = data.verdict_of, data.rulings
        self._queries, self._steps = _grouped(data.queries), _grouped(data.steps)
        self._searches = _grouped(data.searches, "query_id")
        self._prior, self._changes = _grouped(data.prior_fact_checks), _grouped(data.changes)
        self._reviews = by_claim(data.reviews)

    def claim(self, claim: records.Claim, number: int) -> ClaimView:
        key, data, sources = claim.claim_id, self._data, self._sources.of_claim[claim.claim_id]
        verdict, replaced = self._verdicts.get(key), data.stored_verdicts.get(key)
        outcome = wording.UNJUDGED if verdict is None else verdict.stance or wording.INCOMPLETE
        said = None
        if data.transcript is not None and claim.char_start is not None:
            said = self.transcript[claim.char_start : claim.char_end] or None
        by_status = _grouped(sources, "evidence.status")
        by_stance = _grouped(by_status["ok"], "evidence.stance")
        stances = sorted(STANCES, key=lambda stance: stance != outcome)
        without_stance: tuple[records.Status, ...] = ("infra_error", "no_evidence", "skipped")
        return ClaimView(
            claim=claim,
            number=number,
            anchor=key if SAFE_ID.fullmatch(key) else f"n{number}",
            outcome=outcome,
            verdict=verdict,
            said=said,
            is_verbatim=said is not None and _words_of(said) == _words_of(claim.text),
            failed_recheck=data.failed_rechecks.get(key),
            changes=self._changes[key],
            argument=argue(
                outcome, (_without_overruled_words(source.evidence) for source in sources)
            ),
            anchors=self._sources.anchors,
            groups={stance: by_stance[stance] for stance in stances if by_stance[stance]},
            leftovers={
                status: (by_status[status], self._work(key, status)) for status in without_stance
            },
            prior=[check for check in self._prior[key] if check.status == "ok"],
            searches=[(query, self._searches[query.query_id]) for query in self._queries[key]],
            steps=[(step, self._cited(step)) for step in self._steps[key]],
            reviews=self._acts(key),
            assessment=latest("assess", self._reviews.get(key, []), key),
            ruling=self._rulings.get(key),
            before=wording.verdict_words(replaced) if replaced else None,
        )

    def _cited(self, step: records.Step) -> list[tuple[str, str]]:
        """Return anchor and publisher of the sources of a step."""
        # A key point makes no source. It rests on the sources that it cites.
        ids = step.made or (step.used if step.step == "judge" else ())
        by_id = {
            source.evidence.evidence_id: source for source in self._sources.of_claim[step.claim_id]
        }
        cited = (by_id[evidence_id] for evidence_id in ids if evidence_id in by_id)
        return [(source.anchor, publisher(source.evidence)) for source in cited]

    def _acts(self, claim_id: str) -> list[tuple[records.ReviewAction, str]]:
        """Return the reviewers' acts on a claim, each with its words."""
        queries = dict(self._data.reviewed_queries)
        queries |= {query.query_id: query.text for query in self._queries[claim_id]}
        acts = []
        for act in self._reviews.get(claim_id, ()):
            query = queries.get(act.target or "")
            acts.append((act, wording.act_words(act.action, act.target, act.value, query)))
            if act.query_id is not None and act.value is not None:
                queries[act.query_id] = act.value
        return acts

    def _work(self, claim_id: str, status: records.Status) -> list[str]:
        """Say which queries, searches and look-ups of a claim ended with a status, and why."""
        queries, lines = self._queries[claim_id], []
        for query in queries:
            if query.status == status and query.text:
                lines.append(f"The query “{query.text}”: {query.reason or status}")
            elif query.status == status:
                lines.append(f"Writing a query: {query.reason}")
        lines += [
            f"The search for “{query.text}” at {search.provider}, page {search.page}: "
            f"{search.reason or 'no results'}"
            for query in queries
            for search in self._searches[query.query_id]
            if search.status == status
        ]
        for check in self._prior[claim_id]:
            if check.status == status == "skipped":
                lines.append(f"The review by {check.publisher or check.domain}: {check.reason}")
            elif check.status == status:
                lines.append(
                    f"Prior fact checks at {check.provider}: {check.reason or 'none found'}"
                )
        return lines


def _without_overruled_words(row: records.Evidence) -> records.Evidence:
    """Drop the machine's words on a source if a reviewer overruled its stance."""
    is_overruled = row.machine_stance not in {None, row.stance}
    return row.model_copy(update={"summary": None}) if is_overruled else row


_Row = TypeVar("_Row")


def _grouped(rows: Iterable[_Row], by: str = "claim_id") -> dict[Any, list[_Row]]:
    key, groups = attrgetter(by), defaultdict[Any, list[_Row]](list)
    for row in rows:
        groups[key(row)].append(row)
    return groups


def most_reliable_first(evidence: Iterable[records.Evidence]) -> list[records.Evidence]:
    """Sort evidence: published fact checks, then the other pages, each by reliability."""

    def sort_key(row: records.Evidence) -> tuple[Any, ...]:
        is_check, rank = row.source_class == "fact_checker", RATING_ORDER[row.rating]
        return not is_check, -rank, -row.rating_score, row.title, row.canonical_url

    return sorted(evidence, key=sort_key)


def _words_of(text: str) -> str:
    return " ".join("".join(c if c.isalnum() else " " for c in text.casefold()).split())
