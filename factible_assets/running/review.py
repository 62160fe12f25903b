"""Reviews: what stands of a claim, wishes into actions, checking it again.

What belongs here: refusing what cannot be done, in a sentence, before anything is recorded; and
running one claim. What does not: how it is asked and shown (cli/review.py), what actions change
(stages/reviews.py), storing them (warehouse/reviews.py).
"""

from __future__ import annotations

import getpass
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, get_args
from urllib.parse import urlsplit

from pydantic import ValidationError

from factible_assets.config import FactCheckConfig
from factible_assets.corpora.adding import bare_id
from factible_assets.errors import ExitCode, FactibleError
from factible_assets.records import (
    Claim,
    Evidence,
    Query,
    QueryType,
    ReviewAction,
    ReviewKind,
    Stance,
    Verdict,
    Video,
)
from factible_assets.rows import VideoRows
from factible_assets.running.result import stored_result
from factible_assets.running.targets import unchecked
from factible_assets.settings import Settings
from factible_assets.stages.ids import query_id, review_action_id
from factible_assets.stages.progress import ALL_STAGES
from factible_assets.stages.reviews import (
    NO_CORRECTIONS,
    OPINIONS,
    QUERY_KINDS,
    Corrections,
    assessment,
    corrected_queries,
    corrections_by_claim,
)
from factible_assets.stages.search import is_the_video
from factible_assets.stages.urls import UnusableUrlError, canonical_url, host_of, public_suffix
from factible_assets.wording import plain
from resources.statements import statements
from warehouse.reviews import add_actions, read_actions
from warehouse.store import Warehouse

_SQL = statements("factible_assets.running", "questions.sql")

if TYPE_CHECKING:
    from factible_assets.running.check import Say, Watch
    from factible_assets.running.launch import CheckOutcome

_LONGEST_QUERY, _LONGEST_NOTE, _LONGEST_NAME, _LONGEST_URL = 400, 4000, 80, 2000
_SHORTEST_PREFIX = 4


@dataclass(frozen=True, slots=True)
class Wish:
    """One change as the user asks for it; `number` is that of a query, from 1, as it was shown."""

    kind: ReviewKind
    text: str | None = None
    number: int | None = None
    query_type: QueryType | None = None
    opposite: bool = False
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class ClaimFile:
    """A claim as it stands: its verdict, the queries that the next check asks, its sources.

    `addresses` are the URLs under which searches found what is known by its canonical URL.
    """

    video: Video
    claim: Claim
    number: int
    verdict: Verdict | None
    queries: tuple[Query, ...]
    sources: tuple[Evidence, ...]
    addresses: Mapping[str, str]
    actions: tuple[ReviewAction, ...]
    corrections: Corrections

    @property
    def video_id(self) -> str:
        """The video's id."""
        return self.video.video_id

    @property
    def title(self) -> str:
        """The video's title."""
        return self.video.title

    @property
    def standing_words(self) -> tuple[str, ...]:
        """What reviewers say of sources and of the claim, and what is in force of it."""
        sources = (
            f"{'blocked' if word.kind == 'blocked' else 'added'} by {word.reviewer}: {word.subject}"
            + (f" ({word.reason})" if word.reason else "")
            for word in self.corrections.sources.values()
        )
        opinion = assessment(self.actions)
        if opinion is None:
            return tuple(sources)
        because = f": {opinion.reason}" if opinion.reason else ""
        return (*sources, f"{opinion.reviewer} assesses it as {opinion.value}{because}")


@dataclass(frozen=True, slots=True)
class Reviewed:
    """What was recorded, and how the check of the claim ended, if there was one."""

    actions: tuple[ReviewAction, ...]
    remarks: tuple[str, ...]
    run_id: str | None
    waits: bool
    others: int
    report: str | None
    failures: tuple[str, ...]
    code: ExitCode


# --- What stands --------------------------------------------------------------------------------


def open_video(video: str, settings: Settings) -> list[ClaimFile]:
    """Return the claims of a checked video, the most important first.

    Raises:
        FactibleError: Nothing is stored about the video, or it has no claims.
    """
    video_id = bare_id(video)
    store = Warehouse(settings.warehouse)
    if not settings.warehouse.exists():
        raise unchecked(video_id, settings)
    with store.snapshot() as now:
        rows, actions = now.read_standing(video_id), read_actions(now, video_id)
    if not rows.videos:
        raise unchecked(video_id, settings)
    if not rows.claims:
        raise FactibleError(
            f"No claims of the video {plain(video_id, 120)} are stored.",
            f"Check it first: factible check -- {plain(video_id, 120)}",
        )
    return _files(rows, actions)


def _files(rows: VideoRows, actions: Sequence[ReviewAction]) -> list[ClaimFile]:
    corrections = corrections_by_claim(actions)
    verdicts = {verdict.claim_id: verdict for verdict in rows.verdicts}
    queries = sorted(rows.queries, key=lambda query: query.rank)
    files = []
    for number, claim in enumerate(rows.claims, start=1):
        mine = corrections.get(claim.claim_id, NO_CORRECTIONS)
        asked = [query for query in queries if query.claim_id == claim.claim_id]
        files.append(
            ClaimFile(
                video=rows.video,
                claim=claim,
                number=number,
                verdict=verdicts.get(claim.claim_id),
                queries=corrected_queries(claim, asked, mine),
                sources=tuple(row for row in rows.evidence if row.claim_id == claim.claim_id),
                addresses={hit.canonical_url: hit.url for hit in rows.hits},
                actions=tuple(each for each in actions if each.claim_id == claim.claim_id),
                corrections=mine,
            )
        )
    return files


def open_claim(video: str, claim: str, settings: Settings) -> ClaimFile:
    """Return one claim, by its number or the beginning of its id.

    Raises:
        FactibleError: There is no such claim, or more than one.
    """
    files = open_video(video, settings)
    if claim.isdecimal() and len(claim) < _SHORTEST_PREFIX:
        found = [file for file in files if file.number == int(claim)]
    else:
        found = [file for file in files if file.claim.claim_id.startswith(claim)]
    if len(found) == 1:
        return found[0]
    which = "Several claims begin with" if found else "The video has no claim"
    raise FactibleError(
        f"{which} {plain(claim, 80)!r}; it has {len(files)}, numbered from 1.",
        f"factible review -- {files[0].video_id} lists them.",
    )


def read_history(video: str, claim: str | None, settings: Settings) -> list[dict[str, Any]]:
    """Return who changed what, of a video or of one of its claims, in order."""
    files = [open_claim(video, claim, settings)] if claim else open_video(video, settings)
    found = Warehouse(settings.warehouse).query(
        _SQL["review_history"],
        {
            "video": files[0].video_id,
            "claim": files[0].claim.claim_id if claim else None,
        },
    )
    return found.to_dicts()


def reviewer_name(given: str | None, settings: Settings) -> str:
    """Return who reviews: as given, as set, or the name of the login.

    Raises:
        FactibleError: The name is empty or too long, or there is none.
    """
    name = given if given is not None else settings.reviewer
    if name is None:
        try:
            name = getpass.getuser()
        except (KeyError, OSError) as error:
            raise FactibleError(
                "Nobody knows who you are.", "Say so: --reviewer NAME, or set FACTIBLE_REVIEWER."
            ) from error
    return _words(name, "The name of a reviewer", _LONGEST_NAME)


# --- Wishes into actions ------------------------------------------------------------------------


def planned(
    file: ClaimFile, wishes: Sequence[Wish], reviewer: str, reason: str | None
) -> tuple[ReviewAction, ...]:
    """Turn wishes into actions, each judged against what those before it leave.

    Raises:
        FactibleError: One of them cannot be granted; nothing is recorded then.
    """
    why = _words(reason, "--reason", _LONGEST_NOTE) if reason is not None else None
    now = datetime.now(UTC)
    plan = _Plan(file)
    for position, wish in enumerate(wishes, start=1):
        fields = plan.fields(wish)
        plan.done.append(
            ReviewAction(
                action_id=review_action_id(file.claim.claim_id, reviewer, now, position),
                video_id=file.claim.video_id,
                claim_id=file.claim.claim_id,
                reviewer=reviewer,
                acted_at=now,
                position=position,
                action=wish.kind,
                reason=_words(wish.reason, "A reason", _LONGEST_NOTE) if wish.reason else why,
                **fields,
            )
        )
    if not plan.asked and wishes:
        raise FactibleError(
            "A claim needs at least one query, and nothing would be left to ask.",
            "Reword the last one with --edit-query, or add another.",
        )
    return tuple(plan.done)


class _Plan:
    """The actions so far, and the queries that they leave."""

    def __init__(self, file: ClaimFile) -> None:
        self._file = file
        self.done: list[ReviewAction] = []
        # What would be asked, by id; what each is derived to be tells the same words apart.
        self.asked = {
            query.query_id: query_id(file.claim.claim_id, query.text) for query in file.queries
        }

    def fields(self, wish: Wish) -> dict[str, Any]:
        """Return what the action of a wish says."""
        if wish.kind in QUERY_KINDS:
            return self._of_query(wish)
        if wish.kind == "assess":
            value = (wish.text or "").strip().lower()
            if value not in {*get_args(Stance), "none"}:
                raise FactibleError(
                    f"{plain(value, 40)!r} is no assessment.",
                    "Give supports, refutes, mixed or unclear; none takes yours back.",
                )
            return {"value": None if value == "none" else value}
        if wish.kind == "note":
            return {"value": _words(wish.text, "A note", _LONGEST_NOTE)}
        return self._of_source(wish.kind, _words(wish.text, "A source", _LONGEST_URL))

    def _of_query(self, wish: Wish) -> dict[str, Any]:
        if wish.kind == "add_query":
            return self._worded(wish, wish.query_type, opposite=wish.opposite)
        query = self._numbered(wish.number)
        fields = {"target": query.query_id}
        if wish.kind == "edit_query":
            fields |= self._worded(wish, query.query_type, opposite=query.seeks_opposite)
        self.asked.pop(query.query_id)
        return fields

    def _of_source(self, kind: ReviewKind, given: str) -> dict[str, Any]:
        if kind == "add_source":
            return self._add_source(given)
        subject = source_subject(given)
        word = self._corrections().sources.get(subject)
        shown = plain(subject, 120)
        if kind == "unblock_source":
            if word is None:
                raise FactibleError(
                    f"No reviewer blocked or added {shown} on this claim.",
                    "factible review VIDEO CLAIM lists what is in force.",
                )
            return {"target": subject}
        if word is not None and word.kind == "blocked":
            raise FactibleError(
                f"{shown} is blocked already, by {plain(word.reviewer)}.",
                "--unblock takes that back.",
            )
        known = {row.canonical_url for row in self._file.sources}
        if "://" in subject and subject not in known and word is None:
            raise FactibleError(
                f"{shown} is no source of the claim.",
                "Give the URL of one as it is listed, or block a whole domain.",
            )
        return {"target": subject}

    def _corrections(self) -> Corrections:
        """Return what is in force once what was planned so far is recorded."""
        folded = corrections_by_claim([*self._file.actions, *self.done])
        return folded.get(self._file.claim.claim_id, NO_CORRECTIONS)

    def _worded(self, wish: Wish, kind: QueryType | None, *, opposite: bool) -> dict[str, Any]:
        text = _words(wish.text, "A query", _LONGEST_QUERY)
        made = query_id(self._file.claim.claim_id, text)
        if made in self.asked.values():
            raise FactibleError(
                f"The claim is asked {plain(text, 80)!r} already.", "Word it in another way."
            )
        self.asked[made] = made
        return {
            "value": text,
            "query_id": made,
            "query_type": kind or "direct",
            "seeks_opposite": opposite,
        }

    def _numbered(self, number: int | None) -> Query:
        queries = self._file.queries
        if number is None or not 1 <= number <= len(queries):
            raise FactibleError(
                f"The claim has no query {number}; it has {len(queries)}, numbered from 1.",
                "factible review VIDEO CLAIM lists them.",
            )
        query = queries[number - 1]
        if query.query_id not in self.asked:
            raise FactibleError(f"Query {number} is changed twice.", "Change each query once.")
        return query

    def _add_source(self, url: str) -> dict[str, Any]:
        _refuse_unfetchable(url)
        if is_the_video(self._file.video, url):
            raise FactibleError(
                f"{plain(url, 120)} is the video itself, or a copy of it.",
                "A video is no evidence for itself; give another source.",
            )
        subject = canonical_url(url)
        word = self._corrections().sources.get(subject)
        if word is not None and word.kind == "added":
            raise FactibleError(
                f"{plain(subject, 120)} was added already, by {plain(word.reviewer)}.",
                "It is read in every check of the claim.",
            )
        # A canonical URL is an identity, and not every site answers to it.
        address = self._file.addresses.get(subject, url) if url == subject else url
        return {"target": subject, "value": address}


def source_subject(given: str) -> str:
    """Return what a block names: a canonical URL, or a domain with all below it.

    Raises:
        FactibleError: It is neither.
    """
    try:
        if "://" in given:
            return canonical_url(given)
        if "/" in given:
            return canonical_url(f"https://{given}")
        host = host_of(f"https://{given}").removeprefix("www.")
    except UnusableUrlError as error:
        raise FactibleError(str(error)) from error
    if "." not in host or public_suffix(host) == host:
        raise FactibleError(
            f"{plain(given, 120)} is no domain of one publisher.",
            "Give one such as example.org, or the URL of a page.",
        )
    return host


def _refuse_unfetchable(url: str) -> None:
    """Refuse what no page may be fetched from, by the rule for all pages; nothing is looked up.

    Raises:
        FactibleError: It is no address of a web page, or leads into a private network.
    """
    import httpx  # noqa: PLC0415 - only for who adds a source

    from resources.network_guard import ForbiddenTargetError, NetworkGuard  # noqa: PLC0415

    try:
        canonical_url(url)
        NetworkGuard().check_url(httpx.URL(url))
    except UnusableUrlError as error:
        raise FactibleError(str(error)) from error
    except (ForbiddenTargetError, httpx.InvalidURL) as error:
        why = error.reason if isinstance(error, ForbiddenTargetError) else str(error)
        raise FactibleError(
            f"{plain(url, 120)} cannot be a source: {plain(why)}.",
            "Give the public address of a web page.",
        ) from error


def _words(text: str | None, what: str, longest: int) -> str:
    # Also what no database stores, lone surrogates and NUL, becomes a space.
    flat = plain(text or "")
    if not flat:
        raise FactibleError(f"{what} is empty.", "Give some words.")
    if len(flat) > longest:
        raise FactibleError(
            f"{what} has {len(flat):,} characters, and may have {longest:,}.", "Shorten it."
        )
    return flat


# --- Carrying them out --------------------------------------------------------------------------


def carry_out(
    file: ClaimFile,
    actions: Sequence[ReviewAction],
    settings: Settings,
    *,
    rerun: bool | None,
    watch: Watch,
    say: Say,
) -> Reviewed:
    """Record actions, and check the claim again where that is wanted or they change its check.

    Args:
        file: The claim as it stands.
        actions: What is recorded.
        settings: The data folder and the services.
        rerun: Whether the claim is checked again; None leaves it to the actions.
        watch: Hears what happens during a check.
        say: Told of what the check does otherwise than one might think.

    Raises:
        FactibleError: A run is working on the video, or the run was stopped.
    """
    changes = any(action.action not in OPINIONS for action in actions)
    runs = changes if rerun is None else rerun
    store = Warehouse(settings.warehouse)
    if runs:
        _refuse_beside_a_run(file.video_id, settings)
    if actions:
        add_actions(store, actions)
    outcome = _check_again(file, actions, settings, watch, say) if runs else None
    if outcome is None or not outcome.success:
        store.publish(settings.published)
    stored = stored_result(file.video_id, settings=settings)
    code = ExitCode.DONE
    if outcome is not None:
        question = {"video": file.video_id, "claim": file.claim.claim_id}
        is_open = store.query(_SQL["open_verdict"], question).item()
        code = ExitCode.INCOMPLETE if is_open else ExitCode.DONE
        code = code if outcome.success else ExitCode.FAILED
    return Reviewed(
        tuple(actions),
        tuple(_remarks(file, actions)),
        outcome.run_id if outcome else None,
        waits=changes and (outcome is None or not outcome.success),
        others=len(store.read_current(Claim, file.video_id)) - 1,
        report=str(stored.report) if stored else None,
        failures=outcome.failures if outcome else (),
        code=code,
    )


def _remarks(file: ClaimFile, actions: Iterable[ReviewAction]) -> Iterable[str]:
    hosts = {urlsplit(row.canonical_url).hostname or "" for row in file.sources}
    for action in actions:
        domain = action.target or ""
        if action.action != "block_source" or "://" in domain:
            continue
        if not any(host == domain or host.endswith(f".{domain}") for host in hosts):
            yield (
                f"No source of the claim is of {plain(domain, 120)} so far; what is found there "
                "later is left out."
            )


def _refuse_beside_a_run(video_id: str, settings: Settings) -> None:
    from factible_assets.automation.rechecks import in_flight  # noqa: PLC0415 - loads Dagster
    from factible_assets.running.launch import open_instance  # noqa: PLC0415

    with open_instance(settings) as instance:
        busy = in_flight(instance, instance.get_dynamic_partitions("videos"))
    if video_id in busy:
        raise FactibleError(
            f"{video_id} is being checked at the moment; nothing was recorded.",
            "Wait until that run has ended, or record without a check: --no-rerun.",
            ExitCode.FAILED,
        )


def _check_again(
    file: ClaimFile, actions: Sequence[ReviewAction], settings: Settings, watch: Watch, say: Say
) -> CheckOutcome:
    from factible_assets.running.check import watched_run  # noqa: PLC0415 - loads Dagster

    reviewer = {"reviewer": actions[0].reviewer} if actions else {}
    return watched_run(
        file.video_id,
        settings=settings,
        config=_knobs(file, settings, say),
        watch=watch,
        claims=[file.claim],
        assets=ALL_STAGES,
        tags={"claim": file.claim.claim_id, **reviewer},
        remedy="What you changed is recorded; factible review VIDEO CLAIM --rerun goes on.",
    )


def _knobs(file: ClaimFile, settings: Settings, say: Say) -> FactCheckConfig:
    """Return the knobs of the run that checked the video last, for this claim alone."""
    from factible_assets.running.launch import open_instance  # noqa: PLC0415 - loads Dagster

    newest = Warehouse(settings.warehouse).current_materialization("verdicts", file.video_id)
    with open_instance(settings) as instance:
        run = instance.get_run_by_id(newest.run_id) if newest else None
    given: dict[str, Any] = {}
    if run is not None:
        # Dagster keeps the config of a run as plain JSON.
        ops: Any = run.run_config.get("ops", {})
        given = dict(ops.get("claim_checks", {}).get("config", {}))
    alone = {"renew": False, "only_claims": (file.claim.claim_id,)}
    try:
        return FactCheckConfig.model_validate({**given, **alone})
    except ValidationError:
        say("The knobs of the last check are none of this version's; the defaults are used.")
        return FactCheckConfig.model_validate(alone)
