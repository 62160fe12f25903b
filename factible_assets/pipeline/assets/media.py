"""The asset `media`: hints about the pictures of a video. Optional."""

import time
from dataclasses import replace

import dagster as dg

from factible_assets.config import Reasoners
from factible_assets.pipeline.assets import common
from factible_assets.pipeline.resources import CorporaResource, FactCheckServices, RunContext
from factible_assets.pipeline.warehouse import WarehouseResource
from factible_assets.records.tables import Claim
from factible_assets.stages.media import examine
from factible_assets.stages.progress import LogObserver
from factible_assets.wording import cell, table
from resources.errors import SetupError

CODE_VERSION = "1"


@common.video_asset(
    "media",
    CODE_VERSION,
    "Optional: hints about the pictures of a video (its thumbnail, frames of a local file): other "
    "places that show them and since when, traces of editing, a deepfake score. Only the "
    "strategy agentic uses them for verdicts.",
    kind="image",
    deps=["transcripts"],
)
# No return annotation: the checks are outputs too, and Dagster refuses one for several outputs.
async def media(  # type: ignore[no-untyped-def]
    context: dg.AssetExecutionContext,
    services: FactCheckServices,
    warehouse: WarehouseResource,
    corpora: CorporaResource,
):
    from factible_assets.services.media import media_services, pictures_of
    from factible_assets.services.search import service_client

    started = time.perf_counter()
    video_id, settings = context.partition_key, services.settings()
    store = warehouse.store()
    with store.snapshot() as now:
        transcripts = common.read_upstream(now, video_id, "transcripts")
        claims = now.read_current(Claim, video_id)
    video = transcripts.video
    common.tag_run(context, video)
    listed = corpora.read().find(video.video_id)
    run = RunContext(context.run.run_id, video.video_id, context.log)
    async with (
        services.open(
            observer=LogObserver(context.log),
            run=run,
            reasoners=Reasoners(reasoner="embedded"),
            listed=listed,
        ) as opened,
        service_client(settings) as http,
    ):
        try:
            detectors = media_services(settings, http, opened.fetcher)
        except SetupError as error:
            raise common.final_failure(str(error)) from error
        pictures = pictures_of(video, listed.media if listed else None, settings, http)
        findings = await examine(video, pictures, claims, detectors)
    seconds = time.perf_counter() - started
    shown = [
        (row.picture, row.kind, row.match_class or "", cell(row.title or row.reason or "", 200))
        for row in findings
    ]
    metadata = {
        "findings": dg.MetadataValue.md(table(("picture", "about", "match", "found"), shown)),
        "pictures": len(pictures),
        "outcomes": common.counts_by([row.status for row in findings]),
    }
    whole = replace(transcripts, media=findings)
    for result in common.stored_rows(
        context, store, "media", CODE_VERSION, whole, seconds, metadata
    ):
        yield result
