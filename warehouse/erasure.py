"""Removing all rows of one video from the warehouse, including its history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import duckdb

from resources.statements import statements
from warehouse.store import ALL_TEXTS, Warehouse

_SQL = statements("warehouse", "erasure.sql")
_TEXTS = ("page_texts", "trimmed_texts")
_LINKED = (
    ("judge_calls", "judging_id", "judgements", "judging_id"),
    ("review_applications", "action_id", "review_actions", "action_id"),
    ("claim_matches", "other_claim_id", "claims", "claim_id"),
)
"""A table, the column that leads to a video, and the table and its column that it leads to."""
_UNNAMED = "Its sources were read for the same claim of a video that has been removed."


@dataclass(frozen=True, slots=True)
class Erasure:
    """Counts of a video's rows, by table, and the values that find its traces elsewhere.

    `addresses` are of pages that only this video's rows name, `sentences` are its claims and the
    reasons of judgements on them, `requests` are the ids of its model calls.
    """

    rows: Mapping[str, int]
    addresses: frozenset[str]
    sentences: frozenset[str]
    requests: frozenset[str]


def erase_video(warehouse: Warehouse, video_id: str, *, dry_run: bool) -> Erasure:
    """Delete a video's rows from all tables, and the texts that no other video needs.

    One transaction. With `dry_run`, only count. The file keeps its size until `upkeep.compact`.
    """
    own = {"video_id": video_id}

    def erase(connection: duckdb.DuckDBPyConnection) -> Erasure:
        def ask(question: str, values: dict[str, str]) -> frozenset[str]:
            found = connection.execute(_SQL[question], values).fetchall()
            return frozenset(row[0] for row in found)

        addresses, sentences, requests = (
            ask(question, own) for question in ("addresses", "sentences", "requests")
        )
        connection.execute(_SQL["mark_texts"], own)
        for question in () if dry_run else ("unname_verdicts", "unname_evidence"):
            connection.execute(_SQL[question], own | {"words": _UNNAMED})
        rows: Counter[str] = Counter()

        def remove(kind: str, table: str, values: dict[str, str], **names: str) -> None:
            count, erasing = (
                _SQL[f"{step}_{kind}"].format(table=table, **names) for step in ("count", "erase")
            )
            rows[table] += connection.execute(count, values).fetchall()[0][0]
            if not dry_run:
                connection.execute(erasing, values)

        for table in _TEXTS:
            remove("texts", table, {})
        for table, column, parent, key in _LINKED:
            remove("linked", table, own, column=column, parent=parent, key=key)
        for table in sorted(ask("tables_of_videos", {})):
            remove("rows", table, own)
        found = {table: count for table, count in sorted(rows.items()) if count}
        return Erasure(found, addresses, sentences, requests)

    return warehouse.write(erase, locks=[ALL_TEXTS, f"video {video_id}"])
