"""What happens to the claims of one video, from queries to verdicts.

What belongs here: the standard order of the stages, and the concurrency of claims. What does not:
other orders (strategies/), what can be done for one claim (claim_check.py), any rule of a stage,
which stands in the stage's own module.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import TypeVar

from factible_assets.config import FactCheckConfig
from factible_assets.records import (
    Claim,
    Evidence,
    LlmCall,
    PageText,
    PriorFactCheck,
    Record,
    Transcript,
    TranscriptSegment,
    Video,
)
from factible_assets.rows import VideoRows
from factible_assets.stages.claim_check import ClaimCheck, ClaimRows, Shared
from factible_assets.stages.claims import build_claims
from factible_assets.stages.origins import StoryIndex
from factible_assets.stages.pages import PageLibrary
from factible_assets.stages.ports import ClaimDrafts, Services
from factible_assets.stages.prior_fact_checks import look_up
from factible_assets.stages.progress import ALL_STAGES, Stage, StageTiming, Stopwatch
from factible_assets.stages.reliability import RatingBook
from factible_assets.stages.reviews import NO_CORRECTIONS, Corrections
from factible_assets.stages.strategy import Strategy, StrategyError
from factible_assets.stages.trace import Trace
from factible_assets.stages.urls import published_at
from factible_assets.stages.verdict import ranked

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


async def standard(check: ClaimCheck) -> ClaimRows:
    """Check one claim: queries, searches, pages, and the vote over what they say."""
    queries = await check.write_queries()
    found = await check.search(queries)
    evidence = await check.read(queries, found.hits)
    case = check.case_of(queries, found, evidence)
    return ClaimRows(case, await check.judge(case))


STANDARD = Strategy(
    name="standard",
    sentence="Queries on both sides, pages by reliability, and a vote over what they say.",
    source="Factible (TFM), section 1.3",
    steps={
        "query": "direct, alternative, source and context queries, one for the contrary",
        "retrieve": "adaptive credibility filter",
        "select": "by rating, then by rank",
        "read": "stance with a verbatim quote",
        "judge": "reliability-weighted vote, worded by the reasoner",
    },
    check=standard,
)
"""Every claim once, in order. It notes no steps: its rows tell them."""


async def check_claims(
    video: Video,
    claims: Sequence[Claim],
    services: Services,
    config: FactCheckConfig,
    *,
    stages: Collection[Stage] = ALL_STAGES,
    known: VideoRows | None = None,
    corrections: Mapping[str, Corrections] | None = None,
    strategy: Strategy = STANDARD,
) -> FlowResult:
    """Check all claims of a video at once and return the rows of the selected stages.

    The strategy that the knobs name decides what happens to a claim.

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

    Raises:
        StrategyError: The strategy is not the one of the knobs, or cannot do what is asked of it.
    """
    if strategy.name != config.strategy:
        raise StrategyError(
            f"The run asks for the strategy {config.strategy} and was handed {strategy.name}."
        )
    selected = frozenset(stages)
    strategy.refuse_unfit(services.reasoner.basis, selected)
    config = strategy.adapt(config, video)
    shared = _shared(video, claims, services, config, selected, known or VideoRows())
    run = _Run(shared, claims, strategy, corrections or {})
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(run.check(claim)) for claim in claims]
        # Beside the claims and not in them: no verdict waits for this lane, or fails with it.
        lane = [group.create_task(run.look_up(claim)) for claim in claims]
    return run.result(
        [task.result() for task in tasks], [row for task in lane for row in task.result()]
    )


class _Run:
    """One flow over the claims of one video."""

    def __init__(
        self,
        shared: Shared,
        claims: Sequence[Claim],
        strategy: Strategy,
        corrections: Mapping[str, Corrections],
    ) -> None:
        self._shared = shared
        self._claims = claims
        self._strategy = strategy
        self._checks = {
            claim.claim_id: _check_of(shared, claim, strategy, corrections) for claim in claims
        }

    async def check(self, claim: Claim) -> ClaimRows:
        """Let the strategy decide what happens to a claim."""
        rows = await self._strategy.check(self._checks[claim.claim_id])
        if rows.verdict is None:
            return rows
        verdict = rows.verdict.model_copy(update={"strategy": self._strategy.name})
        self._shared.services.observer.verdict_reached(claim, verdict)
        return ClaimRows(rows.case, verdict)

    async def look_up(self, claim: Claim) -> tuple[PriorFactCheck, ...]:
        """Look a claim up in what fact-checkers have published, if there is such a lane."""
        shared = self._shared
        lane = shared.services.fact_checks
        if lane is None or "search_hits" not in shared.stages:
            return ()
        return await look_up(claim, shared.video, lane, shared.config.search)

    # What came of all claims.

    def result(
        self, rows: Sequence[ClaimRows], prior_fact_checks: Sequence[PriorFactCheck]
    ) -> FlowResult:
        shared = self._shared
        cases = [each.case for each in rows]
        hits = tuple(hit for case in cases for hit in case.hits)
        read = tuple(row for case in cases for row in case.evidence)
        addresses = [hit.url for hit in hits]
        addresses += [published_at(page.final_url or "") for page in shared.library.pages()]
        verdicts = (each.verdict for each in rows if each.verdict is not None)
        calls = (call for check in self._checks.values() for call in check.calls)
        return FlowResult(
            queries=self._if_selected("queries", (row for case in cases for row in case.queries)),
            searches=self._if_selected(
                "search_hits", (row for case in cases for row in case.searches)
            ),
            hits=self._if_selected("search_hits", hits),
            prior_fact_checks=tuple(prior_fact_checks),
            ratings=shared.book.ratings(addresses)
            if "reliability_ratings" in shared.stages
            else (),
            pages=shared.library.pages(),
            page_texts=self._page_texts(read) if "evidence" in shared.stages else (),
            evidence=self._if_selected("evidence", read),
            verdicts=ranked(verdicts, self._claims),
            steps=tuple(step for check in self._checks.values() for step in check.trace.steps),
            llm_calls=tuple(sorted(calls, key=_call_order)),
            timings=shared.watch.timings(),
        )

    def _if_selected(self, stage: Stage, rows: Iterable[Row]) -> tuple[Row, ...]:
        return tuple(rows) if stage in self._shared.stages else ()

    def _page_texts(self, evidence: Sequence[Evidence]) -> tuple[PageText, ...]:
        hashes = {row.content_hash for row in evidence} | {
            page.content_hash for page in self._shared.library.pages()
        }
        self._shared.texts.update(self._shared.library.texts())
        return tuple(
            PageText(content_hash=each, text=self._shared.texts[each])
            for each in sorted(each for each in hashes if each is not None)
        )


def _shared(
    video: Video,
    claims: Sequence[Claim],
    services: Services,
    config: FactCheckConfig,
    stages: frozenset[Stage],
    known: VideoRows,
) -> Shared:
    watch = Stopwatch()
    texts = {text.content_hash: text.text for text in known.page_texts}
    return Shared(
        video=video,
        services=services,
        config=config,
        stages=stages,
        known=known,
        watch=watch,
        texts=texts,
        stories=StoryIndex(texts),
        book=RatingBook(
            video.video_id,
            services.ratings,
            services.ages,
            () if "reliability_ratings" in stages else known.ratings,
            timed=lambda: watch.time("reliability_ratings"),
        ),
        library=PageLibrary(
            services.fetcher,
            concurrency=config.evidence.concurrency,
            limit=config.evidence.max_page_characters,
            topics=[claim.text for claim in claims],
        ),
    )


def _check_of(
    shared: Shared, claim: Claim, strategy: Strategy, corrections: Mapping[str, Corrections]
) -> ClaimCheck:
    calls: list[LlmCall] = []
    budget = shared.config.budget if strategy.in_rounds else None
    trace = Trace(claim, strategy.name, budget, calls)
    corrected = corrections.get(claim.claim_id, NO_CORRECTIONS)
    return ClaimCheck(claim, shared, corrected, calls, trace)


def _call_order(call: LlmCall) -> tuple[int, str, str, str, int]:
    stage = _CALL_STAGES.index(call.stage)
    return stage, call.claim_id or "", call.query_id or "", call.canonical_url or "", call.attempt
