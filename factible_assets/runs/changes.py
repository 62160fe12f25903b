"""Validates a reviewer's changes to a claim, and turns them into actions.

The effect of recorded actions on a check is in stages/reviews.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, get_args

from factible_assets.corpora.reading import load_corpora
from factible_assets.errors import FactibleError
from factible_assets.records import tables as records
from factible_assets.records.scales import AVERITEC, FEVER, VERACITY, stance_of
from factible_assets.records.stances import STANCES
from factible_assets.runs.claims import ClaimFile, bare_claim, open_video
from factible_assets.settings import Settings
from factible_assets.stages import reviews
from factible_assets.stages.ids import claim_id, query_id, review_action_id
from factible_assets.stages.search import is_the_video
from factible_assets.stages.urls import UnusableUrlError, canonical_url, host_of, public_suffix
from factible_assets.wording import STANCE_WORDS, plain

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

_SCALES: Final[Mapping[str, Mapping[str, records.Stance]]] = {
    "factible": {STANCE_WORDS[each].capitalize(): each for each in STANCES},
    "averitec": AVERITEC,
    "fever": FEVER,
    "veracity": VERACITY,
}


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


def actions_of(
    file: ClaimFile, changes: Sequence[Change], reviewer: str, reason: str | None
) -> tuple[records.ReviewAction, ...]:
    """Validate changes, each in the state after those before it, and turn them into actions.

    Raises FactibleError: A change is invalid.
    """
    why = valid_text(reason, "--reason") if reason is not None else None
    now = datetime.now(UTC)
    done: list[records.ReviewAction] = []
    # The queries of the next check. A reworded query keeps its id, so compare derived ids.
    asked = {query.query_id: query_id(file.claim.claim_id, query.text) for query in file.queries}
    for position, change in enumerate(changes, start=1):
        if change.kind in reviews.QUERY_KINDS:
            fields = _query_fields(file, change, asked)
        else:
            kinds = {change.kind, *(act.action for act in done)}
            refuse(
                kinds & reviews.CLAIM_KINDS and kinds & _JUDGING,
                "You cannot change and judge a claim at once: a judgement refers to its wording.",
                "Make the change first.",
            )
            is_kept = change.kind not in {*reviews.OPINIONS, "restore_claim"}
            refuse(file.gone and is_kept, "The claim was dropped or split.", "Restore it first.")
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
                reason=valid_text(change.reason, "A reason") if change.reason else why,
                **fields,
            )
        )
    refuse(
        not asked and any(change.kind in reviews.QUERY_KINDS for change in changes),
        "The claim would have no query left, and it needs at least one.",
        "Reword the last one with --edit-query, or add another.",
    )
    return tuple(done)


def refuse(is_wrong: object, sentence: str, remedy: str = "") -> None:
    """Raise FactibleError if something is wrong."""
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
        refuse(is_changed, f"Query {number} is changed twice.", "Change each query once.")
        fields["target"] = query.query_id
        kind, opposite = query.query_type, query.seeks_opposite
    if change.kind != "remove_query":
        text = valid_text(change.text, "A query")
        made = query_id(file.claim.claim_id, text)
        is_asked = made in asked.values()
        shown = plain(text, 80)
        refuse(is_asked, f"The claim has the query {shown!r} already.", "Word it in another way.")
        asked[made] = made
        fields |= {"value": text, "query_id": made, "query_type": kind, "seeks_opposite": opposite}
    asked.pop(fields.get("target", ""), None)
    return fields


def _opinion_fields(
    file: ClaimFile, change: Change, done: Sequence[records.ReviewAction]
) -> dict[str, Any]:
    if change.kind == "note":
        return {"value": valid_text(change.text, "A note"), "target": change.value}
    given = plain(change.text or "")
    if given.lower() == "none":
        words = None if change.kind == "assign" else file.claim.claim_id
        refuse(
            reviews.latest(change.kind, [*file.actions, *done], words) is None,
            _NOTHING_TO_TAKE_BACK[change.kind],
            "factible review VIDEO CLAIM lists what is in force.",
        )
        return {"value": None}
    if change.kind == "assign":
        return {"value": valid_text(given, "The name of a person")}
    if change.kind == "sign":
        scale = scale_named(file.settings.ruling_scale, file.settings.corpus_folders)
        label, stance = scale.label(given)
        whose = file.settings.organisation
        return {"value": label, "stance": stance, "target": scale.name, "organisation": whose}
    refuse(
        given.lower() not in STANCES,
        f"{plain(given, 40)!r} is no assessment.",
        "Give supports, refutes, mixed or unclear; none takes yours back.",
    )
    return {"value": given.lower()}


def _claim_fields(
    file: ClaimFile, change: Change, done: Sequence[records.ReviewAction]
) -> dict[str, Any]:
    is_changed = any(act.action in reviews.CLAIM_KINDS for act in done)
    refuse(is_changed, "A claim is changed twice.", "Change it once, then go on.")
    if change.kind == "drop_claim":
        return {}
    if change.kind == "restore_claim":
        refuse(file.gone is None, "The claim was neither dropped nor split.")
        return {"value": file.claim.text}
    is_split = change.kind == "split_claim"
    parts = (change.text or "").splitlines() if is_split else [change.text]
    wordings = [
        valid_text(each, "A part of the claim" if is_split else "A claim") for each in parts
    ]
    made = {claim_id(file.video_id, each) for each in wordings}
    is_one = is_split and len(made) <= 1
    refuse(is_one, "A claim is split into two parts or more.", "Word each of them.")
    said = change.said.strip() if change.kind == "add_claim" and change.said else None
    spoken = file.rows.transcript.text if file.rows.transcript else ""
    times = spoken.count(said) if said is not None else 1
    refuse(
        times != 1,
        f"The transcript contains {plain(said or '', 80)!r} {times} times.",
        "Give words that it contains exactly once.",
    )
    is_same = change.kind == "reword_claim" and wordings[0] == file.claim.text
    refuse(
        is_same or made & (file.claims - {file.claim.claim_id}),
        "The video makes that claim already.",
        "Word it in another way, or drop one.",
    )
    return {"value": "\n".join(wordings), "target": said}


def _source_fields(
    file: ClaimFile, change: Change, done: Sequence[records.ReviewAction]
) -> dict[str, Any]:
    given = valid_text(change.text, "A source")
    is_added = change.kind == "add_source"
    subject = _fetchable(given) if is_added else source_subject(given)
    shown = plain(subject, 120)
    # The state after the earlier changes.
    folded = reviews.corrections_by_claim([*file.actions, *done])
    corrected = folded.get(file.claim.claim_id, reviews.NO_CORRECTIONS)
    if change.kind == "overrule_source":
        refuse(
            subject not in {row.canonical_url for row in file.sources if row.status == "ok"},
            f"{shown} is no source that was read for the claim.",
            "Give the URL of one as it is listed.",
        )
        value = plain(change.value or "").lower().replace(" ", "_")
        stances, ratings = STANCES, get_args(records.Rating)
        refuse(
            value not in {*stances, *ratings, "none"},
            f"{plain(value, 40)!r} is neither a stance nor a rating.",
            f"Give a stance ({', '.join(stances)}), a rating ({', '.join(ratings)}), or none.",
        )
        refuse(
            value == "none" and subject not in {*corrected.stances, *corrected.ratings},
            f"No reviewer overruled {shown} on this claim.",
            "factible review VIDEO CLAIM lists what is in force.",
        )
        return {"target": subject, "value": None if value == "none" else value}
    word = corrected.sources.get(subject)
    who, last = (plain(word.reviewer), word.action) if word else ("", None)
    if change.kind == "unblock_source":
        words = f"No reviewer blocked or added {shown} on this claim."
        refuse(word is None, words, "factible review VIDEO CLAIM lists what is in force.")
    elif change.kind == "block_source":
        words = f"{shown} is blocked already, by {who}."
        refuse(last == "block_source", words, "--unblock takes that back.")
        known = {row.canonical_url for row in file.sources}
        refuse(
            "://" in subject and subject not in known and word is None,
            f"{shown} is no source of the claim.",
            "Give the URL of one as it is listed, or block a whole domain.",
        )
    else:
        refuse(
            is_the_video(file.rows.video, given),
            f"{plain(given, 120)} is the video itself, or a copy of it.",
            "A video is no evidence for itself; give another source.",
        )
        words = f"{shown} was added already, by {who}."
        refuse(last == "add_source", words, "It is read in every check of the claim.")
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
    refuse(
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


def valid_text(text: str | None, what: str) -> str:
    """Return a text on one line. Raises FactibleError: It is empty or too long."""
    # Lone surrogates and NUL, which no database stores, become spaces.
    flat, longest = plain(text or ""), _LONGEST[what]
    size = f"{what} has {len(flat):,} characters, and may have {longest:,}."
    refuse(not flat, f"{what} is empty.", "Give some words.")
    refuse(len(flat) > longest, size, "Shorten it.")
    return flat


def new_claim(video: str, text: str, settings: Settings) -> ClaimFile:
    """Return a claim that a Change `add_claim` can add to a checked video.

    Raises FactibleError: Nothing is stored about the video, it has this claim, or `text` is empty.
    """
    words = valid_text(text, "A claim")
    files = open_video(video, settings)
    first, claim = files[0], bare_claim(files[0].video_id, words)
    refuse(
        claim.claim_id in first.claims,
        f"The video makes the claim {plain(words, 80)!r} already.",
        f"factible review -- {first.video_id} lists its claims.",
    )
    acts = (act for file in files for act in file.actions if act.claim_id == claim.claim_id)
    return ClaimFile(first.rows, settings, first.claims, claim, actions=tuple(acts))
