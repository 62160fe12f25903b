"""`factible experiment`: run the pipeline under many settings and compare the results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.table import Table
from typer import Argument, Exit, Option, Typer

from factible_assets.cli.output import (
    Columns,
    as_json,
    between,
    note,
    print_error,
    print_json,
    result,
    show_rows,
    table,
    table_of,
)
from factible_assets.corpora.reading import CorporaReading, load_corpora
from factible_assets.errors import ExitCode, FactibleError, UsageError
from factible_assets.runs.experiments.comparison import (
    Comparison,
    MetricComparison,
    finished_experiments,
    read_comparison,
)
from factible_assets.runs.experiments.files import (
    experiment_files,
    experiment_json_schema,
    load_experiments,
)
from factible_assets.runs.experiments.page import render_page
from factible_assets.runs.experiments.plan import Experiment, ExperimentError, shown
from factible_assets.settings import Settings, load_settings
from factible_assets.wording import counted, plain
from resources.files import write_whole
from resources.text_files import FileProblem, did_you_mean
from warehouse.store import Warehouse

if TYPE_CHECKING:  # they load Dagster
    from factible_assets.runs.experiments.estimate import Estimate
    from factible_assets.runs.experiments.runner import VariantOutcome

app = Typer()

_SIGNIFICANCE_LEVEL = 0.05

Name = Annotated[
    str, Argument(help="The name of an experiment, or its file.", metavar="EXPERIMENT")
]


@app.command("run")
def run(
    name: Name,
    *,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Print the plan and its cost; run nothing.")
    ] = False,
    fresh: Annotated[bool, Option("--fresh", help="Repeat finished work too.")] = False,
    jobs: Annotated[int, Option("--jobs", "-j", min=1, max=64, help="Videos at once.")] = 4,
) -> None:
    """Run the unfinished variants of an experiment, and score all.

    Variants share common work. The same command continues an interrupted experiment. The rows of
    ordinary checks stay as they are.

    Example: factible experiment run strategies

    Example: factible experiment run max-claims --dry-run
    """
    settings = load_settings()
    corpora = load_corpora(settings.corpus_folders)
    experiment = _experiment(name, corpora, settings)
    if dry_run:
        from factible_assets.runs.experiments.estimate import estimate

        _show_plan(experiment, estimate(experiment, corpora, settings, fresh=fresh))
        return
    settings.ensure_home()
    variants, videos = len(experiment.variants), len(experiment.videos)
    note(f"{experiment.name}: {counted(variants, 'variant')} on {counted(videos, 'video')}")
    # After the note, because this import takes a second.
    from factible_assets.runs.experiments.results import run_and_score

    numbers = count(1)

    def report(outcome: VariantOutcome) -> None:
        counts = (f"{n} {kind}" for kind, n in _stage_counts([outcome]).items() if n)
        check = f"{next(numbers)}/{variants * videos} {plain(outcome.video_id)} {outcome.variant}"
        note(f"  {check}: {plain(outcome.failure or ', '.join(counts))}")

    outcomes = run_and_score(experiment, corpora, settings, jobs=jobs, fresh=fresh, watcher=report)
    _show_run(experiment, outcomes, _comparison(experiment.name, settings))


def _show_run(
    experiment: Experiment, outcomes: Sequence[VariantOutcome], comparison: Comparison
) -> None:
    """Print the outcome of a run, and exit if a part of it failed or is incomplete."""
    counts, incomplete = _stage_counts(outcomes), sum(outcome.incomplete for outcome in outcomes)
    failures = [
        {"variant": outcome.variant, "video_id": outcome.video_id, "reason": outcome.failure}
        for outcome in outcomes
        if outcome.failure is not None
    ]
    summary = {**counts, "incomplete": incomplete, "failures": failures}
    result(
        {"run": summary, **as_json(comparison)},
        f"{counts['computed']} stages computed, {counts['shared']} shared with another "
        f"variant, {counts['kept']} reused from earlier runs.",
        _overview(comparison, _metrics_named(comparison, experiment.metrics)),
    )
    for failure in failures:
        print_error(plain("{variant} on {video_id} failed: {reason}".format(**failure)))
    if incomplete:
        note(
            f"{incomplete} checks have incomplete verdicts because services failed. Run the "
            "experiment again to repeat those."
        )
    note(f"Compare it: factible experiment compare {experiment.name}")
    if failures or incomplete:
        raise Exit(ExitCode.FAILED if failures else ExitCode.INCOMPLETE)


def _stage_counts(outcomes: Sequence[VariantOutcome]) -> dict[str, int]:
    """Return how many stages were computed, shared with another variant, or kept."""
    kinds = ("computed", "shared", "kept")
    return {kind: sum(len(getattr(outcome, kind)) for outcome in outcomes) for kind in kinds}


@app.command("list")
def list_() -> None:
    """List the experiments of the project and of the data folder.

    Example: factible experiment list
    """
    settings = load_settings()
    corpora = load_corpora(settings.corpus_folders)
    reading = load_experiments(experiment_files(settings), corpora, settings)
    stored = settings.warehouse.exists()
    finished = finished_experiments(Warehouse(settings.warehouse)) if stored else {}
    documents = [
        {
            "experiment": experiment.name,
            "variants": len(experiment.variants),
            "videos": len(experiment.videos),
            "finished_at": finished.get(experiment.name),
            "description": experiment.description,
            "file": experiment.file,
        }
        for experiment in reading.experiments
    ]
    columns: Columns = (
        *("experiment", "variants", "videos"),
        ("last finished", lambda each: each["finished_at"] or "never"),
        ("purpose", lambda each: plain(each["description"] or "", 100)),
    )
    show_rows(documents, columns, title="Experiments")
    _refuse(reading.problems)


@app.command("show")
def show(name: Name) -> None:
    """Show an experiment's variants, and their results after a run.

    Example: factible experiment show strategies
    """
    settings = load_settings()
    experiment = _experiment(name, load_corpora(settings.corpus_folders), settings)
    rows = [
        (
            f"{variant.name}{' (baseline)' if variant.name == experiment.baseline else ''}",
            ", ".join(f"{option}={shown(value)}" for option, value in variant.values.items()),
        )
        for variant in experiment.variants
    ]
    title = f"{experiment.name}: {plain(experiment.description or '', 120)}"
    variants = table(("variant", "settings"), rows, title=title)
    try:
        comparison = _comparison(experiment.name, settings)
    except ExperimentError as error:
        result(_definition(experiment), variants)
        note(str(error))
        return
    document = {**_definition(experiment), **as_json(comparison)}
    overview = _overview(comparison, _metrics_named(comparison, experiment.metrics))
    result(document, variants, overview, _basis(comparison))


@app.command("compare")
def compare(
    name: Name,
    *,
    baseline: Annotated[str | None, Option(help="The variant to compare with.")] = None,
    metric: Annotated[
        list[str] | None, Option("--metric", "-m", help="Print this metric; repeatable.")
    ] = None,
    output: Annotated[
        Path | None, Option("--output", "-o", help="The report's file (default: in reports/).")
    ] = None,
) -> None:
    """Compare the variants of a finished experiment by video, and write an HTML report.

    Example: factible experiment compare strategies --baseline deep

    Example: factible experiment compare max-claims --metric recall --metric precision
    """
    from factible_assets.runs.experiments.results import scored_again

    settings = load_settings()
    experiment = _experiment(name, load_corpora(settings.corpus_folders), settings)
    comparison = _comparison(experiment.name, settings, baseline)
    known = [known_metric.name for known_metric in comparison.metrics]
    for wanted_metric in metric or ():
        if wanted_metric not in known:
            raise UsageError(
                f"There is no metric {plain(wanted_metric, 80)}.", f"Known: {', '.join(known)}."
            )
    chosen = _metrics_named(comparison, metric or experiment.metrics)
    videos = comparison.scored_videos
    path = output or settings.reports / f"experiment-{experiment.name}.html"
    write_whole(path, render_page(comparison, scored_again(experiment, settings)).encode())
    result(
        {**as_json(comparison), "report": path},
        _overview(comparison, chosen),
        # One video has no interval and no test, so the overview says it all.
        *(
            _metric_table(comparison, chosen_metric)
            for chosen_metric in (chosen if videos > 1 or metric else ())
        ),
        _basis(comparison),
        f"report: {path}",
    )


@app.command("schema")
def schema() -> None:
    """Print the JSON Schema of experiment files, for editors.

    Example: factible experiment schema
    """
    print_json(experiment_json_schema())


# --- Finding things -----------------------------------------------------------------------------


def _experiment(name: str, corpora: CorporaReading, settings: Settings) -> Experiment:
    """Return an experiment by its name or file.

    Raises FactibleError: There is none, or its file has problems; the error names them all.
    """
    files, path = experiment_files(settings), Path(name)
    named_file = path.resolve() if path.is_file() else None
    if named_file and named_file not in {path.resolve() for path in files}:
        files = [*files, path]
    reading = load_experiments(files, corpora, settings)
    for experiment in reading.experiments:
        if named_file == experiment.file.resolve() or (
            named_file is None and experiment.name == name
        ):
            return experiment
    # Perhaps its file has a problem.
    stem = path.stem.replace("_", "-")
    _refuse(problem for problem in reading.problems if problem.file.stem.replace("_", "-") == stem)
    meant = did_you_mean(name, (experiment.name for experiment in reading.experiments))
    unread = f" {reading.problems[0]}" if reading.problems else ""
    raise FactibleError(
        f"There is no experiment {plain(name, 80)}.",
        f"{meant} List them with: factible experiment list.{unread}".lstrip(),
    )


def _refuse(problems: Iterable[FileProblem]) -> None:
    sentences = [str(problem) for problem in problems]
    for sentence in sentences[1:]:
        print_error(sentence)
    if sentences:
        raise FactibleError(sentences[0])


def _comparison(name: str, settings: Settings, baseline: str | None = None) -> Comparison:
    if not settings.warehouse.exists():
        raise ExperimentError(
            f"The experiment {name} has no run yet. Start it: factible experiment run {name}"
        )
    return read_comparison(Warehouse(settings.warehouse), name, baseline=baseline)


# --- Text ---------------------------------------------------------------------------------------


def _metrics_named(comparison: Comparison, names: Sequence[str]) -> Sequence[MetricComparison]:
    """Return the named metrics that the comparison has, else the main ones."""
    chosen = [found for name in names if (found := comparison.metric(name)) is not None]
    return chosen or comparison.headlines


def _overview(comparison: Comparison, metrics: Sequence[MetricComparison]) -> Table:
    headings = [metric.name for metric in metrics]
    rows = [
        (
            f"{variant.name}{' (baseline)' if variant.name == comparison.baseline else ''}",
            *(metric.cell(variant.name).value for metric in metrics),
        )
        for variant in comparison.variants
    ]
    title = (
        f"{comparison.experiment}: {counted(comparison.scored_videos, 'video')}, means over videos"
    )
    return table(("variant", *headings), rows, title=title)


def _metric_table(comparison: Comparison, metric: MetricComparison) -> Table:
    def against(words: Callable[[Any], object]) -> Callable[[Any], object]:
        """Return a cell about the difference from the baseline, which has none itself."""
        return lambda cell: words(cell) if cell.bootstrap else None

    columns: Columns = (
        *("variant", "value"),
        ("95 % interval", between),
        (f"n ({metric.cells[0].unit})", "n"),
        "trivial",
        ("difference", against(lambda cell: f"{cell.bootstrap.difference:+.3f}")),
        ("its interval", against(lambda cell: between(cell.bootstrap.interval))),
        ("p (bootstrap)", against(lambda cell: cell.bootstrap.p_value)),
        ("p (Wilcoxon)", lambda cell: cell.wilcoxon.p_value if cell.wilcoxon else None),
        ("videos + / −", against(lambda cell: f"{cell.above} / {cell.below}")),
    )
    sense = f", {metric.better} is better" if metric.better else ""
    title = f"{metric.name} ({metric.averaging}{sense}), against {comparison.baseline}"
    return table_of(metric.cells, columns, title=title)


def _basis(comparison: Comparison) -> str:
    words = f"Claims matched by {comparison.matcher}."
    if comparison.scored_videos == 1:
        return f"{words} One video allows no interval and no test."
    if not comparison.tests:
        return words
    return (
        f"{words} {comparison.tests} tests without correction: at 5 %, about "
        f"{comparison.tests * _SIGNIFICANCE_LEVEL:.0f} of them show a difference by chance."
    )


def _show_plan(experiment: Experiment, plan: Estimate) -> None:
    variants = table_of(
        plan.variants,
        (
            *("variant", "stages to compute: compute", "shared", "done before: done"),
            *("searches", "pages", "model_calls"),
        ),
        title=f"{experiment.name}: plan for {counted(plan.videos, 'video')} "
        "(searches and pages at most)",
    )
    sources = {
        "recorded": "this machine's calls of the model",
        "stage": "this machine's calls of the stage",
        "assumed": "assumptions",
    }
    calls = table_of(
        plan.calls,
        (
            *("stage", "model", "calls", "tokens in: input_tokens", "tokens out: output_tokens"),
            ("USD", lambda each: "not listed" if each.usd is None else f"{each.usd:.2f}"),
            ("tokens per call from", lambda each: sources[each.tokens_from]),
        ),
        title="Model calls, at most",
    )
    searches, pages = counted(plan.searches, "search", "searches"), counted(plan.pages, "page")
    work = f"{searches}, {pages} and {counted(plan.model_calls, 'model call')}"
    sentences = [f"At most {work} for {plan.usd:.2f} USD."]
    if plan.unpriced:
        sentences.append(
            f"The sum lacks models without a listed price: {', '.join(plan.unpriced)}. List them "
            "in models.yaml."
        )
    if plan.transcripts_to_fetch:
        sentences.append(f"The run fetches {plan.transcripts_to_fetch} transcripts first.")
    at_most = ("searches", "pages", "model_calls", "usd")
    document = {
        **_definition(experiment),
        "variants": plan.variants,
        "calls": plan.calls,
        **{f"{name}_at_most": getattr(plan, name) for name in at_most},
        "models_without_price": plan.unpriced,
        "transcripts_to_fetch": plan.transcripts_to_fetch,
        "not_set_up": plan.missing,
    }
    sentences.append("Nothing was run.")
    result(document, variants, *([calls] if plan.calls else []), " ".join(sentences))
    for sentence in plan.missing:
        note(f"Not set up: {sentence}")


def _definition(experiment: Experiment) -> dict[str, Any]:
    return {
        "experiment": experiment.name,
        "description": experiment.description,
        "file": experiment.file,
        "baseline": experiment.baseline,
        "videos": [listed.video.video_id for listed in experiment.videos],
        "planned_variants": [
            {"variant": variant.name, "settings": dict(variant.values)}
            for variant in experiment.variants
        ],
    }
