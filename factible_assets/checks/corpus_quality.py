"""The checks on the evaluation: one per metric with a target; below it they warn, or fail.

What belongs here: how targets and figures appear in Dagster. What does not: the comparison and the
file of targets (evaluation/targets.py), the figures (evaluation/scoring.py).
"""

import re
from collections.abc import Sequence

import dagster as dg

from factible_assets.evaluation.measures import CATALOGUE
from factible_assets.evaluation.targets import FILE_NAME, Assessment, Targets
from factible_assets.wording import cell, table

READABLE = "targets_are_readable"

_HEADINGS = ("corpus", "value", "n", "target", "floor", "outcome")
_ORDER = ("reached", "undefined", "too few", "below target", "below floor")


def quality_specs(asset: str, targets: Targets) -> list[dg.AssetCheckSpec]:
    """Return one check per metric that has a target, and one on the file of targets itself."""
    return [
        dg.AssetCheckSpec(
            name=READABLE,
            asset=asset,
            description=f"Every entry of {FILE_NAME} can be used; if not, its file and line.",
        ),
        *(
            dg.AssetCheckSpec(
                name=check_name(metric),
                asset=asset,
                description=f"{metric}: warns {side} its target and fails {side} its floor, in any "
                "corpus.",
            )
            for metric in targets.metrics
            for side in ("above" if CATALOGUE[metric].better == "lower" else "below",)
        ),
    ]


def check_name(metric: str) -> str:
    """Return a metric's name in the letters that a check's may have."""
    return re.sub(r"[^a-z0-9]+", "_", metric.lower()).strip("_")


def quality_results(
    asset: str, defined: Targets, targets: Targets, assessments: Sequence[Assessment]
) -> list[dg.AssetCheckResult]:
    """Return the outcome of every check on the evaluated asset, over all corpora.

    `defined` are the targets that the checks were made from, when the code was loaded; `targets`
    those of now.
    """
    return [
        _readable(asset, defined, targets),
        *(
            _result(asset, metric, [each for each in assessments if each.metric == metric])
            for metric in defined.metrics
        ),
    ]


def _readable(asset: str, defined: Targets, targets: Targets) -> dg.AssetCheckResult:
    problems = [str(problem) for problem in targets.problems]
    unseen = [metric for metric in targets.metrics if metric not in defined.metrics]
    if unseen:
        problems.append(
            f"The checks of {', '.join(unseen)} appear once the definitions are loaded again."
        )
    return dg.AssetCheckResult(
        asset_key=asset,
        check_name=READABLE,
        passed=not problems,
        severity=dg.AssetCheckSeverity.ERROR if targets.problems else dg.AssetCheckSeverity.WARN,
        description=" ".join(problems) or f"{len(targets.metrics)} metrics have a target.",
        metadata={"problems": dg.MetadataValue.int(len(problems))},
    )


def _result(asset: str, metric: str, assessed: Sequence[Assessment]) -> dg.AssetCheckResult:
    worst = max((each.outcome for each in assessed), key=_ORDER.index, default="undefined")
    failed = worst == "below floor"
    shown = [each for each in assessed if each.outcome == worst]
    rows = [
        (
            cell(each.corpus),
            _value(each),
            str(0 if each.figure is None else each.figure.n),
            f"{each.target.target:g}",
            f"{each.target.floor:g}",
            each.outcome,
        )
        for each in assessed
    ]
    return dg.AssetCheckResult(
        asset_key=asset,
        check_name=check_name(metric),
        passed=worst not in {"below target", "below floor"},
        severity=dg.AssetCheckSeverity.ERROR if failed else dg.AssetCheckSeverity.WARN,
        description="; ".join(_words(each) for each in shown)
        or "No corpus with a target was evaluated.",
        metadata={
            "outcome": worst,
            "corpora": dg.MetadataValue.md(table(_HEADINGS, rows)),
            # Numbers, so that Dagster draws their course over the evaluations.
            **{
                f"{metric} of {each.corpus}": dg.MetadataValue.float(each.figure.value)
                for each in assessed
                if each.figure is not None and each.figure.value is not None
            },
        },
    )


def _words(each: Assessment) -> str:
    limit = each.target.floor if each.outcome == "below floor" else each.target.target
    judged = {
        "reached": f"reaches its target {limit:g}",
        "below target": f"misses its target {limit:g}",
        "below floor": f"misses even its floor {limit:g}",
        "undefined": "has nothing to rest on",
        "too few": f"rests on fewer than {each.target.min_n} items and is not judged",
    }
    return f"{each.corpus}: {each.metric} is {_value(each)} and {judged[each.outcome]}"


def _value(each: Assessment) -> str:
    value = None if each.figure is None else each.figure.value
    return "undefined" if value is None else f"{value:.3f}"
