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
    ("judge_calls", "judgement_id", "judgements", "judgement_id"),
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
    of_video = {"video_id": video_id}

    def erase(connection: duckdb.DuckDBPyConnection) -> Erasure:
        def column(query: str, values: dict[str, str]) -> frozenset[str]:
            return frozenset(row[0] for row in connection.execute(_SQL[query], values).fetchall())

        addresses, sentences, requests = (
            column(query, of_video) for query in ("addresses", "sentences", "requests")
        )
        connection.execute(_SQL["mark_texts"], of_video)
        for statement in () if dry_run else ("unname_verdicts", "unname_evidence"):
            connection.execute(_SQL[statement], of_video | {"words": _UNNAMED})
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
        for table, link, parent, key in _LINKED:
            remove("linked", table, of_video, column=link, parent=parent, key=key)
        for table in sorted(column("tables_of_videos", {})):
            remove("rows", table, of_video)
        counts = {table: count for table, count in sorted(rows.items()) if count}
        return Erasure(counts, addresses, sentences, requests)

    return warehouse.write(erase, locks=[ALL_TEXTS, f"video {video_id}"])
