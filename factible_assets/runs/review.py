"""Reviews of claims: validates a reviewer's changes, records them, and checks the claim again.

The effect of recorded actions on a check is in stages/reviews.py.
"""

from __future__ import annotations

import getpass
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, get_args
from urllib.parse import urlsplit

from filelock import FileLock, Timeout
from pydantic import ValidationError

from factible_assets.config import FactCheckConfig
from factible_assets.corpora.reading import load_corpora
from factible_assets.corpora.writing import bare_id
from factible_assets.errors import ExitCode, FactibleError
from factible_assets.records import tables as records
from factible_assets.records.rows import VideoRows
from factible_assets.records.scales import AVERITEC, FEVER, VERACITY, stance_of
from factible_assets.records.stances import STANCES
from factible_assets.runs.result import Checked, StoredVideo
from factible_assets.runs.targets import unchecked
from factible_assets.settings import Settings
from factible_assets.stages import reviews
from factible_assets.stages.claims import corrected_claims
from factible_assets.stages.ids import claim_id, query_id, review_action_id
from factible_assets.stages.progress import ALL_STAGES
from factible_assets.stages.search import is_the_video
from factible_assets.stages.urls import UnusableUrlError, canonical_url, host_of, public_suffix
from factible_assets.wording import STANCE_WORDS, plain
from resources.statements import statements
from warehouse.bookkeeping import known_claims, read_actions
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from factible_assets.runs.check import Say
    from factible_assets.runs.launch import Watch

_SQL = statements("factible_assets.runs", "questions.sql")

_LONGEST: Final[Mapping[str, int]] = {
    "A query": 400,
    "A claim": 500,
    "A part of the claim": 500,
    "A source": 2000,
    "A note": 4000,
    "A reason": 4000,
    "--reason": 4000,
    "The name of a person": 80,
    "The name of a reviewer": 80,
}
"""The most characters of each text that a reviewer writes."""

_REASONED: Final[Mapping[records.ReviewKind, tuple[str, str]]] = {
    "drop_claim": ("A dropped claim needs a reason.", "--reason TEXT"),
    "overrule_source": ("An overruled source needs a reason.", "--reason TEXT"),
    "sign": ("A ruling needs a text.", "--ruling TEXT"),
}

_NOTHING_TO_TAKE_BACK: Final[Mapping[records.ReviewKind, str]] = {
    "assign": "The claim is assigned to nobody.",
    "assess": "The claim as it is worded now has no assessment.",
    "sign": "The claim as it is worded now has no ruling.",
}

_JUDGING: frozenset[records.ReviewKind] = frozenset({"assess", "sign", "overrule_source"})
_SHORTEST_PREFIX = 4
_LOCK_SECONDS = 60

_SCALES: Final[Mapping[str, Mapping[str, records.Stance]]] = {
    "factible": {STANCE_WORDS[each].capitalize(): each for each in STANCES},
    "averitec": AVERITEC,
    "fever": FEVER,
    "veracity": VERACITY,
}


@dataclass(frozen=True, slots=True)
class Scale:
    """The labels of rulings, in their order, with the stance of each."""

    name: str
    labels: Mapping[str, records.Stance]

    def label(self, given: str) -> tuple[str, records.Stance]:
        """Return the scale's spelling of a label, and its stance. Raises FactibleError."""
        for label, stance in self.labels.items():
            try:
                return label, stance_of(given, {label: stance})
            except ValueError:
                continue
        raise FactibleError(
            f"{plain(given, 80)!r} is no ruling on the scale {self.name}.",
            f"Its rulings: {', '.join(self.labels)}.",
        )


def scale_named(name: str, corpora: Iterable[Path] = ()) -> Scale:
    """Return the scale `factible`, `averitec`, `fever` or `veracity`, or the labels of a corpus.

    Raises FactibleError: There is no such scale in the folders `corpora` either.
    """
    if name in _SCALES:
        return Scale(name, _SCALES[name])
    corpus = load_corpora(corpora).corpus(name)
    annotated = [claim for video in corpus.videos for claim in video.claims or ()] if corpus else []
    labels = {each.label: each.stance for each in annotated if each.label and each.stance}
    if not labels:
        raise FactibleError(
            f"There is no scale {plain(name, 80)!r} for rulings.",
            f"Set FACTIBLE_RULING_SCALE to {', '.join(_SCALES)}, or to a corpus whose claims are "
            "annotated with labels.",
        )
    return Scale(name, labels)


@dataclass(frozen=True, slots=True)
class Change:
    """A change that a reviewer asks for.

    Attributes:
        text: A query, a note, a claim (the parts of a split one, one per line), a source, a stance,
            a person, or the label of a ruling. `none` withdraws an assessment, a ruling, an
            overruling or an assignment.
        number: The number of a query, from 1, or its id.
        value: The stance or rating that overrules a source; of a note, the source that it is on.
        said: The words of the transcript behind an added claim.
        reason: The reason; of a ruling, its text.
    """

    kind: records.ReviewKind
    text: str | None = None
    number: int | str | None = None
    value: str | None = None
    said: str | None = None
    query_type: records.QueryType | None = None
    opposite: bool = False
    reason: str | None = None


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
        mine, own = self.corrections, self.claim.claim_id
        acts = (
            *(*mine.sources.values(), *mine.stances.values(), *mine.ratings.values()),
            *(
                self.gone,
                reviews.latest("assign", self.actions),
                reviews.latest("assess", self.actions, own),
            ),
            self.ruling,
        )
        return tuple(act for act in acts if act is not None)


@dataclass(frozen=True, slots=True)
class Reviewed:
    """The result of recording actions and of checking the claim again.

    `claims` are the ids of the resulting claims: several if it was split. `others` counts the other
    claims of the video. `run_id` is None if there was no check; `waits` tells whether one is due.
    """

    checked: Checked
    claims: tuple[str, ...]
    others: int
    remarks: tuple[str, ...]
    run_id: str | None
    waits: bool
    code: ExitCode


# --- Reading claims -----------------------------------------------------------------------------


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
    if not (rows.claims or actions):
        raise FactibleError(
            f"No claims of the video {plain(video_id, 120)} are stored.",
            f"Check it first: factible check -- {plain(video_id, 120)}",
        )
    corrections, acts = reviews.corrections_by_claim(actions), reviews.by_claim(actions)
    force = reviews.claims_in_force(actions)
    claims = corrected_claims(rows.claims, actions, known, rows.transcript, rows.segments)
    ever = {each: _bare_claim(video_id, mine.text) for each, mine in force.worded.items()} | known
    verdict_of = rows.verdict_of
    files: list[ClaimFile] = []
    for claim in (*claims, *(ever[each] for each in force.gone if each in ever)):
        own = claim.claim_id
        mine = corrections.get(own, reviews.NO_CORRECTIONS)
        asked = [query for query in rows.queries if query.claim_id == own]
        asked.sort(key=lambda query: query.rank)
        files.append(
            ClaimFile(
                rows=rows,
                settings=settings,
                claims=frozenset(each.claim_id for each in claims),
                claim=claim,
                number=len(files) + 1,
                verdict=verdict_of.get(own),
                queries=reviews.corrected_queries(claim, asked, mine),
                sources=tuple(row for row in rows.evidence if row.claim_id == own),
                actions=tuple(acts.get(own, ())),
                corrections=mine,
                gone=force.gone.get(own),
            )
        )
    return files


def new_claim(video: str, text: str, settings: Settings) -> ClaimFile:
    """Return a claim that a Change `add_claim` can add to a checked video.

    Raises FactibleError: Nothing is stored about the video, it has this claim, or `text` is empty.
    """
    words = _valid_text(text, "A claim")
    files = open_video(video, settings)
    first, claim = files[0], _bare_claim(files[0].video_id, words)
    _refuse(
        claim.claim_id in first.claims,
        f"The video makes the claim {plain(words, 80)!r} already.",
        f"factible review -- {first.video_id} lists its claims.",
    )
    acts = (act for file in files for act in file.actions if act.claim_id == claim.claim_id)
    return ClaimFile(first.rows, settings, first.claims, claim, actions=tuple(acts))


def _bare_claim(video_id: str, words: str) -> records.Claim:
    return records.Claim(
        claim_id=claim_id(video_id, words),
        video_id=video_id,
        rank=1,
        text=words,
        importance=1.0,
        extraction_confidence=1.0,
        basis="reviewer",
    )


def choose_claims(
    video: str,
    texts: Iterable[str],
    reviewer: str,
    settings: Settings,
    of: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Record which of the found claims of a video a reviewer wants to check, and in which words.

    Found claims whose words are not in `texts` are dropped, and texts that are no found claim are
    added. `of` has the id of the found claim that a text rewords, by text.

    Raises FactibleError: Nothing is stored about the video, or a text is no valid claim.
    """
    with review_lock(settings):
        files = {file.claim.claim_id: file for file in open_video(video, settings)}
        video_id = next(iter(files.values())).video_id
        wanted = {claim_id(video_id, plain(each)): plain(each) for each in texts}
        _refuse(not wanted, "No claim was chosen.", "Choose or add at least one.")
        reworded = {of[text]: text for text in wanted.values() if of.get(text) in files}
        acts: list[records.ReviewAction] = []

        def record(file: ClaimFile, change: Change) -> None:
            acts.extend(actions_of(file, [change], reviewer, None))

        for own, file in files.items():
            if file.gone is None and own not in wanted:
                if own in reworded:
                    record(file, Change("reword_claim", reworded[own]))
                else:
                    record(file, Change("drop_claim", reason="Not chosen for the check."))
        for own, text in wanted.items():
            is_found = own in files and files[own].gone is None
            if not is_found and text not in reworded.values():
                record(new_claim(video, text, settings), Change("add_claim", text))
        Warehouse(settings.warehouse).write_rows({"review_actions": acts})


def open_claim(video: str, claim: str, settings: Settings) -> ClaimFile:
    """Return one claim by its number or by the beginning of its current or a former id.

    Raises FactibleError: There is no such claim, or more than one.
    """
    files = open_video(video, settings)
    if claim.isdecimal() and len(claim) < _SHORTEST_PREFIX:
        found = [file for file in files if file.number == int(claim)]
    else:
        found = [file for file in files if any(each.startswith(claim) for each in _ids(file))]
    _refuse(
        len(found) != 1,
        f"{'Several claims begin with' if found else 'The video has no claim'} "
        f"{plain(claim, 80)!r}; it has {len(files)}, numbered from 1.",
        f"factible review -- {files[0].video_id} lists them.",
    )
    return found[0]


def _ids(file: ClaimFile) -> set[str]:
    return {file.claim.claim_id, *(act.claim_id for act in file.actions)}


def read_history(video: str, claim: str | None, settings: Settings) -> list[dict[str, Any]]:
    """Return the actions on a video, or on one of its claims, in order."""
    files = [open_claim(video, claim, settings)] if claim else open_video(video, settings)
    found = Warehouse(settings.warehouse).rows(_SQL["review_history"], {"video": files[0].video_id})
    wanted = {act.action_id for file in files for act in file.actions}
    return [row for row in found if not claim or row["action_id"] in wanted]


def reviewer_name(given: str | None, settings: Settings) -> str:
    """Return the reviewer's name: the given one, that of the settings, or that of the login.

    Raises FactibleError: The name is empty or too long, or there is none.
    """
    name = given if given is not None else settings.reviewer
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
    return _valid_text(name, "The name of a reviewer")


# --- Validating changes -------------------------------------------------------------------------


def actions_of(
    file: ClaimFile, changes: Sequence[Change], reviewer: str, reason: str | None
) -> tuple[records.ReviewAction, ...]:
    """Validate changes, each in the state after those before it, and turn them into actions.

    Raises FactibleError: A change is invalid.
    """
    why = _valid_text(reason, "--reason") if reason is not None else None
    now = datetime.now(UTC)
    done: list[records.ReviewAction] = []
    # The queries of the next check. A reworded query keeps its id, so compare derived ids.
    asked = {query.query_id: query_id(file.claim.claim_id, query.text) for query in file.queries}
    for position, change in enumerate(changes, start=1):
        if change.kind in reviews.QUERY_KINDS:
            fields = _query_fields(file, change, asked)
        else:
            kinds = {change.kind, *(act.action for act in done)}
            _refuse(
                kinds & reviews.CLAIM_KINDS and kinds & _JUDGING,
                "You cannot change and judge a claim at once: a judgement refers to its wording.",
                "Make the change first.",
            )
            is_kept = change.kind not in {*reviews.OPINIONS, "restore_claim"}
            _refuse(file.gone and is_kept, "The claim was dropped or split.", "Restore it first.")
            group = _opinion_fields if change.kind in reviews.OPINIONS else _source_fields
            fields = (_claim_fields if change.kind in reviews.CLAIM_KINDS else group)(
                file, change, done
            )
        is_set = change.kind == "drop_claim" or fields.get("value") is not None
        if change.kind in _REASONED and is_set and not plain(change.reason or why or ""):
            sentence, remedy = _REASONED[change.kind]
            raise FactibleError(sentence, f"Give it: {remedy}.")
        done.append(
            records.ReviewAction(
                action_id=review_action_id(file.claim.claim_id, reviewer, now, position),
                video_id=file.claim.video_id,
                claim_id=file.claim.claim_id,
                reviewer=reviewer,
                acted_at=now,
                position=position,
                action=change.kind,
                reason=_valid_text(change.reason, "A reason") if change.reason else why,
                **fields,
            )
        )
    _refuse(
        not asked and any(change.kind in reviews.QUERY_KINDS for change in changes),
        "The claim would have no query left, and it needs at least one.",
        "Reword the last one with --edit-query, or add another.",
    )
    return tuple(done)


def _refuse(is_wrong: object, sentence: str, remedy: str = "") -> None:
    if is_wrong:
        raise FactibleError(sentence, remedy)


def _query_fields(file: ClaimFile, change: Change, asked: dict[str, str]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    kind, opposite = change.query_type or "direct", change.opposite
    if change.kind != "add_query":
        number, known = change.number, file.queries
        by_number: dict[int | str | None, records.Query] = {each.query_id: each for each in known}
        query = (by_number | dict(enumerate(known, start=1))).get(number)
        if query is None:
            raise FactibleError(
                f"The claim has no query {number}; it has {len(known)}, numbered from 1.",
                "factible review VIDEO CLAIM lists them.",
            )
        is_changed = query.query_id not in asked
        _refuse(is_changed, f"Query {number} is changed twice.", "Change each query once.")
        fields["target"] = query.query_id
        kind, opposite = query.query_type, query.seeks_opposite
    if change.kind != "remove_query":
        text = _valid_text(change.text, "A query")
        made = query_id(file.claim.claim_id, text)
        is_asked = made in asked.values()
        shown = plain(text, 80)
        _refuse(is_asked, f"The claim has the query {shown!r} already.", "Word it in another way.")
        asked[made] = made
        fields |= {"value": text, "query_id": made, "query_type": kind, "seeks_opposite": opposite}
    asked.pop(fields.get("target", ""), None)
    return fields


def _opinion_fields(
    file: ClaimFile, change: Change, done: Sequence[records.ReviewAction]
) -> dict[str, Any]:
    if change.kind == "note":
        return {"value": _valid_text(change.text, "A note"), "target": change.value}
    given = plain(change.text or "")
    if given.lower() == "none":
        words = None if change.kind == "assign" else file.claim.claim_id
        _refuse(
            reviews.latest(change.kind, [*file.actions, *done], words) is None,
            _NOTHING_TO_TAKE_BACK[change.kind],
            "factible review VIDEO CLAIM lists what is in force.",
        )
        return {"value": None}
    if change.kind == "assign":
        return {"value": _valid_text(given, "The name of a person")}
    if change.kind == "sign":
        scale = scale_named(file.settings.ruling_scale, file.settings.corpus_folders)
        label, stance = scale.label(given)
        whose = file.settings.organisation
        return {"value": label, "stance": stance, "target": scale.name, "organisation": whose}
    _refuse(
        given.lower() not in STANCES,
        f"{plain(given, 40)!r} is no assessment.",
        "Give supports, refutes, mixed or unclear; none takes yours back.",
    )
    return {"value": given.lower()}


def _claim_fields(
    file: ClaimFile, change: Change, done: Sequence[records.ReviewAction]
) -> dict[str, Any]:
    is_changed = any(act.action in reviews.CLAIM_KINDS for act in done)
    _refuse(is_changed, "A claim is changed twice.", "Change it once, then go on.")
    if change.kind == "drop_claim":
        return {}
    if change.kind == "restore_claim":
        _refuse(file.gone is None, "The claim was neither dropped nor split.")
        return {"value": file.claim.text}
    is_split = change.kind == "split_claim"
    parts = (change.text or "").splitlines() if is_split else [change.text]
    wordings = [
        _valid_text(each, "A part of the claim" if is_split else "A claim") for each in parts
    ]
    made = {claim_id(file.video_id, each) for each in wordings}
    is_one = is_split and len(made) <= 1
    _refuse(is_one, "A claim is split into two parts or more.", "Word each of them.")
    said = change.said.strip() if change.kind == "add_claim" and change.said else None
    spoken = file.rows.transcript.text if file.rows.transcript else ""
    times = spoken.count(said) if said is not None else 1
    _refuse(
        times != 1,
        f"The transcript contains {plain(said or '', 80)!r} {times} times.",
        "Give words that it contains exactly once.",
    )
    is_same = change.kind == "reword_claim" and wordings[0] == file.claim.text
    _refuse(
        is_same or made & (file.claims - {file.claim.claim_id}),
        "The video makes that claim already.",
        "Word it in another way, or drop one.",
    )
    return {"value": "\n".join(wordings), "target": said}


def _source_fields(
    file: ClaimFile, change: Change, done: Sequence[records.ReviewAction]
) -> dict[str, Any]:
    given = _valid_text(change.text, "A source")
    is_added = change.kind == "add_source"
    subject = _fetchable(given) if is_added else source_subject(given)
    shown = plain(subject, 120)
    # The state after the earlier changes.
    folded = reviews.corrections_by_claim([*file.actions, *done])
    corrected = folded.get(file.claim.claim_id, reviews.NO_CORRECTIONS)
    if change.kind == "overrule_source":
        _refuse(
            subject not in {row.canonical_url for row in file.sources if row.status == "ok"},
            f"{shown} is no source that was read for the claim.",
            "Give the URL of one as it is listed.",
        )
        value = plain(change.value or "").lower().replace(" ", "_")
        stances, ratings = STANCES, get_args(records.Rating)
        _refuse(
            value not in {*stances, *ratings, "none"},
            f"{plain(value, 40)!r} is neither a stance nor a rating.",
            f"Give a stance ({', '.join(stances)}), a rating ({', '.join(ratings)}), or none.",
        )
        _refuse(
            value == "none" and subject not in {*corrected.stances, *corrected.ratings},
            f"No reviewer overruled {shown} on this claim.",
            "factible review VIDEO CLAIM lists what is in force.",
        )
        return {"target": subject, "value": None if value == "none" else value}
    word = corrected.sources.get(subject)
    who, last = (plain(word.reviewer), word.action) if word else ("", None)
    if change.kind == "unblock_source":
        words = f"No reviewer blocked or added {shown} on this claim."
        _refuse(word is None, words, "factible review VIDEO CLAIM lists what is in force.")
    elif change.kind == "block_source":
        words = f"{shown} is blocked already, by {who}."
        _refuse(last == "block_source", words, "--unblock takes that back.")
        known = {row.canonical_url for row in file.sources}
        _refuse(
            "://" in subject and subject not in known and word is None,
            f"{shown} is no source of the claim.",
            "Give the URL of one as it is listed, or block a whole domain.",
        )
    else:
        _refuse(
            is_the_video(file.rows.video, given),
            f"{plain(given, 120)} is the video itself, or a copy of it.",
            "A video is no evidence for itself; give another source.",
        )
        words = f"{shown} was added already, by {who}."
        _refuse(last == "add_source", words, "It is read in every check of the claim.")
    if not is_added:
        return {"target": subject}
    # Not every site answers at its canonical URL.
    found = {hit.canonical_url: hit.url for hit in file.rows.hits}
    return {"target": subject, "value": found.get(subject, given) if given == subject else given}


def source_subject(given: str) -> str:
    """Return the canonical URL or the domain that a reviewer names. Raises FactibleError."""
    try:
        if "/" in given:
            return canonical_url(given if "://" in given else f"https://{given}")
        host = host_of(f"https://{given}").removeprefix("www.")
    except UnusableUrlError as error:
        raise FactibleError(str(error)) from error
    _refuse(
        "." not in host or public_suffix(host) == host,
        f"{plain(given, 120)} is no domain of one publisher.",
        "Give one such as example.org, or the URL of a page.",
    )
    return host


def _fetchable(url: str) -> str:
    """Return the canonical URL of a public page.

    Raises FactibleError: It is no address of a web page, or is in a private network.
    """
    import httpx  # noqa: PLC0415 - few reviews need it

    from resources.network_guard import ForbiddenTargetError, NetworkGuard  # noqa: PLC0415

    try:
        canonical = canonical_url(url)
        NetworkGuard().check_url(httpx.URL(url))
    except UnusableUrlError as error:
        raise FactibleError(str(error)) from error
    except (ForbiddenTargetError, httpx.InvalidURL) as error:
        why = error.reason if isinstance(error, ForbiddenTargetError) else str(error)
        raise FactibleError(
            f"{plain(url, 120)} cannot be a source: {plain(why)}.",
            "Give the public address of a web page.",
        ) from error
    return canonical


def _valid_text(text: str | None, what: str) -> str:
    # Lone surrogates and NUL, which no database stores, become spaces.
    flat, longest = plain(text or ""), _LONGEST[what]
    size = f"{what} has {len(flat):,} characters, and may have {longest:,}."
    _refuse(not flat, f"{what} is empty.", "Give some words.")
    _refuse(len(flat) > longest, size, "Shorten it.")
    return flat


# --- Recording and checking ---------------------------------------------------------------------


def carry_out(
    file: ClaimFile,
    actions: Sequence[records.ReviewAction],
    *,
    rerun: bool | None,
    watch: Watch,
    say: Say,
) -> Reviewed:
    """Record actions, and check the claim again.

    `rerun` tells whether to check it; None means: if the actions affect its check.

    Raises FactibleError: A run is checking the video, somebody else has changed the claim since
    the caller read `file`, or the user stopped the run.
    """
    changes = any(action.action not in reviews.OPINIONS for action in actions)
    runs = changes if rerun is None else rerun
    settings = file.settings
    if runs:
        _refuse_if_busy(file)
    if actions:
        with review_lock(settings):
            if changes:
                _refuse_if_outdated(file)
            Warehouse(settings.warehouse).write_rows({"review_actions": actions})
    claims = _resulting_claims(file)
    again = None
    if runs:
        by = {"reviewer": actions[0].reviewer} if actions else {}
        again = check_again(file, claims, watch=watch, say=say, tags=by)
    checked = again
    if again is None or again.failures:
        stored = StoredVideo(file.video_id, settings).result(publish=True)
        checked = again or stored
    if checked is None:
        raise unchecked(file.video_id, settings)
    ids = tuple(claim.claim_id for claim in claims)
    code = checked.code if checked.failures else ExitCode.DONE
    if runs and not checked.failures and checked.incomplete.intersection(ids):
        code = ExitCode.INCOMPLETE
    hosts = {urlsplit(row.canonical_url).hostname or "" for row in file.sources}
    blocked = (act.target or "" for act in actions if act.action == "block_source")
    remarks = (
        f"No source of the claim is of {plain(domain, 120)} so far; what is found there later is "
        "left out."
        for domain in blocked
        if "://" not in domain and not any(f".{host}".endswith(f".{domain}") for host in hosts)
    )
    return Reviewed(
        checked,
        ids or (file.claim.claim_id,),
        len(checked.data.claims) - len(claims),
        tuple(remarks),
        again.run_id if again else None,
        waits=changes and (again is None or bool(again.failures)),
        code=code,
    )


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


def _refuse_if_busy(file: ClaimFile) -> None:
    from factible_assets.pipeline.schedules import in_flight  # noqa: PLC0415 - loads Dagster
    from factible_assets.runs.launch import open_instance  # noqa: PLC0415

    with open_instance(file.settings) as instance:
        busy = in_flight(instance)
    if file.video_id in busy:
        raise FactibleError(
            f"A run is checking {file.video_id} at the moment; nothing was recorded.",
            "Wait until that run has ended, or record without a check: --no-rerun.",
            ExitCode.FAILED,
        )


def _refuse_if_outdated(file: ClaimFile) -> None:
    """Refuse changes to a claim whose stored actions, or list of claims, have changed since."""
    files = open_video(file.video_id, file.settings)
    own = {each.claim.claim_id: each for each in files}.get(file.claim.claim_id)
    then, now = (
        [act for act in each.actions if act.action not in reviews.OPINIONS] if each else []
        for each in (file, own)
    )
    _refuse(
        files[0].claims != file.claims or then != now,
        "Somebody else has changed this claim, or another of the video, in the meantime; nothing "
        "was recorded.",
        f"Look at it again: factible review -- {file.video_id}",
    )


def _resulting_claims(file: ClaimFile) -> list[records.Claim]:
    """Return the claims that the actions made of a claim: the reworded claim, or its parts."""
    now = open_video(file.video_id, file.settings)
    ids = {each.claim.claim_id for each in now if file.claim.claim_id in _ids(each)}
    for each in now:
        if each.claim.claim_id in ids and each.gone and each.gone.action == "split_claim":
            ids |= {claim_id(file.video_id, part) for part in (each.gone.value or "").splitlines()}
    return [each.claim for each in now if each.claim.claim_id in ids and each.gone is None]


def check_again(
    file: ClaimFile,
    claims: Sequence[records.Claim],
    *,
    watch: Watch,
    say: Say = lambda _: None,
    run_id: str | None = None,
    tags: Mapping[str, str] = MappingProxyType({}),
) -> Checked:
    """Check a claim, or the `claims` made of it, with the config of its last check.

    Raises FactibleError: See `run_video`.
    """
    from factible_assets.pipeline.schedules import OPTIONS_UNKNOWN, last_options  # noqa: PLC0415 - Dagster
    from factible_assets.runs.launch import open_instance, run_video  # noqa: PLC0415 - Dagster
    from factible_assets.runs.reusable import INPUT_TAGS, has_pending_corrections  # noqa: PLC0415 - Dagster

    settings = file.settings
    with Warehouse(settings.warehouse).snapshot() as now, open_instance(settings) as instance:
        waits = has_pending_corrections(
            now.read_current(records.Claim, file.video_id), read_actions(now, file.video_id)
        )
        found = now.current_sets(file.video_id).get("claims")
        made = instance.get_run_by_id(found.run_id) if found else None
        given = last_options(now, instance, file.video_id)
    ids = [claim.claim_id for claim in claims] or [file.claim.claim_id]
    alone = {"renew": False, "only_claims": tuple(ids)}
    try:
        config = FactCheckConfig.model_validate({**(given or {}), **alone})
    except ValidationError:
        given, config = None, FactCheckConfig.model_validate(alone)
    if given is None:
        say(OPTIONS_UNKNOWN)
    # The claims have the same inputs as the kept ones.
    comes_from = {tag: made.tags.get(tag, "") if made else "" for tag in INPUT_TAGS}
    return run_video(
        StoredVideo(file.video_id, settings),
        config=config,
        watch=watch,
        claims=claims,
        assets=("claims", *ALL_STAGES) if waits else ALL_STAGES,
        tags={"claim": ids[0], **tags, **comes_from},
        run_id=run_id,
        remedy="Your changes are recorded; factible review VIDEO CLAIM --rerun checks the claim.",
    )
