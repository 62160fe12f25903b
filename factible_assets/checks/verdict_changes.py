"""The check on verdicts that tells when a claim's verdict turned.

What belongs here: which changes are worth a warning, and how they read. What does not: what counts
as a change (the view verdict_changes in warehouse/views/20_analysis.sql).

A flip is news and no defect: the check warns and never blocks.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dagster as dg

from factible_assets.partitions import videos
from factible_assets.services.reports import ReportsResource
from factible_assets.wording import cell
from resources.statements import statements
from warehouse.resource import WarehouseResource
from warehouse.store import Warehouse

_SQL = statements("factible_assets.checks", "verdict_changes.sql")


@dataclass(frozen=True, slots=True)
class VerdictChange:
    """How one claim's verdict differs from the complete one before; see verdict_changes."""

    claim_id: str
    claim: str
    change: str
    previous_stance: str
    stance: str
    previous_confidence: str
    confidence: str
    previous_basis: str
    basis: str

    @property
    def words(self) -> str:
        """The change in words."""
        judge = "" if self.basis == self.previous_basis else f", judged by {self.basis} now"
        if self.change == "flip":
            return f"{self.previous_stance} → {self.stance} ({self.confidence}){judge}"
        return f"{self.stance}: {self.previous_confidence} → {self.confidence} confidence{judge}"


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
    return RunChanges(tuple(VerdictChange(*row) for row in verdicts), overlap, dict(sources))


def flips_table(changes: Sequence[VerdictChange]) -> str:
    """Return changes as a table in Markdown; what claims say is text from outside."""
    lines = [f"| {cell(each.claim)} | {each.words} |" for each in changes]
    return "\n".join(["| claim | change |", "| --- | --- |", *lines])


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
        metadata["changes"] = dg.MetadataValue.md(flips_table(changes.verdicts))
    return dg.AssetCheckResult(
        passed=not changes.flips,
        severity=dg.AssetCheckSeverity.WARN,
        metadata=metadata,
        description=f"{len(changes.flips)} of the video's verdicts turned."
        if changes.flips
        else "No verdict turned.",
    )


def _verdict_flips(
    context: dg.AssetCheckExecutionContext, warehouse: WarehouseResource, reports: ReportsResource
) -> dg.AssetCheckResult:
    """Compare the verdicts of this run with the complete ones before them."""
    changes = read_changes(warehouse.store(), context.partition_key, context.run.run_id)
    # The last that a run shows: whoever followed it goes on from here.
    return check_result(changes, reports.links(context.partition_key))


with warnings.catch_warnings():
    # Checks that belong to a partition are a preview in Dagster 1.13; without the partition, the
    # outcome of one video would replace that of every other.
    warnings.simplefilter("ignore", dg.PreviewWarning)
    verdict_flips = dg.asset_check(
        asset="verdicts",
        name="verdict_flips",
        description=(
            "Warns when a claim's verdict is another one than after its last complete check."
        ),
        blocking=False,
        partitions_def=videos,
    )(_verdict_flips)
