"""The asset `claims`: the check-worthy statements of a video, localised to the second.

What belongs here: reading the transcript, calling the stage, metadata. What does not: how claims
are found (reasoners/) or localised (stages/).
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import dagster as dg

from factible_assets.config import ExtractionConfig, Reasoners
from factible_assets.pipeline.assets import common
from factible_assets.pipeline.launchpad import CLAIMS_SCHEMA
from factible_assets.pipeline.resources import CorporaResource, FactCheckServices, Occasion
from factible_assets.pipeline.warehouse import WarehouseResource
from factible_assets.records import Claim, LlmCall
from factible_assets.stages.claims import corrected_claims
from factible_assets.stages.flow import ClaimsResult, extract_claims
from factible_assets.stages.ports import Observer, ReasonerError, ReasonerOutageError
from factible_assets.stages.progress import LogObserver
from factible_assets.wording import cell, rows_table
from warehouse.bookkeeping import known_claims, read_actions, record_calls
from warehouse.rows import Stamp

CODE_VERSION = "8"


@common.video_asset(
    "claims",
    CODE_VERSION,
    "The check-worthy factual statements that the video makes, each with its importance for the "
    "video's thesis, its place in the transcript and its second in the video. Of a corpus of given "
    "claims, exactly those.",
    config_schema=CLAIMS_SCHEMA,
    deps=["transcripts"],
)
# Its checks are outputs too, and Dagster refuses one annotation for several outputs.
async def claims(  # type: ignore[no-untyped-def]
    context: dg.AssetExecutionContext,
    services: FactCheckServices,
    warehouse: WarehouseResource,
    observer: dg.ResourceParam[Observer],
    corpora: CorporaResource,
):
    """Extract the claims of one video from its transcript, or take those that its corpus gives.

    What reviewers made of them holds for either, and alone where the claims that stand are kept.
    """
    knobs = ExtractionConfig.model_validate(context.op_execution_context.op_config)
    store, video_id = warehouse.store(), context.partition_key
    with store.snapshot() as now:
        transcripts = common.stored(now, video_id, "transcripts")
        acts, ever = read_actions(now, video_id), known_claims(now, video_id)
        standing = now.read_current(Claim, video_id) if knobs.keep else []
    video, (transcript,) = transcripts.video, transcripts.transcripts

    def enter(calls: Sequence[LlmCall]) -> None:
        """Enter what was paid though nothing came of it."""
        stamp = Stamp(run_id=context.run.run_id, checked_at=datetime.now(UTC))
        record_calls(store, calls, stamp)

    def corrected(found: Sequence[Claim]) -> tuple[Claim, ...]:
        return corrected_claims(found, acts, ever, transcript, transcripts.segments)

    if knobs.keep:
        found = ClaimsResult(corrected(standing), (), 0.0)
    else:
        listed = corpora.read().find(video.video_id)
        stated = listed.given_claims if listed is not None else None
        async with services.open(
            observer=LogObserver(context.log, observer),
            occasion=Occasion(context.run.run_id, video.video_id, context.log),
            # Nobody is asked for claims that are given, so no key is needed either.
            reasoners=Reasoners(reasoner=knobs.reasoner if stated is None else "embedded"),
            web="archive",  # no web is needed, and this one leaves the machine alone
        ) as opened:
            try:
                found = await extract_claims(
                    video,
                    transcript,
                    transcripts.segments,
                    opened,
                    knobs,
                    given=stated,
                    corrected=corrected,
                )
            except ReasonerError as failure:
                enter(failure.calls)
                is_outage = isinstance(failure, ReasonerOutageError)
                what = "No claims could be extracted" if is_outage else "No claims were listed"
                again = is_outage and not (failure.lasting or common.is_last_try(context))
                raise dg.Failure(f"{what}: {failure.reason}", allow_retries=again) from failure
    common.tag_run(context, video, claims=len(found.claims))
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
    try:
        for result in common.kept("claims", CODE_VERSION, whole, found.seconds, metadata):
            yield result
    except dg.Failure:
        enter(found.llm_calls)
        raise
