"""Chooses the services of a variant, and obtains the transcripts of an experiment's videos."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import dagster as dg

from factible_assets.config import Reasoners
from factible_assets.corpora.reading import CorporaReading
from factible_assets.pipeline.assets.transcripts import listed_video, obtain_transcript
from factible_assets.records.rows import VideoRows
from factible_assets.runs.experiments.plan import ExperimentError, Variant, settings_of
from factible_assets.services import reasoning
from factible_assets.services.models import JUDGEMENTS, plan_models
from factible_assets.services.search import NO_LIVE_SEARCH, search_names
from factible_assets.services.web import choose_web
from factible_assets.settings import Settings
from resources.errors import SetupError
from warehouse.store import Warehouse


@dataclass(frozen=True, slots=True)
class VariantServices:
    """The services of one variant on one video, as its options and the settings choose them.

    `made_by` names the reasoner of each stage, and `models` the provider and model of each stage
    that a language model answers. `web` is live, miniature, archive or archive:NAME, never auto.
    `missing` are sentences about services that are not set up.
    """

    settings: Settings
    reasoners: Reasoners
    made_by: Mapping[str, str]
    models: Mapping[str, str]
    web: str
    missing: tuple[str, ...]


def choose(variant: Variant, settings: Settings, corpus_web: str | None) -> VariantServices:
    """Choose the services of a variant. Raises SetupError: A model is unknown."""
    changed, missing = settings_of(variant.values, settings), []
    reasoners, options = variant.reasoners, variant.config
    verdicts = "llm" if options.verdicts_by == "llm" else "template"
    made_by = dict.fromkeys(JUDGEMENTS, "llm") | {"verdicts": verdicts}
    by_llm: Collection[str] = JUDGEMENTS
    try:
        choices = reasoning.choose_reasoners(reasoners, changed)
        made_by, by_llm = choices.model_dump(include={*JUDGEMENTS}), choices.asks_llm
        reasoning.fitting_strategy(options.strategy, reasoners, changed)
    except SetupError as error:
        missing.append(str(error))
    stages = plan_models(changed).stages if by_llm else {}
    models = {
        stage: f"{info.provider}/{info.name}" for stage, info in stages.items() if stage in by_llm
    }
    providers = search_names(settings)
    web = choose_web(options.search.web, corpus_web, settings.web, live_ready=bool(providers))
    if web == "live" and not providers:
        missing.append(f"The variant {variant.name} looks at the live web, and {NO_LIVE_SEARCH}")
    return VariantServices(changed, reasoners, made_by, models, web, tuple(missing))


async def transcript_of(
    video_id: str, corpora: CorporaReading, settings: Settings, file: Path
) -> VideoRows:
    """Return the rows of a video's transcript; from YouTube, if it is not here.

    Raises ExperimentError: It cannot be obtained.
    """
    known = await local_transcript(video_id, corpora, settings, file)
    return known or await _obtained(video_id, corpora, settings)


async def local_transcript(
    video_id: str, corpora: CorporaReading, settings: Settings, file: Path
) -> VideoRows | None:
    """Return the rows of a video's transcript; None if only YouTube has it.

    The production warehouse comes first, then the file that a corpus names, then the transcript
    in the experiment's `file`.

    Raises ExperimentError: The file cannot be read.
    """
    listed = corpora.find(video_id)
    has_file = listed is not None and listed.transcript is not None
    for store in (Warehouse(settings.warehouse), *([] if has_file else [Warehouse(file)])):
        if store.connector.exists():
            stored = await asyncio.to_thread(store.read_video, video_id, ["transcripts"])
            if stored.sets:
                return stored
    return await _obtained(video_id, corpora, settings) if has_file else None


async def _obtained(video_id: str, corpora: CorporaReading, settings: Settings) -> VideoRows:
    try:
        video = listed_video(corpora, video_id)
        rows, _ = await obtain_transcript(video, corpora, lambda: settings)
    except dg.Failure as failure:
        words = f"The transcript of {video_id} could not be obtained."
        raise ExperimentError(failure.description or words) from failure
    return rows
