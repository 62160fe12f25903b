"""The five claim-level assets, from `queries` to `verdicts`, as one subsettable multi-asset.

What belongs here: reading what is not selected, running the flow, writing and describing what is.
What does not: what happens to a claim (stages/flow.py).

They are one step because each claim must run ahead on its own: seven steps would put a barrier
between every two stages, and the slowest page of the slowest claim would hold up every verdict.
Materialized together, claims stream through all five; in part, the rest is read from the
warehouse and the same functions run. All that one step computed is written in one transaction, so
that no reader ever sees evidence of one run beside search hits of another that was interrupted.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

import dagster as dg

from factible_assets.assets.claim_checks_metadata import describe
from factible_assets.assets.common import KINDS, OWNERS, RETRIES, definition_metadata
from factible_assets.config import FactCheckConfig
from factible_assets.listing import CorporaResource
from factible_assets.partitions import videos
from factible_assets.records import (
    Claim,
    Evidence,
    PageText,
    Query,
    Record,
    ReliabilityRating,
    Search,
    SearchHit,
    Video,
)
from factible_assets.run_config import ClaimChecksRunConfig, settled
from factible_assets.services import FactCheckServices, Occasion
from factible_assets.stages.flow import FlowResult, Known, check_claims
from factible_assets.stages.ports import Observer
from factible_assets.stages.progress import ALL_STAGES, Stage
from factible_assets.watching import LogObserver, Watchers
from warehouse.resource import WarehouseResource
from warehouse.rows import AnyRecord, Stamp
from warehouse.sets import AssetRows
from warehouse.store import CurrentRecords, Warehouse

CODE_VERSIONS: dict[Stage, str] = dict.fromkeys(ALL_STAGES, "1")

_DESCRIPTIONS: dict[Stage, str] = {
    "queries": (
        "The web searches that look for evidence on each claim, at least one of them for the "
        "contrary."
    ),
    "search_hits": (
        "What the searches found, before anything is fetched, and how each search ended."
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

_GROUPS: dict[Stage, str] = {
    "queries": "search",
    "search_hits": "search",
    "reliability_ratings": "evidence",
    "evidence": "evidence",
    "verdicts": "verdicts",
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
    ins={
        "transcripts": dg.AssetIn(),
        "claims": dg.AssetIn(),
    },
    outs={
        stage: dg.AssetOut(
            is_required=False,
            group_name=_GROUPS[stage],
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
    retry_policy=RETRIES,
)
# Dagster refuses AsyncIterator as a return annotation of several outputs, so there is none.
async def claim_checks(  # type: ignore[no-untyped-def]
    context: dg.AssetExecutionContext,
    config: ClaimChecksRunConfig,  # type: ignore[valid-type]
    warehouse: WarehouseResource,
    services: FactCheckServices,
    corpora: CorporaResource,
    observer: dg.ResourceParam[Observer],
    transcripts: CurrentRecords,
    claims: CurrentRecords,
):
    """Check every claim of one video; yields a result for each selected asset."""
    knobs = settled(FactCheckConfig, config)
    selected = _selected(context)
    store = warehouse.store()
    video_id = context.partition_key
    (video,) = transcripts.of(Video)
    listed = corpora.read().find(video_id)
    async with services.open(
        observer=Watchers(LogObserver(context.log), observer),
        occasion=Occasion(context.run.run_id, video_id, context.log),
        reasoner=knobs.reasoner,
        web=knobs.search.web,
        corpus_web=listed.web if listed else None,
    ) as opened:
        result = await check_claims(
            video,
            claims.of(Claim),
            opened,
            knobs,
            stages=selected,
            known=_known(store, video_id, selected),
        )
    sets: dict[str, AssetRows] = {stage: _rows(stage, result) for stage in selected}
    stamp = Stamp(run_id=context.run.run_id, checked_at=datetime.now(UTC))
    written = {one.asset: one for one in store.write_assets(video_id, sets, stamp=stamp)}
    for stage in selected:
        yield dg.MaterializeResult(
            asset_key=stage,
            data_version=dg.DataVersion(written[stage].data_version),
            metadata=describe(stage, video, claims.of(Claim), result),
        )


def _selected(context: dg.AssetExecutionContext) -> tuple[Stage, ...]:
    names = {key.to_user_string() for key in context.selected_asset_keys}
    return tuple(stage for stage in ALL_STAGES if stage in names)


def _known(store: Warehouse, video_id: str, selected: Sequence[Stage]) -> Known:
    """Read the inputs of the selected stages that are not themselves selected.

    Raises:
        NotMaterializedError: an input was never materialized for this video.
    """
    inputs = {name for stage in selected for name in _READS[stage]}
    needed = (inputs & set(ALL_STAGES)) - set(selected)
    read = {name: store.read_asset(name, video_id) for name in sorted(needed)}

    def rows(asset: str, record: type[AnyRecord]) -> list[AnyRecord]:
        return read[asset].of(record) if asset in read else []

    return Known(
        queries=rows("queries", Query),
        searches=rows("search_hits", Search),
        hits=rows("search_hits", SearchHit),
        ratings=rows("reliability_ratings", ReliabilityRating),
        page_texts=rows("evidence", PageText),
        evidence=rows("evidence", Evidence),
    )


def _rows(stage: Stage, result: FlowResult) -> AssetRows:
    own: dict[Stage, tuple[Sequence[Record], ...]] = {
        "queries": (result.queries,),
        "search_hits": (result.searches, result.hits),
        "reliability_ratings": (result.ratings,),
        "evidence": (result.pages, result.page_texts, result.evidence),
        "verdicts": (result.verdicts,),
    }
    calls = [call for call in result.llm_calls if call.stage == stage]
    timing = result.timings.get(stage)
    return AssetRows(
        rows=[row for rows in (*own[stage], calls) for row in rows],
        code_version=CODE_VERSIONS[stage],
        duration_seconds=timing.span_seconds if timing else 0.0,
    )
