"""Stores the results of `claim_checks`, and describes them for the UI."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeAlias, get_args

import dagster as dg
import duckdb

from factible_assets.evaluation.charts import bars, counts_in_order
from factible_assets.pipeline.assets import common
from factible_assets.pipeline.assets.claim_input import RunInput
from factible_assets.pipeline.assets.external import REPORT
from factible_assets.pipeline.checks.integrity import check_contradictions, check_integrity
from factible_assets.pipeline.checks.verdict_changes import RunChanges, check_flips, read_changes
from factible_assets.pipeline.resources import ReportsResource
from factible_assets.records.rows import Materialization
from factible_assets.records.stances import STANCES
from factible_assets.records.tables import (
    MAIN_RECORD,
    Claim,
    Evidence,
    PriorFactCheck,
    Rating,
    Search,
    Video,
)
from factible_assets.services.models import model_registry
from factible_assets.settings import SearchProvider, Settings
from factible_assets.stages import reviews
from factible_assets.stages.flow import FlowResult, with_others
from factible_assets.stages.progress import Stage
from factible_assets.wording import OUTCOME_WORDS, plain, rows_table
from warehouse import bookkeeping
from warehouse.rows import Stamp
from warehouse.sets import AssetRows
from warehouse.store import Snapshot, Warehouse

CODE_VERSION = "11"

Metadata: TypeAlias = dict[str, Any]


async def stored_results(
    context: dg.AssetExecutionContext,
    store: Warehouse,
    run: RunInput,
    result: FlowResult,
    settings: Settings,
    reports: ReportsResource,
) -> AsyncIterator[dg.MaterializeResult[Any] | dg.AssetCheckResult]:
    """Write the rows of the checks, and yield a result for each asset.

    Raises dagster.Failure: A row breaks a rule. Then only the record of the model calls is stored.
    Never retried.
    """
    video, claims = run.upstream.video, run.claims
    carried_ids = frozenset(claim.claim_id for claim in run.carried)
    result = with_others(result, run.last_rows, claims, carried_ids) if carried_ids else result
    whole = replace(run.upstream, claims=tuple(claims), **result.parts(run.stages))
    checks, failure = check_integrity(run.stages, whole, run.options.search)
    stamp = Stamp(run_id=context.run.run_id, checked_at=datetime.now(UTC))
    if failure is not None:
        bookkeeping.record_calls(store, result.llm_calls, stamp)
        for check in checks:
            yield check
        raise failure
    materializations, changes = _write(store, run, result, stamp, settings)
    report_metadata = {}
    if changes is not None:
        report_metadata = await asyncio.to_thread(
            reports.publish, store, video.video_id, context.log
        )
    if "index of reports" in report_metadata:
        context.log_event(
            dg.AssetMaterialization(REPORT, partition=video.video_id, metadata=report_metadata)
        )
    metadata = metadata_of(video, claims, result)
    metadata["verdicts"] = report_metadata | metadata["verdicts"]
    for stage, check, stored in zip(run.stages, checks, materializations, strict=True):
        yield dg.MaterializeResult(
            asset_key=stage,
            check_results=[check],
            data_version=dg.DataVersion(stored.data_version),
            metadata=metadata[stage],
        )
    if "evidence" in run.stages:
        yield check_contradictions(result)
    if changes is not None:
        # The last event of the run: its links lead to the report and the desk.
        yield check_flips(changes, reports.links(video.video_id))


def _write(
    store: Warehouse, run: RunInput, result: FlowResult, stamp: Stamp, settings: Settings
) -> tuple[list[Materialization], RunChanges | None]:
    """Write the sets of a run and their bookkeeping, in one transaction.

    Returns the materializations, and the changes to the verdicts if the run computed any.
    """
    from resources.pages.scraper import PAGE_SERVICES  # loads HTTP clients, as a check does

    video_id, changes = run.upstream.video.video_id, None
    checked = frozenset(claim.claim_id for claim in run.claims_to_check)
    uses = bookkeeping.service_uses(
        result.searches,
        result.pages,
        get_args(SearchProvider),
        settings.pages if settings.pages in PAGE_SERVICES else None,
        model_registry(settings).services,
    )

    def write_bookkeeping(connection: duckdb.DuckDBPyConnection) -> None:
        nonlocal changes
        applied = reviews.applied_by(run.actions, checked, frozenset(run.stages))
        bookkeeping.record_run(
            connection, video_id, stamp, applied=applied, carried=run.carried, uses=uses
        )
        if "verdicts" in run.stages:
            # Within the transaction, so that the view sees the new rows.
            changes = read_changes(Snapshot(store.connector, connection), video_id, stamp.run_id)

    sets: dict[str, AssetRows] = {stage: asset_rows(stage, result) for stage in run.stages}
    return store.write_assets(video_id, sets, stamp=stamp, also=write_bookkeeping), changes


def asset_rows(stage: Stage, result: FlowResult) -> AssetRows:
    """Return the set to write for one asset."""
    timing = result.timings.get(stage)
    return AssetRows(
        rows=result.of_asset(stage),
        code_version=CODE_VERSION,
        duration_seconds=timing.span_seconds if timing else 0.0,
        first_result_seconds=timing.first_result_seconds if timing else None,
    )


# --- Metadata -----------------------------------------------------------------------------------

_UNFOLDED = 12
"""The number of verdicts that the UI shows without a click; the folded table has all."""


def metadata_of(video: Video, claims: Sequence[Claim], result: FlowResult) -> dict[Stage, Metadata]:
    """Return the metadata of every claim-level asset, also of those that did not run."""
    described: dict[Stage, Metadata] = {
        "queries": _queries_metadata(claims, result),
        "search_hits": _search_metadata(claims, result),
        "reliability_ratings": _ratings_metadata(result),
        "evidence": _evidence_metadata(claims, result),
        "verdicts": _verdicts_metadata(video, claims, result),
    }
    for stage, metadata in described.items():
        timing, rows = result.timings.get(stage), result.of_asset(stage)
        metadata |= {
            "dagster/row_count": sum(isinstance(row, MAIN_RECORD[stage]) for row in rows),
            "seconds": round(timing.span_seconds, 3) if timing else 0.0,
            "work in seconds": round(timing.work_seconds, 3) if timing else 0.0,
            **common.usage_metadata([call for call in result.llm_calls if call.stage == stage]),
        }
    return described


def _queries_metadata(claims: Sequence[Claim], result: FlowResult) -> Metadata:
    return {
        "queries": _table("queries", claims=claims, queries=result.queries),
        "by type": common.counts_by([query.query_type for query in result.queries]),
        "failed": sum(query.status == "infra_error" for query in result.queries),
    }


def _search_metadata(claims: Sequence[Claim], result: FlowResult) -> Metadata:
    fact_checks: Metadata = {"prior fact checks": "off"}
    if rows := result.prior_fact_checks:
        fact_checks = {
            "prior fact checks": _table("prior_fact_checks", claims=claims, rows=rows),
            "prior fact checks found": sum(row.status == "ok" for row in rows),
            "prior fact check failures": _failures(rows),
        }
    return {
        "searches": common.counts_by([search.status for search in result.searches]),
        "pages found": len({hit.canonical_url for hit in result.hits}),
        "domains found": len({hit.domain for hit in result.hits}),
        "failures": _failures(result.searches),
        **fact_checks,
    }


def _ratings_metadata(result: FlowResult) -> Metadata:
    return {
        "ratings": _table("ratings", ratings=result.ratings),
        "by rating": common.counts_by([rating.rating for rating in result.ratings]),
        "by class": common.counts_by([rating.source_class for rating in result.ratings]),
    }


def _evidence_metadata(claims: Sequence[Claim], result: FlowResult) -> Metadata:
    read = [row for row in result.evidence if row.status == "ok"]
    stances = counts_in_order([row.stance or "" for row in read], tuple(STANCES))
    ratings = counts_in_order([row.rating for row in read], get_args(Rating))
    return {
        "evidence": _table("evidence", claims=claims, evidence=read),
        **_chart("stances of the evidence", stances),
        **_chart("ratings of the sources", ratings),
        "outcomes": common.counts_by([row.status for row in result.evidence]),
        "origins of all sources read": len({row.origin for row in read if row.origin}),
        "pages read": sum(page.status == "ok" for page in result.pages),
        "rejected quotes": sum(row.rejected_quotes for row in result.evidence),
        "failures": _failures(result.evidence),
    }


def _verdicts_metadata(video: Video, claims: Sequence[Claim], result: FlowResult) -> Metadata:
    verdicts, verdict_of = result.verdicts, result.verdict_of
    outcomes = [OUTCOME_WORDS[row.stance] if row.stance else row.status for row in verdicts]
    seconds = {
        str(stage): round(timing.span_seconds, 1) for stage, timing in result.timings.items()
    }
    in_time = sorted(claims, key=lambda claim: claim.place_in_time)
    with_verdict = [claim for claim in in_time if claim.claim_id in verdict_of]
    rows = {"video": video, "claims": claims, "verdicts": verdicts, "evidence": result.evidence}
    lines = rows_table("verdict_lines", **rows).splitlines()[:_UNFOLDED] if verdicts else []
    return {
        **{
            f"{n}. {plain(claim.text, 60)}": dg.MetadataValue.md(line)
            for n, (claim, line) in enumerate(zip(with_verdict, lines, strict=False), start=1)
        },
        "verdicts": _table("verdicts", **rows),
        **_chart("outcomes", counts_in_order(outcomes, tuple(OUTCOME_WORDS.values()))),
        **_chart("seconds by stage", seconds, " s"),
        "cost of all stages after the claims (USD)": round(result.cost_usd, 6),
        "by confidence": common.counts_by([verdict.confidence for verdict in verdicts]),
        "incomplete": sum(verdict.status == "incomplete" for verdict in verdicts),
        "disagreements": sum(verdict.disagreement for verdict in verdicts),
    }


def _table(name: str, **values: Any) -> dg.MarkdownMetadataValue:
    return dg.MetadataValue.md(rows_table(name, **values))


def _chart(title: str, values: Mapping[str, float], unit: str = "") -> Metadata:
    picture = bars(values, unit)
    return {title: dg.MetadataValue.md(f"![{title}]({picture})")} if picture else {}


def _failures(rows: Sequence[Search] | Sequence[Evidence] | Sequence[PriorFactCheck]) -> str:
    failed = {row.reason or "–" for row in rows if row.status == "infra_error"}
    return "; ".join(sorted(failed)) or "none"
