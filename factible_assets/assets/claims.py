"""The asset `claims`: the check-worthy statements of a video, localised to the second.

What belongs here: reading the transcript, calling the stage, metadata. What does not: how claims
are found (reasoners/) or localised (stages/).
"""

from collections.abc import Sequence
from datetime import UTC, datetime

import dagster as dg

from factible_assets.assets.common import (
    GROUP,
    KINDS,
    OWNERS,
    RETRIES,
    definition_metadata,
    is_last_try,
    tag_run,
    usage_metadata,
)
from factible_assets.checks.structural import judged, structural_specs
from factible_assets.config import ClaimsConfig, ExtractionConfig, FactCheckConfig
from factible_assets.launchpad import CLAIMS_SCHEMA, settled
from factible_assets.partitions import videos
from factible_assets.records import Claim, LlmCall, Video
from factible_assets.rows import VideoRows
from factible_assets.services.resource import CorporaResource, FactCheckServices, Occasion
from factible_assets.stages.flow import ClaimsResult, extract_claims
from factible_assets.stages.integrity import JudgedRows
from factible_assets.stages.observers import LogObserver, Watchers
from factible_assets.stages.ports import Observer, ReasonerOutageError, ReasonerRefusalError
from factible_assets.stages.reviewed_claims import corrected_claims
from factible_assets.wording import cell, claims_table
from warehouse.calls import record_calls
from warehouse.resource import WarehouseResource
from warehouse.reviews import known_claims, read_actions
from warehouse.rows import Stamp, data_version
from warehouse.sets import AssetRows

CODE_VERSION = "3"


@dg.asset(
    name="claims",
    partitions_def=videos,
    group_name=GROUP,
    config_schema=CLAIMS_SCHEMA,
    code_version=CODE_VERSION,
    owners=OWNERS,
    kinds=KINDS,
    retry_policy=RETRIES,
    metadata=definition_metadata("claims"),
    check_specs=structural_specs("claims"),
    description=(
        "The check-worthy factual statements that the video makes, each with its importance for "
        "the video's thesis, its place in the transcript and its second in the video. Of a corpus "
        "of given claims, exactly those."
    ),
)
# Its checks are outputs too, and Dagster refuses one annotation for several outputs.
async def claims(  # type: ignore[no-untyped-def]
    context: dg.AssetExecutionContext,
    services: FactCheckServices,
    warehouse: WarehouseResource,
    observer: dg.ResourceParam[Observer],
    corpora: CorporaResource,
    transcripts: VideoRows,
):
    """Extract the claims of one video from its transcript, or take those that its corpus gives.

    What reviewers made of them holds for either, and alone where the claims that stand are kept.
    """
    video, (transcript,) = transcripts.video, transcripts.transcripts
    given = settled(ExtractionConfig, context.op_execution_context.op_config)
    knobs = FactCheckConfig(
        claims=ClaimsConfig.model_validate(given.model_dump(exclude={"reasoner", "keep"})),
        reasoner=given.reasoner,
    )

    store = warehouse.store()
    acts, ever = read_actions(store, video.video_id), known_claims(store, video.video_id)

    def keep(calls: Sequence[LlmCall]) -> None:
        """Enter what was paid though nothing came of it."""
        stamp = Stamp(run_id=context.run.run_id, checked_at=datetime.now(UTC))
        record_calls(store, calls, stamp)

    def corrected(found: Sequence[Claim]) -> tuple[Claim, ...]:
        return corrected_claims(found, acts, ever, transcript, transcripts.segments)

    if given.keep:
        found = ClaimsResult(corrected(store.read_current(Claim, video.video_id)), (), 0.0)
    else:
        listed = corpora.read().find(video.video_id)
        stated = listed.given_claims if listed is not None else None
        async with services.open(
            observer=Watchers(LogObserver(context.log), observer),
            occasion=Occasion(context.run.run_id, video.video_id, context.log),
            # Nobody is asked for claims that are given, so no key is needed either.
            reasoner=knobs.reasoner if stated is None else "embedded",
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
            except ReasonerOutageError as outage:
                keep(outage.calls)
                sentence = f"No claims could be extracted: {outage.reason}"
                again = not (outage.lasting or is_last_try(context))
                raise dg.Failure(sentence, allow_retries=again) from outage
            except ReasonerRefusalError as refusal:
                keep(refusal.calls)
                sentence = f"No claims were listed: {refusal.reason}"
                raise dg.Failure(sentence, allow_retries=False) from refusal
    tag_run(context, video, claims=len(found.claims))
    rows = AssetRows(
        rows=[*found.claims, *found.llm_calls],
        code_version=CODE_VERSION,
        duration_seconds=found.seconds,
    )
    all_rows = JudgedRows(
        **transcripts.parts() | {"claims": found.claims, "llm_calls": found.llm_calls}
    )
    checks = judged(["claims"], all_rows)
    if checks.refusal is not None:
        keep(found.llm_calls)
        for result in checks.results.values():
            yield result
        raise checks.refusal
    yield dg.MaterializeResult(
        value=rows,
        check_results=[checks.results["claims"]],
        data_version=dg.DataVersion(data_version(rows.rows)),
        metadata=_metadata(video, found),
    )


def _metadata(video: Video, found: ClaimsResult) -> dict[str, dg.MetadataValue]:
    thesis = next((claim.thesis for claim in found.claims if claim.thesis), None)
    located = sum(claim.char_start is not None for claim in found.claims)
    return {
        "claims": dg.MetadataValue.md(claims_table(video, found.claims)),
        "count": dg.MetadataValue.int(len(found.claims)),
        "located in the transcript": dg.MetadataValue.int(located),
        "refused, because they say more than was said": dg.MetadataValue.int(found.refused),
        "thesis": dg.MetadataValue.md(f"> {cell(thesis)}" if thesis else "–"),
        "seconds": dg.MetadataValue.float(round(found.seconds, 3)),
        **usage_metadata(found.llm_calls),
    }
