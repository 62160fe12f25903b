"""Computes the keys of stages. Variants whose keys of a stage are equal share its computation.

A key is a hash of everything that affects the stage: the options of a variant, and what no variant
sets, such as the transcript, the models, the content of the web and the code. The live web changes
from hour to hour; its content is the list of providers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from factible_assets.config import FactCheckConfig, Reasoners
from factible_assets.records.rows import VideoRows
from factible_assets.runs.experiments.plan import STAGES
from factible_assets.runs.experiments.variant_services import VariantServices
from factible_assets.services.models import JUDGEMENTS
from factible_assets.services.ratings import rating_files
from factible_assets.services.search import search_names
from factible_assets.settings import Settings
from factible_assets.stages.ports import ClaimDrafts
from factible_assets.stages.urls import canonical_url
from resources import errors as client_errors
from resources.models.base import read_receipt
from resources.storage.archive import Archive

_STAGE_OF_SECTION: Mapping[str, str] = {
    "claims": "claims",
    "queries": "queries",
    "search": "search_hits",
    "evidence": "evidence",
    "verdicts": "verdicts",
    "strategy": "queries",
    "budget": "queries",
}
"""The first stage that a section of config.py, or the strategy, affects."""

_PACKAGE = Path(__file__).parents[2]
_CODE_FOLDERS = (
    _PACKAGE / "stages",
    _PACKAGE / "strategies",
    _PACKAGE / "reasoners",
    Path(client_errors.__file__).parent,
)


class StageKeys:
    """Computes stage keys. It reads the content of webs and rating sets once per experiment."""

    def __init__(self, settings: Settings) -> None:
        self._ratings = _digest_of(rating_files(settings))
        self._content_of = cache(lambda web: _web_content(web, settings))

    def of(
        self,
        config: FactCheckConfig,
        transcript: VideoRows,
        choice: VariantServices,
        given: ClaimDrafts | None = None,
    ) -> dict[str, str]:
        """Return the keys of the transcript and of every stage; the corpus may give the claims."""
        web = self._content_of(choice.web)
        makers = dict.fromkeys(STAGES, f"{web} {self._ratings}")
        home, folder = choice.settings.home, choice.settings.prompt_files
        receipts = {name: read_receipt(home, name) for name in ("reader", "nli")}
        commits = {
            name: receipt.commit for name, receipt in receipts.items() if receipt is not None
        }
        prompts = None if folder is None else _digest_of(folder.glob("*.md"))
        for stage in JUDGEMENTS:
            if stage in choice.models:
                # The version of the project's own prompts is part of the code's.
                model = (choice.models[stage], choice.settings.reasoning_effort, prompts)
                makers[stage] = " ".join(filter(None, model))
            else:
                makers[stage] = f"{choice.made_by[stage]} {commits}"
        makers["evidence"] = f"{makers['evidence']}\n{web}"
        given_words = ""
        if given is not None:
            makers["claims"], given_words = "given", f"\n{given.claims!r}"
        # No stage sees the other columns.
        video = transcript.video.model_dump(mode="json", exclude={"tags", "notes", "corpus"})
        content_hash = transcript.transcripts[0].content_hash
        subject = f"{json.dumps(video, sort_keys=True)}\n{content_hash}{given_words}"
        keys = stage_keys(config, subject=subject, makers=makers, code=code_version())
        return {"transcripts": content_hash, **keys}


def stage_keys(
    config: FactCheckConfig, *, subject: str, makers: Mapping[str, str], code: str
) -> dict[str, str]:
    """Return the key of every stage.

    A key covers the options of its stage and, through the key before it, those of earlier stages.
    `subject` is the content of the video and its transcript; `makers` name what answers in a stage:
    reasoner, model, web, rating sets; `code` is the version of the code. The option `auto` counts
    as the reasoner that it chooses.
    """
    keys: dict[str, str] = {}
    before = f"{code}\n{subject}"
    options = config.model_dump(
        mode="json", exclude={**dict.fromkeys(Reasoners.model_fields, True), "search": {"web"}}
    )
    for stage in STAGES:
        # An unknown section may affect every stage.
        of_stage = {
            section: values
            for section, values in options.items()
            if _STAGE_OF_SECTION.get(section, STAGES[0]) == stage
        }
        content = [stage, before, makers.get(stage, ""), of_stage]
        before = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
        keys[stage] = before
    return keys


def _web_content(web: str, settings: Settings) -> str:
    if web == "live":
        parts = [*search_names(settings), settings.pages, settings.browser]
        return f"live {' '.join(parts)}"
    if web == "miniature":
        folder = settings.project_corpora / "miniature_web"
        return f"miniature {_digest_of(folder.rglob('*'))}"
    if web == "annotated":
        folders = settings.corpus_folders
        return (
            f"annotated {_digest_of(path for folder in folders for path in folder.rglob('*.yaml'))}"
        )
    # Opening the archive would create it, and a dry run creates nothing.
    exists = settings.archive.exists()
    versions = Archive(settings.archive, canonicalise=canonical_url).versions() if exists else {}
    name = web.partition(":")[2]
    content = {name: versions.get(name)} if name else versions
    return f"archive {json.dumps(content, sort_keys=True)}"


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
