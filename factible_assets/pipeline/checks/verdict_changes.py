"""The check on `verdicts` that warns if a verdict changed its stance.

It never blocks, because a flip is news, not a defect. The view verdict_changes defines a change.
The step that writes the verdicts also runs this check, which saves six events and one opening of
the warehouse.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import dagster as dg

from factible_assets.pipeline.checks.integrity import check_spec
from factible_assets.records.rows import VerdictChange
from factible_assets.wording import cell, table
from resources.statements import statements
from warehouse.rows import aware
from warehouse.store import Warehouse

FLIPS = check_spec(
    "verdict_flips",
    "verdicts",
    "Warns if a claim's verdict differs from its last complete check.",
    blocking=False,
)

_SQL = statements("factible_assets.pipeline.checks", "verdict_changes.sql")


@dataclass(frozen=True, slots=True)
class RunChanges:
    """The changes of one run to a video.

    `overlap` is the mean Jaccard index of a claim's sources before and after, None if no claim has
    an earlier check. `sources` counts the sources by their change.
    """

    verdicts: tuple[VerdictChange, ...]
    overlap: float | None
    sources: dict[str, int]

    @property
    def flips(self) -> tuple[VerdictChange, ...]:
        return tuple(change for change in self.verdicts if change.change == "flip")


def read_changes(store: Warehouse, video_id: str, run_id: str) -> RunChanges:
    """Read the changes of a run. Raises WarehouseError: The warehouse cannot be opened."""
    key = [run_id, video_id]
    with store.connection(read_only=True) as connection:
        verdicts = connection.execute(_SQL["changes"], key).fetchall()
        ((overlap,),) = connection.execute(_SQL["overlap"], key).fetchall()
        sources = connection.execute(_SQL["sources"], key).fetchall()
    changes = tuple(VerdictChange(*map(aware, row)) for row in verdicts)
    return RunChanges(changes, overlap, dict(sources))


def check_flips(
    changes: RunChanges, links: Mapping[str, dg.MetadataValue[Any]]
) -> dg.AssetCheckResult:
    """Return the result of the check, with the links first in its metadata."""
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
        rows = [(cell(change.claim or ""), change.words) for change in changes.verdicts]
        metadata["changes"] = dg.MetadataValue.md(table(("claim", "change"), rows))
    return dg.AssetCheckResult(
        asset_key=FLIPS.asset_key,
        check_name=FLIPS.name,
        passed=not changes.flips,
        severity=dg.AssetCheckSeverity.WARN,
        metadata=metadata,
        description=f"{len(changes.flips)} of the video's verdicts flipped."
        if changes.flips
        else "No verdict flipped.",
    )
