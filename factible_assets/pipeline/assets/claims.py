"""Stores the asset `claims`: the check-worthy statements of a video, located in the transcript.

The step `claim_checks` finds them, and checks the first ones while it still looks for others.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import dagster as dg

from factible_assets.pipeline.assets import common
from factible_assets.records.rows import VideoRows
from factible_assets.records.tables import Claim, LlmCall
from factible_assets.stages.flow import ClaimsResult
from factible_assets.stages.ports import ReasonerError, ReasonerOutageError
from factible_assets.wording import cell, rows_table
from warehouse import bookkeeping
from warehouse.rows import Stamp
from warehouse.store import Warehouse

CODE_VERSION = "8"


def stored_claims(
    context: dg.AssetExecutionContext,
    store: Warehouse,
    upstream: VideoRows,
    result: ClaimsResult,
    said_before: int,
) -> Iterator[dg.MaterializeResult[Any] | dg.AssetCheckResult]:
    """Store the claims of a video, and yield Dagster's results with their metadata.

    `said_before` is the number of claims that other videos made before.

    Raises dagster.Failure: A row breaks a rule, so no claim is stored, only the cost of the calls.
    """
    video, claims = upstream.video, result.claims
    whole = replace(upstream, claims=claims, llm_calls=result.llm_calls)
    thesis = next((claim.thesis for claim in claims if claim.thesis), None)
    metadata = {
        "claims": dg.MetadataValue.md(rows_table("claims", video=video, claims=claims)),
        "count": len(claims),
        "found by": ", ".join(sorted({claim.basis for claim in claims})) or "–",
        "located in the transcript": sum(claim.char_start is not None for claim in claims),
        "left out, more than max_claims": result.left_out,
        "refused, because they were not said like that": result.refused,
        **({"thesis": dg.MetadataValue.md(f"> {cell(thesis)}")} if thesis else {}),
        "said before in other videos": said_before,
        "seconds": round(result.seconds, 3),
        **common.usage_metadata(result.llm_calls),
    }
    try:
        yield from common.stored_rows(
            context, store, "claims", CODE_VERSION, whole, result.seconds, metadata
        )
    except dg.Failure:
        _record_cost(context, store, result.llm_calls)
        raise


def record_said_before(store: Warehouse, video_id: str, claims: Sequence[Claim]) -> int:
    """Store the matches with claims of other videos; return how many claims have one. Blocking."""
    # Vectors load slowly, and loading the definitions must not need them.
    from factible_assets.services.said_before import matches_of

    texts = [claim.text for claim in claims]
    matches = matches_of(bookkeeping.claims_sharing_words(store, texts, without=video_id))
    ids = {claim.text: claim.claim_id for claim in claims}
    now = datetime.now(UTC)
    rows = [
        {
            "video_id": video_id,
            "claim_id": ids[match.claim],
            "other_claim_id": match.other_claim_id,
            "similarity": match.similarity,
            "relation": match.relation,
            "matched_at": now,
        }
        for match in matches
    ]
    store.write_rows({"claim_matches": rows}, replacing=("video_id", video_id))
    return len({match.claim for match in matches})


def failed_extraction(
    context: dg.AssetExecutionContext, store: Warehouse, failure: ReasonerError
) -> dg.Failure:
    """Record the model calls of a failed extraction, and return the failure of the step."""
    _record_cost(context, store, failure.calls)
    is_outage = isinstance(failure, ReasonerOutageError)
    problem = "No claims could be extracted" if is_outage else "No claims were listed"
    retry = is_outage and not (failure.lasting or common.is_last_try(context))
    return dg.Failure(f"{problem}: {failure.reason}", allow_retries=retry)


def _record_cost(
    context: dg.AssetExecutionContext, store: Warehouse, calls: Sequence[LlmCall]
) -> None:
    """Record model calls of a run that stores no claims."""
    stamp = Stamp(run_id=context.run.run_id, checked_at=datetime.now(UTC))
    bookkeeping.record_calls(store, calls, stamp)
