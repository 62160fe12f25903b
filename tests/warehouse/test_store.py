"""Sets are complete or not there, and the newest one is the current one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

import duckdb
import pytest

from factible_assets.records.tables import (
    Claim,
    Evidence,
    LlmCall,
    PageText,
    Query,
    Record,
    SearchHit,
    Verdict,
)
from tests.warehouse.samples import (
    PAGE,
    QUOTE,
    asset_rows,
    claim,
    evidence,
    fact_check,
    failed_evidence,
    incomplete_verdict,
    llm_call,
    page,
    page_text,
    query,
    sha256,
    stamp,
    verdict,
    write_asset,
)
from warehouse.connection import FileConnector
from warehouse.errors import WarehouseError, WarehouseIntegrityError
from warehouse.rows import Stamp, data_version
from warehouse.store import Warehouse

Counts = dict[str, int]


def counts(warehouse: Warehouse) -> Counts:
    """The rows of the tables that a failed write would leave something in."""
    parts = [f"SELECT '{table}', count(*) FROM {table}" for table in EXPECTED]  # noqa: S608
    return dict(warehouse.query(" UNION ALL ".join(parts)).rows())


def test_a_whole_fact_check_is_read_back_in_natural_order(in_memory: Warehouse) -> None:
    in_memory.write_assets("v", fact_check("v"), stamp=stamp(1))
    assert [row.rank for row in in_memory.read_current(Claim, "v")] == [1, 2]
    assert in_memory.read_current(Query, "v") == [query("v", 1), query("v", 2)]
    assert in_memory.read_current(PageText, "v") == [page_text()]
    assert in_memory.read_current(Claim, "another") == []


def test_a_set_is_written_with_its_materialization(in_memory: Warehouse) -> None:
    rows = [claim("v"), llm_call("v", "claims")]
    written = write_asset(
        in_memory, "claims", "v", rows, stamp=stamp(1), code_version="7", duration_seconds=2.5
    )
    assert written == in_memory.current_sets("v").get("claims")
    assert written.row_count == 2
    assert written.data_version == data_version(rows)
    assert (written.run_id, written.checked_at) == ("run-1", stamp(1).checked_at)
    assert (written.code_version, written.duration_seconds) == ("7", 2.5)
    assert in_memory.current_sets("another").get("claims") is None


def test_writing_again_under_the_same_run_replaces_the_set(in_memory: Warehouse) -> None:
    in_memory.write_assets("v", fact_check("v", claims=3), stamp=stamp(1))
    in_memory.write_assets("v", fact_check("v", claims=2), stamp=stamp(1))
    twice = counts(in_memory)
    assert twice["claims"] == 2
    assert twice["llm_calls"] == 4
    assert twice["page_texts"] == 1
    assert twice["materializations"] == 7


def test_older_sets_stay_as_history(in_memory: Warehouse) -> None:
    write_asset(in_memory, "claims", "v", [claim("v", 1)], stamp=stamp(1), code_version="1")
    write_asset(in_memory, "claims", "v", [claim("v", 2)], stamp=stamp(2), code_version="1")
    assert in_memory.read_current(Claim, "v") == [claim("v", 2)]
    assert counts(in_memory)["claims"] == 2


def test_the_newest_check_is_current_even_if_it_was_written_first(in_memory: Warehouse) -> None:
    write_asset(in_memory, "claims", "v", [claim("v", 2)], stamp=stamp(2), code_version="1")
    write_asset(in_memory, "claims", "v", [claim("v", 1)], stamp=stamp(1), code_version="1")
    assert in_memory.read_current(Claim, "v") == [claim("v", 2)]


def test_a_check_under_a_clock_that_was_years_ahead_hides_no_later_one(
    in_memory: Warehouse,
) -> None:
    ahead = Stamp(run_id="ahead", checked_at=datetime.now(UTC).replace(year=2999, day=1))
    in_memory.write_assets("v", fact_check("v", claims=3), stamp=ahead)
    assert len(in_memory.read_current(Verdict, "v")) == 3
    in_memory.write_assets("v", fact_check("v", claims=2), stamp=stamp(1))
    assert len(in_memory.read_current(Verdict, "v")) == 2
    question = "SELECT DISTINCT run_id, latest_run_id FROM current_verdicts"
    with in_memory.connection() as connection:
        assert connection.execute(question).fetchall() == [("run-1", "run-1")]


def test_a_set_without_rows_is_current_and_shows_no_old_rows(in_memory: Warehouse) -> None:
    in_memory.write_assets("v", fact_check("v"), stamp=stamp(1))
    write_asset(in_memory, "claims", "v", [], stamp=stamp(2), code_version="1")
    assert in_memory.read_current(Claim, "v") == []
    assert in_memory.read_video("v", ["claims"]).sets["claims"].row_count == 0
    assert in_memory.read_current(Verdict, "v") == []


def test_sets_of_different_assets_are_independent(in_memory: Warehouse) -> None:
    in_memory.write_assets("v", fact_check("v"), stamp=stamp(1))
    write_asset(in_memory, "queries", "v", [], stamp=stamp(2), code_version="1")
    assert in_memory.read_current(Query, "v") == []
    assert len(in_memory.read_current(Evidence, "v")) == 2
    stages = {call.stage for call in in_memory.read_current(LlmCall, "v")}
    assert stages == {"claims", "evidence", "verdicts"}


def test_a_text_is_stored_once_with_the_stamp_of_its_first_reader(in_memory: Warehouse) -> None:
    for run, video_id in enumerate(["first", "second"], start=1):
        rows = [page(video_id), page_text(), page_text()]
        write_asset(in_memory, "evidence", video_id, rows, stamp=stamp(run), code_version="1")
    stored = in_memory.query("SELECT content_hash, run_id FROM page_texts").rows()
    assert stored == [(sha256(PAGE), "run-1")]
    assert in_memory.read_current(PageText, "first") == in_memory.read_current(PageText, "second")


def test_a_quote_from_a_snippet_has_its_text_wherever_texts_are_read(in_memory: Warehouse) -> None:
    snippet = f"The survey found: {QUOTE}."
    gone = page("v").model_copy(
        update={"status": "no_evidence", "reason": "HTTP status 404", "via": None}
        | {"content_hash": None}
    )
    row = evidence("v", text=snippet).model_copy(update={"via": "snippet"})
    sets = fact_check("v") | {"evidence": asset_rows(gone, row, page_text(snippet))}
    in_memory.write_assets("v", sets, stamp=stamp(1))
    failed = asset_rows(failed_evidence("v", 1))
    in_memory.write_assets("v", {"evidence": failed}, stamp=stamp(2))
    assert page_text(snippet) in in_memory.read_current(PageText, "v")
    assert in_memory.read_judged("v").texts[sha256(snippet)] == snippet
    orphans = in_memory.query(
        "SELECT evidence_id FROM verdict_evidence ANTI JOIN current_page_texts "
        "USING (content_hash, video_id) WHERE quote IS NOT NULL"
    )
    assert orphans.is_empty()


def test_evidence_may_refer_to_a_text_that_was_stored_before(in_memory: Warehouse) -> None:
    in_memory.write_assets("v", fact_check("v"), stamp=stamp(1))
    rows = [page("w"), evidence("w")]
    write_asset(in_memory, "evidence", "w", rows, stamp=stamp(2), code_version="1")
    assert in_memory.read_current(Evidence, "w") == [evidence("w")]


def test_a_failed_recheck_leaves_the_last_good_verdict_in_place(in_memory: Warehouse) -> None:
    in_memory.write_assets("v", fact_check("v", claims=2), stamp=stamp(1))
    found = in_memory.read_current(SearchHit, "v")
    failed = {
        "search_hits": asset_rows(),
        "evidence": asset_rows(failed_evidence("v", 1), failed_evidence("v", 2)),
        "verdicts": asset_rows(incomplete_verdict("v", 1), incomplete_verdict("v", 2)),
    }
    in_memory.write_assets("v", failed, stamp=stamp(2))

    assert in_memory.read_current(Verdict, "v") == [verdict("v", 1), verdict("v", 2)]
    shown = in_memory.query(
        "SELECT DISTINCT status, run_id, latest_status, latest_reason, latest_run_id, "
        "latest_checked_at FROM current_verdicts"
    ).rows()
    second = stamp(2).checked_at
    reason = incomplete_verdict("v").reason
    assert shown == [("complete", "run-1", "incomplete", reason, "run-2", second)]
    # A verdict is shown with its own evidence, not with that of a later failure.
    standing = in_memory.read_judged("v")
    assert list(standing.evidence) == [evidence("v", 1), evidence("v", 2)]
    assert list(standing.hits) == found != in_memory.read_current(SearchHit, "v") == []
    assert {row.status for row in in_memory.read_current(Evidence, "v")} == {"infra_error"}

    in_memory.write_assets("v", fact_check("v"), stamp=stamp(3))
    again = in_memory.query("SELECT DISTINCT run_id, latest_status FROM current_verdicts").rows()
    assert again == [("run-3", "complete")]


def test_a_claim_without_a_good_verdict_shows_its_newest_incomplete_one(
    in_memory: Warehouse,
) -> None:
    write_asset(in_memory, "claims", "v", [claim("v")], stamp=stamp(1), code_version="1")
    for run in (1, 2):
        rows = [incomplete_verdict("v").model_copy(update={"missing": run})]
        write_asset(in_memory, "verdicts", "v", rows, stamp=stamp(run), code_version="1")
    assert [row.missing for row in in_memory.read_current(Verdict, "v")] == [2]


def test_a_removed_claim_has_no_current_verdict(in_memory: Warehouse) -> None:
    in_memory.write_assets("v", fact_check("v", claims=2), stamp=stamp(1))
    write_asset(in_memory, "claims", "v", [claim("v", 2)], stamp=stamp(2), code_version="1")
    assert in_memory.read_current(Verdict, "v") == [verdict("v", 2)]


def test_later_verdicts_rest_on_the_evidence_of_their_time(in_memory: Warehouse) -> None:
    in_memory.write_assets("v", fact_check("v", claims=1), stamp=stamp(1))
    write_asset(in_memory, "verdicts", "v", [verdict("v")], stamp=stamp(2), code_version="2")
    rows = [failed_evidence("v")]
    write_asset(in_memory, "evidence", "v", rows, stamp=stamp(3), code_version="1")
    assert list(in_memory.read_judged("v").evidence) == [evidence("v")]


def test_an_asset_is_read_as_a_whole(in_memory: Warehouse) -> None:
    in_memory.write_assets("v", fact_check("v"), stamp=stamp(1))
    current = in_memory.read_video("v", ["evidence"])
    assert list(current.sets) == ["evidence"]
    assert current.pages == (page("v"),)
    assert current.page_texts == (page_text(),)
    assert current.evidence == (evidence("v", 1), evidence("v", 2))
    assert current.llm_calls == (llm_call("v", "evidence"),)
    assert current.claims == ()


# --- Refusals -----------------------------------------------------------------------------------


EXPECTED = {
    "claims": 2,
    "evidence": 2,
    "llm_calls": 4,
    "materializations": 7,
    "page_texts": 1,
    "pages": 1,
    "queries": 2,
    "verdicts": 2,
}


def ungrounded(**changes: Any) -> list[Record]:
    return [page("v"), page_text(), evidence("v").model_copy(update=changes)]


def test_rows_that_break_a_rule_are_refused_and_change_nothing(in_memory: Warehouse) -> None:
    in_memory.write_assets("v", fact_check("v"), stamp=stamp(1))
    breaks: list[tuple[str, list[Record], str]] = [
        ("claims", [query("v")], "Query does not belong to the asset claims"),
        ("claims", [claim("w")], "Claim of another video"),
        ("claims", [llm_call("v", "verdicts")], "model call of the stage verdicts"),
        ("rumours", [], "no asset rumours"),
        ("claims", [claim("v"), claim("v")], "(?i)duplicate key"),
        ("claims", [claim("v").model_copy(update={"importance": 2.0})], "CHECK constraint"),
        ("claims", [claim("v").model_copy(update={"text": "lone \ud800"})], "surrogate"),
        ("claims", [claim("v").model_copy(update={"rank": 2**63})], "64 bits"),
        ("evidence", [page("v", "not stored")], "1 texts that it refers to are not stored"),
        ("evidence", ungrounded(quote="9 of 10 wasps 🐝 are solitary"), "1 quotes do not stand"),
        ("evidence", ungrounded(quote_start=7), "1 quotes do not stand"),
        ("evidence", ungrounded(content_hash=None), "1 quotes do not stand"),
        ("evidence", [page_text().model_copy(update={"text": "other"})], "SHA-256"),
        (
            "evidence",
            [page("v").model_copy(update={"retrieved_at": datetime(2024, 1, 1)}), page_text()],  # noqa: DTZ001
            "time zone",
        ),
    ]
    for asset, rows, sentence in breaks:
        with pytest.raises(WarehouseIntegrityError, match=sentence):
            write_asset(in_memory, asset, "v", rows, stamp=stamp(2), code_version="1")
        assert counts(in_memory) == EXPECTED


def test_a_refusal_does_not_quote_the_row(in_memory: Warehouse) -> None:
    secret = "correct horse battery staple"
    rows = [claim("v").model_copy(update={"text": secret, "importance": 2.0})]
    with pytest.raises(WarehouseIntegrityError) as refusal:
        write_asset(in_memory, "claims", "v", rows, stamp=stamp(1), code_version="1")
    rows = [claim("v").model_copy(update={"text": secret + "\ud800"})]
    with pytest.raises(WarehouseIntegrityError) as other:
        write_asset(in_memory, "claims", "v", rows, stamp=stamp(1), code_version="1")
    assert secret not in repr([refusal.value, refusal.value.__cause__, other.value])


def test_rows_without_a_set_are_written_with_all_their_columns_or_refused(
    in_memory: Warehouse,
) -> None:
    use = {"video_id": "v", "run_id": "r", "stage": "evidence", "requests": 1}
    use["checked_at"] = stamp(1).checked_at
    rows = [use | {"service": "jina"}, use | {"service": "other", "cost_usd": 0.5}]
    in_memory.write_rows({"service_uses": rows})
    costs = in_memory.rows("SELECT cost_usd FROM service_uses ORDER BY service")
    assert costs == [{"cost_usd": None}, {"cost_usd": 0.5}]
    for odd in ({"service": "\ud800"}, {"service": "x", "requests": 2**63}):
        with pytest.raises(WarehouseIntegrityError, match="cannot hold"):
            in_memory.write_rows({"service_uses": [use | odd]})


def test_a_stamp_needs_a_run_and_a_time_zone() -> None:
    with pytest.raises(ValueError, match="timezone"):
        Stamp(run_id="r", checked_at=datetime(2024, 1, 1))  # noqa: DTZ001
    with pytest.raises(ValueError, match="run_id"):
        Stamp(run_id="", checked_at=datetime(2024, 1, 1, tzinfo=UTC))


# --- Failures half-way --------------------------------------------------------------------------


class InjectedError(Exception):
    """The failure that a test injects."""


@dataclass
class FailingConnection:
    """A connection that fails at its n-th statement after a transaction began."""

    real: duckdb.DuckDBPyConnection
    fail_at: int
    statements: int = 0
    is_writing: bool = False

    def begin(self) -> None:
        self.is_writing = True
        self.real.begin()

    def commit(self) -> None:
        self._count()
        self.real.commit()

    def execute(self, *arguments: Any) -> duckdb.DuckDBPyConnection:
        if self.is_writing:
            self._count()
        return self.real.execute(*arguments)

    def _count(self) -> None:
        self.statements += 1
        if self.statements == self.fail_at:
            raise InjectedError

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


@dataclass(frozen=True)
class FailingConnector(FileConnector):
    fail_at: int = -1
    opened: list[FailingConnection] = field(default_factory=list)

    @contextmanager
    def connect(self, *, read_only: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
        with super().connect(read_only=read_only) as real:
            self.opened.append(FailingConnection(real, self.fail_at))
            yield cast("duckdb.DuckDBPyConnection", self.opened[-1])


def test_a_write_that_fails_at_any_statement_changes_nothing(warehouse: Warehouse) -> None:
    warehouse.write_assets("v", fact_check("v", claims=1), stamp=stamp(1))
    uninterrupted = FailingConnector(warehouse.path)
    sets = fact_check("v", claims=2)
    Warehouse(uninterrupted).write_assets("w", fact_check("w"), stamp=stamp(1))
    statements = uninterrupted.opened[-1].statements
    assert statements > 20

    before = counts(warehouse)
    for fail_at in range(1, statements + 1, 5):
        failing = Warehouse(FailingConnector(warehouse.path, fail_at=fail_at))
        with pytest.raises(InjectedError):
            failing.write_assets("v", sets, stamp=stamp(1))
        assert counts(warehouse) == before
    assert warehouse.read_current(Claim, "v") == [claim("v", 1)]


def test_of_several_sets_none_is_kept_if_the_last_is_refused(in_memory: Warehouse) -> None:
    sets = fact_check("v") | {"verdicts": asset_rows(verdict("v"), verdict("v"))}
    with pytest.raises(WarehouseIntegrityError, match="verdicts of video v"):
        in_memory.write_assets("v", sets, stamp=stamp(1))
    assert set(counts(in_memory).values()) == {0}


# --- Questions ----------------------------------------------------------------------------------


def test_values_of_a_question_are_parameters(in_memory: Warehouse) -> None:
    in_memory.write_assets("v'; DROP TABLE claims --", {}, stamp=stamp(1))
    name = "v'; DROP TABLE claims --"
    write_asset(in_memory, "claims", name, [claim(name)], stamp=stamp(1), code_version="1")
    found = in_memory.query("SELECT rank FROM claims WHERE video_id = ?", [name])
    assert found.rows() == [(1,)]
    named = in_memory.query("SELECT rank FROM claims WHERE video_id = $video", {"video": name})
    assert named.rows() == [(1,)]


def test_a_question_cannot_change_the_warehouse(warehouse: Warehouse) -> None:
    for statement in ("DELETE FROM claims", "CREATE TABLE mine (x INTEGER)", "DROP VIEW failures"):
        with pytest.raises(duckdb.Error, match="read-only"):
            warehouse.query(statement)
    assert warehouse.query("BEGIN TRANSACTION").is_empty()


@pytest.mark.parametrize("location", [":memory:", "md:warehouse", "ducklake:postgres:x"])
def test_a_location_that_is_no_file_is_refused(location: str) -> None:
    with pytest.raises(WarehouseError, match="is not a file"):
        Warehouse(location)


def test_the_cost_of_a_cached_answer_counts_once(in_memory: Warehouse) -> None:
    """The first run was killed before it could say so; the second makes it good."""

    def call(number: int, request: str, *, kept: bool) -> LlmCall:
        return llm_call("v", "claims", number).model_copy(
            update={"request_id": request, "cache_hit": kept}
        )

    def paid() -> float:
        return float(in_memory.query("SELECT sum(cost_usd) FROM llm_calls").item())

    restored = [call(1, "lost", kept=True), call(2, "new", kept=False), call(3, "lost", kept=True)]
    write_asset(in_memory, "claims", "v", restored, stamp=stamp(1), code_version="1")
    assert paid() == 0.5, "two requests at a quarter each"
    again = [call(1, "lost", kept=True), call(2, "new", kept=True)]
    write_asset(in_memory, "claims", "v", again, stamp=stamp(2), code_version="1")
    assert paid() == 0.5
    write_asset(in_memory, "claims", "v", again, stamp=stamp(2), code_version="1")
    assert paid() == 0.5, "a run that is repeated replaces its own rows"
