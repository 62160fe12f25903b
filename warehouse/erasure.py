"""Removing everything that the warehouse knows of one video, its history included.

What belongs here: which rows and texts are a video's alone, and by what answers that are
kept elsewhere are known to be about it. What does not: files outside the warehouse
(factible_assets.runs.forget).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import duckdb

from resources.statements import statements
from warehouse.store import ALL_TEXTS, Warehouse

_ASK = statements("warehouse", "erasure.sql")
_TEXTS = ("page_texts", "trimmed_texts")
_LINKED = (
    ("judge_calls", "judging_id", "judgements"),
    ("review_applications", "action_id", "review_actions"),
)
"""Tables without a video of their own, the column that leads to one, and through which table."""
_ADDRESSES = (
    ("search_hits", "url"),
    ("search_hits", "canonical_url"),
    ("pages", "canonical_url"),
    ("pages", "final_url"),
    ("evidence", "canonical_url"),
    ("prior_fact_checks", "url"),
    ("prior_fact_checks", "canonical_url"),
    ("media", "url"),
)


@dataclass(frozen=True, slots=True)
class Erasure:
    """The rows of one video, by table, and what identifies its traces elsewhere.

    `addresses` are those of pages that no other video's rows name, `sentences` its claims and the
    reasons of judgements on them, `requests` the ids of its model calls.
    """

    rows: Mapping[str, int]
    addresses: frozenset[str]
    sentences: frozenset[str]
    requests: frozenset[str]


def erase_video(warehouse: Warehouse, video_id: str, *, dry_run: bool) -> Erasure:
    """Remove all rows of a video from all tables, and the texts that no other video's rows need.

    One transaction; with `dry_run` rows are counted and none is removed. The room in the file stays
    until it is compacted (warehouse.upkeep).
    """
    own = {"video_id": video_id}

    def erase(connection: duckdb.DuckDBPyConnection) -> Erasure:
        def ask(question: str, values: dict[str, str] | None = None, **names: str) -> set[str]:
            found = connection.execute(_ASK[question].format(**names), values or {}).fetchall()
            return {row[0] for row in found}

        def union(*, is_own: bool) -> str:
            asked = _ASK["addresses_of"]
            return " UNION ".join(
                asked.format(table=table, column=column, is_own=str(is_own).upper())
                for table, column in _ADDRESSES
            )

        addresses = ask("addresses", own, own=union(is_own=True), others=union(is_own=False))
        sentences, requests = ask("sentences", own), ask("requests", own)
        connection.execute(_ASK["mark_texts"], own)
        tables = sorted(ask("tables_of_videos"))
        steps: list[tuple[str, dict[str, str], dict[str, str]]] = [
            *(("texts", {"table": table}, {}) for table in _TEXTS),
            *(("linked", {"table": t, "key": k, "parent": p}, own) for t, k, p in _LINKED),
            *(("rows", {"table": table}, own) for table in tables),
        ]
        rows: dict[str, int] = {}
        for kind, names, values in steps:
            counted = connection.execute(_ASK[f"count_{kind}"].format(**names), values).fetchall()
            rows[names["table"]] = counted[0][0]
            if not dry_run:
                connection.execute(_ASK[f"erase_{kind}"].format(**names), values)
        found = {table: count for table, count in sorted(rows.items()) if count}
        return Erasure(found, frozenset(addresses), frozenset(sentences), frozenset(requests))

    return warehouse.write(erase, alone=[ALL_TEXTS, f"video {video_id}"])
