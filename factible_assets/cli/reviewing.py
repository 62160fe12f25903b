"""Reviews from the command line: what stands of a claim, wishes into actions, checking it again.

What belongs here: refusing what cannot be done, in a sentence, before anything is recorded; and
running one claim. What does not: arguments and tables (review.py), what actions change
(stages/reviews.py), storing them (warehouse/reviews.py).
"""

from __future__ import annotations

import getpass
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, get_args

from factible_assets.cli.errors import CliError
from factible_assets.cli.output import complain, note
from factible_assets.errors import ExitCode
from factible_assets.wording import plain

if TYPE_CHECKING:
    from factible_assets.config import FactCheckConfig
    from factible_assets.records import (
        Claim,
        Evidence,
        Query,
        QueryType,
        ReviewAction,
        ReviewKind,
        Verdict,
        Video,
    )
    from factible_assets.rows import VideoRows
    from factible_assets.running.launch import CheckOutcome
    from factible_assets.settings import Settings
    from factible_assets.stages.reviews import Corrections

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
        from factible_assets.stages.reviews import assessment

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
    code: ExitCode


# --- What stands --------------------------------------------------------------------------------


def open_video(video: str, settings: Settings) -> list[ClaimFile]:
    """Return the claims of a checked video, the most important first.

    Raises:
        CliError: Nothing is stored about the video, or it has no claims.
    """
    from factible_assets.cli.targets import bare_id, unchecked
    from warehouse.reviews import read_actions
    from warehouse.store import Warehouse

    video_id = bare_id(video)
    store = Warehouse(settings.warehouse)
    if not settings.warehouse.exists():
        raise unchecked(video_id, settings)
    with store.snapshot() as now:
        rows, actions = now.read_standing(video_id), read_actions(now, video_id)
    if not rows.videos:
        raise unchecked(video_id, settings)
    if not rows.claims:
        raise CliError(
            f"No claims of the video {plain(video_id, 120)} are stored.",
            f"Check it first: factible check -- {plain(video_id, 120)}",
        )
    return _files(rows, actions)


def _files(rows: VideoRows, actions: Sequence[ReviewAction]) -> list[ClaimFile]:
    from factible_assets.stages.reviews import (
        NO_CORRECTIONS,
        corrected_queries,
        corrections_by_claim,
    )

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
        CliError: There is no such claim, or more than one.
    """
    files = open_video(video, settings)
    if claim.isdecimal() and len(claim) < _SHORTEST_PREFIX:
        found = [file for file in files if file.number == int(claim)]
    else:
        found = [file for file in files if file.claim.claim_id.startswith(claim)]
    if len(found) == 1:
        return found[0]
    which = "Several claims begin with" if found else "The video has no claim"
    raise CliError(
        f"{which} {plain(claim, 80)!r}; it has {len(files)}, numbered from 1.",
        f"factible review -- {files[0].video_id} lists them.",
    )


def read_history(video: str, claim: str | None, settings: Settings) -> list[dict[str, Any]]:
    """Return who changed what, of a video or of one of its claims, in order."""
    from warehouse.store import Warehouse

    files = [open_claim(video, claim, settings)] if claim else open_video(video, settings)
    found = Warehouse(settings.warehouse).query(
        "SELECT * FROM review_history WHERE video_id = $video "
        "AND ($claim IS NULL OR claim_id = $claim) ORDER BY acted_at, position",
        {
            "video": files[0].video_id,
            "claim": files[0].claim.claim_id if claim else None,
        },
    )
    return found.to_dicts()


def reviewer_name(given: str | None, settings: Settings) -> str:
    """Return who reviews: as given, as set, or the name of the login.

    Raises:
        CliError: The name is empty or too long, or there is none.
    """
    name = given if given is not None else settings.reviewer
    if name is None:
        try:
            name = getpass.getuser()
        except (KeyError, OSError) as error:
            raise CliError(
                "Nobody knows who you are.", "Say so: --reviewer NAME, or set FACTIBLE_REVIEWER."
            ) from error
    return _words(name, "The name of a reviewer", _LONGEST_NAME)


# --- Wishes into actions ------------------------------------------------------------------------


def planned(
    file: ClaimFile, wishes: Sequence[Wish], reviewer: str, reason: str | None
) -> tuple[ReviewAction, ...]:
    """Turn wishes into actions.

    Raises:
        CliError: One of them cannot be granted; nothing is recorded then.
    """
    return _Plan(file, reviewer, reason).actions(wishes)


class _Plan:
    """The actions of one command, each judged against what those before it leave."""

    def __init__(self, file: ClaimFile, reviewer: str, reason: str | None) -> None:
        from factible_assets.stages.ids import query_id

        self._file = file
        self._reviewer = reviewer
        self._reason = _words(reason, "--reason", _LONGEST_NOTE) if reason is not None else None
        self._now = datetime.now(UTC)
        self._done: list[ReviewAction] = []
        # What would be asked, by id; what each is derived to be tells the same words apart.
        self._asked = {
            query.query_id: query_id(file.claim.claim_id, query.text) for query in file.queries
        }

    def actions(self, wishes: Sequence[Wish]) -> tuple[ReviewAction, ...]:
        makers = {
            "add_query": self._add_query,
            "edit_query": self._edit_query,
            "remove_query": self._remove_query,
            "block_source": self._block,
            "unblock_source": self._unblock,
            "add_source": self._add_source,
            "assess": self._assess,
            "note": self._note,
        }
        for wish in wishes:
            self._record(wish, makers[wish.kind](wish))
        if not self._asked and wishes:
            raise CliError(
                "A claim needs at least one query, and nothing would be left to ask.",
                "Reword the last one with --edit-query, or add another.",
            )
        return tuple(self._done)

    def _record(self, wish: Wish, fields: dict[str, Any]) -> None:
        from factible_assets.records import ReviewAction
        from factible_assets.stages.ids import review_action_id

        claim = self._file.claim
        position = len(self._done) + 1
        reason = _words(wish.reason, "A reason", _LONGEST_NOTE) if wish.reason else self._reason
        self._done.append(
            ReviewAction(
                action_id=review_action_id(claim.claim_id, self._reviewer, self._now, position),
                video_id=claim.video_id,
                claim_id=claim.claim_id,
                reviewer=self._reviewer,
                acted_at=self._now,
                position=position,
                action=wish.kind,
                reason=reason,
                **fields,
            )
        )

    def _corrections(self) -> Corrections:
        """Return what is in force once what was planned so far is recorded."""
        from factible_assets.stages.reviews import NO_CORRECTIONS, corrections_by_claim

        folded = corrections_by_claim([*self._file.actions, *self._done])
        return folded.get(self._file.claim.claim_id, NO_CORRECTIONS)

    # Queries.

    def _add_query(self, wish: Wish) -> dict[str, Any]:
        return self._worded(wish, wish.query_type, wish.opposite)

    def _edit_query(self, wish: Wish) -> dict[str, Any]:
        query = self._numbered(wish.number)
        fields = self._worded(wish, query.query_type, query.seeks_opposite)
        self._asked.pop(query.query_id)
        return {"target": query.query_id, **fields}

    def _remove_query(self, wish: Wish) -> dict[str, Any]:
        query = self._numbered(wish.number)
        self._asked.pop(query.query_id)
        return {"target": query.query_id}

    def _worded(self, wish: Wish, kind: QueryType | None, opposite: bool) -> dict[str, Any]:
        from factible_assets.stages.ids import query_id

        text = _words(wish.text, "A query", _LONGEST_QUERY)
        made = query_id(self._file.claim.claim_id, text)
        if made in self._asked.values():
            raise CliError(
                f"The claim is asked {plain(text, 80)!r} already.", "Word it in another way."
            )
        self._asked[made] = made
        return {
            "value": text,
            "query_id": made,
            "query_type": kind or "direct",
            "seeks_opposite": opposite,
        }

    def _numbered(self, number: int | None) -> Query:
        queries = self._file.queries
        if number is None or not 1 <= number <= len(queries):
            raise CliError(
                f"The claim has no query {number}; it has {len(queries)}, numbered from 1.",
                "factible review VIDEO CLAIM lists them.",
            )
        query = queries[number - 1]
        if query.query_id not in self._asked:
            raise CliError(f"Query {number} is changed twice.", "Change each query once.")
        return query

    # Sources.

    def _block(self, wish: Wish) -> dict[str, Any]:
        subject = self._subject(wish.text)
        word = self._corrections().sources.get(subject)
        if word is not None and word.kind == "blocked":
            raise CliError(
                f"{plain(subject, 120)} is blocked already, by {plain(word.reviewer)}.",
                "--unblock takes that back.",
            )
        known = {row.canonical_url for row in self._file.sources}
        if "://" in subject and subject not in known and word is None:
            raise CliError(
                f"{plain(subject, 120)} is no source of the claim.",
                "Give the URL of one as it is listed, or block a whole domain.",
            )
        return {"target": subject}

    def _unblock(self, wish: Wish) -> dict[str, Any]:
        subject = self._subject(wish.text)
        if subject not in self._corrections().sources:
            raise CliError(
                f"No reviewer blocked or added {plain(subject, 120)} on this claim.",
                "factible review VIDEO CLAIM lists what is in force.",
            )
        return {"target": subject}

    def _add_source(self, wish: Wish) -> dict[str, Any]:
        from factible_assets.stages.search import is_the_video
        from factible_assets.stages.urls import canonical_url

        url = _fetchable(_words(wish.text, "A source", _LONGEST_URL))
        if is_the_video(self._file.video, url):
            raise CliError(
                f"{plain(url, 120)} is the video itself, or a copy of it.",
                "A video is no evidence for itself; give another source.",
            )
        subject = canonical_url(url)
        word = self._corrections().sources.get(subject)
        if word is not None and word.kind == "added":
            raise CliError(
                f"{plain(subject, 120)} was added already, by {plain(word.reviewer)}.",
                "It is read in every check of the claim.",
            )
        # A canonical URL is an identity, and not every site answers to it.
        address = self._file.addresses.get(subject, url) if url == subject else url
        return {"target": subject, "value": address}

    def _subject(self, text: str | None) -> str:
        given = _words(text, "A source", _LONGEST_URL)
        return source_subject(given)

    # Opinions.

    def _assess(self, wish: Wish) -> dict[str, Any]:
        from factible_assets.records import Stance

        value = (wish.text or "").strip().lower()
        if value not in {*get_args(Stance), "none"}:
            raise CliError(
                f"{plain(value, 40)!r} is no assessment.",
                "Give supports, refutes, mixed or unclear; none takes yours back.",
            )
        return {"value": None if value == "none" else value}

    def _note(self, wish: Wish) -> dict[str, Any]:
        return {"value": _words(wish.text, "A note", _LONGEST_NOTE)}


def source_subject(given: str) -> str:
    """Return what a block names: a canonical URL, or a domain with all below it.

    Raises:
        CliError: It is neither.
    """
    from factible_assets.stages.urls import UnusableUrlError, canonical_url, host_of, public_suffix

    try:
        if "://" in given:
            return canonical_url(given)
        if "/" in given:
            return canonical_url(f"https://{given}")
        host = host_of(f"https://{given}").removeprefix("www.")
    except UnusableUrlError as error:
        raise CliError(str(error)) from error
    if "." not in host or public_suffix(host) == host:
        raise CliError(
            f"{plain(given, 120)} is no domain of one publisher.",
            "Give one such as example.org, or the URL of a page.",
        )
    return host


def _fetchable(url: str) -> str:
    """Return a URL that may be fetched, by the same rule as every other; nothing is looked up.

    Raises:
        CliError: It is no address of a web page, or leads into a private network.
    """
    import httpx

    from factible_assets.stages.urls import UnusableUrlError, canonical_url
    from resources.network_guard import ForbiddenTargetError, NetworkGuard

    try:
        canonical_url(url)
        NetworkGuard().check_url(httpx.URL(url))
    except UnusableUrlError as error:
        raise CliError(str(error)) from error
    except (ForbiddenTargetError, httpx.InvalidURL) as error:
        why = error.reason if isinstance(error, ForbiddenTargetError) else str(error)
        raise CliError(
            f"{plain(url, 120)} cannot be a source: {plain(why)}.",
            "Give the public address of a web page.",
        ) from error
    return url


def _words(text: str | None, what: str, longest: int) -> str:
    # Also what no database stores, lone surrogates and NUL, becomes a space.
    flat = plain(text or "")
    if not flat:
        raise CliError(f"{what} is empty.", "Give some words.")
    if len(flat) > longest:
        raise CliError(
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
) -> Reviewed:
    """Record actions, and check the claim again where that is wanted or they change its check.

    Raises:
        CliError: A run is working on the video, or the run was stopped.
    """
    from factible_assets.stages.reviews import OPINIONS
    from warehouse.reviews import add_actions
    from warehouse.store import Warehouse

    changes = any(action.action not in OPINIONS for action in actions)
    runs = changes if rerun is None else rerun
    store = Warehouse(settings.warehouse)
    with warnings.catch_warnings():
        if runs:
            _hush()
            _refuse_beside_a_run(file.video_id, settings)
        if actions:
            add_actions(store, actions)
        outcome = _check_again(file, actions, settings) if runs else None
    if outcome is None or not outcome.success:
        store.publish(settings.published)
    failures = () if outcome is None or outcome.success else outcome.failures or ("It failed.",)
    for failure in failures:
        complain(failure)
    return Reviewed(
        tuple(actions),
        tuple(_remarks(file, actions)),
        outcome.run_id if outcome else None,
        waits=changes and (outcome is None or not outcome.success),
        others=len(store.read_current(type(file.claim), file.video_id)) - 1,
        report=_report(file.video_id, settings),
        code=_code(file, store, outcome, failed=bool(failures)),
    )


def _remarks(file: ClaimFile, actions: Iterable[ReviewAction]) -> Iterable[str]:
    from urllib.parse import urlsplit

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


def _hush() -> None:
    from dagster import BetaWarning, PreviewWarning

    # Dagster's remarks to whoever writes pipelines are none for whoever reviews a claim.
    for kind in (BetaWarning, PreviewWarning):
        warnings.simplefilter("ignore", kind)


def _refuse_beside_a_run(video_id: str, settings: Settings) -> None:
    from factible_assets.automation.rechecks import in_flight
    from factible_assets.running.launch import open_instance

    with open_instance(settings) as instance:
        busy = in_flight(instance, instance.get_dynamic_partitions("videos"))
    if video_id in busy:
        raise CliError(
            f"{video_id} is being checked at the moment; nothing was recorded.",
            "Wait until that run has ended, or record without a check: --no-rerun.",
            ExitCode.FAILED,
        )


def _check_again(
    file: ClaimFile, actions: Sequence[ReviewAction], settings: Settings
) -> CheckOutcome:
    from factible_assets.cli.progress import watching
    from factible_assets.running.launch import check_video, new_run_id
    from factible_assets.services.resource import spent
    from factible_assets.stages.progress import ALL_STAGES

    run_id = new_run_id()
    tags = {"claim": file.claim.claim_id}
    if actions:
        tags["reviewer"] = actions[0].reviewer
    with watching(lambda: spent(run_id)) as watcher:
        watcher.claims_found([file.claim])
        outcome = check_video(
            file.video_id,
            settings=settings,
            config=_knobs(file, settings),
            observer=watcher,
            assets=ALL_STAGES,
            run_id=run_id,
            tags=tags,
            listener=watcher,
        )
    if outcome.canceled:
        raise CliError(
            "Interrupted.",
            "What you changed is recorded; factible review VIDEO CLAIM --rerun checks the claim.",
            ExitCode.INTERRUPTED,
        )
    return outcome


def _knobs(file: ClaimFile, settings: Settings) -> FactCheckConfig:
    """Return the knobs of the run that checked the video last, for this claim alone."""
    from pydantic import ValidationError

    from factible_assets.config import FactCheckConfig
    from factible_assets.running.launch import open_instance
    from warehouse.store import Warehouse

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
        note("The knobs of the last check are none of this version's; the defaults are used.")
        return FactCheckConfig.model_validate(alone)


def _report(video_id: str, settings: Settings) -> str | None:
    from factible_assets.cli.checking import stored_result

    stored = stored_result(video_id, settings=settings)
    return str(stored.report) if stored else None


def _code(file: ClaimFile, store: Any, outcome: CheckOutcome | None, *, failed: bool) -> ExitCode:
    if failed:
        return ExitCode.FAILED
    if outcome is None:
        return ExitCode.DONE
    is_open = store.query(
        "SELECT count(*) FROM latest_verdicts "
        "WHERE video_id = $video AND claim_id = $claim AND status = 'incomplete'",
        {"video": file.video_id, "claim": file.claim.claim_id},
    ).item()
    return ExitCode.INCOMPLETE if is_open else ExitCode.DONE
