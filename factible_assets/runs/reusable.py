"""What of an earlier check still stands, so that the next one need not do it again.

What belongs here: whether the stored transcript and claims of a video come from what they would
come from now. What does not: the stages after them, whose answers are kept by the caches
(resources/cache), running (launch.py).

A check that was interrupted, that failed or that is wanted with other knobs goes on from the claims
that are stored, if nothing that they come from has changed since: the video's entry in its corpus,
the words of its transcript file, the knobs and the model of the claims, the code. Every run carries
digests of these as tags; claims of a run without them are never taken over.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from dagster import DagsterInstance

import factible_assets
from factible_assets.config import FactCheckConfig
from factible_assets.corpora.reading import load_corpora
from factible_assets.pipeline.assets import claims as claims_asset
from factible_assets.pipeline.assets import transcripts as transcripts_asset
from factible_assets.records import Claim
from factible_assets.rows import Materialization
from factible_assets.services.reasoning import choose_reasoners, effort_of, plan_models
from factible_assets.settings import Settings
from factible_assets.stages.claims import corrected_claims
from factible_assets.stages.progress import ALL_STAGES
from resources.errors import SetupError
from warehouse.bookkeeping import read_actions
from warehouse.store import Warehouse

INPUT_TAGS = TRANSCRIPT_TAG, CLAIMS_TAG = "factible/transcript_inputs", "factible/claims_inputs"


@dataclass(frozen=True, slots=True)
class Standing:
    """What need not be done again: the `assets` that are left; None for all of them.

    `stored_at` is when the newest part of what stands was stored. `claims` are those that stand;
    None if they are to be found anew.
    """

    assets: tuple[str, ...] | None = None
    stored_at: datetime | None = None
    claims: Sequence[Claim] | None = None


def input_tags(video_id: str, settings: Settings, config: FactCheckConfig) -> dict[str, str]:
    """Digest what the transcript and the claims of a video would come from now, as a run's tags.

    Empty where the reasoner or its model cannot be chosen: the run says what is not set up.
    """
    listed = load_corpora(settings.corpus_folders).find(video_id)
    entry = listed.video.model_dump(mode="json") if listed else None
    if listed is None or listed.transcript is None:
        words: list[Any] = [list(settings.languages), settings.translate]
        if listed is not None:
            words += filter(None, (listed.entry.transcript_url, listed.entry.recording_url))
            words += _state_of(listed.media)
    else:
        try:
            words = [hashlib.sha256(listed.transcript.read_bytes()).hexdigest()]
        except OSError:
            # The run will say what is wrong with the file.
            words = ["unreadable"]
    transcript = _digest([transcripts_asset.CODE_VERSION, video_id, entry, *words])
    reasoner: list[Any] = ["embedded"]
    try:
        if choose_reasoners(config, settings).claims == "llm":
            model, effort = plan_models(settings).stages["claims"], effort_of(settings, "claims")
            reasoner = ["llm", model.provider, model.name, *([effort] if effort else [])]
    except SetupError:
        return {}
    version = [factible_assets.__version__, claims_asset.CODE_VERSION]
    knobs = config.claims.model_dump(mode="json")
    claims = _digest([transcript, *version, knobs, *reasoner])
    return {TRANSCRIPT_TAG: transcript, CLAIMS_TAG: claims}


def still_standing(
    video_id: str, instance: DagsterInstance, *, settings: Settings, config: FactCheckConfig
) -> Standing:
    """Find out what of an earlier check of a video need not be done again."""
    tags = input_tags(video_id, settings, config)
    if not tags or not settings.warehouse.exists():
        return Standing()

    def has_come(of: Materialization | None, tag: str) -> bool:
        run = instance.get_run_by_id(of.run_id) if of else None
        return run is not None and run.tags.get(tag) == tags[tag]

    with Warehouse(settings.warehouse).snapshot() as now:
        transcript, claims = map(now.current_sets(video_id).get, ("transcripts", "claims"))
        if transcript is None or not has_come(transcript, TRANSCRIPT_TAG):
            return Standing()
        # Claims that are older than the transcript were found in another one.
        if (
            claims is None
            or not claims.row_count
            or claims.checked_at < transcript.checked_at
            or not has_come(claims, CLAIMS_TAG)
            # What reviewers have changed since is made of them when they are found anew.
            or claims_wait(now, video_id)
        ):
            return Standing(("claims", *ALL_STAGES), transcript.checked_at)
        return Standing(ALL_STAGES, claims.checked_at, now.read_current(Claim, video_id))


def claims_wait(store: Warehouse, video_id: str) -> bool:
    """Tell whether reviewers made something of a video's claims that is not stored yet."""
    claims = store.read_current(Claim, video_id)
    corrected = corrected_claims(claims, read_actions(store, video_id), {}, None, ())
    return {each.text for each in corrected} != {each.text for each in claims}


def _state_of(media: Path | None) -> list[float]:
    """Return size and time of a recording, which tell it from another without reading it."""
    with suppress(OSError):
        return [media.stat().st_size, media.stat().st_mtime] if media else []
    return []


def _digest(value: list[Any]) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
