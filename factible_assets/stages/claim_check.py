"""The steps that a strategy can take for one claim: queries, searches, readings, verdict."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import TypeAlias, TypeVar

from factible_assets.config import FactCheckConfig, QueriesConfig
from factible_assets.records import tables as records
from factible_assets.records.rows import VideoRows
from factible_assets.stages import ports, reviews, verdict
from factible_assets.stages.argument import in_sentences
from factible_assets.stages.evidence import (
    PageLibrary,
    evidence_row,
    excerpt_of,
    final_address,
    read_row,
    redirect_note,
)
from factible_assets.stages.ids import content_hash
from factible_assets.stages.origins import StoryIndex, label_origins
from factible_assets.stages.prior_fact_checks import pages_to_read
from factible_assets.stages.progress import Stage, Stopwatch, Trace
from factible_assets.stages.queries import LOWEST_PRIORITY, MAX_PRIORITY, build_queries, query_row
from factible_assets.stages.quotes import recheck_without_quotes
from factible_assets.stages.reliability import RatingBook
from factible_assets.stages.reuse import rated_today
from factible_assets.stages.search import (
    PUBLISHED,
    REVIEWER,
    FoundPage,
    gather_hits,
    is_answer,
    late_exclusion,
    rated,
    select_hits,
    with_pages,
)
from factible_assets.wording import counted

_LOOK_UP_SECONDS = 3.0
"""How long a claim waits for published fact checks after its own searches."""

Answer = TypeVar("Answer")
Row = TypeVar("Row", records.Query, records.Search, records.SearchHit, records.Evidence)
WordQueries: TypeAlias = Callable[[], Awaitable[ports.WithCalls[tuple[ports.QueryDraft, ...]]]]
"""Words the searches for a claim."""
ReadPage: TypeAlias = Callable[
    [records.Query, ports.PageExcerpt], Awaitable[ports.WithCalls[ports.EvidenceDraft | None] | str]
]
"""Reads the page of a query for a claim, or returns the reason for leaving it unread."""
ClaimRows: TypeAlias = tuple[verdict.CaseFile, records.Verdict | None]
"""The rows of one claim; without a verdict only if the run does not select verdicts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimCheck:
    """One claim and the steps of its check; the strategy decides their order.

    The fields from `video` on are shared by all claims of the video.
    """

    claim: records.Claim
    corrections: reviews.Corrections
    trace: Trace
    answers: list[records.SearchHit] = field(default_factory=list)
    """The answer of an answer engine, at most one."""
    reviews: asyncio.Task[tuple[records.PriorFactCheck, ...]] | None = None
    """Looks up published fact checks of the claim; None if the run does not."""
    earlier: VideoRows | None = None
    """The rows of an earlier check, under the ids of this claim; None: search and read."""
    settled: Callable[[records.Verdict], None] = lambda _: None
    """Receives a verdict without its confidence once no missing page can change its stance."""
    video: records.Video
    services: ports.Services
    config: FactCheckConfig
    stages: frozenset[Stage]
    """The selected stages; `known` has the rows of the others."""
    known: VideoRows
    watch: Stopwatch
    texts: dict[str, str]
    """Every text that was read, by content hash."""
    stories: StoryIndex
    book: RatingBook
    library: PageLibrary

    @property
    def basis(self) -> records.Basis:
        """The reader of the evidence, on which the verdict rests."""
        return self.services.reasoner.basis

    def no_query(self, reason: str, *, failed: bool = False) -> records.Query:
        """Return the row of a claim without queries, because of a rule or of a failure."""
        status = "infra_error" if failed else "skipped"
        writer = self.services.reasoner.queries
        return query_row(self.claim, "", basis=writer.basis, status=status, reason=reason)

    def open_case(self, queries: Sequence[records.Query]) -> verdict.CaseFile:
        """Open a case; without queries it has a row that says so."""
        return verdict.CaseFile(
            self.claim, queries or [self.no_query("The check ended before it wrote a query.")]
        )

    async def gather(
        self, queries: Sequence[records.Query], *, announces: bool = False
    ) -> verdict.CaseFile:
        """Make some searches, and read the pages that they find.

        With `announces`, `settled` receives the verdict of the vote early, unless the embedded
        engine reads the pages, which takes no time.
        """
        searches, hits = await self.search(queries)
        case = replace(self.open_case(queries), searches=searches)
        so_far = case if announces and self.basis != "embedded" else None
        return replace(case, hits=hits, evidence=await self.read(queries, hits, so_far=so_far))

    def _held(self, rows: Iterable[Row]) -> tuple[Row, ...]:
        return tuple(row for row in rows if row.claim_id == self.claim.claim_id)

    async def write_queries(
        self, wider: QueriesConfig | None = None, words: WordQueries | None = None
    ) -> tuple[records.Query, ...]:
        """Have the reasoner word the searches, and apply the reviewers' corrections.

        Reuse the previous check's valid queries if the config says so, unless `wider` overrides it
        and also asks those of the lowest priority.
        `words` replaces the reasoner.
        """
        if self.earlier is not None:
            return tuple(self.earlier.queries)
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
            # Without drafts, build_queries searches for the claim's own words.
            drafts = judged.value if isinstance(judged, ports.WithCalls) else ()
            basis = self.services.reasoner.queries.basis
            if any(draft.basis not in {None, basis} for draft in drafts):
                self.services.observer.remarked(
                    "The language model could not word all searches, so the check searches for the "
                    f"claim's own words: {self.claim.text}"
                )
            lowest = LOWEST_PRIORITY if wider else MAX_PRIORITY
            written = build_queries(self.claim, drafts, config, basis=basis, max_priority=lowest)
        else:
            failed = not isinstance(judged, ports.BudgetSpentError)
            written = (self.no_query(judged.reason, failed=failed),)
        return reviews.corrected_queries(self.claim, written, self.corrections)

    async def _asked(
        self, question: Callable[[], Awaitable[Answer]]
    ) -> Answer | ports.ReasonerError:
        """Ask the reasoner within the claim's budget; return its answer or its failure."""
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
        return await self.services.reasoner.queries.write_queries(
            self.video, self.claim, max_queries=config.max_queries
        )

    async def search(
        self, queries: Sequence[records.Query]
    ) -> tuple[tuple[records.Search, ...], tuple[records.SearchHit, ...]]:
        """Make the searches, add the sources of reviewers, and rate the domains of all hits."""
        searches, hits = self._held(self.known.searches), self._held(self.known.hits)
        if self.earlier is not None:
            searches, hits = tuple(self.earlier.searches), tuple(self.earlier.hits)
        elif "search_hits" in self.stages:
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
            known = await self._published_fact_checks()
            latency = known[0].latency_seconds if known else 0.0
            rows = with_pages(queries, ended, found, PUBLISHED, pages_to_read(known), latency)
            searches, hits = with_pages(queries, *rows, REVIEWER, self.corrections.added)
        if self.stages & {"reliability_ratings", "evidence"}:
            self.book.rate(hit.url for hit in hits)
        return searches, hits

    async def _published_fact_checks(self) -> tuple[records.PriorFactCheck, ...]:
        """Return the published fact checks, or none if they are not in after three seconds."""
        if self.reviews is None:
            return ()
        await asyncio.wait({self.reviews}, timeout=_LOOK_UP_SECONDS)
        return self.reviews.result() if self.reviews.done() else ()

    async def read(
        self,
        queries: Sequence[records.Query],
        hits: Sequence[records.SearchHit],
        sought: str | None = None,
        by: ReadPage | None = None,
        so_far: verdict.CaseFile | None = None,
    ) -> tuple[records.Evidence, ...]:
        """Choose pages, fetch and read them; return a row for every address among the hits.

        `sought` is a question beside the claim. `by` replaces the reasoner. `so_far` has the other
        rows of the claim if its verdict may be announced early.
        """
        held = self._held(self.known.evidence)
        if not self.stages & {"reliability_ratings", "evidence"}:
            return held
        chosen, left = select_hits(
            self.video,
            queries,
            hits,
            self.book.of,
            self.config.search,
            self.corrections,
            self.book.journal,
        )
        if "evidence" not in self.stages:
            await self.book.look_up_ages(each.hit.url for each in chosen)
            return held
        if self.earlier is not None:
            unread = {row.canonical_url: row for row in self.earlier.evidence if not row.page_id}
            never = [each for each in chosen if each.hit.canonical_url in unread]
            chosen = tuple(each for each in chosen if each not in never)
            left = (*left, *((each, str(unread[each.hit.canonical_url].reason)) for each in never))

        async def reader(
            query: records.Query, page: ports.PageExcerpt
        ) -> ports.WithCalls[ports.EvidenceDraft | None]:
            return await self.services.reasoner.evidence.read_evidence(
                self.video, self.claim, query, replace(page, sought=sought)
            )

        with self.watch.time("evidence"):
            read = await self._read_all(chosen, by or reader, so_far)
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
        by: ReadPage | None = None,
        told: Callable[[Sequence[records.Evidence]], str] = lambda rows: (
            f"{len(rows)} sources speak of it"
        ),
    ) -> tuple[verdict.CaseFile, list[records.Evidence]]:
        """Make more searches and read the new pages, each as a recorded step.

        Returns the wider case, and the new rows that speak of the claim. No page is read twice; the
        row of a page beyond the budget says so. `searching` and `reading` name the two steps, and
        `told` words the result of the second; for `sought` and `by` see `read`.
        """
        with self.trace.step("retrieve", searching, asked) as note:
            searches, hits = await self.search(queries)
            note.used = [query.query_id for query in queries]
            note.made = [hit.hit_id for hit in hits]
            note.got = f"{len(hits)} results"
            if not hits:
                note.status, note.reason = "no_evidence", "The searches found nothing."
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
        self, chosen: Sequence[FoundPage], by: ReadPage, so_far: verdict.CaseFile | None
    ) -> tuple[records.Evidence, ...]:
        done, observer = count(1), self.services.observer
        reason: str | None = None
        rows: dict[str, records.Evidence] = {}
        tasks: list[asyncio.Task[None]] = []
        # A check that stops at enough sources does not wait for further pages.
        enough = self.config.evidence.enough_origins
        arrivals = ports.Arrivals(len(chosen)) if enough is None else None

        async def read(candidate: FoundPage) -> None:
            nonlocal reason, so_far
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
            missing = [each for each in chosen if each.hit.canonical_url not in rows]
            reason = reason or self._why_enough(tuple(rows.values()), missing)
            if reason is not None:
                for task in {*tasks} - {asyncio.current_task()}:
                    task.cancel()
            elif missing and so_far is not None:
                case = replace(so_far, evidence=tuple(rows.values()))
                settled = await asyncio.to_thread(self._settled_verdict, case, len(missing))
                if settled is not None:
                    so_far = None
                    self.settled(settled)

        async with asyncio.TaskGroup() as group:
            tasks.extend(group.create_task(read(candidate)) for candidate in chosen)
        return tuple(
            rows.get(candidate.hit.canonical_url)
            or evidence_row(self.claim, candidate, status="skipped", reason=reason)
            for candidate in chosen
        )

    def _why_enough(
        self, rows: Sequence[records.Evidence], missing: Sequence[FoundPage]
    ) -> str | None:
        """Say why the pages so far are enough, by the run's options; None if they are not."""
        if self.earlier is not None:
            return None
        enough = self.config.evidence.enough_origins
        if enough and verdict.agreeing_origins(rows, self.stories) >= enough:
            return f"{enough} independent, reliable sources had already agreed."
        if not self.config.evidence.leave_slowest or len(missing) != 1:
            return None
        if self._is_settled(rows, [each.rating.rating for each in missing]):
            return "It was the slowest page, and whatever it says, the stance would stay."
        return None

    def _settled_verdict(self, case: verdict.CaseFile, missing: int) -> records.Verdict | None:
        """Return the verdict so far if its stance stands, whatever the missing pages say.

        A missing page may lead to a site rated high, or the reader may decline it, and with it most
        sources of the claim.
        """
        opinion, rows = self.form_opinion(case), case.evidence
        unheard: list[records.Rating] = ["high"] * missing
        unheard += [row.rating for row in rows if row.status == "skipped" and row.basis is not None]
        is_partial = any(search.reason for search in case.searches)
        if is_partial or opinion.doubt is not None or not self._is_settled(rows, unheard):
            return None
        more = f"{counted(missing, 'more page')} can change the confidence, but not the stance."
        yet_open = {"confidence": None, "confidence_score": None, "recheck_due": False}
        return verdict.conclude(opinion, None).model_copy(update=yet_open | {"reason": more})

    def _is_settled(
        self, rows: Sequence[records.Evidence], missing: Sequence[records.Rating]
    ) -> bool:
        return verdict.is_settled(
            rows, missing, self.stories, self.config.verdicts, basis=self.basis
        )

    async def _read(
        self, candidate: FoundPage, arrivals: ports.Arrivals | None, by: ReadPage
    ) -> records.Evidence:
        """Read a source, and look up the age of its domain at the same time."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.book.look_up_ages([candidate.hit.url]))
            reading = group.create_task(self._outcome(candidate, arrivals, by))
        page, row_of = reading.result()
        # The address after all redirects decides the rating.
        address = final_address(candidate.hit, page.final_url)
        await self.book.look_up_ages([address])
        rating = self.book.of(address)
        if redirect_note(candidate.hit, page) is None:
            rating = rated(candidate.hit, rating, self.book.journal(candidate.hit.journal))
        return await asyncio.to_thread(row_of, replace(candidate, rating=rating))

    async def _outcome(
        self, candidate: FoundPage, arrivals: ports.Arrivals | None, by: ReadPage
    ) -> tuple[records.Page, Callable[[FoundPage], records.Evidence]]:
        """Fetch and read a page; return it with a function that makes its row from the rating."""
        hit, config = candidate.hit, self.config.search
        held = self._earlier_reading(hit)
        try:
            page = held[0] if held else await self.library.get(hit)
            left_out = late_exclusion(
                self.video, page, config, self.corrections, found_as_of=hit.published_on
            )
            if held and left_out is None:
                return page, partial(rated_today, held[1])
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
        match await self._asked(partial(self._read_twice, by, candidate.query, excerpt)):
            case ports.WithCalls(value=draft):
                return page, partial(
                    read_row, self.claim, page=page, read=excerpt, draft=draft, basis=self.basis
                )
            case str(reason) | ports.BudgetSpentError(reason=reason):
                return page, partial(unread, status="skipped", reason=reason)
            case ports.ReasonerRefusalError(reason=reason):
                status, reason = "skipped", f"{verdict.DECLINED}{reason}"
            case ports.ReasonerError(reason=reason):
                status = "infra_error"
                reason = f"The reader failed on the fetched page: {reason}"
        return page, partial(unread, basis=self.basis, status=status, reason=reason)

    def _earlier_reading(
        self, hit: records.SearchHit
    ) -> tuple[records.Page, records.Evidence] | None:
        """Return the page of a hit and its reading, if the claim takes them over."""
        if self.earlier is None:
            return None
        row = next(
            each for each in self.earlier.evidence if each.canonical_url == hit.canonical_url
        )
        return next(each for each in self.earlier.pages if each.page_id == row.page_id), row

    async def _read_twice(
        self, by: ReadPage, query: records.Query, excerpt: ports.PageExcerpt
    ) -> ports.WithCalls[ports.EvidenceDraft | None] | str:
        """Read a page; the embedded engine reads it again without the deciding passage.

        A language model reads the page inside a fence, and a second call would double the price.
        """

        async def again(text: str) -> ports.WithCalls[ports.EvidenceDraft | None] | str:
            try:
                return await by(query, replace(excerpt, text=text))
            except ports.ReasonerRefusalError as refusal:  # the rest is hardly prose
                return ports.WithCalls(None, tuple(refusal.calls))

        judged = await by(query, excerpt)
        if isinstance(judged, str) or self.basis != "embedded":
            return judged
        return await recheck_without_quotes(judged, excerpt.text, again)

    def form_opinion(self, case: verdict.CaseFile) -> verdict.Opinion:
        """Take the vote on a case, and decide whether missing sources could change it."""
        places = self.config.search.max_results
        return verdict.form_opinion(
            case, self.stories, self.config.verdicts, basis=self.basis, places=places
        )

    async def judge(
        self, case: verdict.CaseFile, failure: ports.ReasonerError | None = None
    ) -> records.Verdict:
        """Return the verdict: the vote decides, and a template words it.

        `failure` says why the check ended early; a spent budget does so, too.
        """
        try:
            self.trace.refuse_beyond_budget()
        except ports.BudgetSpentError as spent:
            failure = failure or spent

        def judged() -> records.Verdict:
            opinion = self.form_opinion(case)
            words = in_sentences(opinion.vote.stance, opinion.rows)
            return verdict.conclude(opinion, None, failure, words=words)

        with self.watch.time("verdicts"):
            return await asyncio.to_thread(judged)
