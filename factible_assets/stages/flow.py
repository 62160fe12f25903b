"""Checks all claims of one video at once, from queries to verdicts, by a strategy."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter
from time import perf_counter
from typing import Any, TypeAlias, TypeVar, get_args

from factible_assets.config import ClaimsConfig, FactCheckConfig
from factible_assets.records import tables as records
from factible_assets.records.rows import VideoRows
from factible_assets.stages.claim_check import ClaimCheck, ClaimRows
from factible_assets.stages.claims import build_claims
from factible_assets.stages.evidence import PageLibrary
from factible_assets.stages.origins import StoryIndex
from factible_assets.stages.ports import (
    ClaimDrafts,
    Judged,
    Observer,
    ReasonerError,
    Services,
    WithCalls,
)
from factible_assets.stages.prior_fact_checks import look_up
from factible_assets.stages.progress import ALL_STAGES, Stage, StageTiming, Stopwatch, Trace
from factible_assets.stages.reliability import RatingBook
from factible_assets.stages.reuse import taken_over
from factible_assets.stages.reviews import NO_CORRECTIONS, Corrections
from factible_assets.stages.transcript import readable
from factible_assets.stages.urls import UnusableUrlError, host_and_parents, host_of, published_at
from factible_assets.stages.verdict import ranked, worded

Row = TypeVar("Row", bound=records.Record)

BeginChecks: TypeAlias = Callable[[Sequence[records.Claim]], None]
"""Begins the checks of those claims whose check has not begun yet."""

FindClaims: TypeAlias = Callable[[BeginChecks], Awaitable[Sequence[records.Claim]]]
"""Finds the claims of a video; it may begin the checks of some before it knows all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowResult(VideoRows):
    """The rows of the selected stages and their model calls; other stages have no rows."""

    timings: Mapping[Stage, StageTiming] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClaimsResult:
    """The claims of one transcript, most important first; ClaimDrafts explains the counts."""

    claims: tuple[records.Claim, ...]
    llm_calls: tuple[records.LlmCall, ...]
    seconds: float
    refused: int = 0
    left_out: int = 0


async def extract_claims(
    video: records.Video,
    transcript: records.Transcript,
    segments: Sequence[records.TranscriptSegment],
    services: Services,
    config: ClaimsConfig,
    *,
    given: ClaimDrafts | None = None,
    corrected: Callable[[tuple[records.Claim, ...]], tuple[records.Claim, ...]] = tuple,
    begin: BeginChecks | None = None,
) -> ClaimsResult:
    """Find a transcript's claims, or take the `given` ones: all of them, in their own words.

    `corrected` applies the reviewers' corrections to the claims. `begin` receives the claims found
    so far, several times. Their ranks may still change, and a few drop out, because a more
    important claim repeats them or because they exceed the limit.

    Raises ReasonerOutageError for a failed service, ReasonerRefusalError for a model that declines
    or does not read the language.
    """
    started = perf_counter()
    if given is not None:
        answer = WithCalls(replace(given, refused=0))
        built = build_claims(given, transcript, segments, None, basis="given")
    else:
        finder, most = services.reasoner.claims, config.max_claims
        # The reasoner reads sentence case, in which every offset of the raw text stays valid.
        shown = transcript.model_copy(update={"text": readable(transcript.text)})

        def begin_with(drafts: ClaimDrafts) -> None:
            if begin is not None:
                so_far = build_claims(drafts, transcript, segments, config, basis=finder.basis)
                begin(corrected(so_far))

        answer = await finder.extract_claims(
            video, shown, segments, max_claims=most, found=begin_with if begin else None
        )
        basis = answer.value.basis or finder.basis
        built = build_claims(answer.value, transcript, segments, config, basis=basis)
        if basis != finder.basis:
            services.observer.remarked(
                "The language model listed no claim that stands in the transcript, so the embedded "
                "engine found the claims."
            )
    claims, drafts = corrected(built), answer.value
    services.observer.claims_found(claims, drafts.left_out)
    seconds = perf_counter() - started
    return ClaimsResult(claims, answer.calls, seconds, drafts.refused, drafts.left_out)


class StrategyError(ValueError):
    """A strategy cannot serve a run; the message names the remedy."""


@dataclass(frozen=True, slots=True)
class Strategy:
    """One way to check a claim: a named composition of steps.

    - `name`: the name of its module.
    - `adapt`: changes the run's options before the check.
    - `most_searches`: the largest number of searches for one claim.
    - `needs_model`: it does not run on the embedded engine.
    - `reads_pictures`: it reads the findings of the asset `media`, if there are any.
    - `in_rounds`: it searches again after reading, so its assets can only be made together.
    """

    name: str
    check: Callable[[ClaimCheck], Awaitable[ClaimRows]]
    adapt: Callable[[FactCheckConfig, records.Video], FactCheckConfig] = lambda config, _: config
    most_searches: Callable[[FactCheckConfig], int] = lambda config: config.queries.max_queries
    needs_model: bool = False
    in_rounds: bool = False
    reads_pictures: bool = False

    def refuse_unfit(
        self, bases: Collection[str], stages: frozenset[Stage] = frozenset(ALL_STAGES)
    ) -> None:
        """Refuse an unfit run before it costs anything.

        `bases` name the writer of the queries and the reader of the evidence.

        Raises StrategyError: The strategy needs a language model, or all stages.
        """
        if self.needs_model and {*bases} != {"llm"}:
            raise StrategyError(
                f"The strategy {self.name} needs a language model for queries and evidence. "
                "Set OPENAI_API_KEY, or FACTIBLE_MODEL for a model without a key, or choose the "
                "strategy standard."
            )
        if self.in_rounds and stages != frozenset(ALL_STAGES):
            raise StrategyError(
                f"The strategy {self.name} searches in rounds, so it makes {', '.join(ALL_STAGES)} "
                "only together. Select all of them, or choose the strategy standard."
            )


async def standard(check: ClaimCheck) -> ClaimRows:
    """Check one claim: queries, searches, pages, and the vote over them (Factible, section 1.3)."""
    judges = "verdicts" in check.stages
    case = await check.gather(await check.write_queries(), announces=judges)
    return case, await check.judge(case) if judges else None


STANDARD = Strategy("standard", standard)
"""Searches, reads and votes once. It records no steps, because its rows show them."""


async def check_claims(
    video: records.Video,
    claims: Sequence[records.Claim] | FindClaims,
    services: Services,
    config: FactCheckConfig,
    *,
    stages: Collection[Stage] = ALL_STAGES,
    known: VideoRows | None = None,
    corrections: Mapping[str, Corrections] | None = None,
    strategy: Strategy = STANDARD,
) -> FlowResult:
    """Check all claims of a video at once and return the rows of the selected stages.

    A check begins as soon as its claim is found. If `claims` does not return the claim in the end,
    the check is cancelled, and only its model calls stay.

    A selected stage takes the rows of the other stages from `known`; it makes missing ratings for
    its own use. `corrections`, by claim id, take effect in the selected stages.

    An outage is a row. Any other exception is a defect: it cancels the check and is raised in an
    ExceptionGroup. Row order is deterministic. With `enough_origins`, response times decide which
    pages are skipped.

    Raises StrategyError: The strategy is not the one in the config, or does not fit the run. Raises
    what `claims` raises; a ReasonerError then has the model calls of the checks that had begun.
    """
    if strategy.name != config.strategy:
        raise StrategyError(
            f"The config names the strategy {config.strategy}; the caller passed {strategy.name}."
        )
    selected = frozenset(stages)
    strategy.refuse_unfit(services.reasoner.bases, selected)
    checks = _VideoCheck(
        video=video,
        services=services,
        config=strategy.adapt(config, video),
        stages=selected,
        known=known or VideoRows(),
        corrections=corrections or {},
        strategy=strategy,
    )
    await checks.run(claims)
    with checks.watch.time("verdicts"):
        verdicts, wording = await _worded(video, checks.judged(), services)
    return checks.result(verdicts, wording)


@dataclass(kw_only=True)
class _VideoCheck:
    """The checks of a video's claims; each begins once, when its claim is found.

    The arguments are those of `check_claims`.
    """

    video: records.Video
    services: Services
    config: FactCheckConfig
    stages: frozenset[Stage]
    known: VideoRows
    corrections: Mapping[str, Corrections]
    strategy: Strategy

    def __post_init__(self) -> None:
        self.watch = Stopwatch()
        self._texts = self.known.texts
        self._stories = StoryIndex(self._texts)
        self._library = PageLibrary(fetcher=self.services.fetcher, texts=self._texts)
        self._ratings = RatingBook(
            self.video.video_id,
            self.services.ratings,
            self.services.ages,
            () if "reliability_ratings" in self.stages else self.known.ratings,
            timed=lambda: self.watch.time("reliability_ratings"),
        )
        self._final: dict[str, records.Claim] = {}
        """The claims by id, once all are found."""
        self._are_final = asyncio.Event()
        self._begun: dict[str, tuple[ClaimCheck, asyncio.Task[ClaimRows]]] = {}
        self._announced: set[str] = set()
        self._group = asyncio.TaskGroup()

    async def run(self, claims: Sequence[records.Claim] | FindClaims) -> None:
        """Find the claims and check them; see `check_claims` for the errors."""
        failure: Exception | None = None
        async with self._group:
            try:
                found = await claims(self._begin) if callable(claims) else claims
                self._final = {claim.claim_id: claim for claim in found}
            except Exception as error:  # noqa: BLE001 - raised below, outside of the group
                failure = error
            self._are_final.set()
            self._begin(list(self._final.values()))
            for claim_id, (check, task) in self._begun.items():
                if claim_id not in self._final:
                    task.cancel()
                    if check.fact_checks is not None:
                        check.fact_checks.cancel()
        if isinstance(failure, ReasonerError):
            failure.calls = (*failure.calls, *self._calls())
        if failure is not None:
            raise failure

    def _begin(self, claims: Sequence[records.Claim]) -> None:
        """Begin the checks of the claims that are new."""
        for claim in claims:
            if claim.claim_id in self._begun:
                continue
            budget = self.config.budget if self.strategy.in_rounds else None
            check = ClaimCheck(
                claim=claim,
                corrections=self.corrections.get(claim.claim_id, NO_CORRECTIONS),
                trace=Trace(claim, self.strategy.name, budget),
                announce_early=partial(self._announce_early, claim.claim_id),
                video=self.video,
                services=self.services,
                config=self.config,
                stages=self.stages,
                known=self.known,
                watch=self.watch,
                texts=self._texts,
                stories=self._stories,
                ratings=self._ratings,
                library=self._library,
            )
            self._begun[claim.claim_id] = check, self._group.create_task(self._check(check))
            if not self._are_final.is_set():
                self.services.observer.claim_begun(claim)

    async def _check(self, check: ClaimCheck) -> ClaimRows:
        claim = check.claim
        await self._take_over(check)
        if check.reused is None and "search_hits" in self.stages and self.services.fact_checks:
            # A task of its own: no verdict fails with a look-up, or waits long for it.
            question = look_up(claim, self.video, self.services.fact_checks, self.config.search)
            check.fact_checks = self._group.create_task(question)
        case, verdict = await self.strategy.check(check)
        if verdict is not None:
            verdict = verdict.model_copy(update={"strategy": self.strategy.name})
            await self._announce(claim.claim_id, verdict)
        return case, verdict

    async def _take_over(self, check: ClaimCheck) -> None:
        """Take over the sources of another video's check of the same claim, if there is one."""
        find, is_whole = self.services.earlier_check, self.stages == frozenset(ALL_STAGES)
        if find is None or not is_whole or self.strategy is not STANDARD:
            return
        if check.corrections is not NO_CORRECTIONS:
            return
        earlier = await find(check.claim)
        if earlier is not None:
            self.services.observer.remarked(f"“{check.claim.text}”: {earlier.sentence}")
            check.reused = taken_over(check.claim, earlier)
            check.texts.update(earlier.rows.texts)

    def _announce_early(self, claim_id: str, verdict: records.Verdict) -> None:
        self._group.create_task(self._announce(claim_id, verdict))

    async def _announce(self, claim_id: str, verdict: records.Verdict) -> None:
        """Announce the first verdict on a claim once the claims are final."""
        await self._are_final.wait()
        if claim_id in self._final and claim_id not in self._announced:
            self._announced.add(claim_id)
            self.watch.reach("verdicts")
            self.services.observer.verdict_reached(self._final[claim_id], verdict)

    # --- After the checks ---------------------------------------------------------------------

    def judged(self) -> list[Judged]:
        """Return the final claims that have a verdict, with their evidence of status ok."""
        judged: list[Judged] = []
        for claim_id, claim in self._final.items():
            case, verdict = self._begun[claim_id][1].result()
            if verdict is not None:
                rows = [row for row in case.evidence if row.status == "ok"]
                judged.append((claim, verdict, rows))
        return judged

    def result(
        self, verdicts: Sequence[records.Verdict], wording: Sequence[records.LlmCall]
    ) -> FlowResult:
        """Return the rows of the selected stages, with the words of the verdicts added."""
        checks = [self._begun[claim_id][0] for claim_id in self._final]
        cases = [self._begun[claim_id][1].result()[0] for claim_id in self._final]
        reused = [check.reused for check in checks if check.reused is not None]
        hits = [hit for case in cases for hit in case.hits]
        evidence = [row for case in cases for row in case.evidence]
        _remark_unread(evidence, self.services.observer)
        urls = {row.canonical_url for row in evidence}
        fetched = [page for page in self._library.pages() if page.canonical_url in urls]
        reused_pages = [page for rows in reused for page in rows.pages]
        pages = tuple({page.page_id: page for page in (*reused_pages, *fetched)}.values())
        addresses = [hit.url for hit in hits]
        addresses += [published_at(page.final_url or "") for page in pages]
        hashes = {row.content_hash for row in evidence} | {page.content_hash for page in pages}
        keys = sorted(filter(None, hashes))
        # Lazy: without the stage evidence, `texts` may lack a hash.
        texts = (records.PageText(content_hash=key, text=self._texts[key]) for key in keys)
        look_ups = [check.fact_checks for check in checks if check.fact_checks is not None]

        def if_selected(stage: Stage, rows: Iterable[Row]) -> tuple[Row, ...]:
            return tuple(rows) if stage in self.stages else ()

        def order(call: records.LlmCall) -> tuple[int, str, str, str, int]:
            subject = call.claim_id or "", call.query_id or "", call.canonical_url or ""
            return get_args(records.CallStage).index(call.stage), *subject, call.attempt

        return FlowResult(
            queries=if_selected("queries", (row for case in cases for row in case.queries)),
            searches=if_selected("search_hits", (row for case in cases for row in case.searches)),
            hits=if_selected("search_hits", hits),
            prior_fact_checks=(
                *(row for rows in reused for row in rows.prior_fact_checks),
                *(row for task in look_ups for row in task.result()),
            ),
            ratings=if_selected("reliability_ratings", self._ratings.ratings(addresses)),
            pages=pages,
            page_texts=if_selected("evidence", texts),
            evidence=if_selected("evidence", _at_their_pages(evidence, pages)),
            verdicts=ranked(verdicts, tuple(self._final.values())),
            steps=tuple(step for check in checks for step in check.trace.steps),
            llm_calls=tuple(sorted((*wording, *self._calls()), key=order)),
            timings=self.watch.timings(),
        )

    def _calls(self) -> list[records.LlmCall]:
        """Return all model calls. A call for a claim that dropped out names no claim or page."""
        nameless = {"claim_id": None, "query_id": None, "canonical_url": None}
        return [
            call if claim_id in self._final else call.model_copy(update=nameless)
            for claim_id, (check, _) in self._begun.items()
            for call in check.trace.calls
        ]


def _remark_unread(evidence: Iterable[records.Evidence], observer: Observer) -> None:
    """Say why a reader other than a language model declined pages."""
    unread = {
        row.reason for row in evidence if row.status == "skipped" and row.basis not in {None, "llm"}
    }
    for reason in sorted(filter(None, unread)):
        observer.remarked(f"{reason} A language model reads other languages.")


async def _worded(
    video: records.Video, judged: Sequence[Judged], services: Services
) -> tuple[list[records.Verdict], tuple[records.LlmCall, ...]]:
    """Add a model's words to complete verdicts with evidence; if it fails, change nothing."""
    verdicts = [verdict for _, verdict, _ in judged]
    complete = [case for case in judged if case[1].stance is not None and case[2]]
    writer = services.reasoner.writer
    if not complete or writer is None:
        return verdicts, ()
    try:
        answer = await writer(video, complete)
    except ReasonerError as failure:
        return verdicts, failure.calls
    words = answer.value
    return [worded(row, words.get(row.claim_id, "")) for row in verdicts], answer.calls


def _at_their_pages(
    evidence: Iterable[records.Evidence], pages: Iterable[records.Page]
) -> tuple[records.Evidence, ...]:
    """Give older evidence the domain of its page, which may lead to another site by now."""
    domains = {page.page_id: {"domain": page.domain} for page in pages}
    return tuple(row.model_copy(update=domains.get(row.page_id or "")) for row in evidence)


def with_others(
    result: FlowResult, stored: VideoRows, claims: Sequence[records.Claim], others: frozenset[str]
) -> FlowResult:
    """Add the `stored` rows of the `others` (claim ids) to the rows of the checked claims.

    A run writes all rows of an asset and a video as one set, so a check of some claims writes the
    rows of the others again. Only the rank of their verdicts and the domain of a page that moved
    may change. Their model calls are left out, because they were paid before.
    """
    order = {claim.claim_id: place for place, claim in enumerate(claims)}
    owner = attrgetter("claim_id")

    def joined(new: Iterable[Row], old: Iterable[Row]) -> tuple[Row, ...]:
        rows = [*new, *(row for row in old if owner(row) in others)]
        # A stable sort keeps the order inside a claim.
        return tuple(sorted(rows, key=lambda row: order[owner(row)]))

    names = ("queries", "searches", "hits", "prior_fact_checks", "evidence", "steps")
    rows: dict[str, Any] = {
        name: joined(getattr(result, name), getattr(stored, name)) for name in names
    }
    hits, evidence = rows["hits"], rows["evidence"]
    page_ids = {row.page_id for row in evidence}
    # The new row of an unchanged page replaces the stored one.
    by_id = {page.page_id: page for page in stored.pages if page.page_id in page_ids}
    by_id |= {page.page_id: page for page in result.pages}
    pages = tuple(sorted(by_id.values(), key=lambda page: (page.canonical_url, page.page_id)))
    evidence = rows["evidence"] = _at_their_pages(evidence, pages)
    texts = {text.content_hash: text for text in (*stored.page_texts, *result.page_texts)}
    hashes = {row.content_hash for row in evidence} | {page.content_hash for page in pages}
    # New ratings replace stored ones; domains that no row names any more drop out.
    domains = {row.domain for row in evidence} | {hit.domain for hit in hits}
    for hit in hits:
        with suppress(UnusableUrlError):
            domains.update(host_and_parents(host_of(hit.url)))
    ratings = {rating.domain: rating for rating in stored.ratings if rating.domain in domains}
    ratings |= {rating.domain: rating for rating in result.ratings}
    return replace(
        result,
        **rows,
        ratings=tuple(ratings[domain] for domain in sorted(ratings)),
        pages=pages,
        page_texts=tuple(texts[key] for key in sorted(texts) if key in hashes),
        verdicts=ranked(joined(result.verdicts, stored.verdicts), claims),
    )
