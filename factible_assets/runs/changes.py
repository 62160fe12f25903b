"""Validates a reviewer's changes to a claim, and turns them into actions.

The effect of recorded actions on a check is in stages/reviews.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias, get_args

from factible_assets.errors import FactibleError
from factible_assets.records import tables as records
from factible_assets.records.stances import STANCES
from factible_assets.runs.claims import ClaimFile, bare_claim
from factible_assets.runs.scales import scale_named
from factible_assets.stages import reviews
from factible_assets.stages.ids import claim_id, query_id, review_action_id
from factible_assets.stages.search import is_the_video
from factible_assets.stages.urls import UnusableUrlError, canonical_url, host_of, public_suffix
from factible_assets.wording import plain

_MAX_CHARACTERS: Final[Mapping[str, int]] = {
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
"""The length limit of each text that a reviewer writes."""

_REASON_MISSING: Final[Mapping[records.ReviewKind, tuple[str, str]]] = {
    "drop_claim": ("A dropped claim needs a reason.", "--reason TEXT"),
    "overrule_source": ("An overruled source needs a reason.", "--reason TEXT"),
    "sign": ("A ruling needs a text.", "--ruling TEXT"),
}
"""The error, and the option that gives the reason, of each change that needs one."""

_NOTHING_TO_TAKE_BACK: Final[Mapping[records.ReviewKind, str]] = {
    "assign": "The claim is assigned to nobody.",
    "assess": "The claim as it is worded now has no assessment.",
    "sign": "The claim as it is worded now has no ruling.",
}

_JUDGEMENTS: frozenset[records.ReviewKind] = frozenset({"assess", "sign", "overrule_source"})


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
class _ClaimState:
    """A claim after the earlier changes of the same call.

    Attributes:
        done: The actions of the earlier changes.
        queries: The ids of the next check's queries, each with the id that its text gives. They
            differ for a reworded query, which keeps its id.
    """

    file: ClaimFile
    done: list[records.ReviewAction]
    queries: dict[str, str]

    @property
    def actions(self) -> list[records.ReviewAction]:
        return [*self.file.actions, *self.done]

    @property
    def corrections(self) -> reviews.Corrections:
        by_claim = reviews.corrections_by_claim(self.actions)
        return by_claim.get(self.file.claim.claim_id, reviews.NO_CORRECTIONS)


Fields: TypeAlias = dict[str, Any]
"""The columns of an action that depend on its kind."""


def actions_of(
    file: ClaimFile, changes: Sequence[Change], reviewer: str, reason: str | None
) -> tuple[records.ReviewAction, ...]:
    """Validate changes one after the other, and turn them into actions.

    Raises FactibleError: A change is invalid.
    """
    default_reason = valid_text(reason, "--reason") if reason is not None else None
    now, claim = datetime.now(UTC), file.claim
    queries = {query.query_id: query_id(claim.claim_id, query.text) for query in file.queries}
    state = _ClaimState(file, [], queries)
    for position, change in enumerate(changes, start=1):
        if change.kind not in reviews.QUERY_KINDS:
            _refuse_contradiction(state, change.kind)
        if change.kind in _NOTHING_TO_TAKE_BACK and plain(change.text or "").lower() == "none":
            fields = _take_back(state, change.kind)
        else:
            fields = _VALIDATORS[change.kind](state, change)
        is_withdrawal = "value" in fields and fields["value"] is None
        needs_reason = change.kind in _REASON_MISSING and not is_withdrawal
        if needs_reason and not plain(change.reason or default_reason or ""):
            sentence, option = _REASON_MISSING[change.kind]
            raise FactibleError(sentence, f"Give it: {option}.")
        state.done.append(
            records.ReviewAction(
                action_id=review_action_id(claim.claim_id, reviewer, now, position),
                video_id=claim.video_id,
                claim_id=claim.claim_id,
                reviewer=reviewer,
                acted_at=now,
                position=position,
                action=change.kind,
                reason=valid_text(change.reason, "A reason") if change.reason else default_reason,
                **fields,
            )
        )
    refuse(
        not queries and any(change.kind in reviews.QUERY_KINDS for change in changes),
        "The claim would have no query left, and it needs at least one.",
        "Reword the last one with --edit-query, or add another.",
    )
    return tuple(state.done)


def refuse(is_wrong: object, sentence: str, remedy: str = "") -> None:
    """Raise FactibleError if something is wrong."""
    if is_wrong:
        raise FactibleError(sentence, remedy)


def _refuse_contradiction(state: _ClaimState, kind: records.ReviewKind) -> None:
    """Refuse a change of a claim or an opinion that contradicts the earlier changes."""
    earlier = {act.action for act in state.done}
    kinds = {kind, *earlier}
    refuse(
        kinds & reviews.CLAIM_KINDS and kinds & _JUDGEMENTS,
        "You cannot change and judge a claim at once: a judgement refers to its wording.",
        "Make the change first.",
    )
    needs_claim = kind not in {*reviews.OPINIONS, "restore_claim"}
    refuse(state.file.gone and needs_claim, "The claim was dropped or split.", "Restore it first.")
    refuse(
        kind in reviews.CLAIM_KINDS and earlier & reviews.CLAIM_KINDS,
        "A claim is changed twice.",
        "Change it once, then go on.",
    )


# --- Queries ------------------------------------------------------------------------------------


def _add_query(state: _ClaimState, change: Change) -> Fields:
    fields = _new_query(state, change)
    kind = change.query_type or "direct"
    return {**fields, "query_type": kind, "seeks_opposite": change.opposite}


def _edit_query(state: _ClaimState, change: Change) -> Fields:
    old = _numbered_query(state, change.number)
    fields = _new_query(state, change, old.query_id)
    kinds = {"query_type": old.query_type, "seeks_opposite": old.seeks_opposite}
    return {"target": old.query_id, **fields, **kinds}


def _remove_query(state: _ClaimState, change: Change) -> Fields:
    old = _numbered_query(state, change.number)
    del state.queries[old.query_id]
    return {"target": old.query_id}


def _numbered_query(state: _ClaimState, number: int | str | None) -> records.Query:
    queries = state.file.queries
    numbered = enumerate(queries, start=1)
    query = next((query for place, query in numbered if number in {place, query.query_id}), None)
    if query is None:
        raise FactibleError(
            f"The claim has no query {number}; it has {len(queries)}, numbered from 1.",
            "factible review VIDEO CLAIM lists them.",
        )
    is_changed = query.query_id not in state.queries
    refuse(is_changed, f"Query {number} is changed twice.", "Change each query once.")
    return query


def _new_query(state: _ClaimState, change: Change, replaced: str = "") -> Fields:
    text = valid_text(change.text, "A query")
    new_id, shown = query_id(state.file.claim.claim_id, text), plain(text, 80)
    is_known = new_id in state.queries.values()
    refuse(is_known, f"The claim has the query {shown!r} already.", "Word it in another way.")
    state.queries.pop(replaced, None)
    state.queries[new_id] = new_id
    return {"value": text, "query_id": new_id}


# --- Opinions -----------------------------------------------------------------------------------


def _note(_: _ClaimState, change: Change) -> Fields:
    return {"value": valid_text(change.text, "A note"), "target": change.value}


def _assign(_: _ClaimState, change: Change) -> Fields:
    return {"value": valid_text(change.text, "The name of a person")}


def _assess(_: _ClaimState, change: Change) -> Fields:
    stance = plain(change.text or "").lower()
    refuse(
        stance not in STANCES,
        f"{plain(change.text or '', 40)!r} is no assessment.",
        f"Give {', '.join(STANCES)}, or none to take yours back.",
    )
    return {"value": stance}


def _sign(state: _ClaimState, change: Change) -> Fields:
    settings = state.file.settings
    scale = scale_named(settings.ruling_scale, settings.corpus_folders)
    label, stance = scale.label(plain(change.text or ""))
    signed_for = settings.organisation
    return {"value": label, "stance": stance, "target": scale.name, "organisation": signed_for}


def _take_back(state: _ClaimState, kind: records.ReviewKind) -> Fields:
    wording = None if kind == "assign" else state.file.claim.claim_id
    refuse(
        reviews.latest(kind, state.actions, wording) is None,
        _NOTHING_TO_TAKE_BACK[kind],
        "factible review VIDEO CLAIM lists what is in force.",
    )
    return {"value": None}


# --- The claim ----------------------------------------------------------------------------------


def _restore_claim(state: _ClaimState, _: Change) -> Fields:
    refuse(state.file.gone is None, "The claim was neither dropped nor split.")
    return {"value": state.file.claim.text}


def _reword_claim(state: _ClaimState, change: Change) -> Fields:
    text = valid_text(change.text, "A claim")
    _refuse_duplicate(state, text, is_unchanged=text == state.file.claim.text)
    return {"value": text}


def _split_claim(state: _ClaimState, change: Change) -> Fields:
    lines = filter(str.strip, (change.text or "").splitlines())
    parts = [valid_text(line, "A part of the claim") for line in lines]
    is_one = len({claim_id(state.file.video_id, part) for part in parts}) <= 1
    refuse(is_one, "A claim is split into two parts or more.", "Word each of them.")
    _refuse_duplicate(state, *parts)
    return {"value": "\n".join(parts)}


def _add_claim(state: _ClaimState, change: Change) -> Fields:
    text = valid_text(change.text, "A claim")
    passage, transcript = None, state.file.rows.transcript
    if words := (change.said or "").split():
        # A page shows the transcript in other line breaks, and capitals in sentence case.
        pattern = r"\s+".join(map(re.escape, words))
        found = re.findall(pattern, transcript.text if transcript else "", re.IGNORECASE)
        refuse(
            len(found) != 1,
            f"The transcript contains {plain(' '.join(words), 80)!r} {len(found)} times.",
            "Give words that it contains exactly once.",
        )
        passage = found[0]
    _refuse_duplicate(state, text)
    return {"value": text, "target": passage}


def _refuse_duplicate(state: _ClaimState, *wordings: str, is_unchanged: bool = False) -> None:
    new_ids = {claim_id(state.file.video_id, wording) for wording in wordings}
    refuse(
        is_unchanged or new_ids & (state.file.claims - {state.file.claim.claim_id}),
        "The video makes that claim already.",
        "Word it in another way, or drop one.",
    )


# --- Sources ------------------------------------------------------------------------------------


def _overrule_source(state: _ClaimState, change: Change) -> Fields:
    subject, shown = _named_source(change)
    refuse(
        subject not in {row.canonical_url for row in state.file.sources if row.status == "ok"},
        f"{shown} is no source that was read for the claim.",
        "Give the URL of one as it is listed.",
    )
    value = plain(change.value or "").lower().replace(" ", "_")
    ratings = get_args(records.Rating)
    refuse(
        value not in {*STANCES, *ratings, "none"},
        f"{plain(value, 40)!r} is neither a stance nor a rating.",
        f"Give a stance ({', '.join(STANCES)}), a rating ({', '.join(ratings)}), or none.",
    )
    corrections = state.corrections
    refuse(
        value == "none" and subject not in {*corrections.stances, *corrections.ratings},
        f"No reviewer overruled {shown} on this claim.",
        "factible review VIDEO CLAIM lists what is in force.",
    )
    return {"target": subject, "value": None if value == "none" else value}


def _block_source(state: _ClaimState, change: Change) -> Fields:
    subject, shown = _named_source(change)
    last = state.corrections.sources.get(subject)
    if last is not None and last.action == "block_source":
        by = plain(last.reviewer)
        raise FactibleError(f"{shown} is blocked already, by {by}.", "--unblock takes that back.")
    known = {row.canonical_url for row in state.file.sources}
    refuse(
        "://" in subject and subject not in known and last is None,
        f"{shown} is no source of the claim.",
        "Give the URL of one as it is listed, or block a whole domain.",
    )
    return {"target": subject}


def _unblock_source(state: _ClaimState, change: Change) -> Fields:
    subject, shown = _named_source(change)
    refuse(
        subject not in state.corrections.sources,
        f"No reviewer blocked or added {shown} on this claim.",
        "factible review VIDEO CLAIM lists what is in force.",
    )
    return {"target": subject}


def _add_source(state: _ClaimState, change: Change) -> Fields:
    url = valid_text(change.text, "A source")
    canonical, rows = _fetchable(url), state.file.rows
    refuse(
        is_the_video(rows.video, url),
        f"{plain(url, 120)} is the video itself, or a copy of it.",
        "A video is no evidence for itself; give another source.",
    )
    # Not every site answers at its canonical URL.
    found_at = {hit.canonical_url: hit.url for hit in rows.hits}
    return {"target": canonical, "value": found_at.get(url, url) if url == canonical else url}


def _named_source(change: Change) -> tuple[str, str]:
    """Return the canonical URL or the domain that a change names, and the same for messages."""
    subject = source_subject(valid_text(change.text, "A source"))
    return subject, plain(subject, 120)


def source_subject(named: str) -> str:
    """Return the canonical URL or the domain that a reviewer names. Raises FactibleError."""
    try:
        if "/" in named:
            return canonical_url(named if "://" in named else f"https://{named}")
        host = host_of(f"https://{named}").removeprefix("www.")
    except UnusableUrlError as error:
        raise FactibleError(str(error)) from error
    refuse(
        "." not in host or public_suffix(host) == host,
        f"{plain(named, 120)} is no domain of one publisher.",
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


_VALIDATORS: Final[Mapping[records.ReviewKind, Callable[[_ClaimState, Change], Fields]]] = {
    "add_query": _add_query,
    "edit_query": _edit_query,
    "remove_query": _remove_query,
    "note": _note,
    "assign": _assign,
    "assess": _assess,
    "sign": _sign,
    "drop_claim": lambda _, __: {},
    "restore_claim": _restore_claim,
    "reword_claim": _reword_claim,
    "split_claim": _split_claim,
    "add_claim": _add_claim,
    "overrule_source": _overrule_source,
    "block_source": _block_source,
    "unblock_source": _unblock_source,
    "add_source": _add_source,
}
"""The function that validates a change and returns its fields, by kind."""


# --- Texts and claims -----------------------------------------------------------------------------


def valid_text(text: str | None, name: str) -> str:
    """Return a text on one line. Raises FactibleError: It is empty or too long."""
    # Lone surrogates and NUL, which no database stores, become spaces.
    line, most = plain(text or ""), _MAX_CHARACTERS[name]
    size = f"{name} has {len(line):,} characters, and may have {most:,}."
    refuse(not line, f"{name} is empty.", "Give some words.")
    refuse(len(line) > most, size, "Shorten it.")
    return line


def new_claim(files: Sequence[ClaimFile], text: str) -> ClaimFile:
    """Return a claim that a Change `add_claim` can add to the video with the claims `files`.

    Raises FactibleError: The video has this claim, or `text` is empty or too long.
    """
    first, wording = files[0], valid_text(text, "A claim")
    claim = bare_claim(first.video_id, wording)
    refuse(
        claim.claim_id in first.claims,
        f"The video makes the claim {plain(wording, 80)!r} already.",
        f"factible review -- {first.video_id} lists its claims.",
    )
    actions = (
        action for file in files for action in file.actions if action.claim_id == claim.claim_id
    )
    return ClaimFile(first.rows, first.settings, first.claims, claim, actions=tuple(actions))
