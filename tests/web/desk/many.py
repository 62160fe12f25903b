"""A data folder with many checked videos, copied from one by SQL."""

from __future__ import annotations

from pathlib import Path

from tests.cli.stored import store_sample
from warehouse.store import Warehouse

_WORDS = ("vaccine", "climate", "harvest", "tax", "border", "river", "school", "hospital")


def store_many(home: Path, videos: int, copies: int = 2) -> Warehouse:
    """Store so many copies of the sample video, each with all its claims `copies` times.

    All copies have their own ids and words.
    """
    warehouse = store_sample(home)
    with warehouse.connection() as connection:
        tables = connection.execute(
            "SELECT table_name FROM duckdb_tables() WHERE table_name IN"
            " (SELECT table_name FROM duckdb_columns() WHERE column_name = 'video_id')"
        ).fetchall()
        words = ", ".join(f"'{word}'" for word in _WORDS)
        for (table,) in tables:
            described = connection.execute(f"DESCRIBE {table}").fetchall()
            columns = [row[0] for row in described]
            changed = {
                name: f"{name} || '-' || copy" + (" || '-' || part" if name != "video_id" else "")
                for name in columns
                if name in {"video_id", "claim_id", "query_id", "hit_id", "evidence_id"}
            }
            changed["title"] = "title || ' ' || copy"
            changed["channel"] = "'Channel ' || copy % 40"
            changed["corpus"] = "'corpus-' || copy % 5"
            if table == "claims":
                changed["text"] = (
                    f"text || ' ' || [{words}][1 + (copy * 7 + part) % {len(_WORDS)}]"
                    " || ' ' || copy % 97"
                )
            is_of_claim = "claim_id" in columns
            if "page_id" in columns:
                changed["page_id"] = "page_id || '-' || copy || '-' || part"
                is_of_claim = True
            picked = ", ".join(changed.get(name, name) for name in columns)
            connection.execute(
                f"INSERT INTO {table} SELECT {picked} FROM {table},"  # noqa: S608 - names of our own
                f" range(1, {videos}) AS numbers(copy),"
                f" range({copies if is_of_claim else 1}) AS again(part)"
            )
    return warehouse
