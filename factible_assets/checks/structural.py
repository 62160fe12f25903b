"""The structural checks of the per-video assets: blocking, and judged before anything is kept.

What belongs here: how the rules of integrity appear in Dagster, and what breaking one does. What
does not: any rule (stages/integrity).

The rules are judged in the step that makes the rows, before they are written: rows that break a
blocking rule are never stored, the last good set stays the current one, and nothing is computed
from what was refused. A check that ran in a step of its own would come too late for that, as one
step writes all of its assets in one transaction. The outcome is recorded per video.
"""

import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import dagster as dg

from factible_assets.partitions import videos
from factible_assets.stages.integrity import Finding, JudgedRows, judge, rules_of
from factible_assets.wording import cell

_MAX_SHOWN = 50


def structural_specs(*assets: str) -> list[dg.AssetCheckSpec]:
    """Return the checks of some assets, one per rule."""
    with warnings.catch_warnings():
        # Checks that belong to a partition are a preview in Dagster 1.13; without the partition,
        # the outcome of one video would replace that of every other.
        warnings.simplefilter("ignore", dg.PreviewWarning)
        return [
            dg.AssetCheckSpec(
                name=rule.name,
                asset=asset,
                description=rule.description,
                blocking=rule.blocking,
                partitions_def=videos,
            )
            for asset in assets
            for rule in rules_of(asset)
        ]


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of the rows of one step, before they are written.

    Attributes:
        results: The outcome of every check, by asset.
        refusal: Why nothing may be written; None if the rows keep all blocking rules. Whoever is
            refused yields `every()`, so that Dagster records what was found, and raises this.
    """

    results: Mapping[str, Sequence[dg.AssetCheckResult]]
    refusal: dg.Failure | None

    def every(self) -> Iterator[dg.AssetCheckResult]:
        """Yield the outcomes of all assets."""
        for results in self.results.values():
            yield from results


def judged(assets: Collection[str], rows: JudgedRows) -> Judged:
    """Hold rows that are about to be written against the rules of their assets."""
    found = judge(assets, rows)
    refused = [finding for finding in found if finding.refuses]
    results: dict[str, list[dg.AssetCheckResult]] = {asset: [] for asset in assets}
    for finding in found:
        results[finding.rule.asset].append(_result(finding))
    refusal = dg.Failure(_refusal(refused), allow_retries=False) if refused else None
    return Judged(results, refusal)


def stored_results(assets: Iterable[str], rows: JudgedRows) -> list[dg.AssetCheckResult]:
    """Judge rows that are stored already, for whoever runs the checks alone."""
    return [_result(finding) for finding in judge(assets, rows)]


def _result(finding: Finding) -> dg.AssetCheckResult:
    return dg.AssetCheckResult(
        asset_key=finding.rule.asset,
        check_name=finding.rule.name,
        passed=finding.passed,
        severity=_severity(finding),
        metadata=_metadata(finding),
        description=_sentence(finding),
    )


def _severity(finding: Finding) -> dg.AssetCheckSeverity:
    return dg.AssetCheckSeverity.ERROR if finding.rule.blocking else dg.AssetCheckSeverity.WARN


def _sentence(finding: Finding) -> str:
    if finding.passed:
        return "It holds for every row."
    more = len(finding.violations) - 1
    others = f" and {more} more" if more else ""
    return f"{finding.violations[0]}{others}."


def _metadata(finding: Finding) -> dict[str, dg.MetadataValue]:
    metadata: dict[str, dg.MetadataValue] = {
        "violations": dg.MetadataValue.int(len(finding.violations))
    }
    if finding.violations:
        lines = [
            f"| {cell(each.row)} | {cell(each.problem, 300)} |"
            for each in finding.violations[:_MAX_SHOWN]
        ]
        metadata["rows"] = dg.MetadataValue.md(
            "\n".join(["| row | problem |", "|---|---|", *lines])
        )
    return metadata


def _refusal(refused: Sequence[Finding]) -> str:
    broken = "; ".join(
        f"{finding.rule.asset}, {finding.rule.name}: {_sentence(finding)}" for finding in refused
    )
    return (
        f"The rows break {len(refused)} of their rules, so nothing was written and the last good "
        f"rows stay. {broken} This is a defect of the pipeline or of a service that it asked: "
        "the checks of the asset list every row; report it with them."
    )
