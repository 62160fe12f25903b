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
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dagster import DagsterInstance, DagsterRun

import factible_assets
from factible_assets.assets import claims as claims_asset
from factible_assets.assets import transcripts as transcripts_asset
from factible_assets.config import FactCheckConfig
from factible_assets.corpora.reading import load_corpora
from factible_assets.records import Claim
from factible_assets.rows import Materialization
from factible_assets.services.reasoning import choose_reasoner, effort_of, plan_models
from factible_assets.settings import Settings
from factible_assets.stages.claims import corrected_claims
from factible_assets.stages.progress import ALL_STAGES
from warehouse.beside import read_actions
from warehouse.store import Warehouse

TRANSCRIPT_TAG = "factible/transcript_inputs"
CLAIMS_TAG = "factible/claims_inputs"


@dataclass(frozen=True, slots=True)
class Inputs:
    """Digests of what the transcript and the claims of a video come from."""

    transcript: str
    claims: str

    @property
    def tags(self) -> dict[str, str]:
        """The tags that a run with these inputs carries."""
        return {TRANSCRIPT_TAG: self.transcript, CLAIMS_TAG: self.claims}


@dataclass(frozen=True, slots=True)
class Standing:
    """What need not be done again. `stored_at` is when its newest part was stored.

    `transcript_run` and `claims_run` are the runs that did it; None for what must be done again.
    """

    transcript_run: str | None = None
    claims_run: str | None = None
    stored_at: datetime | None = None

    @property
    def assets(self) -> tuple[str, ...] | None:
        """The assets that are left to materialize; None for all of them."""
        if self.claims_run is not None:
            return ALL_STAGES
        return ("claims", *ALL_STAGES) if self.transcript_run is not None else None


def inputs_of(video_id: str, *, settings: Settings, config: FactCheckConfig) -> Inputs:
    """Digest what the transcript and the claims of a video would come from now.

    Raises:
        SetupError: The reasoner or its model cannot be chosen.
    """
    listed = load_corpora(settings.corpus_folders).find(video_id)
    entry = listed.video.model_dump(mode="json") if listed else None
    if listed is None or listed.transcript is None:
        words: list[Any] = [list(settings.languages), settings.translate]
    else:
        try:
            words = [hashlib.sha256(listed.transcript.read_bytes()).hexdigest()]
        except OSError:
            # The run will say what is wrong with the file.
            words = ["unreadable"]
    transcript = _digest([transcripts_asset.CODE_VERSION, video_id, entry, *words])
    reasoner: list[Any] = ["embedded"]
    if choose_reasoner(config.reasoner, settings).kind == "llm":
        model, effort = plan_models(settings).stages["claims"], effort_of(settings, "claims")
        reasoner = ["llm", model.provider, model.name, *([effort] if effort else [])]
    version = [factible_assets.__version__, claims_asset.CODE_VERSION]
    knobs = config.claims.model_dump(mode="json")
    return Inputs(transcript, _digest([transcript, *version, knobs, *reasoner]))


def inputs_tags(run: DagsterRun | None) -> dict[str, str]:
    """Return the tags of a run that say what its transcript and claims come from.

    A run that made none of them has the tags of none.
    """
    tags = run.tags if run else {}
    return {tag: tags.get(tag, "") for tag in (TRANSCRIPT_TAG, CLAIMS_TAG)}


def standing(
    video_id: str, inputs: Inputs, *, settings: Settings, instance: DagsterInstance
) -> Standing:
    """Find out what of an earlier check of a video still stands."""
    if not settings.warehouse.exists():
        return Standing()
    store = Warehouse(settings.warehouse)
    transcript = store.current_materialization("transcripts", video_id)
    if transcript is None or not _is_of(instance, transcript, TRANSCRIPT_TAG, inputs.transcript):
        return Standing()
    claims = store.current_materialization("claims", video_id)
    # Claims that are older than the transcript were found in another one.
    is_usable = (
        claims is not None
        and claims.row_count > 0
        and claims.checked_at >= transcript.checked_at
        and _is_of(instance, claims, CLAIMS_TAG, inputs.claims)
        # What reviewers have changed since is made of them when they are found anew.
        and not claims_wait(store, video_id)
    )
    if claims is None or not is_usable:
        return Standing(transcript.run_id, None, transcript.checked_at)
    return Standing(transcript.run_id, claims.run_id, claims.checked_at)


def claims_wait(store: Warehouse, video_id: str) -> bool:
    """Tell whether reviewers made something of a video's claims that is not stored yet."""
    claims = store.read_current(Claim, video_id)
    corrected = corrected_claims(claims, read_actions(store, video_id), {}, None, ())
    return {each.text for each in corrected} != {each.text for each in claims}


def _is_of(instance: DagsterInstance, stored: Materialization, tag: str, digest: str) -> bool:
    run = instance.get_run_by_id(stored.run_id)
    return run is not None and run.tags.get(tag) == digest


def _digest(value: list[Any]) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
