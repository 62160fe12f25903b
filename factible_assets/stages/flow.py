"""What happens to the claims of one video, from queries to verdicts.

What belongs here: what a strategy is, the standard order of the stages, the concurrency of claims,
and what a check of some claims takes over of the others. What does not: other orders (strategies/),
what can be done for one claim (claim_check.py), any rule of a stage (in its own module).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import repeat
from operator import attrgetter
from time import perf_counter
from typing import Any, TypeVar, get_args

from factible_assets import records
from factible_assets.config import ClaimsConfig, FactCheckConfig
from factible_assets.rows import VideoRows
from factible_assets.stages.claim_check import ClaimCheck, ClaimRows
from factible_assets.stages.claims import build_claims
from factible_assets.stages.evidence import PageLibrary
from factible_assets.stages.origins import StoryIndex
from factible_assets.stages.ports import ClaimDrafts, ReasonerError, Services, WithCalls
from factible_assets.stages.prior_fact_checks import look_up
from factible_assets.stages.progress import ALL_STAGES, Stage, StageTiming, Stopwatch, Trace
from factible_assets.stages.reliability import RatingBook
from factible_assets.stages.reviews import NO_CORRECTIONS, Corrections
from factible_assets.stages.transcript import readable
from factible_assets.stages.urls import UnusableUrlError, host_and_parents, host_of, published_at
from factible_assets.stages.verdict import ranked, worded

Row = TypeVar("Row", bound=records.Record)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowResult(VideoRows):
    """The rows of the selected stages, with their model calls; those of the others are empty."""

    timings: Mapping[Stage, StageTiming] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClaimsResult:
    """The claims of one transcript, most important first; for the counts see ClaimDrafts."""

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
) -> ClaimsResult:
    """Find a transcript's claims, or take those that are given: then no reasoner is asked.

    Given claims are all taken as they are worded, whatever the knobs say. `corrected` makes of
    either what reviewers made of them.

    Raises ReasonerOutageError for a failed service, ReasonerRefusalError for a model that declines
    or does not read the language.
    """
    started = perf_counter()
    if given is not None:
        judged = WithCalls(replace(given, refused=0))
        built = build_claims(given, transcript, segments, None, basis="given")
    else:
        finder, most = services.reasoner.claims, config.max_claims
        # A reasoner reads, and words claims in, sentence case; offsets stay those of the raw text.
        shown = transcript.model_copy(update={"text": readable(transcript.text)})
        judged = await finder.extract_claims(video, shown, segments, max_claims=most)
        found = judged.value
        basis = found.basis or finder.basis
        built = build_claims(found, transcript, segments, config, basis=basis)
        if basis != finder.basis:
            services.observer.remarked(
                "The language model listed nothing that was said in the video, so the embedded "
                "engine found the claims."
            )
    claims = corrected(built)
    found = judged.value
    services.observer.claims_found(claims, found.left_out)
    seconds = perf_counter() - started
    return ClaimsResult(claims, judged.calls, seconds, found.refused, found.left_out)


class StrategyError(ValueError):
    """A strategy cannot do what a run asks of it. A sentence with the remedy."""


@dataclass(frozen=True, slots=True)
class Strategy:
    """One way to check a claim: a named composition of steps.

    `name` is that of its module. `adapt` makes the run's knobs as the strategy needs them.
    `most_searches` is how many it makes for a claim at most. One that `needs_model` does not run on
    the embedded engine; one that goes `in_rounds` searches again in the light of what it read, so
    that its assets can only be made together.
    """

    name: str
    check: Callable[[ClaimCheck], Awaitable[ClaimRows]]
    adapt: Callable[[FactCheckConfig, records.Video], FactCheckConfig] = lambda config, _: config
    most_searches: Callable[[FactCheckConfig], int] = lambda config: config.queries.max_queries
    needs_model: bool = False
    in_rounds: bool = False

    def refuse_unfit(
        self, bases: Collection[str], stages: frozenset[Stage] = frozenset(ALL_STAGES)
    ) -> None:
        """Refuse a run that the strategy cannot do, before anything is paid.

        `bases` tells who words the queries and who reads the evidence.

        Raises StrategyError: It needs a language model, or cannot be done in part.
        """
        if self.needs_model and {*bases} != {"llm"}:
            raise StrategyError(
                f"The strategy {self.name} needs a language model for queries and evidence. "
                "Set OPENAI_API_KEY, or FACTIBLE_MODEL for a model without a key, or choose the "
                "strategy standard."
            )
        if self.in_rounds and stages != frozenset(ALL_STAGES):
            raise StrategyError(
                f"The strategy {self.name} searches in rounds, so that {', '.join(ALL_STAGES)} can "
                "only be made together. Select all of them, or choose the strategy standard."
            )


async def standard(check: ClaimCheck) -> ClaimRows:
    """Check one claim: queries, searches, pages, and the vote over them (Factible, section 1.3)."""
    case = await check.gather(await check.write_queries())
    return case, await check.judge(case) if "verdicts" in check.stages else None


STANDARD = Strategy("standard", standard)
"""Every claim once, in order. It notes no steps: its rows tell them."""


async def check_claims(
    video: records.Video,
    claims: Sequence[records.Claim],
    services: Services,
    config: FactCheckConfig,
    *,
    stages: Collection[Stage] = ALL_STAGES,
    known: VideoRows | None = None,
    corrections: Mapping[str, Corrections] | None = None,
    strategy: Strategy = STANDARD,
) -> FlowResult:
    """Check all claims of a video at once and return the rows of the selected stages.

    Every claim runs ahead on its own, as the strategy has it. Stages that are not selected are read
    from `known` where a selected one needs them; a rating that is missing there is made for their
    use, and not returned. `corrections` by claim id are what reviewers changed; each takes effect
    in the stage that it concerns, if that is selected.

    Outages are rows. Any other exception is a defect; it cancels what runs and is raised in an
    ExceptionGroup. All rows come in a fixed order; only with `enough_origins` set it depends on how
    fast pages answer which are left unread.

    Raises StrategyError: The strategy is not that of the knobs, or cannot do what is asked of it.
    """
    if strategy.name != config.strategy:
        raise StrategyError(
            f"The run asks for the strategy {config.strategy} and was handed {strategy.name}."
        )
    selected = frozenset(stages)
    strategy.refuse_unfit(services.reasoner.bases, selected)
    config = strategy.adapt(config, video)
    known, watch = known or VideoRows(), Stopwatch()
    texts = known.texts
    budget = config.budget if strategy.in_rounds else None
    book = RatingBook(
        video.video_id,
        services.ratings,
        services.ages,
        () if "reliability_ratings" in selected else known.ratings,
        timed=lambda: watch.time("reliability_ratings"),
    )
    library = PageLibrary(
        fetcher=services.fetcher, texts=texts, topics=[claim.text for claim in claims]
    )
    stories = StoryIndex(texts)
    checks = [
        ClaimCheck(
            claim=claim,
            corrections=(corrections or {}).get(claim.claim_id, NO_CORRECTIONS),
            trace=Trace(claim, strategy.name, budget),
            video=video,
            services=services,
            config=config,
            stages=selected,
            known=known,
            watch=watch,
            texts=texts,
            stories=stories,
            book=book,
            library=library,
        )
        for claim in claims
    ]

    async def check_one(check: ClaimCheck) -> ClaimRows:
        case, verdict = await strategy.check(check)
        if verdict is not None:
            verdict = verdict.model_copy(update={"strategy": strategy.name})
            watch.reach("verdicts")
            services.observer.verdict_reached(check.claim, verdict)
        return case, verdict

    async with asyncio.TaskGroup() as group:
        # Beside the claims and not in them: no verdict fails with this lane, or waits long for it.
        fact_checks, asked = services.fact_checks, "search_hits" in selected
        lane = [
            group.create_task(look_up(claim, video, fact_checks, config.search))
            for claim in claims
            if fact_checks is not None and asked
        ]
        found = lane or repeat(None, len(checks))
        tasks = [
            group.create_task(check_one(replace(check, reviews=reviewed)))
            for check, reviewed in zip(checks, found, strict=True)
        ]
    rows = [task.result() for task in tasks]
    reached = [
        (case.claim, verdict, [each for each in case.evidence if each.status == "ok"])
        for case, verdict in rows
        if verdict is not None
    ]
    with watch.time("verdicts"):
        verdicts, wording = await _in_words(video, reached, services)

    def if_selected(stage: Stage, rows: Iterable[Row]) -> tuple[Row, ...]:
        return tuple(rows) if stage in selected else ()

    cases = [case for case, _ in rows]
    hits = [hit for case in cases for hit in case.hits]
    read = [row for case in cases for row in case.evidence]
    pages = library.pages()
    addresses = [hit.url for hit in hits]
    addresses += [published_at(page.final_url or "") for page in pages]
    hashes = {row.content_hash for row in read} | {page.content_hash for page in pages}
    wanted = sorted(each for each in hashes if each is not None)
    # Made only where they are selected: a hash may be of a text that nobody read now.
    page_texts = (records.PageText(content_hash=each, text=texts[each]) for each in wanted)

    def place(call: records.LlmCall) -> tuple[int, str, str, str, int]:
        asked = call.claim_id or "", call.query_id or "", call.canonical_url or ""
        return get_args(records.CallStage).index(call.stage), *asked, call.attempt

    return FlowResult(
        queries=if_selected("queries", (row for case in cases for row in case.queries)),
        searches=if_selected("search_hits", (row for case in cases for row in case.searches)),
        hits=if_selected("search_hits", hits),
        prior_fact_checks=tuple(row for task in lane for row in task.result()),
        ratings=if_selected("reliability_ratings", book.ratings(addresses)),
        pages=pages,
        page_texts=if_selected("evidence", page_texts),
        evidence=if_selected("evidence", read),
        verdicts=ranked(verdicts, claims),
        steps=tuple(step for check in checks for step in check.trace.steps),
        llm_calls=tuple(
            sorted((*wording, *(call for each in checks for call in each.trace.calls)), key=place)
        ),
        timings=watch.timings(),
    )


async def _in_words(
    video: records.Video,
    reached: Sequence[tuple[records.Claim, records.Verdict, Sequence[records.Evidence]]],
    services: Services,
) -> tuple[list[records.Verdict], tuple[records.LlmCall, ...]]:
    """Add a model's words to complete verdicts; without an answer the template's words stand."""
    verdicts = [verdict for _, verdict, _ in reached]
    complete = [each for each in reached if each[1].stance is not None and each[2]]
    writer = services.reasoner.writer
    if not complete or writer is None:
        return verdicts, ()
    try:
        judged = await writer.word_verdicts(video, complete)
    except ReasonerError as failure:
        return verdicts, failure.calls
    words = judged.value
    return [worded(each, words.get(each.claim_id, "")) for each in verdicts], judged.calls


def with_others(
    result: FlowResult, held: VideoRows, claims: Sequence[records.Claim], others: frozenset[str]
) -> FlowResult:
    """Return the rows of the claims that were checked, with those held of the others, by their ids.

    A set is everything that one run knows of one asset and one video, so a check of one claim alone
    writes the rows of all others again, as `held` has them: only the place of their verdicts may
    change. Model calls are not taken over, for each was paid once.
    """
    order = {claim.claim_id: place for place, claim in enumerate(claims)}
    owner = attrgetter("claim_id")

    def joined(new: Iterable[Row], old: Iterable[Row]) -> tuple[Row, ...]:
        rows = [*new, *(row for row in old if owner(row) in others)]
        # Stable: the order inside a claim stays.
        return tuple(sorted(rows, key=lambda row: order[owner(row)]))

    places = ("queries", "searches", "hits", "prior_fact_checks", "evidence", "steps")
    both: dict[str, Any] = {
        each: joined(getattr(result, each), getattr(held, each)) for each in places
    }
    kept = replace(result, **both)
    hits, evidence = kept.hits, kept.evidence
    wanted = {row.page_id for row in evidence}
    # The new answer of a page that did not change goes before the held one.
    by_id = {page.page_id: page for page in held.pages if page.page_id in wanted}
    by_id |= {page.page_id: page for page in result.pages}
    pages = tuple(sorted(by_id.values(), key=lambda page: (page.canonical_url, page.page_id)))
    texts = {text.content_hash: text for text in (*held.page_texts, *result.page_texts)}
    needed = {row.content_hash for row in evidence} | {page.content_hash for page in pages}
    # New ratings go before held ones; those of domains that are no longer found are left out.
    found = {row.domain for row in evidence} | {hit.domain for hit in hits}
    for hit in hits:
        with suppress(UnusableUrlError):
            found.update(host_and_parents(host_of(hit.url)))
    ratings = {rating.domain: rating for rating in held.ratings if rating.domain in found}
    ratings |= {rating.domain: rating for rating in result.ratings}
    return replace(
        kept,
        ratings=tuple(ratings[domain] for domain in sorted(ratings)),
        pages=pages,
        page_texts=tuple(texts[each] for each in sorted(texts) if each in needed),
        verdicts=ranked(joined(result.verdicts, held.verdicts), claims),
    )
