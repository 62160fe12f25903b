"""The asset `evaluation`: metrics of the newest answers per corpus, with a check per target.

It belongs to no video. The automation condition materializes it after changes to `verdicts`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import dagster as dg
from pydantic import Field

from factible_assets.config import StageConfig
from factible_assets.evaluation import tables
from factible_assets.evaluation.charts import inline_charts
from factible_assets.evaluation.figures import RESAMPLES, Figure
from factible_assets.evaluation.measures import CATALOGUE
from factible_assets.evaluation.outcomes import UnknownCorpusError
from factible_assets.evaluation.scoring import Evaluation, evaluate_corpora
from factible_assets.evaluation.targets import FILE_NAME, Assessment, Targets, assess, load_targets
from factible_assets.pipeline.assets.common import GROUP, OWNERS, final_failure
from factible_assets.pipeline.launchpad import validated_schema
from factible_assets.pipeline.partitions import PARTITION_TAG
from factible_assets.pipeline.resources import CorporaResource, FactCheckServices, ReportsResource
from factible_assets.pipeline.warehouse import WarehouseResource
from factible_assets.wording import cell, number, table

NAME = "evaluation"
EVALUATION_JOB = "evaluate"
CODE_VERSION = "1"
READABLE = "targets_are_readable"

_DRAWN_CORPORA = 5
"""Dagster's event log stores the pictures, so only some corpora have them."""

_MAIN = ("metric", "value", "baseline", "n", "unit", "95 % interval", "averaging")
"""The columns of the table of main figures."""

AFTER_VERDICTS = (
    dg.AutomationCondition.any_deps_updated().since_last_handled()
    & ~dg.AutomationCondition.any_deps_in_progress()
    & ~dg.AutomationCondition.in_progress()
)
"""Evaluate once after a batch of checks, so that the UI does not show the asset as unsynced."""


class EvaluationConfig(StageConfig):
    """The options of an evaluation."""

    corpora: tuple[Annotated[str, Field(min_length=1)], ...] = Field(
        default=(), description="Evaluate only these corpora, by name; all if the list is empty."
    )
    resamples: int = Field(
        default=RESAMPLES,
        ge=100,
        le=100_000,
        description="How often videos are drawn for the intervals. From 100 to 100,000.",
    )


def evaluation_asset(folders: Sequence[Path]) -> dg.AssetsDefinition:
    """Return the asset, with a check per target. `folders` hold the corpora and targets.yaml."""
    defined = load_targets(folders)

    @dg.asset(
        name=NAME,
        group_name=GROUP,
        deps=["verdicts", "corpus_files"],
        automation_condition=AFTER_VERDICTS,
        code_version=CODE_VERSION,
        config_schema=validated_schema(EvaluationConfig),
        owners=OWNERS,
        kinds={"python", "duckdb"},
        check_specs=_quality_specs(defined),
        metadata={"dagster/table_name": "metrics"},
        description=(
            "The quality of the newest answers per corpus: each metric with its n, its interval "
            "over videos and its baseline, the plots, and the targets. Each run adds to the table "
            "metrics; the view metric_trend shows the history."
        ),
    )
    # No return annotation: the checks are outputs too.
    def evaluation(  # type: ignore[no-untyped-def]
        context: dg.AssetExecutionContext,
        warehouse: WarehouseResource,
        services: FactCheckServices,
        corpora: CorporaResource,
        reports: ReportsResource,
    ):
        """Score the verdicts in the warehouse."""
        from factible_assets.evaluation.matching import default_matcher

        config = EvaluationConfig.model_validate(context.op_execution_context.op_config)
        store = warehouse.store()
        reading = corpora.read()
        for problem in reading.problems:
            context.log.warning(str(problem))
        matcher = default_matcher()
        try:
            evaluations = evaluate_corpora(
                store, reading, matcher, corpora=config.corpora, bootstrap=config.resamples
            )
        except UnknownCorpusError as unknown:
            raise final_failure(str(unknown)) from unknown
        run = {"run_id": context.run.run_id, "evaluated_at": datetime.now(UTC)}
        rows = [row | run for name, each in evaluations.items() for row in metric_rows(name, each)]
        # A retried step replaces its own rows.
        store.write_rows({"metrics": rows}, replacing=("run_id", context.run.run_id))
        targets = load_targets(folders)
        assessed = [
            one
            for name, each in evaluations.items()
            if each.annotated  # Only annotated corpora can reach or miss a target.
            for one in assess(name, each.figures, targets)
        ]
        yield dg.MaterializeResult(
            metadata=_metadata(evaluations, len(rows)),
            check_results=_quality_results(defined, targets, assessed),
        )
        video_id = context.run.tags.get(PARTITION_TAG, "")
        if video_id and (links := reports.links(video_id)):
            # A run that checked a video ends with links to its report and its page at the desk.
            context.log_event(
                dg.AssetObservation(asset_key="verdicts", partition=video_id, metadata=links)
            )

    return evaluation


def metric_rows(corpus: str, evaluation: Evaluation) -> list[dict[str, Any]]:
    """Return rows: the figures of the corpus, then the figures of each video."""
    whole: tuple[str | None, Sequence[Figure]] = (None, evaluation.figures)
    return [
        {
            "corpus": corpus,
            "video_id": video_id,
            "position": position,
            "family": measure.family,
            "better": measure.better,
            **tables.columns_of(figure),
            "baseline": figure.baseline,
            "matcher": str(evaluation.matcher),
            "threshold": evaluation.matcher.threshold,
            "videos": evaluation.videos,
            "annotated": evaluation.annotated,
        }
        for video_id, figures in (whole, *evaluation.per_video.items())
        for position, figure in enumerate(figures, start=1)
        for measure in (CATALOGUE[figure.name],)
    ]


def _metadata(evaluations: Mapping[str, Evaluation], rows: int) -> dict[str, Any]:
    """Return main figures and pictures first, then the long tables, which the UI folds."""
    shown: dict[str, Any] = {}
    folded: dict[str, Any] = {}
    for place, (corpus, evaluation) in enumerate(evaluations.items()):
        lead = f"{corpus}: " if len(evaluations) > 1 else ""
        main = (
            dict(zip(tables.HEADINGS, tables.figure_row(each), strict=True))
            for each in tables.headlines(evaluation)
        )
        shown[f"{lead}main figures"] = _table([{name: row[name] for name in _MAIN} for row in main])
        if place < _DRAWN_CORPORA:
            confusion, labels = evaluation.confusion, evaluation.confusion.labels
            if any(map(any, confusion.counts)):
                shown[f"{lead}confusion of stances"] = _table(
                    {
                        "annotated": stance,
                        **{f"answered {each}": n for each, n in zip(labels, counts, strict=True)},
                    }
                    for stance, counts in zip(labels, confusion.counts, strict=True)
                )
            for title, picture in inline_charts(evaluation).items():
                shown[f"{lead}{title}"] = dg.MetadataValue.md(f"![{title}]({picture})")
        folded[f"{lead}basis"] = tables.basis(evaluation)
        folded[f"{lead}figures"] = dg.MetadataValue.md(tables.figures_markdown(evaluation))
        folded[f"{lead}videos and figures"] = dg.MetadataValue.md(
            tables.videos_markdown(evaluation)
        )
    return {
        "corpora": dg.MetadataValue.text(", ".join(evaluations) or "none: nothing was checked yet"),
        **shown,
        **folded,
        "videos": sum(each.videos for each in evaluations.values()),
        "annotated videos": sum(each.annotated for each in evaluations.values()),
        "dagster/row_count": rows,
    }


def _table(rows: Iterable[Mapping[str, Any]]) -> dg.TableMetadataValue:
    """Return a table that the UI never folds."""
    return dg.MetadataValue.table([dg.TableRecord(dict(row)) for row in rows])


# --- Targets ------------------------------------------------------------------------------------

_ORDER = ("reached", "undefined", "too few", "below target", "below floor")


def _quality_specs(targets: Targets) -> list[dg.AssetCheckSpec]:
    """Return a check per metric with a target, and one on the file of targets."""
    described = {READABLE: f"Every entry of {FILE_NAME} can be used; if not, its file and line."}
    for metric in targets.metrics:
        side = "above" if CATALOGUE[metric].better == "lower" else "below"
        described[_check_name(metric)] = (
            f"{metric}: warns {side} its target and fails {side} its floor, in any corpus."
        )
    return [
        dg.AssetCheckSpec(name=name, asset=NAME, description=words)
        for name, words in described.items()
    ]


def _check_name(metric: str) -> str:
    """Return a metric's name in the characters that Dagster allows for checks."""
    return re.sub(r"[^a-z0-9]+", "_", metric.lower()).strip("_")


def _quality_results(
    defined: Targets, targets: Targets, assessments: Sequence[Assessment]
) -> list[dg.AssetCheckResult]:
    """Return the result of every check over all corpora.

    `defined` are the targets when Dagster loaded the definitions, `targets` the current ones.
    """
    problems = [str(problem) for problem in targets.problems]
    unseen = [metric for metric in targets.metrics if metric not in defined.metrics]
    if unseen:
        problems.append(f"Reload the definitions to see the checks of {', '.join(unseen)}.")
    readable = dg.AssetCheckResult(
        asset_key=NAME,
        check_name=READABLE,
        passed=not problems,
        severity=dg.AssetCheckSeverity.ERROR if targets.problems else dg.AssetCheckSeverity.WARN,
        description=" ".join(problems) or f"{len(targets.metrics)} metrics have a target.",
        metadata={"problems": dg.MetadataValue.int(len(problems))},
    )
    of_metrics = (
        _quality_result(metric, [each for each in assessments if each.metric == metric])
        for metric in defined.metrics
    )
    return [readable, *of_metrics]


def _quality_result(metric: str, assessed: Sequence[Assessment]) -> dg.AssetCheckResult:
    worst = max((each.outcome for each in assessed), key=_ORDER.index, default="undefined")
    values = {each.corpus: each.figure.value if each.figure else None for each in assessed}
    said, rows = [], []
    for each in assessed:
        target, floor = f"{each.target.target:g}", f"{each.target.floor:g}"
        n = str(0 if each.figure is None else each.figure.n)
        value = number(values[each.corpus], tables.UNDEFINED)
        rows.append((cell(each.corpus), value, n, target, floor, each.outcome))
        judged = {
            "reached": f"reaches its target {target}",
            "below target": f"misses its target {target}",
            "below floor": f"misses even its floor {floor}",
            "undefined": "is undefined",
            "too few": f"has fewer than {each.target.min_n} items and is not judged",
        }
        if each.outcome == worst:
            said.append(f"{each.corpus}: {metric} is {value} and {judged[each.outcome]}")
    failed = worst == "below floor"
    return dg.AssetCheckResult(
        asset_key=NAME,
        check_name=_check_name(metric),
        passed=worst not in {"below target", "below floor"},
        severity=dg.AssetCheckSeverity.ERROR if failed else dg.AssetCheckSeverity.WARN,
        description="; ".join(said) or "No corpus with a target was evaluated.",
        metadata={
            "outcome": worst,
            "corpora": dg.MetadataValue.md(
                table(("corpus", "value", "n", "target", "floor", "outcome"), rows)
            ),
            # Dagster plots numbers over time.
            **{
                f"{metric} of {corpus}": dg.MetadataValue.float(known)
                for corpus, known in values.items()
                if known is not None
            },
        },
    )
