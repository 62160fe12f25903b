"""Dagster's event log, for the process that writes a run's hundred events into it.

What belongs here: keeping its databases open meanwhile. What does not: what is in them (Dagster's),
and which instance logs so (running/launch.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine

from factible_assets.services.dagster_internals import SqliteEventLogStorage

_MOST_OPEN = 4
_WAIT_SECONDS = 30


class OpenEventLog(SqliteEventLogStorage):
    """The same files as Dagster's own, each opened once instead of for every event.

    Opening one means an engine, statements that are compiled anew, and at the closing a checkpoint:
    a quarter of the CPU of a run whose services answer at once. For whoever reads nothing changes.
    """

    def __init__(self, base_dir: str, inst_data: Any = None) -> None:
        """Open nothing yet."""
        self._engines: dict[str, Engine] = {}
        super().__init__(base_dir, inst_data)

    @classmethod
    def from_config_value(cls, inst_data: Any, config_value: Any) -> OpenEventLog:
        """Return the log of a folder, as Dagster asks for it."""
        return cls(inst_data=inst_data, **config_value)

    @contextmanager
    def _connect(self, shard: str) -> Iterator[Connection]:
        with self._db_lock:
            engine = self._engines.pop(shard, None) or create_engine(
                self.conn_string_for_shard(shard), connect_args={"timeout": _WAIT_SECONDS}
            )
            self._engines[shard] = engine  # those that are used last come last
            if shard not in self._initialized_dbs:
                self._initdb(engine)
                self._initialized_dbs.add(shard)
            while len(self._engines) > _MOST_OPEN:
                self._engines.pop(next(iter(self._engines))).dispose()
            with engine.connect() as connection, connection.begin():
                yield connection

    def dispose(self) -> None:
        """Close all databases."""
        with self._db_lock:
            for engine in self._engines.values():
                engine.dispose()
            self._engines.clear()
        super().dispose()


def kept_open(dagster_home: Path) -> Mapping[str, Any]:
    """Return the part of an instance that keeps its event log open."""
    return {
        "event_log_storage": {
            "module": OpenEventLog.__module__,
            "class": OpenEventLog.__name__,
            "config": {"base_dir": str(dagster_home / "history" / "runs")},
        }
    }
