"""The runs that are under way, without loading Dagster, which takes more than a second of CPU.

What belongs here: one question to the database of Dagster's records, in the folder of the instance.
What does not: everything else about runs, which is asked of Dagster (pipeline/liveness.py).

Dagster does not promise the shape of that database. Where it may be another one, and where a run
has to be ended first because its process is gone, the answer is None, and the caller asks Dagster.
"""

from __future__ import annotations

import fcntl
import sqlite3
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from factible_assets.settings import Settings
from resources.statements import statements

_SQL = statements("factible_assets.runs", "active.sql")
_ELSEWHERE = {"storage", "run_storage", "instance_class"}
"""The keys of dagster.yaml with which a user keeps the records in another database."""

_WAIT_SECONDS = 30.0


def runs_under_way(settings: Settings) -> list[dict[str, Any]] | None:
    """Return the runs that wait, start, go on or are being stopped, the newest first.

    None if only Dagster can tell.
    """
    folder = settings.dagster_home
    records = folder / "history" / "runs.db"
    try:
        if not records.is_file() or _keeps_records_elsewhere(folder / "dagster.yaml"):
            return None
        place = f"{records.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(place, uri=True, timeout=_WAIT_SECONDS)) as database:
            database.row_factory = sqlite3.Row
            found = [dict(row) for row in database.execute(_SQL["under_way"])]
    except (OSError, sqlite3.Error, yaml.YAMLError):
        return None
    if any(_is_dead(folder / "alive" / run["run_id"]) for run in found):
        return None
    for run in found:
        run["id"] = run["run_id"][:8]
        run["created_at"] = datetime.fromisoformat(run["created_at"]).replace(tzinfo=UTC)
        if run["started_at"] is not None:
            run["started_at"] = datetime.fromtimestamp(run["started_at"], UTC)
    return found


def _keeps_records_elsewhere(file: Path) -> bool:
    written = yaml.safe_load(file.read_bytes())
    return not isinstance(written, dict) or not _ELSEWHERE.isdisjoint(written)


def _is_dead(mark: Path) -> bool:
    """Tell whether nobody holds the lock of a run that a process of this machine took."""
    with suppress(FileNotFoundError), mark.open("rb") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
    return False
