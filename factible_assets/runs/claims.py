"""Reads the claims of a checked video, with the corrections and opinions of reviewers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from factible_assets.errors import FactibleError
from factible_assets.records import tables as records
from factible_assets.records.rows import VideoRows
from factible_assets.runs.targets import unchecked
from factible_assets.settings import Settings
from factible_assets.stages import reviews
from factible_assets.stages.claims import corrected_claims
from factible_assets.stages.ids import claim_id
from factible_assets.wording import plain
from resources.files import digest
from resources.statements import statements
from resources.transcripts.youtube_ids import bare_id
from warehouse.bookkeeping import known_claims, read_actions
from warehouse.store import Warehouse

_SQL = statements("factible_assets.runs", "questions.sql")
_SHORTEST_PREFIX = 4


@dataclass(frozen=True, slots=True)
class ClaimFile:
    """A claim with the reviewers' changes applied, and the stored `rows` of its video.

    Attributes:
        claims: The ids of all claims of the video.
        number: From 1, the most important claim first, and dropped or split ones last.
        verdict: The verdict on its present wording; None if there is none yet.
        queries: The queries of the next check.
        actions: All actions on it, also under its former wordings.
        gone: The action that dropped or split it.
    """

    rows: VideoRows
    settings: Settings
    claims: frozenset[str]
    claim: records.Claim
    number: int = 0
    verdict: records.Verdict | None = None
    queries: tuple[records.Query, ...] = ()
    sources: tuple[records.Evidence, ...] = ()
    actions: tuple[records.ReviewAction, ...] = ()
    corrections: reviews.Corrections = reviews.NO_CORRECTIONS
    gone: records.ReviewAction | None = None

    @property
    def video_id(self) -> str:
        return self.rows.video.video_id

    @property
    def version(self) -> str:
        """The version of the claim for forms that change it."""
        return claim_version(self.claim, self.actions, self.verdict)

    @property
    def ruling(self) -> records.ReviewAction | None:
        """The ruling on its present wording."""
        return reviews.latest("sign", self.actions, self.claim.claim_id)

    @property
    def assigned_to(self) -> str | None:
        act = reviews.latest("assign", self.actions)
        return act.value if act else None

    @property
    def in_force(self) -> tuple[records.ReviewAction, ...]:
        """The actions on sources and on the claim that hold now, and the newest opinions."""
        made = self.corrections
        acts = (
            *(*made.sources.values(), *made.stances.values(), *made.ratings.values()),
            self.gone,
            reviews.latest("assign", self.actions),
            reviews.latest("assess", self.actions, self.claim.claim_id),
            self.ruling,
        )
        return tuple(act for act in acts if act is not None)


def open_video(video: str, settings: Settings) -> list[ClaimFile]:
    """Return the claims of a checked video, the most important first.

    Raises FactibleError: Nothing is stored about the video, or it has no claims.
    """
    video_id = bare_id(video)
    if not settings.warehouse.exists():
        raise unchecked(video_id, settings)
    with Warehouse(settings.warehouse).snapshot() as now:
        rows, actions = now.read_judged(video_id), read_actions(now, video_id)
        known = known_claims(now, video_id)
    if not rows.videos:
        raise unchecked(video_id, settings)
    corrections, acts = reviews.corrections_by_claim(actions), reviews.by_claim(actions)
    in_force = reviews.claims_in_force(actions)
    claims = corrected_claims(rows.claims, actions, known, rows.transcript, rows.segments)
    worded = {
        key: bare_claim(video_id, rewording.text) for key, rewording in in_force.worded.items()
    } | known
    gone = (worded.get(key) for key in in_force.gone)
    verdict_of = rows.verdict_of
    files: list[ClaimFile] = []
    for claim in (*claims, *filter(None, gone)):
        key = claim.claim_id
        corrected = corrections.get(key, reviews.NO_CORRECTIONS)
        queries = [query for query in rows.queries if query.claim_id == key]
        queries.sort(key=lambda query: query.rank)
        files.append(
            ClaimFile(
                rows=rows,
                settings=settings,
                claims=frozenset(claim.claim_id for claim in claims),
                claim=claim,
                number=len(files) + 1,
                verdict=verdict_of.get(key),
                queries=reviews.corrected_queries(claim, queries, corrected),
                sources=tuple(row for row in rows.evidence if row.claim_id == key),
                actions=tuple(acts.get(key, ())),
                corrections=corrected,
                gone=in_force.gone.get(key),
            )
        )
    if not files:
        raise FactibleError(
            f"No claims of the video {plain(video_id, 120)} are stored.",
            f"Check it first: factible check -- {plain(video_id, 120)}",
        )
    return files


def claim_version(
    claim: records.Claim, acts: Sequence[records.ReviewAction], verdict: records.Verdict | None
) -> str:
    """Return the version of a claim for forms that change it: `{number of acts}-{hash}`.

    It covers the claim's words, all acts of reviewers, and the verdict as the last check stored it.
    It leaves out the rank, because the video's other claims decide it too.
    """
    stored = verdict.model_dump_json(exclude={"rank"}) if verdict else ""
    ids = (act.action_id for act in acts)
    return f"{len(acts)}-{digest(chr(0).join((claim.text, stored, *ids)).encode())}"


def bare_claim(video_id: str, words: str) -> records.Claim:
    """Return a claim that a reviewer worded."""
    return records.Claim(
        claim_id=claim_id(video_id, words),
        video_id=video_id,
        rank=1,
        text=words,
        importance=1.0,
        extraction_confidence=1.0,
        basis="reviewer",
    )


def open_claim(video: str, claim: str, settings: Settings) -> ClaimFile:
    """Return one claim of a checked video. Raises FactibleError: See open_video and find_claim."""
    return find_claim(open_video(video, settings), claim)


def find_claim(files: Sequence[ClaimFile], claim: str) -> ClaimFile:
    """Return the claim with a number, or with the beginning of its current or a former id.

    Raises FactibleError: There is no such claim, or more than one.
    """
    if claim.isdecimal() and len(claim) < _SHORTEST_PREFIX:
        matching = [file for file in files if file.number == int(claim)]
    else:
        matching = [
            file for file in files if any(claim_id.startswith(claim) for claim_id in ids_of(file))
        ]
    if len(matching) != 1:
        raise FactibleError(
            f"{'Several claims begin with' if matching else 'The video has no claim'} "
            f"{plain(claim, 80)!r}; it has {len(files)}, numbered from 1.",
            f"factible review -- {files[0].video_id} lists them.",
        )
    return matching[0]


def ids_of(file: ClaimFile) -> set[str]:
    """Return the current and all former ids of a claim."""
    return {file.claim.claim_id, *(act.claim_id for act in file.actions)}


def read_history(video: str, claim: str | None, settings: Settings) -> list[dict[str, Any]]:
    """Return the actions on a video, or on one of its claims, in order."""
    files = [open_claim(video, claim, settings)] if claim else open_video(video, settings)
    history = Warehouse(settings.warehouse).rows(
        _SQL["review_history"], {"video": files[0].video_id}
    )
    action_ids = {act.action_id for file in files for act in file.actions}
    return [row for row in history if not claim or row["action_id"] in action_ids]
