"""Observers: who hears what happens while a video is checked.

What belongs here: the observer that writes to a run's log, and the one that passes on to several.
What does not: terminal output (cli/).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from factible_assets.records import Claim, Verdict
from factible_assets.stages.ports import Observer
from factible_assets.wording import clock, verdict_words


class LogObserver:
    """Writes claims and verdicts to a log as they come."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log

    def claims_found(self, claims: Sequence[Claim]) -> None:
        """Log how many claims there are, and each with its time."""
        self._log.info("%d claims found", len(claims))
        for claim in claims:
            self._log.info("claim %d at %s: %s", claim.rank, clock(claim.start_seconds), claim.text)

    def stage_progressed(self, stage: str, claim: Claim, done: int, total: int) -> None:
        """Log nothing: every line is a row in Dagster's event log, and progress comes often."""

    def verdict_reached(self, claim: Claim, verdict: Verdict) -> None:
        """Log a verdict as soon as it is reached."""
        self._log.info("claim %d is %s: %s", claim.rank, verdict_words(verdict), claim.text)


class Watchers:
    """Passes everything on to several observers."""

    def __init__(self, *observers: Observer) -> None:
        self._observers = observers

    def claims_found(self, claims: Sequence[Claim]) -> None:
        """Tell all of new claims."""
        for observer in self._observers:
            observer.claims_found(claims)

    def stage_progressed(self, stage: str, claim: Claim, done: int, total: int) -> None:
        """Tell all of progress."""
        for observer in self._observers:
            observer.stage_progressed(stage, claim, done, total)

    def verdict_reached(self, claim: Claim, verdict: Verdict) -> None:
        """Tell all of a verdict."""
        for observer in self._observers:
            observer.verdict_reached(claim, verdict)
