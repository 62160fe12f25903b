"""The asset `claims`: the check-worthy statements of a video, localised to the second."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import dagster as dg

from factible_assets.config import ExtractionConfig, Reasoners
from factible_assets.pipeline.assets import common
from factible_assets.pipeline.launchpad import CLAIMS_SCHEMA
from factible_assets.pipeline.resources import CorporaResource, FactCheckServices, RunContext
from factible_assets.pipeline.warehouse import WarehouseResource
from factible_assets.records.tables import Claim, LlmCall
from factible_assets.services.said_before import matches_of
from factible_assets.stages.claims import corrected_claims
from factible_assets.stages.flow import ClaimsResult, extract_claims
from factible_assets.stages.ports import Observer, ReasonerError, ReasonerOutageError
from factible_assets.stages.progress import LogObserver
from factible_assets.wording import cell, rows_table
from warehouse.bookkeeping import (
    claims_sharing_words,
    known_claims,
    read_actions,
    record_calls,
    record_matches,
)
from warehouse.rows import Stamp

CODE_VERSION = "8"


@common.video_asset(
    "claims",
    CODE_VERSION,
    "The check-worthy factual statements of the video, each with its importance for the video's "
    "thesis, its place in the transcript and its second in the video. If the corpus gives claims, "
    "exactly those.",
    kind="llm",
    config_schema=CLAIMS_SCHEMA,
    deps=["transcripts", "language_model", "corpus_files"],
)
# No return annotation: the checks are outputs too, and Dagster refuses one for several outputs.
async def claims(  # type: ignore[no-untyped-def]
    context: dg.AssetExecutionContext,
    services: FactCheckServices,
    warehouse: WarehouseResource,
    observer: dg.ResourceParam[Observer],
    corpora: CorporaResource,
):
    """Extract the claims of one video, or use those of its corpus or of the last run.

    Corrections by reviewers apply in each case.
    """
    options = ExtractionConfig.model_validate(context.op_execution_context.op_config)
    store, video_id = warehouse.store(), context.partition_key
    with store.snapshot() as now:
        transcripts = common.read_upstream(now, video_id, "transcripts")
        actions, known = read_actions(now, video_id), known_claims(now, video_id)
        current = now.read_current(Claim, video_id) if options.keep else []
    video, (transcript,) = transcripts.video, transcripts.transcripts

    def record_cost(calls: Sequence[LlmCall]) -> None:
        """Record model calls of a run that stores no claims."""
        stamp = Stamp(run_id=context.run.run_id, checked_at=datetime.now(UTC))
        record_calls(store, calls, stamp)

    def corrected(found: Sequence[Claim]) -> tuple[Claim, ...]:
        return corrected_claims(found, actions, known, transcript, transcripts.segments)

    if options.keep:
        found = ClaimsResult(corrected(current), (), 0.0)
    else:
        listed = corpora.read().find(video.video_id)
        given = listed.given_claims if listed is not None else None
        async with services.open(
            observer=LogObserver(context.log, observer),
            run=RunContext(context.run.run_id, video.video_id, context.log),
            # Given claims need no model, so they must not need a key.
            reasoners=Reasoners(reasoner=options.reasoner if given is None else "embedded"),
            web="archive",  # Claims need no web, and the archive opens no connection.
        ) as opened:
            try:
                found = await extract_claims(
                    video,
                    transcript,
                    transcripts.segments,
                    opened,
                    options,
                    given=given,
                    corrected=corrected,
                )
            except ReasonerError as failure:
                record_cost(failure.calls)
                is_outage = isinstance(failure, ReasonerOutageError)
                what = "No claims could be extracted" if is_outage else "No claims were listed"
                again = is_outage and not (failure.lasting or common.is_last_try(context))
                raise dg.Failure(f"{what}: {failure.reason}", allow_retries=again) from failure
    common.tag_run(context, video)
    whole = replace(transcripts, claims=found.claims, llm_calls=found.llm_calls)
    thesis = next((claim.thesis for claim in found.claims if claim.thesis), None)
    located = sum(claim.char_start is not None for claim in found.claims)
    metadata = {
        "claims": dg.MetadataValue.md(rows_table("claims", video=video, claims=found.claims)),
        "count": len(found.claims),
        "found by": ", ".join(sorted({claim.basis for claim in found.claims})) or "–",
        "located in the transcript": located,
        "left out, more than max_claims": found.left_out,
        "refused, because they were not said like that": found.refused,
        **({"thesis": dg.MetadataValue.md(f"> {cell(thesis)}")} if thesis else {}),
        "seconds": round(found.seconds, 3),
        **common.usage_metadata(found.llm_calls),
    }
    matches = matches_of(
        claims_sharing_words(store, [each.text for each in found.claims], without=video_id)
    )
    ids = {each.text: each.claim_id for each in found.claims}
    record_matches(
        store,
        video_id,
        [
            {
                "claim_id": ids[each.claim],
                "other_claim_id": each.other_claim_id,
                "similarity": each.similarity,
                "relation": each.relation,
                "matched_at": datetime.now(UTC),
            }
            for each in matches
        ],
    )
    metadata["said before in other videos"] = len(matches)
    try:
        results = common.checked_results("claims", CODE_VERSION, whole, found.seconds, metadata)
        for result in results:
            yield result
    except dg.Failure:
        record_cost(found.llm_calls)
        raise
