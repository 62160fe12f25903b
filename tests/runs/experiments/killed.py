"""Runs an experiment and kills its own process (SIGKILL) before the second variant's verdicts.

Run as `python -m tests.runs.experiments.killed FOLDER`.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from factible_assets.records.tables import Claim, Verdict
from factible_assets.runs.experiments import runner, stage_keys
from factible_assets.stages.ports import Observer, Services
from tests.runs.experiments import material

VARIANTS = """
experiment: killed
videos: [talk-one]
settings:
  max_claims: 2
one_at_a_time:
  min_weight: [0.25, 0.5]
"""


class Killer(Observer):
    """Kills its process at the fourth verdict."""

    verdicts = 0

    def verdict_reached(self, claim: Claim, verdict: Verdict) -> None:
        Killer.verdicts += 1
        if Killer.verdicts == 4:
            os.kill(os.getpid(), signal.SIGKILL)


class DeadlyMachine(material.Machine):
    def services(self, observer: Observer) -> Services:
        return super().services(Killer())


def main(folder: Path) -> None:
    """Run until death."""
    settings = material.settings_in(folder)
    patch = pytest.MonkeyPatch()
    patch.setattr(runner, "open_services", DeadlyMachine().open)
    patch.setattr(stage_keys, "code_version", lambda: "code")
    experiment = material.experiment_of(VARIANTS, settings)
    runner.run_experiment(experiment, material.corpora_of(settings), settings)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
