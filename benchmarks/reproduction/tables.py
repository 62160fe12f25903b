"""Compares the printed tables of the published evaluation with their recomputation.

The printed figures are facts from Factible, tables 12 to 14 and 16 to 18, over 30 videos. The
comparison needs a folder with all of them, because means of fewer videos are other figures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from benchmarks.reproduction.cells import agreeing_digits
from benchmarks.reproduction.report import PublishedReport, Row

VIDEOS: Final = 30
_MAIN: Final = 5

Statistic = Literal["mean", "deviation", "total"]

_TABLE_12: Final[Mapping[int, tuple[str, str, str, str]]] = {
    1: ("0.800", "0.052", "0.098", "0.800"),
    3: ("0.822", "0.159", "0.264", "0.897"),
    5: ("0.813", "0.262", "0.390", "0.870"),
    7: ("0.795", "0.359", "0.486", "0.862"),
    10: ("0.769", "0.471", "0.573", "0.854"),
    15: ("0.719", "0.570", "0.623", "0.865"),
}
_TABLE_12_METRICS: Final = ("precision", "recall", "F1", "MAP over hits")
_AT_FIVE: Final[tuple[tuple[int, str, Statistic, str], ...]] = (
    (13, "precision", "deviation", "0.171"),
    (13, "recall", "deviation", "0.088"),
    (13, "F1", "deviation", "0.111"),
    (13, "MAP over hits", "deviation", "0.146"),
    (13, "recall of important", "mean", "0.395"),
    (13, "recall of important", "deviation", "0.178"),
    (13, "importance coverage", "mean", "0.292"),
    (13, "importance coverage", "deviation", "0.096"),
    (13, "importance MAE", "mean", "0.126"),
    (13, "importance MAE", "deviation", "0.060"),
    (14, "stance accuracy", "mean", "0.733"),
    (14, "stance accuracy", "deviation", "0.334"),
    (16, "retrieval success", "mean", "0.947"),
    (16, "sources per query", "mean", "1.52"),
    (16, "evidence per claim", "mean", "2.41"),
    (17, "high sources", "total", "605"),
    (17, "medium sources", "total", "110"),
    (17, "low sources", "total", "0"),
    (17, "unknown sources", "total", "9"),
    (18, "seconds", "mean", "129.6"),
    (18, "seconds", "deviation", "101.8"),
)

_KNOWN_CAUSES: Final[Mapping[tuple[int, str], str]] = {
    (13, "importance MAE"): "the files record 0.1296 ± 0.0585; the table prints another value",
    (16, "sources per query"): "the files record what the table prints as evidence per claim",
    (16, "evidence per claim"): "the printed figure is the recorded sources per query",
    (18, "seconds"): "the table's seconds were re-scaled, the recorded ones were not",
}
"""The reason that a printed figure differs from the published files, by table and metric."""


@dataclass(frozen=True, slots=True)
class Printed:
    """One printed figure.

    Attributes:
        table: Its table in Factible.
        setting: The requested number of claims.
        metric: As in the rows of a report.
        statistic: Mean or population deviation over videos, or the total.
        printed: The printed value.
        recorded: The same statistic of the recorded per-video values.
        recomputed: The same of the recomputed ones; None unless every video has one.
        agrees: Whether the recomputed figure, or else the recorded one, rounds to the printed one.
        cause: The reason for a difference; None if they agree.
        videos: The numbers of videos whose value is reproduced, possible, or neither.
    """

    table: int
    setting: int
    metric: str
    statistic: Statistic
    printed: str
    recorded: float | None
    recomputed: float | None
    agrees: bool
    cause: str | None
    videos: tuple[int, int, int]


def printed_tables(report: PublishedReport) -> tuple[Printed, ...]:
    """Compare with the printed tables; empty if the folder lacks some of their videos."""
    rows = {
        (setting.setting, row.metric): row
        for setting in report.settings
        if len(setting.videos) == VIDEOS
        for row in setting.rows
    }
    found = [(figure, rows.get((figure[1], figure[2]))) for figure in _figures()]
    return tuple(_compared(*figure, row) for figure, row in found if row is not None)


def _figures() -> Iterator[tuple[int, int, str, Statistic, str]]:
    for setting, figures in _TABLE_12.items():
        for metric, printed in zip(_TABLE_12_METRICS, figures, strict=True):
            yield 12, setting, metric, "mean", printed
    for table, metric, statistic, printed in _AT_FIVE:
        yield table, _MAIN, metric, statistic, printed


def _compared(
    table: int, setting: int, metric: str, statistic: Statistic, printed: str, row: Row
) -> Printed:
    recorded = _statistic(statistic, row.published, row.published_deviation, row.videos)
    whole = row.recomputed.n == row.videos
    value = row.recomputed.value if whole else None
    recomputed = _statistic(statistic, value, row.deviation if whole else None, row.videos)
    decimals = len(printed.partition(".")[2])
    shown = recorded if recomputed is None else recomputed
    agrees = (
        shown is not None and agreeing_digits(round(shown, decimals), float(printed)) > decimals
    )
    cause = None if agrees else _KNOWN_CAUSES.get((table, metric), "no cause is known")
    split = (row.reproduced, row.consistent, row.videos - row.reproduced - row.consistent)
    return Printed(
        table, setting, metric, statistic, printed, recorded, recomputed, agrees, cause, split
    )


def _statistic(
    statistic: Statistic, mean: float | None, deviation: float | None, videos: int
) -> float | None:
    if statistic == "total":
        return None if mean is None else mean * videos
    return mean if statistic == "mean" else deviation
