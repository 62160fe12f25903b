"""`factible experiment`: the pipeline under many settings, compared.

What belongs here: arguments, tables, progress lines. What does not: experiments themselves
(experiments/), metrics (evaluation/).
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from factible_assets.cli.errors import EXIT_CODES, CliError
from factible_assets.cli.output import AsJson, note, print_json, stdout
from factible_assets.errors import ExitCode
from factible_assets.wording import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rich.table import Table

    from factible_assets.corpora import CorporaReading, FileProblem
    from factible_assets.experiments.comparison import Comparison, MetricComparison
    from factible_assets.experiments.estimate import Estimate
    from factible_assets.experiments.reading import Experiment
    from factible_assets.experiments.runner import RunOutcome, VariantOutcome
    from factible_assets.settings import Settings

app = typer.Typer(
    name="experiment",
    no_args_is_help=True,
    help="The pipeline under many settings over one corpus, and which of them does better.",
    epilog=EXIT_CODES,
)

_NONE = "–"

Name = Annotated[
    str, typer.Argument(help="The name of an experiment, or its file.", metavar="EXPERIMENT")
]


@app.command("run", epilog=EXIT_CODES)
def run(
    name: Name,
    *,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Print the plan with its calls and cost; run nothing."),
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Do everything anew, also what is done already.")
    ] = False,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", min=1, max=64, help="Videos worked on at once.")
    ] = 4,
    as_json: AsJson = False,
) -> None:
    """Run every variant of an experiment, or what is still missing of it, and score it.

    Work that two variants share is done once. An experiment that was interrupted goes on where it
    stopped. The production rows stay as they are.

    Example: factible experiment run strategies

    Example: factible experiment run max-claims --dry-run
    """
    from factible_assets.settings import load_settings

    settings = load_settings()
    corpora = _corpora(settings)
    experiment = _experiment(name, corpora, settings)
    if dry_run:
        _plan(experiment, corpora, settings, fresh=fresh, as_json=as_json)
        return
    settings.ensure_home()
    ran = _run(experiment, corpora, settings, jobs=jobs, fresh=fresh)
    comparison = _comparison(experiment.name, settings, None)
    if as_json:
        print_json({"run": _run_document(ran), **_document(comparison)})
    else:
        _print_run(ran)
        stdout().print(_overview(comparison))
        note(f"Compare it: factible experiment compare {experiment.name}")
    if ran.failures:
        raise typer.Exit(ExitCode.FAILED)
    if ran.incomplete:
        raise typer.Exit(ExitCode.INCOMPLETE)


@app.command("list", epilog=EXIT_CODES)
def list_(as_json: AsJson = False) -> None:
    """List the experiments of the project and of the data folder.

    Example: factible experiment list
    """
    from factible_assets.experiments.comparison import finished_experiments
    from factible_assets.experiments.reading import experiment_files, load_experiments
    from factible_assets.settings import load_settings
    from warehouse.store import Warehouse

    settings = load_settings()
    reading = load_experiments(experiment_files(settings), _corpora(settings), settings)
    stored = settings.warehouse.exists()
    finished = finished_experiments(Warehouse(settings.warehouse)) if stored else {}
    documents: list[dict[str, Any]] = [
        {
            "experiment": one.name,
            "variants": len(one.variants),
            "videos": len(one.videos),
            "finished_at": finished.get(one.name),
            "description": one.description,
            "file": str(one.file),
        }
        for one in reading.experiments
    ]
    if as_json:
        print_json(documents)
    else:
        rows = (
            (
                one["experiment"],
                str(one["variants"]),
                str(one["videos"]),
                f"{one['finished_at']:%Y-%m-%d %H:%M}" if one["finished_at"] else "never",
                plain(one["description"] or "", 100),
            )
            for one in documents
        )
        headings = ("experiment", "variants", "videos", "last finished", "what for")
        stdout().print(_table("Experiments", dict.fromkeys(headings, _WORDS), rows))
    _refuse(reading.problems)


@app.command("show", epilog=EXIT_CODES)
def show(name: Name, *, as_json: AsJson = False) -> None:
    """Show an experiment's variants and, once it was run, how they did.

    Example: factible experiment show strategies
    """
    from factible_assets.experiments.plan import ExperimentError
    from factible_assets.settings import load_settings

    settings = load_settings()
    experiment = _experiment(name, _corpora(settings), settings)
    try:
        comparison = _comparison(experiment.name, settings, None)
    except ExperimentError as error:
        if as_json:
            print_json(_definition(experiment))
        else:
            stdout().print(_variants_table(experiment))
            note(str(error))
        return
    if as_json:
        print_json({**_definition(experiment), **_document(comparison)})
        return
    stdout().print(_variants_table(experiment))
    stdout().print(_overview(comparison))
    typer.echo(_basis(comparison))


@app.command("compare", epilog=EXIT_CODES)
def compare(
    name: Name,
    *,
    baseline: Annotated[
        str | None, typer.Option("--baseline", help="The variant to compare the others with.")
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option("--metric", "-m", help="A metric to print; several are allowed."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where the report goes; else the data folder."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare the variants of a finished experiment, video by video, and write an HTML report.

    Example: factible experiment compare strategies --baseline deep

    Example: factible experiment compare max-claims --metric recall --metric precision
    """
    from factible_assets.settings import load_settings

    settings = load_settings()
    corpora = _corpora(settings)
    experiment = _experiment(name, corpora, settings)
    comparison = _comparison(experiment.name, settings, baseline)
    known = {each.name: each for each in comparison.metrics}
    for each in metric or ():
        if each not in known:
            raise CliError(
                f"There is no metric {plain(each, 80)}.",
                f"Known: {', '.join(known)}.",
                ExitCode.USAGE,
            )
    chosen = [known[each] for each in metric] if metric else comparison.headlines
    path = _write_page(experiment, comparison, settings, output)
    if as_json:
        print_json({**_document(comparison), "report": str(path)})
        return
    for one in chosen:
        stdout().print(_metric_table(comparison, one))
    typer.echo(_basis(comparison))
    typer.echo(f"report: {path}")


@app.command("schema", epilog=EXIT_CODES)
def schema() -> None:
    """Print the JSON Schema of experiment files, for editors that check while one types.

    Example: factible experiment schema
    """
    from factible_assets.experiments.reading import experiment_json_schema

    print_json(experiment_json_schema())


# --- Finding things -----------------------------------------------------------------------------


def _corpora(settings: Settings) -> CorporaReading:
    from factible_assets.corpora import load_corpora

    return load_corpora(settings.corpus_folders)


def _experiment(name: str, corpora: CorporaReading, settings: Settings) -> Experiment:
    """Return the experiment that is meant.

    Raises:
        CliError: There is none, or its file has problems; all of them are named.
    """
    import difflib

    from factible_assets.experiments.reading import experiment_files, load_experiments

    files = experiment_files(settings)
    path = Path(name)
    if path.suffix in {".yaml", ".yml"} or path.is_file():
        if path.resolve() not in {each.resolve() for each in files}:
            files = [*files, path]
        reading = load_experiments(files, corpora, settings)
        _refuse(each for each in reading.problems if each.file.resolve() == path.resolve())
        return next(one for one in reading.experiments if one.file.resolve() == path.resolve())
    reading = load_experiments(files, corpora, settings)
    named = reading.find(name)
    if named is not None:
        return named
    # A file with a problem may be the one that is meant.
    _refuse(
        each
        for each in reading.problems
        if each.file.stem.replace("_", "-") == name.replace("_", "-")
    )
    known = [one.name for one in reading.experiments]
    near = difflib.get_close_matches(name, known, n=1)
    meant = f"Did you mean {near[0]}? " if near else ""
    unread = f" {reading.problems[0]}" if reading.problems else ""
    raise CliError(
        f"There is no experiment {plain(name, 80)}.",
        f"{meant}All of them: factible experiment list.{unread}",
    )


def _refuse(problems: Iterable[FileProblem]) -> None:
    listed = list(problems)
    if not listed:
        return
    for problem in listed[1:]:
        typer.echo(f"factible: {problem}", err=True)
    raise CliError(str(listed[0]))


def _comparison(name: str, settings: Settings, baseline: str | None) -> Comparison:
    from factible_assets.experiments.comparison import read_comparison
    from factible_assets.experiments.plan import ExperimentError
    from warehouse.store import Warehouse

    if not settings.warehouse.exists():
        raise ExperimentError(
            f"The experiment {name} was not run yet. Run it: factible experiment run {name}"
        )
    return read_comparison(Warehouse(settings.warehouse), name, baseline=baseline)


# --- Running ------------------------------------------------------------------------------------


class _Lines:
    """Says on stderr how an experiment gets on."""

    def __init__(self, total: int) -> None:
        self._total, self._done = total, 0

    def variant_done(self, video_id: str, outcome: VariantOutcome) -> None:
        """Say one line."""
        self._done += 1
        parts = [
            f"{len(stages)} {word}"
            for stages, word in (
                (outcome.computed, "computed"),
                (outcome.shared, "shared"),
                (outcome.kept, "kept"),
            )
            if stages
        ]
        how = outcome.failure or ", ".join(parts)
        note(f"  {self._done}/{self._total} {plain(video_id)} {outcome.variant}: {plain(how)}")


def _run(
    experiment: Experiment,
    corpora: CorporaReading,
    settings: Settings,
    *,
    jobs: int,
    fresh: bool,
) -> RunOutcome:
    count = len(experiment.variants) * len(experiment.videos)
    note(
        f"{experiment.name}: {_count(len(experiment.variants), 'variant')} on "
        f"{_count(len(experiment.videos), 'video')}"
    )
    # After the note, for loading what checks a video takes a second.
    from factible_assets.experiments.results import conduct
    from factible_assets.settings import SetupError

    try:
        return conduct(experiment, corpora, settings, jobs=jobs, fresh=fresh, watcher=_Lines(count))
    except SetupError as error:
        raise CliError(str(error), code=ExitCode.ENVIRONMENT) from error


def _plan(
    experiment: Experiment,
    corpora: CorporaReading,
    settings: Settings,
    *,
    fresh: bool,
    as_json: bool,
) -> None:
    from factible_assets.experiments.estimate import estimate

    plan = estimate(experiment, corpora, settings, fresh=fresh)
    if as_json:
        print_json(_plan_document(experiment, plan))
        return
    stdout().print(_plan_table(experiment, plan))
    if plan.calls:
        stdout().print(_calls_table(plan))
    typer.echo(_plan_sentence(plan))
    for sentence in plan.missing:
        note(f"Not set up: {sentence}")


def _write_page(
    experiment: Experiment, comparison: Comparison, settings: Settings, output: Path | None
) -> Path:
    from factible_assets.experiments.page import render_page
    from factible_assets.experiments.results import draw_variants
    from factible_assets.files import write_whole

    path = output or settings.reports / f"experiment-{experiment.name}.html"
    drawn = draw_variants(experiment, settings)
    return write_whole(path, render_page(comparison, drawn).encode())


# --- Text ---------------------------------------------------------------------------------------


_NAME: dict[str, Any] = {"no_wrap": True}
_WORDS: dict[str, Any] = {"overflow": "fold"}
_FIGURE: dict[str, Any] = {"justify": "right"}
"""How a column of a table is set."""


def _table(
    title: str, columns: Mapping[str, Mapping[str, Any]], rows: Iterable[Sequence[str]]
) -> Table:
    from rich.table import Table

    table = Table(title=title, title_justify="left", show_lines=False)
    for heading, options in columns.items():
        table.add_column(heading, **options)
    for row in rows:
        table.add_row(*row)
    return table


def _variants_table(experiment: Experiment) -> Table:
    from factible_assets.experiments.plan import shown

    rows = []
    for variant in experiment.variants:
        mark = " (baseline)" if variant.name == experiment.baseline else ""
        words = ", ".join(f"{name}={shown(value)}" for name, value in variant.values.items())
        rows.append((f"{variant.name}{mark}", plain(words)))
    title = f"{experiment.name}: {plain(experiment.description or '', 120)}"
    return _table(title, {"variant": _NAME, "settings": _WORDS}, rows)


def _overview(comparison: Comparison) -> Table:
    rows = []
    for variant in comparison.variants:
        mark = "*" if variant.name == comparison.baseline else ""
        values = (_number(metric.cell(variant.name).value) for metric in comparison.headlines)
        rows.append((f"{variant.name}{mark}", *values))
    return _table(
        f"{comparison.experiment}: {_count(comparison.videos, 'video')}, means over videos",
        {"variant": _NAME} | {metric.name: _FIGURE for metric in comparison.headlines},
        rows,
    )


def _metric_table(comparison: Comparison, metric: MetricComparison) -> Table:
    headings = (
        "value",
        "95 % interval",
        f"n ({metric.cells[0].unit})",
        "trivial",
        "difference",
        "its interval",
        "p (bootstrap)",
        "p (Wilcoxon)",
        "videos + / −",
    )
    rows = []
    for cell in metric.cells:
        bootstrap, wilcoxon = cell.bootstrap, cell.wilcoxon
        interval = bootstrap.interval if bootstrap else None
        rows.append(
            (
                cell.variant,
                _number(cell.value),
                _range(cell.low, cell.high),
                str(cell.n),
                _number(cell.trivial),
                f"{bootstrap.difference:+.3f}" if bootstrap else _NONE,
                _range(interval.low, interval.high) if interval else _NONE,
                _number(bootstrap.p_value if bootstrap else None),
                _number(wilcoxon.p_value if wilcoxon else None),
                f"{cell.above} / {cell.below}" if bootstrap else _NONE,
            )
        )
    sense = f", {metric.better} is better" if metric.better else ""
    title = f"{metric.name} ({metric.averaging}{sense}), against {comparison.baseline}"
    return _table(title, {"variant": _NAME} | dict.fromkeys(headings, _FIGURE | _NAME), rows)


def _basis(comparison: Comparison) -> str:
    words = [f"Claims matched by {comparison.matcher}."]
    if comparison.videos < 2:  # noqa: PLR2004 - a spread needs two
        words.append("One video: there is no interval and no test.")
    elif comparison.tests:
        words.append(
            f"{comparison.tests} comparisons were tested without correction: at 5 % about "
            f"{comparison.tests * 0.05:.0f} of them differ by chance alone."
        )
    return " ".join(words)


def _print_run(ran: RunOutcome) -> None:
    typer.echo(
        f"{ran.count('computed')} stages computed, {ran.count('shared')} shared with another "
        f"variant, {ran.count('kept')} kept from before."
    )
    for failure in ran.failures:
        typer.echo(
            f"factible: {failure.variant} on {plain(failure.video_id)} failed: "
            f"{plain(failure.failure or '')}",
            err=True,
        )
    if ran.incomplete:
        note(
            f"{ran.incomplete} checks have incomplete verdicts because services failed; run the "
            "experiment again to try those once more."
        )


def _plan_table(experiment: Experiment, plan: Estimate) -> Table:
    columns = {
        "stages to compute": "compute",
        "shared": "shared",
        "done before": "done",
        "searches": "searches",
        "pages": "pages",
        "model calls": "model_calls",
    }
    return _table(
        f"{experiment.name}: plan for {_count(plan.videos, 'video')} (searches and pages at most)",
        {"variant": _NAME} | dict.fromkeys(columns, _FIGURE),
        (
            (each.variant, *(f"{getattr(each, name):,}" for name in columns.values()))
            for each in plan.variants
        ),
    )


def _calls_table(plan: Estimate) -> Table:
    sources = {
        "recorded": "this machine's calls of the model",
        "stage": "this machine's calls of the stage",
        "assumed": "assumptions",
    }
    figures = dict.fromkeys(("calls", "tokens in", "tokens out", "USD"), _FIGURE)
    return _table(
        "Model calls, at most",
        {"stage": _NAME, "model": _NAME, **figures, "tokens per call from": {}},
        (
            (
                each.stage,
                plain(each.model),
                f"{each.calls:,}",
                f"{each.input_tokens:,}",
                f"{each.output_tokens:,}",
                "not listed" if each.usd is None else f"{each.usd:.2f}",
                sources[each.tokens_from],
            )
            for each in plan.calls
        ),
    )


def _plan_sentence(plan: Estimate) -> str:
    most = f"{plan.searches:,} searches, {plan.pages:,} pages and {plan.model_calls:,} model calls"
    words = [f"At most {most} for {plan.usd:.2f} USD."]
    if plan.unpriced:
        words.append(
            f"Without a listed price, and not in that sum: {', '.join(plan.unpriced)}. List it in "
            "models.yaml."
        )
    if plan.transcripts_to_fetch:
        words.append(f"{plan.transcripts_to_fetch} transcripts are to be fetched first.")
    words.append("Nothing was run.")
    return " ".join(words)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _number(value: float | None) -> str:
    if value is None:
        return _NONE
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3f}"  # noqa: PLR2004 - digits


def _range(low: float | None, high: float | None) -> str:
    return _NONE if low is None or high is None else f"{_number(low)} to {_number(high)}"


# --- JSON ---------------------------------------------------------------------------------------


def _definition(experiment: Experiment) -> dict[str, Any]:
    return {
        "experiment": experiment.name,
        "description": experiment.description,
        "file": str(experiment.file),
        "baseline": experiment.baseline,
        "videos": [listed.video.video_id for listed in experiment.videos],
        "planned_variants": [
            {"variant": variant.name, "settings": dict(variant.values)}
            for variant in experiment.variants
        ],
    }


def _document(comparison: Comparison) -> dict[str, Any]:
    return {
        "experiment": comparison.experiment,
        "baseline": comparison.baseline,
        "matcher": comparison.matcher,
        "finished_at": comparison.finished_at,
        "scored_videos": comparison.videos,
        "variants": [asdict(variant) for variant in comparison.variants],
        "metrics": [asdict(metric) for metric in comparison.metrics],
    }


def _run_document(ran: RunOutcome) -> dict[str, Any]:
    return {
        "computed": ran.count("computed"),
        "shared": ran.count("shared"),
        "kept": ran.count("kept"),
        "incomplete": ran.incomplete,
        "failures": [
            {"variant": each.variant, "video_id": each.video_id, "reason": each.failure}
            for each in ran.failures
        ],
    }


def _plan_document(experiment: Experiment, plan: Estimate) -> dict[str, Any]:
    return {
        **_definition(experiment),
        "variants": [asdict(each) for each in plan.variants],
        "calls": [asdict(each) for each in plan.calls],
        "searches_at_most": plan.searches,
        "pages_at_most": plan.pages,
        "model_calls_at_most": plan.model_calls,
        "usd_at_most": plan.usd,
        "models_without_price": list(plan.unpriced),
        "transcripts_to_fetch": plan.transcripts_to_fetch,
        "not_set_up": list(plan.missing),
    }
