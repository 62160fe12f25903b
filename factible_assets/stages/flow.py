"""What happens to the claims of one video, from queries to verdicts.

What belongs here: the order of the stages and their concurrency. What does not: any rule of a
stage, which stands in the stage's own module.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import TypeVar

from factible_assets.config import FactCheckConfig
from factible_assets.records import (
    Basis,
    Claim,
    Evidence,
    LlmCall,
    PageText,
    PriorFactCheck,
    Query,
    Record,
    SearchHit,
    Transcript,
    TranscriptSegment,
    Verdict,
    Video,
)
from factible_assets.rows import VideoRows
from factible_assets.stages.claims import build_claims
from factible_assets.stages.evidence import (
    StoredPage,
    address_of,
    departure,
    read_row,
    source_of,
    unread_row,
)
from factible_assets.stages.origins import StoryIndex, label_origins
from factible_assets.stages.pages import PageLibrary
from factible_assets.stages.ports import (
    Arrivals,
    ClaimDrafts,
    ReasonerOutageError,
    ReasonerRefusalError,
    Services,
)
from factible_assets.stages.prior_fact_checks import look_up
from factible_assets.stages.progress import (
    ALL_STAGES,
    Progress,
    Stage,
    StageTiming,
    Stopwatch,
)
from factible_assets.stages.queries import build_queries, failed_queries
from factible_assets.stages.reliability import RatingBook, as_cited
from factible_assets.stages.reviews import (
    NO_CORRECTIONS,
    Corrections,
    corrected_queries,
    with_added_sources,
    with_overrulings,
)
from factible_assets.stages.search import (
    Candidate,
    Gathered,
    gather_hits,
    late_exclusion,
    select_hits,
)
from factible_assets.stages.urls import published_at
from factible_assets.stages.verdict import (
    CaseFile,
    agreeing_origins,
    conclude,
    form_opinion,
    ranked,
)

Row = TypeVar("Row", bound=Record)

_CALL_STAGES = ("claims", "queries", "evidence", "verdicts")


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowResult(VideoRows):
    """The rows of the selected stages; those of the others are empty.

    The model calls are those of all selected stages; `LlmCall.stage` says which. Prior fact-checks
    are rows of the search, kept apart from it: no evidence, and no verdict, is made of them.
    """

    timings: Mapping[Stage, StageTiming] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClaimsResult:
    """The claims of one transcript, most important first; for `refused` see ClaimDrafts."""

    claims: tuple[Claim, ...]
    llm_calls: tuple[LlmCall, ...]
    seconds: float
    refused: int = 0


async def extract_claims(
    video: Video,
    transcript: Transcript,
    segments: Sequence[TranscriptSegment],
    services: Services,
    config: FactCheckConfig,
    *,
    given: ClaimDrafts | None = None,
    corrected: Callable[[tuple[Claim, ...]], tuple[Claim, ...]] = tuple,
) -> ClaimsResult:
    """Find a transcript's claims, or take those that are given: then no reasoner is asked.

    Given claims are all taken as they are worded, whatever the knobs say of claims that are found.
    `corrected` makes of either what reviewers made of them.

    Raises:
        ReasonerOutageError: The reasoner's service failed.
        ReasonerRefusalError: Its model declined, or does not read the transcript's language.
    """
    started = perf_counter()
    if given is not None:
        claims = corrected(build_claims(given, transcript, segments, None, basis="given"))
        services.observer.claims_found(claims)
        return ClaimsResult(claims, (), perf_counter() - started)
    judged = await services.reasoner.extract_claims(
        video, transcript, segments, max_claims=config.claims.max_claims
    )
    claims = corrected(
        build_claims(
            judged.value, transcript, segments, config.claims, basis=services.reasoner.basis
        )
    )
    services.observer.claims_found(claims)
    seconds = perf_counter() - started
    return ClaimsResult(claims, judged.calls, seconds, judged.value.refused)


async def check_claims(
    video: Video,
    claims: Sequence[Claim],
    services: Services,
    config: FactCheckConfig,
    *,
    stages: Collection[Stage] = ALL_STAGES,
    known: VideoRows | None = None,
    corrections: Mapping[str, Corrections] | None = None,
) -> FlowResult:
    """Check all claims of a video at once and return the rows of the selected stages.

    Every claim runs ahead on its own. Stages that are not selected are read from `known` where a
    selected one needs them; rows of claims that are not asked about are ignored. A rating that a
    selected stage needs and `known` does not have is made for its use, and not returned.

    `corrections` by claim id are what reviewers changed: their queries are asked, the sources that
    they added are read, and those that they blocked are left out. Each takes effect in the stage
    that it concerns, if that stage is selected.

    Outages are rows, never exceptions: one claim's do not touch another's. Any other exception is
    a defect; it cancels what runs and is raised in an ExceptionGroup. Cancellation leaves no task
    behind. All rows come in a fixed order that does not depend on what finished first.

    With `enough_origins` set, which stragglers are left unread depends on how fast pages answer;
    without it two runs over the same answers have the same rows.
    """
    run = _Run(
        video,
        claims,
        services=services,
        config=config,
        stages=frozenset(stages),
        known=known or VideoRows(),
        corrections=corrections or {},
    )
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(run.check(claim)) for claim in claims]
        # Beside the claims and not in them: no verdict waits for this lane, or fails with it.
        lane = [group.create_task(run.look_up(claim)) for claim in claims]
    return run.result(
        [task.result() for task in tasks], [row for task in lane for row in task.result()]
    )


class _Run:
    """One flow over the claims of one video: what its claims share."""

    def __init__(
        self,
        video: Video,
        claims: Sequence[Claim],
        *,
        services: Services,
        config: FactCheckConfig,
        stages: frozenset[Stage],
        known: VideoRows,
        corrections: Mapping[str, Corrections],
    ) -> None:
        self._video = video
        self._claims = claims
        self._services = services
        self._config = config
        self._stages = stages
        self._known = known
        self._corrections = corrections
        self._watch = Stopwatch()
        self._calls: list[LlmCall] = []
        self._texts = {text.content_hash: text.text for text in known.page_texts}
        self._stories = StoryIndex(self._texts)
        self._book = RatingBook(
            video.video_id,
            services.ratings,
            services.ages,
            () if "reliability_ratings" in stages else known.ratings,
            timed=lambda: self._watch.time("reliability_ratings"),
        )
        self._library = PageLibrary(
            services.fetcher,
            concurrency=config.evidence.concurrency,
            limit=config.evidence.max_page_characters,
            topics=[claim.text for claim in claims],
        )

    @property
    def _basis(self) -> Basis:
        return self._services.reasoner.basis

    def _corrected(self, claim: Claim) -> Corrections:
        return self._corrections.get(claim.claim_id, NO_CORRECTIONS)

    # What happens to one claim.

    async def check(self, claim: Claim) -> _ClaimRows:
        queries = await self._queries(claim)
        found = await self._search(claim, queries)
        evidence = await self._evidence(claim, queries, found.hits)
        places = self._config.search.max_results
        case = CaseFile(claim, queries, found.searches, found.hits, evidence, places)
        return _ClaimRows(case, await self._verdict(case))

    async def look_up(self, claim: Claim) -> tuple[PriorFactCheck, ...]:
        """Look a claim up in what fact-checkers have published, if there is such a lane."""
        lane = self._services.fact_checks
        if lane is None or "search_hits" not in self._stages:
            return ()
        return await look_up(claim, self._video, lane, self._config.search)

    async def _queries(self, claim: Claim) -> tuple[Query, ...]:
        held = [query for query in self._known.queries if query.claim_id == claim.claim_id]
        held.sort(key=lambda query: query.rank)
        if "queries" not in self._stages:
            return tuple(held)
        are_good = bool(held) and all(query.status == "ok" for query in held)
        if not (self._config.keeps_queries and are_good):
            held = list(await self._written(claim))
        return corrected_queries(claim, held, self._corrected(claim))

    async def _written(self, claim: Claim) -> tuple[Query, ...]:
        config = self._config.queries
        with self._watch.time("queries"):
            try:
                judged = await self._services.reasoner.write_queries(
                    self._video, claim, max_queries=config.max_queries
                )
            except ReasonerOutageError as outage:
                self._calls.extend(outage.calls)
                queries: tuple[Query, ...] = (
                    failed_queries(claim, outage.reason, basis=self._basis),
                )
            except ReasonerRefusalError as refusal:
                # The claim's own words are a search too, and nobody can decline to use them.
                self._calls.extend(refusal.calls)
                queries = build_queries(claim, (), config, basis=self._basis)
            else:
                self._calls.extend(judged.calls)
                queries = build_queries(claim, judged.value, config, basis=self._basis)
        self._services.observer.stage_progressed("queries", claim, 1, 1)
        return queries

    async def _search(self, claim: Claim, queries: Sequence[Query]) -> Gathered:
        if "search_hits" not in self._stages:
            found = Gathered(
                tuple(row for row in self._known.searches if row.claim_id == claim.claim_id),
                tuple(hit for hit in self._known.hits if hit.claim_id == claim.claim_id),
            )
        else:
            asked = [query for query in queries if query.status == "ok"]
            with self._watch.time("search_hits"):
                progress = Progress(self._services.observer, "search_hits", claim, len(asked))
                async with asyncio.TaskGroup() as group:
                    tasks = [group.create_task(self._ask(query, progress)) for query in asked]
            parts = [task.result() for task in tasks]
            found = Gathered(
                tuple(search for part in parts for search in part.searches),
                tuple(hit for part in parts for hit in part.hits),
            )
            found = Gathered(
                *with_added_sources(queries, found.searches, found.hits, self._corrected(claim))
            )
        if self._stages & {"reliability_ratings", "evidence"}:
            self._book.rate(hit.url for hit in found.hits)
        return found

    async def _ask(self, query: Query, progress: Progress) -> Gathered:
        found = await gather_hits(query, self._services.searcher, self._book, self._config.search)
        progress.step()
        return found

    async def _evidence(
        self, claim: Claim, queries: Sequence[Query], hits: Sequence[SearchHit]
    ) -> tuple[Evidence, ...]:
        held = tuple(row for row in self._known.evidence if row.claim_id == claim.claim_id)
        if not self._stages & {"reliability_ratings", "evidence"}:
            return held
        selection = select_hits(
            self._video, queries, hits, self._book, self._config.search, self._corrected(claim)
        )
        if "evidence" not in self._stages:
            await self._book.look_up_ages(each.hit.url for each in selection.chosen)
            return held
        with self._watch.time("evidence"):
            read = await self._read_all(claim, selection.chosen)
            skipped = (
                unread_row(claim, each.candidate, None, status="skipped", reason=each.reason)
                for each in selection.skipped
            )
            return label_origins((*read, *skipped), self._stories)

    async def _read_all(self, claim: Claim, chosen: Sequence[Candidate]) -> tuple[Evidence, ...]:
        enough = self._config.evidence.enough_origins
        progress = Progress(self._services.observer, "evidence", claim, len(chosen))
        rows: dict[str, Evidence] = {}
        tasks: list[asyncio.Task[None]] = []
        # Who would stop at enough sources reads each as it comes; else they may be read together.
        arrivals = Arrivals(len(chosen)) if enough is None else None

        async def read(candidate: Candidate) -> None:
            row = await self._read(claim, candidate, arrivals)
            rows[candidate.hit.canonical_url] = with_overrulings(row, self._corrected(claim))
            progress.step()
            if enough is not None and agreeing_origins(rows.values(), self._stories) >= enough:
                for task in tasks:
                    if task is not asyncio.current_task():
                        task.cancel()

        async with asyncio.TaskGroup() as group:
            tasks.extend(group.create_task(read(candidate)) for candidate in chosen)
        return tuple(
            rows.get(candidate.hit.canonical_url)
            or unread_row(
                claim,
                candidate,
                None,
                status="skipped",
                reason=f"{enough} independent, reliable sources had already agreed.",
            )
            for candidate in chosen
        )

    async def _read(
        self, claim: Claim, candidate: Candidate, arrivals: Arrivals | None
    ) -> Evidence:
        """Read a source while its domain's age is looked up, which moves its score alone."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._book.look_up_ages([candidate.hit.url]))
            reading = group.create_task(self._outcome(claim, candidate, arrivals))
        stored, row_of = reading.result()
        return row_of(await self._rated(candidate, stored))

    async def _rated(self, candidate: Candidate, stored: StoredPage) -> Candidate:
        """Return a candidate with the rating of the address where its page was in the end."""
        address = address_of(candidate.hit, stored.page.final_url)
        await self._book.look_up_ages([address])
        rating = self._book.of(address)
        if departure(candidate.hit, stored.page) is None:
            rating = as_cited(rating, candidate.hit.citation_count)
        return replace(candidate, rating=rating)

    async def _outcome(
        self, claim: Claim, candidate: Candidate, arrivals: Arrivals | None
    ) -> tuple[StoredPage, Callable[[Candidate], Evidence]]:
        """Fetch a page and read it; what came of it becomes a row once its source is rated."""
        try:
            stored = await self._library.get(candidate.hit)
            left_out = late_exclusion(
                self._video, stored.page, self._config.search, self._corrected(claim)
            )
            source = None if left_out else source_of(candidate, stored)
            if source is not None:
                self._texts[source.text.content_hash] = source.text.text
        finally:
            if arrivals is not None:
                arrivals.one_in()
        unread = partial(unread_row, claim, stored=stored)
        if left_out is not None:
            return stored, partial(unread, status="skipped", reason=left_out)
        if source is None:
            page = stored.page
            status = "infra_error" if page.status == "infra_error" else "no_evidence"
            reason = f"{candidate.hit.domain}: {page.reason}"
            return stored, partial(unread, status=status, reason=reason)
        try:
            judged = await self._services.reasoner.read_evidence(
                self._video, claim, candidate.query, replace(source.excerpt, arrivals=arrivals)
            )
        except ReasonerOutageError as outage:
            self._calls.extend(outage.calls)
            reason = f"The page was fetched and could not be read: {outage.reason}"
            failed = partial(unread, status="infra_error", reason=reason)
            return stored, partial(failed, basis=self._basis)
        except ReasonerRefusalError as refusal:
            self._calls.extend(refusal.calls)
            reason = f"The model declined to read it: {refusal.reason}"
            return stored, partial(unread, status="skipped", reason=reason, basis=self._basis)
        self._calls.extend(judged.calls)
        return stored, partial(
            read_row, claim, source=source, draft=judged.value, basis=self._basis
        )

    async def _verdict(self, case: CaseFile) -> Verdict | None:
        if "verdicts" not in self._stages:
            return None
        with self._watch.time("verdicts"):
            opinion = form_opinion(case, self._stories, self._config.verdicts, basis=self._basis)
            draft, outage, refusal = None, None, None
            if opinion.rows and opinion.doubt is None:
                try:
                    judged = await self._services.reasoner.judge(
                        self._video, case.claim, opinion.rows, opinion.vote
                    )
                except ReasonerOutageError as failure:
                    self._calls.extend(failure.calls)
                    outage = failure.reason
                except ReasonerRefusalError as declined:
                    self._calls.extend(declined.calls)
                    refusal = declined.reason
                else:
                    self._calls.extend(judged.calls)
                    draft = judged.value
            verdict = conclude(opinion, draft, basis=self._basis, outage=outage, refusal=refusal)
        self._services.observer.verdict_reached(case.claim, verdict)
        return verdict

    # What came of all claims.

    def result(
        self, rows: Sequence[_ClaimRows], prior_fact_checks: Sequence[PriorFactCheck]
    ) -> FlowResult:
        cases = [each.case for each in rows]
        hits = tuple(hit for case in cases for hit in case.hits)
        read = tuple(row for case in cases for row in case.evidence)
        addresses = [hit.url for hit in hits]
        addresses += [published_at(page.final_url or "") for page in self._library.pages()]
        verdicts = (each.verdict for each in rows if each.verdict is not None)
        return FlowResult(
            queries=self._if_selected("queries", (row for case in cases for row in case.queries)),
            searches=self._if_selected(
                "search_hits", (row for case in cases for row in case.searches)
            ),
            hits=self._if_selected("search_hits", hits),
            prior_fact_checks=tuple(prior_fact_checks),
            ratings=self._book.ratings(addresses) if "reliability_ratings" in self._stages else (),
            pages=self._library.pages(),
            page_texts=self._page_texts(read) if "evidence" in self._stages else (),
            evidence=self._if_selected("evidence", read),
            verdicts=ranked(verdicts, self._claims),
            llm_calls=tuple(sorted(self._calls, key=_call_order)),
            timings=self._watch.timings(),
        )

    def _if_selected(self, stage: Stage, rows: Iterable[Row]) -> tuple[Row, ...]:
        return tuple(rows) if stage in self._stages else ()

    def _page_texts(self, evidence: Sequence[Evidence]) -> tuple[PageText, ...]:
        hashes = {row.content_hash for row in evidence} | {
            page.content_hash for page in self._library.pages()
        }
        self._texts.update(self._library.texts())
        return tuple(
            PageText(content_hash=each, text=self._texts[each])
            for each in sorted(each for each in hashes if each is not None)
        )


@dataclass(frozen=True, slots=True)
class _ClaimRows:
    case: CaseFile
    verdict: Verdict | None


def _call_order(call: LlmCall) -> tuple[int, str, str, str, int]:
    stage = _CALL_STAGES.index(call.stage)
    return stage, call.claim_id or "", call.query_id or "", call.canonical_url or "", call.attempt
