"""The asset `claims`: the check-worthy statements of a video, localised to the second.

The step `claim_checks` makes it, and checks the first claims while it still looks for others.
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
    said: VideoRows,
    found: ClaimsResult,
    said_before: int,
) -> Iterator[dg.MaterializeResult[Any] | dg.AssetCheckResult]:
    """Store the claims of a video, and yield the results with their metadata.

    `said_before` counts those that were said before in other videos.

    Raises dagster.Failure: A row breaks a rule, so no claim is stored, only the cost of the calls.
    """
    video, claims = said.video, found.claims
    whole = replace(said, claims=claims, llm_calls=found.llm_calls)
    thesis = next((claim.thesis for claim in claims if claim.thesis), None)
    metadata = {
        "claims": dg.MetadataValue.md(rows_table("claims", video=video, claims=claims)),
        "count": len(claims),
        "found by": ", ".join(sorted({claim.basis for claim in claims})) or "–",
        "located in the transcript": sum(claim.char_start is not None for claim in claims),
        "left out, more than max_claims": found.left_out,
        "refused, because they were not said like that": found.refused,
        **({"thesis": dg.MetadataValue.md(f"> {cell(thesis)}")} if thesis else {}),
        "said before in other videos": said_before,
        "seconds": round(found.seconds, 3),
        **common.usage_metadata(found.llm_calls),
    }
    try:
        yield from common.stored_rows(
            context, store, "claims", CODE_VERSION, whole, found.seconds, metadata
        )
    except dg.Failure:
        _record_cost(context, store, found.llm_calls)
        raise


def record_said_before(store: Warehouse, video_id: str, claims: Sequence[Claim]) -> int:
    """Record which claims were said before in other videos; return how many. Blocking."""
    # Vectors load slowly, and loading the definitions must not need them.
    from factible_assets.services.said_before import matches_of

    others = bookkeeping.claims_sharing_words(
        store, [each.text for each in claims], without=video_id
    )
    matches = matches_of(others)
    ids = {each.text: each.claim_id for each in claims}
    now = datetime.now(UTC)
    rows = [
        {
            "video_id": video_id,
            "claim_id": ids[each.claim],
            "other_claim_id": each.other_claim_id,
            "similarity": each.similarity,
            "relation": each.relation,
            "matched_at": now,
        }
        for each in matches
    ]
    store.write_rows({"claim_matches": rows}, replacing=("video_id", video_id))
    return len({each.claim for each in matches})


def failed_extraction(
    context: dg.AssetExecutionContext, store: Warehouse, failure: ReasonerError
) -> dg.Failure:
    """Record the model calls of a failed extraction, and return the failure of the step."""
    _record_cost(context, store, failure.calls)
    is_outage = isinstance(failure, ReasonerOutageError)
    what = "No claims could be extracted" if is_outage else "No claims were listed"
    again = is_outage and not (failure.lasting or common.is_last_try(context))
    return dg.Failure(f"{what}: {failure.reason}", allow_retries=again)


def _record_cost(
    context: dg.AssetExecutionContext, store: Warehouse, calls: Sequence[LlmCall]
) -> None:
    """Record model calls of a run that stores no claims."""
    stamp = Stamp(run_id=context.run.run_id, checked_at=datetime.now(UTC))
    bookkeeping.record_calls(store, calls, stamp)
