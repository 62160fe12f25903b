"""The asset `evaluation`: metrics of the newest answers per corpus, with a check per target.

It belongs to no video. The automation condition materializes it after changes to `verdicts`.
"""

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
from factible_assets.evaluation.targets import assess, load_targets
from factible_assets.pipeline.assets.common import GROUP, OWNERS, final_failure
from factible_assets.pipeline.checks.targets import target_results, target_specs
from factible_assets.pipeline.launchpad import validated_schema
from factible_assets.pipeline.partitions import PARTITION_TAG
from factible_assets.pipeline.resources import CorporaResource, FactCheckServices, ReportsResource
from factible_assets.pipeline.warehouse import WarehouseResource

NAME = "evaluation"
EVALUATION_JOB = "evaluate"
CODE_VERSION = "1"

_DRAWN_CORPORA = 5
"""Dagster's event log stores the pictures, so only some corpora have them."""

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
    targets_at_load = load_targets(folders)

    @dg.asset(
        name=NAME,
        group_name=GROUP,
        deps=["verdicts", "corpus_files"],
        automation_condition=AFTER_VERDICTS,
        code_version=CODE_VERSION,
        config_schema=validated_schema(EvaluationConfig),
        owners=OWNERS,
        kinds={"python", "duckdb"},
        check_specs=target_specs(targets_at_load),
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
        rows = [
            row | run
            for corpus, evaluation in evaluations.items()
            for row in metric_rows(corpus, evaluation)
        ]
        # A retried step replaces its own rows.
        store.write_rows({"metrics": rows}, replacing=("run_id", context.run.run_id))
        targets = load_targets(folders)
        assessments = [
            assessment
            for corpus, evaluation in evaluations.items()
            if evaluation.annotated  # Only annotated corpora can reach or miss a target.
            for assessment in assess(corpus, evaluation.figures, targets)
        ]
        yield dg.MaterializeResult(
            metadata=_metadata(evaluations, len(rows)),
            check_results=[*target_results(targets_at_load, targets, assessments)],
        )
        video_id = context.run.tags.get(PARTITION_TAG, "")
        if video_id and (links := reports.links(video_id)):
            # A run that checked a video ends with links to its report and its page at the desk.
            context.log_event(
                dg.AssetObservation(asset_key="verdicts", partition=video_id, metadata=links)
            )

    return evaluation


def metric_rows(corpus: str, evaluation: Evaluation) -> list[dict[str, Any]]:
    """Return rows of `metrics`: the figures of the corpus, then those of each video."""
    of_corpus: tuple[str | None, Sequence[Figure]] = (None, evaluation.figures)
    return [
        {
            "corpus": corpus,
            "video_id": video_id,
            "position": position,
            "family": CATALOGUE[figure.name].family,
            "better": CATALOGUE[figure.name].better,
            **tables.columns_of(figure),
            "baseline": figure.baseline,
            "matcher": str(evaluation.matcher),
            "threshold": evaluation.matcher.threshold,
            "videos": evaluation.videos,
            "annotated": evaluation.annotated,
        }
        for video_id, figures in (of_corpus, *evaluation.per_video.items())
        for position, figure in enumerate(figures, start=1)
    ]


def _metadata(evaluations: Mapping[str, Evaluation], rows: int) -> dict[str, Any]:
    """Return main figures and pictures first, then the long tables, which the UI folds."""
    shown: dict[str, Any] = {}
    folded: dict[str, Any] = {}
    for position, (corpus, evaluation) in enumerate(evaluations.items()):
        prefix = f"{corpus}: " if len(evaluations) > 1 else ""
        main = map(tables.figure_row, tables.headlines(evaluation))
        shown[f"{prefix}main figures"] = _table(tables.HEADINGS, main)
        if position < _DRAWN_CORPORA:
            confusion = evaluation.confusion
            if any(map(any, confusion.counts)):
                heads = ("annotated", *(f"answered {label}" for label in confusion.labels))
                counted = zip(confusion.labels, confusion.counts, strict=True)
                lines = ((stance, *counts) for stance, counts in counted)
                shown[f"{prefix}confusion of stances"] = _table(heads, lines)
            for title, picture in inline_charts(evaluation).items():
                shown[f"{prefix}{title}"] = dg.MetadataValue.md(f"![{title}]({picture})")
        folded[f"{prefix}basis"] = tables.basis(evaluation)
        for name, markdown in (
            ("figures", tables.figures_markdown(evaluation)),
            ("videos and figures", tables.videos_markdown(evaluation)),
        ):
            folded[f"{prefix}{name}"] = dg.MetadataValue.md(markdown)
    return {
        "corpora": dg.MetadataValue.text(", ".join(evaluations) or "none: nothing was checked yet"),
        **shown,
        **folded,
        "videos": sum(evaluation.videos for evaluation in evaluations.values()),
        "annotated videos": sum(evaluation.annotated for evaluation in evaluations.values()),
        "dagster/row_count": rows,
    }


def _table(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> dg.TableMetadataValue:
    """Return a table that the UI never folds."""
    records = [dg.TableRecord(dict(zip(heads, row, strict=True))) for row in rows]
    return dg.MetadataValue.table(records)
