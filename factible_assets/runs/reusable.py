"""Decides which stored results of a video the next run can reuse instead of repeating.

A run can reuse the stored transcript and claims if their inputs have not changed: the video's entry
in its corpus, the content of its transcript file, the options and the model of the claims, the
code. Each run carries digests of these inputs as tags. The caches keep the answers of later stages.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal, TypeAlias

from dagster import DagsterInstance

from factible_assets.config import FactCheckConfig
from factible_assets.corpora.reading import CorpusVideo
from factible_assets.pipeline.assets import claims as claims_asset
from factible_assets.pipeline.assets import transcripts as transcripts_asset
from factible_assets.pipeline.run_records import options_of_run
from factible_assets.records.rows import Materialization
from factible_assets.records.tables import Claim, ReviewAction
from factible_assets.report.data import ReportData
from factible_assets.runs.result import StoredVideo
from factible_assets.services.models import plan_models
from factible_assets.services.reasoning import choose_reasoners
from factible_assets.settings import Settings
from factible_assets.stages.claims import corrected_claims
from factible_assets.stages.progress import ALL_STAGES
from factible_assets.version import VERSION
from factible_assets.wording import counted
from resources.errors import SetupError

INPUT_TAGS = TRANSCRIPT_TAG, CLAIMS_TAG = "factible/transcript_inputs", "factible/claims_inputs"

Reuse: TypeAlias = Literal["nothing", "claims", "verdicts", "same"]
"""How much of earlier runs a run may reuse. `claims` includes the transcript, `verdicts` is any
finished check, and `same` is one with the same inputs and options."""


def input_tags(video: StoredVideo, config: FactCheckConfig) -> dict[str, str]:
    """Return digests of the current inputs of a video's transcript and claims, as tags of a run.

    Empty if the reasoner or its model is not set up; the run reports that.
    """
    settings, listed = video.settings, video.listed()
    entry = listed.video.model_dump(mode="json") if listed else None
    source = _transcript_source(listed, settings)
    transcript = _digest([transcripts_asset.CODE_VERSION, video.video_id, entry, *source])
    reasoner: list[Any] = ["embedded"]
    try:
        if choose_reasoners(config, settings).claims == "llm":
            model, effort = plan_models(settings).stages["claims"], settings.reasoning_effort
            reasoner = ["llm", model.provider, model.name, *([effort] if effort else [])]
    except SetupError:
        return {}
    version = [VERSION, claims_asset.CODE_VERSION]
    options = config.claims.model_dump(mode="json")
    claims = _digest([transcript, *version, options, *reasoner])
    return {TRANSCRIPT_TAG: transcript, CLAIMS_TAG: claims}


def _transcript_source(listed: CorpusVideo | None, settings: Settings) -> list[Any]:
    """Return the digest of the transcript's file, else the inputs of the search for one."""
    if listed is not None and listed.transcript is not None:
        try:
            return [hashlib.sha256(listed.transcript.read_bytes()).hexdigest()]
        except OSError:
            return ["unreadable"]  # the run reports the error
    source: list[Any] = list(settings.languages)
    if listed is not None:
        source += filter(None, (listed.entry.transcript_url, listed.entry.recording_url))
        with suppress(OSError):  # They identify a recording without reading it.
            media = listed.media.stat() if listed.media else None
            source += [media.st_size, media.st_mtime] if media else []
    return source


def find_reusable(
    stored: ReportData | None,
    instance: DagsterInstance,
    tags: Mapping[str, str],
    reuse: Reuse,
    config: FactCheckConfig,
) -> tuple[Sequence[str] | None, str]:
    """Compare the stored results of a video with its current `input_tags` and options.

    Returns the assets that a run still has to materialize (None: all), and a sentence for the user.
    """
    if stored is None:
        return None, ""
    if reuse == "verdicts" and stored.is_finished:
        return (), ""
    assets, remark = _with_same_inputs(stored, instance, tags) if tags else (None, "")
    if reuse != "same":
        return assets, remark
    current = config.model_dump(mode="json", exclude_none=True)
    last = options_of_run(instance, stored.run_id)
    # `last` lacks the options of the claims, which the input tags cover.
    is_same = last is not None and {**current, **last} == current
    is_whole = assets == ALL_STAGES and stored.is_finished
    return () if is_whole and is_same else None, ""


def _with_same_inputs(
    stored: ReportData, instance: DagsterInstance, tags: Mapping[str, str]
) -> tuple[Sequence[str] | None, str]:
    def has_same_inputs(result: Materialization | None, tag: str) -> bool:
        run = instance.get_run_by_id(result.run_id) if result else None
        return run is not None and run.tags.get(tag) == tags[tag]

    transcript, claims = map(stored.sets.get, ("transcripts", "claims"))
    if transcript is None or not has_same_inputs(transcript, TRANSCRIPT_TAG):
        return None, ""
    if (
        claims is None
        or not claims.row_count
        # These claims come from an older transcript.
        or claims.checked_at < transcript.checked_at
        or not has_same_inputs(claims, CLAIMS_TAG)
        # Extraction applies the reviewers' corrections.
        or has_pending_corrections(stored.claims, stored.reviews)
    ):
        when = f"{transcript.checked_at:%Y-%m-%d %H:%M} UTC"
        remark = f"Going on with the transcript of {when}; --force asks for it again."
        return ("claims", *ALL_STAGES), remark
    return ALL_STAGES, (
        f"Going on with the transcript and the {counted(len(stored.claims), 'claim')} of "
        f"{claims.checked_at:%Y-%m-%d %H:%M} UTC: their inputs have not changed. --force "
        "extracts them again."
    )


def has_pending_corrections(claims: Sequence[Claim], actions: Iterable[ReviewAction]) -> bool:
    """Tell whether reviewers changed claims in a way that the stored claims do not show yet."""
    corrected = corrected_claims(claims, list(actions), {}, None, ())
    return {claim.text for claim in corrected} != {claim.text for claim in claims}


def _digest(value: list[Any]) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
