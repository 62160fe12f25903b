"""Dagster's private names that this package needs: all of them, and why each.

What belongs here: imports from modules of Dagster that begin with an underscore, for what has no
public name. What does not: using them. (The Dagster UI is put behind walls by replacing parts of
its own command line; that stands in http_service/dagster_ui.py.)

A release of Dagster may move any of them; a test of the architecture keeps them in this one place.
"""

# A knob's own type in the launchpad, which refuses a value before a run is launched.
from dagster._config import ConfigScalar, ConfigScalarKind, PostProcessingError

# Why a step failed, as its event holds it.
from dagster._core.execution.plan.objects import StepFailureData

# An instance of one folder, with other parts than its dagster.yaml names.
from dagster._core.instance.ref import InstanceRef

# The event log that an instance has of itself.
from dagster._core.storage.event_log.sqlite.sqlite_event_log import SqliteEventLogStorage

# Which code server a run was handed to.
from dagster._core.storage.tags import GRPC_INFO_TAG

# The ticks of a schedule as Dagster itself counts them, summer time included.
from dagster._utils.schedules import cron_string_iterator, is_valid_cron_string

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
    "StepFailureData",
    "cron_string_iterator",
    "is_valid_cron_string",
]
