"""The structural checks of the per-video assets: blocking, and judged before anything is kept.

What belongs here: how the rules of integrity appear in Dagster, and what breaking one does. What
does not: any rule (stages/integrity.py).

One check an asset, `integrity`, with its rules in its metadata: each check costs three events and a
look-up in every run, so that thirty-five of them took a third of a run's time.

The rules are judged in the step that makes the rows, before they are written: rows that break a
blocking rule are never stored, the last good set stays the current one, and nothing is computed
from what was refused. A check that ran in a step of its own would come too late for that, as one
step writes all of its assets in one transaction. The outcome is recorded per video.
"""

import warnings
from collections.abc import Collection, Sequence

import dagster as dg

from factible_assets.config import SearchConfig
from factible_assets.pipeline.partitions import videos
from factible_assets.rows import VideoRows
from factible_assets.stages.integrity import RuleResult, judge, rules_of
from factible_assets.wording import cell, table

INTEGRITY = "integrity"

_MAX_SHOWN = 50


def check_spec(name: str, asset: str, description: str, *, blocking: bool) -> dg.AssetCheckSpec:
    """Return a check whose outcome is recorded video by video."""
    with warnings.catch_warnings():
        # Checks that belong to a partition are a preview in Dagster 1.13; without the partition,
        # the outcome of one video would replace that of every other.
        warnings.simplefilter("ignore", dg.PreviewWarning)
        return dg.AssetCheckSpec(
            name=name,
            asset=asset,
            description=description,
            blocking=blocking,
            partitions_def=videos,
        )


def structural_specs(*assets: str) -> list[dg.AssetCheckSpec]:
    """Return the check of each of some assets. It blocks where a blocking rule is broken."""
    specs = []
    for asset in assets:
        rules = "; ".join(rule.name.replace("_", " ") for rule in rules_of(asset))
        told = f"Every row keeps the rules of its asset: {rules}."
        specs.append(check_spec(INTEGRITY, asset, told, blocking=True))
    return specs


def judged(
    assets: Collection[str], rows: VideoRows, limits: SearchConfig | None = None
) -> tuple[list[dg.AssetCheckResult], dg.Failure | None]:
    """Hold rows against the rules of their assets: before they are written, or once more.

    Returns the outcome of each asset's check, in their order, and why nothing may be written, None
    if all blocking rules are kept. Whoever is refused yields all outcomes, so that Dagster records
    what was found, and raises the refusal.
    """
    found = judge(assets, rows, limits)
    results = [
        _result(asset, [each for each in found if each.rule.asset == asset]) for asset in assets
    ]
    refused = [finding for finding in found if finding.refuses]
    if not refused:
        return results, None
    broken = "; ".join(
        f"{finding.rule.asset}, {finding.rule.name}: {_sentence(finding)}" for finding in refused
    )
    sentence = (
        f"The rows break {len(refused)} of their rules, so nothing was written and the last good "
        f"rows stay. {broken} This is a defect of the pipeline or of a service that it asked: "
        "the checks of the asset list every row; report it with them."
    )
    return results, dg.Failure(sentence, allow_retries=False)


def _result(asset: str, findings: Sequence[RuleResult]) -> dg.AssetCheckResult:
    broken = [finding for finding in findings if finding.violations]
    refuses = any(finding.refuses for finding in findings)
    metadata: dict[str, dg.MetadataValue] = {
        "violations": dg.MetadataValue.int(sum(len(each.violations) for each in broken))
    }
    for each in findings:
        outcome = f"broken by {len(each.violations)}" if each.violations else "holds"
        metadata[each.rule.name] = dg.MetadataValue.text(f"{outcome}: {each.rule.description}")
    if broken:
        rows = [
            (finding.rule.name, cell(row), cell(problem, 300))
            for finding in broken
            for row, problem in finding.violations
        ]
        shown = table(("rule", "row", "problem"), rows[:_MAX_SHOWN])
        metadata["rows"] = dg.MetadataValue.md(shown)
    return dg.AssetCheckResult(
        asset_key=asset,
        check_name=INTEGRITY,
        passed=not broken,
        severity=dg.AssetCheckSeverity.ERROR if refuses else dg.AssetCheckSeverity.WARN,
        metadata=metadata,
        description=" ".join(f"{each.rule.name}: {_sentence(each)}" for each in broken)
        or f"All {len(findings)} rules hold for every row.",
    )


def _sentence(finding: RuleResult) -> str:
    (row, problem), more = finding.violations[0], len(finding.violations) - 1
    others = f" and {more} more" if more else ""
    return f"{row}: {problem}{others}."
