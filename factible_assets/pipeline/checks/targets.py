"""The asset checks on `evaluation`: one per metric with a target, and one on the targets file."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import dagster as dg

from factible_assets.evaluation import tables
from factible_assets.evaluation.measures import CATALOGUE
from factible_assets.evaluation.targets import FILE_NAME, Assessment, Targets
from factible_assets.wording import number

READABLE = "targets_are_readable"

_ASSET = "evaluation"
_OUTCOME_WORDS = {
    "reached": "reaches its target {0.target:g}",
    "undefined": "is undefined",
    "too few": "has fewer than {0.min_n} items and is not judged",
    "below target": "misses its target {0.target:g}",
    "below floor": "misses even its floor {0.floor:g}",
}
"""The words for the outcome of a target, from the best outcome to the worst."""
_ORDER = list(_OUTCOME_WORDS)


def target_specs(targets: Targets) -> list[dg.AssetCheckSpec]:
    """Return a check per metric with a target, and one on the file of targets."""
    descriptions = {READABLE: f"Every entry of {FILE_NAME} can be used; if not, its file and line."}
    for metric in targets.metrics:
        side = "above" if CATALOGUE[metric].better == "lower" else "below"
        descriptions[_check_name(metric)] = (
            f"{metric}: warns {side} its target and fails {side} its floor, in any corpus."
        )
    return [
        dg.AssetCheckSpec(name=name, asset=_ASSET, description=words)
        for name, words in descriptions.items()
    ]


def _check_name(metric: str) -> str:
    """Return a metric's name in the characters that Dagster allows for checks."""
    return re.sub(r"[^a-z0-9]+", "_", metric.lower()).strip("_")


def target_results(
    at_load: Targets, targets: Targets, assessments: Sequence[Assessment]
) -> Iterator[dg.AssetCheckResult]:
    """Yield the result of every check over all corpora.

    `at_load` are the targets when Dagster loaded the definitions, `targets` the current ones.
    """
    problems = [str(problem) for problem in targets.problems]
    unseen = [metric for metric in targets.metrics if metric not in at_load.metrics]
    if unseen:
        problems.append(f"Reload the definitions to see the checks of {', '.join(unseen)}.")
    yield dg.AssetCheckResult(
        asset_key=_ASSET,
        check_name=READABLE,
        passed=not problems,
        severity=dg.AssetCheckSeverity.ERROR if targets.problems else dg.AssetCheckSeverity.WARN,
        description=" ".join(problems) or f"{len(targets.metrics)} metrics have a target.",
    )
    for metric in at_load.metrics:
        of_metric = [assessment for assessment in assessments if assessment.metric == metric]
        worst = max(
            (assessment.outcome for assessment in of_metric), key=_ORDER.index, default="undefined"
        )
        sentences, metadata = [], dict[str, Any](outcome=worst)
        for assessment in of_metric:
            value = assessment.figure.value if assessment.figure else None
            if assessment.outcome == worst:
                shown = number(value, tables.UNDEFINED)
                words = _OUTCOME_WORDS[worst].format(assessment.target)
                sentences.append(f"{assessment.corpus}: {metric} is {shown} and {words}")
            if value is not None:
                # Dagster plots numbers over time.
                metadata[f"{metric} of {assessment.corpus}"] = dg.MetadataValue.float(value)
        failed = worst == "below floor"
        yield dg.AssetCheckResult(
            asset_key=_ASSET,
            check_name=_check_name(metric),
            passed=worst not in {"below target", "below floor"},
            severity=dg.AssetCheckSeverity.ERROR if failed else dg.AssetCheckSeverity.WARN,
            description="; ".join(sentences) or "No corpus with a target was evaluated.",
            metadata=metadata,
        )
