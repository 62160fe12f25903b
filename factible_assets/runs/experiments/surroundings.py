"""The services, models, web and code behind an experiment, and its transcripts.

All of these affect a stage's result although no variant sets them, so they are part of the stage's
key. The live web changes from hour to hour; its key is the list of providers.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import dagster as dg

from factible_assets.config import FactCheckConfig, Reasoners
from factible_assets.corpora.reading import CorporaReading
from factible_assets.pipeline.assets.transcripts import listed_video, obtain_transcript
from factible_assets.records.rows import VideoRows
from factible_assets.runs.experiments.plan import (
    STAGES,
    ExperimentError,
    Variant,
    settings_of,
    stage_keys,
)
from factible_assets.services import reasoning
from factible_assets.services.models import JUDGEMENTS, plan_models
from factible_assets.services.ratings import rating_files
from factible_assets.services.search import NO_LIVE_SEARCH, search_names
from factible_assets.services.web import choose_web
from factible_assets.settings import Settings
from factible_assets.stages.ports import ClaimDrafts
from factible_assets.stages.urls import canonical_url
from resources import errors as client_errors
from resources.errors import SetupError
from resources.models.base import read_receipt
from resources.storage.archive import Archive
from warehouse.store import Warehouse

_PACKAGE = Path(__file__).parents[2]
_CODE_FOLDERS = (
    _PACKAGE / "stages",
    _PACKAGE / "strategies",
    _PACKAGE / "reasoners",
    Path(client_errors.__file__).parent,
)


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
    own, missing = settings_of(variant.values, settings), []
    reasoners, options = variant.reasoners, variant.config
    verdicts = "llm" if options.verdicts_by == "llm" else "template"
    made_by = dict.fromkeys(JUDGEMENTS, "llm") | {"verdicts": verdicts}
    asked: Collection[str] = JUDGEMENTS
    try:
        choices = reasoning.choose_reasoners(reasoners, own)
        made_by, asked = choices.model_dump(include={*JUDGEMENTS}), choices.asks_llm
        reasoning.fitting_strategy(options.strategy, reasoners, own)
    except SetupError as error:
        missing.append(str(error))
    stages = plan_models(own).stages if asked else {}
    models = {
        stage: f"{model.provider}/{model.name}" for stage, model in stages.items() if stage in asked
    }
    names = search_names(settings)
    web = choose_web(options.search.web, corpus_web, settings.web, live_ready=bool(names))
    if web == "live" and not names:
        missing.append(f"The variant {variant.name} looks at the live web, and {NO_LIVE_SEARCH}")
    return VariantServices(own, reasoners, made_by, models, web, tuple(missing))


class StageKeys:
    """Computes stage keys. It reads the content of webs and rating sets once per experiment."""

    def __init__(self, settings: Settings) -> None:
        self._ratings = _digest_of(rating_files(settings))
        self._content_of = cache(lambda web: _web_content(web, settings))

    def of(
        self,
        config: FactCheckConfig,
        said: VideoRows,
        choice: VariantServices,
        given: ClaimDrafts | None = None,
    ) -> dict[str, str]:
        """Return the key of the transcript and of every stage; claims may be `given`."""
        web = self._content_of(choice.web)
        makers = dict.fromkeys(STAGES, f"{web} {self._ratings}")
        home = choice.settings.home
        pulled = {name: read_receipt(home, name) for name in ("reader", "nli")}
        commits = {name: receipt.commit for name, receipt in pulled.items() if receipt is not None}
        folder = choice.settings.prompt_files
        prompts = None if folder is None else _digest_of(folder.glob("*.md"))
        for stage in JUDGEMENTS:
            if stage in choice.models:
                # The version of the project's own prompts is part of the code's.
                named = (choice.models[stage], choice.settings.reasoning_effort, prompts)
                makers[stage] = " ".join(filter(None, named))
            else:
                makers[stage] = f"{choice.made_by[stage]} {commits}"
        makers["evidence"] = f"{makers['evidence']}\n{web}"
        stated = ""
        if given is not None:
            makers["claims"], stated = "given", f"\n{given.claims!r}"
        # No stage sees the other columns.
        seen = said.video.model_dump(mode="json", exclude={"tags", "notes", "corpus"})
        words = said.transcripts[0].content_hash
        subject = f"{json.dumps(seen, sort_keys=True)}\n{words}{stated}"
        keys = stage_keys(config, subject=subject, makers=makers, code=code_version())
        return {"transcripts": words, **keys}


def _web_content(web: str, settings: Settings) -> str:
    if web == "live":
        asked = [*search_names(settings), settings.pages, settings.browser]
        return f"live {' '.join(asked)}"
    if web == "miniature":
        folder = settings.project_corpora / "miniature_web"
        return f"miniature {_digest_of(folder.rglob('*'))}"
    if web == "annotated":
        folders = settings.corpus_folders
        return f"annotated {_digest_of(path for each in folders for path in each.rglob('*.yaml'))}"
    # Opening the archive would create it, and a dry run creates nothing.
    stored = settings.archive.exists()
    held = Archive(settings.archive, canonicalise=canonical_url).collections() if stored else {}
    name = web.partition(":")[2]
    shown = {name: held.get(name, 0)} if name else held
    return f"archive {json.dumps(shown, sort_keys=True)}"


@cache
def code_version() -> str:
    """Return a digest of the code of stages, reasoners (with prompts) and clients.

    Unlike a version number it changes with every edit.
    """
    files = (path for folder in _CODE_FOLDERS for path in folder.rglob("*"))
    return _digest_of(path for path in files if path.suffix in {".py", ".md", ".yaml", ".sql"})


def _digest_of(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(files):
        if path.is_file():
            digest.update(f"{path.name}\x1f".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


async def transcript_of(
    video_id: str, corpora: CorporaReading, settings: Settings, own: Path, *, fetch: bool = True
) -> VideoRows | None:
    """Return the rows of a video's transcript; None if only YouTube has it and `fetch` is off.

    The production warehouse comes first, then the file that a corpus names, then the transcript
    that the experiment's `own` file keeps, then YouTube.

    Raises ExperimentError: It cannot be obtained.
    """
    listed = corpora.find(video_id)
    has_file = listed is not None and listed.transcript is not None
    for store in (Warehouse(settings.warehouse), *([] if has_file else [Warehouse(own)])):
        if store.connector.exists():
            read = store.read_video
            stored = await asyncio.to_thread(read, video_id, ["transcripts"])
            if stored.sets:
                return stored
    if not (has_file or fetch):
        return None
    try:
        video = listed_video(corpora, video_id)
        rows, _ = await obtain_transcript(video, corpora, lambda: settings)
    except dg.Failure as failure:
        words = f"The transcript of {video_id} could not be obtained."
        raise ExperimentError(failure.description or words) from failure
    return rows
