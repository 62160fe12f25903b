from __future__ import annotations

import csv
import io
import json
import os
import signal
import threading
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from factible_assets.runs import query as queries
from tests.cli.conftest import Run
from tests.cli.stored import VIDEO_ID, store_published, store_sample

STANCES = "select stance, count(*) as claims from current_verdicts group by all order by stance"


@pytest.fixture(autouse=True)
def _checked(home: Path) -> None:
    store_sample(home)


def test_an_answer_is_drawn_as_a_table(factible: Run) -> None:
    result = factible("sql", STANCES)
    assert result.exit_code == 0
    words = result.stdout.split()
    assert words[:2] == ["stance", "claims"]
    assert "supports" in words


def test_no_word_of_a_wide_answer_is_broken_or_cut_off(factible: Run) -> None:
    shown = factible("sql", "from source_scoreboard").stdout
    for word in ("a.example", "encyclopedia", "without_evidence", "rejected_quotes"):
        assert word in shown.split()


def test_an_answer_can_be_csv_and_json(factible: Run) -> None:
    rows = list(csv.DictReader(io.StringIO(factible("sql", STANCES, "-f", "csv").stdout)))
    documents = json.loads(factible("sql", STANCES, "-f", "json").stdout)
    assert {row["stance"]: int(row["claims"]) for row in rows if row["stance"]} == {
        row["stance"]: row["claims"] for row in documents if row["stance"]
    }
    assert len(rows) == 5


def test_lists_are_json_inside_csv(factible: Run) -> None:
    result = factible("sql", "select reasons from current_reliability_ratings", "-f", "csv")
    (row,) = csv.DictReader(io.StringIO(result.stdout))
    assert json.loads(row["reasons"]) == ["written and reviewed by named editors"]


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\uff1d", " ="])
def test_no_text_in_a_csv_is_a_formula(factible: Run, tmp_path: Path, start: str) -> None:
    cell = f"{start}HYPERLINK(1)"
    target = tmp_path / "cells.csv"
    query = "select $cell as cell, -1 as number, 'a' || $cell as inside, 'a; =b()' as split"
    result = factible("sql", query, "-p", f"cell={cell}", "-f", "csv", "-o", target)
    assert result.exit_code == 0, result.stderr
    with target.open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["split"] == "a; '=b()"
    assert row["cell"].lstrip(" ") == f"'{cell.lstrip(' ')}"
    assert (row["number"], row["inside"]) == ("-1", f"a{cell}")


def test_an_answer_can_be_written_to_a_parquet_file(factible: Run, tmp_path: Path) -> None:
    target = tmp_path / "out" / "stances.parquet"
    result = factible("sql", STANCES, "--format", "parquet", "--output", target)
    assert result.exit_code == 0
    assert result.stdout == ""
    assert pl.read_parquet(target).height == 5


def test_parameters_are_values_and_never_sql(factible: Run) -> None:
    query = "select count(*) as n from current_claims where video_id = $video and rank >= $low"
    found = factible("sql", query, "--param", f"video={VIDEO_ID}", "-p", "low=1", "-f", "json")
    assert json.loads(found.stdout) == [{"n": 5}]
    hostile = factible("sql", query, "-p", "video=' or 1=1 --", "-p", "low=1", "-f", "json")
    assert json.loads(hostile.stdout) == [{"n": 0}]


@pytest.mark.parametrize("pair", ["video", "=x", "a b=1"])
def test_a_parameter_without_a_name_is_wrong_usage(factible: Run, pair: str) -> None:
    result = factible("sql", "select 1", "-p", pair)
    assert result.exit_code == 2
    assert "NAME=VALUE" in result.stderr


def test_the_query_can_come_from_stdin(factible: Run) -> None:
    assert json.loads(factible("sql", "-f", "json", stdin="select 7 as n").stdout) == [{"n": 7}]


def test_without_a_query_the_views_are_listed_with_their_comments(factible: Run) -> None:
    result = factible("sql", stdin="")
    assert result.exit_code == 0
    assert "current_verdicts" in result.stdout
    assert "The newest transcript of each video." in result.stdout


def test_schema_prints_the_meaning_of_columns(factible: Run) -> None:
    rows = json.loads(factible("sql", ".schema model_usage", "--json").stdout)
    assert {
        "column": "provider",
        "type": "VARCHAR",
        "meaning": "The provider of the model.",
    } in rows


@pytest.mark.parametrize(
    ("query", "place", "remedy"),
    [
        ("select stanse from current_verdicts", "line 1, column 8", ".schema NAME"),
        ("select 1\nfrom\nnowhere", "line 3, column 1", "factible sql .tables"),
        ("selec 1", "line 1, column 1", "Correct it there"),
        (" + ".join(["select 1", *["1"] * 60, "nix"]), "near 'nix", ".schema NAME"),
        ("select 'x'::int", "", "try_cast"),
        ("select $video", "", "-p NAME=VALUE"),
        (".schema nowhere", "", ".tables"),
        (".schema", "", ".tables"),
        (".wrong", "", ".schema"),
    ],
)
def test_a_query_error_is_one_line_with_place_and_remedy(
    factible: Run, query: str, place: str, remedy: str
) -> None:
    result = factible("sql", query)
    assert result.exit_code == 4
    assert len(result.stderr.splitlines()) == 1
    assert place in result.stderr
    assert remedy in result.stderr


@pytest.mark.parametrize(
    "query",
    [
        "from current_verdicts where stance = 'refuted'",
        "from current_verdicts where 'Refuted' <> stance",
        "from current_verdicts v where v.stance in ('supports', 'refuted')",
        "select count(*) filter (stance = 'refuted') from evidence_chain",
        "select case stance when 'refuted' then 1 end from current_verdicts",
        "with v as (from current_verdicts where stance = 'refuted') select count(*) from v",
    ],
)
def test_comparing_a_stance_with_another_word_is_refused(factible: Run, query: str) -> None:
    result = factible("sql", query)
    assert result.exit_code == 4
    assert "Write 'refutes'" in result.stderr
    assert result.stdout == ""


def test_comparing_a_verdict_with_a_stance_is_refused(factible: Run) -> None:
    result = factible("sql", "from evidence_chain where verdict = 'refutes'")
    assert result.exit_code == 4
    assert "Write 'refuted'" in result.stderr
    query = "from verdicts where verdict in ('refuted', 'not judged yet')"
    assert factible("sql", query).exit_code == 0


def test_a_parameter_that_is_no_stance_is_refused(factible: Run) -> None:
    query = "from current_verdicts where stance = $s"
    result = factible("sql", "-p", "s=true story", query)
    assert "never holds 'true story'" in result.stderr
    assert factible("sql", "-p", "s=refutes", query).exit_code == 0


@pytest.mark.parametrize(
    "query",
    [
        "from current_verdicts where stance = 'refutes' and claim = 'refuted'",
        "from (select upper(stance) as stance from current_verdicts) where stance = 'REFUTES'",
        f"select {'(' * 200}1{')' * 200}",
    ],
)
def test_other_words_are_no_stances_to_refuse(factible: Run, query: str) -> None:
    assert factible("sql", query).exit_code == 0


def test_json_may_be_asked_for_as_everywhere(factible: Run) -> None:
    assert json.loads(factible("sql", "select 1 as n", "--json").stdout) == [{"n": 1}]
    assert factible("sql", "select 1", "--json", "-f", "csv").exit_code == 2


def test_duckdb_stack_traces_are_omitted(factible: Run) -> None:
    result = factible(
        "sql", "call enable_profiling(format='json', save_location='x.json'); select 1"
    )
    assert (result.exit_code, "Stack Trace" in result.stderr) == (4, False)


def test_nothing_can_be_changed(factible: Run) -> None:
    result = factible("sql", "delete from verdict_history")
    assert result.exit_code == 4
    assert "read-only" in result.stderr
    assert json.loads(
        factible("sql", "select count(*) as n from verdicts", "-f", "json").stdout
    ) == [{"n": 5}]


@pytest.mark.parametrize(
    "query",
    [
        "copy (select 1) to 'warehouse.duckdb'",
        "select 1; copy (select 1) to 'out.csv'",
        "explain analyze copy (select 1) to 'out.csv'",
        "from read_csv('secret.txt')",
        "from read_text('secret.txt')",
        "call enable_logging(storage='file', storage_path='logs')",
        "from glob('*')",
        "from read_json('http://127.0.0.1:9/x')",
        "attach 'other.duckdb'",
        "export database 'folder'",
        "import database 'folder'",
        "install httpfs",
        "load httpfs",
        "set enable_external_access = true",
        "set allowed_directories = ['.']",
        "reset lock_configuration",
        "set temp_directory = '.'",
    ],
)
def test_a_query_reads_and_writes_no_other_file(factible: Run, home: Path, query: str) -> None:
    Path("secret.txt").write_text("a secret")
    before = (home / "warehouse.duckdb").read_bytes()
    result = factible("sql", query)
    assert result.exit_code == 4
    assert "reaches only the warehouse" in result.stderr
    assert "--output FILE" in result.stderr
    assert "secret" not in result.stdout
    assert [path.name for path in Path().iterdir()] == ["secret.txt"]
    assert (home / "warehouse.duckdb").read_bytes() == before


def test_the_published_copy_answers_unless_the_live_one_is_asked(factible: Run, home: Path) -> None:
    store_published(home)
    store_sample(home, ("supports",))
    query = ("sql", "select count(*) as n from current_verdicts", "-f", "json")
    assert json.loads(factible(*query).stdout) == [{"n": 5}]
    assert json.loads(factible(*query, "--live").stdout) == [{"n": 1}]


def test_the_remedy_for_a_damaged_copy_for_readers_helps(factible: Run, home: Path) -> None:
    copy = home / "published.duckdb"
    store_sample(home).publish(copy)
    copy.write_bytes(b"not a database" * 1_000)
    assert "move it away: the next check makes a new one" in factible("sql", "select 1").stderr
    copy.unlink()
    assert factible("sql", "select 1").exit_code == 0


def test_control_characters_of_stored_text_never_reach_the_terminal(factible: Run) -> None:
    result = factible("sql", "select 'a' || chr(27) || '[31m' || chr(10) || 'b' as t")
    assert "\x1b" not in result.stdout
    assert "a [31m b" in result.stdout


def test_ctrl_c_stops_a_query(factible: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    endless = "select sum(a.range * b.range) from range(100000000) a, range(1000000) b"
    fetch = queries._fetch

    def press_and_fetch(*given: Any, **named: Any) -> queries.Answer:
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        return fetch(*given, **named)

    monkeypatch.setattr(queries, "_fetch", press_and_fetch)
    result = factible("sql", "--live", endless)
    assert (result.exit_code, result.stdout) == (130, "")


def test_the_time_between_two_moments_is_an_answer(factible: Run) -> None:
    query = "select interval 26 hour as age, null as nothing, 'a' as name"
    assert "1 day, 2:00:00" in factible("sql", query).stdout
    (row,) = json.loads(factible("sql", query, "-f", "json").stdout)
    assert row == {"age": "1 day, 2:00:00", "nothing": None, "name": "a"}
    (row,) = csv.DictReader(io.StringIO(factible("sql", query, "-f", "csv").stdout))
    assert row["age"] == "P1DT2H"
    since = factible(
        "sql", "select claim_id, now() - checked_at as age from verdicts", "-f", "json"
    )
    assert since.exit_code == 0, since.stderr


@pytest.mark.parametrize("form", ["json", "parquet"])
def test_columns_of_one_name_are_refused_where_one_would_be_lost(
    factible: Run, tmp_path: Path, form: str
) -> None:
    query = "select 1 as a, 2 as a"
    assert factible("sql", query, "-f", "csv").stdout == "a,a\n1,2\n"
    refused = factible("sql", query, "-f", form, "-o", tmp_path / "out")
    assert refused.exit_code == 4
    assert "Name them" in refused.stderr


@pytest.mark.parametrize("form", ["table", "csv", "json", "parquet"])
def test_values_of_every_type_are_an_answer(factible: Run, tmp_path: Path, form: str) -> None:
    target = tmp_path / "types"
    result = factible("sql", "from test_all_types()", "-f", form, "-o", target)
    # Arrow has no form for some of them, such as bits of unequal length.
    assert (result.exit_code == 0 and target.stat().st_size > 0) or (
        form == "parquet" and "Convert such columns" in result.stderr
    ), result.stderr


def test_the_keys_of_a_map_may_be_of_any_type(factible: Run) -> None:
    query = "select map {date '2026-01-02': 1} as by_day"
    assert json.loads(factible("sql", query, "--json").stdout) == [{"by_day": {"2026-01-02": 1}}]


def test_a_query_beyond_the_time_limit_gets_a_sentence(factible: Run) -> None:
    endless = "select sum(a.range * b.range) from range(100000000) a, range(1000000) b"
    result = factible("sql", endless, "--seconds", "0.5")
    assert (result.exit_code, result.stdout) == (4, "")
    assert "no answer after 0.5 seconds" in result.stderr
    assert "--seconds" in result.stderr


@pytest.mark.parametrize("query", [";", " ; ", "-- nothing\n"])
def test_an_empty_query_has_no_answer(factible: Run, query: str) -> None:
    result = factible("sql", "--", query)
    assert (result.exit_code, result.stdout) == (0, "")


def test_several_queries_at_once_are_refused(factible: Run) -> None:
    several = factible("sql", "select 1 as first; select 2 as second", "-f", "csv")
    assert (several.exit_code, several.stdout) == (4, "")
    assert "answers one query at a time" in several.stderr
    one = factible(
        "sql", "pivot (select 1 a, ';' b) on a using max(b) ; ; -- one; only", "-f", "csv"
    )
    assert (one.exit_code, one.stdout) == (0, "1\n;\n")


def test_no_odd_text_or_number_stops_the_command(factible: Run) -> None:
    for value in ("1" * 5_000, "[" * 50_000, "a\udcff"):
        result = factible("sql", "-p", f"x={value}", "select length($x) as n", "-f", "json")
        assert json.loads(result.stdout) == [{"n": len(value)}], result.stderr
    broken = factible("sql", "select \udcff")
    assert broken.exit_code == 4
    assert "The query failed" in broken.stderr


def test_a_sentence_finds_the_claims_that_say_the_same_with_their_verdicts(factible: Run) -> None:
    query = "select claim, verdict from verdicts order by claim_rank limit 1"
    ((claim, verdict),) = (
        row.values() for row in json.loads(factible("sql", query, "--json").stdout)
    )
    (found, *_) = json.loads(factible("said", claim, "--json").stdout)
    assert (found["claim"], found["verdict"], found["relation"]) == (claim, verdict, "same")
    assert "No claim of a checked video" in factible("said", "Zebras hum at dusk").stdout


def test_a_piped_table_is_as_wide_as_columns_says(
    factible: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    query = "select repeat('word ', 30) as text, 1 as n"
    assert max(map(len, factible("sql", query).stdout.splitlines())) <= 60
