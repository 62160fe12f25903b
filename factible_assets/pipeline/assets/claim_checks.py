"""The five claim-level assets, from `queries` to `verdicts`, as one subsettable multi-asset.

What belongs here: which claims a run checks, reading what is not selected, running the flow,
writing and describing what is. What does not: what happens to a claim (stages/flow.py).

They are one step because each claim must run ahead on its own: seven steps would put a barrier
between every two stages, and the slowest page of the slowest claim would hold up every verdict.
Materialized together, claims stream through all five; in part, the rest is read from the
warehouse and the same functions run. All that one step computed is written in one transaction, so
that no reader ever sees evidence of one run beside search hits of another that was interrupted.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, get_args

import dagster as dg
import duckdb

from factible_assets.config import FactCheckConfig
from factible_assets.evaluation.charts import bars, counted
from factible_assets.pipeline import resources
from factible_assets.pipeline.assets import common
from factible_assets.pipeline.checks.readings import CONTRADICTIONS, contradictions
from factible_assets.pipeline.checks.structural import judged, structural_specs
from factible_assets.pipeline.checks.verdict_changes import (
    FLIPS,
    RunChanges,
    check_result,
    read_changes,
)
from factible_assets.pipeline.launchpad import CLAIM_CHECKS_SCHEMA
from factible_assets.pipeline.partitions import videos
from factible_assets.pipeline.warehouse import WarehouseResource
from factible_assets.records import Claim, Evidence, PriorFactCheck, Rating, Search, Video
from factible_assets.rows import Materialization, VideoRows
from factible_assets.services.reasoning import fitting_strategy, model_registry
from factible_assets.settings import SearchProvider
from factible_assets.stages import reviews
from factible_assets.stages.flow import FlowResult, check_claims, with_others
from factible_assets.stages.ports import Observer
from factible_assets.stages.progress import ALL_STAGES, LogObserver, Stage
from factible_assets.stances import STANCES
from factible_assets.wording import STANCE_WORDS, rows_table
from warehouse import bookkeeping
from warehouse.rows import Stamp
from warehouse.sets import AssetRows
from warehouse.store import Snapshot, Warehouse

CODE_VERSION = "11"

Described = dict[str, Any]

_DESCRIPTIONS: dict[Stage, str] = {
    "queries": (
        "The web searches that look for evidence on each claim, at least one of them for the "
        "contrary."
    ),
    "search_hits": (
        "What the searches found, before anything is fetched, and how each search ended. Beside "
        "it what fact-checkers have already published; the pages of checks of the same statement "
        "are among the results."
    ),
    "reliability_ratings": (
        "How reliable each domain that was found is held to be, by which rating set, and why."
    ),
    "evidence": (
        "What each selected page says about its claim: stance, verbatim quote with its place in "
        "the stored page, or the reason why there is none."
    ),
    "verdicts": (
        "What the evidence says of each claim, with its confidence. Incomplete where services "
        "failed and what is missing could change the answer."
    ),
}

_READS: dict[Stage, tuple[str, ...]] = {
    "queries": ("transcripts", "claims"),
    "search_hits": ("queries",),
    "reliability_ratings": ("search_hits",),
    "evidence": ("claims", "queries", "search_hits", "reliability_ratings"),
    "verdicts": ("claims", "queries", "search_hits", "evidence"),
}
"""Which assets each one is computed from; the graph in the UI, and what a part of it must read."""


@dg.multi_asset(
    name="claim_checks",
    partitions_def=videos,
    can_subset=True,
    config_schema=CLAIM_CHECKS_SCHEMA,
    deps=["transcripts", "claims"],
    outs={
        stage: dg.AssetOut(
            is_required=False, description=_DESCRIPTIONS[stage], **common.looks(stage, CODE_VERSION)
        )
        for stage in ALL_STAGES
    },
    internal_asset_deps={
        stage: {dg.AssetKey(name) for name in names} for stage, names in _READS.items()
    },
    check_specs=[*structural_specs(*ALL_STAGES), CONTRADICTIONS, FLIPS],
    retry_policy=common.RETRIES,
)
# Dagster refuses AsyncIterator as a return annotation of several outputs, so there is none.
async def claim_checks(  # type: ignore[no-untyped-def]
    context: dg.AssetExecutionContext,
    warehouse: WarehouseResource,
    services: resources.FactCheckServices,
    corpora: resources.CorporaResource,
    reports: resources.ReportsResource,
    observer: dg.ResourceParam[Observer],
):
    """Check every claim of one video; yields a result for each selected asset."""
    knobs = FactCheckConfig.model_validate(context.op_execution_context.op_config)
    names = {key.to_user_string() for key in context.selected_asset_keys}
    selected = tuple(stage for stage in ALL_STAGES if stage in names)
    store = warehouse.store()
    video_id = context.partition_key
    settings = services.settings()
    with resources.final():
        strategy = fitting_strategy(knobs.strategy, knobs, settings)
        prices = model_registry(settings).services
    read = {"transcripts", "claims", *(name for stage in selected for name in _READS[stage])}
    # One moment, opened once: what people did, what the others' rows are, what is not selected.
    with store.snapshot() as now:
        # Queries of the last check are asked again where the run says so; see keeps_queries.
        known = common.stored(
            now, video_id, *(read - set(selected)), also=["queries"] if knobs.keeps_queries else []
        )
        video, claims = known.video, known.claims
        reviewed = bookkeeping.read_actions(now, video_id)
        scope = scope_of(
            now, video_id, claims, selected, knobs.only_claims, reviews.claims_in_force(reviewed)
        )
    common.tag_run(context, video, claims=len(claims))
    listed = corpora.read().find(video_id)
    knobs = knobs.limited_to(listed.entry.published_before if listed else None)
    async with services.open(
        observer=LogObserver(context.log, observer),
        occasion=resources.Occasion(context.run.run_id, video_id, context.log),
        reasoners=knobs,
        web=knobs.search.web,
        listed=listed,
        pages_rating=knobs.search.pages_rating,
        renew=knobs.renew,
    ) as opened:
        result = await check_claims(
            video,
            scope.checked,
            opened,
            knobs,
            stages=selected,
            known=known,
            corrections=reviews.corrections_by_claim(reviewed),
            strategy=strategy,
        )
    others = frozenset(claim.claim_id for claim in scope.carried)
    result = with_others(result, scope.held, claims, others) if others else result
    checks, refusal = judged(selected, replace(known, **result.parts(selected)), knobs.search)
    stamp = Stamp(run_id=context.run.run_id, checked_at=datetime.now(UTC))
    if refusal is not None:
        bookkeeping.record_calls(store, result.llm_calls, stamp)
        for check in checks:
            yield check
        raise refusal
    written, turned = write_checked(
        store,
        video_id,
        {stage: asset_rows(stage, result) for stage in selected},
        stamp,
        applied=reviews.applied_by(
            reviewed, frozenset(claim.claim_id for claim in scope.checked), frozenset(selected)
        ),
        carried=scope.carried,
        uses=bookkeeping.service_uses(
            result.searches,
            result.pages,
            get_args(SearchProvider),
            None if settings.pages == "direct" else settings.pages,
            prices,
        ),
    )
    # What is shown of the verdicts is written once they are stored.
    published = {}
    if turned is not None:
        published = await asyncio.to_thread(reports.publish, store, video_id, context.log)
        if "report" in published:
            common.tag_run(context, video, report=published["report"].value)
    shown = described(video, claims, result)
    # The links of the verdicts stand before all else.
    shown["verdicts"] = {**published, **shown["verdicts"]}
    for stage, check, one in zip(selected, checks, written, strict=True):
        yield dg.MaterializeResult(
            asset_key=stage,
            check_results=[check],
            data_version=dg.DataVersion(one.data_version),
            metadata=shown[stage],
        )
    if "evidence" in selected:
        yield contradictions(result)
    if turned is not None:
        # The last that a run shows: whoever followed it goes on from here.
        yield check_result(turned, reports.links(video_id))


def write_checked(
    store: Warehouse,
    video_id: str,
    sets: Mapping[str, AssetRows],
    stamp: Stamp,
    *,
    applied: Iterable[str],
    carried: Iterable[bookkeeping.CarriedClaim],
    uses: Iterable[Described],
) -> tuple[list[Materialization], RunChanges | None]:
    """Write what a run computed, and what it rests on, all or none.

    Returns what was written, and what that changed of the verdicts; None where it has none.
    """
    turned: RunChanges | None = None

    def note(connection: duckdb.DuckDBPyConnection) -> None:
        nonlocal turned
        bookkeeping.remember(
            connection, video_id, stamp, applied=applied, carried=carried, uses=uses
        )
        if "verdicts" in sets:
            # Of the rows that this transaction writes.
            turned = read_changes(Snapshot(store.connector, connection), video_id, stamp.run_id)

    return store.write_assets(video_id, sets, stamp=stamp, also=note), turned


def asset_rows(stage: Stage, result: FlowResult) -> AssetRows:
    """Return what the flow computed for one asset, as the set that is written."""
    timing = result.timings.get(stage)
    return AssetRows(
        rows=result.of_asset(stage),
        code_version=CODE_VERSION,
        duration_seconds=timing.span_seconds if timing else 0.0,
        first_result_seconds=timing.first_result_seconds if timing else None,
    )


# --- Which claims are checked -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Scope:
    """What a run checks of a video.

    Where it does not check all claims, `held` has the rows of the last check, of the selected
    assets alone, and `carried` the other claims, with when they were checked themselves.
    """

    checked: Sequence[Claim]
    held: VideoRows = field(default_factory=VideoRows)
    carried: tuple[bookkeeping.CarriedClaim, ...] = ()


def scope_of(
    store: Warehouse,
    video_id: str,
    claims: Sequence[Claim],
    stages: Sequence[Stage],
    only: Sequence[str],
    reviewed: reviews.ClaimsInForce,
) -> Scope:
    """Return what a run checks: all claims, or `only` some and what reviewers worded since.

    One of `only` may have been dropped or split: then nothing of it is checked any more.

    Raises dagster.Failure: The video makes no such claim, or the others were never checked, so that
    there is nothing to take over. Never retried.
    """
    known = {claim.claim_id for claim in claims} | reviewed.gone.keys()
    unknown = [each for each in only if each not in known]
    if unknown:
        raise common.final_failure(
            f"The video {video_id} makes no claim {', '.join(unknown)} (only_claims). "
            f"Its claims: factible review -- {video_id}"
        )
    others = [claim for claim in claims if only and claim.claim_id not in only]
    if not others:
        return Scope(claims)

    def unchecked(why: str) -> dg.Failure:
        return common.final_failure(
            f"Some claims of {video_id} cannot be checked alone before the whole video was: {why}. "
            "Materialize it without only_claims first."
        )

    found = store.current_sets(video_id)
    absent = [stage for stage in stages if stage not in found]
    if absent:
        raise unchecked(f"it has no {', '.join(absent)} yet")
    last = found[stages[-1]]
    held = store.read_sets(video_id, {stage: found[stage].run_id for stage in stages})
    # Claims that were asked and judged, as far as the held rows go.
    whole = set(known)
    if "queries" in held.sets:
        whole &= {row.claim_id for row in held.queries}
    if "verdicts" in held.sets:
        whole &= {row.claim_id for row in held.verdicts}
    strange = sorted({claim.claim_id for claim in others} - whole - reviewed.worded.keys())
    if strange:
        raise unchecked(f"the claim {strange[0]} never was")
    carried = [claim for claim in others if claim.claim_id in whole]
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


# --- What is shown ------------------------------------------------------------------------------

_UNFOLDED = 12
"""So many verdicts stand where they are seen without a click; the table, a click away, has all."""


def described(video: Video, claims: Sequence[Claim], result: FlowResult) -> dict[Stage, Described]:
    """Return the metadata of the claim-level assets; of those that did not run, of no rows."""
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
    lines = rows_table("verdict_lines", **of_verdicts).splitlines()[:_UNFOLDED] if reached else []
    asked_beside: Described = {"prior fact checks": "off"}  # nobody was, beside the search
    if prior:
        asked_beside = {
            "prior fact checks": _table("prior_fact_checks", claims=claims, rows=prior),
            "prior fact checks found": sum(row.status == "ok" for row in prior),
            "prior fact check failures": _failures(prior),
        }
    shown: dict[Stage, Described] = {
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
            **asked_beside,
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
            **{f"verdict {n}": dg.MetadataValue.md(line) for n, line in enumerate(lines, start=1)},
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


def _chart(title: str, values: Mapping[str, float], unit: str = "") -> Described:
    drawn = bars(values, unit)
    return {title: dg.MetadataValue.md(f"![{title}]({drawn})")} if drawn else {}


def _failures(rows: Sequence[Search] | Sequence[Evidence] | Sequence[PriorFactCheck]) -> str:
    failed = {row.reason or "–" for row in rows if row.status == "infra_error"}
    return "; ".join(sorted(failed)) or "none"
