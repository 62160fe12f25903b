"""Dagster's private names that this package needs: all of them, and why each.

What belongs here: imports from modules of Dagster that begin with an underscore, for what has no
public name. What does not: using them. (The Dagster UI is put behind walls by replacing parts of
its own command line; that stands in http_service/dagster_ui.py.)

A release of Dagster may move any of them; a test of the architecture keeps them in this one place.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

# A knob's own type in the launchpad, which refuses a value before a run is launched.
from dagster._config import ConfigScalar, ConfigScalarKind, PostProcessingError

# An instance of one folder, with other parts than its dagster.yaml names.
from dagster._core.instance.ref import InstanceRef

# Which code server a run was handed to.
from dagster._core.storage.tags import GRPC_INFO_TAG

# Lets a worker end its run where Ctrl-C or a termination interrupts it.
from dagster._utils.interrupts import capture_interrupts

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
def know_newest_revisions() -> None:
    """Have Dagster look once in a process which of its migrations is the newest of a database.

    It loads all files of them at each opening of each of its databases: .06 of the .1 s of CPU that
    it takes to open an instance.
    """
    from alembic.script import ScriptDirectory
    from dagster._core.storage import sql

    once: Any = SimpleNamespace(from_config=cache(ScriptDirectory.from_config))
    sql.ScriptDirectory = once  # type: ignore[attr-defined]


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
    "GRPC_INFO_TAG",
    "NO_CAPTURE",
    "ConfigScalar",
    "ConfigScalarKind",
    "InstanceRef",
    "PostProcessingError",
    "SqliteEventLogStorage",
    "_execute_run_command_body",
    "capture_interrupts",
    "cron_string_iterator",
    "is_valid_cron_string",
    "know_newest_revisions",
    "leave_logging_alone",
]
