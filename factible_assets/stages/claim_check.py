"""What can be done for one claim: the stage functions, over what the claims of a video share.

What belongs here: one claim's queries, searches, readings and verdict, each with its outages as
rows, within the limits that all claims share. What does not: the order in which they are done
(flow.py, strategies/), any rule of a stage, which stands in the stage's own module.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import TypeAlias, TypeVar

from factible_assets import records
from factible_assets.config import FactCheckConfig, QueriesConfig
from factible_assets.rows import VideoRows
from factible_assets.stages import ports, reviews, verdict
from factible_assets.stages.evidence import (
    PageLibrary,
    address_of,
    departure,
    evidence_row,
    excerpt_of,
    read_row,
)
from factible_assets.stages.ids import content_hash
from factible_assets.stages.orders import unswayed
from factible_assets.stages.origins import StoryIndex, label_origins
from factible_assets.stages.prior_fact_checks import with_reviews
from factible_assets.stages.progress import Stage, Stopwatch, Trace
from factible_assets.stages.queries import build_queries, query_row
from factible_assets.stages.reliability import RatingBook
from factible_assets.stages.search import (
    Candidate,
    gather_hits,
    is_answer,
    late_exclusion,
    rated,
    select_hits,
)

_LANE_SECONDS = 3.0
"""How long a claim waits for published fact checks once its own searches are done."""

Answer = TypeVar("Answer")
Row = TypeVar("Row", records.Query, records.Search, records.SearchHit, records.Evidence)
Words: TypeAlias = Callable[[], Awaitable[ports.WithCalls[tuple[ports.QueryDraft, ...]]]]
"""Words the searches for a claim."""
Reading: TypeAlias = Callable[
    [records.Query, ports.PageExcerpt], Awaitable[ports.WithCalls[ports.EvidenceDraft | None] | str]
]
"""Reads a page that a query led to, or says why it is left unread after all."""
ClaimRows: TypeAlias = tuple[verdict.CaseFile, records.Verdict | None]
"""What became of one claim. Without a verdict only where the verdicts are not selected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimCheck:
    """One claim that is checked, and what a strategy may have done for it, in its own order.

    From `video` on it is what the claims of one video share: services, the knobs as the strategy
    adapted them, pages, ratings and clocks.
    """

    claim: records.Claim
    corrections: reviews.Corrections
    trace: Trace
    answers: list[records.SearchHit] = field(default_factory=list)
    """What an answer engine said of it, once at most."""
    reviews: asyncio.Task[tuple[records.PriorFactCheck, ...]] | None = None
    """What fact-checkers published on it; None if nobody is asked."""
    video: records.Video
    services: ports.Services
    config: FactCheckConfig
    stages: frozenset[Stage]
    """Those that are selected; the rows of the others are read from `known`."""
    known: VideoRows
    watch: Stopwatch
    texts: dict[str, str]
    """Everything that was read, by content hash."""
    stories: StoryIndex
    book: RatingBook
    library: PageLibrary

    @property
    def basis(self) -> records.Basis:
        """Return who reads the evidence, because the verdict rests on it."""
        return self.services.reasoner.basis

    def unasked(self, reason: str, *, failed: bool = False) -> records.Query:
        """Return the row of a claim whose queries were not written: by a rule, or for a failure."""
        status = "infra_error" if failed else "skipped"
        writer = self.services.reasoner.queries
        return query_row(self.claim, "", basis=writer.basis, status=status, reason=reason)

    def case_of(self, queries: Sequence[records.Query]) -> verdict.CaseFile:
        """Open a case; a claim that nothing is asked for says so in a row."""
        unasked = self.unasked("No query was written: the check ended before.")
        return verdict.CaseFile(self.claim, queries or [unasked])

    async def gather(self, queries: Sequence[records.Query]) -> verdict.CaseFile:
        """Ask some searches, and read what they find."""
        searches, hits = await self.search(queries)
        evidence = await self.read(queries, hits)
        return replace(self.case_of(queries), searches=searches, hits=hits, evidence=evidence)

    def _held(self, rows: Iterable[Row]) -> tuple[Row, ...]:
        return tuple(row for row in rows if row.claim_id == self.claim.claim_id)

    async def write_queries(
        self, wider: QueriesConfig | None = None, words: Words | None = None
    ) -> tuple[records.Query, ...]:
        """Have the reasoner word the searches; the reviewers' corrections are in them.

        Good ones of the last check are kept where the run says so, but not if `wider` wants others
        than the knobs. `words` words them in place of the reasoner.
        """
        held = sorted(self._held(self.known.queries), key=lambda query: query.rank)
        if "queries" not in self.stages:
            return tuple(held)
        are_good = bool(held) and all(query.status == "ok" for query in held)
        if not wider and self.config.keeps_queries and are_good:
            return reviews.corrected_queries(self.claim, held, self.corrections)
        config = wider or self.config.queries
        with self.watch.time("queries"):
            judged = await self._asked(words or partial(self.worded_queries, config))
        self.services.observer.stage_progressed("queries", self.claim, 1, 1)
        if isinstance(judged, (ports.WithCalls, ports.ReasonerRefusalError)):
            # The claim's own words are a search too, and nobody can decline to use them.
            drafts = judged.value if isinstance(judged, ports.WithCalls) else ()
            basis = self.services.reasoner.queries.basis
            if any(draft.basis not in {None, basis} for draft in drafts):
                self.services.observer.remarked(
                    "The language model could not word all searches, so the claim's own words are "
                    f"searched: {self.claim.text}"
                )
            written = build_queries(self.claim, drafts, config, basis=basis)
        else:
            failed = not isinstance(judged, ports.BudgetSpentError)
            written = (self.unasked(judged.reason, failed=failed),)
        return reviews.corrected_queries(self.claim, written, self.corrections)

    async def _asked(
        self, question: Callable[[], Awaitable[Answer]]
    ) -> Answer | ports.ReasonerError:
        """Ask the reasoner within the claim's budget: its answer, or why there is none."""
        try:
            async with self.trace.within():
                answer = await question()
        except ports.ReasonerError as failure:
            self.trace.calls.extend(failure.calls)
            return failure
        if isinstance(answer, ports.WithCalls):
            self.trace.calls.extend(answer.calls)
        return answer

    async def worded_queries(
        self, config: QueriesConfig
    ) -> ports.WithCalls[tuple[ports.QueryDraft, ...]]:
        """Return the searches as the reasoner words them."""
        return await self.services.reasoner.queries.write_queries(
            self.video, self.claim, max_queries=config.max_queries
        )

    async def search(
        self, queries: Sequence[records.Query]
    ) -> tuple[tuple[records.Search, ...], tuple[records.SearchHit, ...]]:
        """Ask the searches, rate what they find, and add the sources that reviewers added."""
        searches, hits = self._held(self.known.searches), self._held(self.known.hits)
        if "search_hits" in self.stages:
            asked = [query for query in queries if query.status == "ok"]
            done, observer = count(1), self.services.observer

            async def ask(
                query: records.Query,
            ) -> tuple[list[records.Search], tuple[records.SearchHit, ...]]:
                book, config = self.book, self.config.search
                gathered = await gather_hits(query, self.services.searcher, book, config)
                observer.stage_progressed("search_hits", self.claim, next(done), len(asked))
                return gathered

            with self.watch.time("search_hits"):
                async with asyncio.TaskGroup() as group:
                    tasks = [group.create_task(ask(query)) for query in asked]
            parts = [task.result() for task in tasks]
            found = [hit for _, hits in parts for hit in hits]
            if not self.answers:
                self.answers.extend([hit for hit in found if is_answer(hit)][:1])
            ended = [search for searches, _ in parts for search in searches]
            found = [hit for hit in found if hit in self.answers or not is_answer(hit)]
            known = await self._reviews_in()
            searches, hits = reviews.with_added_sources(
                queries, *with_reviews(queries, ended, found, known), self.corrections
            )
        if self.stages & {"reliability_ratings", "evidence"}:
            self.book.rate(hit.url for hit in hits)
        return searches, hits

    async def _reviews_in(self) -> tuple[records.PriorFactCheck, ...]:
        """Return the reviews that are in a moment after the searches; none if the lane is late."""
        if self.reviews is None:
            return ()
        await asyncio.wait({self.reviews}, timeout=_LANE_SECONDS)
        return self.reviews.result() if self.reviews.done() else ()

    async def read(
        self,
        queries: Sequence[records.Query],
        hits: Sequence[records.SearchHit],
        sought: str | None = None,
        by: Reading | None = None,
    ) -> tuple[records.Evidence, ...]:
        """Choose pages, fetch and read them; every address that was found has a row.

        `sought` is looked for beside the claim. `by` reads in place of the reasoner.
        """
        held = self._held(self.known.evidence)
        if not self.stages & {"reliability_ratings", "evidence"}:
            return held
        chosen, left = select_hits(
            self.video, queries, hits, self.book.of, self.config.search, self.corrections
        )
        if "evidence" not in self.stages:
            await self.book.look_up_ages(each.hit.url for each in chosen)
            return held

        async def reader(
            query: records.Query, page: ports.PageExcerpt
        ) -> ports.WithCalls[ports.EvidenceDraft | None]:
            return await self.services.reasoner.evidence.read_evidence(
                self.video, self.claim, query, replace(page, sought=sought)
            )

        with self.watch.time("evidence"):
            read = await self._read_all(chosen, by or reader)
            skipped = (
                evidence_row(self.claim, candidate, status="skipped", reason=reason)
                for candidate, reason in left
            )
            rows = (*read, *skipped)
            return await asyncio.to_thread(label_origins, rows, self.stories)

    async def look_further(
        self,
        case: verdict.CaseFile,
        queries: Sequence[records.Query],
        *,
        searching: str,
        reading: tuple[records.StepKind, str],
        asked: str = "",
        sought: str | None = None,
        by: Reading | None = None,
        told: Callable[[Sequence[records.Evidence]], str] = lambda rows: (
            f"{len(rows)} sources speak of it"
        ),
    ) -> tuple[verdict.CaseFile, list[records.Evidence]]:
        """Ask further searches of a case and read what is new, each noted as a step.

        Returns the wider case, and what now speaks of the claim. No page is read twice; what the
        budget leaves unread says so in its row. `searching` and `reading` are how the steps are
        called, and `told` what the second says of what was read; see `read`.
        """
        with self.trace.step("retrieve", searching, asked) as note:
            searches, hits = await self.search(queries)
            note.used = [query.query_id for query in queries]
            note.made = [hit.hit_id for hit in hits]
            note.got = f"{len(hits)} results"
            if not hits:
                note.status, note.reason = "no_evidence", "Nothing was found."
            if failed := [each for each in searches if each.status == "infra_error"]:
                note.status = "infra_error"
                note.reason = "; ".join(each.reason for each in failed if each.reason)
        known = {row.canonical_url for row in case.evidence if row.status != "skipped"}
        fresh = [hit for hit in hits if hit.canonical_url not in known]
        with self.trace.step(*reading, sought or "", always=True) as note:
            rows = await self.read(queries, fresh, sought, by)
            speaking = [row for row in rows if row.status == "ok"]
            note.made = [row.evidence_id for row in speaking]
            note.got = told(speaking)
            if not speaking:
                note.status, note.reason = "no_evidence", "No page speaks of it."
        by_address = {row.canonical_url: row for row in (*case.evidence, *rows)}
        wider = replace(
            case,
            queries=(*case.queries, *queries),
            searches=(*case.searches, *searches),
            hits=(*case.hits, *hits),
            evidence=label_origins(tuple(by_address.values()), self.stories),
        )
        return wider, speaking

    async def _read_all(
        self, chosen: Sequence[Candidate], by: Reading
    ) -> tuple[records.Evidence, ...]:
        enough = self.config.evidence.enough_origins
        done, observer = count(1), self.services.observer
        rows: dict[str, records.Evidence] = {}
        tasks: list[asyncio.Task[None]] = []
        # A check that stops at enough sources waits for no page.
        arrivals = ports.Arrivals(len(chosen)) if enough is None else None

        async def read(candidate: Candidate) -> None:
            try:
                self.trace.refuse_beyond_budget()
            except ports.BudgetSpentError as spent:
                row = evidence_row(self.claim, candidate, status="skipped", reason=spent.reason)
                if arrivals is not None:
                    arrivals.one_in()
            else:
                row = await self._read(candidate, arrivals, by)
            rows[candidate.hit.canonical_url] = reviews.with_overrulings(row, self.corrections)
            observer.stage_progressed("evidence", self.claim, next(done), len(chosen))
            if enough and verdict.agreeing_origins(rows.values(), self.stories) >= enough:
                for task in {*tasks} - {asyncio.current_task()}:
                    task.cancel()

        async with asyncio.TaskGroup() as group:
            tasks.extend(group.create_task(read(candidate)) for candidate in chosen)
        reason = f"{enough} independent, reliable sources had already agreed."
        return tuple(
            rows.get(candidate.hit.canonical_url)
            or evidence_row(self.claim, candidate, status="skipped", reason=reason)
            for candidate in chosen
        )

    async def _read(
        self, candidate: Candidate, arrivals: ports.Arrivals | None, by: Reading
    ) -> records.Evidence:
        """Read a source while its domain's age is looked up, which moves its score alone."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.book.look_up_ages([candidate.hit.url]))
            reading = group.create_task(self._outcome(candidate, arrivals, by))
        page, row_of = reading.result()
        # The rating is that of the address where the page was in the end.
        address = address_of(candidate.hit, page.final_url)
        await self.book.look_up_ages([address])
        rating = self.book.of(address)
        if departure(candidate.hit, page) is None:
            rating = rated(candidate.hit, rating)
        return await asyncio.to_thread(row_of, replace(candidate, rating=rating))

    async def _outcome(
        self, candidate: Candidate, arrivals: ports.Arrivals | None, by: Reading
    ) -> tuple[records.Page, Callable[[Candidate], records.Evidence]]:
        """Fetch a page and read it; what came of it becomes a row once its source is rated."""
        hit, config = candidate.hit, self.config.search
        try:
            page = await self.library.get(hit)
            left_out = late_exclusion(
                self.video, page, config, self.corrections, found_as_of=hit.published_on
            )
            excerpt = None if left_out else excerpt_of(candidate, page, self.texts)
            if excerpt is not None and page.status != "ok":
                self.texts[content_hash(excerpt.text)] = excerpt.text
        finally:
            if arrivals is not None:
                arrivals.one_in()
        unread = partial(evidence_row, self.claim, page=page)
        if left_out is not None:
            return page, partial(unread, status="skipped", reason=left_out)
        if excerpt is None:
            status = "infra_error" if page.status == "infra_error" else "no_evidence"
            return page, partial(unread, status=status, reason=f"{hit.domain}: {page.reason}")
        together = self.config.evidence.together and arrivals is not None
        excerpt = replace(excerpt, arrivals=arrivals, together=together)
        match await self._asked(partial(self._read_unswayed, by, candidate.query, excerpt)):
            case ports.WithCalls(value=draft):
                return page, partial(
                    read_row, self.claim, page=page, read=excerpt, draft=draft, basis=self.basis
                )
            case str(reason) | ports.BudgetSpentError(reason=reason):
                return page, partial(unread, status="skipped", reason=reason)
            case ports.ReasonerRefusalError(reason=reason):
                status, reason = "skipped", f"The model declined to read it: {reason}"
            case ports.ReasonerError(reason=reason):
                status = "infra_error"
                reason = f"The page was fetched and could not be read: {reason}"
        return page, partial(unread, basis=self.basis, status=status, reason=reason)

    async def _read_unswayed(
        self, by: Reading, query: records.Query, excerpt: ports.PageExcerpt
    ) -> ports.WithCalls[ports.EvidenceDraft | None] | str:
        """Read a page, and again without the passage that decides if the embedded engine reads.

        A language model reads a page in a fence, and a second call would double its price.
        """

        async def again(text: str) -> ports.WithCalls[ports.EvidenceDraft | None] | str:
            return await by(query, replace(excerpt, text=text))

        judged = await by(query, excerpt)
        if isinstance(judged, str) or self.basis != "embedded":
            return judged
        return await unswayed(judged, excerpt.text, again)

    def form_opinion(self, case: verdict.CaseFile) -> verdict.Opinion:
        """Count the vote on what was gathered, and tell what of it could still change."""
        places = self.config.search.max_results
        return verdict.form_opinion(
            case, self.stories, self.config.verdicts, basis=self.basis, places=places
        )

    async def judge(
        self, case: verdict.CaseFile, failure: ports.ReasonerError | None = None
    ) -> records.Verdict:
        """Reach the verdict: the vote decides, the reasoner words it and is kept beside it.

        After a `failure` it is not asked.
        """
        with self.watch.time("verdicts"):
            opinion = await asyncio.to_thread(self.form_opinion, case)

            async def words() -> ports.WithCalls[ports.VerdictDraft | None] | None:
                if not opinion.rows or opinion.doubt is not None:
                    return None
                return await self.services.reasoner.verdicts.judge(
                    self.video, case.claim, opinion.rows, opinion.vote
                )

            judged = None if failure else await self._asked(words)
            if isinstance(judged, ports.WithCalls):
                return verdict.conclude(opinion, judged.value)
            return verdict.conclude(opinion, None, failure or judged)
