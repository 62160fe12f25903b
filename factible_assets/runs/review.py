"""Records the changes of reviewers, and checks their claims again."""

from __future__ import annotations

import getpass
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from filelock import FileLock, Timeout

from factible_assets.errors import ExitCode, FactibleError
from factible_assets.records import tables as records
from factible_assets.runs.changes import Change, actions_of, new_claim, refuse, valid_text
from factible_assets.runs.claims import ClaimFile, find_claim, ids_of, open_video
from factible_assets.runs.result import Checked, StoredVideo
from factible_assets.runs.targets import unchecked
from factible_assets.settings import Settings
from factible_assets.stages import reviews
from factible_assets.stages.ids import claim_id
from factible_assets.stages.progress import ALL_STAGES
from factible_assets.wording import plain
from warehouse.bookkeeping import read_actions
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from factible_assets.runs.check import Say
    from factible_assets.runs.launch import Watch

_LOCK_SECONDS = 60
_UNVERSIONED: frozenset[records.ReviewKind] = frozenset({"note", "add_claim"})
"""Changes that decide nothing about the claim, so an outdated form may record them."""


@dataclass(frozen=True, slots=True)
class Reviewed:
    """The result of recording actions and of checking the claim again.

    `claims` are the ids of the resulting claims: several if it was split. `others` counts the other
    claims of the video. `run_id` is None if there was no check; `waits` tells whether one is due.
    """

    checked: Checked
    actions: Sequence[records.ReviewAction]
    claims: tuple[str, ...]
    others: int
    remarks: tuple[str, ...]
    run_id: str | None
    waits: bool
    code: ExitCode


def reviewer_name(option: str | None, settings: Settings) -> str:
    """Return the reviewer's name: of the option, else of the settings, else of the login.

    Raises FactibleError: The name is empty or too long, or there is none.
    """
    name = option if option is not None else settings.reviewer
    if name is None:
        try:
            name = getpass.getuser()
        except (KeyError, OSError) as error:
            raise FactibleError(
                "Your login has no name.", "Give yours: --reviewer NAME, or FACTIBLE_REVIEWER."
            ) from error
    return valid_reviewer(name)


def valid_reviewer(name: str) -> str:
    """Return a name on one line. Raises FactibleError: It is empty or too long."""
    return valid_text(name, "The name of a reviewer")


@contextmanager
def review_lock(settings: Settings) -> Iterator[None]:
    """Exclude other reviewers between the validation of a change and its recording.

    Raises FactibleError: Others took too long.
    """
    try:
        with FileLock(settings.home / ".review.lock", timeout=_LOCK_SECONDS):
            yield
    except Timeout as error:
        raise FactibleError(
            "Other reviewers are recording changes at the moment.", "Try again."
        ) from error


class OutdatedClaimError(FactibleError):
    """Somebody else has changed the claim since the caller read it. Nothing was recorded."""

    def __init__(self, video_id: str) -> None:
        super().__init__(
            "Somebody else has changed this claim in the meantime; nothing was recorded.",
            f"Look at it again: factible review -- {video_id}",
        )


def record(
    video: str,
    claim: str,
    changes: Sequence[Change],
    reviewer: str,
    settings: Settings,
    *,
    reason: str | None = None,
    seen: str | None = None,
) -> tuple[ClaimFile, Sequence[records.ReviewAction]]:
    """Validate changes against the current state of a claim, and store them.

    `seen` is the version of the claim that the reviewer saw. Returns the claim before the changes,
    and the actions.

    Raises OutdatedClaimError: The claim has another version, and a change depends on it.
    Raises FactibleError: There is no such claim, or a change is invalid.
    """
    added = next((change.text or "" for change in changes if change.kind == "add_claim"), None)
    with review_lock(settings):
        files = open_video(video, settings)
        file = find_claim(files, claim) if added is None else new_claim(files, added)
        if file.version != seen and any(change.kind not in _UNVERSIONED for change in changes):
            raise OutdatedClaimError(file.video_id)
        actions = actions_of(file, changes, reviewer, reason)
        Warehouse(settings.warehouse).write_rows({"review_actions": actions})
    return file, actions


def choose_claims(
    video: str,
    texts: Iterable[str],
    reviewer: str,
    settings: Settings,
    rewords: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Record which of the found claims of a video a reviewer wants to check, and in which words.

    Found claims whose words are not in `texts` are dropped, and texts that are no found claim are
    added. `rewords` has the id of the found claim that a text rewords, by text. The text is added
    instead if that claim stays as well or is gone.

    Raises FactibleError: Nothing is stored about the video, or a text is no valid claim.
    """
    with review_lock(settings):
        files = open_video(video, settings)
        video_id = files[0].video_id
        found = {file.claim.claim_id: file for file in files if file.gone is None}
        wanted = {claim_id(video_id, plain(text)): plain(text) for text in texts}
        refuse(not wanted, "No claim was chosen.", "Choose or add at least one.")
        new = [text for wanted_id, text in wanted.items() if wanted_id not in found]
        replaceable = found.keys() - wanted.keys()
        reworded = {rewords[new_id]: new_id for new_id in new if rewords.get(new_id) in replaceable}
        # Other punctuation leaves the id of a claim as it was.
        reworded |= {
            found_id: wanted[found_id]
            for found_id, file in found.items()
            if rewords.get(wanted.get(found_id, "")) == found_id
            and wanted[found_id] != plain(file.claim.text)
        }
        changes: list[tuple[ClaimFile, Change]] = []
        for found_id, file in found.items():
            if found_id in reworded:
                changes.append((file, Change("reword_claim", reworded[found_id])))
            elif found_id not in wanted:
                change = Change("drop_claim", reason="Not chosen for the check.")
                changes.append((file, change))
        changes += [
            (new_claim(files, text), Change("add_claim", text))
            for text in new
            if text not in reworded.values()
        ]
        actions = [
            each for file, one in changes for each in actions_of(file, [one], reviewer, None)
        ]
        Warehouse(settings.warehouse).write_rows({"review_actions": actions})


def carry_out(
    file: ClaimFile,
    changes: Sequence[Change],
    reviewer: str,
    *,
    reason: str | None = None,
    rerun: bool | None,
    watch: Watch,
    say: Say,
) -> Reviewed:
    """Record changes, and check the claim again.

    `rerun` tells whether to check it; None means: if the changes affect its check.

    Raises FactibleError: A change is invalid, a run is checking the video, somebody else has
    changed the claim since the caller read `file`, or the user stopped the run.
    """
    affects_check = any(change.kind not in reviews.OPINIONS for change in changes)
    is_rerun = affects_check if rerun is None else rerun
    settings = file.settings
    if is_rerun:
        actions_of(file, changes, reviewer, reason)  # Refuse invalid changes before Dagster loads.
        from factible_assets.pipeline.run_records import refuse_busy  # noqa: PLC0415
        from factible_assets.runs.instance import open_instance  # noqa: PLC0415

        remedy = "Wait until that run has ended, or record without a check: --no-rerun."
        with open_instance(settings) as instance:
            refuse_busy(instance, [file.video_id], remedy)
    actions: Sequence[records.ReviewAction] = ()
    if changes:
        claim = file.video_id, file.claim.claim_id
        _, actions = record(*claim, changes, reviewer, settings, reason=reason, seen=file.version)
    ids, new_check = _resulting_claims(file), None
    if is_rerun:
        tags = {"reviewer": reviewer} if actions else {}
        new_check = check_again(file, ids, watch=watch, say=say, tags=tags)
    checked = new_check
    if new_check is None or new_check.failures:  # A check with failures publishes nothing.
        stored = StoredVideo(file.video_id, settings).result(publish=True)
        checked = new_check or stored
    if checked is None:
        raise unchecked(file.video_id, settings)
    code = ExitCode.DONE
    if checked.failures:
        code = checked.code
    elif is_rerun and checked.incomplete.intersection(ids):
        code = ExitCode.INCOMPLETE
    return Reviewed(
        checked,
        actions,
        ids or (file.claim.claim_id,),
        len(checked.data.claims) - len(ids),
        _unused_blocks(file, actions),
        new_check.run_id if new_check else None,
        waits=affects_check and (new_check is None or bool(new_check.failures)),
        code=code,
    )


def _unused_blocks(file: ClaimFile, actions: Sequence[records.ReviewAction]) -> tuple[str, ...]:
    """Return a sentence on each newly blocked domain that has no source of the claim."""
    hosts = {urlsplit(row.canonical_url).hostname or "" for row in file.sources}
    blocked = (act.target or "" for act in actions if act.action == "block_source")
    return tuple(
        f"The claim has no source from {plain(domain, 120)} so far. Later checks leave out its "
        "pages."
        for domain in blocked
        if "://" not in domain and not any(f".{host}".endswith(f".{domain}") for host in hosts)
    )


def _resulting_claims(file: ClaimFile) -> tuple[str, ...]:
    """Return the current ids of a claim: of its newest wording, or of its parts."""
    files, ids = open_video(file.video_id, file.settings), {file.claim.claim_id}
    for claim_file in files:
        if claim_file.gone and claim_file.gone.action == "split_claim" and ids & ids_of(claim_file):
            ids |= {
                claim_id(file.video_id, part) for part in (claim_file.gone.value or "").splitlines()
            }
    return tuple(
        claim_file.claim.claim_id
        for claim_file in files
        if not claim_file.gone and ids & ids_of(claim_file)
    )


def check_again(
    file: ClaimFile,
    claims: Sequence[str],
    *,
    watch: Watch,
    say: Say = lambda _: None,
    run_id: str | None = None,
    tags: Mapping[str, str] = MappingProxyType({}),
) -> Checked:
    """Check a claim, or the `claims` (ids) made of it, with the config of its last check.

    Raises FactibleError: See `run_video`.
    """
    from factible_assets.pipeline.schedules import last_options, recheck_config  # noqa: PLC0415 - Dagster
    from factible_assets.runs.instance import open_instance  # noqa: PLC0415 - Dagster
    from factible_assets.runs.launch import run_video  # noqa: PLC0415 - Dagster
    from factible_assets.runs.reusable import INPUT_TAGS, has_pending_corrections  # noqa: PLC0415 - Dagster

    settings = file.settings
    with Warehouse(settings.warehouse).snapshot() as now, open_instance(settings) as instance:
        has_pending = has_pending_corrections(
            now.read_current(records.Claim, file.video_id), read_actions(now, file.video_id)
        )
        stored = now.current_sets(file.video_id).get("claims")
        extraction = instance.get_run_by_id(stored.run_id) if stored else None
        last = last_options(now, instance, file.video_id)
    ids = claims or [file.claim.claim_id]
    config = recheck_config(last, say=say, renew=False, only_claims=ids)
    # The run stores the claims of the last extraction again, so it carries the same input tags.
    inputs = {tag: extraction.tags.get(tag, "") if extraction else "" for tag in INPUT_TAGS}
    return run_video(
        StoredVideo(file.video_id, settings),
        config=config,
        watch=watch,
        assets=("claims", *ALL_STAGES) if has_pending else ALL_STAGES,
        tags={"claim": ids[0], **tags, **inputs},
        run_id=run_id,
        remedy="Your changes are recorded; factible review VIDEO CLAIM --rerun checks the claim.",
    )
