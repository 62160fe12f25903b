"""Dagster's private names that this package needs: all of them, and why each.

What belongs here: imports from modules of Dagster that begin with an underscore, for what has no
public name. What does not: using them. (The Dagster UI is put behind walls by replacing parts of
its own command line; that stands in web/dagster_ui.py.)

A release of Dagster may move any of them; a test of the architecture keeps them in this one place.
"""

from __future__ import annotations

from functools import cache, lru_cache
from importlib import import_module
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

# A knob's own type in the launchpad, which refuses a value before a run is launched.
from dagster._config import ConfigScalar, ConfigScalarKind, PostProcessingError

# An instance of one folder, with other parts than its dagster.yaml names.
from dagster._core.instance.ref import InstanceRef

# The ticks of a schedule as Dagster itself counts them, summer time included.
from dagster._utils.schedules import cron_string_iterator, is_valid_cron_string

if TYPE_CHECKING:
    # Works on a run that stands in the instance, and reports how it ended, as Dagster's own do.
    from dagster._cli.api import _execute_run_command_body

    # The event log that an instance has of itself.
    from dagster._core.storage.event_log.sqlite.sqlite_event_log import SqliteEventLogStorage

_LATE = {
    "SqliteEventLogStorage": "dagster._core.storage.event_log.sqlite.sqlite_event_log",
    "_execute_run_command_body": "dagster._cli.api",
}
"""What takes a third of all imports of the definitions, which do not need it."""


def __getattr__(name: str) -> Any:
    if name in _LATE:
        return getattr(import_module(_LATE[name]), name)
    raise AttributeError(name)


@cache
def keep_what_databases_need() -> None:
    """Have Dagster look once in a process at its migrations, and make one engine for a database.

    It loads all files of its migrations at each opening of a database and for each new run's own,
    .06 of the .1 s of CPU that it takes to open an instance. For each question to its records of
    runs it makes an engine that keeps no file open and compiles every statement anew.
    """
    stored = "dagster._core.storage"
    command: Any = import_module("alembic.command")
    sql: Any = import_module(f"{stored}.sql")
    runs: Any = import_module(f"{stored}.runs.sqlite.sqlite_run_storage")
    schedules: Any = import_module(f"{stored}.schedules.sqlite.sqlite_schedule_storage")
    once = SimpleNamespace(from_config=cache(sql.ScriptDirectory.from_config))
    sql.ScriptDirectory = command.ScriptDirectory = once
    engine_of = lru_cache(maxsize=16)(sql.create_engine)
    runs.create_engine = schedules.create_engine = lambda place, poolclass: engine_of(place)
    for kept in (runs.SqliteRunStorage, schedules.SqliteScheduleStorage):
        kept.dispose = lambda storage: engine_of(storage._conn_string).dispose()
    storage = runs.SqlRunStorage
    storage.has_run_stats_index_cols = lru_cache(maxsize=4)(storage.has_run_stats_index_cols)


@cache
def leave_logging_alone() -> None:
    """Have Dagster configure Python's logging only for an instance that asks for it.

    At the start of each run it does so even for nothing, and then holds the lock of all logging
    while it waits for the handler of every other run. A run of the same process that logs
    meanwhile holds its handler and waits for that lock: both stand still for ever.
    """
    from dagster._core.instance.methods.event_methods import EventMethods

    configured = EventMethods.get_yaml_python_handlers

    def handlers(instance: Any) -> Any:
        asked = instance._instance.get_python_log_dagster_handler_config()
        return configured(instance) if asked else []

    EventMethods.get_yaml_python_handlers = handlers  # type: ignore[assignment]


NO_CAPTURE = {
    "compute_logs": {
        "module": "dagster._core.storage.noop_compute_log_manager",
        "class": "NoOpComputeLogManager",
    }
}
"""The part of an instance that leads no output of steps into files."""

__all__ = [
    "NO_CAPTURE",
    "ConfigScalar",
    "ConfigScalarKind",
    "InstanceRef",
    "PostProcessingError",
    "SqliteEventLogStorage",
    "_execute_run_command_body",
    "cron_string_iterator",
    "is_valid_cron_string",
    "keep_what_databases_need",
    "leave_logging_alone",
]
