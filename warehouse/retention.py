"""Removing the texts of pages that nothing current rests on, and giving their room back.

What belongs here: which texts go, remembering that they went, and compacting the file. What does
not: when and how old (factible_assets.automation.retention), caches (resources/cache).

Verdicts, evidence, pages and claims are never touched: what was quoted stays quoted, with its
offsets and the hash of the text that it stood in. Only the text itself goes, and `trimmed_texts`
says so, so that a quote that can no longer be held against its page is told from one that never
could.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import duckdb

from warehouse.connection import trouble_with
from warehouse.errors import WarehouseNotWritableError
from warehouse.publication import copy_database, wal_of
from warehouse.rows import to_utc
from warehouse.store import Warehouse

_DUE = """
    CREATE OR REPLACE TEMP TABLE due AS
    SELECT states.content_hash, length(page_texts.text) AS characters, states.last_used_at
    FROM text_states AS states
    JOIN page_texts USING (content_hash)
    WHERE states.state = 'stored' AND NOT states.is_current AND states.last_used_at < $before
    UNION ALL
    -- Texts that no row refers to: those of a set that its own run has replaced.
    SELECT content_hash, length(text), checked_at
    FROM page_texts
    ANTI JOIN text_states USING (content_hash)
    WHERE checked_at < $before
"""
_REMEMBER = """
    INSERT OR REPLACE INTO trimmed_texts (content_hash, characters, last_used_at, trimmed_at)
    SELECT content_hash, characters, last_used_at, $now FROM due
"""
_REMOVE = "DELETE FROM page_texts WHERE content_hash IN (SELECT content_hash FROM due)"
_FORGET = "DELETE FROM trimmed_texts WHERE content_hash IN (SELECT content_hash FROM page_texts)"

_GRACE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class TrimmedTexts:
    """How many texts went, or would go, and how long they were, in code points."""

    texts: int
    characters: int


def trim_texts(
    warehouse: Warehouse, *, before: datetime, now: datetime, dry_run: bool = False
) -> TrimmedTexts:
    """Remove the texts that no check has used since `before` and nothing current rests on.

    A text that a later check finds again is stored again. One transaction; with `dry_run` nothing
    is changed.
    """
    with warehouse.connection() as connection:
        connection.begin()
        connection.execute(_DUE, {"before": to_utc(before)})
        ((texts, characters),) = connection.execute(
            "SELECT count(*), coalesce(sum(characters), 0)::BIGINT FROM due"
        ).fetchall()
        if dry_run:
            connection.rollback()
        else:
            connection.execute(_FORGET)
            connection.execute(_REMEMBER, {"now": to_utc(now)})
            connection.execute(_REMOVE)
            connection.commit()
    return TrimmedTexts(texts, characters)


def compact(warehouse: Warehouse) -> int:
    """Write the file anew without the room of what was removed; return how many bytes that gave.

    DuckDB reuses the room of removed rows and does not give it back: VACUUM and CHECKPOINT leave a
    file of DuckDB 1.5 as long as it was. So a copy takes its place, under the writer's lock. Nobody
    loses anything: others wait for the lock and then open the new file.

    Raises:
        WarehouseNotWritableError: The copy cannot be written or moved.
    """
    path = Path(os.path.realpath(warehouse.path))
    unfinished = path.with_name(f".{path.name}.compacting")
    try:
        with warehouse.connection() as connection:
            _remove(unfinished)
            # Takes the write-ahead log into the file; one beside it would be replayed into the new.
            connection.execute("CHECKPOINT")
            before = path.stat().st_size
            copy_database(connection, unfinished)
            unfinished.chmod(path.stat().st_mode)
            after = unfinished.stat().st_size
            connection.execute("PRAGMA disable_checkpoint_on_shutdown")
            unfinished.replace(path)
            # Who opened the old file just before may be about to ask for its lock. They are refused
            # while ours is held, and then open the file by its name again, which is the new one.
            time.sleep(_GRACE_SECONDS)
    except (OSError, duckdb.Error) as failure:
        raise (
            trouble_with(path, failure) or WarehouseNotWritableError(path, str(failure))
        ) from failure
    finally:
        _remove(unfinished)
    return before - after


def _remove(unfinished: Path) -> None:
    """Remove what a compaction that was killed, or has failed, left behind."""
    unfinished.unlink(missing_ok=True)
    wal_of(unfinished).unlink(missing_ok=True)
