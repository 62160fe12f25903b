from __future__ import annotations

import errno
import json
import os
import sqlite3
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import dagster as dg
import pytest

import factible_assets
from factible_assets.cli.output import as_json, message_and_code, sentence
from factible_assets.errors import EXIT_CODES, ExitCode, FactibleError, explained
from factible_assets.runs.instance import open_instance
from factible_assets.settings import Settings
from tests.cli.conftest import Run
from tests.cli.stored import VIDEO_ID, store_sample
from warehouse.lake import Lake

HEAVY = ("dagster", "polars", "pyarrow", "trafilatura", "onnxruntime", "mcp", "fastapi")
"""Modules that take a quarter of a second or more to load."""


def test_help_says_how_to_give_an_id_that_begins_with_a_dash(factible: Run) -> None:
    words = " ".join(factible("check", "--help").stdout.split())
    assert "follows two dashes, after the options: -- -LDjqcvSbP4" in words


@pytest.mark.parametrize("commands", [[()], [("evaluate",), ("experiment", "run"), ("review",)]])
def test_help_needs_nothing_heavy(commands: list[tuple[str, ...]]) -> None:
    # The list of commands is shown before a command or the settings are loaded.
    heavy = [
        *HEAVY,
        *(["rich", "duckdb", "pydantic", "yaml", "jinja2"] if commands == [()] else ()),
    ]
    program = (
        "import sys\n"
        "from contextlib import suppress\n"
        "from factible_assets.cli import main\n"
        f"for command in {commands!r}:\n"
        "    sys.argv = ['factible', *command, '--help']\n"
        "    with suppress(SystemExit): main.main()\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert result.stdout.count("Usage: factible") == len(commands)
    assert result.stdout.splitlines()[-1] == "[]"


def test_the_definitions_load_no_client_and_no_arrays() -> None:
    clients = ("httpx", "numpy", "pyarrow", "polars", "jinja2", "onnxruntime")
    program = (
        "import sys, factible_assets.definitions\n"
        f"print([name for name in {clients!r} if name in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert result.stdout.splitlines()[-1] == "[]"


def test_reading_commands_load_neither_dagster_nor_polars_and_replace_odd_characters(
    home: Path,
) -> None:
    store_sample(home)
    with open_instance(Settings(home=home)) as instance:
        instance.add_run(dg.DagsterRun("fact_check", status=dg.DagsterRunStatus.STARTED))
    heavy = ("dagster", "polars", "numpy", "pyarrow", "onnxruntime", "httpx", "trafilatura")
    commands = [["sql", "from current_claims"], ["report", VIDEO_ID], ["review", VIDEO_ID]]
    commands.append([*commands[-1], "--json"])
    program = (
        "import sys\n"
        "from contextlib import suppress\n"
        "from factible_assets.cli import main\n"
        f"for command in {commands!r}:\n"
        "    sys.argv = ['factible', *command]\n"
        "    with suppress(SystemExit): main.main()\n"
        f"    print('loaded', [name for name in {heavy!r} if name in sys.modules])"
    )
    told = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "FACTIBLE_HOME": str(home), "PYTHONIOENCODING": "latin-1"},
        capture_output=True,
        check=True,
    )
    *_, listed, document, rest = told.stdout.decode("latin-1").split("loaded []\n")
    assert rest == "", told.stderr
    assert "?" in listed
    assert json.loads(document)


def test_the_installed_program_answers_with_its_version(home: Path) -> None:
    program = Path(sys.executable).with_name("factible")
    if not program.exists():
        pytest.skip("the project is not installed in this environment: pip install -e .")
    result = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    assert result.stdout == f"factible {factible_assets.__version__}\n"
    assert not home.exists()


def test_without_a_command_help_is_shown(factible: Run) -> None:
    result = factible()
    assert result.exit_code == 2
    assert "Check videos:" in result.stdout + result.stderr


def test_a_wrong_option_is_wrong_usage(factible: Run) -> None:
    assert factible("check", "x", "--wrong").exit_code == 2
    assert factible("wrong").exit_code == 2


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--max-claims", "0"),
        ("--max-claims", "51"),
        ("--max-queries", "11"),
        ("--web", "moon"),
        ("--reasoner", "oracle"),
        ("--published-before", "yesterday"),
        ("--minimum-rating", "splendid"),
    ],
)
def test_an_option_out_of_its_range_is_wrong_usage_and_writes_nothing(
    factible: Run, home: Path, option: str, value: str
) -> None:
    result = factible("check", "x", option, value)
    assert result.exit_code == 2
    assert option in result.stderr
    assert value in result.stderr
    assert not home.exists()


def test_an_unusable_data_folder_gets_a_sentence(
    factible: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    blocked = tmp_path / "a-file"
    blocked.touch()
    monkeypatch.setenv("FACTIBLE_HOME", str(blocked / "home"))
    result = factible("demo")
    assert result.exit_code == 5
    assert f"{blocked} is not a folder" in result.stderr
    assert "FACTIBLE_HOME" in result.stderr
    assert "Traceback" not in result.stderr


RAISING = """
import sys
from factible_assets.cli import main

def stop():
    raise {error}

main.app.command("stop")(stop)
sys.argv = ["factible", *{arguments!r}]
main.main()
"""


def run_raising(error: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command that raises an error, as a program of its own."""
    program = RAISING.format(error=error, arguments=(*arguments, "stop"))
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )


def test_an_interruption_ends_with_its_own_code() -> None:
    result = run_raising("KeyboardInterrupt")
    assert result.returncode == 130
    assert "Interrupted" in result.stderr
    assert "Traceback" not in result.stderr


def test_an_unexpected_error_gets_a_sentence_that_asks_for_the_traceback() -> None:
    result = run_raising("ZeroDivisionError('by zero')")
    assert result.returncode == 1
    assert "unexpected ZeroDivisionError" in result.stderr
    assert "factible --debug" in result.stderr
    assert "Traceback" not in result.stderr


def test_errors_of_other_rooms_are_known_by_their_true_names() -> None:
    for name in EXIT_CODES:
        module, _, kind = name.rpartition(".")
        error = getattr(import_module(module), kind)
        assert issubclass(error, BaseException)
        assert f"{error.__module__}.{error.__qualname__}" == name


def test_an_interruption_keeps_its_own_sentence() -> None:
    stopped = FactibleError("Stopped.", "Go on.", ExitCode.INTERRUPTED)
    assert sentence(stopped) == "Stopped. Go on."


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (FactibleError("x", code=ExitCode.USAGE), ExitCode.USAGE),
        (FileNotFoundError(2, "gone", "f"), ExitCode.ENVIRONMENT),
        (KeyboardInterrupt(), ExitCode.INTERRUPTED),
    ],
)
def test_the_nearest_kind_decides_the_exit_code(error: BaseException, code: ExitCode) -> None:
    known = explained(error)
    assert known is not None
    assert known[1] is code
    assert explained(ZeroDivisionError()) is None


def test_an_operating_system_error_names_its_file() -> None:
    assert sentence(PermissionError(13, "Permission denied", "a/b")) == (
        "a/b cannot be used: Permission denied. Check the path and its permissions."
    )


@pytest.mark.parametrize(
    "error",
    [
        sqlite3.OperationalError("database or disk is full"),
        RuntimeError("(sqlite3.OperationalError) disk I/O error [SQL: SELECT runs.run_id …]"),
        OSError(errno.ENOSPC, "No space left on device"),
    ],
)
def test_a_full_disk_gets_one_sentence_from_every_library(error: Exception) -> None:
    words, code = message_and_code(error)
    assert words.startswith("There is no room left")
    assert ("SQL" in words, code) == (False, 5)


def test_leaving_a_run_inside_duckdb_keeps_the_exit_code() -> None:
    program = (
        "import sys, threading, time, duckdb, factible_assets.cli.main as program\n"
        "def work():\n"
        "    with duckdb.connect() as own:\n"
        "        while True: own.execute('select 1').fetchall()\n"
        "def app(**_):\n"
        "    for name in ['run-1', 'run-2', 'run-3', 'run-4']:\n"
        "        threading.Thread(target=work, name=name, daemon=True).start()\n"
        "    time.sleep(.2)\n"
        "    print('told'); sys.exit(5)\n"
        "program.app = app; program.main()"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (5, "told\n", "")


@pytest.mark.parametrize("is_one_pipe", [False, True])
def test_a_closed_stderr_does_not_end_the_command(is_one_pipe: bool) -> None:
    program = (
        "from factible_assets.cli.output import note, result\n"
        "for _ in range(3): note('still at it')\n"
        "result(None, 'done')"
    )
    reads, writes = os.pipe()
    os.close(reads)
    stdout = writes if is_one_pipe else subprocess.PIPE
    ended = subprocess.run(
        [sys.executable, "-c", program], stdout=stdout, stderr=writes, text=True, check=False
    )
    os.close(writes)
    assert ended.returncode == 0
    assert ended.stdout == (None if is_one_pipe else "done\n")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("check", "no-such-video", "--json"), 4, "no-such-video"),
        (("report", "no-such-video", "--json"), 4, "no-such-video"),
        (("check", "--json"), 2, "target"),
        (("status", "--json", "--no-such-option"), 2, "no-such-option"),
    ],
)
def test_with_json_a_failure_is_a_document_too(
    factible: Run, arguments: tuple[str, ...], code: int, words: str
) -> None:
    result = factible(*arguments)
    document = json.loads(result.stdout)
    assert (result.exit_code, document["exit_code"], document["success"]) == (code, code, False)
    assert words in document["error"]
    assert words in result.stderr


def test_json_omits_passwords_of_dataclasses() -> None:
    lake = Lake("dbname=factible", "/data", "canary")
    assert "canary" not in json.dumps({"lake": lake}, default=as_json)
