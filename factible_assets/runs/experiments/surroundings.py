"""What a machine adds to an experiment: who answers, from which web, by which code, to which words.

What belongs here: naming everything that changes an answer and is no knob, so that work is shared
and continued only where it would come out the same; in which order transcripts are looked for. What
does not: the choice of services (services/), obtaining transcripts (the transcripts asset, whose
functions are used here), the keys (plan.py).

The live web changes from hour to hour; its name is who is asked. What it answered within one
experiment is shared and kept, so that variants that ask the same are compared over the same web.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import dagster as dg

import factible_assets
from factible_assets.config import FactCheckConfig, Reasoners
from factible_assets.corpora.reading import CorporaReading
from factible_assets.pipeline.assets.transcripts import obtained, video_or_failure
from factible_assets.records import Transcript, Video
from factible_assets.rows import VideoRows
from factible_assets.runs.experiments.plan import STAGES, Variant, settings_of, stage_keys
from factible_assets.services import reasoning
from factible_assets.services.search import NO_LIVE_SEARCH, search_names
from factible_assets.services.web import choose_web
from factible_assets.settings import Settings
from factible_assets.stages.ports import ClaimDrafts
from factible_assets.stages.urls import canonical_url
from resources import errors as client_errors
from resources.archive.store import Archive
from resources.errors import SetupError
from resources.models.base import read_receipt
from warehouse.store import Warehouse

_PACKAGE = Path(factible_assets.__file__).parent
_CODE_FOLDERS = (
    _PACKAGE / "stages",
    _PACKAGE / "strategies",
    _PACKAGE / "reasoners",
    Path(client_errors.__file__).parent,
)
_NEVER_AN_ANSWER = {"tags", "notes", "corpus"}
"""What is known of a video and shown to no stage."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Who answers for one variant and video: what the knobs and the settings come to."""

    settings: Settings
    reasoners: Reasoners
    """What the variant asks for."""
    made_by: Mapping[str, str]
    """Who makes each judgement, by stage: embedded, plain, labels, template, llm and so on."""
    models: Mapping[str, str]
    """Provider and model of each stage that a language model answers."""
    web: str
    """live, miniature, archive or archive:NAME; never auto."""
    missing: tuple[str, ...]
    """What the run would be refused for, in sentences with the remedy."""


def choose(variant: Variant, settings: Settings, corpus_web: str | None) -> Choice:
    """Settle who answers, and what of that is not set up.

    Raises SetupError: A model is not known.
    """
    own, missing = settings_of(variant.values, settings), []
    wishes, knobs = variant.reasoners, variant.config
    choices = None
    try:
        choices = reasoning.choose_reasoners(wishes, own)
        reasoning.fitting_strategy(knobs.strategy, wishes, own)
    except SetupError as error:
        missing.append(str(error))
    asked = reasoning.STAGES if choices is None else choices.asks_llm
    stages = reasoning.plan_models(own).stages if asked else {}
    models = {
        stage: f"{model.provider}/{model.name}" for stage, model in stages.items() if stage in asked
    }
    names = search_names(settings)
    web = choose_web(knobs.search.web, corpus_web, settings.web, live_ready=bool(names))
    if web == "live" and not names:
        missing.append(f"The variant {variant.name} looks at the live web, and {NO_LIVE_SEARCH}")
    if choices is None:
        own_words = "llm" if knobs.verdicts_by == "llm" else "template"
        made_by = {**dict.fromkeys(reasoning.STAGES, "llm"), "verdicts": own_words}
    else:
        made_by = {stage: getattr(choices, stage) for stage in reasoning.STAGES}
    return Choice(own, wishes, made_by, models, web, tuple(missing))


class Surroundings:
    """The machine of one experiment; what does not change while it runs is read once."""

    def __init__(self, settings: Settings) -> None:
        self._ratings = _digest_of(settings.rating_sets)
        self._content_of = cache(lambda web: _web_content(web, settings))

    def keys(
        self,
        config: FactCheckConfig,
        video: Video,
        transcript: Transcript,
        choice: Choice,
        given: ClaimDrafts | None = None,
    ) -> dict[str, str]:
        """Return the keys of all stages on this video under this choice.

        Claims that are given are part of the subject, and nobody's answer.
        """
        said = video.model_dump(mode="json", exclude=_NEVER_AN_ANSWER)
        web = self._content_of(choice.web)
        makers = dict.fromkeys(STAGES, f"{web} {self._ratings}")
        home = choice.settings.home
        pulled = {name: read_receipt(home, name) for name in ("reader", "nli", "nli-base")}
        commits = {name: receipt.commit for name, receipt in pulled.items() if receipt is not None}
        for stage in reasoning.STAGES:
            if stage in choice.models:
                # Its prompt is a file among the code.
                named = (choice.models[stage], choice.settings.reasoning_effort)
                makers[stage] = " ".join(filter(None, named))
            else:
                makers[stage] = f"{choice.made_by[stage]} {commits}"
        makers["evidence"] = f"{makers['evidence']}\n{web}"
        stated = ""
        if given is not None:
            makers["claims"], stated = "given", f"\n{given.claims!r}"
        subject = f"{json.dumps(said, sort_keys=True)}\n{transcript.content_hash}{stated}"
        return stage_keys(config, subject=subject, makers=makers, code=code_version())


def _web_content(web: str, settings: Settings) -> str:
    if web == "live":
        asked = [*search_names(settings), settings.pages, settings.browser]
        return f"live {' '.join(asked)} robots={settings.robots} wayback={settings.wayback}"
    if web == "miniature":
        folder = settings.project_corpora / "miniature_web"
        return f"miniature {_digest_of(folder.rglob('*'))}"
    # Opening the archive would create it, and a dry run creates nothing.
    stored = settings.archive.exists()
    held = Archive(settings.archive, canonicalise=canonical_url).collections() if stored else {}
    name = web.partition(":")[2]
    shown = {name: held.get(name, 0)} if name else held
    return f"archive {json.dumps(shown, sort_keys=True)}"


@cache
def code_version() -> str:
    """Return a digest of the code that answers: stages, reasoners with their prompts, clients.

    A version number would not do: an answer must not outlive an edit to the rule that gave it.
    """
    files = (
        path
        for folder in _CODE_FOLDERS
        for path in folder.rglob("*")
        if path.suffix in {".py", ".md", ".yaml", ".sql"}
    )
    return _digest_of(files)


def _digest_of(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(files):
        if path.is_file():
            digest.update(f"{path.name}\x1f".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


# --- What is said in the videos ------------------------------------------------------------------


class NoWordsError(Exception):
    """A transcript cannot be obtained. The message is a sentence with the remedy."""


async def words_of(
    video_id: str, corpora: CorporaReading, settings: Settings, own: Path, *, asks: bool = True
) -> VideoRows | None:
    """Return the rows of the transcript; None if YouTube is to be asked and nobody `asks`.

    What production stored comes first, then the file that a corpus names, then what the
    experiment's own file keeps of an earlier question to YouTube.

    Raises NoWordsError: It cannot be obtained.
    """
    listed = corpora.find(video_id)
    has_file = listed is not None and listed.transcript is not None
    for place in (settings.warehouse, *([] if has_file else [own])):
        if place.exists():
            read = Warehouse(place).read_video
            stored = await asyncio.to_thread(read, video_id, ["transcripts"])
            if stored.sets:
                return stored
    if not (has_file or asks):
        return None
    try:
        rows, _ = await obtained(video_or_failure(corpora, video_id), corpora, lambda: settings)
    except dg.Failure as failure:
        raise NoWordsError(
            failure.description or f"The transcript of {video_id} could not be obtained."
        ) from failure
    return rows
