"""The check on verdicts that tells when a claim's verdict turned.

What belongs here: which changes are worth a warning, and how they read. What does not: what counts
as a change (the view verdict_changes in warehouse/views/20_analysis.sql).

A flip is news and no defect: the check warns and never blocks. It is judged in the step that writes
the verdicts: a step of its own costs six events and one more opening of the warehouse.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import dagster as dg

from factible_assets.pipeline.checks.structural import check_spec
from factible_assets.rows import VerdictChange
from factible_assets.wording import cell, table
from resources.statements import statements
from warehouse.rows import aware
from warehouse.store import Warehouse

FLIPS = check_spec(
    "verdict_flips",
    "verdicts",
    "Warns when a claim's verdict is another one than after its last complete check.",
    blocking=False,
)

_SQL = statements("factible_assets.pipeline.checks", "verdict_changes.sql")


@dataclass(frozen=True, slots=True)
class RunChanges:
    """What one run changed of what was known of a video."""

    verdicts: tuple[VerdictChange, ...]
    overlap: float | None
    sources: dict[str, int]

    @property
    def flips(self) -> tuple[VerdictChange, ...]:
        """The verdicts that turned."""
        return tuple(change for change in self.verdicts if change.change == "flip")


def read_changes(store: Warehouse, video_id: str, run_id: str) -> RunChanges:
    """Return what a run changed. Raises WarehouseError if the file cannot be opened."""
    key = [run_id, video_id]
    with store.connection(read_only=True) as connection:
        verdicts = connection.execute(_SQL["changes"], key).fetchall()
        ((overlap,),) = connection.execute(_SQL["overlap"], key).fetchall()
        sources = connection.execute(_SQL["sources"], key).fetchall()
    turned = tuple(VerdictChange(*map(aware, row)) for row in verdicts)
    return RunChanges(turned, overlap, dict(sources))


def check_result(
    changes: RunChanges, links: Mapping[str, dg.MetadataValue[Any]]
) -> dg.AssetCheckResult:
    """Return how the check judges what a run changed, the links first."""
    sources = ", ".join(f"{number} {change}" for change, number in changes.sources.items())
    metadata: dict[str, dg.MetadataValue] = {
        **links,
        "flips": dg.MetadataValue.int(len(changes.flips)),
        "moves of confidence": dg.MetadataValue.int(len(changes.verdicts) - len(changes.flips)),
        "sources": dg.MetadataValue.text(sources or "unchanged"),
    }
    if changes.overlap is not None:
        metadata["overlap of sources (Jaccard)"] = dg.MetadataValue.float(changes.overlap)
    if changes.verdicts:
        # What claims say is text from outside.
        rows = [(cell(each.claim or ""), each.words) for each in changes.verdicts]
        metadata["changes"] = dg.MetadataValue.md(table(("claim", "change"), rows))
    return dg.AssetCheckResult(
        asset_key=FLIPS.asset_key,
        check_name=FLIPS.name,
        passed=not changes.flips,
        severity=dg.AssetCheckSeverity.WARN,
        metadata=metadata,
        description=f"{len(changes.flips)} of the video's verdicts turned."
        if changes.flips
        else "No verdict turned.",
    )
