"""Two asset checks: `integrity`, which applies stages/integrity.py and blocks, and one on readings.

An asset has one check for all rules: each check costs three events and a query per run. The step
that computes rows also checks them before it writes them, so rows that break a blocking rule are
never stored and the last good set stays current. A check in a later step would come too late.
"""

import warnings
from collections.abc import Collection, Sequence

import dagster as dg

from factible_assets.config import SearchConfig
from factible_assets.evaluation.metrics.evidence import contradicted_readings
from factible_assets.pipeline.partitions import videos
from factible_assets.records.rows import VideoRows
from factible_assets.stages.integrity import RuleResult, judge, rules_of
from factible_assets.wording import cell, table

INTEGRITY = "integrity"

_MAX_SHOWN = 50


def check_spec(name: str, asset: str, description: str, *, blocking: bool) -> dg.AssetCheckSpec:
    """Return the spec of a check that Dagster records per video."""
    with warnings.catch_warnings():
        # Partitioned checks are a preview in Dagster 1.13. Without a partition, the result of one
        # video would replace the result of every other.
        warnings.simplefilter("ignore", dg.PreviewWarning)
        return dg.AssetCheckSpec(
            name=name,
            asset=asset,
            description=description,
            blocking=blocking,
            partitions_def=videos,
        )


def integrity_specs(*assets: str) -> list[dg.AssetCheckSpec]:
    specs = []
    for asset in assets:
        rules = "; ".join(rule.name.replace("_", " ") for rule in rules_of(asset))
        description = f"Every row keeps the rules of its asset: {rules}."
        specs.append(check_spec(INTEGRITY, asset, description, blocking=True))
    return specs


def check_integrity(
    assets: Collection[str], rows: VideoRows, limits: SearchConfig | None = None
) -> tuple[list[dg.AssetCheckResult], dg.Failure | None]:
    """Check the rows of some assets against their rules.

    Returns a result per asset, in their order, and the failure to raise if a blocking rule is
    broken. Yield the results before you raise the failure, so that Dagster records them.
    """
    outcomes = judge(assets, rows, limits)
    results = [
        _result(asset, [outcome for outcome in outcomes if outcome.rule.asset == asset])
        for asset in assets
    ]
    broken = [outcome for outcome in outcomes if outcome.refuses]
    if not broken:
        return results, None
    violations = "; ".join(
        f"{outcome.rule.asset}, {outcome.rule.name}: {_first_violation(outcome)}"
        for outcome in broken
    )
    sentence = (
        f"The rows break {len(broken)} of their rules, so nothing was written and the last good "
        f"rows stay. {violations} The pipeline or a service that it asked has a defect. Please "
        "report it with the rows, which the checks of the asset list."
    )
    return results, dg.Failure(sentence, allow_retries=False)


def _result(asset: str, outcomes: Sequence[RuleResult]) -> dg.AssetCheckResult:
    broken = [outcome for outcome in outcomes if outcome.violations]
    refuses = any(outcome.refuses for outcome in outcomes)
    metadata: dict[str, dg.MetadataValue] = {
        "violations": dg.MetadataValue.int(sum(len(outcome.violations) for outcome in broken))
    }
    for outcome in outcomes:
        words = f"{len(outcome.violations)} rows break it" if outcome.violations else "holds"
        metadata[outcome.rule.name] = dg.MetadataValue.text(f"{words}: {outcome.rule.description}")
    if broken:
        rows = [
            (outcome.rule.name, cell(row), cell(problem, 300))
            for outcome in broken
            for row, problem in outcome.violations
        ]
        markdown = table(("rule", "row", "problem"), rows[:_MAX_SHOWN])
        metadata["rows"] = dg.MetadataValue.md(markdown)
    return dg.AssetCheckResult(
        asset_key=asset,
        check_name=INTEGRITY,
        passed=not broken,
        severity=dg.AssetCheckSeverity.ERROR if refuses else dg.AssetCheckSeverity.WARN,
        metadata=metadata,
        description=" ".join(
            f"{outcome.rule.name}: {_first_violation(outcome)}" for outcome in broken
        )
        or f"All {len(outcomes)} rules hold for every row.",
    )


def _first_violation(result: RuleResult) -> str:
    (row, problem), more = result.violations[0], len(result.violations) - 1
    others = f" and {more} more" if more else ""
    return f"{row}: {problem}{others}."


# --- Readings -----------------------------------------------------------------------------------

CONTRADICTIONS = check_spec(
    "readings_rest_on_quotes",
    "evidence",
    "Warns if more than one reading in ten contradicts the passage that it quotes.",
    blocking=False,
)

_MAX_SHARE = 0.1


def check_contradictions(rows: VideoRows) -> dg.AssetCheckResult:
    """Warn if many readings contradict their own quotes. It never blocks: they become `unclear`.

    A high share means that the model is too small, or that pages give it instructions.
    """
    share = contradicted_readings(rows)
    return dg.AssetCheckResult(
        asset_key=CONTRADICTIONS.asset_key,
        check_name=CONTRADICTIONS.name,
        passed=share.numerator <= _MAX_SHARE * share.denominator,
        severity=dg.AssetCheckSeverity.WARN,
        metadata={
            "readings": dg.MetadataValue.int(int(share.denominator)),
            "contradicted": dg.MetadataValue.int(int(share.numerator)),
        },
        description=f"{share.numerator} of {share.denominator} readings contradicted their quote.",
    )
