"""A simulated month of nightly re-checks: plans, runs, changed verdicts, history."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb

from factible_assets.pipeline.schedules import RECHECK_ASSETS, RENEWED
from factible_assets.records.tables import Verdict
from factible_assets.stages.progress import ALL_STAGES
from tests.end_to_end.month import (
    BUSY,
    CLAIMS_PER_VIDEO,
    COST_OF_READING,
    EXTRA,
    FIRST_DAY,
    GONE,
    GONE_ON,
    LISTED,
    LOSES_ON,
    LOSING,
    OUTAGE,
    OUTAGE_FROM,
    OUTAGE_TO,
    STRONG,
    TURNING,
    TURNS_ON,
    UNWRITTEN,
    VIDEOS,
    WEAK,
    ChangingWeb,
    Month,
    claims_of,
    http_client,
    month_cache,
    nights,
    tick_of,
    url_of,
)
from tests.servers import MisbehavingServer
from tests.shortcuts import prepare
from tests.stages.world import World
from tests.warehouse.held import HeldConnector
from warehouse.rechecks import Launch, RecheckLimits, plan_night, read_plan
from warehouse.store import Warehouse
from warehouse.upkeep import trim_texts

LIMITS = RecheckLimits(videos=3, cost_usd=0.05, minimum_age_days=7)
BUSY_NIGHTS = range(6, 12)
"""Nights on which another run holds one of the videos."""


@asynccontextmanager
async def a_month(folder: Path) -> AsyncIterator[Month]:
    clock = [FIRST_DAY.timestamp()]
    async with (
        MisbehavingServer() as server,
        http_client(server) as http,
        month_cache(folder / "cache", clock) as cache,
    ):
        web = ChangingWeb(server)
        web.open()
        mind = World(listed=dict(LISTED))  # type: ignore[arg-type] # all of them are ratings
        file = prepare(folder / "home") / "warehouse.duckdb"
        with duckdb.connect(file, config={"threads": 1}) as held:
            # To open it two hundred times would be most of the time that this takes.
            store = Warehouse(HeldConnector(connection=held))
            yield Month(store, web, mind, cache, http, clock)


async def first_checks(month: Month) -> None:
    """Check all videos on day 0; a service fails to write the queries of one."""
    month.mind.broken = {("queries", claim.text) for claim in claims_of(UNWRITTEN)}
    for place, video_id in enumerate(VIDEOS):
        await month.check(video_id, FIRST_DAY + timedelta(minutes=place), ALL_STAGES, first=True)
    month.mind.broken.clear()


async def thirty_nights(month: Month) -> dict[int, list[Launch]]:
    """Plan and run every night, every third tick twice, as after a crash of the daemon."""
    planned: dict[int, list[Launch]] = {}
    for night in nights():
        month.web.broken = {OUTAGE} if OUTAGE_FROM <= night < OUTAGE_TO else set()
        held = {BUSY} if night in BUSY_NIGHTS else set()
        tick = tick_of(night)
        planned[night] = plan_night(month.store, LIMITS, tick, held=held)
        await month.recheck(night, planned[night])
        if night % 3 == 0:
            again = plan_night(month.store, LIMITS, tick, held={*VIDEOS})
            assert again == planned[night], "a repeated tick launches the same"
    return planned


async def test_a_month_of_nights_keeps_plan_flips_and_history_right(tmp_path: Path) -> None:
    async with a_month(tmp_path) as month:
        await first_checks(month)
        asked_on_day_0 = Counter(month.web.answered)
        planned = await thirty_nights(month)

        the_plan_kept_its_limits(month, planned)
        the_plan_put_first_things_first(planned)
        what_was_incomplete_was_healed(month, planned)
        the_flips_are_those_of_the_web(month)
        the_sources_changed_as_the_web_did(month)
        the_overlap_is_that_of_the_web(month)
        history_is_whole(month)
        searches_were_renewed_and_pages_asked_after(month, asked_on_day_0)
        retention_takes_old_texts_and_leaves_verdicts(month)


def the_plan_kept_its_limits(month: Month, planned: dict[int, list[Launch]]) -> None:
    last = dict.fromkeys(VIDEOS, 0)
    for night, launches in planned.items():
        assert len(launches) <= LIMITS.videos
        assert sum(each.estimated_cost_usd for each in launches) <= (LIMITS.cost_usd or 0)
        assert [each.position for each in launches] == list(range(1, len(launches) + 1))
        for each in launches:
            if each.video_id not in {OUTAGE, UNWRITTEN}:
                assert night - last[each.video_id] >= LIMITS.minimum_age_days
            last[each.video_id] = night
    # The cost of the earlier checks, from their calls: two claims with three sources each.
    steady = [each for each in planned[8] if each.video_id in VIDEOS[:4]]
    assert steady
    assert {round(each.estimated_cost_usd, 6) for each in steady} == {6 * COST_OF_READING}
    assert not any(BUSY in {each.video_id for each in planned[night]} for night in BUSY_NIGHTS)
    assert BUSY in {each.video_id for each in planned[BUSY_NIGHTS.stop]}
    # With 3 a night and an age of 7 nights, everybody's turn comes, again and again.
    checks = Counter(video_id for _, video_id, _ in month.runs)
    assert min(checks[video_id] for video_id in VIDEOS) >= 3
    assert len(month.runs) == sum(map(len, planned.values()))


def the_plan_put_first_things_first(planned: dict[int, list[Launch]]) -> None:
    assert [each.video_id for each in planned[1]] == [UNWRITTEN]
    assert all(not launches for night, launches in planned.items() if 1 < night < 7)
    first_due = [each.video_id for each in planned[7]]
    # Low confidence goes before age, then the order of the checks on day 0.
    assert first_due == [WEAK, *VIDEOS[:2]]
    assert [each.video_id for each in planned[8]] == ["video-03", TURNING, LOSING]
    assert "low confidence" in planned[7][0].reason
    assert "all verdicts complete" in planned[7][1].reason


def what_was_incomplete_was_healed(month: Month, planned: dict[int, list[Launch]]) -> None:
    ran = {(night, video): assets for night, video, assets in month.runs}
    # The run writes the missing queries and keeps the others.
    assert ran[1, UNWRITTEN] == RECHECK_ASSETS
    assert {assets for (_, video), assets in ran.items() if video != UNWRITTEN} == {RENEWED}
    turns = sorted(night for night, video in ran if video == OUTAGE)
    failed = [night for night in turns if OUTAGE_FROM <= night < OUTAGE_TO]
    # It is due by its age, fails, and comes again the next night, then more and more rarely.
    start = failed[0]
    backing_off = [start + wait for wait in (0, 1, 2, 4, 8, 16)]
    assert turns[: len(failed) + 1] == backing_off[: len(failed) + 1]
    healed = turns[len(failed)]
    assert healed >= OUTAGE_TO
    outcomes = month.store.query(
        "SELECT checked_at, status, stance FROM verdict_history WHERE video_id = ? ORDER BY ALL",
        [OUTAGE],
    ).rows()
    incomplete = {
        (at.replace(tzinfo=UTC) - FIRST_DAY).days
        for at, status, _ in outcomes
        if status == "incomplete"
    }
    assert incomplete == set(failed)
    assert all((stance is None) == (status == "incomplete") for _, status, stance in outcomes)
    assert month.store.query(
        "SELECT DISTINCT status, stance, latest_status FROM current_verdicts WHERE video_id = ?",
        [OUTAGE],
    ).rows() == [("complete", "supports", "complete")]


def the_flips_are_those_of_the_web(month: Month) -> None:
    changes = month.store.query(
        "SELECT claim_id, previous_stance, stance, checked_at, previous_checked_at "
        "FROM verdict_changes WHERE change = 'flip'"
    ).rows()
    assert {row[0] for row in changes} == {claim.claim_id for claim in claims_of(TURNING)}
    assert len(changes) == CLAIMS_PER_VIDEO
    turned = tick_of(TURNS_ON)
    for _, previous, stance, after, before in changes:
        assert (previous, stance) == ("supports", "refutes")
        assert before < turned <= after
    moves = month.store.query(
        "SELECT DISTINCT video_id, sign(confidence_move) FROM verdict_changes "
        "WHERE change = 'confidence'"
    ).rows()
    assert moves == [(GONE, -1.0)], "one source less makes a verdict less sure"


def the_sources_changed_as_the_web_did(month: Month) -> None:
    rows = month.store.query(
        "SELECT video_id, change, url, http_status, previous_content_hash <> content_hash, "
        "checked_at FROM source_changes"
    ).rows()
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for video_id, change, url, *_ in rows:
        found[video_id, change].add(url)
    assert found == {
        (TURNING, "text_changed"): {url_of(h, c) for h in STRONG for c in claims_of(TURNING)},
        (LOSING, "appeared"): {url_of(EXTRA, claim) for claim in claims_of(LOSING)},
        (LOSING, "vanished"): {url_of(STRONG[2], claim) for claim in claims_of(LOSING)},
        (GONE, "gone"): {url_of(STRONG[2], claim) for claim in claims_of(GONE)},
    }
    days = {change: (at.replace(tzinfo=UTC) - FIRST_DAY).days for _, change, _, _, _, at in rows}
    assert days["text_changed"] >= TURNS_ON
    assert days["vanished"] >= LOSES_ON
    assert days["gone"] >= GONE_ON
    assert {row[3] for row in rows if row[1] == "gone"} == {404}
    assert all(row[4] for row in rows if row[1] == "text_changed")
    assert len(rows) == sum(map(len, found.values())), "each change is reported once"


def the_overlap_is_that_of_the_web(month: Month) -> None:
    rows = month.store.query(
        "SELECT video_id, jaccard, searches_complete FROM evidence_overlap"
    ).rows()
    whole: dict[str, list[float | None]] = defaultdict(list)
    for video_id, jaccard, complete in rows:
        if complete:
            whole[video_id].append(jaccard)
    lost = sorted(each for each in whole.pop(LOSING) if each is not None)
    assert lost[:CLAIMS_PER_VIDEO] == [2 / 4] * CLAIMS_PER_VIDEO
    assert set(lost[CLAIMS_PER_VIDEO:]) == {1.0}
    assert {each for values in whole.values() for each in values} <= {1.0, None}
    disturbed = {video_id for video_id, _, complete in rows if not complete}
    assert disturbed == {OUTAGE}


def history_is_whole(month: Month) -> None:
    store = month.store
    runs = Counter(video_id for _, video_id, _ in month.runs)
    kept = dict(
        store.query("SELECT video_id, count(*) FROM verdict_history GROUP BY video_id").rows()
    )
    assert kept == {each: CLAIMS_PER_VIDEO * (1 + runs[each]) for each in VIDEOS}
    ids = {claim.claim_id for video_id in VIDEOS for claim in claims_of(video_id)}
    assert set(store.query("SELECT DISTINCT claim_id FROM verdict_history")["claim_id"]) == ids
    assert store.query("SELECT count(*) FROM claims").item() == len(ids)
    asked = store.query("SELECT video_id, query_id, run_id FROM queries WHERE status = 'ok'")
    assert asked.height == asked["query_id"].n_unique() == len(ids), "queries are kept"
    for video_id in VIDEOS:
        assert {verdict.status for verdict in store.read_current(Verdict, video_id)} == {"complete"}


def searches_were_renewed_and_pages_asked_after(month: Month, first: Counter[int]) -> None:
    # Each run asks each search anew, though its last answer may still be a fresh one.
    runs = len(month.runs)
    # Each failing search runs once, and none for the video without queries on day 0.
    assert month.web.searches == CLAIMS_PER_VIDEO * (len(VIDEOS) - 1 + runs)
    later = Counter(month.web.answered) - first
    changed = CLAIMS_PER_VIDEO * (len(STRONG) + 1)  # of TURNING, and EXTRA of LOSING
    unread = CLAIMS_PER_VIDEO * len(STRONG)  # of UNWRITTEN, when its queries could be written
    assert later[200] == changed + unread
    assert later[304] > 10 * later[200]


def retention_takes_old_texts_and_leaves_verdicts(month: Month) -> None:
    store = month.store
    before = {
        table: store.query(f"SELECT * FROM {table} ORDER BY ALL").rows()  # noqa: S608
        for table in ("verdict_history", "evidence", "claims", "pages", "current_verdicts")
    }
    now = tick_of(31)
    # The texts of TURNING before it turned; and the source that LOSING has lost.
    old = CLAIMS_PER_VIDEO * (len(STRONG) + 2)
    due = trim_texts(store, before=now - timedelta(days=7), now=now, dry_run=True)
    assert due[0] == old
    assert trim_texts(store, before=now - timedelta(days=7), now=now) == due
    for table, rows in before.items():
        assert store.query(f"SELECT * FROM {table} ORDER BY ALL").rows() == rows  # noqa: S608
    states = dict(store.query("SELECT state, count(*) FROM text_states GROUP BY state").rows())
    assert states["trimmed"] == old
    assert "missing" not in states
    assert (
        store.query(
            "SELECT count(*) FROM verdict_evidence ANTI JOIN page_texts USING (content_hash) "
            "WHERE content_hash IS NOT NULL"
        ).item()
        == 0
    )
    assert trim_texts(store, before=now - timedelta(days=7), now=now)[0] == 0


def test_the_plan_equals_the_view(tmp_path: Path) -> None:
    store = Warehouse(tmp_path / "warehouse.duckdb")
    later = datetime.now(UTC) + timedelta(days=1)
    assert read_plan(store, LIMITS, later, next_tick=later) == []
    shown = store.query(
        "SELECT videos_per_night, cost_per_night_usd, minimum_age_days FROM recheck_settings"
    ).rows()
    assert shown == [(LIMITS.videos, LIMITS.cost_usd, LIMITS.minimum_age_days)]
