"""The DuckDB file of one experiment: the rows of its variants, and the key of each computed stage.

It has the tables of a warehouse, with the variant's name as `run_id`. The table `experiment_sets`
has a row for each stage of a variant on a video (column `asset`), with its key and its status.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb

from factible_assets.records.rows import VideoRows
from factible_assets.records.tables import Evidence, Query, Record, Search, Verdict
from factible_assets.runs.experiments.plan import STAGES
from factible_assets.settings import Settings
from factible_assets.stages.flow import Strategy
from resources.statements import statements
from warehouse.rows import Stamp
from warehouse.sets import AssetRows, insert_rows
from warehouse.store import Warehouse

_SQL = statements("factible_assets.runs.experiments", "experiments.sql")


def experiment_file(settings: Settings, name: str) -> Path:
    return settings.experiments / f"{name}.duckdb"


class ExperimentStore:
    """Finds, reads and writes the stages of an experiment.

    If an earlier process left a check incomplete, its stages count as missing from the first one
    on in which a service failed. The variants of one process share even such stages, because a fair
    comparison needs the same state of the world. With `fresh`, all earlier stages count as missing.
    """

    def __init__(self, path: Path, *, fresh: bool = False) -> None:
        self.path = path
        self._warehouse = Warehouse(path)
        self._keys: dict[tuple[str, str], dict[str, str]] = {}
        """The usable stages: (video, stage) to the key under which each variant has it."""
        if path.exists() and not fresh:
            for row in self._warehouse.rows(_SQL["usable_sets"]):
                of_stage = self._keys.setdefault((row["video_id"], row["asset"]), {})
                of_stage[row["variant"]] = row["stage_key"]

    def has(self, variant: str, video_id: str, stage: str) -> bool:
        return variant in self._keys.get((video_id, stage), {})

    def reusable_stages(
        self, variant: str, video_id: str, keys: Mapping[str, str], strategy: Strategy
    ) -> dict[str, str]:
        """Return the stages that need no work, each with a variant that has it under its key.

        These are the first stages up to a missing one. `variant` itself is preferred. A strategy
        that goes through the stages in rounds needs all of them, or only the claims.
        """
        reusable: dict[str, str] = {}
        for stage in STAGES:
            key_of_variant = self._keys.get((video_id, stage), {})
            names = [name for name, key in key_of_variant.items() if key == keys[stage]]
            if not names:
                break
            reusable[stage] = variant if variant in names else names[0]
        if strategy.in_rounds and len(reusable) < len(STAGES):
            return {stage: name for stage, name in reusable.items() if stage == STAGES[0]}
        return reusable

    def mark_stored(
        self, variant: str, video_id: str, keys: Mapping[str, str], stages: Iterable[str]
    ) -> None:
        for stage in stages:
            self._keys.setdefault((video_id, stage), {})[variant] = keys[stage]

    def read(self, video_id: str, variants: Mapping[str, str]) -> VideoRows:
        """Return the rows of some stages, each from the variant that `variants` names for it."""
        return self._warehouse.read_sets(video_id, variants)

    def stages(self) -> list[dict[str, Any]]:
        """Return the rows of `experiment_sets`, of all variants that the file has."""
        return self._warehouse.rows(_SQL["sets"])

    def write(
        self,
        place: Mapping[str, str],
        keys: Mapping[str, str],
        stages: Mapping[str, AssetRows],
        sources: Mapping[str, str],
    ) -> None:
        """Store the rows of some stages in one transaction.

        `place` has the experiment, the variant and the video. `sources` names the variant that
        computed a stage, if that is another one.
        """
        variant, video_id = place["variant"], place["video_id"]
        rows = []
        for stage, asset_rows in stages.items():
            status, reason = _status_of(asset_rows.rows)
            rows.append(
                {
                    **place,
                    "asset": stage,
                    "stage_key": keys[stage],
                    "source": sources.get(stage, variant),
                    "status": status,
                    "reason": reason,
                    "duration_seconds": asset_rows.duration_seconds,
                    "first_verdict_seconds": asset_rows.first_result_seconds,
                }
            )

        def write_sets(connection: duckdb.DuckDBPyConnection) -> None:
            insert_rows(connection, "experiment_sets", rows, again="replace")

        stamp = Stamp(run_id=variant, checked_at=datetime.now(UTC))
        self._warehouse.write_assets(video_id, stages, stamp=stamp, also=write_sets)
        self.mark_stored(variant, video_id, keys, stages)


def _status_of(rows: Sequence[Record]) -> tuple[str, str | None]:
    """Return `ok`, or `incomplete` and the reason if a service failed for a part of a stage."""
    for row in rows:
        if isinstance(row, Query | Search | Evidence) and row.status == "infra_error":
            return "incomplete", row.reason or "a service failed"
        if isinstance(row, Verdict) and row.status == "incomplete":
            return "incomplete", row.reason or "services failed"
    return "ok", None
