"""The assets from `claims` to `verdicts`, as one multi-asset with subsets.

They share one step so that claims do not wait for each other: with a step per asset, the slowest
page of the slowest claim would hold up every verdict, and the last claim every search. A run of
some assets reads the others from the warehouse. The claims are written as soon as they are found.
One transaction writes all other assets of a run, so no reader sees evidence of one run next to
search hits of another.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple, get_args

import dagster as dg
import duckdb

from factible_assets.config import FactCheckConfig, Reasoners
from factible_assets.corpora.reading import CorpusVideo
from factible_assets.evaluation.charts import bars, counted
from factible_assets.pipeline import resources
from factible_assets.pipeline.assets import common
from factible_assets.pipeline.assets.claims import CODE_VERSION as CLAIMS_VERSION
from factible_assets.pipeline.assets.claims import (
    Extraction,
    claims_results,
    failed_extraction,
    record_said_before,
)
from factible_assets.pipeline.assets.external import REPORT
from factible_assets.pipeline.checks.integrity import check_integrity, integrity_specs
from factible_assets.pipeline.checks.readings import CONTRADICTIONS, check_contradictions
from factible_assets.pipeline.checks.verdict_changes import (
    FLIPS,
    RunChanges,
    check_flips,
    read_changes,
)
from factible_assets.pipeline.launchpad import CLAIM_CHECKS_SCHEMA
from factible_assets.pipeline.partitions import videos
from factible_assets.pipeline.reuse import with_earlier_checks
from factible_assets.pipeline.warehouse import WarehouseResource
from factible_assets.records.rows import Materialization, VideoRows
from factible_assets.records.stances import STANCES
from factible_assets.records.tables import (
    Claim,
    Evidence,
    PriorFactCheck,
    Rating,
    ReviewAction,
    Search,
    Video,
)
from factible_assets.services.models import model_registry
from factible_assets.services.reasoning import fitting_strategy
from factible_assets.settings import SearchProvider, Settings
from factible_assets.stages import reviews
from factible_assets.stages.flow import (
    BeginChecks,
    ClaimsResult,
    FlowResult,
    Strategy,
    check_claims,
    with_others,
)
from factible_assets.stages.ports import Observer, ReasonerError, Services
from factible_assets.stages.progress import ALL_STAGES, LogObserver, Stage
from factible_assets.wording import STANCE_WORDS, plain, rows_table
from warehouse import bookkeeping
from warehouse.rows import Stamp
from warehouse.sets import AssetRows
from warehouse.store import Snapshot, Warehouse

CODE_VERSION = "11"

Metadata = dict[str, Any]


class _Asset(NamedTuple):
    kind: str
    reads: tuple[str, ...]
    sources: tuple[str, ...]
    description: str


_ASSETS: dict[str, _Asset] = {
    "claims": _Asset(
        "llm",
        ("transcripts",),
        ("language_model", "corpus_files"),
        "The check-worthy factual statements of the video, each with its importance for the "
        "video's thesis, its place in the transcript and its second in the video. If the corpus "
        "gives claims, exactly those.",
    ),
    "queries": _Asset(
        "llm",
        ("transcripts", "claims"),
        ("language_model",),
        "The web searches for evidence on each claim. At least one looks for the contrary.",
    ),
    "search_hits": _Asset(
        "search",
        ("queries",),
        ("search_engines",),
        "The results of the searches, before any page is fetched, and how each search ended. "
        "Fact-checks that others published are stored with them; the page of a check of the same "
        "statement is one of the results.",
    ),
    "reliability_ratings": _Asset(
        "python",
        ("search_hits",),
        ("rating_sets",),
        "The reliability of each domain in the search results, with the rating set and the reason.",
    ),
    "evidence": _Asset(
        "llm",
        ("claims", "queries", "search_hits", "reliability_ratings"),
        ("web_pages", "language_model"),
        "The stance of each selected page on its claim, with a verbatim quote and its place in the "
        "stored page, or the reason why there is none.",
    ),
    "verdicts": _Asset(
        "python",
        ("claims", "queries", "search_hits", "evidence"),
        (),
        "The verdict on each claim from its evidence, with its confidence. Incomplete if services "
        "failed and the missing sources could change the answer.",
    ),
}
"""`reads` names upstream assets, which a partial run reads; `sources` names external assets."""


@dg.multi_asset(
    name="claim_checks",
    partitions_def=videos,
    can_subset=True,
    config_schema=CLAIM_CHECKS_SCHEMA,
    deps=["transcripts", *{name for each in _ASSETS.values() for name in each.sources}],
    outs={
        stage: dg.AssetOut(
            is_required=False,
            description=each.description,
            **common.static_metadata(
                stage, CLAIMS_VERSION if stage == "claims" else CODE_VERSION, each.kind
            ),
        )
        for stage, each in _ASSETS.items()
    },
    internal_asset_deps={
        stage: {dg.AssetKey(name) for name in each.reads + each.sources}
        for stage, each in _ASSETS.items()
    },
    check_specs=[*integrity_specs(*_ASSETS), CONTRADICTIONS, FLIPS],
    retry_policy=common.RETRIES,
)
# No return annotation: Dagster refuses AsyncIterator for several outputs.
async def claim_checks(  # type: ignore[no-untyped-def]
    context: dg.AssetExecutionContext,
    warehouse: WarehouseResource,
    services: resources.FactCheckServices,
    corpora: resources.CorporaResource,
    reports: resources.ReportsResource,
    observer: dg.ResourceParam[Observer],
):
    """Find and check the claims of one video, and yield a result for each selected asset."""
    store, settings = warehouse.store(), services.settings()
    options = FactCheckConfig.model_validate(context.op_execution_context.op_config)
    with resources.setup_errors_are_final():
        strategy = fitting_strategy(options.strategy, options, settings)
        model_registry(settings)
    order = _prepare(context, store, corpora, options, strategy)
    common.tag_run(context, order.known.video)
    extracted: asyncio.Future[ClaimsResult] = asyncio.get_running_loop().create_future()
    opening = _opening(order, context, services, observer)
    working = asyncio.create_task(_find_and_check(order, store, opening, strategy, extracted))
    try:
        if order.search is not None:
            waiting: set[asyncio.Future[Any]] = {working, extracted}
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if extracted.done():
                found = extracted.result()
                scope = order.scope if options.only_claims else Scope(found.claims)
                order = order._replace(claims=found.claims, scope=scope)
                said_before = await asyncio.to_thread(
                    record_said_before, store, context.partition_key, found.claims
                )
                # Dagster writes the claims while the checks wait.
                for each in claims_results(context, store, order.known, found, said_before):
                    yield each
        result = await working
    except ReasonerError as failure:
        raise failed_extraction(context, store, failure) from failure
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
    if order.selected:
        async for one in _results(context, store, order, result, settings, reports):
            yield one


async def _results(
    context: dg.AssetExecutionContext,
    store: Warehouse,
    order: "_Order",
    result: FlowResult,
    settings: Settings,
    reports: resources.ReportsResource,
) -> AsyncIterator[dg.MaterializeResult[Any] | dg.AssetCheckResult]:
    """Write the rows of the checks, and yield a result for each asset.

    Raises dagster.Failure: A row breaks a rule, so nothing is stored. Never retried.
    """
    selected, options, claims, scope = order.selected, order.options, order.claims, order.scope
    known, video, actions = order.known, order.known.video, order.actions
    video_id = video.video_id
    others = frozenset(claim.claim_id for claim in scope.carried)
    result = with_others(result, scope.held, claims, others) if others else result
    whole = replace(known, claims=tuple(claims), **result.parts(selected))
    checks, refusal = check_integrity(selected, whole, options.search)
    stamp = Stamp(run_id=context.run.run_id, checked_at=datetime.now(UTC))
    if refusal is not None:
        bookkeeping.record_calls(store, result.llm_calls, stamp)
        for check in checks:
            yield check
        raise refusal
    written, changes = write_checked(
        store,
        video_id,
        {stage: asset_rows(stage, result) for stage in selected},
        stamp,
        applied=reviews.applied_by(
            actions, frozenset(claim.claim_id for claim in scope.checked), frozenset(selected)
        ),
        carried=scope.carried,
        uses=bookkeeping.service_uses(
            result.searches,
            result.pages,
            get_args(SearchProvider),
            "jina" if settings.pages == "jina" else None,
            model_registry(settings).services,
        ),
    )
    published = {}
    if changes is not None:
        published = await asyncio.to_thread(reports.publish, store, video_id, context.log)
    if "index of reports" in published:
        context.log_event(dg.AssetMaterialization(REPORT, partition=video_id, metadata=published))
    shown = metadata_of(video, claims, result)
    shown["verdicts"] = {**published, **shown["verdicts"]}
    for stage, check, one in zip(selected, checks, written, strict=True):
        yield dg.MaterializeResult(
            asset_key=stage,
            check_results=[check],
            data_version=dg.DataVersion(one.data_version),
            metadata=shown[stage],
        )
    if "evidence" in selected:
        yield check_contradictions(result)
    if changes is not None:
        # The last event of the run: its links lead to the report and the desk.
        yield check_flips(changes, reports.links(video_id))


@dataclass(frozen=True, slots=True)
class Scope:
    """The claims that a run checks.

    If it checks only some, `held` has the last rows of the selected assets, and `carried` has the
    other claims with the time of their last check.
    """

    checked: Sequence[Claim]
    held: VideoRows = field(default_factory=VideoRows)
    carried: tuple[bookkeeping.CarriedClaim, ...] = ()


class _Order(NamedTuple):
    """The work of a run: the stages, the upstream rows, and the claims as far as they are known.

    `search` looks for the claims; None if the run does not select them.
    """

    selected: tuple[Stage, ...]
    options: FactCheckConfig
    known: VideoRows
    actions: Sequence[ReviewAction]
    claims: Sequence[Claim]
    scope: Scope
    search: Extraction | None
    listed: CorpusVideo | None


def _prepare(
    context: dg.AssetExecutionContext,
    store: Warehouse,
    corpora: resources.CorporaResource,
    options: FactCheckConfig,
    strategy: Strategy,
) -> _Order:
    """Read the input of a run. Raises dagster.Failure: It is not there. Never retried."""
    names = {key.to_user_string() for key in context.selected_asset_keys}
    selected = tuple(stage for stage in ALL_STAGES if stage in names)
    read = {"transcripts", "claims", *(name for each in names for name in _ASSETS[each].reads)}
    video_id = context.partition_key
    listed = corpora.read().find(video_id)
    with store.snapshot() as now:
        # Reuse the previous run's queries if the options say so (keeps_queries).
        optional = ["queries"] if options.keeps_queries else []
        if strategy.reads_pictures:
            optional.append("media")
        known = common.read_upstream(now, video_id, *(read - names), optional=optional)
        actions = bookkeeping.read_actions(now, video_id)
        claims: Sequence[Claim] = known.claims
        search = None
        if "claims" in names:
            stored = now.read_current(Claim, video_id) if options.only_claims else None
            given = listed.given_claims if listed is not None else None
            earlier = bookkeeping.known_claims(now, video_id)
            search = Extraction(known, actions, earlier, stored, given)
            claims = search.corrected(stored or ())
        force = reviews.claims_in_force(actions)
        scope = scope_of(now, video_id, claims, selected, options.only_claims, force)
    options = options.limited_to(listed.entry.published_before if listed else None)
    return _Order(selected, options, known, actions, claims, scope, search, listed)


def _opening(
    order: _Order,
    context: dg.AssetExecutionContext,
    services: resources.FactCheckServices,
    observer: Observer,
) -> AbstractAsyncContextManager[Services]:
    """Return a block with the services that a run needs."""
    options, search = order.options, order.search
    reasoners: Reasoners = options
    web = options.search.web
    if search is not None and not order.selected:
        # Given claims need no model, so they must not need a key.
        maker = options.reasoner if options.claims_by == "auto" else options.claims_by
        reasoners = Reasoners(reasoner=maker if search.given is None else "embedded")
        # Claims need no web, and the archive opens no connection.
        web = "archive"
    return services.open(
        observer=LogObserver(context.log, observer),
        run=resources.RunContext(context.run.run_id, context.partition_key, context.log),
        reasoners=reasoners,
        web=web,
        listed=order.listed,
        pages_rating=options.search.pages_rating,
        renew=options.renew,
    )


async def _find_and_check(
    order: _Order,
    store: Warehouse,
    services: AbstractAsyncContextManager[Services],
    strategy: Strategy,
    extracted: asyncio.Future[ClaimsResult],
) -> FlowResult:
    """Find the claims and check them; `extracted` has the claims before the checks end."""
    async with services as opened:

        async def find(begin: BeginChecks | None = None) -> Sequence[Claim]:
            if order.search is None:
                return order.scope.checked
            extracted.set_result(await order.search.find(opened, order.options.claims, begin))
            kept = order.options.only_claims
            return order.scope.checked if kept else extracted.result().claims

        if not order.selected:
            await find()
            return FlowResult()
        return await check_claims(
            order.known.video,
            find,
            with_earlier_checks(opened, order.options, store, order.known.video),
            order.options,
            stages=order.selected,
            known=order.known,
            corrections=reviews.corrections_by_claim(order.actions),
            strategy=strategy,
        )


def write_checked(
    store: Warehouse,
    video_id: str,
    sets: Mapping[str, AssetRows],
    stamp: Stamp,
    *,
    applied: Iterable[str],
    carried: Iterable[bookkeeping.CarriedClaim],
    uses: Iterable[Metadata],
) -> tuple[list[Materialization], RunChanges | None]:
    """Write the sets of a run and their bookkeeping, in one transaction.

    Returns the materializations, and the changes to the verdicts if the run computed any.
    """
    changes: RunChanges | None = None

    def note(connection: duckdb.DuckDBPyConnection) -> None:
        nonlocal changes
        bookkeeping.record_run(
            connection, video_id, stamp, applied=applied, carried=carried, uses=uses
        )
        if "verdicts" in sets:
            # Within the transaction, so that the view sees the new rows.
            changes = read_changes(Snapshot(store.connector, connection), video_id, stamp.run_id)

    return store.write_assets(video_id, sets, stamp=stamp, also=note), changes


def asset_rows(stage: Stage, result: FlowResult) -> AssetRows:
    """Return the set to write for one asset."""
    timing = result.timings.get(stage)
    return AssetRows(
        rows=result.of_asset(stage),
        code_version=CODE_VERSION,
        duration_seconds=timing.span_seconds if timing else 0.0,
        first_result_seconds=timing.first_result_seconds if timing else None,
    )


# --- The claims of a run --------------------------------------------------------------------------


def scope_of(
    store: Warehouse,
    video_id: str,
    claims: Sequence[Claim],
    stages: Sequence[Stage],
    only: Sequence[str],
    reviewed: reviews.ClaimsInForce,
) -> Scope:
    """Return the claims of a run: all, or `only` some and the new wordings of reviewers.

    A claim of `only` that a reviewer dropped or split is not checked.

    Raises dagster.Failure: The video has no such claim, or other claims were never checked and have
    no rows to keep. Never retried.
    """
    known = {claim.claim_id for claim in claims} | reviewed.gone.keys()
    unknown = [each for each in only if each not in known]
    if unknown:
        raise common.final_failure(
            f"The video {video_id} has no claim {', '.join(unknown)} (only_claims). "
            f"Its claims: factible review -- {video_id}"
        )
    others = [claim for claim in claims if only and claim.claim_id not in only]
    if not others:
        return Scope(claims)

    def unchecked(why: str) -> dg.Failure:
        return common.final_failure(
            f"Single claims of {video_id} cannot be checked before the whole video: {why}. "
            "Materialize it without only_claims first."
        )

    found = store.current_sets(video_id)
    absent = [stage for stage in stages if stage not in found]
    if absent:
        raise unchecked(f"it has no {', '.join(absent)} yet")
    last = found[stages[-1]]
    held = store.read_sets(video_id, {stage: found[stage].run_id for stage in stages})
    # The claims that have all held rows.
    complete = set(known)
    if "queries" in held.sets:
        complete &= {row.claim_id for row in held.queries}
    if "verdicts" in held.sets:
        complete &= {row.claim_id for row in held.verdicts}
    new = sorted({claim.claim_id for claim in others} - complete - reviewed.worded.keys())
    if new:
        raise unchecked(f"the claim {new[0]} was never checked")
    carried = [claim for claim in others if claim.claim_id in complete]
    earlier = bookkeeping.read_carried(store, video_id, last.run_id)
    return Scope(
        [claim for claim in claims if claim not in carried],
        held,
        tuple(
            earlier.get(
                claim.claim_id,
                bookkeeping.CarriedClaim(claim.claim_id, last.run_id, last.checked_at),
            )
            for claim in carried
        ),
    )


# --- Metadata -----------------------------------------------------------------------------------

_UNFOLDED = 12
"""The number of verdicts that the UI shows without a click; the folded table has all."""


def metadata_of(video: Video, claims: Sequence[Claim], result: FlowResult) -> dict[Stage, Metadata]:
    """Return the metadata of every claim-level asset, also of those that did not run."""
    read = [each for each in result.evidence if each.status == "ok"]
    prior, reached = result.prior_fact_checks, result.verdicts
    words = [STANCE_WORDS[each.stance] if each.stance else each.status for each in reached]
    spans = {str(stage): round(each.span_seconds, 1) for stage, each in result.timings.items()}
    of_verdicts = {
        "video": video,
        "claims": claims,
        "verdicts": reached,
        "evidence": result.evidence,
    }
    judged = {each.claim_id for each in reached}
    in_time = sorted(
        (each for each in claims if each.claim_id in judged), key=lambda each: each.place_in_time
    )
    lines = rows_table("verdict_lines", **of_verdicts).splitlines()[:_UNFOLDED] if reached else []
    fact_checks: Metadata = {"prior fact checks": "off"}
    if prior:
        fact_checks = {
            "prior fact checks": _table("prior_fact_checks", claims=claims, rows=prior),
            "prior fact checks found": sum(row.status == "ok" for row in prior),
            "prior fact check failures": _failures(prior),
        }
    shown: dict[Stage, Metadata] = {
        "queries": {
            "queries": _table("queries", claims=claims, queries=result.queries),
            "count": len(result.queries),
            "by type": common.counts_by([query.query_type for query in result.queries]),
            "failed": sum(query.status == "infra_error" for query in result.queries),
            "dagster/row_count": len(result.queries),
        },
        "search_hits": {
            "searches": common.counts_by([search.status for search in result.searches]),
            "hits": len(result.hits),
            "pages found": len({hit.canonical_url for hit in result.hits}),
            "domains found": len({hit.domain for hit in result.hits}),
            "failures": _failures(result.searches),
            "dagster/row_count": len(result.hits),
            **fact_checks,
        },
        "reliability_ratings": {
            "ratings": _table("ratings", ratings=result.ratings),
            "by rating": common.counts_by([rating.rating for rating in result.ratings]),
            "by class": common.counts_by([rating.source_class for rating in result.ratings]),
            "dagster/row_count": len(result.ratings),
        },
        "evidence": {
            "evidence": _table("evidence", claims=claims, evidence=read),
            **_chart(
                "stances of the evidence",
                counted([each.stance or "" for each in read], tuple(STANCES)),
            ),
            **_chart(
                "ratings of the sources", counted([each.rating for each in read], get_args(Rating))
            ),
            "outcomes": common.counts_by([each.status for each in result.evidence]),
            "origins of all sources read": len({each.origin for each in read if each.origin}),
            "pages read": sum(page.status == "ok" for page in result.pages),
            "rejected quotes": sum(each.rejected_quotes for each in result.evidence),
            "failures": _failures(result.evidence),
            "dagster/row_count": len(result.evidence),
        },
        "verdicts": {
            **{
                f"{n}. {plain(claim.text, 60)}": dg.MetadataValue.md(line)
                for n, (claim, line) in enumerate(zip(in_time, lines, strict=False), start=1)
            },
            "verdicts": _table("verdicts", **of_verdicts),
            **_chart("outcomes", counted(words, (*STANCE_WORDS.values(), "incomplete"))),
            **_chart("seconds by stage", spans, " s"),
            "cost of all stages after the claims (USD)": round(result.cost_usd, 6),
            "by confidence": common.counts_by([verdict.confidence for verdict in reached]),
            "incomplete": sum(verdict.status == "incomplete" for verdict in reached),
            "disagreements": sum(verdict.disagreement for verdict in reached),
            "dagster/row_count": len(reached),
        },
    }
    for stage, of_stage in shown.items():
        timing = result.timings.get(stage)
        calls = [call for call in result.llm_calls if call.stage == stage]
        of_stage["seconds"] = round(timing.span_seconds, 3) if timing else 0.0
        of_stage["work in seconds"] = round(timing.work_seconds, 3) if timing else 0.0
        of_stage.update(common.usage_metadata(calls))
    return shown


def _table(name: str, **values: Any) -> dg.MarkdownMetadataValue:
    return dg.MetadataValue.md(rows_table(name, **values))


def _chart(title: str, values: Mapping[str, float], unit: str = "") -> Metadata:
    drawn = bars(values, unit)
    return {title: dg.MetadataValue.md(f"![{title}]({drawn})")} if drawn else {}


def _failures(rows: Sequence[Search] | Sequence[Evidence] | Sequence[PriorFactCheck]) -> str:
    failed = {row.reason or "–" for row in rows if row.status == "infra_error"}
    return "; ".join(sorted(failed)) or "none"
