"""Lists the active runs from Dagster's database, without loading Dagster.

Loading it takes more than a second of CPU. Dagster does not promise the shape of that database, so
in any doubt the answer is None, and the caller asks Dagster.
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
"""Keys of dagster.yaml that move the records to another database."""

_WAIT_SECONDS = 30.0


def runs_under_way(settings: Settings) -> list[dict[str, Any]] | None:
    """Return the queued, starting, running and stopping runs, newest first; None in doubt."""
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
    if any(_is_dead(folder / "run_locks" / run["run_id"]) for run in found):
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
    """Tell whether the process of a run is gone: nobody holds the run's lock."""
    with suppress(FileNotFoundError), mark.open("rb") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
    return False
