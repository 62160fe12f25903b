"""Prints a recomputed evaluation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer
from rich.table import Table

from benchmarks.reproduction.cells import Cell
from benchmarks.reproduction.layout import read_published
from benchmarks.reproduction.report import PublishedReport, Row, SettingReport, recompute_published
from benchmarks.reproduction.tables import Printed, printed_tables
from factible_assets.cli.output import note, print_json, stdout
from factible_assets.evaluation.matching import Similarity
from factible_assets.wording import plain

_NONE = "–"


def reproduce(
    published: Path, similarity: Similarity | None, *, details: bool, as_json: bool
) -> None:
    """Recompute a published evaluation and print the agreement of each value.

    Args:
        published: The folder with eval_results/, runs/ and ground_truth/.
        similarity: The measure of the matcher; None takes the recorded matches.
        details: Print every value, not only the different ones.
        as_json: Print JSON.
    """
    report = recompute_published(read_published(published), similarity)
    tables = printed_tables(report)
    if as_json:
        print_json(_document(report) | {"printed_tables": [asdict(each) for each in tables]})
        return
    _print_report(report, details=details)
    if tables:
        _print_tables(tables)


# --- JSON ---------------------------------------------------------------------------------------


def _document(report: PublishedReport) -> dict[str, Any]:
    return {
        "matcher": asdict(report.matcher),
        "outcomes": dict(_outcomes(report)),
        "settings": [_setting_document(setting) for setting in report.settings],
        "problems": list(report.problems),
    }


def _setting_document(setting: SettingReport) -> dict[str, Any]:
    return {
        "max_claims": setting.setting,
        "metrics": [asdict(row) for row in setting.rows],
        "videos": [
            {
                "video_id": video.video_id,
                "run": video.source,
                "matcher": asdict(video.matcher),
                "agreeing_matches": video.agreeing_matches,
                "all_matches": video.all_matches,
                "cells": [asdict(cell) for cell in video.cells],
            }
            for video in setting.videos
        ],
    }


def _outcomes(report: PublishedReport) -> Counter[str]:
    return Counter(cell.outcome for cell in report.cells())


# --- Text ---------------------------------------------------------------------------------------


def _print_report(report: PublishedReport, *, details: bool) -> None:
    typer.echo(f"Matcher: {report.matcher}")
    for setting in report.settings:
        stdout().print(_setting_table(setting))
        typer.echo(_basis(setting))
    if details:
        for setting in report.settings:
            stdout().print(_cells_table(setting))
    differing = [cell for cell in report.cells() if cell.outcome == "differs"]
    _print_grouped("Values that differ", differing)
    _print_reasons(report)
    for problem in report.problems:
        note(f"problem: {plain(problem)}")
    _note_precision(report)
    counts = _outcomes(report)
    total = sum(counts.values())
    said = ", ".join(f"{count} {outcome}" for outcome, count in counts.most_common())
    typer.echo(f"\n{total} values: {said}")


def _note_precision(report: PublishedReport) -> None:
    """Warn that an 8-bit model may have moved values, if any differ."""
    differs = any(cell.outcome == "differs" for cell in report.cells())
    if differs and "int8" in report.matcher.similarity:
        note(
            "The installed model has 8-bit weights; the published matches came from full "
            "precision, so pairs near the threshold may fall on its other side. Name a "
            "full-precision all-MiniLM-L6-v2 with --model to match as they did."
        )


def _setting_table(setting: SettingReport) -> Table:
    table = _table(
        f"max_claims = {setting.setting}, {len(setting.videos)} videos: mean ± population deviation"
    )
    table.add_column("metric")
    for heading in ("published", "recomputed", "95 % interval", "baseline", "digits", "reproduced"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in setting.rows:
        interval = row.recomputed.interval
        table.add_row(
            row.metric,
            _spread(row.published, row.published_deviation),
            _spread(row.recomputed.value, row.deviation),
            _NONE if interval is None else f"{interval.low:.3f} to {interval.high:.3f}",
            _number(row.recomputed.baseline),
            _NONE if row.digits is None else str(row.digits),
            _reproduced(row),
        )
    return table


def _reproduced(row: Row) -> str:
    possible = f" + {row.consistent} possible" if row.consistent else ""
    return f"{row.reproduced}{possible} of {row.videos}"


def _basis(setting: SettingReport) -> str:
    from_runs = sum(video.source is not None for video in setting.videos)
    agreeing = sum(video.agreeing_matches for video in setting.videos)
    matches = sum(video.all_matches for video in setting.videos)
    recorded = len(setting.videos) - from_runs
    words = [f"{from_runs} videos from their run's outputs"] if from_runs else []
    if recorded:
        words.append(f"{recorded} from recorded matches, since the evaluated run is not published")
    return f"{'; '.join(words)}. Matches as recorded: {agreeing} of {matches}.\n"


def _cells_table(setting: SettingReport) -> Table:
    table = _table(f"max_claims = {setting.setting}: every value")
    table.add_column("video", no_wrap=True)
    table.add_column("value", no_wrap=True)
    table.add_column("published", justify="right", no_wrap=True)
    table.add_column("recomputed", justify="right", no_wrap=True)
    table.add_column("digits", justify="right", no_wrap=True)
    table.add_column("outcome", no_wrap=True)
    for video in setting.videos:
        for cell in video.cells:
            table.add_row(
                plain(cell.video_id),
                plain(cell.metric),
                _exact(cell.published),
                _exact(cell.recomputed),
                _NONE if cell.digits is None else str(cell.digits),
                cell.outcome,
            )
    return table


def _print_grouped(title: str, cells: list[Cell]) -> None:
    """Print cells with the same video and cause together, because one match moves many values."""
    if not cells:
        return
    typer.echo(f"\n{title} (published > recomputed, digits that agree):")
    groups: dict[tuple[int, str, str], list[Cell]] = {}
    for cell in cells:
        cause = (cell.reason or "").partition("; from the recorded")[0]
        groups.setdefault((cell.setting, cell.video_id, cause), []).append(cell)
    for (setting, video_id, cause), group in groups.items():
        typer.echo(f"\nmax_claims = {setting}, {plain(video_id)}: {plain(cause)}")
        explained = sum("from the recorded" in (cell.reason or "") for cell in group)
        typer.echo(f"  {explained} of these {len(group)} are reproduced from the recorded matches:")
        for cell in group:
            digits = "" if cell.digits is None else f", {cell.digits}"
            typer.echo(
                f"  {plain(cell.metric)}: {_exact(cell.published)} > "
                f"{_exact(cell.recomputed)}{digits}"
            )


def _print_reasons(report: PublishedReport) -> None:
    cells = [cell for cell in report.cells() if cell.outcome in {"not recomputable", "consistent"}]
    if not cells:
        return
    typer.echo("\nValues that cannot be recomputed, or not fully:")
    for (outcome, metric, reason), settings in _by_reason(cells).items():
        shown = ", ".join(f"{setting} ({n} videos)" for setting, n in sorted(settings.items()))
        typer.echo(f"  {plain(metric)}, {outcome} at max_claims {shown}: {plain(reason)}")


def _by_reason(cells: Iterable[Cell]) -> dict[tuple[str, str, str], Counter[int]]:
    groups: dict[tuple[str, str, str], Counter[int]] = {}
    for cell in cells:
        # The text after the semicolon is specific to the video.
        general = (cell.reason or "").partition(";")[0]
        groups.setdefault((cell.outcome, cell.metric, general), Counter())[cell.setting] += 1
    return groups


def _print_tables(printed: Iterable[Printed]) -> None:
    table = _table("The printed tables (over 30 videos)")
    for heading in ("table", "max_claims", "metric", "statistic"):
        table.add_column(heading)
    for heading in ("printed", "recorded", "recomputed"):
        table.add_column(heading, justify="right")
    table.add_column("videos reproduced/possible/not", justify="right")
    table.add_column("agrees", overflow="fold")
    for each in printed:
        table.add_row(
            str(each.table),
            str(each.setting),
            each.metric,
            each.statistic,
            each.printed,
            _number(each.recorded, 4),
            _number(each.recomputed, 4),
            "/".join(map(str, each.videos)),
            "yes" if each.agrees else f"no: {each.cause}",
        )
    stdout().print(table)


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", show_lines=False)


def _number(value: float | None, decimals: int = 3) -> str:
    return _NONE if value is None else f"{value:.{decimals}f}"


def _spread(mean: float | None, deviation: float | None) -> str:
    return _NONE if mean is None else f"{mean:.3f} ± {_number(deviation)}"


def _exact(value: float | None) -> str:
    return _NONE if value is None else f"{value:.6g}"
