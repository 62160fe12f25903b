"""The steps that a strategy can take to check one claim: queries, searches, readings, verdict."""

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
    ReadSource,
    excerpt_of,
    final_address,
    redirect_note,
    source_row,
    unread_row,
)
from factible_assets.stages.ids import content_hash
from factible_assets.stages.origins import StoryIndex, label_origins
from factible_assets.stages.prior_fact_checks import pages_to_read
from factible_assets.stages.progress import Stage, Stopwatch, Trace
from factible_assets.stages.queries import LOWEST_PRIORITY, MAX_PRIORITY, build_queries, query_row
from factible_assets.stages.quotes import recheck_without_quotes
from factible_assets.stages.reliability import RatingBook
from factible_assets.stages.search import (
    PUBLISHED,
    REVIEWER,
    UNDATED,
    FoundPage,
    SearchRows,
    gather_hits,
    is_answer,
    late_exclusion,
    rating_of_hit,
    select_hits,
    with_pages,
)
from factible_assets.wording import counted

_FACT_CHECK_SECONDS = 3.0
"""How long a claim waits for published fact checks after its own searches."""

Answer = TypeVar("Answer")
Row = TypeVar("Row", records.Query, records.Search, records.SearchHit, records.Evidence)
WordQueries: TypeAlias = Callable[[], Awaitable[ports.WithCalls[tuple[ports.QueryDraft, ...]]]]
"""Writes the searches for a claim."""
ReadPage: TypeAlias = Callable[
    [records.Query, ports.PageExcerpt], Awaitable[ports.WithCalls[ports.EvidenceDraft | None] | str]
]
"""Reads the page of a query for a claim, or returns the reason for leaving it unread."""
ClaimRows: TypeAlias = tuple[verdict.CaseFile, records.Verdict | None]
"""The rows of one claim; without a verdict only if the run does not select verdicts."""


@dataclass(slots=True, kw_only=True)
class ClaimCheck:
    """One claim and the steps of its check; the strategy decides their order.

    All claims of the video share the fields from `video` on.
    """

    claim: records.Claim
    corrections: reviews.Corrections
    trace: Trace
    announce_early: Callable[[records.Verdict], None]
    """Receives a verdict without its confidence once no missing page can change its stance."""
    answers: list[records.SearchHit] = field(default_factory=list)
    """The answer of an answer engine, at most one."""
    fact_checks: asyncio.Task[tuple[records.PriorFactCheck, ...]] | None = None
    """Looks up published fact checks of the claim; None if the run looks up none."""
    reused: VideoRows | None = None
    """The rows that this claim takes over from another video's check; None: search and read."""
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
    ratings: RatingBook
    library: PageLibrary

    @property
    def basis(self) -> records.Basis:
        """The reader of the evidence, on which the verdict rests."""
        return self.services.reasoner.basis

    def _known_rows(self, rows: Iterable[Row]) -> tuple[Row, ...]:
        return tuple(row for row in rows if row.claim_id == self.claim.claim_id)

    async def _ask(self, question: Callable[[], Awaitable[Answer]]) -> Answer | ports.ReasonerError:
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

    # --- Queries and searches -----------------------------------------------------------------

    def no_query(self, reason: str, *, failed: bool = False) -> records.Query:
        """Return the row of a claim without queries; it says why there are none."""
        status, basis = "infra_error" if failed else "skipped", self.services.reasoner.queries.basis
        return query_row(self.claim, "", basis=basis, status=status, reason=reason)

    async def write_queries(
        self, wider: QueriesConfig | None = None, word_queries: WordQueries | None = None
    ) -> tuple[records.Query, ...]:
        """Have the reasoner write the searches, and apply the reviewers' corrections.

        With `config.keeps_queries`, the previous check's queries stay if all are valid. `wider` has
        the options of a wider search, which always writes new queries, also of the lowest priority.
        `word_queries` replaces the reasoner.
        """
        if self.reused is not None:
            return tuple(self.reused.queries)
        known = sorted(self._known_rows(self.known.queries), key=lambda query: query.rank)
        if "queries" not in self.stages:
            return tuple(known)
        are_valid = bool(known) and all(query.status == "ok" for query in known)
        if not wider and self.config.keeps_queries and are_valid:
            return reviews.corrected_queries(self.claim, known, self.corrections)
        config = wider or self.config.queries
        with self.watch.time("queries"):
            answer = await self._ask(word_queries or partial(self.standard_queries, config))
        self.services.observer.stage_progressed("queries", self.claim, 1, 1)
        if isinstance(answer, (ports.WithCalls, ports.ReasonerRefusalError)):
            # Without drafts, build_queries searches for the claim's own words.
            drafts = answer.value if isinstance(answer, ports.WithCalls) else ()
            basis = self.services.reasoner.queries.basis
            if any(draft.basis not in {None, basis} for draft in drafts):
                self.services.observer.remarked(
                    "The language model could not word all searches, so the check searches for the "
                    f"claim's own words: {self.claim.text}"
                )
            lowest = LOWEST_PRIORITY if wider else MAX_PRIORITY
            written = build_queries(self.claim, drafts, config, basis=basis, max_priority=lowest)
        else:
            failed = not isinstance(answer, ports.BudgetSpentError)
            written = (self.no_query(answer.reason, failed=failed),)
        return reviews.corrected_queries(self.claim, written, self.corrections)

    async def standard_queries(
        self, config: QueriesConfig
    ) -> ports.WithCalls[tuple[ports.QueryDraft, ...]]:
        """Have the reasoner write searches, without corrections."""
        return await self.services.reasoner.queries.write_queries(
            self.video, self.claim, max_queries=config.max_queries
        )

    async def search(self, queries: Sequence[records.Query]) -> SearchRows:
        """Make the searches, add the sources of reviewers, and rate the domains of all hits."""
        known = self.known
        rows: SearchRows = self._known_rows(known.searches), self._known_rows(known.hits)
        if self.reused is not None:
            rows = self.reused.searches, self.reused.hits
        elif "search_hits" in self.stages:
            rows = await self._search_anew(queries)
        if self.stages & {"reliability_ratings", "evidence"}:
            self.ratings.rate(hit.url for hit in rows[1])
        return rows

    async def _search_anew(self, queries: Sequence[records.Query]) -> SearchRows:
        asked = [query for query in queries if query.status == "ok"]
        done, observer = count(1), self.services.observer

        async def ask(query: records.Query) -> SearchRows:
            searcher, options = self.services.searcher, self.config.search
            rows = await gather_hits(query, searcher, self.ratings, options)
            observer.stage_progressed("search_hits", self.claim, next(done), len(asked))
            return rows

        with self.watch.time("search_hits"):
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(ask(query)) for query in asked]
        searches = [search for task in tasks for search in task.result()[0]]
        hits = [hit for task in tasks for hit in task.result()[1]]
        if not self.answers:
            self.answers.extend([hit for hit in hits if is_answer(hit)][:1])
        hits = [hit for hit in hits if hit in self.answers or not is_answer(hit)]
        published = await self._published_fact_checks()
        latency = published[0].latency_seconds if published else 0.0
        rows = with_pages(queries, searches, hits, PUBLISHED, pages_to_read(published), latency)
        return with_pages(queries, *rows, REVIEWER, self.corrections.added)

    async def _published_fact_checks(self) -> tuple[records.PriorFactCheck, ...]:
        """Return the published fact checks, or none if they are not in after three seconds."""
        if self.fact_checks is None:
            return ()
        await asyncio.wait({self.fact_checks}, timeout=_FACT_CHECK_SECONDS)
        return self.fact_checks.result() if self.fact_checks.done() else ()

    # --- Queries, searches and readings together ----------------------------------------------

    def open_case(self, queries: Sequence[records.Query]) -> verdict.CaseFile:
        """Open a case; without queries it gets the row of a check that ended too early."""
        return verdict.CaseFile(
            self.claim, queries or [self.no_query("The check ended before it wrote a query.")]
        )

    async def gather(
        self, queries: Sequence[records.Query], *, announces: bool = False
    ) -> verdict.CaseFile:
        """Make some searches, and read the pages that they find.

        With `announces`, `announce_early` receives a verdict as soon as its stance is certain,
        unless the embedded engine reads the pages, which takes no time.
        """
        searches, hits = await self.search(queries)
        case = replace(self.open_case(queries), searches=searches)
        announced = case if announces and self.basis != "embedded" else None
        evidence = await self.read(queries, hits, announced=announced)
        return replace(case, hits=hits, evidence=evidence)

    async def look_further(
        self,
        case: verdict.CaseFile,
        queries: Sequence[records.Query],
        *,
        search_step: str,
        read_step: tuple[records.StepKind, str],
        asked: str = "",
        sought: str | None = None,
        read_page: ReadPage | None = None,
        describe: Callable[[Sequence[records.Evidence]], str] = lambda rows: (
            f"{len(rows)} sources speak of it"
        ),
    ) -> tuple[verdict.CaseFile, list[records.Evidence]]:
        """Make more searches and read the new pages, each as a recorded step.

        Returns the wider case, and the new rows of status ok. No page is read twice; the row of a
        page beyond the budget says so. `describe` words the result of the second step; for `sought`
        and `read_page` see `read`.
        """
        with self.trace.step("retrieve", search_step, asked) as note:
            searches, hits = await self.search(queries)
            note.used = [query.query_id for query in queries]
            note.made = [hit.hit_id for hit in hits]
            note.got = f"{len(hits)} results"
            if not hits:
                note.status, note.reason = "no_evidence", "The searches found nothing."
            if failed := [search for search in searches if search.status == "infra_error"]:
                note.status = "infra_error"
                note.reason = "; ".join(search.reason for search in failed if search.reason)
        known = {row.canonical_url for row in case.evidence if row.status != "skipped"}
        fresh = [hit for hit in hits if hit.canonical_url not in known]
        with self.trace.step(*read_step, sought or "", always=True) as note:
            rows = await self.read(queries, fresh, sought, read_page)
            relevant = [row for row in rows if row.status == "ok"]
            note.made = [row.evidence_id for row in relevant]
            note.got = describe(relevant)
            if not relevant:
                note.status, note.reason = "no_evidence", "No page speaks of it."
        by_address = {row.canonical_url: row for row in (*case.evidence, *rows)}
        wider = replace(
            case,
            queries=(*case.queries, *queries),
            searches=(*case.searches, *searches),
            hits=(*case.hits, *hits),
            evidence=label_origins(tuple(by_address.values()), self.stories),
        )
        return wider, relevant

    # --- Readings -----------------------------------------------------------------------------

    async def read(
        self,
        queries: Sequence[records.Query],
        hits: Sequence[records.SearchHit],
        sought: str | None = None,
        read_page: ReadPage | None = None,
        announced: verdict.CaseFile | None = None,
    ) -> tuple[records.Evidence, ...]:
        """Choose pages, fetch and read them; return a row for every address among the hits.

        Without the stage `evidence`, it returns the known rows; for the stage `reliability_ratings`
        it looks up the ages of the chosen domains. If the claim takes over another check
        (`reused`), the pages that were not read there stay unread, for the same reason.

        `sought` is a question in addition to the claim. `read_page` replaces the reasoner.
        `announced` has the other rows of the claim if its verdict may be announced early.
        """
        known = self._known_rows(self.known.evidence)
        if not self.stages & {"reliability_ratings", "evidence"}:
            return known
        chosen, left_out = select_hits(
            self.video,
            queries,
            hits,
            partial(rating_of_hit, book=self.ratings),
            self.config.search,
            self.corrections,
        )
        if "evidence" not in self.stages:
            await self.ratings.look_up_ages(page.hit.url for page in chosen)
            return known
        if self.reused is not None:
            unread = {row.canonical_url: row for row in self.reused.evidence if not row.page_id}
            never_read = [page for page in chosen if page.hit.canonical_url in unread]
            chosen = tuple(page for page in chosen if page not in never_read)
            reasons = ((page, str(unread[page.hit.canonical_url].reason)) for page in never_read)
            left_out = (*left_out, *reasons)

        async def by_reasoner(
            query: records.Query, page: ports.PageExcerpt
        ) -> ports.WithCalls[ports.EvidenceDraft | None]:
            return await self.services.reasoner.evidence.read_evidence(
                self.video, self.claim, query, replace(page, sought=sought)
            )

        with self.watch.time("evidence"):
            rows = await self._read_all(chosen, read_page or by_reasoner, announced)
            skipped = (unread_row(self.claim, page, reason) for page, reason in left_out)
            return await asyncio.to_thread(label_origins, (*rows, *skipped), self.stories)

    async def _read_all(
        self, chosen: Sequence[FoundPage], read_page: ReadPage, announced: verdict.CaseFile | None
    ) -> tuple[records.Evidence, ...]:
        """Read the pages concurrently; skip the rest as soon as those read are enough."""
        arrivals = ports.Arrivals(len(chosen))
        rows: dict[str, records.Evidence] = {}
        why_enough: str | None = None
        finished: asyncio.Queue[records.Evidence] = asyncio.Queue()

        async def read(source: FoundPage) -> None:
            finished.put_nowait(await self._read_within_budget(source, arrivals, read_page))

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(read(page)) for page in chosen]
            for done in range(1, len(chosen) + 1):
                row = await finished.get()
                rows[row.canonical_url] = row
                self.services.observer.stage_progressed("evidence", self.claim, done, len(chosen))
                missing = len(chosen) - done
                why_enough = self._why_enough(tuple(rows.values()), missing)
                if why_enough is not None:
                    for task in tasks:
                        task.cancel()
                    break
                if missing and announced is not None:
                    case = replace(announced, evidence=tuple(rows.values()))
                    settled = await asyncio.to_thread(self._settled_verdict, case, missing)
                    if settled is not None:
                        announced = None
                        self.announce_early(settled)
        while not finished.empty():  # Pages read before the others were cancelled
            row = finished.get_nowait()
            rows[row.canonical_url] = row
        return tuple(
            rows.get(page.hit.canonical_url) or unread_row(self.claim, page, why_enough)
            for page in chosen
        )

    def _why_enough(self, rows: Sequence[records.Evidence], missing: int) -> str | None:
        """Say why the pages so far are enough, by the run's options; None if they are not."""
        if self.reused is not None:
            return None
        enough = self.config.evidence.enough_origins
        if enough and verdict.agreeing_origins(rows, self.stories) >= enough:
            return f"{enough} independent, reliable sources had already agreed."
        # The slowest page may redirect to a site rated high.
        leaves_slowest = self.config.evidence.leave_slowest and missing == 1
        if leaves_slowest and self._is_settled(rows, ["high"]):
            return "It was the slowest page, and whatever it says, the stance would stay."
        return None

    def _settled_verdict(self, case: verdict.CaseFile, missing: int) -> records.Verdict | None:
        """Return the verdict so far if no missing page can change its stance.

        Each missing page counts as rated high, because it may redirect to such a site. Declined
        sources count as missing too: if the reader declines more, it may have declined most.
        """
        opinion, rows = self.form_opinion(case), case.evidence
        unread: list[records.Rating] = ["high"] * missing
        unread += [row.rating for row in rows if row.status == "skipped" and row.basis is not None]
        is_partial = any(search.reason for search in case.searches)
        if is_partial or opinion.doubt is not None or not self._is_settled(rows, unread):
            return None
        more = f"{counted(missing, 'more page')} can change the confidence, but not the stance."
        undecided = {"confidence": None, "confidence_score": None, "recheck_due": False}
        return verdict.conclude(opinion).model_copy(update=undecided | {"reason": more})

    def _is_settled(
        self, rows: Sequence[records.Evidence], missing: Sequence[records.Rating]
    ) -> bool:
        return verdict.is_settled(
            rows, missing, self.stories, self.config.verdicts, basis=self.basis
        )

    async def _read_within_budget(
        self, source: FoundPage, arrivals: ports.Arrivals, read_page: ReadPage
    ) -> records.Evidence:
        """Fetch and read a source, and apply the reviewers' overrulings."""
        try:
            self.trace.refuse_beyond_budget()
        except ports.BudgetSpentError as spent:
            arrivals.count_one()
            return unread_row(self.claim, source, spent.reason)
        # The age of the domain does not delay the page.
        async with asyncio.TaskGroup() as group:
            group.create_task(self.ratings.look_up_ages([source.hit.url]))
            task = group.create_task(self._reading(source, arrivals, read_page))
        reading = task.result()
        rating = await self._final_rating(source.hit, reading.page)
        row = await asyncio.to_thread(
            source_row, self.claim, replace(source, rating=rating), reading
        )
        return reviews.with_overrulings(row, self.corrections)

    async def _final_rating(
        self, hit: records.SearchHit, page: records.Page
    ) -> records.ReliabilityRating:
        """Rate a source by the address after all redirects."""
        address = final_address(hit, page.final_url)
        await self.ratings.look_up_ages([address])
        if redirect_note(hit, page) is None:
            return rating_of_hit(hit, self.ratings, address)
        return self.ratings.of(address)

    async def _reading(
        self, source: FoundPage, arrivals: ports.Arrivals, read_page: ReadPage
    ) -> ReadSource:
        """Fetch a page and read it."""
        hit, reused = source.hit, self._reused_reading(source.hit)
        try:
            page = reused.page if reused else await self.library.get(hit)
        finally:
            arrivals.count_one()
        why_not = late_exclusion(
            self.video, page, self.config.search, self.corrections, found_as_of=hit.published_on
        )
        # A page in outage may have a date, but its snippet has none.
        is_open = why_not == UNDATED and page.status == "infra_error"
        if why_not is not None and not is_open:
            return ReadSource(page, "skipped", why_not)
        if reused is not None:
            return reused
        excerpt = None if is_open else excerpt_of(hit, page, self.texts)
        if excerpt is None:
            return ReadSource(page, page.status, f"{hit.domain}: {page.reason}")
        if page.status != "ok":
            self.texts[content_hash(excerpt.text)] = excerpt.text
        # A check that stops at enough sources must not wait for all pages to arrive.
        if self.config.evidence.enough_origins is None:
            excerpt = replace(excerpt, arrivals=arrivals, together=self.config.evidence.together)
        match await self._ask(partial(self._read_and_recheck, read_page, source.query, excerpt)):
            case ports.WithCalls(value=draft):
                return ReadSource(page, basis=self.basis, excerpt=excerpt, draft=draft)
            case str(reason) | ports.BudgetSpentError(reason=reason):
                return ReadSource(page, "skipped", reason)
            case ports.ReasonerError(reason=reason) as failure:
                declined = isinstance(failure, ports.ReasonerRefusalError)
                words = verdict.DECLINED if declined else "The reader failed on the fetched page: "
                status: records.Status = "skipped" if declined else "infra_error"
                return ReadSource(page, status, f"{words}{reason}", self.basis)

    def _reused_reading(self, hit: records.SearchHit) -> ReadSource | None:
        """Return the reading of a hit that the claim takes over from another check."""
        if self.reused is None:
            return None
        url = hit.canonical_url
        row = next(row for row in self.reused.evidence if row.canonical_url == url)
        page = next(page for page in self.reused.pages if page.page_id == row.page_id)
        return ReadSource(page, reused=row)

    async def _read_and_recheck(
        self, read_page: ReadPage, query: records.Query, excerpt: ports.PageExcerpt
    ) -> ports.WithCalls[ports.EvidenceDraft | None] | str:
        """Read a page; the embedded engine also reads it without the quotes that decided.

        A language model reads it once: a second call would double the price, and the prompt fences
        the page as mere data.
        """

        async def again(text: str) -> ports.WithCalls[ports.EvidenceDraft | None] | str:
            try:
                return await read_page(query, replace(excerpt, text=text))
            except ports.ReasonerRefusalError as refusal:  # the rest is hardly prose
                return ports.WithCalls(None, tuple(refusal.calls))

        answer = await read_page(query, excerpt)
        if isinstance(answer, str) or self.basis != "embedded":
            return answer
        return await recheck_without_quotes(answer, excerpt.text, again)

    # --- The verdict --------------------------------------------------------------------------

    def form_opinion(self, case: verdict.CaseFile) -> verdict.Opinion:
        """Take the vote on a case, and decide whether missing sources could change it."""
        most = self.config.search.max_results
        # Stored evidence keeps its reader, whatever reasoner the run has.
        basis = next((row.basis for row in case.evidence if row.basis), self.basis)
        return verdict.form_opinion(
            case, self.stories, self.config.verdicts, basis=basis, places=most
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

        def vote() -> records.Verdict:
            opinion = self.form_opinion(case)
            words = in_sentences(opinion.vote.stance, opinion.rows)
            return verdict.conclude(opinion, failure=failure, words=words)

        with self.watch.time("verdicts"):
            return await asyncio.to_thread(vote)
