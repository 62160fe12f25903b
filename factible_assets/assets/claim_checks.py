"""The five claim-level assets, from `queries` to `verdicts`, as one subsettable multi-asset.

What belongs here: reading what is not selected, running the flow, writing and describing what is.
What does not: what happens to a claim (stages/flow.py).

They are one step because each claim must run ahead on its own: seven steps would put a barrier
between every two stages, and the slowest page of the slowest claim would hold up every verdict.
Materialized together, claims stream through all five; in part, the rest is read from the
warehouse and the same functions run. All that one step computed is written in one transaction, so
that no reader ever sees evidence of one run beside search hits of another that was interrupted.
"""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import dagster as dg
import duckdb

from factible_assets.assets.claim_checks_metadata import describe
from factible_assets.assets.common import (
    GROUP,
    KINDS,
    OWNERS,
    RETRIES,
    definition_metadata,
    tag_run,
)
from factible_assets.assets.some_claims import scope_of
from factible_assets.checks.structural import judged, structural_specs
from factible_assets.config import FactCheckConfig
from factible_assets.launchpad import CLAIM_CHECKS_SCHEMA, settled
from factible_assets.partitions import videos
from factible_assets.rows import VideoRows
from factible_assets.services.reports import ReportsResource
from factible_assets.services.resource import CorporaResource, FactCheckServices, Occasion
from factible_assets.stages.flow import FlowResult, check_claims
from factible_assets.stages.integrity import JudgedRows, Limits
from factible_assets.stages.observers import LogObserver, Watchers
from factible_assets.stages.ports import Observer
from factible_assets.stages.progress import ALL_STAGES, Stage
from factible_assets.stages.reviews import applied_by, claims_in_force, corrections_by_claim
from warehouse.calls import enter_uses, record_calls, service_uses
from warehouse.errors import NotMaterializedError
from warehouse.resource import WarehouseResource
from warehouse.reviews import read_actions, remember
from warehouse.rows import Stamp
from warehouse.sets import AssetRows
from warehouse.store import Warehouse

CODE_VERSIONS: dict[Stage, str] = dict.fromkeys(ALL_STAGES, "3")

_DESCRIPTIONS: dict[Stage, str] = {
    "queries": (
        "The web searches that look for evidence on each claim, at least one of them for the "
        "contrary."
    ),
    "search_hits": (
        "What the searches found, before anything is fetched, and how each search ended. Beside "
        "it, and never part of the evidence: what fact-checkers have already published."
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
    ins={
        "transcripts": dg.AssetIn(),
        "claims": dg.AssetIn(),
    },
    outs={
        stage: dg.AssetOut(
            is_required=False,
            group_name=GROUP,
            code_version=CODE_VERSIONS[stage],
            owners=OWNERS,
            kinds=KINDS,
            description=_DESCRIPTIONS[stage],
            metadata=definition_metadata(stage),
        )
        for stage in ALL_STAGES
    },
    internal_asset_deps={
        stage: {dg.AssetKey(name) for name in names} for stage, names in _READS.items()
    },
    check_specs=structural_specs(*ALL_STAGES),
    retry_policy=RETRIES,
)
# Dagster refuses AsyncIterator as a return annotation of several outputs, so there is none.
async def claim_checks(  # type: ignore[no-untyped-def]
    context: dg.AssetExecutionContext,
    warehouse: WarehouseResource,
    services: FactCheckServices,
    corpora: CorporaResource,
    reports: ReportsResource,
    observer: dg.ResourceParam[Observer],
    transcripts: VideoRows,
    claims: VideoRows,
):
    """Check every claim of one video; yields a result for each selected asset.

    With checks selected and no asset, what is stored is judged once more.
    """
    knobs = settled(FactCheckConfig, context.op_execution_context.op_config)
    names = {key.to_user_string() for key in context.selected_asset_keys}
    selected = tuple(stage for stage in ALL_STAGES if stage in names)
    store = warehouse.store()
    video_id = context.partition_key
    video = transcripts.video
    if not selected:
        for check in _stored_checks(context, store.read_video(video_id), limits_of(knobs)):
            yield check
        return
    strategy = services.strategy(knobs)
    reviewed = read_actions(store, video_id)
    force = claims_in_force(reviewed)
    scope = scope_of(store, video_id, claims.claims, selected, knobs.only_claims, force)
    tag_run(context, video, claims=len(claims.claims))
    known = _known(store, video_id, selected, keep_queries=knobs.keeps_queries)
    listed = corpora.read().find(video_id)
    knobs = knobs.limited_to(listed.published_before if listed else None)
    async with services.open(
        observer=Watchers(LogObserver(context.log), observer),
        occasion=Occasion(context.run.run_id, video_id, context.log),
        reasoner=knobs.reasoner,
        web=knobs.search.web,
        corpus_web=listed.web if listed else None,
        pages_rating=knobs.search.pages_rating or (listed.pages_rating if listed else None),
        renew=knobs.renew,
    ) as opened:
        result = scope.complete(
            await check_claims(
                video,
                scope.checked,
                opened,
                knobs,
                stages=selected,
                known=known,
                corrections=corrections_by_claim(reviewed),
                strategy=strategy,
            )
        )
    checks = judged(
        selected, _judged_rows(selected, (transcripts, claims), result, known, limits_of(knobs))
    )
    stamp = Stamp(run_id=context.run.run_id, checked_at=datetime.now(UTC))
    if checks.refusal is not None:
        record_calls(store, result.llm_calls, stamp)
        for check in checks.results.values():
            yield check
        raise checks.refusal
    sets: dict[str, AssetRows] = {stage: asset_rows(stage, result) for stage in selected}
    checked = frozenset(claim.claim_id for claim in scope.checked)
    uses = service_uses(result.searches, result.pages, *services.paid_services())

    def note(connection: duckdb.DuckDBPyConnection) -> None:
        applied = applied_by(reviewed, checked, frozenset(selected))
        remember(connection, video_id, stamp, applied=applied, carried=scope.carried)
        enter_uses(connection, video_id, stamp, uses)

    written = {one.asset: one for one in store.write_assets(video_id, sets, stamp=stamp, also=note)}
    # What is shown of the verdicts is written once they are stored.
    published = (
        await asyncio.to_thread(reports.publish, store, video_id, context.log)
        if "verdicts" in selected
        else {}
    )
    if "report" in published:
        tag_run(context, video, report=published["report"].value)
    for stage in selected:
        yield dg.MaterializeResult(
            asset_key=stage,
            check_results=[checks.results[stage]],
            data_version=dg.DataVersion(written[stage].data_version),
            metadata=_with_report(describe(stage, video, claims.claims, result), stage, published),
        )


def _with_report(
    described: dict[str, Any], stage: Stage, published: Mapping[str, Any]
) -> dict[str, Any]:
    """Put the links of the verdicts before all else."""
    return {**published, **described} if stage == "verdicts" else described


def _known(
    store: Warehouse, video_id: str, selected: Sequence[Stage], *, keep_queries: bool
) -> VideoRows:
    """Read the inputs of the selected stages that are not themselves selected.

    With `keep_queries` the queries of the last check are read too: a re-check writes only those
    anew that a service failed to write.

    Raises:
        NotMaterializedError: an input was never materialized for this video.
    """
    inputs = {name for stage in selected for name in _READS[stage]}
    needed = (inputs & set(ALL_STAGES)) - set(selected)
    known = store.read_video(video_id, needed | ({"queries"} if keep_queries else set()))
    for name in sorted(needed - known.sets.keys()):
        raise NotMaterializedError(name, video_id)
    return known


def limits_of(knobs: FactCheckConfig) -> Limits:
    """Return the dates that a run set, which its evidence must keep to."""
    return Limits(knobs.search.published_before, knobs.search.published_after)


def _judged_rows(
    selected: Sequence[Stage],
    upstream: tuple[VideoRows, VideoRows],
    result: FlowResult,
    known: VideoRows,
    limits: Limits,
) -> JudgedRows:
    """Put what was computed beside what it was computed from."""
    transcripts, claims = upstream
    searched, read = "search_hits" in selected, "evidence" in selected
    return JudgedRows(
        **result.parts()
        | {
            "videos": transcripts.videos,
            "transcripts": transcripts.transcripts,
            "segments": transcripts.segments,
            "claims": claims.claims,
            "queries": result.queries if "queries" in selected else known.queries,
            "searches": result.searches if searched else known.searches,
            "hits": result.hits if searched else known.hits,
            "page_texts": result.page_texts if read else known.page_texts,
            "evidence": result.evidence if read else known.evidence,
        },
        limits=limits,
    )


def _stored_checks(
    context: dg.AssetExecutionContext, stored: VideoRows, limits: Limits
) -> list[dg.AssetCheckResult]:
    """Judge what is stored; a check of an asset that never ran has nothing to say."""
    wanted = {key.asset_key.to_user_string() for key in context.selected_asset_check_keys}
    there = [stage for stage in ALL_STAGES if stage in wanted & stored.sets.keys()]
    outcomes = judged(there, JudgedRows(**stored.parts(), limits=limits))
    return list(outcomes.results.values())


def asset_rows(stage: Stage, result: FlowResult) -> AssetRows:
    """Return what the flow computed for one asset, as the set that is written."""
    timing = result.timings.get(stage)
    return AssetRows(
        rows=result.of_asset(stage),
        code_version=CODE_VERSIONS[stage],
        duration_seconds=timing.span_seconds if timing else 0.0,
        first_result_seconds=timing.first_end_seconds if timing else None,
    )
